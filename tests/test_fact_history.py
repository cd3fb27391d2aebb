"""What is known of how facts came about and changed, and what a change of the code touches."""

import json
import time
from datetime import datetime
from pathlib import Path

import pytest

from _faces import FACES, answer, face
from conftest import Cli, git, make_repository
from preread.dossier import fact_changes
from preread.layout import Layout

pytestmark = pytest.mark.anyio
CODE = '''"""Tokens."""

LIMIT = 10  # because the service refuses more


def make_token(user):
    """Make a token."""
    if not user:
        raise ValueError("no user")
    return f"{user}:token"


def drop_token(user):
    """Drop it."""
    return make_token(user) + "!"
'''


@pytest.fixture
def root(tmp_path: Path, cli: Cli) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "login.py").write_text(CODE)
    (folder / "README.md").write_text("# Tokens\n")
    make_repository(folder)
    assert cli("load", "login", "--level", "light", cwd=folder).status == 0
    return folder


def edit(root: Path, old: str, new: str) -> None:
    path = root / "src" / "login.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def diff(cli: Cli, root: Path, *arguments: str) -> list[dict]:
    done = cli("diff", "login", *arguments, "--json", cwd=root)
    assert done.status == 0, done.out
    changes: list[dict] = done.json["changes"]
    return changes


def fact(cli: Cli, root: Path, words: str) -> dict:
    facts = cli("show", "login", "--ids", "--json", cwd=root).json["facts"]
    return next(one for one in facts if words in one["text"])


def test_a_refresh_reports_what_moved_changed_and_is_gone(cli: Cli, root: Path) -> None:
    first = diff(cli, root)
    assert {one["kind"] for one in first} == {"added"}
    assert {one["how"] for one in first} == {"built"}
    begun = time.time()
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os\n')
    edit(root, "because the service refuses more", "because the service refuses twenty")
    assert cli("load", "login", "--json", cwd=root).json["state"] == "refreshed"
    changes = diff(cli, root)
    kinds = {one["kind"] for one in changes}
    assert "moved" in kinds
    assert kinds & {"changed", "removed"}
    comment = next(one for one in changes if "refuses" in one["text"])
    assert comment["how"] == "refreshed"
    assert "src/login.py:3" in comment["why"]
    assert all(one["at"] > begun for one in changes)
    whole = diff(cli, root, "--since", "1d")
    assert {one["kind"] for one in whole} == {"added"}
    assert cli("diff", "login", "--since", "nonsense", cwd=root).status == 2


def test_a_dossier_that_was_built_of_a_commit_is_what_it_said_at_that_commit(
    cli: Cli, root: Path
) -> None:
    assert diff(cli, root, "--since", "HEAD") == []
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os\n')
    git(root, "commit", "-qam", "import")
    assert cli("load", "login", cwd=root).status == 0
    for since in ("HEAD~1", git(root, "rev-parse", "HEAD~1").strip()):
        kinds = {one["kind"] for one in diff(cli, root, "--since", since)}
        assert "moved" in kinds
        assert "added" not in kinds


def test_an_edit_and_the_refresh_that_found_it_are_one_change(cli: Cli, root: Path) -> None:
    path = Layout(root).dossier("login") / "patterns.md"
    path.write_text(path.read_text() + "\n## Mine\n- tokens are `make_token` (src/login.py:6)\n")
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os\n')
    assert cli("load", "login", cwd=root).status == 0
    last = diff(cli, root)
    assert {one["how"] for one in last if "tokens are" in one["text"]} <= {"edited", "refreshed"}
    assert [one["kind"] for one in last if "tokens are" in one["text"]] == ["added"]
    assert "moved" in {one["kind"] for one in last}
    assert diff(cli, root, "--since", "30m")


def told(cli: Cli, root: Path, words: str, since: str) -> tuple[str, str, str]:
    """The kind, the cause and the reason of the change of one fact."""
    changes = diff(cli, root, "--since", since)
    [one] = [one for one in changes if words in one["text"]]
    return one["kind"], one["how"], one["why"]


def now() -> str:
    return datetime.now().astimezone().isoformat()


