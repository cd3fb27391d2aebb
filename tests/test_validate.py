"""The check: what holds, in which state, what falls and why, and what is cut to the budget."""

import time
from pathlib import Path

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _evidence_project import CALM, check, commit, draft, request, services, write
from preread import dossier, pipeline, publish, published, validate
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
        tmp_path, {"src/a.py": CODE, "src/b.py": "alpha = 1\nbeta = 2\n", "t/test_a.py": "def test_total(): ...\n"}
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
        ("why: `Rounding each line half up made the total a cent too large.`", "src/a.py:1-2", "quoted"),
        ("why: `spread over two comments`", "src/a.py:9-10", "quoted"),
        ("of `Basket`, by its name", "src/a.py:5", "quoted"),
        ("of `total`, by its name", "src/a.py:6-7", "quoted"),
        ("a test, `test_total`", "t/test_a.py::test_total", "quoted"),
        ("quotes nothing", "src/b.py:1", "located"),
        ("quotes `x`, too short to prove anything", "src/b.py:1", "located"),
        ("a whole file", "src/b.py", "located"),
        ("no test says gamma", 'absent:t/**~"gamma"', "computed"),
    ],
)
def test_a_fact_that_holds_has_the_state_of_its_proof(root: Path, text: str, source: str, state: str) -> None:
    checked = check(root, [draft((text, source))])
    assert codes(checked) == []
    assert states(checked) == [state]
    assert (checked.dropped, checked.cut) == (0, 0)
    assert checked.spans.keys() == {source}


@pytest.mark.parametrize(
    ("text", "source", "code"),
    [
        ("says `alpha = 2`", "src/b.py:1", "E_QUOTE"),
        ("says `alpha = 1` and `gamma`", "src/b.py:1", "E_QUOTE"),
        ("says `alpha`, elsewhere", "src/b.py:2", "E_QUOTE"),
        ("says `Alpha = 1`", "src/b.py:1", "E_QUOTE"),
        ("of `Basket`, out of it", "src/a.py:1", "E_QUOTE"),
        ("too far", "src/b.py:3", "E_SOURCE_LINES"),
        ("no such file", "src/c.py:1", "E_SOURCE_FILE"),
        ("from a server that was never asked", "quoth://doc/1", "E_SOURCE_EXTERNAL"),
        ("a test says it", 'absent:t/**~"test_total"', "E_SOURCE_PRESENT"),
        ("no source at all", "because", "E_SOURCE_FORM"),
    ],
)
def test_a_fact_that_does_not_hold_is_dropped_counted_and_named_with_its_line(
    root: Path, text: str, source: str, code: str
) -> None:
    checked = check(root, [draft(("holds", "src/b.py:1"), (text, source))])
    assert codes(checked) == [(5, code)]
    assert checked.dropped == 1
    assert [fact.text for fact in checked.drafts[0].facts] == ["holds"]
    assert checked.spans.keys() == {"src/b.py:1"}


def test_a_quote_stands_in_any_one_of_the_sources(root: Path) -> None:
    checked = check(root, [draft(("`alpha` then `Basket`", "src/b.py:1", "src/a.py:3"))])
    assert states(checked) == ["quoted"]


def test_of_two_sources_the_one_that_holds_is_kept(root: Path) -> None:
    checked = check(root, [draft(("says `alpha`", "src/gone.py:1", "src/b.py:1"))])
    assert checked.drafts[0].facts[0].sources == ("src/b.py:1",)
    assert codes(checked) == [(4, "E_SOURCE_FILE")]
    assert checked.dropped == 0


def test_a_fact_without_any_source_is_dropped(root: Path) -> None:
    assert check(root, [draft(("believe me",))]).dropped == 1


def test_confidence_falls_with_the_state_and_what_only_locates_is_capped(root: Path) -> None:
    facts = (("no test", 'absent:t/**~"gamma"'), ("says `alpha`", "src/b.py:1"), ("somewhere", "src/b.py:1"))
    computed, quoted, located = (v.confidence for v in check(root, [draft(*facts)]).verdicts)
    assert 1 >= computed > quoted > located
    assert located <= 0.4


