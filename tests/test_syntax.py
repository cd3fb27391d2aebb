"""What is read from source text, language by language."""

import subprocess
import sys
from pathlib import Path

import pytest

from preread import syntax
from preread.languages import language_of
from preread.syntax import Details, Outline, details, enclosing, grammars, outline, queries, reader
from preread.syntax.plain import plain_details, plain_outline

DATA = Path(__file__).parent / "data" / "syntax"


def forget() -> None:
    """What was read of a grammar is read anew."""
    for known in (grammars.grammar_of, queries._text, queries.definitions_of, queries.contents_of):
        known.cache_clear()
    reader._last.__dict__.clear()


def read(name: str) -> str:
    return (DATA / name).read_text(encoding="utf-8")


def kinds(found: Outline) -> dict[str, str]:
    return {
        f"{symbol.container}/{symbol.name}".lstrip("/"): symbol.kind for symbol in found.symbols
    }


def cases_of(found: Outline) -> dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return {test.name: (test.group, test.params, test.markers) for test in found.tests}


def callees(found: Details) -> set[str]:
    return {call.callee for call in found.calls}


def members(found: Details) -> set[tuple[str, str, str]]:
    return {(member.kind, member.owner, member.name) for member in found.members}


class TestScripts:
    def test_definitions_have_their_kind_and_container(self) -> None:
        assert kinds(outline("src/Form.tsx", read("Form.tsx"))) == {
            "MAX_NAME": "constant",
            "Kind": "enum",
            "State": "type",
            "Props": "interface",
            "ZRole": "constant",
            "ROUTES": "constant",
            "Form": "component",
            "Form/submit": "function",
            "Row": "component",
            "Page": "component",
            "Store": "class",
            "Store/LIMIT": "constant",
            "Store/add": "method",
            "Store/load": "method",
            "Store/save": "method",
            "api": "constant",
            "api/list": "method",
            "api/get": "method",
            "useThing": "function",
            "useThing/reset": "method",
        }

    def test_a_symbol_carries_lines_signature_document_and_decorators(self) -> None:
        found = {
            symbol.name: symbol for symbol in outline("src/Form.tsx", read("Form.tsx")).symbols
        }
        form, load = found["Form"], found["load"]
        assert (form.start, form.end, form.doc) == (26, 35, "The form.")
        assert form.signature == "export const Form = ({ name, onDone, unusedFlag }: Props)"
        assert (load.start, load.decorators) == (52, ("@log()",))
        assert load.signature == "async load(id: string): Promise<void>"
        assert found["MAX_NAME"].doc == "Longest name."
        assert found["State"].signature == 'export type State = "idle" | "sent" | "failed"'

    def test_imports_and_exports_from_other_modules_are_imports(self) -> None:
        found = outline("src/Form.tsx", read("Form.tsx")).imports
        assert [(entry.module, entry.names, entry.line) for entry in found] == [
            ("react", ("React", "memo"), 1),
            ("./types", ("Props",), 2),
            ("./types", ("*",), 3),
        ]

    def test_test_calls_of_any_shape_are_tests(self) -> None:
        assert cases_of(outline("e2e/login.spec.ts", read("login.spec.ts"))) == {
            "shows the form": ("Login", ("page", "loginPage"), ()),
            "after three tries": ("Login > locked out", ("page",), (".skip",)),
            "greets ${name}": ("Login > locked out", (), ('test.fixme(true, "flaky")',)),
            "adds %i": ("units", (), ("describe.skip",)),
            "subtracts": ("units", (), (".todo", "describe.skip")),
        }

    def test_a_call_of_something_else_named_test_is_no_test(self) -> None:
        assert (
            outline("a.ts", 'pattern.test("x", () => {}); test(1); it; run("x", () => {});').tests
            == ()
        )

    def test_calls_are_chains_as_written_with_literals_and_keywords(self) -> None:
        found = {
            call.callee: call for call in details("e2e/login.spec.ts", read("login.spec.ts")).calls
        }
        visible = found["expect(…).toBeVisible"]
        assert (visible.line, visible.keywords, visible.within) == (
            17,
            ("timeout",),
            "shows the form",
        )
        assert found["page.getByTestId"].literals == ("login-submit",)
        assert found["page.goto"].hook == "beforeEach"
        assert (found["new LoginPage"].hook, found["new LoginPage"].within) == (
            "fixture:loginPage",
            "loginPage",
        )
        assert found["loginPage.fill"].keywords == ("remember",)
        assert "onDone" in callees(details("src/Form.tsx", read("Form.tsx")))

    def test_families_of_names_are_members(self) -> None:
        assert members(details("src/Form.tsx", read("Form.tsx"))) == {
            ("constant", "", "MAX_NAME"),
            ("enum", "Kind", "Short"),
            ("enum", "Kind", "Long"),
            ("union", "State", "idle"),
            ("union", "State", "sent"),
            ("union", "State", "failed"),
            ("field", "Props", "name"),
            ("field", "Props", "onDone"),
            ("union", "ZRole", "owner"),
            ("union", "ZRole", "guest"),
            ("constant", "", "ROUTES"),
            ("enum", "ROUTES", "home"),
            ("enum", "ROUTES", "login"),
            ("constant", "Store", "LIMIT"),
            ("field", "Store", "items"),
        }

    def test_errors_comments_and_attributes_are_read(self) -> None:
        found = details("src/Form.tsx", read("Form.tsx"))
        assert [(entry.message, entry.exception) for entry in found.raises] == [
            ("must not be empty", "ValidationError")
        ]
        joined = next(comment for comment in found.comments if "first" in comment.text)
        assert (joined.text, joined.start, joined.end) == ("first line\nsecond line", 27, 28)
        attributes = [(entry.element, entry.name, entry.value) for entry in found.attributes]
        assert attributes == [("button", "data-testid", "login-submit"), ("Form", "name", "x")]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("await a?.b!.c(1)", {"a?.b!.c"}),
            ("a[0].b()", {"a[…].b"}),
            ("(await x()).y()", {"(…).y", "x"}),
            ("'s'.trim()", {'"…".trim'}),
            ("f<T>(1)", {"f"}),
            ("a\n  .b()\n  .c()", {"a.b", "a.b(…).c"}),
        ],
    )
    def test_a_callee_is_spelled_without_arguments(self, text: str, expected: set[str]) -> None:
        assert callees(details("a.ts", text)) == expected

    def test_plain_javascript_is_read_too(self) -> None:
        text = 'const { a } = require("./a");\nexports.run = function (x) { return x; };\nclass A { b() {} }\n'
        found = outline("a.cjs", text)
        assert kinds(found) == {"run": "function", "A": "class", "A/b": "method"}
        assert [(entry.module, entry.names) for entry in found.imports] == [("./a", ("a",))]


