"""The dossier format: what is rendered parses back, and each broken rule is reported by line."""

import gc
import re
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM
from preread.dossier import anchors, fact_text, markdown, sources
from preread.dossier.sources import Ref
from preread.layout import FILES
from preread.models import Draft, Fact, Fence, Section

HANDWRITTEN = Path(__file__).parent / "data" / "handwritten"


def read(
    *lines: str, name: str = "patterns.md", feature: str = "login"
) -> tuple[Draft, list[tuple[int, str]]]:
    """Parse a file of one section with these lines, from line 4 on; its problems' line and code."""
    title = next(row.title for row in FILES if row.name == name)
    text = "\n".join((f"# {title}: {feature}", "", "## Section", *lines)) + "\n"
    draft, problems = markdown.parse(name, feature, text)
    assert all(problem.path == name and problem.message for problem in problems)
    return draft, [(problem.line, problem.code) for problem in problems]


def sources_of(*lines: str) -> list[tuple[str, ...]]:
    return [fact.sources for fact in read(*lines)[0].facts]


def fact_of(line: str) -> Fact:
    return read(line)[0].facts[0]


# -- what a file consists of


def test_title_sections_facts_and_sources_are_read() -> None:
    text = (
        "# Patterns: login\n\n## Auth flow\n- strategy: `storageState` (tests/auth.setup.ts:12)\n"
        "- wait: `networkidle` (tests/login.spec.ts:20-24, quoth://doc/abc123)\n\n## Select\n"
        "- by id (src/Form.tsx)\n"
    )
    draft, problems = markdown.parse("patterns.md", "login", text)
    assert problems == []
    assert [section.heading for section in draft.sections] == ["Auth flow", "Select"]
    assert [section.line for section in draft.sections] == [3, 7]
    assert draft.facts == (
        Fact("strategy: `storageState`", ("tests/auth.setup.ts:12",), 4),
        Fact("wait: `networkidle`", ("tests/login.spec.ts:20-24", "quoth://doc/abc123"), 5),
        Fact("by id", ("src/Form.tsx",), 8),
    )


@pytest.mark.parametrize("row", FILES, ids=lambda row: row.name)
def test_the_first_line_names_file_and_feature(row: object) -> None:
    name, title = row.name, row.title  # type: ignore[attr-defined]
    assert markdown.parse(name, "login", f"# {title}: login\n")[1] == []
    for wrong in (
        f"# {title}: other\n",
        f"# {title}\n",
        f"## {title}: login\n",
        "",
        "\n",
        f"{title}: login\n",
    ):
        problems = markdown.parse(name, "login", wrong)[1]
        assert [(p.line, p.code) for p in problems][:1] == [(1, "E_TITLE")]


def test_knowledge_has_a_title_of_its_own() -> None:
    assert markdown.parse("knowledge.md", "", "# Knowledge\n\n## Checkout\n- a (b.py:1)\n")[1] == []


def test_a_file_without_facts_says_that_none_were_found() -> None:
    text = markdown.render(Draft("patterns.md", "login"))
    assert text == "# Patterns: login\n\nNo facts found.\n"
    assert markdown.parse("patterns.md", "login", text) == (Draft("patterns.md", "login"), [])


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("some prose", "E_PROSE"),
        ("### deeper", "E_PROSE"),
        ("* star (a.py:1)", "E_PROSE"),
        ("  - indented (a.py:1)", "E_PROSE"),
        ("1. numbered (a.py:1)", "E_PROSE"),
        ("-no blank (a.py:1)", "E_PROSE"),
        ("##no blank", "E_PROSE"),
        ("<<<<<<< ours", "E_PROSE"),
        ("- no source at all", "E_FACT_SOURCE"),
        ("- not a source (because)", "E_FACT_SOURCE"),
        ("- (a.py:1)", "E_FACT_EMPTY"),
        ("- ", "E_FACT_EMPTY"),
        ("Source: because", "E_SECTION_SOURCE"),
        ("Source: a.py:1, b.py:2", "E_SECTION_SOURCE"),
        ("Source: :12", "E_SECTION_SOURCE"),
    ],
)
def test_each_broken_rule_is_reported_with_its_line(line: str, code: str) -> None:
    draft, problems = read("- first (a.py:1)" if line[:6] != "Source" else "", line)
    assert problems == [(5, code)]
    assert "first" in [fact.text for fact in draft.facts] or line.startswith("Source")


