"""Failing reads: one file operation fails, at any point. What cannot be read is never absent."""

import errno
import json
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from _fake_claude import GOOD, FakeClaude
from _files_project import program, program_environ
from _processes import left_behind, small
from conftest import Cli
from preread.layout import Layout

HERE = Path(__file__).parent


def test_one_failed_operation_never_leaves_a_mix_nor_an_unexpected_error(tmp_path: Path) -> None:
    """Each operation of each scene, by each error: once, and from there on."""
    quickest = Path("/dev/shm")  # the files of three thousand projects
    folder = quickest if os.access(quickest, os.W_OK) else tmp_path
    with tempfile.TemporaryDirectory(dir=folder, prefix="faults-") as place:
        done = subprocess.run(
            program(HERE / "_fault_sweep.py", place),
            env=program_environ(), capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    wrong = found.pop("wrong")
    assert wrong == [], "\n".join(wrong)
    assert min(found.values()) >= 50
    assert sum(found.values()) >= 3_000


FAULT = """
import os, re, sys
import sitecustomize_of_tests
fault = re.compile(os.environ["FAULT"] + "$")
events = os.environ["FAULT_EVENTS"].split()
number = int(os.environ["FAULT_ERRNO"])
def fail(event, arguments):
    if event in events and isinstance(arguments[0], str | os.PathLike):
        path = os.fspath(arguments[0])
        if fault.search(path):
            raise OSError(number, os.strerror(number), path)
sys.addaudithook(fail)
"""


@pytest.fixture
def failing(tmp_path: Path) -> dict[str, str]:
    """An environment in which every process cannot read what the pattern `FAULT` matches."""
    folder = tmp_path / "fault"
    folder.mkdir()
    guard = HERE / "guard" / "sitecustomize.py"
    shutil.copy(guard, folder / "sitecustomize_of_tests.py")
    (folder / "sitecustomize.py").write_text(FAULT)
    path = os.pathsep.join((str(folder), str(HERE.parent / "server")))
    events = "open os.listdir os.scandir"
    return {"PYTHONPATH": path, "FAULT_EVENTS": events, "FAULT_ERRNO": str(errno.EIO)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small(tmp_path / "small")


def texts(project: Path) -> dict[str, bytes]:
    folder = project / ".project" / "context" / "login"
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def test_a_dossier_is_not_rebuilt_because_a_cited_file_cannot_be_read(
    cli: Cli, project: Path, failing: dict[str, str]
) -> None:
    assert cli("load", "login", "--json", cwd=project).json["state"] == "built"
    before = texts(project)
    cited = "login.py"
    done = cli("load", "login", "--json", cwd=project, env=failing | {"FAULT": f"/{cited}"})
    assert (done.status, done.json["state"], done.json["code"]) == (0, "cached", "E_READ")
    assert f"{cited} cannot be read: input/output error" in done.json["warnings"][-1]
    assert texts(project) == before


def test_a_refresh_does_not_drop_what_was_found_in_a_file_that_cannot_be_read_now(
    cli: Cli, project: Path, failing: dict[str, str]
) -> None:
    assert cli("load", "login", "--json", cwd=project).json["state"] == "built"
    before, code = texts(project), project / "login.py"
    code.write_text(f"# first\n{code.read_text()}")  # found to be stale before the other is read
    env = failing | {"FAULT": "tests/test_login.py"}
    done = cli("load", "login", "--json", cwd=project, env=env)
    assert (done.status, done.json["state"], done.json["code"]) == (0, "cached", "E_READ")
    assert "tests/test_login.py cannot be read: input/output error" in done.json["warnings"][-1]
    assert texts(project) == before
    done = cli("load", "login", "--json", cwd=project)
    assert (done.json["state"], done.json["warnings"]) == ("refreshed", [])


def test_a_source_that_cannot_be_read_is_named_and_read_as_soon_as_it_can_be(
    cli: Cli, project: Path, failing: dict[str, str]
) -> None:
    cited = "login.py"
    env = failing | {"FAULT": f"/{cited}"}
    done = cli("load", "login", "--json", cwd=project, env=env)
    assert done.status == 0
    assert any(f"{cited} cannot be read" in text for text in done.json["warnings"])
    poor = texts(project)
    assert cli("load", "login", "--json", cwd=project, env=env).json["state"] == "cached"
    done = cli("load", "login", "--json", cwd=project)
    assert (done.json["state"], done.json["warnings"]) == ("refreshed", [])
    assert texts(project) != poor
    shutil.rmtree(project / ".project")
    assert cli("load", "login", cwd=project).status == 0
    assert set(texts(project)) >= set(poor)


@pytest.mark.parametrize("name", ["ticket", "knowledge", "published file", "ignore file"])
def test_what_nothing_works_without_stops_the_build_with_its_name(
    cli: Cli, project: Path, failing: dict[str, str], name: str
) -> None:
    files = {
        "ticket": ".project/tickets/SHOP-1.md",
        "knowledge": ".project/knowledge.md",
        "published file": ".project/context/login/patterns.md",
        "ignore file": ".prereadignore",
    }
    path = project / files[name]
    (project / ".prereadignore").write_text("private/\n")
    assert cli("load", "login", "--ticket", "SHOP-1", cwd=project).status == 0
    before = texts(project)
    arguments = ["load", "login", "--ticket", "SHOP-1", "--force", "--json"]
    done = cli(*arguments, cwd=project, env=failing | {"FAULT": f"/{files[name]}"})
    assert (done.status, done.json["code"]) == (1, "E_READ"), done
    assert done.json["details"]["path"].endswith(str(path.relative_to(project)))
    assert texts(project) == before


LOGIN = ".project/context/login"
LISTED = {
    "load login": errno.EIO,
    "load login --force": errno.EMFILE,
    "status": errno.EACCES,
    "check login": errno.EMFILE,
    "repair": errno.EIO,
    "remove login": errno.EACCES,
}


@pytest.mark.parametrize("command", LISTED)
def test_a_folder_that_cannot_be_opened_is_named_and_loses_nothing(
    cli: Cli, project: Path, failing: dict[str, str], command: str
) -> None:
    number = LISTED[command]
    assert cli("load", "login", cwd=project).status == 0
    before = texts(project)
    fault = {"FAULT": f"/{LOGIN}|/staging|/context", "FAULT_ERRNO": str(number)}
    done = cli(*command.split(), "--json", cwd=project, env=failing | fault)
    assert (done.status, done.json["code"]) == (1, "E_READ"), done
    assert os.strerror(number).lower() in done.json["message"]
    assert texts(project) == before
    done = cli("load", "login", "--json", cwd=project)
    assert (done.json["state"], done.json["warnings"]) == ("cached", [])


@pytest.mark.parametrize("prompt", ["own", "project's"])
def test_without_a_temporary_folder_there_is_a_map_and_the_reason(
    cli: Cli, project: Path, failing: dict[str, str], tmp_path: Path, prompt: str
) -> None:
    """With no descriptor left, Python says that there is no folder for temporary files."""
    fake = FakeClaude(tmp_path / "fake", GOOD)
    if prompt != "own":
        template = project / ".project" / "prompts" / "context-builder.md.j2"
        template.parent.mkdir()
        shutil.copy(HERE.parent / "prompts" / template.name, template)
    temporary = {
        "FAULT": "/(tmp|small)/([a-z0-9_]{8}|preread-[^/]*)",
        "FAULT_EVENTS": "open os.mkdir",
        "FAULT_ERRNO": str(errno.EMFILE),
    }
    env = {"PREREAD_CLAUDE": str(fake.path)}
    arguments = ["load", "login", "--level", "standard", "--json"]
    done = cli(*arguments, cwd=project, env=failing | temporary | env)
    assert (done.status, done.json["status"], done.json["code"]) == (0, "degraded", "E_WRITE")
    told = " ".join(done.json["warnings"])
    assert "the folder for temporary files cannot be written: No usable temporary" in told
    assert ("own template was used instead" in told) == (prompt != "own")
    assert fake.started() == set()
    assert cli(*arguments, "--force", cwd=project, env=env).json["status"] == "ok"


@pytest.mark.parametrize("place", ["/building/login", "/staging/[^/]*", "/context/login.*"])
def test_a_disk_that_is_read_only_for_a_while_leaves_no_running_build(
    cli: Cli, project: Path, failing: dict[str, str], place: str
) -> None:
    fault = {
        "FAULT": place,
        "FAULT_EVENTS": "os.mkdir os.rename os.remove",
        "FAULT_ERRNO": str(errno.EROFS),
    }
    assert cli("load", "login", cwd=project, env=failing | fault).status == 0
    hint = Layout(project).building("login")
    assert hint.exists() == ("building" in place)  # only where it cannot be removed
    assert cli("load", "login", "--json", cwd=project).json["status"] == "ok"
    assert left_behind(project) == []


def test_a_reports_folder_that_cannot_be_listed_degrades_the_dossier_until_it_can_be(
    cli: Cli, project: Path, failing: dict[str, str]
) -> None:
    (project / ".project" / "config.toml").write_text('reports = ["reports/*.xml"]\n')
    env = failing | {"FAULT": "small/reports"}
    for _ in range(2):  # it is not cached
        done = cli("load", "login", "--json", cwd=project, env=env)
        assert (done.status, done.json["status"], done.json["state"]) == (0, "degraded", "built")
        assert done.json["code"] == "E_READ"
        assert "reports cannot be read: input/output error" in " ".join(done.json["warnings"])
    done = cli("load", "login", "--json", cwd=project)
    assert (done.json["status"], done.json["state"]) == ("ok", "built")


def git_that(folder: Path, what: str, then: str) -> dict[str, str]:
    fake = folder / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text(
        f'#!/bin/sh\ncase " $* " in *" {what} "*) {then};; esac\nexec {shutil.which("git")} "$@"\n'
    )
    fake.chmod(0o755)
    return {"PATH": f"{fake.parent}{os.pathsep}{os.environ['PATH']}"}


GIT = {
    "fails": ("log", "echo 'fatal: it is broken' >&2; exit 128", "git log failed: fatal: it is broken"),
    "is killed": ("log", f"kill -{signal.SIGKILL} $$", "git log was killed"),
    "lists nothing": ("ls-files", "exit 128", "git ls-files failed"),
}  # fmt: skip


@pytest.mark.parametrize("how", GIT)
def test_a_git_that_fails_degrades_the_dossier_with_the_reason_and_is_not_cached(
    cli: Cli, project: Path, tmp_path: Path, how: str
) -> None:
    what, then, reason = GIT[how]
    env = git_that(tmp_path, what, then)
    for _ in range(2):
        done = cli("load", "login", "--json", cwd=project, env=env)
        assert (done.status, done.json["status"], done.json["code"]) == (0, "degraded", "E_READ")
        assert done.json["state"] == "built"
        assert reason in " ".join(done.json["warnings"])
    done = cli("load", "login", "--json", cwd=project)
    assert (done.json["status"], done.json["state"]) == ("ok", "built")
    before = texts(project)
    done = cli("load", "login", "--json", cwd=project, env=env)
    assert done.json["state"] == "cached"
    assert texts(project) == before


def test_damaged_files_and_databases_never_lock_anyone_out(project: Path) -> None:
    """A sample; `PREREAD_TEST_CORRUPTIONS=5000` damages that many."""
    times = os.environ.get("PREREAD_TEST_CORRUPTIONS", "12")
    command = program(HERE / "_corruptions.py", project, times)
    done = subprocess.run(
        command, env=program_environ(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("wrong") == []
    assert sum(found.values()) == int(times)


def test_a_power_cut_at_any_moment_leaves_the_old_or_the_new_dossier_and_what_people_wrote(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        program(HERE / "_power_cuts.py", tmp_path),
        env=program_environ(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["cuts"] > 20
    assert found["cuts of notes"] > 3


def test_force_builds_after_the_clock_was_set_back(cli: Cli, project: Path) -> None:
    assert cli("load", "login", cwd=project).status == 0
    record = project / ".project" / ".state" / "runs" / "login.json"
    value = json.loads(record.read_text())
    record.write_text(json.dumps(value | {"started": 4e9, "finished": 4e9}))
    done = cli("load", "login", "--force", "--json", cwd=project)
    assert (done.status, done.json["state"]) == (0, "built")
