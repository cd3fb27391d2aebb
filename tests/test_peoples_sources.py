"""The sources of what people write follow the code, or a warning says that they are lost."""

from pathlib import Path

import pytest

from _processes import LOGIN, TESTS, small
from conftest import Cli, git

TWICE = """function find(name) {
  if (isFile(name)) {
    return name;
  }

  name = join(name, 'index');
  if (isFile(name)) {
    return name;
  }
}
"""


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    root = small(tmp_path / "small")
    (root / "find.js").write_text(TWICE)
    assert cli("load", "login", "--json", cwd=root).json["state"] == "built"
    return root


class Notes:
    """A person's facts under a heading of their own, and what a load says of them."""

    def __init__(self, project: Path, cli: Cli) -> None:
        self.project, self.cli = project, cli
        self.path = project / ".project" / "context" / "login" / "patterns.md"
        self.path.write_text(f"{self.path.read_text()}\n## Ours\n")

    def add(self, *facts: str) -> None:
        lines = "".join(f"- {one}\n" for one in facts)
        self.path.write_text(self.path.read_text() + lines)

    def load(self) -> list[str]:
        """The facts that it warns about, with their sources."""
        warnings = self.cli("load", "login", "--json", cwd=self.project).json["warnings"]
        return [one.rpartition("do not say it: ")[2] for one in warnings]

    def facts(self) -> list[str]:
        """The facts as they are in the file now."""
        lines = self.path.read_text().partition("\n## Ours\n")[2].split("\n")
        return [line[2:] for line in lines if line.startswith("- ")]


@pytest.fixture
def notes(project: Path, cli: Cli) -> Notes:
    return Notes(project, cli)


def test_a_fact_about_a_whole_file_or_test_stays_unverified_while_that_is_changed(
    project: Path, notes: Notes
) -> None:
    tests = project / "tests" / "test_login.py"
    whole = "it needs no network (tests/test_login.py)"
    one = "it is quick (test_login.py::test_login_gives_a_token)"
    notes.add(whole, one)
    assert notes.load() == []
    of_one = TESTS.replace('login("ada", "secret") ==', 'login("bob", "secret") ==')
    for changed, expected in ((of_one, [whole, one]), (f"{TESTS}#\n", [whole])):
        tests.write_text(changed)
        for number in range(3):
            assert notes.load() == [text.replace("(test_", "(tests/test_") for text in expected]
            (project / "other.py").write_text(f"x = {number}\n")
    tests.write_text(TESTS)
    assert notes.load() == []
    assert notes.facts() == [whole, one]


@pytest.mark.parametrize("removed", [(2, 4), (7, 9)], ids=["first", "second"])
def test_of_two_equal_lines_in_equal_surroundings_one_that_is_left_is_not_taken_for_the_other(
    project: Path, notes: Notes, removed: tuple[int, int]
) -> None:
    mine = "the index is tried last (find.js:8)"
    notes.add(mine)
    assert notes.load() == []
    lines = TWICE.split("\n")
    left = lines[: removed[0] - 1] + lines[removed[1] :]
    (project / "find.js").write_text("\n".join(left))
    assert notes.load() == [mine]
    (project / "find.js").write_text(f"//\n{TWICE}")
    assert notes.load() == []
    assert notes.facts() == [mine.replace(":8", ":9")]


def test_a_new_fact_means_the_lines_as_they_are_whatever_was_there_before(
    project: Path, notes: Notes
) -> None:
    old = "few guesses: `ATTEMPTS = 5` (login.py:3)"
    notes.add(old)
    assert notes.load() == []
    (project / "login.py").write_text(f"#\n#\n{LOGIN}")
    new = "the file has a title (login.py:3)"
    notes.add(new)
    assert notes.load() == []
    assert notes.facts() == [old.replace(":3", ":5"), new]
    (project / "login.py").write_text(f"#\n#\n#\n{LOGIN}")
    assert notes.load() == []
    assert notes.facts() == [old.replace(":3", ":6"), new.replace(":3", ":4")]


