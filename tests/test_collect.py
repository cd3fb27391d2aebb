"""Collect: what the rules find, scored so that each has its turns, and fit for a reader's eyes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from _evidence_project import evidence, services, write
from preread import versions
from preread.dossier.fact_text import INVISIBLE
from preread.evidence import collect
from preread.evidence.rule import Found, Rule
from preread.evidence.rules import RULES
from preread.evidence.view import View
from preread.models import Finding, Request

PAGE = 4096  # bytes, of SQLite
FILES = {
    "src/login.py": "def login(name):\n    return open_session(name)\n\n\n"
    "def open_session(name):\n    return name\n",
    "src/payment.py": "def login_payment(card):\n    return card\n",
    "tests/test_login.py": "def test_login():\n    assert login('ann')\n",
}


def use(monkeypatch: pytest.MonkeyPatch, **rules: tuple[float, list[Found]]) -> None:
    """From now on the rules are these: what each weighs, and what it finds."""

    def rule(name: str, weight: float, found: list[Found]) -> Rule:
        def find(_view: View) -> Iterator[Found]:
            yield from found

        return Rule(name, "patterns.md", name.title(), weight, find, "example")

    monkeypatch.setattr(collect, "RULES", tuple(rule(name, *row) for name, row in rules.items()))


def scores(findings: tuple[Finding, ...]) -> dict[str, float]:
    return {finding.text: finding.score for finding in findings}


def test_findings_stay_in_the_order_of_the_rules_and_of_what_each_found(tmp_path: Path) -> None:
    found = evidence(write(tmp_path, FILES), "login").findings
    places = [[rule.name for rule in RULES].index(one.rule) for one in found]
    assert places == sorted(places)
    assert len(set(places)) > 2


def test_a_rule_s_best_finding_is_worth_most_and_the_others_ever_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [Found(f"{n} {'word ' * 40}", score=n / 10) for n in (2, 9, 5)]
    use(monkeypatch, only=(0.1, found))
    two, nine, five = evidence(write(tmp_path, FILES), "login").findings
    assert 1.0 == nine.score > five.score > two.score > 0


def test_a_rule_of_more_weight_has_more_turns_before_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heavy = [Found(f"heavy {n} {'word ' * 40}") for n in range(8)]
    light = [Found(f"light {n} {'word ' * 40}") for n in range(8)]
    use(monkeypatch, heavy=(0.6, heavy), light=(0.2, light))
    known = scores(evidence(write(tmp_path, FILES), "login").findings)
    best = sorted(known, key=lambda text: -known[text])[:8]
    assert sum(text.startswith("light") for text in best) == 2


@pytest.mark.parametrize(
    "odd", ["\x1b[2J", "\u200b", "\u202e", "\ufeff", "\u2066", "\U000e0041", "\x00"]
)
def test_what_a_reader_cannot_see_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str
) -> None:
    found = [
        Found(f"text {odd}"),
        Found("source", (f"a{odd}.py:1",)),
        Found("fence", (), fence=("one", f"two{odd}")),
        Found("kept"),
    ]
    use(monkeypatch, only=(0.5, found))
    assert list(scores(evidence(write(tmp_path, FILES), "login").findings)) == ["kept"]


def test_a_finding_without_a_section_goes_under_its_rule_s_heading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, waits=(0.5, [Found("one"), Found("two", section="src/login.py")]))
    found = evidence(write(tmp_path, FILES), "login").findings
    assert [(one.file, one.section) for one in found] == [
        ("patterns.md", "Waits"),
        ("patterns.md", "src/login.py"),
    ]


def test_the_whole_project_has_its_files_tests_and_definitions(tmp_path: Path) -> None:
    found = evidence(write(tmp_path, FILES), "_project")
    assert {ranked.path for ranked in found.files} == {"src/login.py", "src/payment.py"}
    assert [ranked.path for ranked in found.tests] == ["tests/test_login.py"]
    assert not found.thin
    assert {one.rule for one in found.findings} >= {"where", "definitions", "tests"}


def test_a_description_s_words_decide_what_comes_first(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    assert evidence(root, "login").files[0].path == "src/login.py"
    asked = evidence(root, "login", "the payment with a card: login_payment")
    assert asked.files[0].path == "src/payment.py"


def test_a_description_of_twenty_thousand_characters_is_read(tmp_path: Path) -> None:
    words = " ".join(f"word{n} it's `a_{n}` (x):" for n in range(1100))[:20_000]
    found = evidence(write(tmp_path, FILES), "login", words)
    assert found.files[0].path == "src/login.py"
    assert not any(INVISIBLE.search(one.text) for one in found.findings)


def test_what_could_not_be_read_is_noted(tmp_path: Path) -> None:
    root = write(tmp_path, FILES)
    asked = Request(feature="login", ticket="A-1", scope="src")
    found = collect.collect(services(root), asked)
    assert found.notes == (
        "there is no .project/tickets/A-1.md",
        "only files in src are ranked",
    )
    assert found.tests == ()


def test_an_index_that_turns_out_to_be_damaged_is_made_anew_before_it_is_searched(
    tmp_path: Path,
) -> None:
    root = write(tmp_path, FILES)
    request = Request(feature="login")
    expected, state = evidence(root, "login"), versions.state(services(root), request).digest
    path = services(root).layout.db
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    intact = path.read_bytes()
    for start in range(PAGE, len(intact), 4 * PAGE):
        path.write_bytes(intact[:start] + bytes(PAGE) + intact[start + PAGE :])
        assert evidence(root, "login").findings == expected.findings, start
        path.write_bytes(intact[:start] + bytes(PAGE) + intact[start + PAGE :])
        assert versions.state(services(root), request).digest == state, start