def test_why_a_fact_was_added_is_not_why_it_moved_later(cli: Cli, root: Path) -> None:
    first = now()
    edit(root, "def drop_token", "def count_token():\n    return 1\n\n\ndef drop_token")
    assert cli("load", "login", cwd=root).status == 0
    built = told(cli, root, ", `count_token` :", first)
    assert built[:2] == ("added", "refreshed")
    assert "src/login.py" in built[2]
    path = Layout(root).dossier("login") / "patterns.md"
    path.write_text(path.read_text() + "\n## Mine\n- tokens are `make_token` (src/login.py:6)\n")
    assert cli("load", "login", cwd=root).status == 0
    since = now()
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os')
    assert cli("load", "login", cwd=root).status == 0
    for start in ("1d", first):
        assert told(cli, root, "tokens are", start) == ("added", "edited", "")
    assert told(cli, root, "`make_token` (user)", "1d") == ("added", "built", "")
    assert told(cli, root, ", `count_token` :", first) == built
    assert told(cli, root, "tokens are", since) == ("moved", "refreshed", "")


def test_the_reason_of_a_changed_fact_names_only_the_lines_that_changed(
    cli: Cli, root: Path
) -> None:
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os')
    edit(root, "def drop_token(", "def drop_tokens(")
    assert cli("load", "login", cwd=root).status == 0
    [where] = [one for one in diff(cli, root) if one["file"] == "summary.md"]
    assert where["text"] == "code: `make_token` src/login.py:8, `drop_tokens` src/login.py:15"
    assert where["why"] == "src/login.py:13 changed"


def test_an_edit_of_one_file_is_no_reason_for_what_the_code_did_to_another(
    cli: Cli, root: Path
) -> None:
    path = Layout(root).dossier("login") / "patterns.md"
    path.write_text(path.read_text() + "\n## Mine\n- tokens are `make_token` (src/login.py:6)\n")
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os')
    edit(root, "def drop_token", "def count_token():\n    return 1\n\n\ndef drop_token")
    assert cli("load", "login", cwd=root).status == 0
    changes = [one for one in diff(cli, root) if one["how"] == "refreshed"]
    assert {one["kind"] for one in changes} >= {"added", "moved"}
    assert [one for one in changes if "patterns.md" in one["why"]] == []
    moved = fact(cli, root, "because the service refuses more")
    [blamed] = cli("blame", moved["id"], "--json", cwd=root).json["facts"]
    assert [(one["kind"], one["why"]) for one in blamed["origins"]] == [
        ("moved", ""),
        ("added", ""),
    ]


def test_a_reworded_or_deleted_fact_that_moved_was_still_edited(cli: Cli, root: Path) -> None:
    path = Layout(root).dossier("login") / "patterns.md"
    own = (
        "- tokens are `make_token` (src/login.py:6)\n- dropped by `drop_token` (src/login.py:13)\n"
    )
    path.write_text(f"{path.read_text()}\n## Mine\n{own}")
    assert cli("load", "login", cwd=root).status == 0
    since = now()
    path.write_text(path.read_text().replace("tokens are", "all tokens are"))
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os')
    assert cli("load", "login", cwd=root).status == 0
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "dropped by" not in line))
    edit(root, "import os", "import os\nimport re")
    assert cli("load", "login", cwd=root).status == 0
    assert told(cli, root, "all tokens are", since) == ("changed", "edited", "")
    assert told(cli, root, "dropped by", since) == ("removed", "edited", "")


def test_a_dossier_without_facts_has_nothing_to_compare(tmp_path: Path, cli: Cli) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    git(root, "init", "-q")
    done = cli("load", "login", "--json", cwd=root).json
    assert (done["stats"]["facts"], done["stats"]["dropped"]) == (0, 0)
    assert "login has no earlier version: 0 changes" in cli("diff", "login", cwd=root).out


def test_what_people_write_and_take_away_is_theirs(cli: Cli, root: Path) -> None:
    path = Layout(root).dossier("login") / "patterns.md"
    path.write_text(path.read_text() + "\n## Mine\n- tokens are `make_token` (src/login.py:6)\n")
    [own] = diff(cli, root)
    assert (own["kind"], own["how"]) == ("added", "edited")
    done = cli("blame", own["id"], "--json", cwd=root).json["facts"][0]
    assert done["by"] == "person"
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os\n')
    assert cli("load", "login", cwd=root).status == 0
    moved = fact(cli, root, "tokens are")
    [now] = cli("blame", moved["id"], "--json", cwd=root).json["facts"]
    assert (now["origins"][-1]["how"], now["origins"][-1]["kind"]) == ("edited", "added")
    assert cli("wrong", moved["id"], cwd=root).status == 0
    [gone] = diff(cli, root)
    assert (gone["kind"], gone["how"], gone["id"]) == ("removed", "marked wrong", moved["id"])


