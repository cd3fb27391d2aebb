"""`preread doctor`: each line says ok, warn or fail and how to fix it; it exits 1 on a failure."""

import os
import re
import shutil
import sqlite3
import tomllib
from pathlib import Path

import pytest

from _files_project import ignores_permissions
from _headless import headless
from _messages_api import MessagesAPI
from _trees import ordinary, write
from conftest import ROOT, Cli, Ran
from preread.operations.doctor_machine import PACKAGES

pytestmark = pytest.mark.usefixtures("at_a_desk")
NAMES = [
    "preread", "python", "packages", "git", "sqlite", "grammars", "claude",
    "project", "writable", "settings", "builder", "servers", "monorepo", "hooks", "speed", "gates",
    "fired", "dossiers", "database",
]  # fmt: skip


def looks(done: Ran) -> dict[str, dict[str, str]]:
    return {look["name"]: look for look in done.json["looks"]}


def test_a_healthy_project_passes_every_check_and_exits_0(cli: Cli, project: Path) -> None:
    cli("init", cwd=project)
    cli("load", "checkout", cwd=project)
    done = cli("doctor", "--json", cwd=project)
    assert done.status == 0
    assert done.json["ok"] is True
    assert [look["name"] for look in done.json["looks"]] == NAMES
    # Nobody has worked here with the plugin; and a busy machine is slow.
    assert {look["name"] for look in done.json["looks"] if look["state"] != "ok"} - {"speed"} == {
        "fired"
    }
    found = {name: look["found"] for name, look in looks(done).items()}
    assert found["git"].startswith("git version ")
    assert "full-text search" in found["sqlite"]
    assert "Python" in found["grammars"]
    assert found["project"] == f"{project}: it contains .project (here)"
    assert found["gates"] == "mode block (line 7)"
    assert re.fullmatch(r"\d+ for \d+ events in .*hooks", found["hooks"])
    assert re.fullmatch(
        r"\d+ ms for a write that no rule matches, the median of 5 runs", found["speed"]
    )
    assert found["dossiers"] == "1: checkout"
    assert found["database"].startswith("healthy, ")
    assert found["builder"] == "load would use the static builder at level light, at most 240 s"


def test_the_text_for_people_has_a_line_per_check(cli: Cli, project: Path) -> None:
    done = cli("doctor", cwd=project)
    rows = [line.split() for line in done.out.splitlines() if not line.startswith(" ")]
    assert [row[1] for row in rows] == NAMES
    assert {row[0] for row in rows} <= {"ok", "warn", "fail"}
    assert (
        "warn  gates      no .project/gates, so nothing is gated\n                 Run: `preread "
        "init`\n" in done.out
    )


def test_it_writes_nothing(cli: Cli, tmp_path: Path) -> None:
    app = ordinary(tmp_path / "app")
    before = sorted(path for path in app.rglob("*") if ".git" not in path.parts)
    assert cli("doctor", cwd=app).status == 0
    assert sorted(path for path in app.rglob("*") if ".git" not in path.parts) == before


def test_packages_are_those_that_the_project_declares() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {re.split(r"[\[>=]", line)[0].strip() for line in declared}
    assert {name for name in names if not name.startswith("tree-sitter-")} == set(PACKAGES)


def test_the_root_is_explained(cli: Cli, tmp_path: Path) -> None:
    app = ordinary(tmp_path / "app")
    below = app / "tests"
    assert "it contains .git (the nearest such folder above)" in cli("doctor", cwd=below).out
    alone = tmp_path / "alone"
    alone.mkdir()
    assert "no folder above contains .project or .git" in cli("doctor", cwd=alone).out


def test_settings_are_listed_with_their_origin(cli: Cli, project: Path) -> None:
    write(project / ".project", {"config.toml": "max_facts = 30\ntimeout = 60\n"})
    done = cli("doctor", "--json", cwd=project, env={"PREREAD_TIMEOUT": "90"})
    assert looks(done)["settings"]["found"] == (
        "claude = off (from PREREAD_CLAUDE); max_facts = 30 (from .project/config.toml); "
        "timeout = 90.0 (from PREREAD_TIMEOUT over the file's); "
        "all others by default"
    )
    assert "at most 90 s" in looks(done)["builder"]["found"]


