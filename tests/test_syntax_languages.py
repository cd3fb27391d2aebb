"""What the query of each language gives for one file with all of it."""

import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from preread.languages import LANGUAGES, language_of
from preread.roles import role_of
from preread.syntax import (
    Details,
    Outline,
    details,
    edition,
    editions,
    grammars,
    outline,
    queries,
    reader,
)
from preread.syntax import __file__ as package

DATA = Path(__file__).parent / "data" / "syntax"


class Sample(NamedTuple):
    """A file and the path it is read under."""

    file: str
    path: str
    symbols: str  # "kind container/name", one a line
    tests: dict[str, tuple[str, tuple[str, ...]]]  # name -> group, markers
    imports: list[tuple[str, tuple[str, ...]]]
    calls: set[str]  # among others
    hooks: set[tuple[str, str]]  # hook and what is called in it
    members: set[str]  # "kind owner/name", besides those of constants
    raises: list[tuple[str, str]]


SAMPLES = {
    "Kotlin": Sample(
        "cart_kotlin.txt",
        "src/test/kotlin/CartTest.kt",
        """class Cart; class Cart/Companion; constant Cart.Companion/LIMIT; method Cart.Companion/of; method Cart/size
        method Cart/add;        enum State; method State/next; interface Priced; method Priced/price; type Id; class Registry; function label
        class CartTest; method CartTest/setUp; class CartTest/Deep; class CartSpec""",
        {
            "adds one": ("CartTest", ()),
            "counts": ("CartTest", ("@ValueSource(ints = [1])",)),
            "deep": ("CartTest.Deep", ('@Disabled("slow")',)),
            "adds": ("CartSpec", ()),
            "is free": ("CartSpec > when empty", ("xtest",)),
        },
        [("kotlin.test", ("Test",)), ("shop.store", ("*",)), ("shop.money", ("Price",))],
        {
            "store?.open(…)!!.put",
            "listOf(…).map(…).isEmpty",
            "IllegalStateException",
            "assertThat(…).isEqualTo",
        },
        {("BeforeEach", "cart.fill"), ("beforeTest", "cart.fill")},
        {
            "field Cart/name",
            "field Cart/open",
            "field Cart/size",
            "field State/code",
            "field Registry/all",
        }
        | {"enum State/OPEN", "enum State/CLOSED"},
        [("count must be positive", "require"), ("cart is closed for", "IllegalStateException")],
    ),
    "Swift": Sample(
        "cart_swift.txt",
        "Tests/CartTests.swift",
        """class Cart; constant Cart/limit; method Cart/init; method Cart/add; enum State; method State/next
        interface Priced; method Priced/price; class Cart; method Cart/label; type Id; constant maxItems
        class CartTests; method CartTests/setUp; method CartTests/helper; class CartSuite; class CartSpec
        method CartSpec/spec""",
        {
            "testAdds": ("CartTests", ("XCTSkipIf(isSlow)",)),
            "adds": ("CartSuite", ('@Test("adds one", .disabled("slow"))',)),
            "adds one": ("CartSpec > a cart", ()),
        },
        [("Foundation", ()), ("Shop", ()), ("Store", ("Item",))],
        {"store.open(…).put", "items.map", "CartError.invalid"},
        {("setUp", "cart.fill"), ("beforeEach", "cart.fill")},
        {"field Cart/items", "enum State/open", "enum State/closed", "enum State/other"},
        [("count must be positive", "CartError.invalid"), ("cart is closed for", "fatalError")],
    ),
    "C#": Sample(
        "cart_csharp.txt",
        "test/CartTests.cs",
        """class Cart; constant Cart/Limit; constant Cart/Title; method Cart/Cart; method Cart/AddAsync; class Point
        interface IPriced;        method IPriced/Price; enum State; type Changed; class Labels; method Labels/Label; class CartTests
        method CartTests/Init""",
        {
            "Adds": ("CartTests", ('[Fact(Skip = "slow")]',)),
            "Counts": ("CartTests", ("[InlineData(1)]",)),
            "Named": ("CartTests", ('[Test, Category("x")]',)),
            "Methods": ("CartTests", ()),
        },
        [("System", ()), ("System.Math", ()), ("Shop.Price", ())],
        {"_store.Open(…).PutAsync", "items?.Any", "new ArgumentException"},
        {("SetUp", "cart.Fill")},
        {"field Cart/_store", "field Cart/Title", "enum State/Open", "enum State/Closed"},
        [("must be positive", "ArgumentException")],
    ),
    "Ruby": Sample(
        "cart_ruby.txt",
        "spec/cart_spec.rb",
        """class Shop; class Shop/Cart; constant Shop.Cart/LIMIT; class Shop.Cart/Point; method Shop.Cart/add
        method Shop.Cart/of; method Shop.Cart/build; method Shop.Cart/hidden; method Shop.Cart/dynamic
        method Shop.Cart/empty?; class CartTest; method CartTest/setup""",
        {
            "test_adds": ("CartTest", ('skip "slow"',)),
            "adds one": ("Cart > #add > when empty", (":slow",)),
            "is free": ("Cart > #add > when empty", ("xit",)),
            "it { is_expected.to be_valid }": ("Cart > #add", ()),
        },
        [("json", ()), ("./store/item", ())],
        {"store.open(…).put", "@cart.size", "CartError.new"},
        {("setup", "Cart.new"), ("fixture:cart", "build"), ("before", "cart.fill")},
        {"field Cart/name", "field Cart/owner"},
        [("must be positive", "ArgumentError"), ("closed for now", "CartError")],
    ),
    "PHP": Sample(
        "cart_php.txt",
        "tests/CartTest.php",
        """class Cart; constant Cart/LIMIT; method Cart/__construct; method Cart/add; interface Priced
        method Priced/price; class Logged; method Logged/log; enum State; function label; constant MAX
        class CartTest; method CartTest/setUp; method CartTest/helper""",
        {
            "testAdds": ("CartTest", ("$this->markTestSkipped('slow')",)),
            "it_counts": ("CartTest", ()),
            "rows": ("CartTest", ("#[DataProvider('rows')]",)),
            "adds one": ("", ("->skip()",)),
            "is free": ("a cart", ()),
        },
        [
            ("Shop\\Store", ("Item",)),
            ("Shop", ("Price", "Tax")),
            ("Shop", ("helper",)),
            ("/legacy.php", ()),
        ],
        {"$this->items->push", "Store::open(…)->put", "$this?->store(…)->ok", "new Item"},
        {("setUp", "$this->cart->fill"), ("beforeEach", "fill")},
        {"field Cart/items", "field Cart/store", "enum State/Open", "enum State/Closed"},
        [("must be positive", "InvalidArgumentException")],
    ),
    "C": Sample(
        "cart_c.txt",
        "tests/test_cart.c",
        """constant LIMIT; function SQUARE; type item_t; class item; class cart_t; type callback; enum state
        constant MAX; function cart_add; function cart_name; function cart_dump; function helper""",
        {"test_add": ("", ()), "test_name": ("", ())},
        [("stdio.h", ()), ("store.h", ())],
        {"c->ops->put", "log_error"},
        set(),
        {
            "field item/id",
            "field item/name",
            "field cart_t/count",
            "enum state/OPEN",
            "enum state/CLOSED",
        },
        [("no cart named", "log_error")],
    ),
    "C++": Sample(
        "cart_cpp.txt",
        "test/cart_test.cc",
        """constant kLimit; class Cart; method Cart/Cart; method Cart/~Cart; method Cart/add; method Cart/size
        method Cart/old_one; method Cart/add; enum State; type Id; class CartFixture; method CartFixture/SetUp""",
        {
            "AddsOne": ("CartFixture", ("GTEST_SKIP()",)),
            "a cart": ("", ()),
            "is free": ("a cart", ()),
            "counts": ("", ()),
        },
        [("vector", ()), ("gtest/gtest.h", ())],
        {"store_->open(…).put", "std::make_unique", "new Item", "std::invalid_argument"},
        {("SetUp", "cart.fill")},
        {"field Cart/items_", "enum State/kOpen", "enum State/kClosed"},
        [("count must be positive", "std::invalid_argument")],
    ),
}