def test_what_git_checks_out_is_not_what_a_person_edited(cli: Cli, root: Path) -> None:
    git(root, "add", "-f", ".project/context")
    git(root, "commit", "-qm", "the dossier")
    ids = [fact(cli, root, words)["id"] for words in ("`make_token` (user)", "`LIMIT = 10`")]
    edit(root, "def make_token(user)", "def new_token(user)")
    edit(root, "return make_token", "return new_token")
    edit(root, "LIMIT = 10", "assert True")
    assert cli("load", "login", cwd=root).status == 0
    assert not [one for one in diff(cli, root) if one["how"] == "edited"]
    git(root, "checkout", "-q", ".")
    changes = diff(cli, root)
    assert {one["how"] for one in changes} == {"checked out"}
    origins = [cli("blame", one, "--json", cwd=root).json["facts"][0]["origins"] for one in ids]
    told = [("checked out", "git"), ("refreshed", "static"), ("built", "static")]
    assert [(one["how"], one["by"]) for one in origins[0]][:3] == told
    assert [(one["how"], one["by"]) for one in origins[1]][:2] == [told[0], told[2]]
    done = cli("load", "login", "--force", "--json", cwd=root).json
    assert not [one for one in done["warnings"] if "back" in one]
    (Layout(root).dossier("login") / "failures.md").unlink(missing_ok=True)
    (Layout(root).dossier("login") / "codebase.md").unlink()
    assert {one["how"] for one in diff(cli, root)} == {"edited"}


def test_a_fact_is_known_by_its_earlier_id(cli: Cli, root: Path) -> None:
    first = fact(cli, root, "`make_token` (user)")["id"]
    for above in ("import os", "import re"):
        edit(root, '"""Tokens."""', f'"""Tokens."""\n\n{above}')
        assert cli("load", "login", cwd=root).status == 0
    now = fact(cli, root, "`make_token` (user)")["id"]
    assert now != first
    for command in ("blame", "trace"):
        told = cli(command, first, "--json", cwd=root)
        assert told.status == 0
        assert now in told.out


def test_what_was_removed_and_restored_is_told_as_such(cli: Cli, root: Path) -> None:
    one = fact(cli, root, "`make_token` (user)")["id"]
    removed = cli("remove", "login", "--json", cwd=root).json["backup"]
    assert cli("restore", removed, cwd=root).status == 0
    assert {each["how"] for each in diff(cli, root)} == {"restored"}
    origins = cli("blame", one, "--json", cwd=root).json["facts"][0]["origins"]
    told = [("restored", "person"), ("built", "static")]
    assert [(each["how"], each["by"]) for each in origins] == told
    assert cli("remove", "login", cwd=root).status == 0
    assert cli("load", "login", "--json", cwd=root).json["warnings"] == []
    assert {each["how"] for each in diff(cli, root)} == {"built"}


def test_blame_names_the_builder_and_the_commit_it_saw(cli: Cli, root: Path) -> None:
    one = fact(cli, root, "make_token")
    head = git(root, "rev-parse", "HEAD").strip()
    [found] = cli("blame", one["id"], "--json", cwd=root).json["facts"]
    assert (found["by"], found["feature"]) == ("static", "login")
    assert [(each["how"], each["commit"]) for each in found["origins"]] == [("built", head[:12])]
    assert cli("blame", "00000000", cwd=root).err.startswith("error: E_NOT_FOUND")
    kept = cli("remember", "tokens are never logged", "--json", cwd=root).json
    [told] = cli("blame", kept["id"], "--json", cwd=root).json["facts"]
    assert (told["feature"], told["origins"][0]["how"]) == ("", "remembered")
    assert told["retired"] == ""
    git(root, "add", "-f", ".project/knowledge.md")
    git(root, "commit", "-qm", "remember it")
    assert cli("call", "memory.forget", f'{{"fact": "{kept["id"]}"}}', cwd=root).status == 0
    git(root, "commit", "-qam", "forget it")
    [told] = cli("blame", kept["id"], "--json", cwd=root).json["facts"]
    assert told["retired"].startswith("forgotten ")
    assert told["retired"] in cli("blame", kept["id"], cwd=root).out
    kinds = [(each["how"], each["kind"]) for each in told["origins"]]
    assert kinds == [("remembered", "added"), ("committed", "last changed")]
    assert told["origins"][0]["at"] == pytest.approx(time.time(), abs=60)