class TestPython:
    def test_definitions_have_their_kind_and_container(self) -> None:
        assert kinds(outline("src/cli.py", read("cli.py"))) == {
            "LIMIT": "constant",
            "Mode": "constant",
            "Color": "class",
            "Color/RED": "constant",
            "Color/BLUE": "constant",
            "Options": "class",
            "Options/Meta": "class",
            "Options/load": "method",
            "Options.load/inner": "function",
            "Options/save": "method",
            "main": "function",
            "fallback": "function",
        }

    def test_a_symbol_starts_at_its_def_and_reports_its_decorators(self) -> None:
        found = {symbol.name: symbol for symbol in outline("src/cli.py", read("cli.py")).symbols}
        main = found["main"]
        assert (main.start, main.end, main.doc) == (49, 56, "Runs it.")
        assert main.signature == "def main(color, verbose)"
        assert main.decorators == (
            "@click.command()",
            '@click.option("--color/--no-color", "-c", help="Use colors.")',
        )
        assert (
            found["load"].signature
            == "async def load(self, path, force: bool = False, *rest, **more)"
        )
        assert found["Color"].doc == "Colors of the output."

    def test_a_class_of_tests_is_known_by_its_name_or_its_base(self) -> None:
        classes = (
            "TestCart(Base)",
            "test_cart(Base)",
            "CartChecks(ShopCase)",
            "Cart(unittest.TestCase)",
            "Fake(Shop)",
        )
        text = "".join(
            f"class {each}:\n    def test_{n}(self): pass\n" for n, each in enumerate(classes)
        )
        found = outline("tests/test_cart.py", text)
        assert [test.group for test in found.tests] == [
            "TestCart",
            "test_cart",
            "CartChecks",
            "Cart",
        ]

    def test_imports_name_modules_and_what_is_taken_from_them(self) -> None:
        found = outline("src/cli.py", read("cli.py")).imports
        assert [(entry.module, entry.names, entry.line) for entry in found] == [
            ("enum", (), 5),
            ("os.path", (), 6),
            ("sys", (), 6),
            ("typing", ("Literal",), 7),
            (".", ("core",), 8),
            (".core", ("run", "stop"), 9),
        ]

    def test_tests_carry_fixtures_without_parametrized_or_patched_names_and_their_marks(
        self,
    ) -> None:
        module_mark = "pytestmark = pytest.mark.slow"
        assert cases_of(outline("tests/test_cli.py", read("pytest_cli.py"))) == {
            "test_color": (
                "",
                ("runner", "tmp_path"),
                (
                    '@pytest.mark.parametrize(("color", "code"), [("a", 0)])',
                    '@pytest.mark.xfail(reason="broken")',
                    module_mark,
                    'pytest.skip("not today")',
                ),
            ),
            "test_nested": (
                "TestGroup",
                ("monkeypatch",),
                ('@mock.patch("os.getcwd")', module_mark),
            ),
            "test_total": ("CartTests", (), (module_mark,)),
        }

    def test_a_function_named_test_outside_of_a_test_file_is_a_function(self) -> None:
        found = outline("src/connection.py", "def test_connection(host): ...\n")
        assert found.tests == ()
        assert kinds(found) == {"test_connection": "function"}

    def test_calls_know_their_hook_and_their_nested_literals(self) -> None:
        found = {
            call.callee: call for call in details("tests/test_cli.py", read("pytest_cli.py")).calls
        }
        assert found["make"].hook == "fixture:runner"
        assert found["build"].hook == "setup_method"
        assert found["Cart"].hook == "setUp"
        assert found["self.client.post"].within == "test_nested"
        invoke = {call.callee: call for call in details("src/cli.py", read("cli.py")).calls}[
            "runner.invoke"
        ]
        assert invoke.literals == ("--color", "x", "b", "y")
        assert invoke.keywords == ("env", "A", "input")

    def test_families_of_names_are_members(self) -> None:
        assert members(details("src/cli.py", read("cli.py"))) == {
            ("constant", "", "LIMIT"),
            ("union", "Mode", "fast"),
            ("union", "Mode", "slow"),
            ("enum", "Color", "RED"),
            ("enum", "Color", "BLUE"),
            ("field", "Options", "name"),
            ("field", "Options", "count"),
            ("option", "main", "--color"),
            ("option", "main", "--no-color"),
            ("option", "main", "-c"),
        }

    def test_a_call_in_a_chain_is_on_the_line_of_its_name_and_calls_come_by_line(self) -> None:
        text = "package a\n\nfunc f() {\n\tx := New().\n\t\tWith(1).\n\t\tFetch()\n\tdone()\n}\n"
        assert [(call.callee, call.line) for call in details("a.go", text).calls] == [
            ("New", 4), ("New(…).With", 5), ("New(…).With(…).Fetch", 6), ("done", 7),
        ]  # fmt: skip

    def test_the_message_of_an_error_is_its_longest_literal_run(self) -> None:
        found = details("src/cli.py", read("cli.py")).raises
        assert [(e.message, e.exception, e.within) for e in found] == [
            ("is not known here", "click.UsageError", "main")
        ]

    def test_consecutive_comments_are_one_and_a_trailing_one_stands_alone(self) -> None:
        found = details("a.py", "# one\n# two\nx = 1  # three\n# four\n\n# five\n").comments
        assert [(c.text, c.start, c.end) for c in found] == [
            ("one\ntwo", 1, 2),
            ("three", 3, 3),
            ("four", 4, 4),
            ("five", 6, 6),
        ]

    def test_lines_end_at_newlines_only(self) -> None:
        found = outline(
            "a.py", "x = 1\x0c\r\n\x0c\r\ndef f():\r\n    pass\r\n\r\ndef g(): '\u2028\x85'\n"
        )
        assert [(symbol.name, symbol.start, symbol.end) for symbol in found.symbols] == [
            ("f", 3, 4),
            ("g", 6, 6),
        ]

    def test_columns_are_counted_in_bytes_only_inside(self) -> None:
        text = 'def grüße(wörter):\n    """Sagt „Grüße“. Mehr."""\n    return rufe("äöü", wörter)\n'
        (symbol,) = outline("a.py", text).symbols
        assert (symbol.name, symbol.doc, symbol.signature) == (
            "grüße",
            "Sagt „Grüße“.",
            "def grüße(wörter)",
        )
        found = details("a.py", text)
        assert found.calls[0].literals == ("äöü",)


