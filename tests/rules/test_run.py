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
    [told] = texts(found(root, "run", "kubernetes"))
    assert told.startswith('no test of the feature was found; this runs others: "python -m pytest ')


def test_the_command_says_that_it_runs_a_test_of_something_else(tmp_path: Path) -> None:
    test = "import cart\n\n\ndef test_total():\n    assert cart.total([]) == 0\n"
    cart = "from login import login\n\n\ndef total(prices):\n    return login(prices)\n"
    files = {"login.py": LOGIN, "cart.py": cart, "tests/test_cart.py": test}
    root = write(tmp_path, {"pyproject.toml": PYTEST, **files})
    [told] = texts(found(root, "run", "login"))
    assert told.startswith('no test of the feature was found; this runs others: "python -m pytest ')


GO = "package shop\n\nfunc Login() {\n}\n"
GO_TEST = 'package shop\n\nimport "testing"\n\nfunc Test{0}(t *testing.T) {{\n\tLogin()\n}}\n'


def test_one_command_runs_the_tests_of_several_files_of_a_package_of_go(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "go.mod": "module shop\n",
            "login.go": GO,
            "login_test.go": GO_TEST.format("Login"),
            "login_again_test.go": GO_TEST.format("LoginAgain"),
            "sub/login_test.go": GO_TEST.format("LoginBelow"),
        },
    )
    told = texts(found(root, "run", "login"))
    names = ("'^TestLogin$|^TestLoginAgain$'", "'^TestLoginAgain$|^TestLogin$'")
    assert any(f'"go test . -run {both}"' in told for both in names)
    assert "\"go test ./sub -run '^TestLoginBelow$'\"" in told
    assert len(told) == 2


def test_a_package_of_go_runs_whole_if_it_has_too_many_tests_to_name(tmp_path: Path) -> None:
    tests = [GO_TEST.format(f"LoginWorksTheWay{n}").partition("func")[2] for n in range(9)]
    of_package = GO_TEST.format("Login") + "".join(f"\nfunc{one}" for one in tests)
    files = {"login.go": GO, "login_test.go": of_package, "sub/login_test.go": of_package}
    root = write(tmp_path, {"go.mod": "module shop\n", **files})
    [told] = texts(found(root, "run", "login"))
    assert told in {'"go test . ./sub"', '"go test ./sub ."'}


def test_a_subtest_is_run_by_the_function_around_it(tmp_path: Path) -> None:
    test = (
        'package shop\n\nimport "testing"\n\nfunc TestAll(t *testing.T) {\n'
        '\tt.Run("login works", func(t *testing.T) {\n\t\tLogin()\n\t})\n'
        '\tt.Run("login twice", func(t *testing.T) {\n\t\tLogin()\n\t})\n}\n\n'
        "func TestOther(t *testing.T) {\n\tOther()\n}\n"
    )
    root = write(tmp_path, {"go.mod": "module shop\n", "login.go": GO, "all_test.go": test})
    assert texts(found(root, "run", "login")) == ["\"go test . -run '^TestAll$'\""]


def test_one_command_runs_the_classes_of_a_module_of_maven(tmp_path: Path) -> None:
    test = "class {0} {{\n  @Test\n  void loginWorks() {{\n    login();\n  }}\n}}\n"
    tests = {f"src/test/java/{n}.java": test.format(n) for n in ("LoginTest", "MoreLoginTest")}
    pom = "<artifactId>shop</artifactId>\n"
    source = {"pom.xml": pom, "src/main/java/Login.java": "class Login {\n  void login() {}\n}\n"}
    [told] = texts(found(write(tmp_path, source | tests), "run", "login"))
    classes = told.strip('"').removeprefix("mvn test -Dtest=").split(",")
    assert sorted(classes) == ["LoginTest", "MoreLoginTest"]


def test_tests_of_the_library_and_in_the_folder_of_tests_have_a_command_each(
    tmp_path: Path,
) -> None:
    inside = "#[test]\nfn login_inside() {\n    login(1);\n}\n"
    outside = "#[test]\nfn login_outside() {\n    login(2);\n}\n"
    root = write(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "shop"\n',
            "src/lib.rs": "pub mod login;\n",
            "src/login.rs": f"pub fn login(a: u8) {{}}\n\n#[cfg(test)]\n{inside}",
            "tests/api.rs": outside,
            "tests/web.rs": outside.replace("outside", "web"),
        },
    )
    told = texts(found(root, "run", "login"))
    assert '"cargo test --lib login::"' in told
    assert {'"cargo test --test api --test web"', '"cargo test --test web --test api"'} & set(told)


