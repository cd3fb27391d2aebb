"""Hostile projects give a dossier or a clear reply; nothing outside is touched."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from _files_project import ignores_permissions, program, program_environ
from _processes import small
from _trees import LOGIN, TREES, ordinary, write
from _whole import sized
from conftest import Cli, git


def everything(folder: Path) -> dict[str, bytes]:
    """Every readable file below a folder, but for git's and Preread's own."""
    found = {}
    for path in sorted(folder.rglob("*")):
        ours = {".git", ".project"} & set(path.relative_to(folder).parts)
        if not ours and path.is_file() and os.access(path, os.R_OK):
            found[str(path)] = path.read_bytes()
    return found


@pytest.mark.parametrize("name", TREES)
def test_load_gives_a_dossier_with_valid_sources_only(cli: Cli, tmp_path: Path, name: str) -> None:
    tree = TREES[name](tmp_path / "app")
    before = everything(tmp_path)
    done = cli("load", "login", "--json", cwd=tree)
    assert "Traceback" not in done.err
    # Without git's answer, what there is may be incomplete: it says so, and is built again.
    fails = name == "broken repository"
    expected = ("degraded", "E_READ") if fails else ("ok", None)
    assert (done.status, done.json["status"], done.err) == (0, expected[0], "")
    assert done.json.get("code") == expected[1]
    assert not fails or "git ls-files failed" in str(done.json["warnings"])
    assert done.json["state"] == "built"
    assert (done.json["stats"]["facts"] > 0) == ("empty" not in name)
    folder = tree / ".project" / "context" / "login"
    assert {path.name for path in folder.iterdir()} == {*done.json["files"], "manifest.json"}
    checked = cli("check", "login", cwd=tree)
    assert checked.status == 0, checked.out
    again = cli("load", "login", "--json", cwd=tree).json
    assert again["state"] == ("built" if fails else "cached")
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", sized([*TREES][::2], [*TREES]))
def test_every_other_command_gives_a_reply_or_a_clear_error(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    tree = TREES[name](tmp_path / "app")
    for command in (
        ["evidence", "login"],
        ["facts", "login"],
        ["doctor"],
        ["init"],
        ["load", "_project"],
        ["status"],
    ):
        done = cli(*command, cwd=tree)
        assert done.status == 0, (command, done)
        assert done.err == ""
        assert "\x1b" not in done.out


def test_files_behind_links_out_of_the_project_are_never_read(cli: Cli, tmp_path: Path) -> None:
    tree = TREES["links"](tmp_path / "app")
    for command in (
        ["load", "login"],
        ["evidence", "login_secret_word"],
        ["evidence", "login", "--limit", "1000"],
    ):
        done = cli(*command, cwd=tree)
        assert done.status == 0
        assert "login_secret.py" not in done.out
        assert "do not read" not in done.out


def test_a_project_folder_that_is_a_file_gives_an_error_with_a_hint(
    cli: Cli, tmp_path: Path
) -> None:
    app = ordinary(tmp_path / "app")
    (app / ".project").write_text("<projectDescription/>\n")  # Eclipse's
    for command in (["load", "login"], ["status"], ["init"]):
        done = cli(*command, cwd=app)
        assert done.status == 1
        assert done.err.startswith("error: E_PROJECT_DIR: ")
        assert "Move that file" in done.err
    assert (app / ".project").read_text() == "<projectDescription/>\n"
    doctor = cli("doctor", cwd=app)
    assert doctor.status == 1
    assert re.search(r"^fail +project .*is a file", doctor.out, re.MULTILINE)


@pytest.mark.parametrize(
    "name", ["context", ".cache", ".state", ".cache/staging", "context/login", ".cache/index.db"]
)
def test_a_link_out_of_the_project_is_not_written_through(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    app = ordinary(tmp_path / "app")
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    place = app / ".project" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside / "file.db" if name.endswith(".db") else outside)
    done = cli("load", "login", cwd=app)
    assert "Traceback" not in done.err
    assert done.status == 1
    assert done.err.startswith("error: E_OUTSIDE: ")
    assert not list(outside.iterdir())


@pytest.mark.parametrize("name", ["context", ".cache", ".cache/staging", ".cache/locks"])
def test_where_a_file_takes_the_place_of_a_folder_the_dossier_is_in_the_reply(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    app = ordinary(tmp_path / "app")
    write(app, {f".project/{name}": "in the way\n"})
    unsaved(cli, app)
    assert (app / ".project" / name).read_text() == "in the way\n"


@pytest.mark.parametrize("name", [".state", "context/login"])
def test_what_was_built_is_in_the_reply_although_not_all_could_be_written(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    app = ordinary(tmp_path / "app")
    write(app, {f".project/{name}": "in the way\n"})
    for _ in range(2):
        done = cli("load", "login", "--json", cwd=app)
        assert (done.status, done.json["status"]) == (0, "ok")
        assert "login.py:" in done.json["dossier"]
    assert (app / ".project" / name).read_text() == "in the way\n"


def unsaved(cli: Cli, app: Path) -> None:
    """A load whose dossier cannot be written: it says so, and has the dossier."""
    done = cli("load", "login", "--json", cwd=app)
    assert "Traceback" not in done.err
    assert done.status == 0
    assert (done.json["status"], done.json["code"]) == ("degraded", "E_WRITE")
    assert "could not be saved: " in done.json["warnings"][0]
    assert (done.json["path"], done.json["files"]) == ("", [])
    assert "login.py:" in done.json["dossier"]


def test_a_dossier_that_was_there_serves_when_it_cannot_be_refreshed(
    cli: Cli, tmp_path: Path
) -> None:
    app = ordinary(tmp_path / "app")
    assert cli("load", "login", cwd=app).status == 0
    write(app, {"other.py": "x = 1\n"})
    (app / ".project" / ".cache" / "staging").rmdir()
    write(app, {".project/.cache/staging": "in the way\n"})
    done = cli("load", "login", "--json", cwd=app)
    assert (done.status, done.json["state"]) == (0, "cached")
    assert "could not be refreshed" in done.json["warnings"][-1]


def test_a_feature_name_with_a_command_in_it_runs_nothing(cli: Cli, tmp_path: Path) -> None:
    app = ordinary(tmp_path / "app")
    for name in (
        "x$(touch pwned)",
        "`touch pwned`",
        "x; touch pwned",
        "x\ntouch pwned",
        "--upload-pack=touch pwned",
    ):
        assert cli("load", name, cwd=app).status == 2
    assert (
        cli("load", "login", "--description", "$(touch pwned) `touch pwned`", cwd=app).status == 0
    )
    assert cli("load", "login", "--ticket", "x$(touch pwned)", cwd=app).status == 2
    assert not list(tmp_path.rglob("pwned"))


def test_settings_of_the_repository_cannot_run_programs(cli: Cli, tmp_path: Path) -> None:
    app = ordinary(tmp_path / "app")
    pwn = write(tmp_path, {"pwn.sh": f"#!/bin/sh\ntouch {tmp_path}/pwned\n"}) / "pwn.sh"
    pwn.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "core.sshCommand",
        "log.showSignature",
        "gpg.program",
    ):
        git(app, "config", key, str(pwn) if key != "log.showSignature" else "true")
    git(app, "config", "filter.evil.smudge", str(pwn))
    git(app, "config", "diff.evil.textconv", str(pwn))
    write(app, {".gitattributes": "*.py diff=evil filter=evil\n"})
    assert cli("load", "login", cwd=app).status == 0
    assert not (tmp_path / "pwned").exists()


def test_a_read_only_project_is_reported(cli: Cli, tmp_path: Path) -> None:
    if ignores_permissions(tmp_path):
        pytest.skip("this user may write everywhere")
    app = ordinary(tmp_path / "app")
    app.chmod(0o555)
    unsaved(cli, app)
    app.chmod(0o755)


def test_a_dossier_that_a_repository_brings_cannot_lead_out_or_run_anything(
    cli: Cli, tmp_path: Path
) -> None:
    app = ordinary(tmp_path / "app")
    secret = write(tmp_path, {"secret.txt": "do not read\n"}) / "secret.txt"
    bad = (
        f"- `do not read` ({secret}:1)\n- `do not read` (../secret.txt:1)\n"
        f"- x (commit:--output=pwned)\n"
        "- y (<../../etc/passwd>:1)\n- z (absent:../**~\"x\")\n- \x1b[2J (login.py:1)\n"
    )  # fmt: skip
    write(
        app,
        {
            f".project/context/login/{n}.md": f"# T: login\n\n## S\n{bad}"
            for n in ("patterns", "codebase", "summary")
        },
    )
    write(
        app,
        {
            ".project/context/login/manifest.json": (
                '{"files": {"../../../login.py": "x"}, "feature": "login"}'
            )
        },
    )
    for command in (["check", "login"], ["show", "login"], ["status"], ["facts", "read"]):
        done = cli(*command, cwd=app)
        assert done.status in {0, 1}
        assert "Traceback" not in done.err
        assert "E_INTERNAL" not in done.err
        assert "\x1b" not in done.out
    assert cli("check", "login", cwd=app).status == 1
    assert cli("load", "login", cwd=app).status == 0
    assert (app / "login.py").read_text() == LOGIN
    assert not list(tmp_path.rglob("pwned"))


def test_pipes_folders_and_links_where_files_belong_never_hang_or_crash_a_command(
    cli: Cli, tmp_path: Path
) -> None:
    """A sample; `PREREAD_TEST_ODD=1` tries each of some 4,700 cases."""
    project = small(tmp_path / "small")
    assert cli("load", "login", cwd=project).status == 0
    every = os.environ.get("PREREAD_TEST_ODD", "500")
    done = subprocess.run(
        program(Path(__file__).parent / "_odd_places.py", project, every),
        env=program_environ(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["runs"] > 5