class TestGo:
    def test_definitions_tests_and_imports(self) -> None:
        found = outline("cart_test.go", read("cart_go.txt"))
        assert kinds(found) == {
            "Kind": "type",
            "Open": "constant",
            "Closed": "constant",
            "Cart": "class",
            "Saver": "interface",
            "Cart/Save": "method",
            "TestMain": "function",
        }
        assert cases_of(found) == {
            "TestSave": ("", (), ('t.Skip("slow")',)),
            "empty path": ("TestSave", (), ()),
            "deep": ("TestSave > empty path", (), ()),
        }
        assert [entry.module for entry in found.imports] == ["fmt", "shop/store"]
        save = next(symbol for symbol in found.symbols if symbol.name == "Save")
        assert (save.doc, save.signature) == (
            "Save stores it.",
            "func (c *Cart) Save(path string, force bool) error",
        )

    def test_details(self) -> None:
        found = details("cart_test.go", read("cart_go.txt"))
        assert "store.Open(…).Put" in callees(found)
        assert members(found) == {
            ("enum", "Kind", "Open"),
            ("enum", "Kind", "Closed"),
            ("field", "Cart", "Name"),
            ("field", "Cart", "a"),
            ("field", "Cart", "b"),
        }
        assert [(entry.message, entry.exception) for entry in found.raises] == [
            ("no path for", "fmt.Errorf")
        ]