@pytest.fixture(params=SAMPLES, scope="module")
def sample(request: pytest.FixtureRequest) -> Sample:
    return SAMPLES[request.param]


@pytest.fixture(scope="module")
def found(sample: Sample) -> Outline:
    return outline(sample.path, read(sample))


@pytest.fixture(scope="module")
def inside(sample: Sample) -> Details:
    return details(sample.path, read(sample))


def forget() -> None:
    """What was read of a grammar is read anew."""
    for known in (grammars.grammar_of, queries._text, queries.definitions_of, queries.contents_of):
        known.cache_clear()
    reader._last.__dict__.clear()


def read(sample: Sample) -> str:
    return (DATA / sample.file).read_text(encoding="utf-8")


def entries(text: str) -> list[str]:
    return [entry.strip() for line in text.split("\n") for entry in line.split(";")]


def test_definitions_have_their_kind_and_container(sample: Sample, found: Outline) -> None:
    shown = [f"{s.kind} {s.container}/{s.name}".replace(" /", " ") for s in found.symbols]
    assert shown == entries(sample.symbols)


def test_a_definition_carries_its_document_signature_and_lines(
    sample: Sample, found: Outline
) -> None:
    lines = read(sample).split("\n")
    for symbol in found.symbols:
        at_start = " ".join(lines[symbol.start - 1 : symbol.start + 1])
        assert symbol.name in (*at_start.split(), "Companion") or symbol.name in at_start
        assert not symbol.signature.endswith(("{", "=", ";")), symbol
    documented = [symbol.doc for symbol in found.symbols if symbol.doc]
    assert documented[:1] == [
        "Adds an item." if sample.file == "cart_c.txt" else "A cart of items."
    ]