def test_each_language_has_its_command_though_one_runs_all_tests(tmp_path: Path) -> None:
    manifest = '{\n  "scripts": {\n    "test": "./all.sh"\n  }\n}\n'
    files = {
        "pytest.ini": "[pytest]\n",
        "login.py": LOGIN,
        "tests/test_login.py": TEST,
        "package.json": manifest,
        "web/login.test.js": "it('login works', () => login());\n",
    }
    told = texts(found(write(tmp_path, files), "run", "login"))
    assert sorted(told) == ['"npm test"', '"python -m pytest tests/test_login.py"']


def test_the_runner_of_vite_plus_is_known(tmp_path: Path) -> None:
    manifest = '{\n  "scripts": {\n    "test": "vp test"\n  }\n}\n'
    files = {"package.json": manifest, "login.js": "function login() {}\n"}
    files["login.test.js"] = "it('login works', () => login());\n"
    told = texts(found(write(tmp_path, files), "run", "login"))
    assert told == ['"npx vp test run login.test.js"']


def test_one_command_of_django_runs_several_files(tmp_path: Path) -> None:
    django = {"manage.py": "execute_from_command_line(sys.argv)\n", "login.py": LOGIN}
    tests = {f"shop/tests/test_login_{n}.py": TEST for n in "ab"}
    root = write(tmp_path, {**django, **tests})
    assert texts(found(root, "run", "login")) == [
        '"python manage.py test shop.tests.test_login_a shop.tests.test_login_b"'
    ]


def test_files_of_one_name_run_together_but_for_pytest(tmp_path: Path) -> None:
    test = "import { it } from 'vitest';\nit('login works', () => {\n  login();\n});\n"
    files = {f"{part}/login.test.js": test for part in ("a", "b")}
    package = '{"scripts": {\n"test": "vitest"\n}}\n'
    root = write(tmp_path, {"package.json": package, "login.js": "function login() {}\n", **files})
    [told] = texts(found(root, "run", "login"))
    assert "a/login.test.js" in told
    assert "b/login.test.js" in told


def dotnet(root: Path, classes: dict[str, str], project: str = "<Project>") -> Path:
    """A project of .NET with a test in each of these files, in the class of that name."""
    package = '<PackageReference Include="xunit" />'
    files = {"src/Login.cs": "class Login { }\n"}
    files["tests/Shop.Tests.csproj"] = f"{project}\n{package}\n</Project>\n"
    test = "    [Fact]\n    public void Logs() { new Login(); }\n"
    for name, owner in classes.items():
        files[f"tests/{name}"] = f"partial class {owner}\n{{\n{test}}}\n"
    return write(root, files)


def test_one_filter_of_dotnet_takes_several_classes(tmp_path: Path) -> None:
    root = dotnet(tmp_path, {"LoginATests.cs": "LoginATests", "LoginBTests.cs": "LoginBTests"})
    (told,) = texts(found(root, "run", "login"))
    assert told == (
        '"dotnet test tests/Shop.Tests.csproj --filter '
        'FullyQualifiedName~LoginATests\\|FullyQualifiedName~LoginBTests"'
    )


def test_a_class_in_several_files_is_named_once(tmp_path: Path) -> None:
    root = dotnet(tmp_path, {"LoginTests.cs": "LoginTests", "LoginTests.Async.cs": "LoginTests"})
    (told,) = texts(found(root, "run", "login"))
    assert told.count("FullyQualifiedName~LoginTests") == 1


def test_dotnet_runs_no_project_of_the_tools_before_its_sdk(tmp_path: Path) -> None:
    old = '<Project xmlns="http://schemas.microsoft.com/developer/msbuild/2003">'
    root = dotnet(tmp_path, {"LoginTests.cs": "LoginTests"}, old)
    assert texts(found(root, "run", "login")) == []


def test_no_tests_are_run_by_name_that_a_command_for_the_whole_package_runs(
    tmp_path: Path,
) -> None:
    many = "".join(
        f"func TestLoginWithALongName{n}(t *testing.T) {{\n\tLogin()\n}}\n" for n in range(5)
    )
    one = "func TestLoginOnce(t *testing.T) {\n\tLogin()\n}\n"
    files = {
        "go.mod": "module example.com/login\n",
        "login.go": "package login\n\nfunc Login() {\n}\n",
        "login_test.go": f"package login\n\n{many}",
        "login_once_test.go": f"package login\n\n{one}",
    }
    assert texts(found(write(tmp_path, files), "run", "login")) == ['"go test ."']