def test_a_source_on_its_own_line_is_told_where_sources_go() -> None:
    [problem] = markdown.parse(
        "patterns.md", "login", "# Patterns: login\n\n## Own\n  Source: a.py:1"
    )[1]
    assert "in round brackets" in problem.message


def test_a_fact_without_source_is_kept_for_the_check_to_drop() -> None:
    assert fact_of("- no source at all") == Fact("no source at all", (), 4)


# -- a fact ends with its sources


@pytest.mark.parametrize(
    ("line", "text", "cited"),
    [
        ("- a (b.py:1)", "a", ("b.py:1",)),
        ("- a (b.py:1-1)", "a", ("b.py:1",)),
        ("- call `f(x)` (b.py:1)", "call `f(x)`", ("b.py:1",)),
        ("- a (not here) then (b.py:1, c.py:2-4)", "a (not here) then", ("b.py:1", "c.py:2-4")),
        ("- page (app/(auth)/page.tsx:12)", "page", ("app/(auth)/page.tsx:12",)),
        ("- two (app/(a)/p.tsx:1, app/(b)/q.tsx:2)", "two", ("app/(a)/p.tsx:1", "app/(b)/q.tsx:2")),
        ("- odd (<a, b.py>:12)", "odd", ("<a, b.py>:12",)),
        ("- odd (<a:b.py>:12)", "odd", ("<a:b.py>:12",)),
        ("- odd (<a(b.py>:12)", "odd", ("<a(b.py>:12",)),
        ("- odd (<a)b.py>:12-13, c.py:1)", "odd", ("<a)b.py>:12-13", "c.py:1")),
        ("- odd (<:-)>, c.py:1)", "odd", ("<:-)>", "c.py:1")),
        ("- odd (<a b>::test_x)", "odd", ("<a b>::test_x",)),
        ('- gap (a.py:1, absent:t/**~"f(x")', "gap", ("a.py:1", 'absent:t/**~"f(x"')),
        ('- gap (a.py:1, absent:t/**~"one, two")', "gap", ("a.py:1", 'absent:t/**~"one, two"')),
        ('- quote in a name (a"b.py:1, c.py:2)', "quote in a name", ('a"b.py:1', "c.py:2")),
        ("- no blank before(b.py:1)", "no blank before", ("b.py:1",)),
        ("- trailing blanks (b.py:1)  ", "trailing blanks", ("b.py:1",)),
        ("- doc (doc:docs/a b.pdf#p3, run:r1, ticket:A-1, commit:abc1234)", "doc",
         ("doc:docs/a b.pdf#p3", "run:r1", "ticket:A-1", "commit:abc1234")),
    ],
)  # fmt: skip
def test_the_sources_are_in_the_last_balanced_brackets(
    line: str, text: str, cited: tuple[str, ...]
) -> None:
    draft, problems = read(line)
    assert problems == []
    assert draft.facts == (Fact(text, cited, 4),)


@pytest.mark.parametrize(
    "bullet",
    [
        "a (b.py:1, because of that)",
        "a (b.py:1,c.py:2)",
        "a (b.py:1) and more",
        "a (b.py:1);",
        "a (b.py:1)..",
        "a (b.py:1 or so).",
        "a b.py:1)",
        "a (b.py:0)",
        "a (b.py:-1)",
        "a (:12)",
        "a ()",
        "a (see: b)",
        "a (<>:1)",
        "a (b.py:12345678)",
    ],
)
def test_brackets_with_a_part_that_is_not_a_source_are_text(bullet: str) -> None:
    draft, problems = read(f"- {bullet}")
    assert problems == [(4, "E_FACT_SOURCE")]
    assert draft.facts == (Fact(bullet, (), 4),)


# -- the section's source


def test_a_section_source_applies_to_facts_without_one_and_completes_line_numbers() -> None:
    lines = (
        "Source: src/a.py:5-9",
        "- all of it",
        "- a line (:7)",
        "- two (:7-8, b.py:1)",
        "- own (c.py:2)",
        "- call (x)",
    )
    assert sources_of(*lines) == [
        ("src/a.py:5-9",),
        ("src/a.py:7",),
        ("src/a.py:7-8", "b.py:1"),
        ("c.py:2",),
        ("src/a.py:5-9",),
    ]
    assert read(*lines)[1] == []