def test_tests_have_their_group_and_marks(sample: Sample, found: Outline) -> None:
    # Ruby's sample has two of one name; the later one stands.
    assert {test.name: (test.group, test.markers) for test in found.tests} == sample.tests


def test_imports_name_modules_and_what_is_taken_from_them(sample: Sample, found: Outline) -> None:
    assert [(entry.module, entry.names) for entry in found.imports] == sample.imports


def test_calls_are_chains_as_written_and_know_their_hook(sample: Sample, inside: Details) -> None:
    assert sample.calls <= {call.callee for call in inside.calls}
    assert {(call.hook, call.callee) for call in inside.calls if call.hook} == sample.hooks


def test_families_of_names_are_members(sample: Sample, found: Outline, inside: Details) -> None:
    shown = {
        f"{member.kind} {member.owner}/{member.name}"
        for member in inside.members
        if member.kind != "constant"
    }
    assert shown == sample.members
    fields = {member.name for member in inside.members if member.kind == "field"}
    constants = {symbol.name for symbol in found.symbols if symbol.kind == "constant"} - fields
    assert {member.name for member in inside.members if member.kind == "constant"} == constants
    assert {
        member.value for member in inside.members if member.name.lower() in ("limit", "klimit")
    } == {"10"}


def test_errors_carry_their_message(sample: Sample, inside: Details) -> None:
    assert [(entry.message, entry.exception) for entry in inside.raises] == sample.raises


def test_literals_and_names_of_arguments_are_read(sample: Sample, inside: Details) -> None:
    opened = next(
        (call for call in inside.calls if call.callee.lower().endswith(("open", "ops->put"))), None
    )
    assert opened is not None
    assert opened.literals == ("x",)
    named = {keyword for call in inside.calls for keyword in call.keywords}
    if sample.file not in ("cart_c.txt", "cart_cpp.txt"):
        assert named & {"key", "name", "path"}


def test_macros_before_a_type_are_part_of_no_name() -> None:
    text = (
        "SHOP_INLINE std::string Cart::name() const {\n  return {};\n}\n"
        "SHOP_NODISCARD SHOP_INLINE std::vector<Item>\nall_items(const std::string &of) {\n}\n"
        "class SHOP_API Till : public Base {\n  SHOP_NODISCARD bool is_open(int day) const;\n};\n"
        "SHOP_RESULT plain(int a) {\n  return 1;\n}\n"
    )
    found = outline("cart.cpp", text).symbols
    assert [(s.name, s.container, s.kind, s.start) for s in found] == [
        ("name", "Cart", "method", 1),
        ("all_items", "", "function", 4),
        ("Till", "", "class", 7),
        ("is_open", "Till", "method", 8),
        ("plain", "", "function", 10),
    ]
    assert found[0].signature.startswith("SHOP_INLINE std::string")  # as written


def test_where_a_grammar_loses_its_way_the_plain_rules_help() -> None:
    kotlin = outline(
        "src/test/CartTest.kt", (DATA / "broken_kotlin.txt").read_text(encoding="utf-8")
    )
    assert [(s.name, s.container, s.start, s.end) for s in kotlin.symbols] == [
        ("CartTest", "", 5, 14),
        ("helper", "CartTest", 11, 13),
        ("Other", "", 16, 18),
        ("other", "Other", 17, 17),
    ]
    assert [(t.name, t.group, t.start, t.end) for t in kotlin.tests] == [("adds", "CartTest", 7, 9)]
    unbalanced = outline("cart.c", (DATA / "broken_c.txt").read_text(encoding="utf-8"))
    assert [(s.name, s.start) for s in unbalanced.symbols] == [("cart_open", 1), ("cart_close", 13)]
    assert unbalanced.symbols[0].end < 13
    macros = "void shop::Cart::add() {\n  TRY {\n    f();\n  }\n  CATCH(where())\n}\n\n"
    rest = "INLINE void shop::Cart::drop() {\n  TRY {\n    g();\n  }\n  CATCH(where())\n}\n"
    found = outline("cart.cpp", macros + rest).symbols
    assert [(s.name, s.container) for s in found] == [("add", "shop.Cart"), ("drop", "shop.Cart")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("namespace shop {\nclass Cart {\n  void add() {}\n};\n}\n", "class"),
        (
            "template <typename T>\nT most(T a);\nstruct Cart { int count() { return 0; } };\n",
            "class",
        ),
        ("struct Cart { int count; };\n", "class"),
    ],
)
def test_a_header_of_cpp_is_told_from_one_of_c(text: str, kind: str) -> None:
    found = outline("include/cart.h", text)
    cart = next(symbol for symbol in found.symbols if symbol.name == "Cart")
    assert cart.kind == kind
    methods = {symbol.name for symbol in found.symbols if symbol.kind == "method"}
    assert methods == (
        {"add"} if "namespace" in text else {"count"} if "template" in text else set()
    )


