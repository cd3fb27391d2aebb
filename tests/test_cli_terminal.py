"""Output that fits the terminal: bars in eighths, shortened paths, ranges left out at the end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM
from preread.cli.terminal import Bar, FileLines, cells, shortened

PATH = "web/src/pages/CheckoutPage.tsx"
PLACE = FileLines(PATH, [(12, 40), (88, 88), (100, 120)])


@pytest.mark.parametrize(
    ("score", "blocks", "signs"),
    [(1.0, "██████████", "##########"), (0.5, "█████     ", "#####....."), (0.94, "█████████▍",
    "#########."),
     (0.01, "▏         ", ".........."), (0.0, "          ", ".........."), (7.0, "██████████",
     "##########")],
)  # fmt: skip
def test_a_bar_is_as_long_as_its_score(score: float, blocks: str, signs: str) -> None:
    assert Bar(score).bar(plain=False) == blocks
    assert Bar(score).bar(plain=True) == signs


@pytest.mark.parametrize(
    ("room", "shown"),
    [(30, PATH), (29, "web/…/pages/CheckoutPage.tsx"), (24, "web/…/CheckoutPage.tsx"), (20,
    "…/CheckoutPage.tsx"),
     (12, "Check…ge.tsx"), (2, "…x")],
)  # fmt: skip
def test_a_path_is_cut_in_its_middle(room: int, shown: str) -> None:
    assert shortened(PATH, room) == shown


@pytest.mark.parametrize(
    ("width", "shown"),
    [(50, f"{PATH}:12-40, 88, 100-120"), (47, "web/…/pages/CheckoutPage.tsx:12-40, 88, 100-120"),
     (45, "web/…/CheckoutPage.tsx:12-40, 88, 100-120"), (34, "…/CheckoutPage.tsx:12-40, 88, …"),
     (30, "…/CheckoutPage.tsx:12-40, …"), (20, "…/CheckoutPage.tsx")],
)  # fmt: skip
def test_a_place_keeps_its_file_s_name_and_as_many_ranges_as_fit(width: int, shown: str) -> None:
    assert PLACE.fitted(width) == shown


def test_a_place_is_whole_as_text() -> None:
    assert str(PLACE) == f"{PATH}:12-40,88,100-120"


names = st.text(st.characters(codec="utf-8", exclude_characters="/\n"), min_size=1, max_size=12)
spans = st.lists(st.tuples(st.integers(1, 9999), st.integers(1, 9999)), max_size=5)


@CALM
@given(st.lists(names, min_size=1, max_size=6), spans, st.integers(12, 60))
def test_no_place_is_wider_than_its_column(
    path: list[str], lines: list[tuple[int, int]], width: int
) -> None:
    for dots in ("…", "..."):
        assert cells(FileLines("/".join(path), lines).fitted(width, dots)) <= width
