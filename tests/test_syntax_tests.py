"""Tests are found however their runner has them written, with what skips them."""

import pytest

from preread.syntax import outline

Found = list[tuple[str, str, tuple[str, ...]]]


def found_in(path: str, text: str) -> Found:
    return [(test.name, test.group, test.markers) for test in outline(path, text).tests]


CASES: dict[str, tuple[str, str, Found]] = {
    "a Rust macro that declares a test": (
        "tests/cli.rs",
        'rgtest!(finds_it, |dir: Dir, mut cmd: TestCommand| {\n    cmd.arg("x");\n});\n',
        [("finds_it", "", ())],
    ),
    "an ignored test of Rust": (
        "src/cart.rs",
        'mod tests {\n    #[tokio::test(flavor = "x")]\n    #[ignore = "slow"]\n    async fn adds() {}\n}\n',
        [("adds", "tests", ('#[tokio::test(flavor = "x")]', '#[ignore = "slow"]'))],
    ),
    "a test of Rust with a comment behind its last attribute": (
        "src/cart.rs",
        "mod tests {\n    #[test]\n    #[cfg_attr(miri, ignore)] // too slow\n    fn adds() {}\n}\n",
        [("adds", "tests", ("#[cfg_attr(miri, ignore)]",))],
    ),
    "rows of a table of tests in Go": (
        "cart_test.go",
        (
            "package cart\n\nfunc TestAdd(t *testing.T) {\n\tfor _, tc := range []struct{ name string }{\n"
            '\t\t{name: "one"},\n\t\t{name: "two"},\n\t} {\n'
            "\t\tt.Run(tc.name, func(t *testing.T) {})\n\t}\n}\n"
        ),
        [
            ("TestAdd", "", ()),
            ("one", "TestAdd", ()),
            ("two", "TestAdd", ()),
            ("tc.name", "TestAdd", ()),
        ],
    ),
    "Mocha's pending test and a group that is skipped": (
        "test/cart.spec.js",
        "describe.skip('cart', () => {\n  xit('adds', () => {});\n  it.only('counts', function () {});\n});\n",
        [
            ("adds", "cart", ("xit", "describe.skip")),
            ("counts", "cart", (".only", "describe.skip")),
        ],
    ),
    "a class of pytest that is skipped": (
        "tests/test_cart.py",
        '@pytest.mark.skip(reason="later")\nclass TestCart:\n    def test_adds(self, cart):\n        ...\n',
        [("test_adds", "TestCart", ('@pytest.mark.skip(reason="later")',))],
    ),
    "a comment among the rows of a parametrised test": (
        "tests/test_cart.py",
        (
            "@pytest.mark.parametrize(\n    'n',\n    [\n        # the first\n        1,\n    "
            "],\n)\n"
            "def test_adds(n, cart):\n    ...\n"
        ),
        [("test_adds", "", ("@pytest.mark.parametrize( 'n', [ # the first 1, ], )",))],
    ),
    "JUnit before it had annotations": (
        "src/test/java/CartTest.java",
        "class CartTest extends TestCase {\n  public void testAdds() {}\n  void helper() {}\n}\n",
        [("testAdds", "CartTest", ())],
    ),
    "Kotest's words between a string and a block": (
        "src/test/kotlin/CartTest.kt",
        'class CartTest : WordSpec({\n    "a cart" should {\n        "add" { 1 }\n    }\n})\n',
        [("add", "CartTest > a cart", ())],
    ),
    "RSpec's attribute of the subject": (
        "spec/cart_spec.rb",
        "describe Cart do\n  its(:size) { should eq 1 }\nend\n",
        [("its(:size) { should eq 1 }", "Cart", (":size",))],
    ),
    "AVA's serial tests, and a runner chosen by a condition": (
        "test/cart.js",
        "test.serial('adds', () => {});\nconst onUnix = yes ? test : test.skip;\nonUnix('links', () => {});\n",
        [("adds", "", ()), ("links", "", ())],
    ),
    "Catch2 with a fixture": (
        "test/cart_test.cc",
        'TEST_CASE_METHOD(Fixture, "adds") {\n  SECTION("one") {\n    f();\n  }\n}\n',
        [("adds", "", ()), ("one", "adds", ())],
    ),
    "a helper of C that takes a value": (
        "test/test_cart.c",
        "static void test_adds(void **state) {}\nstatic void test_of(int days, char *to) {}\n",
        [("test_adds", "", ())],
    ),
    "Pest's reason to skip": (
        "tests/CartTest.php",
        "<?php\nit('adds', function () {})->skip('later');\n",
        [("adds", "", ("->skip('later')",))],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_test_is_found_with_its_group_and_marks(case: str) -> None:
    path, text, expected = CASES[case]
    assert found_in(path, text) == expected


def test_what_a_decorator_gives_is_no_fixture() -> None:
    text = "@pytest.mark.parametrize('n', [1])\n@mock.patch('a.b')\ndef test_adds(b, n, cart):\n    ...\n"
    assert outline("tests/test_cart.py", text).tests[0].params == ("cart",)


def test_a_function_within_a_test_is_no_test() -> None:
    text = "def test_adds():\n    def test_inner():\n        ...\n"
    assert [name for name, _, _ in found_in("tests/test_cart.py", text)] == ["test_adds"]
    assert [symbol.name for symbol in outline("tests/test_cart.py", text).symbols] == []


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        (
            "cart.scala",
            "/** A cart. */\nclass Cart {\n  def add(n: Int): Int = n\n}\n",
            [("Cart", "class", "", "A cart."), ("add", "method", "Cart", "")],
        ),
        (
            "cart.lua",
            "-- Adds.\nlocal function add(a)\n  return math.max(a)\nend\n",
            [("add", "function", "", "Adds.")],
        ),
        (
            "cart.ex",
            "defmodule Shop.Cart do\n  # Adds up.\n  def add(cart), do: cart\nend\n",
            [("Shop.Cart", "class", "", ""), ("add", "method", "Shop.Cart", "Adds up.")],
        ),
        (
            "cart.ml",
            "(* Adds. *)\nlet add x y = max x y\ntype cart = { name : string }\n",
            [("add", "function", "", "Adds."), ("cart", "type", "", "")],
        ),
    ],
)
def test_a_language_without_a_query_of_ours_is_read_by_the_tags_of_its_grammar(
    path: str, text: str, expected: list[tuple[str, str, str, str]]
) -> None:
    symbols = outline(path, text).symbols
    assert [(s.name, s.kind, s.container, s.doc) for s in symbols] == expected
