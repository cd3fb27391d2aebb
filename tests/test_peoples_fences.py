"""Code that people quote in a dossier: it follows the code, and a build does not undo an edit."""

import re
import shutil
from pathlib import Path

import pytest

from _processes import LOGIN, TESTS, small
from conftest import Cli, git

EXAMPLE = """

def test_login_again_gives_another_token():
    token = login("ada", "secret")
    again = login("ada", "secret")
    assert again == token
    assert again.startswith("token-")
    assert logout(again)
"""
LINES = LOGIN.split("\n")


class Dossier:
    """The dossier of a small project, a person's code in one of its files, and its loads."""

    def __init__(self, root: Path, cli: Cli) -> None:
        self.root, self.cli, self.code = root, cli, root / "login.py"
        self.tests = root / "tests" / "test_login.py"
        self.path = root / ".project" / "context" / "login" / "patterns.md"

    def quote(self, source: str, *lines: str) -> None:
        """Add a code block of these lines of the code under a heading of its own."""
        text = "\n".join(("", "## Ours", f"Source: {source}", "```python", *lines, "```", ""))
        self.path.write_text(self.path.read_text() + text)

    def edit(self, old: str, new: str) -> None:
        assert self.text.count(old) == 1
        self.path.write_text(self.text.replace(old, new))

    def load(self, *arguments: str) -> tuple[str, ...]:
        """The warnings of a load."""
        return tuple(
            self.cli("load", "login", "--json", *arguments, cwd=self.root).json["warnings"]
        )

    @property
    def text(self) -> str:
        return self.path.read_text()

    @property
    def source(self) -> str:
        """The source of the person's code."""
        return self.text.partition("\n## Ours\nSource: ")[2].partition("\n")[0]

    @property
    def examples(self) -> int:
        """The number of code blocks."""
        return self.text.count("\n```python\n")


@pytest.fixture
def dossier(tmp_path: Path, cli: Cli) -> Dossier:
    root = small(tmp_path / "small", {"tests/test_login.py": TESTS + EXAMPLE})
    found = Dossier(root, cli)
    found.load()
    return found


EXCERPTS = {
    "together": (LINES[12], LINES[13]),
    "apart": (LINES[11], LINES[14]),
    "with gaps marked": (LINES[11], "", LINES[15]),
}


@pytest.mark.parametrize("excerpt", EXCERPTS.values(), ids=EXCERPTS)
@pytest.mark.parametrize("seen", [True, False], ids=["seen before", "with the code"])
def test_an_excerpt_follows_the_lines_that_it_is_from(
    dossier: Dossier, excerpt: tuple[str, ...], seen: bool
) -> None:
    dossier.quote("login.py:11-18", *excerpt)
    before = dossier.text
    if seen:
        assert dossier.load() == ()
    expected = {f"#\n#\n#\n{LOGIN}": "login.py:14-21", LOGIN: "login.py:11-18"}
    for code, place in expected.items() if seen else ():
        dossier.code.write_text(code)
        for arguments in ((), ("--force",), ()):
            assert dossier.load(*arguments) == ()
            assert dossier.source == place
            assert dossier.cli("check", "login", cwd=dossier.root).status == 0
    assert dossier.text == before
    dossier.code.write_text(LOGIN.replace("ATTEMPTS = 5\n", "ATTEMPTS = 5\n" * 9))
    assert dossier.load() == ()
    if seen:
        assert dossier.source == "login.py:19-26"
    assert dossier.cli("check", "login", cwd=dossier.root).status == 0
    git(dossier.root, "mv", "login.py", "entry.py")
    assert dossier.load() == ()
    assert dossier.source.startswith("entry.py:")
    assert dossier.cli("check", "login", cwd=dossier.root).status == 0


def test_an_excerpt_of_lines_that_changed_covers_what_is_in_their_place(dossier: Dossier) -> None:
    dossier.quote("login.py:11-18", LINES[12], LINES[13])
    dossier.load()
    before = dossier.text
    more = LOGIN.replace("    return f", "    count(name)\n    return f")
    for code, place in (
        (more, "login.py:11-19"),
        (f"#\n#\n{more}", "login.py:13-21"),
        (LOGIN, "login.py:11-18"),
    ):
        dossier.code.write_text(code)
        assert dossier.load() == ()
        assert dossier.source == place
    assert dossier.text == before