def test_the_digest_of_every_cited_span_is_given_and_fences_count(root: Path) -> None:
    fence = Section("E", (Fence("py", ("alpha = 1",)),), "src/b.py:1")
    checked = check(root, [draft(("a", "src/a.py:3", "src/b.py:2")), Draft("codebase.md", "login", (fence,))])
    assert sorted(checked.spans) == ["src/a.py:3", "src/b.py:1", "src/b.py:2"]
    assert len(set(checked.spans.values())) == 3


# -- wrong, twice


def test_a_fact_marked_as_wrong_stays_away_from_the_file_it_stood_in(root: Path) -> None:
    layout = services(root).layout
    published.mark_wrong(layout, dossier.fact_id("patterns.md", "says `alpha`"), "login", "says `alpha`")
    again = ("says  `ALPHA`", "src/b.py:1")
    checked = check(root, [draft(again, ("says `beta`", "src/b.py:2"))])
    assert codes(checked) == [(4, "E_FACT_WRONG")]
    assert [fact.text for fact in checked.drafts[0].facts] == ["says `beta`"]
    assert checked.dropped == 1


def test_the_same_words_stand_once_in_a_file(root: Path) -> None:
    same = ("says `alpha`", "src/b.py:1")
    checked = check(root, [draft(same, same), draft(same, name="codebase.md")])
    assert codes(checked) == [(5, "E_FACT_TWICE")]
    assert len(checked.verdicts) == 2


# -- fences


def test_a_fence_stands_line_by_line_in_its_source(root: Path) -> None:
    good = Fence("py", ("return sum(", "", "    self.lines"), 4)
    bad = Fence("py", ("return sum(", "self.rows"), 10)
    checked = check(root, [Draft("patterns.md", "login", (Section("E", (good, bad), "src/a.py:5-7"),))])
    assert checked.drafts[0].sections[0].items == (good,)
    assert codes(checked) == [(12, "E_FENCE_LINE")]


def test_a_fence_without_a_source_or_with_one_that_fails_is_dropped(root: Path) -> None:
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
    drafts, problems = validate.staged(asked, "login", staging)
    assert [d.name for d in drafts] == ["patterns.md"]
    assert [(p.path, p.code) for p in problems] == [
        ("codebase.md", "E_FILE_TEXT"),
        ("failures.md", "E_FILE_NAME"),
        ("notes.md", "E_FILE_NAME"),
        ("patterns.md", "E_PROSE"),
        ("summary.md", "E_FILE_NAME"),
        ("x\\ny.md", "E_FILE_NAME"),
    ]


# -- budget


def lines_of(n: int) -> str:
    return "".join(f"value_{i} = {i}\n" for i in range(n))


def deep(n: int) -> str:
    return f"src/a/very/long/way/down/to/a/file/of/some/name/module_{n}.py"


def rendered(checked: Checked) -> dict[str, str]:
    return {d.name: dossier.render(d) for d in checked.drafts}


def assert_within(checked: Checked, max_tokens: int, max_facts: int) -> None:
    texts = rendered(checked)
    assert sum(dossier.tokens(text) for text in texts.values()) <= max_tokens
    assert len(checked.verdicts) <= max_facts
    codebase = dossier.tokens(texts.get("codebase.md", ""))
    assert codebase <= max_tokens * 0.25 or not next(d for d in checked.drafts if d.name == "codebase.md").facts
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
        Draft(name, "login", tuple(Section(f"Section {s}", tuple(facts)) for s, facts in sections.items()))
        for name, sections in grouped.items()
    ]


@settings(CALM, max_examples=40)
@given(rows=GENERATED, max_tokens=st.integers(200, 1500), max_facts=st.integers(1, 40))
def test_what_is_kept_never_goes_over_the_budget(
    many: Path, rows: list[tuple[str, int, int, list[int]]], max_tokens: int, max_facts: int
) -> None:
    drafts = generated(rows)
    checked = check(many, drafts, budget=True, max_tokens=max_tokens, max_facts=max_facts)
    assert checked.problems == ()
    assert checked.cut == len(rows) - len(checked.verdicts)
    assert_within(checked, max_tokens, max_facts)