class TestComponents:
    TEXT = (
        "<template>\n  <!-- the form -->\n  <form @submit='save' />\n</template>\n"
        '<script setup lang="ts">\nimport { ref } from "vue";\n// Saves it.\n'
        'function save(cart: Cart, spare: number) {\n  if (!cart.open) throw new Error("cart is closed");\n}\n'
        "</script>\n<style>.a { color: red }</style>\n"
    )

    @pytest.mark.parametrize("path", ["Form.vue", "Form.svelte"])
    def test_the_script_of_a_component_is_read_at_its_lines(self, path: str) -> None:
        found = outline(path, self.TEXT)
        assert [(s.name, s.kind, s.start, s.end, s.doc) for s in found.symbols] == [
            ("save", "function", 8, 10, "Saves it.")
        ]
        assert [(entry.module, entry.names) for entry in found.imports] == [("vue", ("ref",))]
        inside = details(path, self.TEXT)
        assert [(entry.message, entry.line) for entry in inside.raises] == [("cart is closed", 9)]
        assert [(entry.text, entry.start) for entry in inside.comments] == [
            ("the form", 2),
            ("Saves it.", 7),
        ]

    def test_a_component_without_a_script_has_nothing_in_it(self) -> None:
        assert outline("Form.vue", "<template><p>a</p></template>\n").symbols == ()


class TestHeadings:
    @staticmethod
    def shown(path: str, text: str) -> list[tuple[str, str, int, int, str]]:
        return [(s.name, s.kind, s.start, s.end, s.container) for s in outline(path, text).symbols]

    def test_markup_has_the_headings_of_its_elements(self) -> None:
        text = "<body>\n<h1 class='x'>The <b>cart</b></h1>\n<p>a</p>\n<h2>Items</h2>\n<p>b</p>\n</body>\n"
        assert self.shown("cart.html", text) == [
            ("The cart", "heading", 2, 6, ""),
            ("Items", "heading", 4, 6, "The cart"),
        ]

    def test_templates_have_their_blocks_and_macros(self) -> None:
        text = "{% block body %}\n<h1>Cart</h1>\n{% macro row(item, n=1) -%}\n<td>\n{%- endmacro %}\n{% endblock %}\n"
        assert self.shown("cart.html.j2", text) == [
            ("body", "heading", 1, 6, ""),
            ("Cart", "heading", 2, 6, ""),
            ("row", "function", 3, 5, "body"),
        ]

    def test_yaml_has_the_keys_of_its_two_outer_levels(self) -> None:
        text = (
            "# a comment\nname: cart\non:\n  push:\n    branches: [main]\njobs:\n  test:  # all\n"
            "    steps:\n      - run: |\n          x:\n  'lint it':\n    a: 1\nscript: |\n  no:\n  "
            "  key\n"
        )
        assert self.shown("ci.yml", text) == [
            ("on", "heading", 3, 5, ""),
            ("push", "heading", 4, 5, "on"),
            ("jobs", "heading", 6, 15, ""),
            ("test", "heading", 7, 10, "jobs"),
            ("lint it", "heading", 11, 15, "jobs"),
        ]

    def test_sql_names_what_it_creates(self) -> None:
        text = (
            "CREATE VIRTUAL TABLE words USING fts5(a);\ncreate index concurrently if not exists "
            "by_name on carts(n);\n"
            "create or replace function total(a int) returns int as $$\nselect 1;\n$$ language "
            "sql;\n"
            "CREATE POLICY own ON carts;\n"
        )
        assert [name for name, *_ in self.shown("a.sql", text)] == [
            "words",
            "by_name",
            "total",
            "own",
        ]


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("app/src/test/kotlin/shop/CartTest.kt", "test"),
        ("src/CartSpec.kt", "test"),
        ("spec/cart_spec.rb", "test"),
        ("test/cart_test.rb", "test"),
        ("test/test_cart.rb", "test"),
        ("test/Shop.Tests/CartTests.cs", "test"),
        ("src/Shop.Tests/CartTester.cs", "test"),
        ("src/Shop.UnitTests/Cart.cs", "support"),
        ("tests/Unit/CartTest.php", "test"),
        ("Tests/ShopTests/CartTests.swift", "test"),
        ("tests/test_cart.c", "test"),
        ("src/cart_test.cc", "test"),
        ("test/cart-test.cc", "test"),
        ("base/cart_unittest.cc", "test"),
        ("tests/tst_cart.cpp", "test"),
        ("spec/spec_helper.rb", "support"),
        ("test/util/fake_store.cc", "support"),
        ("src/latest.c", "source"),
        ("src/Manifest.kt", "source"),
        ("src/contest.cc", "source"),
        ("lib/testing.rb", "source"),
    ],
)
def test_a_test_file_is_told_by_the_customs_of_its_language(path: str, role: str) -> None:
    assert role_of(path) == role


