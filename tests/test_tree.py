"""The project's files: the same list with and without git, no links, no foreign programs."""

import os
import sqlite3
import stat
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from _evidence_project import CALM, commit, services, write
from conftest import git
from preread.errors import Cancelled
from preread.layout import Layout
from preread.project.globs import glob_pattern
from preread.project.tree import Tree, is_young
from preread.services import Progress, Services
from preread.settings import Settings


def tree(root: Path) -> Tree:
    return services(root).tree


def listed(root: Path) -> list[str]:
    return list(tree(root).files)


# -- with and without git

PLAIN = ["a.py", "b.log", "keep.log", "x.tmp", "build/a.py", "build/keep.log", "src/a.py",
"src/b.log",
"src/keep.log",
         "src/build/a.py", "src/deep/x.tmp", "src/deep/a.py", "docs/a.md",
         "docs/b.log"]  # fmt: skip
RULES = st.lists(
    st.sampled_from(
        ["*.log", "!keep.log", "build/", "/build", "src/*.log", "**/x.tmp", "deep", "/deep/",
            "!deep/", "docs/**",
        "!docs/a.md",
         "# comment", "", "a.py", "!a.py", "src/**/a.py", "*.tmp  ", "[ab].log", "?.py", "\\!x"]
    ),
    max_size=5,
)  # fmt: skip


