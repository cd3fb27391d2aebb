"""The command that runs the feature's tests, as a reader of the dossier sees it."""

from pathlib import Path

from _evidence_project import assert_holds, evidence, found, write
from preread.builders import static
from preread.dossier import markdown
from preread.models import Finding, Request

LOGIN = "def login(user):\n    return user\n"
TEST = "from login import login\n\n\ndef test_login():\n    assert login('a') == 'a'\n"
PYTEST = """\
[tool.pytest.ini_options]
addopts = "--strict-markers"
filterwarnings = [
    "error",
    "ignore::DeprecationWarning",
]

[tool.other]
addopts = "not pytest's"
"""


def texts(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings]


def test_the_command_comes_with_the_settings_that_change_what_a_test_may_do(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"pyproject.toml": PYTEST, "login.py": LOGIN, "tests/test_login.py": TEST}
    )
    [one] = found(root, "run", "login")
    assert one.text == (
        '"python -m pytest tests/test_login.py"; `addopts = "--strict-markers"`; '
        "warnings are errors, `filterwarnings`"
    )
    assert one.sources == ("pyproject.toml:1", "pyproject.toml:2", "pyproject.toml:3-6")


def test_warnings_that_are_only_ignored_are_no_errors(tmp_path: Path) -> None:
    settings = '[tool.pytest.ini_options]\nfilterwarnings = ["ignore:error in x"]\n'
    root = write(
        tmp_path, {"pyproject.toml": settings, "login.py": LOGIN, "tests/test_login.py": TEST}
    )
    assert texts(found(root, "run", "login")) == ['"python -m pytest tests/test_login.py"']


def test_each_runner_has_one_line_with_its_folder(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "api/pytest.ini": "[pytest]\n",
            "api/login.py": LOGIN,
            "api/tests/test_login.py": TEST,
            "api/tests/test_login_twice.py": TEST,
            "web/package.json": '{\n  "scripts": {\n    "test": "vitest"\n  }\n}\n',
            "web/login.test.ts": 'import { test } from "vitest";\ntest("login works", () => {});\n',
        },
    )
    told = sorted(texts(found(root, "run", "login")))
    assert told == [
        '"npx vitest run login.test.ts" in web/',
        '"python -m pytest tests/test_login.py tests/test_login_twice.py" in api/',
    ]


def test_files_of_one_name_are_not_run_together(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "login.py": LOGIN,
            "tests/unit/test_login.py": TEST,
            "tests/api/test_login.py": TEST,
        },
    )
    [told] = texts(found(root, "run", "login"))
    assert told.count("test_login.py") == 1


def test_one_command_runs_no_more_than_three_files(tmp_path: Path) -> None:
    tests = {f"tests/test_login_{n}.py": TEST for n in range(5)}
    root = write(tmp_path, {"pytest.ini": "[pytest]\n", "login.py": LOGIN, **tests})
    [told] = texts(found(root, "run", "login"))
    assert told.count("test_login_") == 3


def test_a_runner_that_takes_one_file_gets_one(tmp_path: Path) -> None:
    manifest = '{\n  "scripts": {\n    "test": "cypress run"\n  }\n}\n'
    cypress = {f"cypress/e2e/login{n}.cy.js": "it('login works', () => {});\n" for n in (1, 2)}
    root = write(
        tmp_path, {"package.json": manifest, "login.js": "function login() {}\n", **cypress}
    )
    [told] = texts(found(root, "run", "login"))
    assert told.count(".cy.js") == 1


def test_a_script_for_all_tests_is_named_only_without_a_better_command(tmp_path: Path) -> None:
    manifest = '{\n  "scripts": {\n    "test": "./all.sh"\n  }\n}\n'
    known = {"login.test.js": "import test from 'node:test';\ntest('login works', () => {});\n"}
    unknown = {"login2.test.js": "check('login works', () => login());\n"}
    both = {"package.json": manifest, "login.js": "function login() {}\n", **known, **unknown}
    root = write(tmp_path / "both", both)
    assert texts(found(root, "run", "login")) == ['"node --test login.test.js"']
    one = {"package.json": manifest, "login.js": "function login() {}\n", **unknown}
    assert texts(found(write(tmp_path / "one", one), "run", "login")) == ['"npm test"']


def test_where_nothing_proves_a_runner_nothing_is_said(tmp_path: Path) -> None:
    root = write(tmp_path, {"login.py": LOGIN, "tests/test_login.py": TEST})
    assert found(root, "run", "login") == []


def test_the_summary_repeats_the_first_command(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"pyproject.toml": PYTEST, "login.py": LOGIN, "tests/test_login.py": TEST}
    )
    drafts = static.drafts(Request(feature="login"), evidence(root, "login"))
    summary = next(markdown.render(one) for one in drafts if one.name == "summary.md")
    assert '## Run\n- "python -m pytest tests/test_login.py" (pyproject.toml:1)\n' in summary


def test_hostile_names_and_settings_make_facts_that_check_out(tmp_path: Path) -> None:
    settings = (
        "[tool.pytest.ini_options]\n"
        'addopts = "-k `login` (x) [y]"\n'
        f'xfail_strict = "{"é" * 300}"\n'
        "asyncio_mode = 'auto' # ‘ünïcode’\n"
    )
    root = write(
        tmp_path,
        {
            "pyproject.toml": settings,
            "login.py": LOGIN,
            "tests (old), new/test_login é.py": TEST,
            'tests "new"/test_login_again.py': TEST,
        },
    )
    own = [one for one in evidence(root, "login").findings if one.rule == "run"]
    assert_holds(root, own)
    told = texts(own)
    assert len(told) == 1
    assert "'tests (old), new/test_login é.py'" in told[0]
    assert "asyncio_mode = 'auto' # ‘ünïcode’" in told[0]
    assert "éé" not in told[0]


def test_a_thin_feature_is_told_how_tests_run_here(tmp_path: Path) -> None:
    root = write(
        tmp_path, {"pyproject.toml": PYTEST, "login.py": LOGIN, "tests/test_login.py": TEST}
    )
    assert evidence(root, "kubernetes").thin
    assert len(found(root, "run", "kubernetes")) == 1