def test_the_chain_to_a_fact_is_in_order(cli: Cli, root: Path) -> None:
    one = fact(cli, root, "make_token")
    steps = cli("trace", one["id"], "--json", cwd=root).json["steps"]
    kinds = [step["kind"] for step in steps]
    assert kinds.index("commit") < kinds.index("build")
    [call] = [step for step in steps if step["kind"] == "call"]
    [logged] = cli("log", "--json", cwd=root).json["entries"]
    assert (call["id"], logged["method"]) == (logged["id"], "context.load")
    commit = next(step for step in steps if step["kind"] == "commit")
    assert git(root, "rev-parse", "HEAD").startswith(commit["id"])


def test_without_a_history_a_committed_dossier_has_one(cli: Cli, root: Path) -> None:
    git(root, "add", "-f", ".project/context")
    git(root, "commit", "-qm", "the dossier")
    Layout(root).history("login").unlink()
    edit(root, "because the service refuses more", "because the service refuses twenty")
    assert cli("load", "login", cwd=root).status == 0
    Layout(root).history("login").unlink()
    changes = diff(cli, root, "--since", "HEAD")
    assert any("refuses" in one["text"] for one in changes)
    one = fact(cli, root, "make_token")
    origins = cli("blame", one["id"], "--json", cwd=root).json["facts"][0]["origins"]
    assert [(each["how"], each["why"]) for each in origins] == [("committed", "the dossier")]


