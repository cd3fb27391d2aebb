"""What a person sees, what a pipe gets, and what is imported for it."""

import json
import os
import pty
import re
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from conftest import Cli, child_environ
from preread.cli import foreground


def at_terminal(
    *arguments: str, cwd: Path, width: int = 120, progress: bool = True, **environ: str
) -> str:
    """The output of `preread` on a terminal, with its progress unless that is not wanted."""
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "preread", *arguments],
        cwd=cwd, env=child_environ({"TERM": "xterm", "COLUMNS": str(width), **environ}),
        stdin=terminal, stdout=terminal, stderr=terminal if progress else subprocess.DEVNULL,
    )  # fmt: skip
    os.close(terminal)
    parts = []
    while True:
        try:
            part = os.read(controller, 65536)
        except OSError:  # Linux: the last holder of the other end has closed it
            break
        if not part:
            break
        parts.append(part)
    os.close(controller)
    process.wait(30)
    return b"".join(parts).decode().replace("\r\n", "\n")


def uncoloured(shown: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", shown)


def test_load_prints_a_header_then_the_dossier(cli: Cli, project: Path) -> None:
    done = cli("load", "checkout", cwd=project)
    assert done.status == 0
    head = done.out.split("\n")[0]
    assert head.startswith("ok: built by static (light) · .project/context/checkout/ · ")
    assert " facts, about " in head
    assert head.endswith(" s")
    assert "# Summary: checkout" in done.out
    assert "## api/shop/checkout.py" in done.out
    assert done.err == ""


def test_show_prints_the_files_as_they_are(cli: Cli, project: Path) -> None:
    cli("load", "checkout", cwd=project)
    text = (project / ".project" / "context" / "checkout" / "patterns.md").read_text()
    done = cli("show", "checkout", "patterns.md", cwd=project)
    assert text.strip() in done.out
    assert "# Summary" not in done.out
    assert text.strip() in cli("show", "checkout", "patterns", cwd=project).out


def test_a_pipe_gets_no_colours_and_no_boxes(cli: Cli, project: Path) -> None:
    cli("load", "checkout", cwd=project)
    for arguments in (
        ["status"],
        ["evidence", "checkout", "--limit", "3"],
        ["show", "checkout", "--ids"],
    ):
        done = cli(*arguments, cwd=project)
        assert done.status == 0
        assert "\x1b" not in done.out
        assert not set("─│┌━┃") & set(done.out)


def test_a_terminal_gets_tables(cli: Cli, project: Path) -> None:
    cli("load", "checkout", cwd=project)
    shown = at_terminal("status", cwd=project)
    assert "─" in shown
    assert "checkout" in shown
    assert "fresh" in shown


def test_a_terminal_gets_a_rendered_dossier_in_colour_unless_told_not_to(
    cli: Cli, project: Path
) -> None:
    raw = cli("load", "checkout", cwd=project).out
    assert "# Summary: checkout" in raw
    assert "\x1b" not in raw
    shown = at_terminal("load", "checkout", cwd=project)
    assert "\x1b[32mok\x1b[0m: cached by static" in shown
    assert "\x1b[1;4mSummary: checkout\x1b[0m" in shown
    words = uncoloured(shown)
    assert "# Summary" not in words
    assert "`" not in words.partition("Codebase: checkout")[2]
    assert "• " in words
    assert "api/shop/checkout.py" in words
    plain = at_terminal("load", "checkout", cwd=project, NO_COLOR="1")
    assert "\x1b" not in plain
    assert plain.partition("\n\n")[2].strip() in raw.partition("\n\n")[2].strip()
    assert at_terminal("doctor", cwd=project).count("\x1b[32mok\x1b[0m") > 5
    assert "\x1b[31m\x1b[1merror:" in at_terminal("show", "nosuch", cwd=project)
    assert "\x1b" not in at_terminal("show", "nosuch", cwd=project, NO_COLOR="1")


def test_evidence_in_a_pipe_is_whole_one_line_each(cli: Cli, project: Path) -> None:
    done = cli("evidence", "checkout", "--limit", "2", cwd=project)
    told = cli("evidence", "checkout", "--limit", "2", "--json", cwd=project).json
    lines = done.out.split("\n")[2:]  # the fence
    assert lines[0] == "checkout: searched for checkout"
    for title, name in (("SOURCES", "files"), ("TESTS", "tests"), ("DOCUMENTS", "docs")):
        head = next(
            n for n, line in enumerate(lines) if line.split() == ["RANK", "SCORE", title, "REASON"]
        )
        for rank, one in enumerate(told[name], 1):
            ranges = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in one["lines"])
            place = f"{one['path']}:{ranges}" if ranges else one["path"]
            bar = ("#" * round(10 * one["score"])).ljust(10, ".")
            row = lines[head + rank]
            assert row.split(None, 4) == [
                str(rank),
                f"{one['score']:.2f}",
                bar,
                place,
                one["reasons"][0],
            ]
    for finding in told["findings"]:
        row = next(line for line in lines if line.startswith(f"- {finding['text']}"))
        assert row.endswith(f" ({', '.join(finding['sources'])})" if finding["sources"] else "")
        assert f"{finding['file']}: {finding['section']}" in lines
    more = told["total"] - len(told["findings"])
    assert f"{more} more findings (--limit {told['total']} shows all)" in lines