def test_a_section_source_applies_only_to_its_section() -> None:
    assert sources_of("Source: src/a.py", "- one", "## Next", "- two (:7)") == [("src/a.py",), ()]


def test_a_section_source_must_come_right_after_its_heading() -> None:
    draft, problems = read("- first (a.py:1)", "Source: src/a.py", "- second")
    assert problems == [(5, "E_SECTION_SOURCE"), (6, "E_FACT_SOURCE")]
    assert draft.sections[0].source == ""


def test_bare_lines_need_a_section_source_that_is_a_file() -> None:
    assert sources_of("Source: commit:abc1234", "- a (:7)") == [("commit:abc1234",)]
    assert fact_of("- a (:7)").sources == ()


# -- basenames


def test_a_basename_means_the_path_cited_in_full_before() -> None:
    lines = (
        "- a (deep/down/access.spec.ts:1)",
        "- b (access.spec.ts:4)",
        "- c (access.spec.ts::a test)",
        "- d (access.spec.ts)",
    )
    assert sources_of(*lines)[1:] == [
        ("deep/down/access.spec.ts:4",),
        ("deep/down/access.spec.ts::a test",),
        ("deep/down/access.spec.ts",),
    ]


def test_a_basename_before_the_first_full_path_is_a_file_in_the_root() -> None:
    assert sources_of("- a (a.py:1)", "- b (src/a.py:1)", "- c (a.py:2)") == [
        ("a.py:1",),
        ("src/a.py:1",),
        ("a.py:2",),
    ]


def test_a_basename_that_two_cited_paths_share_means_neither() -> None:
    assert sources_of("- a (x/a.py:1)", "- b (y/a.py:1)", "- c (a.py:2)")[2] == ("a.py:2",)


def test_a_section_source_counts_as_a_full_path() -> None:
    assert sources_of("Source: x/a.py", "- one", "## Next", "- two (a.py:2)")[1] == ("x/a.py:2",)


def test_a_path_in_angle_brackets_is_always_a_full_path() -> None:
    assert sources_of("- a (x/a.py:1)", "- b (<a.py>:2)", "- c (a.py:3)") == [
        ("x/a.py:1",),
        ("a.py:2",),
        ("a.py:3",),
    ]


def test_basenames_do_not_carry_over_between_files() -> None:
    assert sources_of("- a (x/a.py:1)")
    assert sources_of("- b (a.py:2)") == [("a.py:2",)]


# -- fences


def test_a_fence_keeps_its_lines_and_language_unchanged() -> None:
    lines = (
        "Source: a.py:1-4",
        "```py",
        "- not a fact",
        "",
        "  ## not a heading  ",
        "```",
        "- after",
    )
    draft, problems = read(*lines)
    assert problems == []
    fence, after = draft.sections[0].items
    assert fence == Fence("py", ("- not a fact", "", "  ## not a heading  "), 5)
    assert after == Fact("after", ("a.py:1-4",), 10)


def test_a_fence_ends_at_a_mark_as_long_as_its_own() -> None:
    draft, problems = read("Source: a.py:1", "````", "```", "~~~", "````", "~~~", "````", "~~~~")
    assert problems == []
    assert [item.lines for item in draft.sections[0].items if isinstance(item, Fence)] == [
        ("```", "~~~"),
        ("````",),
    ]


def test_a_fence_without_end_or_source_is_reported_where_it_opens() -> None:
    assert read("Source: a.py:1", "- x", "```ts", "let a")[1] == [(6, "E_FENCE_OPEN")]
    assert read("- x (a.py:1)", "```ts", "let a", "```")[1] == [(5, "E_FENCE_SOURCE")]


# -- lines


def test_lines_end_at_line_feeds_and_a_carriage_return_before_one_is_ignored() -> None:
    text = (
        "# Patterns: login\r\n\r\n## A\fB\r\n- one\u2028two\x0bthree\x85four (a.py:1)\r\n"
        "- five (a.py:2)\r\n"
    )
    draft, problems = markdown.parse("patterns.md", "login", text)
    assert problems == []
    assert [fact.text for fact in draft.facts] == ["one\u2028two\x0bthree\x85four", "five"]
    assert [fact.line for fact in draft.facts] == [4, 5]


def test_a_byte_order_mark_is_not_part_of_the_title() -> None:
    assert markdown.parse("patterns.md", "login", "\ufeff# Patterns: login\n")[1] == []


