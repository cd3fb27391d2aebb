"""Any text at all gives a result, without a traceback and in bounded time."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _whole import sized
from preread.languages import LANGUAGES
from preread.syntax import Details, Outline, details, grammars, outline

PATHS = [f"tests/test_x{language.suffixes[0]}" for language in LANGUAGES] + [
    "cart_test.go",
    "x.test.tsx",
]
PATHS += [
    "CartSpec.kt",
    "CartTests.swift",
    "CartTests.cs",
    "cart_spec.rb",
    "CartTest.php",
    "test_cart.c",
    "cart_test.cc",
]
TEXTS = {
    "nothing": "",
    "a NUL": "def f\0(): pass\0",
    "lone surrogates": 'def f(\ud800): return "\udfff"\n# \ud800\nclass A\udc00 {}\n',
    "open brackets on one line": "(" * 19_000 + "\n",
    "open brackets on many lines": "(\n" * 25_000,
    "open braces": "function a(b) {\n" * 5_000,
    "nested classes": "class A {\n" * 4_000 + "}\n" * 4_000,
    "an unterminated string": '"\n' * 12_000,
    "an unterminated comment": "/*\n" * 12_000,
    "unterminated templates": "`${\n" * 12_000,
    "a chain of calls": "a()\n.b" * 12_000,
    "nested calls": 'f("a",\n' * 4_000,
    "nested tags": "<a>\n" * 12_000,
    "nested tests": 'describe("a", () => {\n' * 4_000,
    "nonsense": "a b ) ] } ( \n" * 4_000,
    # Numbered, so that these do not count as repetitive and reach the parsers and the walks.
    "deeply nested functions": "".join(
        f"function a{n * 7919}(b{n * 31}) {{\n" for n in range(3_000)
    ),
    "deeply nested calls": "".join(f'f{n * 7919}("a{n * 31}",\n' for n in range(5_000)),
    "a long chain of calls": "a" + "".join(f".b{n * 7919}(c{n * 31})\n" for n in range(2_500)),
    "deeply nested tests": "".join(f'describe("{n * 7919}", () => {{\n' for n in range(3_000)),
    "deeply nested tags": "".join(f"<a{n * 7919}>\n" for n in range(5_000)),
    "random tokens": " ".join(
        random.Random(7).choices('def ( ) { } : " // < > , = test 1 + \n'.split(" "), k=20_000)
    ),
    "deep indentation": "\n".join(" " * depth + "def f(a):" for depth in range(800)),
    "form feeds and returns": "\f\ndef f(): pass\f\r\r\n" * 1_000,
    "blanks before a comment's end": "//" + " " * 19_000 + "x\n",
}
KINDS = ("x.py", "x_test.go", "x.test.tsx", "x.rs", "x.rb", "x.java", "x.cpp", "x.md")
SECONDS = 8  # processor time; each case takes at most about 1


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("path", sized(KINDS[::3], KINDS))
def test_a_hostile_text_is_read_in_bounded_time(path: str, text: str) -> None:
    started = time.process_time()
    assert isinstance(outline(path, text), Outline)
    assert isinstance(details(path, text), Details)
    assert time.process_time() - started < SECONDS


def test_a_parser_that_works_too_long_is_cut_and_the_plain_rules_serve(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "class Cart:\n" + "".join(
        f"    def f{n * 7919}(self): return {n * 31}\n" for n in range(2_000)
    )
    parsed = outline("a.py", text)
    assert parsed.symbols[1].signature == "def f0(self)"
    monkeypatch.setattr(grammars, "_PARSE_SECONDS", 0.0)
    cut = outline("b.py", text)
    assert cut.symbols[1].signature == "def f0(self): return 0"
    assert [symbol.name for symbol in cut.symbols] == [symbol.name for symbol in parsed.symbols]


@pytest.mark.parametrize("text", ["def f(): pass\n" * 30_000, "def f(): pass\n#" + "x" * 20_001])
def test_a_text_beyond_the_bounds_is_not_read(text: str) -> None:
    assert outline("a.py", text) == Outline()
    assert details("a.py", text) == Details()


def test_a_text_just_within_the_bounds_is_read() -> None:
    text = "def f(): pass\n#" + "x" * 19_999
    assert [symbol.name for symbol in outline("a.py", text).symbols] == ["f"]


def test_a_file_of_no_known_language_is_not_read() -> None:
    assert outline("a.unknown", "def f(): pass") == Outline()


def test_an_error_in_the_syntax_leaves_the_rest_readable() -> None:
    found = outline("a.py", "def f(:\n    pass\n\nx = = 1\n\ndef g():\n    return 1\n")
    assert "g" in {symbol.name for symbol in found.symbols}
    script = outline("a.ts", "const x = = 1;\n\nexport const g = () => 1;\n")
    assert "g" in {symbol.name for symbol in script.symbols}


@pytest.mark.parametrize(
    ("path", "first", "second"),
    [
        (
            "A.java",
            "class A {\n  void f() {\n    if (x) {\n  }\n}",
            "class B {\n  void g() {\n  }\n}",
        ),
        (
            "a.cpp",
            "struct A {\n  void f() {\n    if (x) {\n  }\n};",
            "struct B {\n  void g() {}\n};",
        ),
    ],
)
def test_a_type_ends_before_the_next_one_where_a_bracket_is_missing(
    path: str, first: str, second: str
) -> None:
    found = {symbol.name: symbol for symbol in outline(path, f"{first}\n\n{second}\n").symbols}
    assert {name: symbol.container for name, symbol in found.items()} == {
        "A": "", "f": "A", "B": "", "g": "B",
    }  # fmt: skip
    assert (found["A"].start, found["A"].end, found["B"].start) == (1, 5, 7)


def test_a_type_inside_another_one_ends_there_too() -> None:
    inner = "  class A {\n    void f() {\n      if (x) {\n    }\n  }\n\n  class B {\n    void g() {}\n  }\n"
    found = outline("O.java", f"class O {{\n{inner}}}\n").symbols
    assert {symbol.name: symbol.container for symbol in found} == {
        "O": "", "A": "O", "f": "O.A", "B": "O", "g": "O.B",
    }  # fmt: skip


FRAGMENTS = st.sampled_from(
    "def class f ( ) { } [ ] : \n \n \" ' ` ${ // /* */ # => < > /> @ . , = test it describe expect \0 \r \f \ud800 é"
    " enum type func fn return async const assert raise throw | ! ; - <?php fun end do module #if "
    "#else #endif struct"
    " typedef int void @Test [Fact] TEST( START_TEST END_TEST namespace template < operator val".split(
        " "
    )
)


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(PATHS), st.lists(FRAGMENTS, max_size=60).map(" ".join) | st.text(max_size=200)
)
def test_lines_stand_inside_of_the_text_and_starts_before_ends(path: str, text: str) -> None:
    last = text.count("\n") + 1
    found = outline(path, text)
    inside = details(path, text)
    spans = [(entry.start, entry.end) for entry in (*found.symbols, *found.tests, *inside.comments)]
    spans += [(entry.line, entry.end) for entry in inside.calls]
    single = (*found.imports, *inside.members, *inside.raises, *inside.attributes)
    spans += [(entry.line, entry.line) for entry in single]
    assert all(1 <= start <= end <= last for start, end in spans), (spans, last)
    assert all(
        "\n" not in symbol.signature and len(symbol.signature) <= 160 for symbol in found.symbols
    )
    assert all("\n" not in call.text and len(call.text) <= 120 for call in inside.calls)