def test_of_commits_of_one_second_the_last_counts(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2026-01-01T12:00:00Z")
    patterns = Layout(root).dossier("login") / "patterns.md"
    for step in ("one", "two"):
        with patterns.open("a") as file:
            file.write(f"\n## {step}\n- {step}: `make_token` (src/login.py:6)\n")
        git(root, "add", "-f", ".project/context")
        git(root, "commit", "-qm", step)
    Layout(root).history("login").unlink()
    assert diff(cli, root, "--since", "HEAD") == []


@pytest.fixture
def clone(tmp_path: Path, root: Path) -> Path:
    """A clone of a project whose dossier is in git, also with a fact that no load has seen."""
    patterns = Layout(root).dossier("login") / "patterns.md"
    git(root, "add", "-f", ".project/context")
    git(root, "commit", "-qm", "the dossier")
    patterns.write_text(
        f"{patterns.read_text()}\n## Ours\n- made in `make_token` (src/login.py:6)\n"
    )
    git(root, "commit", "-qam", "a fact")
    git(tmp_path, "clone", "-q", str(root), "clone")
    return tmp_path / "clone"


def origins(cli: Cli, root: Path, words: str) -> list[tuple[str, str, str]]:
    id_ = fact(cli, root, words)["id"]
    [found] = cli("blame", id_, "--json", cwd=root).json["facts"]
    return [(one["how"], one["by"], one["kind"]) for one in found["origins"]]


@pytest.mark.parametrize("is_loaded_first", [False, True])
def test_an_edit_in_a_fresh_clone_is_an_edit(
    cli: Cli, clone: Path, *, is_loaded_first: bool
) -> None:
    if is_loaded_first:
        assert cli("load", "login", cwd=clone).status == 0
    path = Layout(clone).dossier("login") / "patterns.md"
    path.write_text(
        path.read_text().replace("made in", "made anew in")
        + "- dropped by `drop_token` (src/login.py:13)\n"
    )
    begun = time.time()
    assert cli("load", "login", cwd=clone).status == 0
    assert origins(cli, clone, "dropped by") == [("edited", "person", "added")]
    kinds = [(how, kind) for how, _, kind in origins(cli, clone, "made anew in")]
    unknown = "published before its history was kept"
    assert kinds == [("edited", "changed"), (unknown, "added")]
    assert [how for how, _, _ in origins(cli, clone, "`make_token` (user)")] == [
        unknown,
        "committed",
    ]
    for arguments in ((), ("--since", "HEAD")):
        found = {one["text"]: one for one in diff(cli, clone, *arguments)}
        for text, kind in (("dropped by `drop_token`", "added"), ("made anew in", "changed")):
            [one] = [one for shown, one in found.items() if shown.startswith(text)]
            assert (one["kind"], one["how"]) == (kind, "edited")
            assert one["at"] >= begun - 0.001
        assert unknown not in {one["how"] for one in found.values()}


def test_what_a_build_published_in_a_clone_without_a_history_is_no_edit(
    cli: Cli, clone: Path
) -> None:
    edit(clone, "def drop_token", "def count_token():\n    return 1\n\n\ndef drop_token")
    assert cli("load", "login", cwd=clone).status == 0
    Layout(clone).history("login").unlink()
    path = Layout(clone).dossier("login") / "patterns.md"
    path.write_text(path.read_text() + "- dropped by `drop_token` (src/login.py:17)\n")
    assert cli("load", "login", cwd=clone).status == 0
    assert origins(cli, clone, ", `count_token` :")[0][0] == "published before its history was kept"


def test_a_change_touches_the_facts_on_its_lines_first(cli: Cli, root: Path) -> None:
    cites = cli("impact", "src/login.py", "--json", cwd=root).json
    assert cites["features"] == ["login"]
    assert {one["how"] for one in cites["facts"]} == {"cites"}
    for same in ("./src/login.py", "src", "src/"):
        assert cli("impact", same, "--json", cwd=root).json["facts"] == cites["facts"]
    unknown = cli("impact", "src/logn.py", "--json", cwd=root)
    assert (unknown.status, unknown.json["code"]) == (1, "E_NOT_FOUND")
    assert cli("impact", "--json", cwd=root).json["facts"] == []
    edit(root, 'raise ValueError("no user")', 'raise ValueError("nobody")')
    shown = cli("impact", "--json", cwd=root).json
    assert shown["paths"] == ["src/login.py"]
    assert shown["facts"][0]["how"] in {"gone", "changed"}
    assert any(one["how"] == "cites" for one in shown["facts"])
    assert cli("load", "login", cwd=root).status == 0
    followed = cli("impact", "--json", cwd=root).json["facts"]
    assert followed[0]["how"] == "in the change"
    assert cli("impact", "--against", "nosuch", cwd=root).status == 2
    assert cli("impact", "../x", cwd=root).status == 1


def test_a_persons_fact_that_its_sources_do_not_say_still_cites_its_file(
    cli: Cli, root: Path
) -> None:
    patterns = Layout(root).dossier("login") / "patterns.md"
    with patterns.open("a") as file:
        file.write(
            "\n## Mine\n"
            "- one: the limit is `LIMIT = 10` (src/login.py:3-4)\n"
            "- two: it is called `never_there` (src/login.py:6-8)\n"
            "- three: both of them (src/login.py:3-4, README.md:1)\n"
        )

    def how(*arguments: str) -> list[str]:
        facts = cli("impact", *arguments, "--json", cwd=root).json["facts"]
        return [
            next((each["how"] for each in facts if each["text"].startswith(word)), "")
            for word in ("one:", "two:", "three:")
        ]

    assert how("src/login.py") == ["cites"] * 3  # no build has seen them yet
    edit(root, "LIMIT = 10", "LIMIT = 20")
    assert how() == ["in the change", "cites", "in the change"]
    git(root, "checkout", "-q", "src")
    assert cli("load", "login", cwd=root).status == 0
    assert how("src/login.py") == ["cites"] * 3
    edit(root, "LIMIT = 10", "LIMIT = 20")
    assert how() == ["changed", "cites", "changed"]
    warnings = cli("load", "login", "--json", cwd=root).json["warnings"]
    assert len([one for one in warnings if "do not say it" in one]) == 3
    for arguments in ((), ("src/login.py",), ("src",)):
        assert how(*arguments) == ["cites"] * 3
    assert how("README.md") == ["", "", "cites"]
    (root / "src" / "login.py").unlink()
    assert how("src/login.py") == ["cites"] * 3
    assert cli("load", "login", cwd=root).status == 0
    assert how("src/login.py") == ["cites"] * 3


def test_lines_that_have_moved_are_not_changed(cli: Cli, root: Path) -> None:
    edit(root, '"""Tokens."""', '"""Tokens."""\n\nimport os')
    touched = cli("impact", "--json", cwd=root).json["facts"]
    assert {one["how"] for one in touched} == {"moved"}
    assert cli("load", "login", cwd=root).status == 0
    assert {one["kind"] for one in diff(cli, root)} <= {"moved"}
    edit(root, "LIMIT = 10  #", "LIMIT = 20  #")
    git(root, "mv", "src/login.py", "src/tokens.py")
    how = {one["text"]: one["how"] for one in cli("impact", "--json", cwd=root).json["facts"]}
    assert {text for text, one in how.items() if one == "gone"} == {
        text for text in how if "LIMIT" in text
    }
    assert "moved" in how.values()


def test_a_function_in_another_file_has_moved_and_a_renamed_test_is_gone(
    cli: Cli, root: Path
) -> None:
    path = Layout(root).dossier("login") / "codebase.md"
    (root / "tests").mkdir()
    test = root / "tests" / "test_login.py"
    test.write_text("def test_token():\n    assert True\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a test")
    ours = "- by test (tests/test_login.py::test_token)\n- the file (tests/test_login.py)\n"
    path.write_text(f"{path.read_text()}\n## Ours\n{ours}")
    assert cli("load", "login", cwd=root).status == 0

    def how(words: str) -> str:
        facts = cli("impact", "--json", cwd=root).json["facts"]
        return next(one["how"] for one in facts if words in one["text"])

    code = root / "src" / "login.py"
    begin = CODE.index("def make_token")
    end = CODE.index("def drop_token")
    code.write_text(CODE[:begin] + CODE[end:])
    (root / "src" / "tokens.py").write_text(f'"""More."""\n\n\n{CODE[begin:end].rstrip()}\n')
    assert how("`make_token` (user)") == "moved"
    test.write_text("def test_a_token():\n    assert True\n")
    assert (how("by test"), how("the file")) == ("gone", "cites")
    git(root, "mv", "tests/test_login.py", "tests/test_tokens.py")
    assert how("the file") == "gone"
    (root / "tests" / "test_tokens.py").write_text("def test_token():\n    assert True\n")
    assert (how("by test"), how("the file")) == ("moved", "moved")


TWICE = "def opened():\n    return None\n\n\ndef closed():\n    return None\n"


def how_of(cli: Cli, root: Path, *arguments: str) -> dict[str, str]:
    """What the change does to each fact about `src/twice.py`, by its text without the line."""
    facts = cli("impact", *arguments, "--json", cwd=root).json["facts"]
    return {one["text"]: one["how"] for one in facts if "src/twice.py" in one["source"]}


@pytest.fixture
def twice(cli: Cli, root: Path) -> Path:
    """A file with equal lines that a dossier cites without marks, as a build's facts do."""
    path = root / "src" / "twice.py"
    path.write_text(TWICE)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "equal lines")
    ours = "".join(f"- line {n} (src/twice.py:{n})\n" for n in (1, 2, 5, 6))
    dossier = Layout(root).dossier("login")
    with (dossier / "patterns.md").open("a") as file:
        file.write(f"\n## Ours\n{ours}- all of it (src/twice.py:5-6)\n")
    assert cli("load", "login", cwd=root).status == 0
    manifest = json.loads((dossier / "manifest.json").read_text())
    assert {one for one in manifest["spans"] if "twice" in one} >= {"src/twice.py:2"}
    manifest["marks"] = {}
    (dossier / "manifest.json").write_text(json.dumps(manifest))
    return path


