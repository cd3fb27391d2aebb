"""Code that a model quotes follows its source with the line above it, or is dropped and named."""

import pytest

from _headless import STANDARD, line, sessions, writing
from _headless_scene import Scene
from _processes import TESTS
from conftest import git

FIXTURE = """
@pytest.fixture
def clock(monkeypatch):
    ticks = []
    monkeypatch.setattr("time.sleep", ticks.append)  # no test waits
    return ticks


"""
CLOCKED = TESTS.replace("\n\ndef test_", f"\n{FIXTURE}def test_", 1)
RESET = '    if "@" not in mail:\n        raise LoginError("this is no address")'
FIRST = line("@pytest.fixture", CLOCKED)
SOURCE = f"tests/test_login.py:{FIRST}-{FIRST + 4}"
LOST = f'patterns.md: the code below "Clock" ({SOURCE})'
CODE = ("@pytest.fixture", "def clock(monkeypatch):", "    ticks = []")


def patterns(*code, source=SOURCE, fact=FIRST + 3):
    fence = "\n".join(("```python", *code, "```\n")) if code else ""
    quoted = f'- no test waits: `"time.sleep", ticks.append` (:{fact})\n'
    return f"{STANDARD['patterns.md']}\n## Clock\nSource: {source}\n{quoted}{fence}"


class Clocked:
    """A dossier in which a model quotes a fixture."""

    def __init__(self, scene: Scene, *code: str, text: str = CLOCKED, source: str = SOURCE) -> None:
        self.scene, self.tests = scene, scene.project / "tests" / "test_login.py"
        self.tests.write_text(text)
        scene.api.play(writing(STANDARD | {"patterns.md": patterns(*code, source=source)}))
        assert scene.load()["state"] == "built"
        assert self.section == (source, code or ("",))

    @property
    def section(self) -> tuple[str, tuple[str, ...]]:
        """The source of the section about the clock, and the lines of its code."""
        text = self.scene.texts["patterns.md"].partition("\n## Clock\n")[2].partition("\n## ")[0]
        source = text.partition("Source: ")[2].partition("\n")[0]
        return source, tuple(text.partition("```python\n")[2].partition("\n```")[0].split("\n"))

    def refreshed(self, text: str) -> list[str]:
        """The warnings of a load after the file of tests has changed; no model may have run."""
        self.tests.write_text(text)
        self.reply = self.scene.load(rebuild_after=1)
        assert len(sessions(self.scene.api)) == 1
        return list(self.reply["warnings"])


@pytest.fixture
def scene(claude, api, tmp_path):
    return Scene(claude, api, tmp_path).make()


@pytest.fixture
def clocked(scene):
    return Clocked(scene, *CODE)


def test_code_follows_its_fixture_to_another_file(clocked):
    (clocked.tests.parent / "conftest.py").write_text(f"import pytest\n\n{FIXTURE}")
    assert clocked.refreshed(TESTS) == []
    assert clocked.section == ("tests/conftest.py:4-8", CODE)


@pytest.mark.parametrize(
    ("before", "after", "end"),
    [
        ("    return ticks\n", "    return [*ticks]\n", 4),
        ("    return ticks\n", "    assert ticks == []\n    return ticks\n", 5),
        ("    ticks = []", "    ticks = []  # none yet", 4),
    ],
)
def test_code_stays_while_only_lines_change_that_it_does_not_show(clocked, before, after, end):
    assert clocked.refreshed(CLOCKED.replace(before, after)) == []
    assert clocked.section == (f"tests/test_login.py:{FIRST}-{FIRST + end}", CODE)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("    ticks = []", "    ticks = [0]"),
        ("@pytest.fixture\n", '@pytest.fixture(scope="module")\n'),
        ("def clock(monkeypatch):\n    ticks = []", "def clock(monkeypatch):"),
    ],
    ids=["a part of the line", "the start of the line", "no line"],
)
def test_code_of_which_a_line_changed_is_dropped_counted_and_named(clocked, before, after):
    warnings = clocked.refreshed(CLOCKED.replace(before, after, 1))
    assert f"1 code block is gone, because what it cites changed: {LOST}" in warnings
    assert LOST in clocked.reply["refresh"]["changed"]
    assert (clocked.reply["refresh"]["changed_count"], clocked.reply["refresh"]["code"]) == (1, 1)
    assert clocked.section[1] == ("",)
    assert [one["text"] for one in clocked.scene.manifest["lost"]] == [LOST.partition(": ")[2]]


def test_a_person_reads_how_much_of_what_changed_is_code(scene):
    clocked = Clocked(scene, *CODE)
    clocked.tests.write_text(CLOCKED.replace("ticks = []", "ticks = [0]"))
    told = scene.run("load", "login", "--level", "standard", rebuild_after=1).out
    assert "\nrefreshed: 1 code block changed\n" in told, "diff names only facts"
    clocked.tests.write_text(CLOCKED)
    scene.run("load", "login", "--level", "standard", rebuild_after=1)
    changed = CLOCKED.replace("ticks = []", "ticks = [0]").replace("  # no test waits", "")
    clocked.tests.write_text(changed)
    told = scene.run("load", "login", "--level", "standard", rebuild_after=1).out
    assert "2 facts changed (1 code block among them) (`preread diff login` names them)" in told