def test_broken_settings_fail_and_the_rest_is_still_checked(cli: Cli, project: Path) -> None:
    write(project / ".project", {"config.toml": "levle = 'full'\n"})
    done = cli("doctor", "--json", cwd=project)
    assert done.status == 1
    assert done.json["ok"] is False
    found = looks(done)
    assert found["settings"]["state"] == "fail"
    assert "Did you mean `level`?" in found["settings"]["found"]
    assert found["database"]["state"] == "ok"


def test_a_claude_on_the_path_is_named_with_its_version(
    cli: Cli, project: Path, tmp_path: Path
) -> None:
    write(tmp_path / "bin", {"claude": "#!/bin/sh\necho '2.1.329 (Claude Code)'\n"})
    (tmp_path / "bin" / "claude").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    look = looks(cli("doctor", "--json", cwd=project, env={"PATH": path, "PREREAD_CLAUDE": ""}))[
        "claude"
    ]
    assert look["state"] == "ok"
    assert look["found"] == f"Claude Code 2.1.329 at {tmp_path / 'bin' / 'claude'}"


@pytest.mark.parametrize("script", ["exit 3", "echo broken >&2; exit 1"])
def test_a_claude_that_does_not_run_is_a_warning(
    cli: Cli, project: Path, tmp_path: Path, script: str
) -> None:
    write(tmp_path / "bin", {"claude": f"#!/bin/sh\n{script}\n"})
    (tmp_path / "bin" / "claude").chmod(0o755)
    path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = cli("doctor", "--json", cwd=project, env={"PATH": path, "PREREAD_CLAUDE": ""})
    assert done.status == 0
    assert looks(done)["claude"]["state"] == "warn"
    assert "the static builder serves" in looks(done)["claude"]["found"]
    assert "--version" in looks(done)["claude"]["hint"]


@pytest.mark.parametrize(
    ("setting", "found"),
    [
        ("/nowhere/claude", "there is no Claude Code program: PREREAD_CLAUDE=/nowhere/claude"),
        ("bin/claude", "PREREAD_CLAUDE=bin/claude is not an absolute path"),
        ("no-such-program", "there is no Claude Code program: PREREAD_CLAUDE=no-such-program"),
    ],
)
def test_a_wrong_path_to_claude_fails(cli: Cli, project: Path, setting: str, found: str) -> None:
    done = cli("doctor", "--json", cwd=project, env={"PREREAD_CLAUDE": setting})
    assert done.status == 1
    assert looks(done)["claude"]["state"] == "fail"
    assert looks(done)["claude"]["found"].startswith(found)
    assert looks(done)["claude"]["hint"]