def test_evidence_fits_a_narrow_terminal(project: Path) -> None:
    asked = ("evidence", "checkout", "--limit", "3")
    shown = at_terminal(*asked, cwd=project, width=70, progress=False)
    assert "\x1b[32m██████████" in shown
    lines = re.sub(r"\x1b\[[0-9;]*m", "", shown).split("\n")
    assert max(map(len, lines[:-2])) <= 70  # the last one says in words what is not shown
    assert any("/…/" in line for line in lines)
    plain = at_terminal(
        *asked, cwd=project, width=60, progress=False, NO_COLOR="1", PYTHONIOENCODING="ascii"
    )
    grid = [line for line in plain.split("\n") if line.startswith(("|", "+"))]
    assert grid
    assert all(line.isascii() for line in grid)
    assert "\x1b" not in plain
    assert "##########" in plain
    assert "...py" in plain or ".../" in plain


def test_control_characters_of_a_project_do_not_reach_the_terminal(cli: Cli, project: Path) -> None:
    cli("load", "checkout", cwd=project)
    path = project / ".project" / "context" / "checkout" / "patterns.md"
    path.write_text(
        path.read_text() + "- \x1b]0;owned\x07 and \u202e reversed (api/shop/cart.py:1)\n"
    )
    done = cli("show", "checkout", "patterns.md", cwd=project)
    assert "\x1b" not in done.out
    assert "\\x1b]0;owned\\x07 and \\u202e reversed" in done.out
    done = cli("show", "checkout", "patterns.md", "--json", cwd=project)
    assert "\x1b" in done.json["text"]
    assert not {"\x1b", "\x07", "\u202e"} & {*done.out}


def test_a_reader_that_disconnects_ends_it_quietly(project: Path) -> None:
    command = f"{sys.executable} -m preread load checkout | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env=child_environ(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout.split("\n")[0].startswith("ok: ")
    assert done.stdout.split("\n")[1] == "0"


@pytest.mark.parametrize("arguments", [["status"], ["status", "--json"], ["--help"]])
def test_a_full_disk_behind_stdout_is_an_expected_failure(
    project: Path, arguments: list[str]
) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "preread", *arguments],
            cwd=project, env=child_environ(), stdout=full, stderr=subprocess.PIPE, text=True,
            timeout=60,
        )  # fmt: skip
    assert done.returncode == 1
    what = "The output" if arguments == ["--help"] else "Standard output"
    said = f"error: E_WRITE: {what} cannot be written: No space left on device.\n"
    assert done.stderr == said


