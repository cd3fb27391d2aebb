"""Names by patterns: nearly those of the outline, in a time that grows with the text."""

import time

import pytest

from conftest import ROOT
from preread import syntax
from preread.languages import language_of

FOLDER = ROOT / "tests/data/syntax"
SAMPLES = {path.name: path for path in sorted(FOLDER.iterdir()) if language_of(path.name)} | {
    f"cart.{suffix}": FOLDER / f"cart_{name}.txt"
    for suffix, name in (
        ("cpp", "cpp"),
        ("go", "go"),
        ("rs", "rust"),
        ("kts", "kotlin"),
        ("h", "c"),
    )
}
HOSTILE = [
    "a " * 9000 + "b(\n",
    "a<b> " * 3500 + "(\n",
    "a b(" * 4500 + "\n",
    "x y()\n throws " * 1500,
    "int f(a,\n" * 5000,
    "@a(" * 6000 + "\n",
    "f(" + "a)" * 9000 + "\n",
    "const a" + " = (b" * 3500 + "\n",
    'it("' + "\\" * 18000 + "\n",
    "class a " * 2200 + "\n",
    "\n" * 18000,
]


@pytest.mark.parametrize("name", SAMPLES)
def test_nearly_every_name_of_an_outline_is_found_by_its_pattern(name: str) -> None:
    text = SAMPLES[name].read_text()
    outline = syntax.outline(name, text)
    wanted = {symbol.name for symbol in outline.symbols} | {test.name for test in outline.tests}
    found = syntax.names(name, text)
    missed = sorted(wanted.difference(found.defined, found.headings))
    assert len(missed) <= max(1, 0.25 * len(wanted)), missed


@pytest.mark.parametrize(
    "suffix", ["py", "tsx", "go", "java", "kt", "rs", "cc", "cs", "rb", "php", "swift"]
)
def test_no_text_takes_long(suffix: str) -> None:
    for text in HOSTILE:
        begun = time.thread_time()
        syntax.names(f"a.{suffix}", text)
        assert time.thread_time() - begun < 1, (suffix, text[:20])


def test_headings_are_no_definitions() -> None:
    assert syntax.names("a.md", "# Orders\n\ntext\n") == ([], ["Orders"])
    assert syntax.names("a.unknown", "def x(): ...\n") == ([], [])


def test_a_definition_may_stand_in_the_first_line() -> None:
    assert syntax.names("a.ts", "export const first = 1;\nexport const next = 2;\n").defined == [
        "first",
        "next",
    ]


@pytest.mark.parametrize(
    ("path", "text", "defined"),
    [
        ("A.java", "class A {\n  static <T> Box<T> of(Map<K, V> m) {\n", ["A", "of"]),
        ("A.java", "public @interface Slow {\n", ["Slow"]),
        (
            "a.rs",
            "pub static NAMES: &[&str] = &[];\nstatic mut COUNT: u8 = 0;\n",
            ["NAMES", "COUNT"],
        ),
        (
            "a.cs",
            "  public required List<int> Sizes { get; init; }\n  int Sum => 1;\n",
            ["Sizes", "Sum"],
        ),
        ("a.cs", "  public int Old\n  {\n    get { return 1; }\n", ["Old"]),
        ("a.kt", "private val Cart.isFull: Boolean\n  get() = true\n", ["isFull"]),
    ],
)
def test_generic_methods_statics_and_properties_are_found(
    path: str, text: str, defined: list[str]
) -> None:
    assert syntax.names(path, text).defined == defined