def test_an_excerpt_whose_lines_are_elsewhere_now_cites_them(dossier: Dossier) -> None:
    dossier.quote("login.py:11-18", LINES[12], LINES[13])
    dossier.load()
    before = dossier.text
    body = "\n".join(LINES[10:18])
    moved = f"def checked(name: str) -> None:\n{LINES[12]}\n{LINES[13]}\n"
    dossier.code.write_text(f"{LOGIN.replace(body, 'def login(): ...')}\n\n{moved}")
    assert dossier.load() == ()
    lines = dossier.code.read_text().split("\n")
    at = lines.index(LINES[12]) + 1
    assert dossier.source == f"login.py:{at}-{at + 1}"
    dossier.code.write_text(LOGIN)
    assert dossier.load() == ()
    assert dossier.text == before


def test_lines_apart_are_found_in_a_range_that_moved_and_changed(dossier: Dossier) -> None:
    """The range is half of a function, and so is that of no definition."""
    dossier.quote("login.py:9-17", LINES[10], LINES[12], LINES[15])
    dossier.load()
    before = dossier.text
    more = LOGIN.replace("    if password", "    count(name)\n    if password")
    dossier.code.write_text(f"#\n{more}".replace("    raise", "    # so\n        raise"))
    assert dossier.load() == ()
    assert dossier.cli("check", "login", cwd=dossier.root).status == 0
    assert dossier.source == "login.py:12-19"
    dossier.code.write_text(LOGIN)
    assert dossier.load() == ()
    assert dossier.text == before


@pytest.mark.parametrize("kept", [True, False], ids=["with the database", "without it"])
def test_code_that_is_gone_stays_with_a_warning_until_it_is_back(
    dossier: Dossier, kept: bool
) -> None:
    dossier.quote("login.py:11-18", LINES[12], LINES[13])
    dossier.load()
    before = dossier.text
    mine = before[before.index("## Ours") :]
    short = "\n".join((*LINES[:11], *LINES[25:]))
    warning = (
        "A person's code block has a line that is not in its source: "
        'patterns.md, "Ours" (login.py:11-18). See `preread check login`.'
    )
    for number in range(3):
        dossier.code.write_text(f"{'#' * number}\n{short}")
        for arguments in ((), (), ("--force",)):
            assert dossier.load(*arguments) == (warning,)
            assert dossier.text.endswith(mine)
    check = dossier.cli("check", "login", cwd=dossier.root)
    assert check.status == 1
    assert "E_FENCE_LINE" in check.out
    if not kept:
        shutil.rmtree(dossier.root / ".project" / ".cache")
    dossier.code.write_text(f"#\n{LOGIN}")
    assert dossier.load() == ()
    assert dossier.source == "login.py:12-19"
    dossier.code.write_text(LOGIN)
    assert dossier.load() == ()
    assert mine in dossier.text
    assert dossier.text == before or not kept


def test_new_code_means_the_lines_as_they_are(dossier: Dossier) -> None:
    dossier.quote("login.py:11-18", LINES[12], LINES[13])
    dossier.load()
    # Another range, which was the old one's place before, and has the lines as well.
    dossier.code.write_text(f"#\n#\n{LOGIN}")
    dossier.edit("Source: login.py:11-18", "Source: login.py:13-20")
    dossier.edit(LINES[12], f"{LINES[11]}\n{LINES[12]}")
    assert dossier.load() == ()
    assert dossier.source == "login.py:13-20"
    dossier.code.write_text(f"#\n{LOGIN}")
    assert dossier.load() == ()
    assert dossier.source == "login.py:12-19"


def test_an_empty_code_block_of_a_renamed_file_stays(dossier: Dossier) -> None:
    dossier.quote("login.py:11-18")
    dossier.load()
    dossier.code.write_text("\n".join(LINES[19:]))
    git(dossier.root, "mv", "login.py", "entry.py")
    dossier.load()
    assert dossier.source == "login.py:11-18"


def test_two_excerpts_under_one_heading_follow_their_source(dossier: Dossier) -> None:
    dossier.quote("login.py:11-18", LINES[12])
    dossier.path.write_text(f"{dossier.text}\n```python\n{LINES[15]}\n```\n")
    dossier.load()
    dossier.code.write_text(f"#\n{LOGIN}")
    assert dossier.load() == ()
    assert dossier.source == "login.py:12-19"


