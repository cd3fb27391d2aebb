"""Which brackets of a fact hold its sources, and what is said of those that do not."""

import pytest

from preread.dossier import markdown


def complaint(bullet: str) -> str:
    """What parsing says about a bullet without sources."""
    text = f"# Patterns: login\n\n## A\n- {bullet}\n"
    [problem] = markdown.parse("patterns.md", "login", text)[1]
    assert problem.code == "E_FACT_SOURCE"
    return problem.message.partition("like (src/a.py:12)")[2]


@pytest.mark.parametrize(
    ("bullet", "said"),
    [
        ("waits by `x`", ""),
        ("waits (or not) by `x` (see the code)", ""),
        (
            "waits (src/a.py:12) by `x`",
            "; `(src/a.py:12)` is not read as a source in mid-sentence: move it to the end",
        ),
        (
            "waits (a.py:2, b.py:3-4) by `x` (always)",
            "; `(a.py:2, b.py:3-4)` is not read as a source in mid-sentence: move it to the end",
        ),
        (
            "waits by `x` (src/a.py:12, as usual)",
            "; its last brackets are text, because `as usual` is not one source",
        ),
        (
            "waits by `x` (src/a.py:12, :100)",
            "; `:100` names no file here: repeat the name, as in `a.py:100`",
        ),
        (
            "waits by `x` (src/a.py:12; src/b.py:3)",
            "; its last brackets are text, because `src/a.py:12; src/b.py:3` is not one source",
        ),
    ],
)
def test_a_fact_without_sources_is_reported_with_the_brackets_that_were_not_read(
    bullet: str, said: str
) -> None:
    assert complaint(bullet) == said


def test_brackets_inside_a_path_or_an_absence_do_not_delimit_sources() -> None:
    assert complaint('waits (absent:t/**~"f(x)") by `x`').startswith('; `(absent:t/**~"f(x)")`')
    assert complaint("waits (<a(b.py>:3) by `x`").startswith("; `(<a(b.py>:3)` is not read")