@pytest.mark.parametrize("arguments", [(), ("src/twice.py",)])
def test_equal_lines_that_only_moved_have_not_changed(
    cli: Cli, root: Path, twice: Path, arguments: tuple[str, ...]
) -> None:
    twice.write_text(f"import os\n\n\n{TWICE}")
    assert {*how_of(cli, root, *arguments).values()} == {"moved"}
    twice.write_text(TWICE.replace("def closed", "import os\n\n\ndef closed"))
    found = how_of(cli, root, *arguments)
    assert [found[f"line {n}"] for n in (1, 2, 5, 6)] == ["cites", "cites", "moved", "moved"]
    assert found["all of it"] == "moved"
    twice.write_text(f"def more():\n    return None\n\n\n{TWICE}")  # line 2 says the same
    assert {*how_of(cli, root, *arguments).values()} == {"moved"}


def test_lines_that_were_deleted_are_gone_and_their_twins_are_not(
    cli: Cli, root: Path, twice: Path
) -> None:
    twice.write_text("def opened():\n    return None\n")
    found = how_of(cli, root)
    assert [found[f"line {n}"] for n in (1, 5, 6)] == ["cites", "gone", "gone"]
    assert found["all of it"] == "gone"
    twice.write_text(TWICE.replace("def opened():\n    return None\n\n\n", ""))
    found = how_of(cli, root)
    assert [found[f"line {n}"] for n in (1, 2, 5, 6)] == ["gone", "gone", "moved", "moved"]
    twice.write_text(TWICE.replace("closed():\n    return None", "closed():\n    return 1"))
    found = how_of(cli, root)
    assert [found[f"line {n}"] for n in (5, 6)] == ["cites", "changed"]
    assert found["all of it"] == "changed"
    twice.write_text(TWICE.replace("def closed():\n", ""))
    found = how_of(cli, root)
    assert (found["line 5"], found["all of it"]) == ("gone", "changed")