def test_code_under_a_path_follows_the_renamed_file(dossier: Dossier) -> None:
    mine = f"\n## {{}}\n```python\n{LINES[12]}\n```\n"
    dossier.path.write_text(dossier.text + mine.format("login.py"))
    assert dossier.load() == ()
    assert mine.format("login.py") in dossier.text
    git(dossier.root, "mv", "login.py", "entry.py")
    for arguments in ((), ("--force",)):
        assert dossier.load(*arguments) == ()
        assert mine.format("entry.py") in dossier.text


def test_a_path_stays_as_short_as_a_person_wrote_it(dossier: Dossier) -> None:
    dossier.quote("test_login.py:20-22", *EXAMPLE.split("\n")[4:5])
    assert dossier.load() == ()
    dossier.tests.write_text(f"#\n{TESTS}{EXAMPLE}")
    assert dossier.load() == ()
    assert dossier.source == "test_login.py:21-23"


SHORTER = '    again = login("ada", "secret")\n', ""
COMMENT = "    assert again == token\n", "    # the same one\n    assert again == token\n"


@pytest.mark.parametrize("seen", [True, False], ids=["seen before", "with the code"])
@pytest.mark.parametrize(("edit", "is_cited"), [(SHORTER, True), (COMMENT, False)])
def test_an_edited_example_replaces_the_builds(
    dossier: Dossier, seen: bool, edit: tuple[str, str], is_cited: bool
) -> None:
    built = dossier.text
    assert dossier.examples == 1
    [source] = re.findall(r"Source: (.*)", built)
    dossier.edit(*edit)
    mine = dossier.text
    path, _, lines = source.partition(":")
    for above in (0, 1, 3, 0) if seen else (1, 3, 0):
        dossier.tests.write_text("#\n" * above + TESTS + EXAMPLE)
        start, end = (int(one) + above for one in lines.split("-"))
        for arguments in ((), ("--force",), ()):
            warnings = dossier.load(*arguments)
            assert bool(warnings) != is_cited
            assert dossier.examples == 1
            assert f"\n## Example test\nSource: {path}:{start}-{end}\n```python\n" in dossier.text
            assert edit[1] in dossier.text
            assert edit[0] in dossier.text or is_cited
    assert dossier.text == mine
    # The build's comes back once the person's is gone.
    dossier.path.write_text(re.sub(r"```python\n.*?```\n", "", dossier.text, flags=re.DOTALL))
    dossier.load("--force")
    assert dossier.text == built.replace(source, f"tests/{source}")


def test_an_edited_example_counts_when_the_build_would_choose_another(dossier: Dossier) -> None:
    dossier.edit(*SHORTER)
    dossier.load()
    other = EXAMPLE.replace("again_gives_another_token", "is_another").replace("again", "second")
    dossier.tests.write_text(TESTS + other)
    for arguments in ((), ("--force",)):
        [warning] = dossier.load(*arguments)
        assert "Example test" in warning
        assert dossier.examples == 1
        assert SHORTER[0] not in dossier.text
    dossier.tests.write_text(TESTS + EXAMPLE)
    assert dossier.load() == ()
    assert dossier.examples == 1


def test_an_edited_example_under_another_heading_replaces_the_builds(dossier: Dossier) -> None:
    dossier.edit(*SHORTER)
    dossier.edit("## Example test", "## Look at this")
    for above in ("", "#\n"):
        dossier.tests.write_text(above + TESTS + EXAMPLE)
        for arguments in ((), ("--force",)):
            assert dossier.load(*arguments) == ()
            assert dossier.examples == 1
            assert "## Example test" not in dossier.text


def test_an_example_beside_the_builds_replaces_nothing(dossier: Dossier) -> None:
    mine = f"```python\n{SHORTER[0]}```\n"
    dossier.path.write_text(f"{dossier.text}{mine}")
    for above in ("", "#\n", ""):
        dossier.tests.write_text(above + TESTS + EXAMPLE)
        for arguments in ((), ("--force",)):
            assert dossier.load(*arguments) == ()
            assert dossier.examples == 2
            assert mine in dossier.text


def test_a_builds_example_that_a_person_put_back_is_the_builds_again(dossier: Dossier) -> None:
    built = dossier.text
    dossier.edit(*SHORTER)
    dossier.load()
    dossier.path.write_text(built)
    dossier.load("--force")
    assert dossier.text == built
    other = EXAMPLE.replace("again", "second")
    dossier.tests.write_text(TESTS + other)
    assert dossier.load() == ()
    assert dossier.examples == 1
    assert other.strip() in dossier.text