# -- quotes and names of facts


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("`abcd` and `efgh`", ["abcd", "efgh"]),
        ("`abc` is too short to prove anything", []),
        ("`` a `b` c ``", ["a `b` c"]),
        ("`open and ``closed twice`` then", ["closed twice"]),
        ("`one``two`", ["one``two"]),
        ("no code", []),
        ("` padded `", ["padded"]),
        ("````", []),
    ],
)
def test_quotes_are_code_spans_of_four_characters_or_more(text: str, quoted: list[str]) -> None:
    assert fact_text.quotes(text) == quoted


@CALM
@given(
    st.text(alphabet="`ab ", min_size=4, max_size=20).filter(
        lambda t: len(t.strip()) >= 4 and t == t.strip()
    )
)
def test_any_text_can_be_written_as_a_code_span(text: str) -> None:
    if text.strip("`"):
        assert fact_text.quotes(f"say {fact_text.code(text)} so") == [text]


def test_a_fact_id_depends_on_its_file_and_words_only() -> None:
    first = fact_text.fact_id("patterns.md", "Wait for  `x`")
    assert first == fact_text.fact_id("patterns.md", " wait for `x` ")
    assert first != fact_text.fact_id("codebase.md", "Wait for `x`")
    assert first != fact_text.fact_id("patterns.md", "Wait for `y`")
    assert len(first) == 8


def test_tokens_are_four_characters_each_rounded_up() -> None:
    assert [fact_text.tokens("x" * n) for n in (0, 1, 4, 5)] == [0, 1, 1, 2]


# -- what is written reads back

NAMES = st.sampled_from(
    """a.py|b.ts|(auth)|a,b.py|a, b.py|a:b.py|a(b.py|a)b.py|[slug].tsx|my file.py|q"q.py|Makefile
    |no_suffix|two words|ü.md|x  y.py|it's.py|#p1.md|~.rs|a`b.go""".replace("\n    ", "").split("|")
)
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
LINES = st.tuples(st.integers(1, 99), st.integers(0, 3))
HEX = st.text(alphabet="0123456789abcdef", min_size=7, max_size=12)
REFS = st.one_of(
    st.builds(lambda path, at: Ref("lines", path, at[0], at[0] + at[1]), PATHS, LINES),
    st.builds(lambda path, at: Ref("lines", path, at[0], at[0] + at[1]), PATHS, LINES),
    st.builds(lambda path: Ref("path", path), PATHS),
    st.builds(
        lambda path, name: Ref("test", path, name=name),
        PATHS,
        st.sampled_from(["test_a", "a > b c", "x(y)"]),
    ),
    st.builds(lambda sha: Ref("commit", name=sha), HEX),
    st.builds(lambda path, page: Ref("doc", path, start=page), PATHS, st.integers(1, 9)),
    st.builds(
        lambda glob, text: Ref("absent", glob, name=text),
        st.sampled_from(["**/*.py", "t/{a,b}/**", "app/(x)/*"]),
        st.sampled_from(["name", "f(x", "x)", "one, two", "a > b", "<b>"]),
    ),
    st.sampled_from(
        [
            Ref("run", name="r1"),
            Ref("ticket", name="A-1"),
            Ref("external", name="quoth://doc/a,b(c)"),
        ]
    ),
)
WORDS = st.text(alphabet=string.ascii_letters + " .,:;`()<>\"'-#~=/", min_size=1, max_size=40).map(
    str.strip
)
TEXTS = WORDS.filter(
    lambda t: t and not markdown.ends_in_sources(t) and not anchors.ANCHOR.search(t)
)
HEADINGS = WORDS.filter(lambda heading: heading and not markdown.heading_source(heading))
FENCES = st.builds(
    Fence,
    st.sampled_from(["", "ts", "c++"]),
    st.lists(
        st.sampled_from(["let a", "", "```", "  ````x", "~~~", "## b", "- c"]), max_size=4
    ).map(tuple),
)
FACTS = st.builds(
    Fact, TEXTS, st.lists(REFS.map(str), min_size=1, max_size=4, unique=True).map(tuple)
)
SECTIONS = st.one_of(
    st.builds(Section, HEADINGS, st.lists(FACTS, min_size=1, max_size=5).map(tuple)),
    st.builds(
        lambda heading, items, ref: Section(
            heading,
            tuple(Fact(item, (str(ref),)) if isinstance(item, str) else item for item in items),
            str(ref),
        ),
        HEADINGS,
        st.lists(st.one_of(FACTS, FENCES, TEXTS), min_size=1, max_size=5),
        REFS,
    ),
)
DRAFTS = st.builds(
    Draft,
    st.sampled_from([row.name for row in FILES]),
    st.just("login"),
    st.lists(SECTIONS, max_size=5).map(tuple),
)