def test_a_closed_stdout_is_not_a_bug(project: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m preread status >&-"],
        cwd=project, env=child_environ(), capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_narrow_output_encoding_is_not_a_bug(cli: Cli, project: Path, encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding}
    assert cli("load", "checkout", cwd=project, env=env).status == 0
    told = cli("load", "checkout", "--description", "größer ✓", "--json", cwd=project, env=env)
    assert json.loads(told.out)["status"] == "ok"


UNWANTED = (
    "anyio",
    "asyncio",
    "mcp",
    "mcp_types",
    "rich",
    "jinja2",
    "tree_sitter",
    "preread.evidence",
    "preread.syntax",
)


def test_a_cached_load_imports_nothing_heavy(cli: Cli, project: Path) -> None:
    cli("load", "checkout", cwd=project)
    code = (
        "import sys; sys.argv = ['preread', 'load', 'checkout']\n"
        "from preread.__main__ import main\n"
        "status = main()\n"
        f"print('IMPORTED', status, [name for name in {UNWANTED!r} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=child_environ(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.startswith("ok: cached by static")
    assert done.stdout.endswith("IMPORTED 0 []\n")


def test_no_progress_is_shown_without_a_terminal_or_for_a_quick_run(
    cli: Cli, project: Path
) -> None:
    assert cli("load", "checkout", cwd=project).err == ""
    shown = at_terminal("load", "checkout", cwd=project)
    assert uncoloured(shown).startswith("ok: cached")
    assert "\x1b[?25l" not in shown


def test_a_long_build_shows_how_long_it_runs_of_how_long_at_most(
    project: Path, tmp_path: Path
) -> None:
    slow = tmp_path / "bin"
    slow.mkdir()
    once = f'*log*) mkdir "{tmp_path}/slept" 2>/dev/null && sleep 2;;'
    (slow / "git").write_text(f'#!/bin/sh\ncase "$*" in {once} esac\nexec {which("git")} "$@"\n')
    (slow / "git").chmod(0o755)
    old = os.environ["PATH"]
    os.environ["PATH"] = f"{slow}:{old}"
    try:
        os.environ["PREREAD_TIMEOUTS"] = "light=90"
        shown = at_terminal("load", "checkout", cwd=project)
    finally:
        del os.environ["PREREAD_TIMEOUTS"]
        os.environ["PATH"] = old
    assert "s so far, 90 s at most)" in shown
    assert "ok: built by static" in uncoloured(shown)


def test_late_first_progress_is_shown_at_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    said = foreground.LatestProgress(begun=time.monotonic() - 60)

    async def late() -> None:
        with anyio.move_on_after(0.2):
            await said.report("reads the history", 1, 3)
            await foreground._show(said, lambda: 90.0)

    anyio.run(late)
    most = time.monotonic() - said.begun
    shown = re.search(
        r"step 2 of 3: reads the history \((\d+) s so far, 90 s at most\)", capsys.readouterr().err
    )
    assert shown, "at once, and not after a second of its own"
    assert 60 <= int(shown[1]) <= most  # 61 where the machine was busy meanwhile


def test_steps_are_lines_of_a_pipe_and_whoever_stops_reading_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = foreground.LatestProgress(is_logged=True)

    async def steps() -> None:
        for message in ("a: codegen", "a: codegen", "b: reads\nx\x1b[2J"):
            await said.report(message, 1, 3)
        monkeypatch.setattr(sys.stderr, "write", _closed)
        await said.report("c: codegen", 2, 3)

    anyio.run(steps)
    assert capsys.readouterr().err == ("step 2 of 3: a: codegen\nstep 2 of 3: b: reads x\\x1b[2J\n")
    assert said.message == "c: codegen"


def _closed(_: str) -> int:
    raise BrokenPipeError


def which(program: str) -> str:
    import shutil

    found = shutil.which(program)
    assert found
    return found


def test_a_warning_about_the_settings_file_names_its_keys_not_options(
    cli: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "app" / ".project"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('levle = "light"\nlevel = "deep"\n')
    done = cli("load", "login", cwd=folder.parent)
    assert "sets `levle`, which is not a setting. Did you mean `level`?" in done.out
    assert "sets `level` to an invalid value" in done.out


def test_a_dossier_that_a_file_keeps_from_being_saved_says_what_is_in_the_way(
    cli: Cli, tmp_path: Path
) -> None:
    folder = tmp_path / "app" / ".project"
    folder.mkdir(parents=True)
    (folder / "context").write_text("")
    done = cli("load", "login", cwd=folder.parent)
    assert done.out.startswith("degraded: built by static (light) · 0 facts, ")
    assert (
        "hint: Move what is in the way (a file where a folder belongs, or the reverse)." in done.out
    )