def test_what_was_committed_since_the_dossier_is_seen_as_well(
    cli: Cli, root: Path, twice: Path
) -> None:
    before = git(root, "rev-parse", "HEAD").strip()
    twice.write_text(f"import os\n\n\n{TWICE}")
    git(root, "commit", "-qam", "moved")
    for against in (("src/twice.py",), ("--against", before), ("--against", f"{before}..HEAD")):
        assert {*how_of(cli, root, *against).values()} == {"moved"}


def test_equal_lines_of_a_renamed_file_have_moved(cli: Cli, root: Path, twice: Path) -> None:
    git(root, "mv", "src/twice.py", "src/two.py")
    (root / "src" / "two.py").write_text(f"import os\n\n\n{TWICE}")
    assert {*how_of(cli, root).values()} == {"moved"}


def test_a_path_is_understood_however_it_is_written(cli: Cli, root: Path) -> None:
    said = cli("impact", "src/login.py", "--json", cwd=root).json["facts"]
    assert said
    for path in ("./src/login.py", "src//login.py", str(root / "src" / "login.py"), "src", "src/"):
        assert cli("impact", path, "--json", cwd=root).json["facts"] == said, path
    assert len(cli("impact", ".", "--json", cwd=root).json["facts"]) >= len(said)
    for path in (str(root.parent), f"{root}x/src/login.py", f"{root}/../x", "src/../../x"):
        assert cli("impact", path, cwd=root).err.startswith("error: E_OUTSIDE"), path


def test_a_path_may_be_relative_to_the_current_folder(cli: Cli, root: Path) -> None:
    said = cli("impact", "src/login.py", "--json", cwd=root).json
    assert said["facts"]
    for path in ("login.py", "./login.py", ".", "../src/login.py", "src/login.py", "src"):
        assert cli("impact", path, "--json", cwd=root / "src").json == said, path
    edit(root, 'raise ValueError("no user")', 'raise ValueError("nobody")')
    changed = cli("impact", "--json", cwd=root).json
    for path in ("login.py", "src/login.py"):
        shown = cli("impact", path, "--against", "HEAD", "--json", cwd=root / "src").json
        assert shown == changed, path
    (root / "src" / "src").mkdir()
    (root / "src" / "src" / "login.py").write_text("# another one\n")
    both = cli("impact", "src/login.py", "--json", cwd=root / "src").json
    assert (both["paths"], both["facts"]) == (["src/src/login.py"], [])
    (root / "src" / "login.py").unlink()
    gone = cli("impact", "login.py", "--json", cwd=root / "src").json
    assert gone["paths"] == ["src/login.py"]
    assert {one["how"] for one in gone["facts"]} == {"gone"}
    for path, code in (("../../x", "E_OUTSIDE"), ("", "E_OUTSIDE"), ("nosuch.py", "E_NOT_FOUND")):
        assert cli("impact", path, "--json", cwd=root / "src").json["code"] == code, path


async def test_an_agents_paths_are_relative_to_the_root(root: Path) -> None:
    (root / "src" / "src").mkdir()
    (root / "src" / "src" / "login.py").write_text("# another one\n")
    call = {"method": "impact", "params": {"paths": ["src/login.py"]}}
    for by, path in (("mcp:an-agent", "src/login.py"), ("person", "src/src/login.py")):
        done = await answer(root / "src", call, by=by)
        assert done["result"]["paths"] == [path], by


@pytest.mark.parametrize("setting", ["diff.noprefix", "diff.mnemonicPrefix", "core.quotePath"])
def test_what_git_shows_does_not_depend_on_its_settings(cli: Cli, root: Path, setting: str) -> None:
    git(root, "config", setting, "true")
    edit(root, 'raise ValueError("no user")', 'raise ValueError("nobody")')
    begin = git(root, "rev-parse", "HEAD").strip()
    for step in (("add", "-A"), ("commit", "-qm", "nobody"), ("status",)):
        against = ("--against", f"{begin}..HEAD") if step == ("status",) else ()
        shown = cli("impact", *against, "--json", cwd=root).json
        assert shown["facts"][0]["how"] in {"gone", "changed"}
        assert shown["paths"] == ["src/login.py"]
        if step != ("status",):
            git(root, *step)
        if step == ("add", "-A"):
            assert cli("impact", "--json", cwd=root).json == shown


