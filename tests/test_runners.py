"""How a test file is run: small projects of each build tool, and the command that their settings
prove.
"""

from pathlib import Path

import pytest

from _evidence_project import services, write
from preread.project.runners import Target, command_for

PYTEST = "def test_total():\n    assert True\n"
VITEST = 'import { test } from "vitest";\ntest("adds", () => {});\n'
TAPE = 'const test = require("tape");\n\ntest("adds", (t) => t.end());\n'
PLAIN = 'test("adds", () => {});\n'
GO = 'package cart\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {}\n'
RUST = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn adds() {}\n}\n"
CARGO = '[package]\nname = "{}"\nversion = "1.0.0"\n'

# For each project: its files, the test, and the command with its folder and the file that proves
# it.
CASES: dict[str, tuple[dict[str, str], str, tuple[str, str, str]]] = {
    "pytest by its settings": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n", "tests/test_a.py": PYTEST},
        "tests/test_a.py",
        ("python -m pytest tests/test_a.py", "", "pyproject.toml"),
    ),
    "pytest of a package in a monorepo": (
        {
            "pytest.ini": "[pytest]\n",
            "api/pyproject.toml": "[tool.pytest.ini_options]\n",
            "api/tests/test_a.py": PYTEST,
        },
        "api/tests/test_a.py",
        ("python -m pytest tests/test_a.py", "api", "api/pyproject.toml"),
    ),
    "pytest because the tests import it": (
        {"setup.py": "setup()\n", "tests/test_a.py": f"import pytest\n\n{PYTEST}"},
        "tests/test_a.py",
        ("python -m pytest tests/test_a.py", "", "tests/test_a.py"),
    ),
    "pytest because requirements name it": (
        {"requirements-dev.txt": "black\npytest>=8\n", "tests/test_a.py": PYTEST},
        "tests/test_a.py",
        ("python -m pytest tests/test_a.py", "", "requirements-dev.txt"),
    ),
    "a path with a blank": (
        {"pytest.ini": "[pytest]\n", "my tests/test_a.py": PYTEST},
        "my tests/test_a.py",
        ("python -m pytest 'my tests/test_a.py'", "", "pytest.ini"),
    ),
    "unittest": (
        {
            "setup.py": "setup()\n",
            "tests/test_a.py": "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self): ...\n",
        },
        "tests/test_a.py",
        ("python -m unittest tests/test_a.py", "", "tests/test_a.py"),
    ),
    "Django": (
        {
            "site/manage.py": "execute_from_command_line(sys.argv)\n",
            "site/shop/tests/test_a.py": "from django.test import TestCase\n",
        },
        "site/shop/tests/test_a.py",
        ("python manage.py test shop.tests.test_a", "site", "site/manage.py"),
    ),
    "tox alone": (
        {
            "tox.ini": "[testenv]\ndeps = x\ncommands =\n    python run.py {posargs:all}\n",
            "tests/test_a.py": PYTEST,
        },
        "tests/test_a.py",
        ("tox -e py -- tests/test_a.py", "", "tox.ini"),
    ),
    "a Go module inside a repository": (
        {"srv/go.mod": "module example.com/srv\n", "srv/cart/cart_test.go": GO},
        "srv/cart/cart_test.go",
        ("go test ./cart -run '^TestTotal$'", "srv", "srv/go.mod"),
    ),
    "Go with a build tag": (
        {"go.mod": "module x\n", "cart_test.go": f"//go:build linux && slow\n\n{GO}"},
        "cart_test.go",
        ("go test -tags slow . -run '^TestTotal$'", "", "go.mod"),
    ),
    "a package of a Cargo workspace with a feature": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["ws"]\n',
            "ws/Cargo.toml": CARGO.format("sockets"),
            "ws/src/lib.rs": '#[cfg(feature = "frames")]\npub mod frame;\n',
            "ws/src/frame.rs": RUST,
        },
        "ws/src/frame.rs",
        ("cargo test -p sockets --features frames --lib frame::", "", "ws/Cargo.toml"),
    ),
    "a Cargo integration test": (
        {"Cargo.toml": CARGO.format("x"), "tests/api.rs": RUST},
        "tests/api.rs",
        ("cargo test --test api", "", "Cargo.toml"),
    ),
    "a module of a Cargo integration test": (
        {
            "Cargo.toml": CARGO.format("x"),
            "tests/it/main.rs": "mod login;\n",
            "tests/it/login.rs": RUST,
        },
        "tests/it/login.rs",
        ("cargo test --test it login::", "", "Cargo.toml"),
    ),
    "vitest by a script": (
        {"package.json": '{\n  "scripts": {\n    "test": "vitest"\n  }\n}\n', "src/a.test.ts": PLAIN},
        "src/a.test.ts",
        ("npx vitest run src/a.test.ts", "", "package.json"),
    ),
    "a variable in quotes": (
        {
            "package.json": '{\n "scripts": {\n  "test": "NODE_OPTIONS=\\"--a b\\" NO=\'x y\' jest"\n }\n}\n',
            "src/a.test.ts": PLAIN,
        },
        "src/a.test.ts",
        ("NODE_OPTIONS='--a b' NO='x y' npx jest src/a.test.ts", "", "package.json"),
    ),
    "types tested by vitest": (
        {
            "package.json": '{\n  "scripts": {\n    "test": "vitest"\n  }\n}\n',
            "src/a.test-d.ts": VITEST,
        },
        "src/a.test-d.ts",
        ("npx vitest run --typecheck src/a.test-d.ts", "", "package.json"),
    ),
    "types that tsd checks, beside jest": (
        {
            "package.json": '{\n  "scripts": {\n    "test": "jest",\n    "types": "tsc && tsd"\n  }\n}\n',
            "test/a.test-d.ts": 'import { expectType } from "tsd";\nexpectType<string>("a");\n',
        },
        "test/a.test-d.ts",
        ("npx tsd --files test/a.test-d.ts", "", "package.json"),
    ),
    "vitest projects at the root": (
        {
            "vitest.config.ts": 'export default { test: { projects: ["packages/*"] } };\n',
            "packages/ui/package.json": '{\n "scripts": {\n  "test": "vitest run"\n }\n}\n',
            "packages/ui/a.test.ts": VITEST,
        },
        "packages/ui/a.test.ts",
        ("npx vitest run packages/ui/a.test.ts", "", "vitest.config.ts"),
    ),
    "mocha with the flags of the script whose pattern names the file": (
        {
            "package.json": '{\n "scripts": {\n  "lint": "eslint .",\n'
            '  "test:unit": "NODE_ENV=test nyc --all mocha --require ./setup.js test/unit/**/*.js --watch",\n'
            '  "test:e2e": "mocha test/e2e/**/*.js"\n }\n}\n',
            "test/unit/a/b.js": PLAIN,
        },
        "test/unit/a/b.js",
        ("NODE_ENV=test npx mocha --require ./setup.js test/unit/a/b.js", "", "package.json"),
    ),
    "jest beside playwright": (
        {
            "package.json": '{\n "scripts": {\n  "test": "jest",\n  "e2e": "playwright test"\n }\n}\n',
            "e2e/a.spec.ts": 'import { test } from "@playwright/test";\ntest("a", () => {});\n',
        },
        "e2e/a.spec.ts",
        ("npx playwright test e2e/a.spec.ts", "", "package.json"),
    ),
    "node's own runner": (
        {"package.json": '{"name": "x"}\n', "test/a.js": 'const test = require("node:test");\n'},
        "test/a.js",
        ("node --test test/a.js", "", "test/a.js"),
    ),
    "node with a loader": (
        {
            "package.json": '{\n "scripts": {\n  "test": "xo && node --import=tsx/esm -r ./setup.js'
            ' --test --watch test/*.ts && tsd"\n }\n}\n',
            "test/a.ts": PLAIN,
        },
        "test/a.ts",
        ("node --test --import=tsx/esm -r ./setup.js test/a.ts", "", "package.json"),
    ),
    "tape beside a jest for one folder": (
        {
            "package.json": '{\n "scripts": {\n  "test": "npm run lint && jest test/jest"\n }\n}\n',
            "test/jest/b.spec.js": PLAIN,
            "test/a.test.js": TAPE,
        },
        "test/a.test.js",
        ("npx tape test/a.test.js", "", "test/a.test.js"),
    ),
    "jest in the folder that its script names": (
        {
            "package.json": '{\n "scripts": {\n  "test": "npm run lint && jest test/jest"\n }\n}\n',
            "test/jest/b.spec.js": PLAIN,
        },
        "test/jest/b.spec.js",
        ("npx jest test/jest/b.spec.js", "", "package.json"),
    ),
    "another script's runner for the files outside of a folder": (
        {
            "package.json": (
                '{\n "scripts": {\n  "test": "jest --ci test/jest",\n  "unit": "mocha"\n }\n}\n'
            ),
            "test/jest/b.spec.js": PLAIN,
            "test/a.test.js": PLAIN,
        },
        "test/a.test.js",
        ("npx mocha test/a.test.js", "", "package.json"),
    ),
    "a script that calls more than the runner of other files": (
        {
            "package.json": '{\n "scripts": {\n  "test": "npm run all && jest test/jest"\n }\n}\n',
            "test/jest/b.spec.js": PLAIN,
            "test/a.test.js": PLAIN,
        },
        "test/a.test.js",
        ("npm test", "", "package.json"),
    ),
    "a folder that is the value of a flag": (
        {
            "package.json": '{\n "scripts": {\n  "test": "mocha --reporter spec"\n }\n}\n',
            "spec/b.spec.js": PLAIN,
            "test/a.test.js": PLAIN,
        },
        "test/a.test.js",
        ("npx mocha test/a.test.js", "", "package.json"),
    ),
    "a folder of this name in a package": (
        {
            "package.json": '{\n "scripts": {\n  "test": "jest src"\n }\n}\n',
            "src/b.test.js": PLAIN,
            "cart/src/a.test.js": PLAIN,
        },
        "cart/src/a.test.js",
        ("npx jest cart/src/a.test.js", "", "package.json"),
    ),
    "an unknown script": (
        {"package.json": '{\n "scripts": {\n  "test": "./run-all.sh"\n }\n}\n', "test/a.js": PLAIN},
        "test/a.js",
        ("npm test", "", "package.json"),
    ),
    "a Maven module": (
        {
            "pom.xml": "<modules>\n<module>core</module>\n</modules>\n",
            "core/pom.xml": "<project>\n<artifactId>core</artifactId>\n</project>\n",
            "core/src/test/java/CartTest.java": "class CartTest {}\n",
        },
        "core/src/test/java/CartTest.java",
        (
            "mvn -pl core -am test -Dtest=CartTest -Dsurefire.failIfNoSpecifiedTests=false",
            "",
            "core/pom.xml",
        ),
    ),
    "a Gradle subproject": (
        {
            "settings.gradle": "include ':lib:core'\n",
            "gradlew": "#!/bin/sh\n",
            "lib/core/build.gradle": "plugins {\n}\ntest {\n  useJUnitPlatform()\n}\n",
            "lib/core/src/test/java/CartTest.java": "class CartTest {}\n",
        },
        "lib/core/src/test/java/CartTest.java",
        ("./gradlew :lib:core:test --tests CartTest", "", "lib/core/build.gradle"),
    ),
    "RSpec": (
        {".rspec": "--color\n", "Gemfile": "gem 'rspec'\n", "spec/a_spec.rb": "describe 'a' do\nend\n"},
        "spec/a_spec.rb",
        ("bundle exec rspec spec/a_spec.rb", "", ".rspec"),
    ),
    "a Rake task": (
        {"Rakefile": 'Rake::TestTask.new(:unit) do |t|\nend\n', "test/a_test.rb": "class A; end\n"},
        "test/a_test.rb",
        ("rake unit TEST=test/a_test.rb", "", "Rakefile"),
    ),
    "PHPUnit": (
        {"phpunit.xml.dist": '<?xml version="1.0"?>\n<phpunit>\n</phpunit>\n', "tests/ATest.php": "<?php\n"},
        "tests/ATest.php",
        ("vendor/bin/phpunit tests/ATest.php", "", "phpunit.xml.dist"),
    ),
    "PHPUnit by Symfony's bridge": (
        {
            "composer.json": '{"require-dev": {"symfony/phpunit-bridge": "^7.2"}}\n',
            "phpunit.xml.dist": '<?xml version="1.0"?>\n<phpunit>\n</phpunit>\n', "tests/ATest.php": "<?php\n",
        },
        "tests/ATest.php",
        ("vendor/bin/simple-phpunit tests/ATest.php", "", "phpunit.xml.dist"),
    ),
    ".NET": (
        {
            "test/Unit/Unit.csproj": '<Project>\n<PackageReference Include="xunit" />\n</Project>\n',
            "test/Unit/Cart/CartTests.cs": "class CartTests {}\n",
        },
        "test/Unit/Cart/CartTests.cs",
        ("dotnet test test/Unit/Unit.csproj --filter FullyQualifiedName~CartTests", "", "test/Unit/Unit.csproj"),
    ),
    ".NET with MSTest's own SDK and the new runner": (
        {
            "global.json": '{"test": {"runner": "Microsoft.Testing.Platform"}}\n',
            "test/Unit/Unit.csproj": '<Project Sdk="MSTest.Sdk">\n</Project>\n',
            "test/Unit/Cart/CartTests.cs": "class CartTests {}\n",
        },
        "test/Unit/Cart/CartTests.cs",
        (
            "dotnet test --project test/Unit/Unit.csproj --filter FullyQualifiedName~CartTests",
            "",
            "test/Unit/Unit.csproj",
        ),
    ),
    "a test that CMake registers": (
        {
            "test/CMakeLists.txt": "function(add_fmt_test name)\nendfunction()\nadd_fmt_test(args-test)\n",
            "test/args-test.cc": "int main() {}\n",
        },
        "test/args-test.cc",
        ("ctest -R args-test", "<build folder>", "test/CMakeLists.txt"),
    ),
    "one program of all tests that CMake lists": (
        {
            "CMakeLists.txt": "if(SHOP_TESTS)\n  enable_testing()\n  add_subdirectory(test)\nendif()\n",
            "test/CMakeLists.txt": "set(SOURCES cart_test.cc\n  main.cc)\nadd_test(NAME all COMMAND all)\n",
            "test/cart_test.cc": 'TEST_CASE("adds") {}\n',
        },
        "test/cart_test.cc",
        ("ctest", "<build folder>", "test/CMakeLists.txt"),
    ),
    "Automake's tests": (
        {"Makefile.am": "bin_PROGRAMS = a\nTESTS = tests/all\n", "tests/test_a.c": "int main() {}\n"},
        "tests/test_a.c",
        ("make check", "", "Makefile.am"),
    ),
    "a test that CMake registers in several lines": (
        {
            "CMakeLists.txt": "add_unit_test(\n  NAME\n    cart_test\n  SRCS\n    cart_test.cc\n)\n",
            "cart_test.cc": "int main() {}\n",
        },
        "cart_test.cc",
        ("ctest -R cart_test", "<build folder>", "CMakeLists.txt"),
    ),
    "a rule of Bazel": (
        {
            "MODULE.bazel": 'module(name = "shop")\n',
            "till/BUILD.bazel": (
                'cc_library(\n    name = "cart",\n    srcs = ["cart.cc"],\n)\n\n'
                'cc_test(\n    name = "cart_unit_test",\n    srcs = ["cart_test.cc"],\n)\n'
            ),
            "till/cart_test.cc": "int main() {}\n",
        },
        "till/cart_test.cc",
        ("bazel test //till:cart_unit_test", "", "till/BUILD.bazel"),
    ),
    "Meson, which names tests in a loop": (
        {
            "meson.build": "foreach name: ['test-cart.c']\n  test(name, executable(name, name))\nendforeach\n",
            "test-cart.c": "int main() {}\n",
        },
        "test-cart.c",
        ("meson test", "<build folder>", "meson.build"),
    ),
    "sbt from the outermost build": (
        {
            "build.sbt": 'lazy val root = project in file(".")\n',
            "core/build.sbt": 'name := "core"\n',
            "core/src/test/scala/shop/CartSpec.scala": "class CartSpec\n",
        },
        "core/src/test/scala/shop/CartSpec.scala",
        ("sbt 'testOnly *CartSpec'", "", "build.sbt"),
    ),
    "the permissions in a task of Deno": (
        {
            "deno.json": '{\n  "tasks": {\n    "test": "deno test -A --parallel --doc"\n  }\n}\n',
            "cart_test.ts": 'Deno.test("adds", () => {});\n',
        },
        "cart_test.ts",
        ("deno test -A --doc cart_test.ts", "", "deno.json"),
    ),
    "a runner that Node starts with flags": (
        {
            "package.json": (
                '{\n  "scripts": {\n'
                '    "test": "node --experimental-vm-modules node_modules/jest/bin/jest.js --silent"\n'
                "  }\n}\n"
            ),
            "test/cart.test.js": PLAIN,
        },
        "test/cart.test.js",
        (
            "node --experimental-vm-modules node_modules/jest/bin/jest.js test/cart.test.js",
            "",
            "package.json",
        ),
    ),
    "a target of a Makefile": (
        {
            "Makefile": "tests:\n\tcc a.c\n\ntest: tests\n\t./a.out\n",
            "tests/test_a.c": "int main() {}\n",
        },
        "tests/test_a.c",
        ("make test", "", "Makefile"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_command_is_the_one_that_the_settings_prove(name: str, tmp_path: Path) -> None:
    files, test, (run, folder, proof) = CASES[name]
    tree = services(write(tmp_path, files)).tree
    command = command_for(Target(tree, test, tuple(case.name for case in tree.outline(test).tests)))
    assert command is not None
    assert (command.run, command.folder, command.proof.path) == (run, folder, proof)
    assert 1 <= command.proof.start <= command.proof.end <= len(tree.lines(proof) or [])


@pytest.mark.parametrize(
    ("condition", "notes"), [("if(SHOP_TESTS)", ["if(SHOP_TESTS)"]), ("if(X)\nendif()", [])]
)
def test_the_condition_on_which_cmake_builds_tests_is_noted(
    tmp_path: Path, condition: str, notes: list[str]
) -> None:
    files, test, _ = CASES["one program of all tests that CMake lists"]
    root = f"{condition}\nadd_subdirectory(test)\nendif()\n"
    command = command_for(
        Target(services(write(tmp_path, files | {"CMakeLists.txt": root})).tree, test)
    )
    assert command is not None
    assert [note.text for note in command.notes] == notes


@pytest.mark.parametrize(
    ("files", "test"),
    [
        ({"tests/test_a.py": PYTEST}, "tests/test_a.py"),
        ({"package.json": "not JSON", "test/a.test.js": PLAIN}, "test/a.test.js"),
        (
            {"package.json": '{"scripts": {\n"test": "jest"}}\n', "a.test-d.ts": PLAIN},
            "a.test-d.ts",
        ),
        (
            {
                "package.json": '{"scripts": {\n"test": "jest test/jest"}}\n',
                "test/jest/b.spec.js": PLAIN,
                "test/a.test.js": PLAIN,
            },
            "test/a.test.js",
        ),
        ({"Cargo.toml": "[package", "tests/api.rs": RUST}, "tests/api.rs"),
        (
            {"settings.gradle": "", "lib/build.gradle": "plugins {}\n", "lib/ATest.java": "class A {}\n"},
            "lib/ATest.java",
        ),
    ],
)  # fmt: skip
def test_nothing_is_said_where_nothing_proves_it(
    files: dict[str, str], test: str, tmp_path: Path
) -> None:
    assert command_for(Target(services(write(tmp_path, files)).tree, test)) is None