def test_a_file_of_tests_that_is_none_by_its_path_has_functions_only() -> None:
    assert outline("src/cart.c", "void test_add(void) { add(); }\n").tests == ()
    assert outline("lib/cart.rb", 'it "adds" do\n  1\nend\n').tests == ()


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_grammar_that_is_not_installed_costs_only_the_grammar(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    language = language_of(sample.path)
    assert language is not None
    assert language.grammar is not None
    monkeypatch.setitem(sys.modules, language.grammar[0], None)
    forget()
    try:
        assert {"cart", "cart_name"} & {
            symbol.name.lower() for symbol in outline(sample.path, read(sample)).symbols
        }
        assert details(sample.path, read(sample)).calls
    finally:
        forget()


def test_a_language_that_does_not_occur_costs_no_import() -> None:
    code = (
        "import sys; from preread.syntax import outline; outline('a.rb', 'def a; end');"
        "met = [n for n in sorted(sys.modules) if n.startswith('tree_sitter_')];"
        "print([n for n in met if '._' not in n])"
    )
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import sys; sys.path[:0] = {[str(Path(package).parents[2])]!r}; {code}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stdout.strip() == "['tree_sitter_ruby']"


# numbered, so that they do not count as repetitive and reach the parsers and the walks
NUMBERED = {
    "Kotlin": ("CartTest.kt", "fun a{n}(b: Int) {{ f{n}({{\n", 'test("{n}") {{\n'),
    "Swift": ("CartTests.swift", "func a{n}(b: Int) {{ f{n}({{\n", 'it("{n}") {{\n'),
    "C#": ("CartTests.cs", "class A{n} {{ void B{n}() {{\n", "a{n}.B({n}, () => \n"),
    "Ruby": ("cart_spec.rb", "def a{n}(b); f{n} do\n", 'describe "{n}" do\n'),
    "PHP": (
        "CartTest.php",
        "function a{n}($b) {{ f{n}(function () {{\n",
        "describe('{n}', function () {{\n",
    ),
    "C": ("test_cart.c", "int a{n}(int b) {{ f{n}(\n", "#if {n}\n"),
    "C++": ("cart_test.cc", "class A{n} {{ int b{n}() {{\n", 'TEST_CASE("{n}") {{\n'),
}


@pytest.mark.parametrize("language", NUMBERED)
@pytest.mark.parametrize("shape", [1, 2])
def test_deep_nesting_is_read_in_bounded_time(language: str, shape: int) -> None:
    path, *shapes = NUMBERED[language]
    text = ("<?php\n" if language == "PHP" else "") + "".join(
        shapes[shape - 1].format(n=n * 7919) for n in range(600)
    )
    started = time.process_time()
    outline(path, text)
    details(path, text)
    assert time.process_time() - started < 15


def test_another_edition_of_rules_or_grammars_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    now = edition()
    monkeypatch.setattr(editions, "_grammars", lambda: ["tree_sitter_c-9.dist-info"])
    edition.cache_clear()
    other = edition()
    monkeypatch.undo()
    edition.cache_clear()
    assert other != now
    assert edition() == now


def test_the_edition_names_every_grammar_that_is_installed() -> None:
    modules = {language.grammar[0] for language in LANGUAGES if language.grammar is not None}
    assert modules <= {name.partition("-")[0] for name in editions._grammars()}