def test_lines_that_look_like_a_diffs_headings_are_not_files(cli: Cli, root: Path) -> None:
    path = root / "src" / "login.py"
    text = path.read_text()
    path.write_text("++ b/README.md\n" + text.replace('raise ValueError("no user")', "pass"))
    shown = cli("impact", "--json", cwd=root).json
    assert shown["paths"] == ["src/login.py"]


def test_without_git_or_a_commit_the_history_says_what_is_missing(cli: Cli, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "login.py").write_text(CODE)
    (folder / ".project").mkdir()
    assert cli("load", "login", cwd=folder).status == 0
    assert "name the files" in cli("impact", cwd=folder).err
    assert cli("impact", "src/login.py", "--json", cwd=folder).json["facts"]
    assert cli("diff", "login", "--since", "HEAD", cwd=folder).err.startswith("error: E_USAGE")
    one = fact(cli, folder, "make_token")
    [origin] = cli("blame", one["id"], "--json", cwd=folder).json["facts"][0]["origins"]
    assert (origin["how"], origin["commit"]) == ("built", "")
    git(folder, "init", "-q")
    assert "no commit 'HEAD'" in cli("impact", cwd=folder).err


def test_what_is_wrong_with_git_is_said_and_not_that_a_commit_is_unknown(
    tmp_path: Path, root: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (root / ".git/config").open("a") as file:
        file.write("[core\n")
    said = cli("impact", cwd=root)
    assert (said.status, said.err.split(":")[1]) == (1, " E_READ")
    assert "git rev-parse failed: fatal: bad config line" in said.err
    assert "name the files" in said.err
    assert "fatal: bad config line" in cli("diff", "login", "--since", "HEAD~1", cwd=root).err
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "git is not installed" in cli("impact", cwd=root).err


def test_a_torn_line_and_a_full_file_lose_only_old_events(
    cli: Cli, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from _files_project import services
    from preread.dossier import fact_history, published

    layout = Layout(root)
    with layout.history("login").open("ab") as file:
        file.write(b'{"at": 1, "how"')
    edit(root, "LIMIT = 10", "LIMIT = 20")
    assert cli("load", "login", cwd=root).status == 0
    now = fact_history.facts_in(
        {path.name: path.read_text() for path in layout.dossier("login").glob("*.md")}, "login"
    )
    past = fact_history.events(layout, "login")
    assert fact_history.facts_after(past) == now
    monkeypatch.setattr(fact_history, "MAX_BYTES", 10)
    dropped = dict(list(now.items())[1:])
    found = published.in_place(layout, "login")
    assert found.manifest
    done = fact_history.Publish(found, dropped, found.manifest, "built", "")
    for _ in range(2):
        fact_history.record(services(root), done)
    assert layout.history("login").stat().st_size < 60_000
    assert fact_history.facts_after(fact_history.events(layout, "login")) == dropped


@pytest.mark.parametrize("name", FACES)
async def test_every_face_tells_the_history(root: Path, name: str) -> None:
    async with face(name, root) as call:
        done = await call({"method": "diff", "params": {"feature": "login"}})
        first = done["result"]["changes"][0]
        chain = {"method": "trace", "params": {"fact": {"$ref": "#/facts/0/id"}}}
        told = await call({"method": "blame", "params": {"fact": first["id"]}, "then": chain})
        assert told["then"]["result"]["steps"]
        touched = await call({"method": "impact", "params": {"paths": ["src/login.py"]}})
        assert touched["result"]["facts"]


def test_the_same_sources_in_another_order_or_twice_are_no_move() -> None:
    def known(*sources: str) -> fact_changes.Known:
        return fact_changes.Known(id="1", file="patterns.md", text="x", sources=sources)

    key = ("patterns.md", "1")
    before, after = {key: known("a.py:1", "a.py:2", "a.py:2")}, {key: known("a.py:2", "a.py:1")}
    assert fact_changes.compare(before, after) == []
    moved = fact_changes.compare(before, {key: known("a.py:1", "a.py:3")})
    assert [one.kind for one in moved] == ["moved"]
