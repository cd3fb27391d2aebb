"""An edited file is read as the draft that was written into it: paths in full where they must be."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _evidence_project import CALM
from preread.dossier import hand_edits, markdown
from preread.models import Draft

FILES = ("<a.py>", "src/a.py", "lib/a.py", "src/b.py", "<c.py>", "src/c.py", "<odd,dir/b.py>")
FORMS = (
    "- it is {name} ({path}:{line})",
    "- `{name}` {path}:{line}",
    "- `{name}` {path}:{line}, `four` :7",
    "- `{name}` {path}:{line} ({path}:{line}-9)",
)
BASED = ("- {name} (:{line})", "- `{name}` :{line}", "- `{name}` :{line} ← `four` {path}:3 (:1-9)")
HEADINGS = ("## Values", "## Errors")
SOURCE = """# Codebase: login

## Values
- `LIMIT` src/config.py:3

## Errors
- `LIMIT = 20` config.py:3
"""


def parsed(text: str) -> Draft:
    return markdown.parse("codebase.md", "login", text)[0]


def said(draft: Draft) -> Counter[tuple[str, frozenset[str]]]:
    return Counter((fact.text, frozenset(fact.sources)) for fact in draft.facts)


def test_a_path_in_a_text_is_written_in_full_when_the_line_that_did_so_is_gone() -> None:
    [_, errors] = parsed(SOURCE).sections
    left = replace(parsed(SOURCE), sections=(errors,))
    text = hand_edits.render_into(SOURCE, left)
    assert text == "# Codebase: login\n\n## Errors\n- `LIMIT = 20` src/config.py:3\n"


def test_a_path_that_is_written_out_does_not_make_a_later_basename_ambiguous() -> None:
    old = SOURCE.replace("## Values\n- `LIMIT` src/config.py:3\n", "<!-- Ann -->\n")
    more = "## More\n- it is one (config.py:4)\n\n## Last\n- it is two (lib/config.py:5)\n"
    draft = parsed(f"{SOURCE}\n{more}")
    left = replace(draft, sections=draft.sections[1:])
    assert said(parsed(hand_edits.render_into(f"{old}\n{more}", left))) == said(left)


@pytest.mark.parametrize("heading", ["## src/b.py", "## Ours"])
def test_lines_without_a_path_stay_lines_of_their_sections_file(heading: str) -> None:
    draft = parsed("# Codebase: login\n\n## src/a.py\n- `one` :3\n\n## src/b.py\n- `two` :4\n")
    old = f"# Codebase: login\n\n{heading}\n- `two` :4\n- `one` :3\n"
    text = hand_edits.render_into(old, draft)
    assert said(parsed(text)) == said(draft)
    assert hand_edits.render_into(text, draft) == text


@st.composite
def drafts(draw: st.DrawFn) -> Draft:
    lines = ["# Codebase: login"]
    for _ in range(draw(st.integers(1, 4))):
        path = draw(st.sampled_from(FILES))
        heading = draw(st.sampled_from((*HEADINGS, f"## {path.strip('<>')}")))
        source = draw(st.sampled_from(("", f"Source: {path}:5"))) if heading in HEADINGS else ""
        has_source = bool(source) or (heading not in HEADINGS and "," not in heading)
        lines += ["", heading, *filter(None, [source])]
        for _ in range(draw(st.integers(1, 4))):
            form = draw(st.sampled_from(FORMS + BASED if has_source else FORMS))
            name, line = draw(st.sampled_from(("one", "two"))), draw(st.integers(1, 4))
            lines += [form.format(name=name, line=line, path=draw(st.sampled_from(FILES)))]
    return without_twins(parsed("\n".join(lines)))


def without_twins(draft: Draft) -> Draft:
    """The draft with each fact once, as after a check."""
    seen = set()
    sections = []
    for section in draft.sections:
        facts = []
        for fact in section.facts:
            key = (fact.text, frozenset(fact.sources))
            if key not in seen and fact.sources and not markdown.ends_in_sources(fact.text):
                facts.append(fact)
            seen.add(key)
        sections += [replace(section, items=tuple(facts))] if facts else []
    return replace(draft, sections=tuple(sections))


def edited(text: str, edits: list[tuple[str, int, int]]) -> str:
    lines = text.split("\n")
    for kind, at, other in edits:
        i, j = 1 + at % (len(lines) - 1), 1 + other % (len(lines) - 1)
        if kind == "swap":
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == "delete" and len(lines) > 2:
            del lines[i]
        elif kind != "delete":
            lines.insert(i, kind)
    return "\n".join(lines)


EDITS = ("swap", "delete", "delete", "<!-- Ann -->", "## src/b.py", "## Ours")


@given(
    old=drafts(),
    new=drafts(),
    kept=st.integers(0, 4),
    edits=st.lists(
        st.tuples(st.sampled_from(EDITS), st.integers(0, 30), st.integers(0, 30)), max_size=4
    ),
)
@settings(CALM, max_examples=300)
def test_a_file_is_read_as_the_draft_that_was_written_into_it(
    old: Draft, new: Draft, kept: int, edits: list[tuple[str, int, int]]
) -> None:
    text = edited(markdown.render(old), edits)
    parts = (*parsed(text).sections[:kept], *new.sections)
    draft = without_twins(replace(old, sections=parts))
    assert said(parsed(hand_edits.render_into(text, draft))) == said(draft)