def test_a_fact_that_was_committed_before_any_load_follows_the_code_since_then(
    project: Path, notes: Notes
) -> None:
    git(project, "add", "-Af")
    git(project, "commit", "-qm", "all")
    facts = (
        "a token is made here (login.py:18)",
        "it greets with `token-{name}` (login.py:11-18)",
        "this function says no: `login` (login.py:13-14)",
        "an address has an at (login.py:33-34)",
    )
    notes.add(*facts)
    git(project, "commit", "-qam", "facts")
    (project / "login.py").write_text("#\n#\n" + LOGIN.replace('    if "@" not', '    if "#" not'))
    git(project, "commit", "-qam", "code")
    assert notes.load() == [facts[3]]
    moved = [facts[0].replace("18", "20"), facts[1].replace("11-18", "13-20")]
    assert notes.facts() == [*moved, facts[2].replace("13-14", "15-16"), facts[3]]
    assert notes.load() == [facts[3]]
    git(project, "mv", "login.py", "log_in.py")
    (project / "log_in.py").write_text(LOGIN)
    git(project, "commit", "-qam", "renamed")
    assert notes.load() == []
    assert notes.facts() == [one.replace("login.py", "log_in.py") for one in facts]


def test_a_range_that_changed_comes_back_with_its_lines(project: Path, notes: Notes) -> None:
    code = "function walk() {\n  start(a,\n    path,\n  );\n  go();\n  end(b,\n    path,\n  );\n}\n"
    (project / "walk.js").write_text(code)
    mine = "`walk` starts first (walk.js:1-2)"
    notes.add(mine)
    assert notes.load() == []
    before = notes.path.read_text()
    for number in range(2):
        (project / "walk.js").write_text(code.replace("start(a,\n    path,", "start(a, [],"))
        assert notes.load() == []
        assert notes.facts() == [mine.replace("1-2", "1-5")]
        (project / "walk.js").write_text(code)
        (project / "other.py").write_text(f"x = {number}\n")  # so that no generation is restored
        assert notes.load() == []
        assert notes.path.read_text() == before


def test_a_qualified_name_is_found_where_its_definition_is(project: Path, notes: Notes) -> None:
    code = "class Cart:\n    def add(self, item):\n        self.items.append(item)\n"
    other = "class List:\n    def add(self, item):\n        self.more.append(item)\n\n\n"
    (project / "cart.py").write_text(code)
    mine = "`Cart.add` keeps the order (cart.py:2-3)"
    notes.add(mine)
    assert notes.load() == []
    (project / "cart.py").write_text(other + code.replace("append(item)", "append([item])"))
    assert notes.load() == []
    assert notes.facts() == [mine.replace("2-3", "7-8")]


def test_a_range_beside_names_with_lines_follows_as_well(project: Path, notes: Notes) -> None:
    mine = "`login` raises `LoginError` login.py:14 (login.py:12-17)"
    notes.add(mine)
    assert notes.load() == []
    changed = LOGIN.replace("if not name:", "if not name.strip():").replace('"""A token', '"""One')
    (project / "login.py").write_text("# one\n" + changed)
    assert notes.load() == []
    assert notes.facts() == [mine.replace("14", "15").replace("12-17", "13-18")]
    filler = "".join(f"def before_{n}():\n    raise LoginError({n})\n\n\n" for n in range(5))
    rewritten = LOGIN.replace(LOGIN[LOGIN.index("    if not name") : LOGIN.index("def logout")], "")
    (project / "login.py").write_text(filler + rewritten)
    assert len(notes.load()) == 1, "the lines are no longer there"


def test_a_range_of_a_whole_definition_stays_one(project: Path, notes: Notes) -> None:
    notes.add("`def login_again` is short (login.py:26-28)", "`def logout` too (login.py:21-22)")
    assert notes.load() == []
    one = "def login_again(token: str) -> str:"
    wrapped = "def login_again(\n    token: str,\n    more: str,\n) -> str:"
    for text in (LOGIN.replace(one, wrapped), LOGIN.replace(one, wrapped) + "#\n"):
        (project / "login.py").write_text(text)
        assert notes.load() == []
        assert notes.facts() == [
            "`def login_again` is short (login.py:26-31)",
            "`def logout` too (login.py:21-22)",
        ]


def test_two_names_on_one_line_are_not_sought_apart(project: Path, notes: Notes) -> None:
    notes.add("`ATTEMPTS` login.py:3, `LOCKED_FOR_S` login.py:4")
    assert notes.load() == []
    notes.path.write_text(notes.path.read_text().replace("login.py:4", "login.py:3"))
    for text in (LOGIN, f"{LOGIN}#\n"):
        (project / "login.py").write_text(text)
        assert len(notes.load()) == 1
        assert notes.facts() == ["`ATTEMPTS` login.py:3, `LOCKED_FOR_S` login.py:3"]


