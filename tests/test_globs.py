"""Globs match what the gates and git match, in bounded time, whoever wrote them."""

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _evidence_project import CALM, services, write
from conftest import Cli, git
from preread.gates import path_patterns
from preread.project import tree
from preread.project.globs import MAX_GLOB, GitRule, git_rule, glob_pattern
from preread.project.runners import globs

STARS = "*a" * 40 + "b"
HOSTILE = [
    STARS, f"**/{STARS}", "**a" * 40 + "b", "**/a" * 40 + "b", "a*" * 40 + "/b", "*?" * 60 + "b",
    "**a*a*a*" + "a" * 99 + "b**c", "*" * 4000 + "b",
]  # fmt: skip
PATHS = ["a" * 249 + "c", "/".join(["a" * 250] * 15), "/".join("a" * 2000), "ab" * 120 + "c"]
LONGEST = 2.0  # seconds for one match of the worst; a plain translation takes years


@given(
    glob=st.lists(st.sampled_from(["a", "b", "/", "*", "**", "**/", "?", "[", "."]), max_size=9),
    path=st.text("ab/", min_size=1, max_size=9),
)
@settings(CALM, max_examples=300)
def test_a_glob_matches_like_in_the_gates_file(glob: list[str], path: str) -> None:
    text = "".join(glob)
    gates = path_patterns.match(path_patterns.parts(text), path) is not None
    assert bool(glob_pattern(text).fullmatch(path)) == gates


NAMES = [
    "a", "b", "ab", "a b", "a/b", "a/ab", "b/a", "a/b/a", "ab/b/a", "b/b/b", "a-b", "]", "-", "a]",
    "[", "b/[a", "!a", "#a", "A", "b/A/a", "a1", "b_",
]  # fmt: skip
TOKENS = [
    "a", "b", "/", "*", "**", "**/", "?", "[", "]", "!", "-", "\\", " ", "[a-b]", "[!a]",
    "[[:alpha:]]", "[^", ":", "#", "A", "***/",
]  # fmt: skip


def ignored_by_git(root: Path, line: str) -> set[str]:
    (root / ".gitignore").write_text(line + "\n")
    done = subprocess.run(
        ["git", "check-ignore", "--no-index", "-z", "--stdin"], cwd=root, check=False,
        input="\0".join(NAMES).encode(), capture_output=True,
    )  # fmt: skip
    return set(filter(None, done.stdout.decode().split("\0")))


def ignored_by(rule: GitRule | None, path: str) -> bool:
    if rule is None or not rule.includes:
        return False
    *folders, _ = path.split("/")
    above = ["/".join(folders[:depth]) + "/" for depth in range(1, len(folders) + 1)]
    return any(map(rule.matches, [*above, path]))


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("globs")
    git(root, "init", "-q")
    return root


@given(tokens=st.lists(st.sampled_from(TOKENS), min_size=1, max_size=8))
@settings(CALM, max_examples=60)
def test_a_line_of_gitignore_matches_like_in_git(repository: Path, tokens: list[str]) -> None:
    line = "".join(tokens)
    rule = git_rule(line)
    ours = {path for path in NAMES if ignored_by(rule, path)}
    assert ours == ignored_by_git(repository, line)


@pytest.mark.parametrize("glob", HOSTILE)
def test_no_pattern_takes_long(glob: str) -> None:
    for matches in (
        glob_pattern(glob).fullmatch,
        git_rule(f"/{glob}").matches,
        git_rule(glob).matches,
    ):
        for path in PATHS:
            begun = time.perf_counter()
            assert not matches(path)
            assert time.perf_counter() - begun < LONGEST


def test_a_glob_longer_than_any_path_matches_nothing() -> None:
    assert glob_pattern("*" * MAX_GLOB).fullmatch("a")
    assert not glob_pattern("*" * (MAX_GLOB + 1)).fullmatch("a")
    assert git_rule("*" * (MAX_GLOB + 1)) is None


def test_a_runner_s_glob_with_thousands_of_choices_is_given_the_benefit() -> None:
    assert globs.matches("{a,b}" * 40, "c")
    assert not globs.matches("src/{a,b}.{js,ts}", "src/c.js")


NAME = "a" * 60
PLACES = {
    ".gitattributes": "".join(f"{glob} linguist-generated\n" for glob in HOSTILE),
    ".gitignore": "\n".join(HOSTILE),
    ".prereadignore": "\n".join(HOSTILE),
    ".project/config.toml": "".join(f"{key} = {HOSTILE!r}\n" for key in ("exclude", "include", "reports")),
    "package.json": f'{{"workspaces": {HOSTILE!r}}}'.replace("'", '"'),
    "pnpm-workspace.yaml": "packages:\n" + "\n" * 200_000 + "".join(f'  - "{g}"\n' for g in HOSTILE),
    "settings.gradle": "\n" * 200_000 + "".join(f"include '{glob}'\n" for glob in HOSTILE),
    "playwright.config.ts": f"export default {{ testMatch: ['{STARS}.ts', '{'{a,b}' * 40}*.ts'] }}\n",
}  # fmt: skip


@pytest.mark.parametrize("tracked", [True, False])
def test_hostile_patterns_in_every_file_that_has_any_delay_nothing(
    cli: Cli, tmp_path: Path, tracked: bool
) -> None:
    """One of these lines kept `load` busy until it was killed."""
    code = "def login(name):\n    return name\n"
    files = {f"src/{NAME}/{NAME}{n}.py": code for n in range(20)} | {f"{NAME}/package.json": "{}"}
    files[f"tests/{NAME}_test.py"] = "def test_login(): ...\n"
    root = write(tmp_path / "app", PLACES | files)
    if tracked:  # of some patterns, git itself keeps busy, see below
        write(root, {".gitignore": "**/a" * 40 + "b\n", ".gitattributes": "*?" * 60 + "b -text\n"})
        git(root, "init", "-q")
        git(root, "add", "-f", ".")
    for command in (
        ["load", "login", "--json"],
        ["evidence", "login", "--include", STARS, "--scope", f"src/{NAME}", "--json"],
    ):
        begun = time.monotonic()
        done = cli(*command, cwd=root)
        assert done.status == 0, done
        assert time.monotonic() - begun < 60


def test_files_are_listed_without_git_when_a_pattern_keeps_it_busy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree, "LIST_SECONDS", 0.5)
    write(tmp_path, {f"{NAME}.py": "", "tracked.log": "", "other.log": "", "new.py": ""})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-f", "tracked.log")
    write(tmp_path, {".gitignore": f"{STARS}\n*.log\n"})
    assert list(services(tmp_path).tree.files) == [
        ".gitignore",
        f"{NAME}.py",
        "new.py",
        "tracked.log",
    ]