class TestRust:
    def test_definitions_tests_and_imports(self) -> None:
        found = outline("src/cart.rs", read("cart_rust.txt"))
        assert kinds(found) == {
            "Cart": "class",
            "State": "enum",
            "LIMIT": "constant",
            "Cart/add": "method",
        }
        assert cases_of(found) == {"adds_one": ("tests", (), ("#[should_panic]",))}
        imports = [(entry.module, entry.names) for entry in found.imports]
        assert imports == [("std", ("fmt",)), ("crate::store", ("Item", "Store"))]
        assert (found.symbols[0].doc, found.symbols[0].decorators) == (
            "A cart.",
            ("#[derive(Debug)]",),
        )

    def test_details(self) -> None:
        found = details("src/cart.rs", read("cart_rust.txt"))
        assert {"self.shop.open(…).put", "assert_eq!"} <= callees(found)
        assert [(entry.message, entry.exception) for entry in found.raises] == [
            ("cart without a", "panic!")
        ]
        assert ("enum", "State", "Closed") in members(found)


class TestJava:
    def test_definitions_tests_and_imports(self) -> None:
        found = outline("src/test/java/CartTest.java", read("CartTest.java.txt"))
        assert kinds(found) == {
            "CartTest": "class",
            "CartTest/NAME": "constant",
            "CartTest/fill": "method",
            "CartTest/helper": "method",
            "CartTest/Kind": "enum",
        }
        assert cases_of(found) == {"addsOne": ("CartTest", (), ('@Disabled("slow")',))}
        imports = [(entry.module, entry.names) for entry in found.imports]
        assert imports == [("java.util", ("List",)), ("org.assertj.core.api.Assertions", ("*",))]

    def test_an_annotation_made_of_test_marks_a_test_too(self) -> None:
        text = "class CartTest {\n  @LocaleTest\n  void adds() {}\n  @BeforeEach\n  void fill() {}\n}\n"
        assert list(cases_of(outline("src/test/java/CartTest.java", text))) == ["adds"]

    def test_details(self) -> None:
        found = details("src/test/java/CartTest.java", read("CartTest.java.txt"))
        calls = {call.callee: call for call in found.calls}
        assert calls["cart.add(…).confirm"].hook == "BeforeEach"
        assert calls["cart.add"].literals == ("first",)
        assert [(entry.message, entry.exception) for entry in found.raises] == [
            ("is not allowed", "IllegalStateException")
        ]
        assert ("enum", "Kind", "CLOSED") in members(found)