def test_equal_words_are_unverified_one_by_one(project: Path, notes: Notes, cli: Cli) -> None:
    notes.add("this is subtle (login.py:18)", "this is subtle (login.py:28)")
    assert notes.load() == []
    gone = LOGIN.replace('    return f"token-{name}"', "    pass")
    for text, more in ((gone, 0), (f"#\n{gone}", 1), (LOGIN, 0)):
        (project / "login.py").write_text(text)
        lost = [] if text == LOGIN else ["this is subtle (login.py:18)"]
        assert notes.load() == lost
        second = f"this is subtle (login.py:{28 + more})"
        assert notes.facts() == ["this is subtle (login.py:18)", second]
        problems = cli("check", "login", "--json", cwd=project).json["problems"]
        assert len(problems) == len(lost)
        shown = cli("show", "login", "--cited", "--json", cwd=project).out
        assert shown.count('"unverified"') == len(lost)


def test_a_check_reports_that_one_of_several_sources_changed(
    project: Path, notes: Notes, cli: Cli
) -> None:
    notes.add("`token-` is the start (login.py:18, login.py:3-4)")
    assert notes.load() == []
    (project / "login.py").write_text(LOGIN.replace("ATTEMPTS = 5\nLOCKED_FOR_S = 900.0", "A = 1"))
    assert len(notes.load()) == 1
    problems = cli("check", "login", "--json", cwd=project).json["problems"]
    assert [one["code"] for one in problems] == ["E_SOURCE_CHANGED"]
    (project / "login.py").write_text(LOGIN)
    problems = cli("check", "login", "--json", cwd=project).json["problems"]
    assert "E_SOURCE_CHANGED" not in [one["code"] for one in problems]


def test_a_load_says_that_it_undid_a_persons_numbers(project: Path, cli: Cli) -> None:
    path = project / ".project" / "context" / "login" / "codebase.md"
    before = path.read_text()
    assert before.count("`this is no address` :34") == 1
    path.write_text(before.replace("`this is no address` :34", "`this is no address` :30"))
    [warning] = cli("load", "login", "--json", cwd=project).json["warnings"]
    assert "as before" in warning
    assert "`this is no address` :30" in warning
    assert path.read_text() == before
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []


def test_a_full_stop_after_the_sources_stays_there(project: Path, cli: Cli) -> None:
    path = project / ".project" / "context" / "login" / "codebase.md"
    below_path = "## login.py\n- Five guesses. `ATTEMPTS = 5` (login.py:3).\n"
    ours = "\n## Ours\n- Time, too. `LOCKED_FOR_S = 900.0` (login.py:4).\n"
    path.write_text(path.read_text().replace("## login.py\n", below_path) + ours)
    for code, first, second in ((LOGIN, "login.py:3", "login.py:4"), (f"#\n{LOGIN}", ":4", ":5")):
        (project / "login.py").write_text(code)
        assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
        assert f"\n- Five guesses. `ATTEMPTS = 5` ({first}).\n" in path.read_text()
        assert (
            f"\n- Time, too. `LOCKED_FOR_S = 900.0` (login.py{second[-2:]}).\n" in path.read_text()
        )
    assert cli("check", "login", cwd=project).status == 0


@pytest.mark.parametrize(
    ("mine", "named"),
    [
        ("`ATTEMPTS = 5` is low (login.py:L3)", "login.py:L3"),
        ("`ATTEMPTS = 5` is low, see [login.py](login.py#L3)", "login.py#L3"),
        ("`ATTEMPTS = 5` (login.py:3) is low", "login.py:3"),
        ("login.py:3 has `ATTEMPTS = 5`", "login.py:3"),
        ("`ATTEMPTS = 5` login.py:3 is low", ""),
        ("not `login.py:3`, and not example.com:443 (at 10.30:15)", ""),
    ],
)
def test_lines_below_a_path_that_are_named_in_another_form_are_reported(
    project: Path, cli: Cli, mine: str, named: str
) -> None:
    path = project / ".project" / "context" / "login" / "codebase.md"
    path.write_text(path.read_text().replace("## login.py\n", f"## login.py\n- {mine}\n"))
    message = (
        f"`{named}` is not read as a source, so it does not follow the code: sources are in round "
        "brackets at the end, like (login.py:3)"
    )
    for _ in range(2):
        warnings = cli("load", "login", "--json", cwd=project).json["warnings"]
        about = [one for one in warnings if "not read as a source" in one]
        assert about == ([f"A person wrote this, and {message}: {mine}"] if named else [])
    problems = cli("check", "login", "--json", cwd=project).json["problems"]
    found = [one["message"] for one in problems if one["code"] == "E_SOURCE_FORM"]
    assert found == ([message] if named else [])