def test_a_dossier_within_the_budget_is_left_as_it_is(root: Path) -> None:
    drafts = [draft(("says `alpha`", "src/b.py:1")), draft(("says `beta`", "src/b.py:2"), name="codebase.md")]
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


def test_a_rank_decides_what_of_one_file_is_kept(many: Path) -> None:
    facts = [(f"fact {n}", f"{deep(n)}:1") for n in range(10)]
    ranks = {"fact 7": 0.9, "fact 3": 0.8} | {f"fact {n}": 0.1 for n in range(10) if n not in {3, 7}}
    checked = validate.check(services(many, max_facts=3), "login", [draft(*facts)], budget=True, ranks=ranks)
    assert {v.fact.text for v in checked.verdicts} == {"fact 3", "fact 7"}  # the third is the summary's


def test_counts_of_an_earlier_check_go_on(root: Path) -> None:
    first = check(root, [draft(("gone", "src/gone.py:1"), ("says `alpha`", "src/b.py:1"))], budget=True)
    again = validate.check(services(root), "login", first.drafts, budget=True, problems=first.problems, before=first)
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


def test_a_fact_that_people_added_survives_every_rebuild_while_it_holds(root: Path) -> None:
    build(root)
    add(root, "codebase.md", "- only cents: `alpha = 1` (src/b.py:1)\n- gone soon (src/b.py:2)")
    for _ in range(3):
        text = build(root).texts["codebase.md"]
        assert text.count("- only cents: `alpha = 1`") == 1
        assert text.count("gone soon") == 1
    write(root, {"src/b.py": "alpha = 1\n"})
    text = build(root).texts["codebase.md"]
    assert "- only cents: `alpha = 1`" in text
    assert "gone soon" not in text


def test_a_fact_that_people_took_out_of_their_own_stays_out(root: Path) -> None:
    build(root)
    add(root, "codebase.md", "- only cents: `alpha = 1` (src/b.py:1)")
    assert "only cents" in build(root).texts["codebase.md"]
    path = services(root).layout.dossier("total") / "codebase.md"
    path.write_text(path.read_text().replace("- only cents: `alpha = 1` (src/b.py:1)\n", ""))
    assert "only cents" not in build(root).texts["codebase.md"]


def test_a_builder_s_fact_that_no_longer_holds_is_not_taken_for_a_person_s(root: Path) -> None:
    before = build(root).texts["codebase.md"]
    assert "`def total" in before or "`class Basket" in before
    write(root, {"src/a.py": "class Shelf:\n    def total_width(self):\n        return 1\n"})
    after = build(root).texts["codebase.md"]
    assert "Basket" not in after


def test_facts_of_a_dossier_without_manifest_are_left_to_their_backup(root: Path) -> None:
    standing = draft(("says `alpha`", "src/b.py:1"), name="patterns.md")
    write(root, {".project/context/login/patterns.md": dossier.render(standing)})
    assert validate.with_people(services(root), "login", []) == ()


def test_a_manifest_lists_its_facts_by_id(root: Path) -> None:
    found = build(root)
    assert isinstance(found.manifest, Manifest)
    written = {
        dossier.fact_id(name, fact.text)
        for name, text in found.texts.items()
        for fact in dossier.parse(name, "total", text)[0].facts
    }
    assert written == set(found.manifest.facts)


# -- bounds


def test_many_quotes_of_a_large_file_are_checked_in_bounded_time(tmp_path: Path) -> None:
    write(tmp_path, {"large.py": "x = 1\n" * 100_000})
    fence = Fence("py", ("x = 1",) * 500)
    facts = tuple(Fact(f"{n}: `x = 1` and `x = 1 x = 1`", ("large.py:1-100000",)) for n in range(500))
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
    facts = [("`the gateway gives up`", f"commit:{sha[:9]}"), ("from `timeout = 30`", f"commit:{sha[:9]}")]
    assert states(check(tmp_path, [draft(*facts)])) == ["quoted", "quoted"]