class TestPlainRules:
    @pytest.mark.parametrize(
        ("file", "symbols", "calls", "comments"),
        [
            (
                "Cart.kt",
                [
                    ("Cart", "class", 6, 11),
                    ("total", "method", 8, 10),
                    ("State", "enum", 13, 13),
                    ("isEmpty", "function", 15, 15),
                ],
                ["items.isEmpty"],
                ["A cart of items. Not thread safe.", "Adds up.", '"not // a string"'],
            ),
            (
                "cart.c",
                [("cart_add", "function", 5, 11)],
                ["log_error"],
                ["Adds an item.\nReturns 0."],
            ),
            (
                "Cart.cs",
                [("Shop", "class", 2, 8), ("Cart", "class", 3, 7), ("AddAsync", "method", 4, 6)],
                ["store.Save"],
                [],
            ),
            (
                "cart.rb",
                [("Cart", "class", 3, 11), ("load", "method", 4, 6), ("empty?", "method", 8, 10)],
                ["JSON.parse", "File.read"],
                ["A cart."],
            ),
            (
                "cart.php",
                [("Cart", "class", 3, 8), ("add", "method", 5, 7)],
                ["$this->items->push"],
                ["One item more."],
            ),
            (
                "cart.swift",
                [("Priced", "interface", 2, 2), ("Cart", "class", 3, 7), ("price", "method", 4, 6)],
                ["sum"],
                [],
            ),
            (
                "deploy.sh",
                [("build", "function", 4, 6), ("stop_all", "function", 7, 9)],
                [],
                ["Builds it.\nThen stops.", "but this is"],
            ),
            ("schema.sql", [("carts", "type", 1, 3)], [], ["the key"]),
        ],
    )
    def test_definitions_calls_and_comments_are_found_without_a_grammar(
        self,
        file: str,
        symbols: list[tuple[str, str, int, int]],
        calls: list[str],
        comments: list[str],
    ) -> None:
        text, language = read(file), language_of(file)
        assert language is not None
        found = plain_outline(language, text)
        assert [(s.name, s.kind, s.start, s.end) for s in found.symbols] == symbols
        inside = plain_details(language, text)
        assert [call.callee for call in inside.calls] == calls
        assert [comment.text for comment in inside.comments] == comments

    def test_a_field_that_is_named_type_defines_no_type(self) -> None:
        text = "model Cart {\n  id          String\n  type        String @db.Char\n}\n"
        found = outline("cart.prisma", text).symbols
        assert [(one.name, one.start, one.end) for one in found] == [("Cart", 1, 4)]

    def test_headings_hold_their_sections(self) -> None:
        markdown = [
            (s.name, s.start, s.end, s.container)
            for s in outline("guide.md", read("guide.md")).symbols
        ]
        assert markdown == [
            ("Guide", 1, 13, ""),
            ("Install", 5, 10, "Guide"),
            ("Setext", 11, 13, "Guide"),
            ("Second", 14, 14, ""),
        ]
        rst = [
            (s.name, s.start, s.end, s.container)
            for s in outline("guide.rst", read("guide.rst")).symbols
        ]
        assert rst == [("Guide", 2, 11, ""), ("Install", 5, 9, "Guide"), ("Use", 10, 11, "Guide")]

    def test_a_missing_grammar_wheel_falls_back_to_the_plain_rules(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "tree_sitter_python", None)
        forget()
        try:
            found = outline("src/cli.py", read("cli.py"))
            assert {"Options", "Options/load", "main"} <= set(kinds(found))
            assert next(s for s in found.symbols if s.name == "load").end == 41
            assert "click.UsageError" in callees(details("src/cli.py", read("cli.py")))
        finally:
            forget()


def test_the_innermost_symbol_or_test_encloses_a_line() -> None:
    found = outline("e2e/login.spec.ts", read("login.spec.ts"))
    assert getattr(enclosing(found, 16), "name", None) == "shows the form"
    assert enclosing(found, 13) is None
    form = outline("src/Form.tsx", read("Form.tsx"))
    assert [getattr(enclosing(form, line), "name", None) for line in (26, 30, 34, 36)] == [
        "Form",
        "submit",
        "Form",
        None,
    ]


def test_importing_the_package_imports_no_grammar() -> None:
    code = (
        "import sys, preread.syntax; print([name for name in sys.modules if 'tree_sitter' in name])"
    )
    path = [str(Path(syntax.__file__).parents[2])]
    ran = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.js", "function f(next, a) { next(); run(a); }\nnext();\n"),
        ("a.ts", "const f = async (next: () => void) => { next(); run(1); };\nnext();\n"),
        ("a.js", "on(next => { next(); run(1); });\nnext();\n"),
        ("a.go", "func f(next func() error) {\n\tnext()\n\trun()\n}\nvar _ = next()\n"),
        ("a.kt", "fun f(next: () -> Unit) {\n  next()\n  run()\n}\nval a = next()\n"),
    ],
)
def test_a_call_of_a_parameter_is_not_a_call_of_that_name(path: str, text: str) -> None:
    callees = [call.callee for call in details(path, text).calls]
    assert callees.count("next") == 1
    assert "run" in callees
