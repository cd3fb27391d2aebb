"""The role of a file, from its path alone."""

import pytest

from preread.roles import may_contain_tests, role_of


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
        ("IntegrationTests/Cart.swift", "support"),
        ("src/Latests/cart.ts", "source"),
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
        ("docs/Classes/Cart.html", "doc"),
        ("docs/site.js", "source"),
        ("doc/fd.1", "doc"),
        ("logs/app.log.1", "data"),
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


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("tests/test_cli.py", True),
        ("test/retry.ts", True),
        ("test/helpers/parse.js", True),
        ("tests/Shop.Tests/Orders/Place.cs", True),
        ("IntegrationTests/Cart.swift", True),
        ("tests/conftest.py", False),
        ("spec/spec_helper.rb", False),
        ("test/fixtures/app/retry.ts", False),
        ("pkg/testdata/cart.go", False),
        ("src/login.ts", False),
        ("tests/README.md", False),
    ],
)
def test_in_test_folders_the_text_decides_but_not_in_set_up_files_and_fixtures(
    path: str, may: bool
) -> None:
    assert may_contain_tests(path) == may