def test_the_real_claude_says_whether_it_is_logged_in(
    cli: Cli, project: Path, claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    env = headless(claude, api, tmp_path)
    logged_in = looks(cli("doctor", "--json", cwd=project, env=env))["claude"]
    assert logged_in["state"] == "ok"
    del env["ANTHROPIC_API_KEY"]
    done = cli("doctor", "--json", cwd=project, env=env)
    look = looks(done)["claude"]
    assert (done.status, look["state"]) == (0, "warn")
    assert look["found"].endswith("is not logged in")
    assert "/login" in look["hint"]
    assert not api.requests  # the service is not asked


def test_without_git_and_claude_it_says_what_that_means(cli: Cli, tmp_path: Path) -> None:
    app = write(tmp_path / "app", {"login.py": "x = 1\n"})
    done = cli("doctor", "--json", cwd=app, env={"PATH": str(tmp_path / "nothing")})
    assert done.status == 0
    assert looks(done)["git"]["state"] == "warn"
    assert "history" in looks(done)["git"]["hint"]
    assert "the static builder serves every level" in looks(done)["claude"]["found"]


def test_a_level_that_cannot_be_built_is_a_warning(cli: Cli, project: Path) -> None:
    look = looks(cli("doctor", "--json", cwd=project, env={"PREREAD_LEVEL": "full"}))["builder"]
    assert look["state"] == "warn"
    assert 'set level = "auto"' in look["hint"]


def test_a_missing_package_fails_and_says_how_to_fix_it(
    cli: Cli, project: Path, tmp_path: Path
) -> None:
    # Without its metadata a distribution is not installed, whatever can be imported.
    code = (
        "import importlib.metadata as m, sys\n"
        "class Gone(m.DistributionFinder):\n"
        "    def find_distributions(self, context):\n"
        "        if context.name == 'defusedxml': raise m.PackageNotFoundError('defusedxml')\n"
        "        return []\n"
        "    def find_spec(self, *rest): return None\n"
        "sys.meta_path.insert(0, Gone())\n"
    )
    write(tmp_path / "site", {"sitecustomize.py": code})
    path = f"{tmp_path / 'site'}{os.pathsep}{ROOT / 'server'}"
    done = cli("doctor", "--json", cwd=project, env={"PYTHONPATH": path})
    assert done.status == 1
    assert looks(done)["packages"]["found"] == "missing: defusedxml"
    assert "pip install" in looks(done)["packages"]["hint"]


# -- the gates


@pytest.mark.parametrize(
    ("text", "says"),
    [("# x\nmode maybe\n", "line 2 sets no valid mode"), (b"\xff\xfe", "is not UTF-8")],
)
def test_a_broken_gates_file_fails_with_its_line(
    cli: Cli, project: Path, text: str | bytes, says: str
) -> None:
    write(project / ".project", {"gates": text})
    done = cli("doctor", "--json", cwd=project)
    assert done.status == 1
    assert looks(done)["gates"]["state"] == "fail"
    assert says in looks(done)["gates"]["found"]


def test_rules_that_look_like_a_slip_and_match_no_file_are_a_warning(
    cli: Cli, project: Path
) -> None:
    write(project / "my tests", {"a.py": ""})
    text = "my tests/*\ntests/{feature}.py\n**/{b,c}.ts\nmode: warn\n"
    write(project / ".project", {"gates": text})
    found = looks(cli("doctor", "--json", cwd=project))["gates"]
    assert found["state"] == "warn"
    assert found["found"].endswith("no file: '**/{b,c}.ts' (line 3), 'mode: warn' (line 4)")


def test_gates_that_are_switched_off_are_a_warning_with_their_end(cli: Cli, project: Path) -> None:
    write(project / ".project", {"gates": "mode block\n"})
    for words, says in (((), "until they are switched on"), (("--for", "2h"), "until 20")):
        cli("gates", "off", *words, cwd=project)
        look = looks(cli("doctor", "--json", cwd=project))["gates"]
        assert (look["state"], look["found"].startswith(f"switched off {says}")) == ("warn", True)
        assert "preread gates on" in look["hint"]


def test_a_switch_that_is_ignored_is_a_warning(cli: Cli, project: Path) -> None:
    write(project / ".project", {"gates": "mode block\n"})
    look = looks(cli("doctor", "--json", cwd=project, env={"PREREAD_GATES": "maybe"}))["gates"]
    assert (look["state"], "ignored: PREREAD_GATES=maybe" in look["found"]) == ("warn", True)


def test_hooks_have_fired_when_a_session_left_something(cli: Cli, project: Path) -> None:
    write(project / ".project", {"gates": "mode block\n"})
    look = looks(cli("doctor", "--json", cwd=project))["fired"]
    assert (look["state"], look["found"]) == ("warn", "not yet here: is the plugin installed?")
    folder = write(project / ".project/.state/sessions/some-session", {"start.json": "{}"})
    os.utime(folder / "start.json", (2_000_000_000, 2_000_000_000))
    look = looks(cli("doctor", "--json", cwd=project))["fired"]
    assert (look["state"], look["found"].startswith("last at 2033-05-1")) == ("ok", True)


def damaged(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A copy of the hooks to damage, and an environment in which the package uses it."""
    copy = tmp_path / "copy"
    shutil.copytree(ROOT / "hooks", copy / "hooks")
    (copy / "server").symlink_to(ROOT / "server")  # the hooks import the gates from there
    code = (
        "import preread.infra.assets as a, pathlib; "
        f"a.PACKAGE = pathlib.Path({str(copy)!r}) / 'server' / 'preread'"
    )
    write(tmp_path / "site", {"sitecustomize.py": code})
    return copy / "hooks", {"PYTHONPATH": f"{tmp_path / 'site'}{os.pathsep}{ROOT / 'server'}"}


def test_missing_or_incomplete_hooks_fail(cli: Cli, project: Path, tmp_path: Path) -> None:
    hooks, env = damaged(tmp_path)
    (hooks / "stop").chmod(0o644)
    look = looks(cli("doctor", "--json", cwd=project, env=env))["hooks"]
    assert (look["state"], look["found"]) == ("warn", "not executable: stop")
    (hooks / "stop").unlink()
    done = cli("doctor", "--json", cwd=project, env=env)
    assert (done.status, looks(done)["hooks"]["found"]) == (1, f"not in {hooks}: stop")
    (hooks / "hooks.json").write_text("[]")
    assert (
        "cannot be read" in looks(cli("doctor", "--json", cwd=project, env=env))["hooks"]["found"]
    )
    shutil.rmtree(hooks)
    done = cli("doctor", "--json", cwd=project, env=env)
    assert (done.status, "is missing" in looks(done)["hooks"]["found"]) == (1, True)
    assert list(looks(done))[-2:] == ["dossiers", "database"]


def test_slow_hooks_are_a_warning_and_silent_ones_fail(
    cli: Cli, project: Path, tmp_path: Path
) -> None:
    write(project / ".project", {"gates": "mode block\n"})
    hooks, env = damaged(tmp_path)
    (hooks / "pre-spec-write").write_text("sleep 0.06\n")
    found = looks(cli("doctor", "--json", cwd=project, env=env))
    assert (found["speed"]["state"], found["gates"]["state"]) == ("warn", "fail")
    assert found["gates"]["found"].endswith("but pre-spec-write says nothing")
    (hooks / "pre-spec-write").write_text("echo broken >&2; exit 3\n")
    found = looks(cli("doctor", "--json", cwd=project, env=env))
    assert (found["speed"]["state"], found["speed"]["found"]) == (
        "fail",
        "pre-spec-write cannot be run: broken",
    )


def test_without_bash_the_gates_of_a_project_that_has_some_fail(cli: Cli, tmp_path: Path) -> None:
    app = write(tmp_path / "app", {".project/gates": "mode block\n"})
    found = looks(cli("doctor", "--json", cwd=app, env={"PATH": str(tmp_path / "nothing")}))
    assert (found["speed"]["state"], found["gates"]["state"]) == ("warn", "fail")
    assert "bash" in found["gates"]["hint"]


def test_looking_at_the_gates_writes_nothing(cli: Cli, project: Path) -> None:
    write(project / ".project", {"gates": "mode block\n"})
    before = {path: path.stat().st_mtime_ns for path in project.rglob("*")}
    assert cli("doctor", cwd=project).status == 0
    assert {path: path.stat().st_mtime_ns for path in project.rglob("*")} == before


def test_a_broken_database_is_a_warning_and_the_next_load_repairs_it(
    cli: Cli, project: Path
) -> None:
    cli("load", "checkout", cwd=project)
    database = project / ".project" / ".cache" / "index.db"
    for path in database.parent.glob("index.db-*"):
        path.unlink()
    database.write_bytes(b"not a database at all" * 1000)
    done = cli("doctor", "--json", cwd=project)
    assert (done.status, looks(done)["database"]["state"]) == (0, "warn")
    assert cli("load", "checkout", "--force", cwd=project).status == 0
    assert looks(cli("doctor", "--json", cwd=project))["database"]["state"] == "ok"


def test_a_database_of_another_version_is_a_warning(cli: Cli, project: Path) -> None:
    cli("load", "checkout", cwd=project)
    connection = sqlite3.connect(project / ".project" / ".cache" / "index.db")
    connection.execute("PRAGMA user_version = 999")
    connection.close()
    look = looks(cli("doctor", "--json", cwd=project))["database"]
    assert (look["state"], look["found"]) == ("warn", "made by another version (999)")


def test_a_project_folder_that_cannot_be_written_fails(cli: Cli, tmp_path: Path) -> None:
    if ignores_permissions(tmp_path):
        pytest.skip("this user may write everywhere")
    app = ordinary(tmp_path / "app")
    app.chmod(0o555)
    done = cli("doctor", "--json", cwd=app)
    app.chmod(0o755)
    assert done.status == 1
    assert looks(done)["writable"]["state"] == "fail"


def test_a_vanished_folder_fails_and_the_machine_is_still_checked(cli: Cli, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    shutil.rmtree(gone)
    done = cli("doctor", "--json", "--project", str(gone))
    assert done.status == 1
    assert looks(done)["project"]["state"] == "fail"
    assert looks(done)["python"]["state"] == "ok"
