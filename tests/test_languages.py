"""Languages and roles are told from the path alone."""

import importlib.util

import pytest

from preread.languages import LANGUAGES, language_of, role_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.py", "Python"),
        ("b.pyi", "Python"),
        ("x.mjs", "JavaScript"),
        ("x.jsx", "JavaScript"),
        ("x.d.ts", "TypeScript"),
        ("X.TSX", "TSX"),
        ("Rakefile", "Ruby"),
        ("page.html.j2", "Jinja"),
        ("a.b/c.hpp", "C++"),
        ("README.MD", "Markdown"),
    ],
)
def test_a_language_is_known_by_suffix_or_file_name(path: str, name: str) -> None:
    found = language_of(path)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("path", ["", "a", "a/.py/b", "x.unknown", "dir.py/file", ".gitignore"])
def test_a_path_without_a_known_suffix_has_no_language(path: str) -> None:
    assert language_of(path) is None


def test_no_suffix_stands_in_two_rows() -> None:
    suffixes = [suffix for language in LANGUAGES for suffix in language.suffixes]
    assert len(suffixes) == len(set(suffixes))


def test_every_grammar_of_the_table_is_installed_and_has_its_function() -> None:
    for language in LANGUAGES:
        if language.grammar is not None:
            module, function = language.grammar
            assert importlib.util.find_spec(module), module
            assert callable(getattr(importlib.import_module(module), function))


@pytest.mark.parametrize(
    ("path", "role"),
    [
        ("tests/test_cli.py", "test"),
        ("src/app/tests.py", "test"),
        ("pkg/cli_test.py", "test"),
        ("src/login.spec.ts", "test"),
        ("src/Form.test.tsx", "test"),
        ("src/__tests__/form.js", "test"),
        ("cypress/e2e/login.cy.ts", "test"),
        ("tests/auth.setup.ts", "test"),
        ("pkg/cart_test.go", "test"),
        ("tests/integration.rs", "test"),
        ("src/test/java/shop/CartTest.java", "test"),
        ("spec/cart_spec.rb", "test"),
        ("test/spec_cart.rb", "test"),
        ("spec/spec_helper.rb", "support"),
        ("tests/CartTest.php", "test"),
        ("tests/conftest.py", "support"),
        ("conftest.py", "support"),
        ("tests/pages/login.ts", "support"),
        ("e2e/fixtures/users.ts", "support"),
        ("tests/helpers.py", "support"),
        ("tests/__init__.py", "support"),
        ("src/lib/__mocks__/database.ts", "support"),
        ("tests/common/mod.rs", "support"),
        ("vitestSetup.ts", "support"),
        ("t/smoke/tasks.py", "support"),
        ("pkg/testdata/cookie.go", "support"),
        ("core/src/commonTest/kotlin/Helper.kt", "support"),
        ("shop-tests/src/main/kotlin/Helper.kt", "support"),
        ("lib/t/tasks.py", "source"),
        ("shop-test/src/main/java/shop/Mock.java", "source"),
        ("src/login.ts", "source"),
        ("shop/_parser.pyx", "source"),
        ("src/parser.zig", "source"),
        ("templates/cart.html.twig", "source"),
        ("api/schema.graphql", "source"),
        ("tests/helpers.pyx", "support"),
        ("src/latest.py", "source"),
        ("src/Latest.java", "source"),
        ("src/contest.py", "source"),
        ("app/migrations/0001_initial.py", "source"),
        ("src/utils/helpers.ts", "source"),
        ("templates/page.html", "source"),
        ("build.ps1", "source"),
        ("lib/page.html.erb", "source"),
        ("src/history.ts", "source"),
        ("src/main/java/shop/target/Build.java", "source"),
        ("target/classes/Build.java", "generated"),
        ("docs/guide.md", "doc"),
        ("LICENSE", "doc"),
        ("README.html", "doc"),
        ("tests/README.md", "doc"),
        ("pyproject.toml", "config"),
        ("playwright.config.ts", "config"),
        (".github/workflows/ci.yml", "config"),
        ("Dockerfile", "config"),
        ("package.json", "config"),
        ("tests/data/orders.json", "data"),
        ("logo.png", "data"),
        ("static/app.min.js", "generated"),
        ("package-lock.json", "generated"),
        ("uv.lock", "generated"),
        ("api/cart.pb.go", "generated"),
        ("src/__snapshots__/form.test.tsx.snap", "generated"),
        ("node_modules/x/index.test.js", "generated"),
        ("dist/index.js", "generated"),
    ],
)
def test_a_role_follows_the_conventions_of_runners_and_tools(path: str, role: str) -> None:
    assert role_of(path) == role