def without_lines(draft: Draft) -> list[tuple[str, str, list[tuple[object, ...]]]]:
    def bare(item: Fact | Fence) -> tuple[object, ...]:
        return (item.text, item.sources) if isinstance(item, Fact) else (item.language, item.lines)

    return [
        (section.heading, section.source, [bare(item) for item in section.items])
        for section in draft.sections
    ]


@CALM
@given(REFS)
def test_the_canonical_form_of_a_source_parses_back_to_it(ref: Ref) -> None:
    assert sources.parse(str(ref)) == ref


@CALM
@given(DRAFTS)
def test_a_rendered_draft_parses_back_to_the_same(draft: Draft) -> None:
    text = markdown.render(draft)
    again, problems = markdown.parse(draft.name, "login", text)
    assert problems == []
    assert without_lines(again) == without_lines(draft)
    assert markdown.render(again) == text


# -- headings and anchors that are sources

MAP = """\
# Codebase: login

## src/login/form.py
- `submit` (name) → `post` :48 ← `main` src/app.py:7 (:19-56)
- in `Form` `reset` :60, `clear` :64-70
- no name here

## Values
- `TRIES` src/login/form.py:3, `WAIT` :4
"""


def test_a_heading_that_is_a_path_is_the_source_of_its_section() -> None:
    draft, problems = markdown.parse("codebase.md", "login", MAP)
    assert problems == []
    assert draft.sections[0].source == "src/login/form.py"
    assert draft.sections[0].facts[2].sources == ("src/login/form.py",)
    assert "Source:" not in markdown.render(draft)


def test_a_quoted_name_with_its_line_is_a_source() -> None:
    draft, _ = markdown.parse("codebase.md", "login", MAP)
    first, second, _ = draft.sections[0].facts
    assert first.sources == ("src/login/form.py:19-56", "src/login/form.py:48", "src/app.py:7")
    assert second.sources == ("src/login/form.py:60", "src/login/form.py:64-70")
    assert draft.sections[1].facts[0].sources == ("src/login/form.py:3", "src/login/form.py:4")


def test_anchors_are_written_once_and_read_back() -> None:
    draft, _ = markdown.parse("codebase.md", "login", MAP)
    text = markdown.render(draft)
    assert text.count(":48") == text.count("app.py:7") == 1
    assert "`TRIES` form.py:3" in text, "a path that the file has shown is shortened"
    assert without_lines(markdown.parse("codebase.md", "login", text)[0]) == without_lines(draft)


@pytest.mark.parametrize(
    "text",
    ["`a` default:30", "`ratio` 1:3", "`at` 12:30:00", "see `x`:12", "`a`, :12", "`a` :0", "a :12"],
)
def test_text_that_only_looks_like_an_anchor_is_text(text: str) -> None:
    draft, _ = markdown.parse(
        "codebase.md", "login", f"# Codebase: login\n\n## A\n- {text} (a.py:1)\n"
    )
    assert draft.sections[0].facts[0].sources == ("a.py:1",)


@pytest.mark.parametrize("heading", ["Values", "e.g. this", "<a.py>", "`a.py`", "src/no suffix"])
def test_other_headings_are_not_sources(heading: str) -> None:
    assert markdown.heading_source(heading) == ""


@pytest.mark.parametrize("piece", ["`", "`a", "``a`", "`a` x"])
def test_many_backticks_are_parsed_in_linear_time(piece: str) -> None:
    def seconds(count: int) -> float:
        line = (piece * count).strip()
        text = f"# Codebase: login\n\n## A\n- {line} (src/a.py:12)\n"
        gc.disable()  # a collection looks at whatever the other tests have left
        try:
            begun = time.process_time()
            draft, problems = markdown.parse("codebase.md", "login", text)
            quotes = fact_text.quotes(line)
            spent = time.process_time() - begun
        finally:
            gc.enable()
        assert draft.facts == (Fact(line, ("src/a.py:12",), line=4),)
        assert problems == []
        assert len(quotes) <= count
        return spent

    # Sixteen times the text takes some 16 times as long; if it were quadratic, 256 times.
    small, large = (min(seconds(count) for _ in range(3)) for count in (5_000, 80_000))
    assert large < 80 * small