def test_code_that_was_commented_out_is_dropped(scene):
    body = CLOCKED[CLOCKED.index("    ticks = []") : CLOCKED.index("    return ticks")]
    clocked = Clocked(scene, *body.rstrip().split("\n"))
    quoted = f'    """\n{body}    """\n'
    told = "".join(clocked.refreshed(CLOCKED.replace(body, quoted)))
    assert "1 fact and 1 code block are gone, because what they cite changed: " in told
    assert LOST in told
    assert "ticks" not in scene.texts["patterns.md"]


def with_code_of_login(scene, name):
    """A dossier in which a model quotes lines of a file below its path; then the file changes."""
    drafted = f"{STANDARD[name]}\n## login.py\n```python\n{RESET}\n```\n"
    scene.api.play(writing(STANDARD | {name: drafted}))
    assert scene.load()["state"] == "built"
    path = scene.project / "login.py"
    path.write_text(path.read_text().replace("ATTEMPTS = 5", "ATTEMPTS = 7"))


@pytest.mark.parametrize("heading", ["login.py", "signin.py"], ids=["there", "renamed"])
def test_code_of_a_whole_file_stays_while_the_file_has_its_lines(scene, heading):
    with_code_of_login(scene, "patterns.md")
    if heading != "login.py":
        git(scene.project, "mv", "login.py", heading)
    [told] = scene.load(rebuild_after=1)["warnings"]
    assert told.startswith("1 fact is gone")
    assert f"## {heading}\n```python\n{RESET}\n```\n" in scene.texts["patterns.md"]


def test_code_in_a_file_that_the_static_builder_takes_over_is_named(scene):
    with_code_of_login(scene, "codebase.md")
    reply = scene.load(rebuild_after=1)
    assert RESET not in scene.texts["codebase.md"]
    assert 'codebase.md: the code below "login.py" (login.py)' in reply["refresh"]["changed"]
    assert reply["warnings"][0].startswith("1 fact and 1 code block are gone")


def test_lines_of_the_code_that_a_formatter_joined_cost_it_and_are_named(scene):
    broken = "    return dict(\n        ticks=ticks,\n    )\n"
    text = CLOCKED.replace("    return ticks\n", broken)
    code = ("    return dict(", "        ticks=ticks,")
    clocked = Clocked(scene, *code, text=text, source=f"tests/test_login.py:{FIRST}-{FIRST + 6}")
    told = "".join(clocked.refreshed(text.replace(broken, "    return dict(ticks=ticks)\n")))
    assert "1 code block is gone, because what it cites changed: patterns.md: the code" in told
    assert clocked.section[1] == ("",)


def test_a_part_of_a_line_that_the_model_quoted_may_still_be_a_part(scene):
    code = ("def clock(", '    monkeypatch.setattr("time.sleep"')
    clocked = Clocked(scene, *code)
    assert clocked.refreshed(CLOCKED.replace("    return ticks", "    return [*ticks]")) == []
    assert clocked.section == (SOURCE, code)
    warnings = clocked.refreshed(CLOCKED.replace("def clock(", "def slow_clock("))
    assert "the code below" in "".join(warnings)


def test_a_source_that_says_nothing_any_more_does_not_stay_with_other_code(scene):
    clocked = Clocked(scene, *CODE)
    elsewhere = FIXTURE.replace("ticks = []", "ticks = [0]").replace("# no test waits", "")
    (clocked.tests.parent / "conftest.py").write_text(f"import pytest\n\n{elsewhere}")
    warnings = clocked.refreshed(TESTS)
    assert LOST in "".join(warnings)
    assert SOURCE not in "".join(clocked.scene.texts.values())


def test_a_source_above_facts_alone_follows_the_code_too(scene):
    clocked = Clocked(scene)
    assert clocked.refreshed(f"# one\n{CLOCKED}") == []
    assert clocked.section[0] == f"tests/test_login.py:{FIRST + 1}-{FIRST + 5}"


@pytest.mark.parametrize("code", [CODE, ()], ids=["code", "facts alone"])
def test_in_a_file_that_a_person_edited_the_source_follows_as_well(scene, code):
    clocked = Clocked(scene, *code)
    path = scene.layout.dossier("login") / "patterns.md"
    path.write_text(path.read_text() + "\n## Ours\n- ask Ann (login.py:1)\n")
    clocked.refreshed(f"# one\n{CLOCKED}")
    assert clocked.section == (f"tests/test_login.py:{FIRST + 1}-{FIRST + 5}", code or ("",))
    assert "- ask Ann (login.py:1)" in scene.texts["patterns.md"]
