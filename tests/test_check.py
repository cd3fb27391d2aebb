"""The check: which facts are valid, in which state, what is dropped and why, and the budget."""

import os
import time
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _evidence_project import CALM, check, commit, draft, request, services, write
from preread import check as checks
from preread import publish
from preread.builds import pipeline
from preread.dossier import fact_text, markdown, named_files, published, wrong_marks
from preread.dossier.source_tracking import SourceChanges
from preread.dossier.wrong_marks import Wrong
from preread.layout import BY_NAME, FILES
from preread.models import Checked, Draft, Fact, Fence, Manifest, Section

CODE = """\
# Rounding each line half up
# made the total a cent too large.
class Basket:
    def total(self):
        return sum(
            self.lines
        )

    /* spread over
     * two comments */
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "src/a.py": CODE,
            "src/b.py": "alpha = 1\nbeta = 2\n",
            "src/numbers.py": "limit = 300\nratio = 30.5\nwait(130, 2)\n",
            "t/test_a.py": "def test_total(): ...\n",
        },
    )


def states(checked: Checked) -> list[str]:
    return [verdict.state for verdict in checked.verdicts]


def codes(checked: Checked) -> list[tuple[int, str]]:
    return [(problem.line, problem.code) for problem in checked.problems]


# -- states


@pytest.mark.parametrize(
    ("text", "source", "state"),
    [
        ("says `alpha = 1`", "src/b.py:1", "quoted"),
        ("says `alpha = 1 beta = 2`", "src/b.py:1-2", "quoted"),
        ("sums `return sum( self.lines )`", "src/a.py:5-7", "quoted"),
        (
            "why: `Rounding each line half up made the total a cent too large.`",
            "src/a.py:1-2",
            "quoted",
        ),
        ("why: `spread over two comments`", "src/a.py:9-10", "quoted"),
        ("of `Basket`, by its name", "src/a.py:5", "quoted"),
        ("of `total`, by its name", "src/a.py:6-7", "quoted"),
        ("of `Basket.total`, by its whole name", "src/a.py:6", "quoted"),
        ("of `Basket::total` in another language", "src/a.py:6", "quoted"),
        ("of `Basket#total` in a third", "src/a.py:6", "quoted"),
        ("of `(*Basket).total` in Go", "src/a.py:6", "quoted"),
        ("of `total()`, called", "src/a.py:6", "quoted"),
        ("of `Basket.total()`, called by its whole name", "src/a.py:6", "quoted"),
        ("of `a.Basket.total`, with its module", "src/a.py:6", "quoted"),
        ("a definition in the lines, `Basket.total`", "src/a.py:3-4", "quoted"),
        ("of `Basket.lines`, a field", "src/a.py:6", "quoted"),
        ("of `Basket::lines`, in another language", "src/a.py:5-6", "quoted"),
        ("it calls `sum()` with arguments", "src/a.py:5", "quoted"),
        ("a test, `test_total`", "t/test_a.py::test_total", "quoted"),
        ("a whole number, `limit = 300`", "src/numbers.py:1", "quoted"),
        ("says `wait( 130,2 )`, spaced otherwise", "src/numbers.py:3", "quoted"),
        ("a number before a comma, `wait(130`", "src/numbers.py:3", "quoted"),
        ("quotes nothing", "src/b.py:1", "located"),
        ("quotes `x`, too short to prove anything", "src/b.py:1", "located"),
        ("a whole file", "src/b.py", "located"),
        ("no test says gamma", 'absent:t/**~"gamma"', "computed"),
    ],
)
def test_a_valid_fact_has_the_state_that_its_sources_give(
    root: Path, text: str, source: str, state: str
) -> None:
    checked = check(root, [draft((text, source))])
    assert codes(checked) == []
    assert states(checked) == [state]
    assert (checked.dropped, checked.cut) == (0, 0)
    assert checked.spans.keys() == {source}


@pytest.mark.parametrize(
    ("text", "source", "code"),
    [
        ("says `alpha = 2`", "src/b.py:1", "E_QUOTE"),
        ("says `wa it(130, 2)`, with a word in two", "src/numbers.py:3", "E_QUOTE"),
        ("says `alpha = 1` and `gamma`", "src/b.py:1", "E_QUOTE"),
        ("says `limit = 30`, part of a number", "src/numbers.py:1", "E_QUOTE"),
        ("says `ratio = 30`, without its fraction", "src/numbers.py:2", "E_QUOTE"),
        ("says `30, 2`, the end of a number", "src/numbers.py:3", "E_QUOTE"),
        ("says `limit = 30`, in several lines", "src/numbers.py:1-3", "E_QUOTE"),
        ("says `alpha`, elsewhere", "src/b.py:2", "E_QUOTE"),
        ("says `Alpha = 1`", "src/b.py:1", "E_QUOTE"),
        ("of `Basket`, out of it", "src/a.py:1", "E_QUOTE"),
        ("of `aske`, a part of a name", "src/a.py:6", "E_QUOTE"),
        ("of `Shelf.total`, another's", "src/a.py:6", "E_QUOTE"),
        ("of `Shelf.lines`, another's field", "src/a.py:6", "E_QUOTE"),
        ("of `Basket.`, no field at all", "src/a.py:6", "E_QUOTE"),
        ("of `Basket.items`, no field there", "src/a.py:6", "E_QUOTE"),
        ("of `Basket.line`, a part of a field", "src/a.py:6", "E_QUOTE"),
        ("of `um()`, a part of a call", "src/a.py:5", "E_QUOTE"),
        ("too far", "src/b.py:3", "E_SOURCE_LINES"),
        ("no such file", "src/c.py:1", "E_SOURCE_FILE"),
        ("from a server that was never asked", "quoth://doc/1", "E_SOURCE_EXTERNAL"),
        ("a test says it", 'absent:t/**~"test_total"', "E_SOURCE_PRESENT"),
        ("no source at all", "because", "E_SOURCE_FORM"),
    ],
)
def test_an_invalid_fact_is_dropped_counted_and_reported_with_its_line(
    root: Path, text: str, source: str, code: str
) -> None:
    checked = check(root, [draft(("holds", "src/b.py:1"), (text, source))])
    assert codes(checked) == [(5, code)]
    assert checked.dropped == 1
    assert [fact.text for fact in checked.drafts[0].facts] == ["holds"]
    assert checked.spans.keys() == {"src/b.py:1"}


def test_other_sources_do_not_make_up_for_an_absence_that_is_wrong(root: Path) -> None:
    absence = 'absent:t/**~"test_total"'
    checked = check(root, [draft(("no test of `alpha`", "src/b.py:1", absence))])
    assert codes(checked) == [(4, "E_SOURCE_PRESENT")]
    assert checked.drafts[0].facts == ()


def messages(root: Path, *bullets: str) -> list[str]:
    """What is reported for these facts, as a model writes them."""
    rows = "".join(f"- {bullet}\n" for bullet in bullets)
    read, problems = markdown.parse("patterns.md", "login", f"# Patterns: login\n\n## A\n{rows}")
    assert problems == []
    return [problem.message for problem in check(root, [read]).problems]


def test_every_failing_quote_of_a_fact_is_reported_at_once(root: Path) -> None:
    assert messages(root, "`alpha`, then `delta`, or `gone` (src/b.py:1)") == [
        "`delta` does not appear in any of its sources",
        "`gone` does not appear in any of its sources",
    ]
    anchored = "`beta` src/b.py:1, `alpha` :1, `gamma` :2 and `delta`"
    assert messages(root, anchored) == [
        "`beta` is not at src/b.py:1; it is at src/b.py:2",
        "`gamma` is not at src/b.py:2",
        "`delta` does not appear in any of its sources",
    ]


def test_a_quote_elsewhere_in_a_cited_file_is_answered_with_its_lines(root: Path) -> None:
    write(root, {"src/c.py": "x = 1\n# y\n\ncall(\n    x\n)\ncall(x)\n" * 2})
    assert messages(
        root,
        "says `beta` (src/b.py:1)",
        "says `call( x )` (src/c.py:1)",
        "says `beta`, too far down (src/b.py:9)",
        "says `class Basket:` (src/b.py:1, src/a.py:1)",
    ) == [
        "`beta` does not appear in any of its sources; it is at src/b.py:2",
        "`call( x )` does not appear in any of its sources; it is at src/c.py:4 and src/c.py:11",
        "`src/b.py` has 2 lines, not 9-9; `beta` is at src/b.py:2",
        "`class Basket:` does not appear in any of its sources; it is at src/a.py:3",
    ]


def test_a_source_in_mid_sentence_gets_a_hint(root: Path) -> None:
    [said] = messages(root, "first `class Basket:` (src/a.py:3), then `alpha` (src/b.py:1)")
    why = "`(src/a.py:3)` is not read as a source in mid-sentence: move it to the end"
    assert said == f"`class Basket:` does not appear in any of its sources; {why}"


def test_a_file_that_proves_nothing_is_not_searched_for_a_quote(root: Path) -> None:
    write(root, {".env": "PORT=3000\n", ".gitignore": ".env\n"})
    assert messages(root, "says `PORT=3000` (.env:7)") == [
        "`.env:7` is a .env file that git does not track; it may contain secrets"
    ]


def test_a_quote_may_be_in_any_one_of_the_sources(root: Path) -> None:
    checked = check(root, [draft(("`alpha` then `Basket`", "src/b.py:1", "src/a.py:3"))])
    assert states(checked) == ["quoted"]


def test_of_two_sources_only_the_valid_one_is_kept(root: Path) -> None:
    checked = check(root, [draft(("says `alpha`", "src/gone.py:1", "src/b.py:1"))])
    assert checked.drafts[0].facts[0].sources == ("src/b.py:1",)
    assert codes(checked) == [(4, "E_SOURCE_FILE")]
    assert checked.dropped == 0


def test_a_fact_without_any_source_is_dropped(root: Path) -> None:
    assert check(root, [draft(("believe me",))]).dropped == 1


def test_confidence_depends_on_the_state_and_is_capped_for_located_facts(root: Path) -> None:
    facts = (
        ("no test", 'absent:t/**~"gamma"'),
        ("says `alpha`", "src/b.py:1"),
        ("somewhere", "src/b.py:1"),
    )
    computed, quoted, located = (v.confidence for v in check(root, [draft(*facts)]).verdicts)
    assert 1 >= computed > quoted > located
    assert located <= 0.4


def test_the_check_returns_the_digest_of_every_cited_span_including_fences(root: Path) -> None:
    fence = Section("E", (Fence("py", ("alpha = 1",)),), "src/b.py:1")
    checked = check(
        root, [draft(("a", "src/a.py:3", "src/b.py:2")), Draft("codebase.md", "login", (fence,))]
    )
    assert sorted(checked.spans) == ["src/a.py:3", "src/b.py:1", "src/b.py:2"]
    assert len(set(checked.spans.values())) == 3


# -- wrong, twice


def test_a_fact_marked_as_wrong_does_not_return_to_its_file(root: Path) -> None:
    layout = services(root).layout
    mark = Wrong(feature="login", text="says `alpha`")
    wrong_marks.add(layout, fact_text.fact_id("patterns.md", mark.text), mark)
    again = ("says  `ALPHA`", "src/b.py:1")
    checked = check(root, [draft(again, ("says `beta`", "src/b.py:2"))])
    assert codes(checked) == [(4, "E_FACT_WRONG")]
    assert [fact.text for fact in checked.drafts[0].facts] == ["says `beta`"]
    assert checked.dropped == 1


def test_a_file_keeps_a_repeated_fact_only_once(root: Path) -> None:
    same = ("says `alpha`", "src/b.py:1")
    checked = check(root, [draft(same, same), draft(same, name="codebase.md")])
    assert codes(checked) == [(5, "E_FACT_TWICE")]
    assert len(checked.verdicts) == 2


# -- fences


def test_every_line_of_a_fence_must_be_in_its_source(root: Path) -> None:
    good = Fence("py", ("return sum(", "", "    self.lines"), 4)
    bad = Fence("py", ("return sum(", "self.rows"), 10)
    checked = check(
        root, [Draft("patterns.md", "login", (Section("E", (good, bad), "src/a.py:5-7"),))]
    )
    assert checked.drafts[0].sections[0].items == (good,)
    assert codes(checked) == [(12, "E_FENCE_LINE")]


def test_a_fence_without_a_valid_source_is_dropped(root: Path) -> None:
    fence = Fence("", ("x",), 4)
    sections = (Section("A", (fence,)), Section("B", (fence,), "src/gone.py:1"))
    checked = check(root, [Draft("patterns.md", "login", sections)])
    assert checked.drafts[0].sections == ()
    assert codes(checked) == [(4, "E_FENCE_SOURCE"), (4, "E_SOURCE_FILE")]


# -- what a builder left in staging


def test_only_plain_text_files_of_a_dossier_are_read_from_staging(root: Path) -> None:
    asked = services(root)
    staging = publish.stage(asked, "login")
    write(
        staging,
        {
            "patterns.md": "# Patterns: login\n\n## A\n- says `alpha` (src/b.py:1)\nprose\n",
            "notes.md": "",
            "x\ny.md": "",
        },
    )
    (staging / "codebase.md").write_bytes(b"\0")
    (staging / "failures.md").symlink_to(root / "src" / "a.py")
    (staging / "summary.md").mkdir()
    drafts, problems = checks.read_staged(asked, "login", staging)
    assert [d.name for d in drafts] == ["patterns.md"]
    assert [(p.path, p.code) for p in problems] == [
        ("codebase.md", "E_FILE_TEXT"),
        ("failures.md", "E_FILE_NAME"),
        ("notes.md", "E_FILE_NAME"),
        ("patterns.md", "E_PROSE"),
        ("summary.md", "E_FILE_NAME"),
        ("x\\ny.md", "E_FILE_NAME"),
    ]


# -- secrets

TOKEN = (
    "ghp_" + "aB3xY9kQ2mZ7" * 3
)  # put together here, so that no scanner takes this file for a leak
LEAKS = [
    ("the key is `alpha`, see " + TOKEN, "src/b.py:1"),
    (f"says `{TOKEN}`", "src/b.py:1"),  # a quote that stands nowhere would be shown with E_QUOTE
    ("says `alpha`", f"src/{TOKEN}.py:1"),
    ("says it", f"https://ada:{'s3cr-t9x'}@git.shop.io/a"),
    ("says it", f'absent:src/**~"{TOKEN}"'),
]


@pytest.mark.parametrize(("text", "source"), LEAKS)
def test_a_fact_with_a_secret_is_dropped_and_the_secret_is_not_repeated(
    root: Path, text: str, source: str
) -> None:
    checked = check(root, [draft(("holds", "src/b.py:1"), (text, source))])
    assert codes(checked) == [(5, "E_SECRET")]
    assert (checked.dropped, len(checked.verdicts)) == (1, 1)
    assert TOKEN not in repr(checked)
    assert "s3cr-t9x" not in repr(checked)


@pytest.mark.parametrize("line", ["db.password: hunter2", "MYSQL_PASS=r00t"])
def test_a_line_with_only_a_name_and_its_password_is_a_secret_whatever_stands_beside_it(
    root: Path, line: str
) -> None:
    checked = check(root, [draft(("holds", "src/b.py:1"), (line, "src/b.py:1"))])
    assert codes(checked) == [(5, "E_SECRET")]
    write(root, {"src/c.yaml": f"db: 1\n{line}\nport: 80\n"})
    fence = Fence("yaml", ("db: 1", line, "port: 80"), 4)
    sections = (Section("A", (fence,), "src/c.yaml", 3),)
    assert codes(check(root, [Draft("patterns.md", "login", sections)])) == [(4, "E_SECRET")]


def test_a_value_of_an_env_file_that_git_ignores_is_a_secret(root: Path) -> None:
    write(
        root,
        {
            ".env": "DB_PASSWORD=blue-green-tree\n",
            ".gitignore": ".env\n",
            "src/c.py": "p = 'blue-green-tree'\n",
        },
    )
    checked = check(
        root, [draft(("says `p = 'blue-green-tree'`", "src/c.py:1"), ("says `p =`", "src/c.py:1"))]
    )
    assert codes(checked) == [(4, "E_SECRET")]
    assert len(checked.verdicts) == 1


def test_a_fence_or_a_section_heading_with_a_secret_is_dropped(root: Path) -> None:
    write(root, {"src/c.py": f"token = '{TOKEN}'\nalpha = 1\n"})
    fence = Fence("py", ("alpha = 1", f"token = '{TOKEN}'"), 4)
    fact = Fact("says `alpha`", ("src/c.py:2",), 9)
    sections = (
        Section("A", (fence, fact), "src/c.py", 3),
        Section(f"Of {TOKEN}", (Fact("x", ("src/b.py:1",)),), "", 12),
    )
    checked = check(root, [Draft("patterns.md", "login", sections)])
    assert codes(checked) == [(4, "E_SECRET"), (12, "E_SECRET")]
    assert [item for section in checked.drafts[0].sections for item in section.items] == [fact]
    assert checked.dropped == 1
    assert TOKEN not in repr(checked)


def test_a_format_problem_does_not_quote_a_secret(root: Path) -> None:
    asked = services(root)
    staging = publish.stage(asked, "login")
    text = (
        f"# Patterns: login\n\n## A\nSource: it is {TOKEN}\n- says `alpha` (src/b.py:1)\n"
        "Source: a\x1b[31mb\n"
    )
    write(staging, {"patterns.md": text, f"{TOKEN}.md": ""})
    drafts, problems = checks.read_staged(asked, "login", staging)
    checked = checks.check(asked, "login", drafts, problems=problems, budget=True)
    assert [p.code for p in checked.problems] == [
        "E_FILE_NAME",
        "E_SECTION_SOURCE",
        "E_SECTION_SOURCE",
    ]
    assert TOKEN not in str([str(p) for p in checked.problems])
    assert "\x1b" not in checked.problems[-1].message
    assert len(checked.verdicts) == 1


def test_a_user_s_fact_with_a_secret_is_not_published_again(root: Path) -> None:
    build(root)
    add(
        root,
        "codebase.md",
        f"- the token is {TOKEN}: `alpha = 1` (src/b.py:1)\n- only cents: `alpha = 1` (src/b.py:1)",
    )
    text = build(root).texts["codebase.md"]
    assert "only cents" in text
    assert TOKEN not in text
    assert TOKEN not in services(root).layout.run_record("total").read_text()


# -- what other servers gave

ANSWER = (
    "Title: Rounding\nThe total is rounded  half up.\n"
    "See quoth://doc/abc and https://docs.shop.io/a?b=1#c."
)


def outside(
    root: Path, *facts: tuple[str, *tuple[str, ...]], answers: tuple[str, ...] = (ANSWER,)
) -> Checked:
    return checks.check(services(root), "login", [draft(*facts)], budget=False, external=answers)


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("the decision on rounding", ("quoth://doc/abc",)),
        ("decided: `The total is rounded half up.`", ("quoth://doc/abc",)),
        ("decided: `rounded half up`", ("https://docs.shop.io/a?b=1#c",)),
        ("decided: `rounded half up`, and so `alpha = 1`", ("quoth://doc/abc", "src/b.py:1")),
    ],
)
def test_a_reference_in_an_answer_of_this_run_is_a_valid_source(
    root: Path, text: str, sources: tuple[str, ...]
) -> None:
    checked = outside(root, (text, *sources))
    assert codes(checked) == []
    assert states(checked) == ["external"]
    assert checked.spans.keys() == set(sources)
    assert (
        checked.spans == outside(root, (text, *sources), answers=(ANSWER + " Edited since.",)).spans
    )


@pytest.mark.parametrize(
    ("text", "source", "code"),
    [
        ("never asked for", "quoth://doc/xyz", "E_SOURCE_EXTERNAL"),
        ("a part of one", "quoth://doc/ab", "E_SOURCE_EXTERNAL"),
        ("a part of one", "https://docs.shop.io/a", "E_SOURCE_EXTERNAL"),
        ("a part of one", "https://docs.shop.io/a?b=1", "E_SOURCE_EXTERNAL"),
        ("the end of one", "oth://doc/abc", "E_SOURCE_EXTERNAL"),
        ("says `rounded half down`", "quoth://doc/abc", "E_QUOTE"),
        ("says `alpha = 1`", "quoth://doc/abc", "E_QUOTE"),
    ],
)
def test_a_reference_that_no_answer_contains_is_invalid(
    root: Path, text: str, source: str, code: str
) -> None:
    checked = outside(root, (text, source))
    assert codes(checked) == [(4, code)]
    assert checked.dropped == 1


@pytest.mark.parametrize(
    ("answer", "holds"),
    [
        ("{}", True), ("see {}.", True), ("see {}, too", True), ("({})", True), ("<{}>", True),
        ("[x]({})", True),
        ('{"url": "{}"}', True), ('{"text": "first\\n{}\\nlast"}', True), ("**{}** is it", True),
        ("`{}`", True),
        ("is it {}?", True), ("{}/", False), ("{}/more", False), ("{}.html", False),
        ("{}?a=b", False), ("{}-x", False),
        ("{}#part", False), ("{}1", False), ("{}%20", False), ("x{}", False), ("x+{}", False),
        ("{}0, then {}", True),
    ],
)  # fmt: skip
def test_a_reference_inside_a_longer_one_does_not_count(
    root: Path, answer: str, holds: bool
) -> None:
    said = answer.replace("{}", "quoth://doc/1")
    checked = outside(root, ("read there", "quoth://doc/1"), answers=("nothing", said))
    assert len(checked.verdicts) == holds


def test_a_quote_must_be_in_an_answer_that_contains_the_reference(root: Path) -> None:
    answers = (
        "quoth://doc/1 says alpha",
        "quoth://doc/2 says gamma",
        '{"text": "quoth://doc/3\\nsays \\"delta\\" too"}',
    )
    facts = [
        ("of `says alpha`", 1),
        ("of `says gamma`", 1),
        ("of `says gamma`, once more", 2),
        ('of `says "delta" too`', 3),
    ]
    checked = outside(root, *[(text, f"quoth://doc/{n}") for text, n in facts], answers=answers)
    assert codes(checked) == [(5, "E_QUOTE")]


def published_with_answers(root: Path) -> published.Published:
    """Publish a dossier of one quoted and one plain fact from another server, as a build does."""
    asked = services(root)
    facts = (
        ("decided: `rounded half up`", "quoth://doc/abc"),
        ("there is more", "https://docs.shop.io/a?b=1#c"),
    )
    checked = checks.check(
        asked, "login", [draft(*facts), draft(name="codebase.md")], budget=True, external=(ANSWER,)
    )
    staging = publish.stage(asked, "login")
    texts = {d.name: markdown.render(d) for d in (*checked.drafts, Draft("summary.md", "login"))}
    write(staging, texts)
    ids = tuple(fact_text.fact_id("patterns.md", text) for text, _ in facts)
    publish.publish(asked, staging, Manifest(feature="login", spans=checked.spans, facts=ids))
    found = published.read(asked.layout, "login")
    assert found is not None
    return found


def drafts_of(found: published.Published) -> list[Draft]:
    return [markdown.parse(name, "login", text)[0] for name, text in found.texts.items()]


def test_a_fact_proved_by_an_answer_stays_valid_after_the_run(root: Path) -> None:
    found = published_with_answers(root)
    checked = checks.check_unbudgeted(services(root), "login", drafts_of(found))
    assert (codes(checked), states(checked)) == ([], ["external", "external"])
    assert found.manifest is not None
    assert checked.spans == found.manifest.spans


def test_a_user_s_fact_can_cite_a_listed_reference_but_not_quote_it(
    root: Path,
) -> None:
    published_with_answers(root)
    add(
        root,
        "patterns.md",
        "- cited (quoth://doc/abc)\n- quoted: `half up` (quoth://doc/abc)",
        "login",
    )
    add(
        root,
        "patterns.md",
        "- own `alpha` (quoth://doc/abc, src/b.py:1)\n- made up (notion://x)",
        "login",
    )
    found = published.read(services(root).layout, "login")
    assert found is not None
    checked = checks.check_unbudgeted(services(root), "login", drafts_of(found))
    assert [p.code for p in checked.problems] == ["E_QUOTE", "E_SOURCE_EXTERNAL"]
    assert [v.fact.text for v in checked.verdicts][2:] == ["cited", "own `alpha`"]
    assert states(checked)[2:] == ["external", "external"]


def test_answers_of_another_feature_or_an_earlier_run_prove_nothing(
    root: Path,
) -> None:
    drafts = drafts_of(published_with_answers(root))
    of_other = [replace(d, feature="other") for d in drafts]
    assert checks.check_unbudgeted(services(root), "other", of_other).dropped == 2
    assert (
        checks.check(services(root), "login", drafts, budget=False, trust_published=False).dropped
        == 2
    )


def test_a_manifest_with_another_digest_does_not_prove_a_reference(root: Path) -> None:
    found = published_with_answers(root)
    path = services(root).layout.dossier("login") / "manifest.json"
    assert found.manifest is not None
    path.write_text(path.read_text().replace(found.manifest.spans["quoth://doc/abc"], "0" * 16))
    assert codes(checks.check_unbudgeted(services(root), "login", drafts_of(found))) == [
        (4, "E_SOURCE_EXTERNAL")
    ]


# -- hostile drafts


@pytest.mark.parametrize(
    "source",
    [
        ".project/context/login/patterns.md:4", ".project/context/login/patterns.md",
        "./.project/context/login/patterns.md:4", ".project//context/login/patterns.md:4",
        "<.project/context/login/patterns.md>:4", "src/link/login/patterns.md:4",
        "{staging}/patterns.md:4",
        ".project/.state/notes.md:1",
        "doc:.project/context/login/patterns.md#p1", ".project/context/login/patterns.md::test_x",
        ".git/config:1",
    ],
)  # fmt: skip
def test_dossiers_drafts_and_git_s_own_files_prove_nothing(root: Path, source: str) -> None:
    commit(root, {}, "all")
    published_with_answers(root)
    staging = publish.stage(services(root), "login")
    lie = "# Patterns: login\n\n## A\n- says `it was decided` (src/b.py:1)\n"
    write(staging, {"patterns.md": lie})
    write(
        root,
        {".project/context/login/patterns.md": lie, ".project/.state/notes.md": "it was decided\n"},
    )
    (root / "src" / "link").symlink_to(root / ".project" / "context")
    source = source.replace("{staging}", services(root).layout.relative(staging))
    checked = check(root, [draft(("says so", source))])
    assert codes(checked) == [(4, "E_SOURCE_OWN")]
    fence = Draft(
        "patterns.md", "login", (Section("A", (Fence("", ("it was decided",), 5),), source),)
    )
    assert codes(check(root, [fence])) == [(5, "E_SOURCE_OWN")]


def test_an_invalid_section_source_is_not_published(root: Path) -> None:
    section = Section("A", (Fact("says `alpha`", ("src/b.py:1",), 5),), "src/gone.py")
    checked = check(root, [Draft("patterns.md", "login", (section,))])
    assert "gone" not in markdown.render(checked.drafts[0])
    assert len(checked.verdicts) == 1


HIDDEN = [
    "\x1b[31mred",
    "a\rb",
    "\x00",
    "\x07",
    "\x9b31m",
    "\u202eabc",
    "\u2066abc",
    "\u2028",
    "\U000e0041\U000e0042",
    "\ud800",
]


@pytest.mark.parametrize("hidden", HIDDEN)
def test_control_and_invisible_characters_are_not_published(root: Path, hidden: str) -> None:
    fence = Section("B", (Fence("", ("alpha = 1", hidden), 8),), "src/b.py")
    odd = Section(f"Of {hidden}", (Fact("x", ("src/b.py:1",), 12),), "", 11)
    drafts = [draft(("holds: é 日本 👩\u200d💻\tא", "src/b.py:1"), (f"x {hidden}", "src/b.py:1"))]
    checked = check(root, [*drafts, Draft("codebase.md", "login", (fence, odd))])
    assert codes(checked) == [(5, "E_UNSEEN"), (8, "E_UNSEEN"), (11, "E_UNSEEN")]
    assert (len(checked.verdicts), checked.dropped) == (1, 2)


@pytest.mark.parametrize(
    "fact",
    [
        ("x" * 100_000, "src/b.py:1"),
        ("`alpha` " * 100, "src/b.py:1"),
        ("many", *(f"src/b.py:{n}" for n in range(1, 50))),
        ("far", "a/" * 50_000 + "b.py:1"),
    ],
)
def test_an_oversized_fact_is_dropped_before_its_sources_are_looked_up(
    root: Path, fact: tuple[str, *tuple[str, ...]]
) -> None:
    assert codes(check(root, [draft(fact, ("holds", "src/b.py:1"))])) == [(4, "E_FACT_LONG")]


def test_of_too_many_facts_the_first_are_checked_and_the_rest_are_counted(root: Path) -> None:
    facts = [(f"fact {n}", "src/b.py:1") for n in range(100_000)]
    begun = time.process_time()
    checked = check(root, [draft(*facts)])
    assert time.process_time() - begun < 20
    assert codes(checked) == [(244, "E_FILE_LONG")]
    assert (len(checked.verdicts), checked.dropped) == (240, 100_000 - 240)


def test_knowledge_has_no_limit_on_facts(root: Path) -> None:
    facts = tuple(Fact(f"fact {n}", ("src/b.py:1",)) for n in range(1000))
    checked = checks.check_unbudgeted(
        services(root), "", [Draft("knowledge.md", "", (Section("All", facts),))]
    )
    assert len(checked.verdicts) == 1000


def test_slow_sources_are_looked_up_only_up_to_a_limit(root: Path) -> None:
    commit(root, {}, "all")
    facts = [(f"fact {n}", f'absent:src/**~"gamma {n}"') for n in range(150)]
    checked = check(root, [draft(*facts)])
    assert [p.code for p in checked.problems] == ["E_SOURCE_MANY"] * 50
    large = write(root, {"large.py": "x" * 900_000 + "\n" * 100})
    facts = [(f"fact {n}", f"large.py:1-{n}") for n in range(1, 41)]
    checked = check(large, [draft(*facts)])
    assert [p.code for p in checked.problems] == ["E_SOURCE_MANY"] * 18


def test_a_long_line_of_blanks_is_matched_in_linear_time(root: Path) -> None:
    write(root, {"src/c.py": "alpha" + " " * 500_000 + "= 1\n"})
    begun = time.process_time()
    assert states(check(root, [draft(("says `alpha = 1`", "src/c.py:1"))])) == ["quoted"]
    assert time.process_time() - begun < 10


def staged_texts(root: Path, **files: bytes) -> tuple[list[str], list[tuple[str, str]]]:
    asked = services(root)
    staging = publish.stage(asked, "login")
    for name, data in files.items():
        (staging / name.replace("__", "-").replace("_md", ".md")).write_bytes(data)
    drafts, problems = checks.read_staged(asked, "login", staging)
    return [fact.text for d in drafts for fact in d.facts], [(p.path, p.code) for p in problems]


GOOD = b"# Patterns: login\n\n## A\n- holds (src/b.py:1)\n"


@pytest.mark.parametrize(
    ("data", "facts", "problem"),
    [
        (GOOD.replace(b"\n", b"\r\n"), ["holds"], []),
        (b"\xef\xbb\xbf" + GOOD, ["holds"], []),
        (GOOD + b"- caf\xe9 (src/b.py:1)\n", ["holds", "café"], []),
        (GOOD + b"\0", [], ["E_FILE_TEXT"]),
        (GOOD.decode().encode("utf-16"), [], ["E_FILE_TEXT"]),
        (GOOD + b"x" * 300_000, [], ["E_FILE_TEXT"]),
        (GOOD.replace(b"login", b"other"), ["holds"], ["E_TITLE"]),
        (
            GOOD + b"```\nsrc\n- swallowed (src/b.py:1)\n",
            ["holds"],
            ["E_FENCE_OPEN", "E_FENCE_SOURCE"],
        ),
        (b"I have looked at everything.\n\nHere is what I found:\n", [], ["E_TITLE", "E_PROSE"]),
        (b"", [], ["E_TITLE"]),
        (b"\n" * 200_000, [], ["E_TITLE"]),
        (b"prose\n" * 40_000, [], ["E_TITLE", *["E_PROSE"] * 99]),
    ],
)
def test_a_broken_draft_is_read_as_far_as_possible_and_its_problems_are_reported(
    root: Path, data: bytes, facts: list[str], problem: list[str]
) -> None:
    assert staged_texts(root, patterns_md=data) == (
        facts,
        [("patterns.md", code) for code in problem],
    )


def test_links_folders_and_pipes_in_staging_are_not_read(root: Path) -> None:
    asked = services(root)
    staging = publish.stage(asked, "login")
    (root / "src" / "facts.md").write_bytes(GOOD)
    (staging / "patterns.md").hardlink_to(root / "src" / "facts.md")
    (staging / "codebase.md").symlink_to(root / "src" / "facts.md")
    (staging / "summary.md").mkdir()
    os.mkfifo(staging / "failures.md")
    with (staging / "anti-patterns.md").open("wb") as file:
        file.truncate(100_000_000)
    for n in range(2000):
        (staging / f"{n}.md").touch()
    drafts, problems = checks.read_staged(asked, "login", staging)
    assert drafts == ()
    assert [p.path for p in problems if p.code == "E_FILE_TEXT"] == ["anti-patterns.md"]
    named = [p.path for p in problems if p.code == "E_FILE_NAME"]
    assert named[-4:] == ["codebase.md", "failures.md", "patterns.md", "summary.md"]
    assert len(named) == 104


# -- budget


def lines_of(n: int) -> str:
    return "".join(f"value_{i} = {i}\n" for i in range(n))


def deep(n: int) -> str:
    return f"src/a/very/long/way/down/to/a/file/of/some/name/module_{n}.py"


def rendered(checked: Checked) -> dict[str, str]:
    return {d.name: markdown.render(d) for d in checked.drafts}


def assert_within(checked: Checked, max_tokens: int, max_facts: int) -> None:
    texts = rendered(checked)
    assert sum(fact_text.tokens(text) for text in texts.values()) <= max_tokens
    assert len(checked.verdicts) <= max_facts
    codebase = fact_text.tokens(texts.get("codebase.md", ""))
    assert (
        codebase <= max_tokens * 0.25
        or not next(d for d in checked.drafts if d.name == "codebase.md").facts
    )
    assert sum(len(d.facts) for d in checked.drafts) == len(checked.verdicts)


FILE_NAMES = st.sampled_from([row.name for row in FILES])
GENERATED = st.lists(
    st.tuples(
        FILE_NAMES,
        st.integers(0, 3),
        st.integers(5, 120),
        st.lists(st.integers(0, 39), min_size=1, max_size=4, unique=True),
    ),
    max_size=60,
)


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("many"), {deep(n): lines_of(4) for n in range(40)})


def generated(rows: list[tuple[str, int, int, list[int]]]) -> list[Draft]:
    grouped: dict[str, dict[int, list[Fact]]] = {}
    for number, (name, section, length, cited) in enumerate(rows):
        text = f"{number} " + "word " * (length // 5)
        grouped.setdefault(name, {}).setdefault(section, []).append(
            Fact(text.strip(), tuple(f"{deep(n)}:1" for n in cited))
        )
    return [
        Draft(
            name,
            "login",
            tuple(Section(f"Section {s}", tuple(facts)) for s, facts in sections.items()),
        )
        for name, sections in grouped.items()
    ]


@settings(CALM, max_examples=40)
@given(rows=GENERATED, max_tokens=st.integers(200, 1500), max_facts=st.integers(1, 40))
def test_what_is_kept_never_exceeds_the_budget(
    many: Path, rows: list[tuple[str, int, int, list[int]]], max_tokens: int, max_facts: int
) -> None:
    drafts = generated(rows)
    checked = check(many, drafts, budget=True, max_tokens=max_tokens, max_facts=max_facts)
    assert {problem.code for problem in checked.problems} <= {"E_BUDGET"}
    left = {fact.text for one in drafts for fact in one.facts}
    left -= {verdict.fact.text for verdict in checked.verdicts}
    named = [problem.message.removeprefix("no room for: ") for problem in checked.problems]
    assert sorted(named) == sorted(text[:200] for text in left)
    assert checked.cut == len(left) == len(rows) - len(checked.verdicts)
    assert_within(checked, max_tokens, max_facts)


def test_room_that_shortened_paths_leave_is_filled(many: Path) -> None:
    """Sections of a file cite `:1`, not its long path."""
    sections = tuple(
        Section(
            deep(n),
            tuple(Fact(f"{n} {i} " + "word " * 8, (f"{deep(n)}:{i + 1}",)) for i in range(4)),
            source=deep(n),
        )
        for n in range(40)
    )
    drafts = [Draft("existing-tests.md", "login", sections)]
    checked = check(many, drafts, budget=True, max_tokens=1000, max_facts=200)
    tokens = sum(fact_text.tokens(text) for text in rendered(checked).values())
    assert checked.cut > 0
    assert 960 <= tokens <= 1000, "less than the room of another fact with its heading is left"


def test_facts_that_repeat_a_long_path_use_up_the_budget(tmp_path: Path) -> None:
    path = "application/src/main/java/org/example/application/login/LoginService.java"
    root = write(tmp_path, {path: "name\n" * 200})
    facts = [(f"fact {n}: `name` {path}:{n}, `name` :{n + 1}", f"{path}:{n}") for n in range(1, 99)]
    ranks = {text: 0.5 for text, _ in facts}
    drafts = [markdown.parse(one.name, "login", markdown.render(one))[0] for one in [draft(*facts)]]
    checked = checks.check(
        services(root, max_tokens=800), "login", drafts, budget=True, ranks=ranks
    )
    size = sum(fact_text.tokens(markdown.render(one)) for one in checked.drafts)
    assert 780 <= size <= 800


def naming(text: str, *numbers: int) -> Draft:
    """Sections of the first ten files, and a fact that only names some files."""
    own = (
        Section(deep(n), (Fact(f"fact {n} " + "word " * 12, (f"{deep(n)}:1",)),), deep(n))
        for n in range(10)
    )
    named = Section("More files", (Fact(text, tuple(map(deep, numbers))),))
    return Draft("codebase.md", "login", (*own, named))


@pytest.mark.parametrize("text", [named_files.likely("files"), named_files.less_likely("files")])
def test_files_with_a_section_are_not_also_named(many: Path, text: str) -> None:
    checked = check(many, [naming(text, 7, 8, 9, 20)], budget=True, max_tokens=20_000)
    (named,) = [one for one in checked.verdicts if one.fact.text == text]
    assert named.fact.sources == (deep(20),)
    assert checked.drafts[0].sections[-1].facts == (named.fact,)
    assert {deep(n) for n in (7, 8, 9)}.isdisjoint(checked.spans)


def test_a_fact_whose_files_all_have_a_section_is_left_out_but_not_cut(many: Path) -> None:
    checked = check(
        many, [naming(named_files.likely("files"), 7, 8)], budget=True, max_tokens=20_000
    )
    assert [one.heading for one in checked.drafts[0].sections] == [deep(n) for n in range(10)]
    assert (len(checked.verdicts), checked.cut, checked.problems) == (10, 0, ())


def test_files_whose_sections_are_cut_are_named(many: Path) -> None:
    text = named_files.likely("files")
    draft_ = naming(text, 7, 8, 9)
    ranks = {fact.text: 0.9 - n / 100 for n, fact in enumerate(draft_.facts)} | {text: 1.0}
    own = services(many, max_tokens=300)
    checked = checks.check(own, "login", [draft_], budget=True, ranks=ranks)
    headings = {one.heading for one in checked.drafts[0].sections}
    assert {deep(0), "More files"} <= headings
    assert deep(9) not in headings
    (named,) = [one.fact for one in checked.verdicts if one.fact.text == text]
    assert {*named.sources} == {deep(n) for n in (7, 8, 9)} - headings


def test_other_facts_may_cite_files_that_have_a_section(many: Path) -> None:
    drafts = [naming("the files of the till", 7, 8)]
    checked = check(many, drafts, budget=True, max_tokens=20_000)
    assert [one.facts for one in checked.drafts] == [one.facts for one in drafts]


def test_a_dossier_within_the_budget_is_unchanged(root: Path) -> None:
    drafts = [
        draft(("says `alpha`", "src/b.py:1")),
        draft(("says `beta`", "src/b.py:2"), name="codebase.md"),
    ]
    checked = check(root, drafts, budget=True)
    assert [d.facts for d in checked.drafts] == [d.facts for d in drafts]
    assert checked.cut == 0


def test_traps_and_gaps_are_kept_before_symbols(many: Path) -> None:
    def facts(word: str, *more: str) -> list[tuple[str, ...]]:
        return [(f"{word} {n} " + "word " * 12, f"{deep(n)}:1", *more) for n in range(20)]

    drafts = [
        draft(*facts("symbol"), name="codebase.md"),
        draft(*facts("gap", 'absent:**/*.py~"nowhere"'), name="existing-tests.md"),
        draft(*facts("trap"), name="anti-patterns.md"),
    ]
    checked = check(many, drafts, budget=True, max_facts=20)
    kept = [verdict.fact.text.split()[0] for verdict in checked.verdicts]
    assert len(kept) + checked.cut == 60
    assert kept.count("trap") > kept.count("symbol")
    assert kept.count("gap") > kept.count("symbol")


def test_ranks_decide_which_facts_of_a_file_are_kept(many: Path) -> None:
    facts = [(f"fact {n}", f"{deep(n)}:1") for n in range(10)]
    ranks = {"fact 7": 0.9, "fact 3": 0.8} | {
        f"fact {n}": 0.1 for n in range(10) if n not in {3, 7}
    }
    checked = checks.check(
        services(many, max_facts=2), "login", [draft(*facts)], budget=True, ranks=ranks
    )
    assert {v.fact.text for v in checked.verdicts} == {"fact 3", "fact 7"}
    assert checked.problems == ()  # they cost nothing, and are found again


def test_counts_of_an_earlier_check_are_carried_over(root: Path) -> None:
    first = check(
        root, [draft(("gone", "src/gone.py:1"), ("says `alpha`", "src/b.py:1"))], budget=True
    )
    again = checks.check(
        services(root), "login", first.drafts, budget=True, problems=first.problems, before=first
    )
    assert (again.dropped, again.cut) == (1, 0)
    assert again.problems == first.problems


# -- facts of people


def build(root: Path, feature: str = "total") -> published.Published:
    anyio.run(pipeline.build, services(root), request(feature).model_copy(update={"force": True}))
    found = published.read(services(root).layout, feature)
    assert found is not None
    return found


def add(root: Path, name: str, line: str, feature: str = "total") -> None:
    path = services(root).layout.dossier(feature) / name
    path.write_text(path.read_text() + f"\n## Ours\n{line}\n")


def test_a_user_s_fact_survives_every_rebuild_and_is_unverified_without_its_lines(
    root: Path,
) -> None:
    build(root)
    add(root, "codebase.md", "- only cents: `alpha = 1` (src/b.py:1)\n- gone soon (src/b.py:2)")
    for _ in range(3):
        text = build(root).texts["codebase.md"]
        assert text.count("- only cents: `alpha = 1`") == 1
        assert text.count("gone soon") == 1
    write(root, {"src/b.py": "alpha = 1\n"})
    found = build(root)
    assert "- only cents: `alpha = 1`" in found.texts["codebase.md"]
    assert "- gone soon (src/b.py:2)" in found.texts["codebase.md"]
    assert found.manifest is not None
    assert found.manifest.unverified == ("gone soon",)


def test_a_user_s_fact_that_was_removed_stays_removed(root: Path) -> None:
    build(root)
    add(root, "codebase.md", "- only cents: `alpha = 1` (src/b.py:1)")
    assert "only cents" in build(root).texts["codebase.md"]
    path = services(root).layout.dossier("total") / "codebase.md"
    path.write_text(path.read_text().replace("- only cents: `alpha = 1` (src/b.py:1)\n", ""))
    assert "only cents" not in build(root).texts["codebase.md"]


def test_an_outdated_builder_s_fact_is_not_mistaken_for_a_user_s(root: Path) -> None:
    before = build(root).texts["codebase.md"]
    assert "Basket" in before
    write(root, {"src/a.py": "class Shelf:\n    def total_width(self):\n        return 1\n"})
    after = build(root).texts["codebase.md"]
    assert "Basket" not in after


def test_facts_of_a_dossier_without_a_manifest_are_not_carried_over(root: Path) -> None:
    standing = draft(("says `alpha`", "src/b.py:1"), name="patterns.md")
    write(root, {".project/context/login/patterns.md": markdown.render(standing)})
    assert checks.with_peoples_facts(services(root), "login", [], SourceChanges(), list, {}) == (
        (),
        ({}, {}, {}, ()),
    )


def test_a_manifest_lists_its_facts_by_id(root: Path) -> None:
    found = build(root)
    assert isinstance(found.manifest, Manifest)
    written = {
        fact_text.fact_id(name, fact.text)
        for name, text in found.texts.items()
        for fact in markdown.parse(name, "total", text)[0].facts
    }
    assert written == set(found.manifest.facts)


# -- bounds


def test_many_quotes_of_a_large_file_are_checked_in_bounded_time(tmp_path: Path) -> None:
    write(tmp_path, {"large.py": "x = 1\n" * 100_000})
    fence = Fence("py", ("x = 1",) * 500)
    facts = tuple(
        Fact(f"{n}: `x = 1` and `x = 1 x = 1`", ("large.py:1-100000",)) for n in range(500)
    )
    begun = time.process_time()
    drafts = [Draft("patterns.md", "login", (Section("A", (fence, *facts), "large.py:1-100000"),))]
    checked = check(tmp_path, drafts, max_facts=200)
    assert checked.dropped == 0
    assert time.process_time() - begun < 10


def test_every_kind_of_file_has_a_confidence(root: Path) -> None:
    for name, row in BY_NAME.items():
        [verdict] = check(root, [draft(("says `alpha`", "src/b.py:1"), name=name)]).verdicts
        assert 0.5 < verdict.confidence <= 0.9, row.kind


def test_commits_can_be_quoted_by_their_words_and_their_lines(tmp_path: Path) -> None:
    commit(tmp_path, {"a.py": "timeout = 30\n"}, "begin")
    sha = commit(tmp_path, {"a.py": "timeout = 10\n"}, "Wait less: the gateway gives up first")
    facts = [
        ("`the gateway gives up`", f"commit:{sha[:9]}"),
        ("from `timeout = 30`", f"commit:{sha[:9]}"),
    ]
    assert states(check(tmp_path, [draft(*facts)])) == ["quoted", "quoted"]