def test_later_mentions_of_a_path_are_shortened() -> None:
    facts = tuple(Fact(f"fact {n}", (f"a/long/way/down/x.py:{n}",)) for n in (1, 2))
    text = markdown.render(Draft("patterns.md", "login", (Section("A", facts),)))
    assert text.count("a/long/way/down/x.py") == 1
    assert "- fact 2 (x.py:2)" in text


# -- a dossier written by hand


@pytest.mark.parametrize("path", sorted(HANDWRITTEN.glob("*.md")), ids=lambda path: path.name)
def test_the_handwritten_dossier_follows_the_format(path: Path) -> None:
    draft, problems = markdown.parse(path.name, "tmp_path", path.read_text())
    assert problems == []
    assert len(draft.facts) == path.read_text().count("\n- ")
    assert all(fact.sources for fact in draft.facts)
    assert without_lines(
        markdown.parse(path.name, "tmp_path", markdown.render(draft))[0]
    ) == without_lines(draft)


def test_the_handwritten_dossier_has_six_files() -> None:
    assert len(list(HANDWRITTEN.glob("*.md"))) == 6


# -- hostile text

HOSTILE = {
    "nul": "- a\0b (a.py:1)",
    "lone surrogate": "- a \ud800 `\udfff` (<\ud800>:1)",
    "two megabytes on one line": "- " + "x" * 2_000_000 + " (a.py:1)",
    "opening brackets": "- " + "(" * 100_000,
    "closing brackets": "- x " + ")" * 100_000,
    "nested brackets": "- x " + "(" * 50_000 + ")" * 50_000,
    "angle brackets": "- x (" + "<" * 50_000 + ">" * 50_000 + ")",
    "open quotes": "- x (" + 'absent:a~"' * 20_000 + ")",
    "commas": "- x (" + ", " * 100_000 + ")",
    "many sources": "- x (" + ", ".join(f"d{n}/{n}.py:1" for n in range(20_000)) + ")",
    "many sources of one name": "\n".join(f"- x (d{n}/a.py:1)" for n in range(10_000)),
    "backticks of growing length": "- "
    + "".join("a" + "`" * n for n in range(1, 1000))
    + " (a.py:1)",
    "a line of blanks": "```" + " " * 200_000 + "!",
    "a line of backticks": "`" * 200_000 + "!",
    "a source of blanks": "Source:" + " " * 200_000,
    "a path of words": "- x (" + "a " * 100_000 + "b.py)",
    "a path of dots": "- x (" + "." * 100_000 + ":1)",
    "a long ticket": "- x (ticket:" + "a-" * 50_000 + ")",
    "form feeds": "- a\fb (a.py:1)\f\n\f\n\f- c (a.py:1)",
    "carriage returns": "\r\r\r\n- a\r (a.py:1)\r\r\n",
    "fences": "\n".join("```" for _ in range(20_001)),
    "headings": "\n".join("## " for _ in range(20_000)),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_neither_breaks_nor_slows_the_parser(text: str) -> None:
    begun = time.process_time()
    draft, problems = markdown.parse("patterns.md", "login", f"# Patterns: login\n\n## A\n{text}")
    for fact in draft.facts:
        fact_text.quotes(fact.text)
        fact_text.fact_id("patterns.md", fact.text)
    rendered = markdown.render(draft)
    assert time.process_time() - begun < 5
    assert len(rendered) <= 3 * len(text) + 1000
    assert all(str(problem) for problem in problems)


def test_a_basename_that_several_cited_files_share_is_never_written_alone() -> None:
    facts = (
        "src/a/page.py:1",
        "src/a/page.py:2",
        "src/b/page.py:3",
        "src/a/only.py:4",
        "src/a/only.py:5",
    )
    section = Section("A", tuple(Fact(f"says {n}", (cited,)) for n, cited in enumerate(facts)))
    draft = Draft("patterns.md", "login", (section,))
    text = markdown.render(draft)
    assert re.findall(r"\((.+)\)", text) == [*facts[:4], "only.py:5"]
    again, problems = markdown.parse("patterns.md", "login", text)
    assert not problems
    assert [fact.sources for fact in again.facts] == [(cited,) for cited in facts]