@settings(CALM, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=RULES, src=RULES, deep=RULES)
def test_the_same_files_are_listed_with_git_and_without(
    tmp_path_factory: pytest.TempPathFactory, top: list[str], src: list[str], deep: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    write(root, dict.fromkeys(PLAIN, "x\n"))
    for folder, rules in (("", top), ("src/", src), ("src/deep/", deep)):
        write(root, {f"{folder}.gitignore": "\n".join(rules) + "\n"})
    walked = listed(root)
    git(root, "init", "-q")
    assert tree(root).is_git
    assert listed(root) == walked


def test_rules_with_carriage_returns_work_without_git_too(tmp_path: Path) -> None:
    write(
        tmp_path, {".gitignore": "*.log\r\nbuild/\r\n", "a.log": "", "build/a.py": "", "b.py": ""}
    )
    assert listed(tmp_path) == [".gitignore", "b.py"]
    git(tmp_path, "init", "-q")
    assert listed(tmp_path) == [".gitignore", "b.py"]


def test_untracked_files_count_and_deleted_and_ignored_ones_do_not(tmp_path: Path) -> None:
    commit(tmp_path, {".gitignore": "out/\n", "a.py": "", "gone.py": ""}, "begin")
    write(tmp_path, {"new.py": "", "out/x.py": ""})
    (tmp_path / "gone.py").unlink()
    assert listed(tmp_path) == [".gitignore", "a.py", "new.py"]


def test_preread_s_own_folder_is_not_part_of_the_project_s_files(tmp_path: Path) -> None:
    files = {".project/knowledge.md": "", ".project/context/login/patterns.md": "", "a.py": ""}
    write(tmp_path, files)
    assert listed(tmp_path) == ["a.py"]
    commit(tmp_path, {}, "all of it")
    assert listed(tmp_path) == ["a.py"]


def test_without_git_folders_of_tools_are_skipped(tmp_path: Path) -> None:
    names = ["node_modules/x/index.js", "__pycache__/a.pyc", ".venv/lib/a.py", ".hg/store"]
    write(tmp_path, dict.fromkeys([*names, "src/a.py"], ""))
    assert listed(tmp_path) == ["src/a.py"]


# -- .prereadignore and .gitattributes


@pytest.mark.parametrize("line", ["!", "\\", "a\\", "[z-a]", "/", "//"])
def test_a_line_that_is_no_rule_is_ignored_as_git_does(tmp_path: Path, line: str) -> None:
    files = {"kept.py": "x = 1\n", "left/out.py": "x = 1\n"}
    own = write(tmp_path, {".prereadignore": f"left/\n{line}\n", **files})
    assert set(services(own).tree.files) == {".prereadignore", "kept.py"}


@pytest.mark.parametrize("tracked", [True, False])
def test_a_prereadignore_reads_like_a_gitignore_and_counts_for_tracked_files_too(
    tmp_path: Path, tracked: bool
) -> None:
    rules = {
        "": "*.log\n!keep.log\nbuild/\n",
        "src/": "!b.log\n/deep/*\n!/deep/a.py\n",
        "docs/": "**\n",
    }
    plain, own = (write(tmp_path / name, dict.fromkeys(PLAIN, "x\n")) for name in ("plain", "own"))
    for folder, text in rules.items():
        write(plain, {f"{folder}.gitignore": text})
        write(own, {f"{folder}.prereadignore": text})
    if tracked:
        commit(own, {".gitignore": "/.prereadignore\n"}, "all of it, but for the rules at the root")
    names = {".gitignore", ".prereadignore"}
    assert [path for path in listed(own) if Path(path).name not in names] == [
        path for path in listed(plain) if Path(path).name not in names
    ]
    assert "src/b.log" in listed(own)


def test_the_last_attribute_decides_what_is_generated_or_vendored(tmp_path: Path) -> None:
    rules = (
        "*.pb.go linguist-generated\napi/** text linguist-generated=true\n"
        "lib/** linguist-vendored\n# *.md x\n"
    )
    write(
        tmp_path,
        {
            ".gitattributes": rules,
            "api/.gitattributes": "mine.go -linguist-generated\n",
            "api/mine.go": "",
        },
    )
    said = tree(tmp_path).attributes
    assert said.of("x/a.pb.go") == said.of("api/deep/other.go") == {"generated": True}
    assert said.of("api/mine.go") == {"generated": False}
    assert said.of("lib/x.js") == {"vendored": True}
    assert said.of("src/a.go") == said.of("a.md") == {}


# -- where git is in its odder shapes


def test_a_submodule_s_files_are_another_project_s(tmp_path: Path) -> None:
    commit(tmp_path / "library", {"lib.py": "x\n"}, "library")
    commit(tmp_path / "main", {"a.py": "y\n"}, "begin")
    git(
        tmp_path / "main",
        "submodule",
        "--quiet",
        "add",
        str(tmp_path / "library"),
        "vendor/library",
    )
    assert listed(tmp_path / "main") == [".gitmodules", "a.py"]
    inner = tmp_path / "main" / "vendor" / "library"
    assert tree(inner).is_git
    assert listed(inner) == ["lib.py"]


def test_a_worktree_is_a_project_of_its_own(tmp_path: Path) -> None:
    commit(tmp_path / "main", {"a.py": "x\n"}, "begin")
    git(tmp_path / "main", "worktree", "add", "-q", "-b", "other", str(tmp_path / "side"))
    commit(tmp_path / "side", {"b.py": "y\n"}, "on the side")
    assert listed(tmp_path / "side") == ["a.py", "b.py"]
    assert listed(tmp_path / "main") == ["a.py"]
    assert tree(tmp_path / "side").is_git


def test_a_folder_of_a_repository_lists_its_own_files_by_its_own_paths(tmp_path: Path) -> None:
    commit(
        tmp_path,
        {"outside.py": "", "part/a.py": "", "part/.gitignore": "*.log\n", "part/b.log": ""},
        "begin",
    )
    assert listed(tmp_path / "part") == [".gitignore", "a.py"]


def test_a_project_inside_an_ignored_folder_of_a_repository_is_walked(tmp_path: Path) -> None:
    commit(tmp_path, {".gitignore": "sandbox/\n"}, "begin")
    root = tmp_path / "sandbox" / "mine"
    write(root, {"a.py": "", "b.log": "", ".gitignore": "*.log\n"})
    assert not tree(root).is_git
    assert listed(root) == [".gitignore", "a.py"]


def test_a_repository_without_commits_has_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    write(tmp_path, {"a.py": ""})
    assert tree(tmp_path).is_git
    assert listed(tmp_path) == ["a.py"]


def test_a_broken_repository_is_walked(tmp_path: Path) -> None:
    write(tmp_path, {".git": "gitdir: /nowhere\n", "a.py": "", ".gitignore": "b.py\n", "b.py": ""})
    assert not tree(tmp_path).is_git
    assert "a.py" in listed(tmp_path)
    assert "b.py" not in listed(tmp_path)


def test_variables_of_git_s_own_do_not_lead_it_elsewhere(tmp_path: Path) -> None:
    commit(tmp_path / "other", {"secret.py": ""}, "begin")
    commit(tmp_path / "mine", {"a.py": ""}, "begin")
    (tmp_path / "mine" / ".project").mkdir()
    environ = {
        **os.environ,
        "GIT_DIR": str(tmp_path / "other" / ".git"),
        "GIT_WORK_TREE": str(tmp_path / "other"),
    }
    assert list(Services(Layout(tmp_path / "mine"), Settings(), environ).tree.files) == ["a.py"]


# -- links, special files and odd names


@pytest.mark.parametrize("with_git", [True, False])
def test_no_link_is_listed_or_followed(tmp_path: Path, with_git: bool) -> None:
    root = tmp_path / "root"
    write(tmp_path, {"outside/secret.py": "", "root/real/a.py": ""})
    (root / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "inner.py").symlink_to(root / "real" / "a.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "self").symlink_to(root)
    (root / "nowhere.py").symlink_to(tmp_path / "nothing")
    if with_git:
        git(root, "init", "-q")
        git(root, "add", "-A")
    assert listed(root) == ["real/a.py"]
    found = tree(root)
    assert found.text("file.py") is None
    assert found.text("folder/secret.py") is None
    assert not found.exists("folder/secret.py")
    assert found.text("inner.py") == ""


def test_a_tracked_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    root = tmp_path / "root"
    commit(root, {"part/a.py": "mine\n"}, "begin")
    write(tmp_path, {"outside/a.py": "secret\n"})
    (root / "part" / "a.py").unlink()
    (root / "part").rmdir()
    (root / "part").symlink_to(tmp_path / "outside")
    assert listed(root) == []
    assert tree(root).text("part/a.py") is None


@pytest.mark.parametrize("with_git", [True, False])
def test_names_that_cannot_be_cited_are_skipped_and_odd_ones_are_not(
    tmp_path: Path, with_git: bool
) -> None:
    kept = [
        "ü.py",
        "a b.py",
        "it's.py",
        'q"q.py',
        "(auth)/[slug].tsx",
        "-x.py",
        "日本.md",
        "a,b:c.py",
        ":(top)x.py",
        "*.py",
    ]
    write(tmp_path, dict.fromkeys(kept, "x\n"))
    for name in (
        b"new\nline.py",
        b"tab\t.py",
        b"\xff.py",
        b"back\\slash.py",
        b"a<b.py",
        b"\x1b[0m.py",
    ):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text("x\n")
    if with_git:
        git(tmp_path, "init", "-q")
    assert listed(tmp_path) == sorted(kept)
    assert all(tree(tmp_path).text(name) == "x\n" for name in kept)


def test_a_pipe_is_neither_listed_nor_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert listed(tmp_path) == []
    assert tree(tmp_path).text("pipe.py") is None


# -- reading


def test_text_is_decoded_and_binary_files_have_no_text(tmp_path: Path) -> None:
    (tmp_path / "bom.py").write_bytes(b"\xef\xbb\xbfx = 1\n")
    (tmp_path / "latin.py").write_bytes(b"caf\xe9\n")
    (tmp_path / "wide.txt").write_bytes("text".encode("utf-16"))
    found = tree(tmp_path)
    assert found.text("bom.py") == "x = 1\n"
    assert found.text("latin.py") == "café\n"
    assert found.text("wide.txt") is None
    (tmp_path / "late.py").write_bytes(b"# text\n" * 5000 + b"\0")
    assert found.text("late.py") is None
    assert found.exists("wide.txt")


def test_one_request_reads_a_file_once_and_the_next_one_anew(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "before"})
    first = tree(tmp_path)
    assert first.text("a.txt") == "before"
    write(tmp_path, {"a.txt": "after"})
    assert first.text("a.txt") == "before"
    assert tree(tmp_path).text("a.txt") == "after"


@pytest.mark.parametrize(
    ("glob", "matching", "other"),
    [
        ("**/*.py", ["a.py", "x/a.py", "x/y/a.py"], ["a.pyc", "a.py/b"]),
        ("tests/**", ["tests/a", "tests/x/y.py"], ["tests", "my/tests/a"]),
        ("*.py", ["a.py", ".py"], ["x/a.py"]),
        ("a?c", ["abc"], ["a/c", "ac"]),
        ("app/[slug]/(x).ts", ["app/[slug]/(x).ts"], ["app/s/x.ts"]),
        ("**/junit*.xml", ["junit.xml", "r/junit-1.xml"], ["r/xjunit.xml"]),
        ("a.b+c", ["a.b+c"], ["aXb+c", "a.bbc"]),
    ],
)
def test_globs_follow_the_grammar_of_the_gates(
    glob: str, matching: list[str], other: list[str]
) -> None:
    pattern = glob_pattern(glob)
    assert [path for path in matching if not pattern.fullmatch(path)] == []
    assert [path for path in other if pattern.fullmatch(path)] == []


# -- nothing of the repository's choice is run


def test_no_program_that_a_repository_names_is_ever_run(tmp_path: Path) -> None:
    root = tmp_path / "root"
    first = commit(root, {"a.txt": "one\n", "b.py": "x = 1\n"}, "begin")
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {tmp_path}/ran\ncat "$@" 2>/dev/null\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    commit(
        root,
        {"a.txt": "two\n", "b.py": "x = 2\n", ".gitattributes": "* diff=evil filter=evil\n"},
        "more",
    )
    for key in ("core.fsmonitor", "diff.external", "diff.evil.textconv", "diff.evil.command",
        "filter.evil.clean",
                "filter.evil.smudge", "filter.evil.process", "core.pager", "core.editor",
                "core.sshCommand",
                "gpg.program",
                "pager.log", "pager.show", "core.gitProxy", "credential.helper", "core.askPass",
                "interactive.diffFilter"):  # fmt: skip
        git(root, "config", key, str(program))
    git(root, "config", "log.showSignature", "true")
    git(root, "config", "core.hooksPath", str(tmp_path / "hooks"))
    (tmp_path / "hooks").mkdir()
    for hook in (
        "post-index-change",
        "fsmonitor-watchman",
        "query-watchman",
        "reference-transaction",
        "post-checkout",
    ):
        (tmp_path / "hooks" / hook).symlink_to(program)
        (root / ".git" / "hooks" / hook).symlink_to(program)
    write(root, {"a.txt": "three\n", "new.txt": "x\n"})

    from preread.dossier import sources
    from preread.evidence.collect import collect
    from preread.index import gitlog
    from preread.index.analysis import AnalysisCache
    from preread.models import Request
    from preread.prompt.patches import patches_in

    asked = services(root)
    assert "new.txt" in asked.tree.files
    with closing(sqlite3.connect(":memory:")) as nothing_kept:
        log = AnalysisCache(asked.tree, nothing_kept).log
        assert patches_in(log, [first])
        assert gitlog.commits_of(log, ["b.py"])
        assert gitlog.churn(log)
    assert "one" in sources.resolve(sources.Ref("commit", name=first), asked.tree).lines
    collect(asked, Request(feature="b"))
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()
    # The trap is a real one: git by itself does run it.
    subprocess.run(["git", "diff"], cwd=root, capture_output=True)
    assert (tmp_path / "ran").exists()


# -- reading


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\n", [""]),
        ("a\nb", ["a", "b"]),
        ("a\r\nb\r\n", ["a", "b"]),
        ("a\rb\n\n", ["a\rb", ""]),
    ],
)
def test_lines_end_at_line_feeds_only_and_are_cached(
    tmp_path: Path, text: str, lines: list[str]
) -> None:
    known = tree(write(tmp_path, {"a.txt": text}))
    assert known.lines("a.txt") == lines
    assert known.lines("a.txt") == lines


# -- cancellation


def test_listing_and_searching_stop_on_cancellation(tmp_path: Path) -> None:
    write(tmp_path, {f"d{n}/a.py": "x\n" for n in range(5)})
    stopped = Services(Layout(tmp_path.resolve()), Settings(), progress=Progress())
    stopped.progress.stop()
    with pytest.raises(Cancelled):
        _ = stopped.tree.files
    with pytest.raises(Cancelled):
        stopped.tree.containing("x", ["d1/a.py"])


@pytest.mark.parametrize(
    ("changed", "now", "young"),
    [
        (1_000_000_000_000_000_001, 1_000_000_000_050_000_000, True),
        (1_000_000_000_000_000_001, 1_000_000_000_200_000_000, False),
        (1_000_000_000_000_000_000, 1_000_000_001_900_000_000, True),
        (1_000_000_000_000_000_000, 1_000_000_002_100_000_000, False),
        (1_000_000_060_000_000_001, 1_000_000_000_000_000_000, True),
    ],
)
def test_a_file_is_young_for_a_tenth_of_a_second_or_two_seconds_where_times_are_coarse(
    changed: int, now: int, young: bool
) -> None:
    assert is_young(changed, now) is young