@pytest.mark.parametrize("by", [-2, 2], ids=["shorter", "longer"])
@pytest.mark.parametrize("seen", [True, False], ids=["seen before", "with the code"])
def test_the_source_that_a_person_corrects_in_a_builds_example_stays(
    dossier: Dossier, seen: bool, by: int
) -> None:
    [source] = re.findall(r"Source: (.*)", dossier.text)
    path, _, lines = source.partition(":")
    start, end = (int(one) for one in lines.split("-"))
    after = "\n\nUNRELATED = 1\nOTHER = 2\n"
    dossier.tests.write_text(TESTS + EXAMPLE + after)
    dossier.load()
    dossier.edit(f"Source: {source}", f"Source: {path}:{start}-{end + by}")
    mine = dossier.text
    for above in (0, 1, 3, 0) if seen else (0,):
        dossier.tests.write_text("#\n" * above + TESTS + EXAMPLE + after)
        for arguments in ((), ("--force",), ()):
            warnings = dossier.load(*arguments)
            place = f"{path}:{start + above}-{end + above + by}"
            assert f"\n## Example test\nSource: {place}\n```python\n" in dossier.text
            assert dossier.examples == 1
            assert ["is not in its source" in one for one in warnings] == [True] * (by < 0)
    check = dossier.cli("check", "login", cwd=dossier.root)
    assert check.status == (by < 0)
    assert dossier.text == mine
    again = f"Source: {path}:{start - 1}-{end + by}"
    dossier.edit(f"Source: {path}:{start}-{end + by}", again)
    for arguments in ((), ("--force",)):
        assert len(dossier.load(*arguments)) == (by < 0)
        assert again in dossier.text
    dossier.edit(again, f"Source: {path}:{start}-{end + by}")
    # A person can put the build's own source back: it is the build's again.
    dossier.edit(f"Source: {path}:{start}-{end + by}", f"Source: {source}")
    for above in (0, 1):
        dossier.tests.write_text("#\n" * above + TESTS + EXAMPLE + after)
        assert dossier.load("--force") == ()
        assert f"{path}:{start + above}-{end + above}\n```python\n" in dossier.text


@pytest.mark.parametrize("source", ["Source: login.py:3\n", ""])
def test_code_that_no_dossier_may_contain_is_removed_with_a_warning(
    dossier: Dossier, source: str
) -> None:
    path = dossier.path
    secret, ours = 'KEY = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"', "ATTEMPTS = 5"
    before = path.read_text()
    blocks = "".join(f"\n## {n}\n{source}```python\n{n}\n```\n" for n in (secret[:3], ours))
    path.write_text(before + blocks.replace("\nKEY\n```", f"\n{secret}\n```"))
    line = before.count("\n") + (4 if source else 3)
    warnings = dossier.load()
    assert (
        f"1 code block that a person wrote was removed: patterns.md:{line} contains what looks "
        "like a secret: Stripe key. `preread backups` lists the copies of edited files."
    ) in warnings
    assert "sk_live" not in path.read_text()
    assert path.read_text().count(f"```python\n{ours}\n```") == 1
    [copy] = (dossier.root / ".project/.state/backups").rglob("patterns.md*")
    assert secret in copy.read_text()


def test_code_that_both_sides_of_a_merge_changed_is_shown_with_a_warning(dossier: Dossier) -> None:
    """Git keeps both sides' lines, which may be in an order that nobody wrote."""
    root = dossier.root
    dossier.cli("init", "--share", cwd=root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "shared")
    for branch, old in (("alice", EXAMPLE.split("\n")[3]), ("bob", EXAMPLE.split("\n")[4])):
        git(root, "checkout", "-q", "-b", branch, "HEAD" if branch == "alice" else "HEAD~1")
        dossier.edit(f"{old}\n", "")
        assert dossier.load() == ()
        git(root, "commit", "-qam", branch)
    git(root, "merge", "-q", "-m", "merge", "alice")
    merged = dossier.text
    [warning] = dossier.load()
    assert "Both sides of a merge changed this code block" in warning
    assert 'patterns.md, "Example test"' in warning
    assert dossier.text == merged
    assert dossier.load() == ()
