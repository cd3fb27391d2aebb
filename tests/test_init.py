"""`preread init`: files fitted to what is found, each written once and never again."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from _trees import TEST, write
from conftest import ROOT, Cli, git, make_repository
from preread.layout import Layout
from preread.operations.conventions import FRAMEWORKS
from preread.project.globs import glob_pattern
from preread.settings import Settings, personal_keys
from preread.settings_loading import load

# One small project a framework: its files, and the gate rules that they become.
PROJECTS: dict[str, tuple[dict[str, str], list[str]]] = {
    "pytest": (
        {
            "pyproject.toml": "[tool.pytest.ini_options]\n",
            "tests/unit/test_login.py": TEST,
            "tests/test_cart.py": TEST,
        },
        ["tests/**/test_{feature}.py"],
    ),
    "unittest": (
        {"app/login_test.py": "import unittest\n", "app/login.py": "x = 1\n"},
        ["**/{feature}_test.py"],
    ),
    "Playwright": (
        {
            "playwright.config.ts": "export default { testDir: './e2e' };\n",
            "e2e/auth/login.spec.ts": "test('a', f);\n",
        },
        ["e2e/**/{feature}.spec.ts"],
    ),
    "Cypress": (
        {"cypress.config.js": "module.exports = {};\n", "cypress/e2e/login.cy.js": "it('a', f);\n"},
        ["cypress/**/{feature}.cy.js"],
    ),
    "Vitest": (
        {
            "package.json": '{"devDependencies": {"vitest": "3"}}\n',
            "src/login.test.tsx": "it('a', f);\n",
        },
        ["**/{feature}.test.tsx"],
    ),
    "Jest": (
        {"web/jest.config.js": "module.exports = {};\n", "web/test/login.test.js": "it('a', f);\n"},
        ["web/test/**/{feature}.test.js"],
    ),
    "Go": (
        {"go.mod": "module a\n", "pkg/login/login_test.go": "package login\n"},
        ["**/{feature}_test.go"],
    ),
    "Rust": (
        {"Cargo.toml": "[package]\n", "tests/login.rs": "#[test] fn a() {}\n"},
        ["tests/{feature}.rs"],
    ),
    "JUnit": (
        {"pom.xml": "<project/>\n", "src/test/java/a/LoginTest.java": "class LoginTest {}\n"},
        ["src/test/**/{feature}Test.java"],
    ),
    "RSpec": (
        {"Gemfile": "gem 'rspec'\n", "spec/models/login_spec.rb": "it 'a' do end\n"},
        ["spec/**/{feature}_spec.rb"],
    ),
}


def rules(project: Path) -> list[str]:
    """The rules of the gates file that was written, comments and mode left out."""
    lines = [
        line.split(" #")[0].strip()
        for line in (project / ".project" / "gates").read_text().split("\n")
    ]
    return [line for line in lines if line and not line.startswith(("#", "mode "))]


@pytest.mark.parametrize("framework", PROJECTS)
def test_existing_tests_become_rules(cli: Cli, tmp_path: Path, framework: str) -> None:
    files, expected = PROJECTS[framework]
    write(tmp_path, files)
    make_repository(tmp_path)
    done = cli("init", "--json")
    assert done.status == 0
    assert [found["framework"] for found in done.json["found"]] == [framework]
    assert rules(tmp_path) == expected
    for rule in rules(tmp_path):
        pattern = glob_pattern(rule.replace("{feature}", "*"))
        assert [name for name in files if pattern.fullmatch(name)]


def test_every_framework_of_the_table_but_the_catch_alls_has_a_project_here() -> None:
    assert {framework.name for framework in FRAMEWORKS} - set(PROJECTS) == {
        "JavaScript tests",
        "Minitest",
    }


def test_the_example_project_gets_its_two_frameworks_and_its_reports(
    cli: Cli, project: Path
) -> None:
    reply = cli("init", "--json", cwd=project).json
    assert rules(project) == ["web/tests/**/{feature}.spec.ts", "api/tests/**/test_{feature}.py"]
    assert reply["reports"] == ["web/test-results/junit.xml", "reports/**/*.xml"]
    settings = load(Layout(project), {})
    assert settings.reports[:2] == ["web/test-results/junit.xml", "reports/**/*.xml"]
    assert set(Settings().reports) <= set(settings.reports)


def test_a_runner_has_only_the_tests_in_the_folders_that_its_scripts_name(
    cli: Cli, tmp_path: Path
) -> None:
    scripts = '"scripts": {\n"test": "npm run lint && jest test/jest"\n}'
    write(
        tmp_path,
        {
            "web/package.json": f'{{"devDependencies": {{"jest": "30"}},\n{scripts}}}\n',
            "web/test/jest/login.spec.js": "it('a', f);\n",
            "web/test/cart.test.js": "it('a', f);\n",
        },
    )
    make_repository(tmp_path)
    found = {one["framework"]: one["rules"] for one in cli("init", "--json").json["found"]}
    assert found == {
        "Jest": ["web/test/**/{feature}.spec.js"],
        "JavaScript tests": ["web/test/**/{feature}.test.js"],
    }


def test_reports_that_git_ignores_are_found(cli: Cli, tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".gitignore": "target/\n",
            "core/pom.xml": "<project/>\n",
            "core/target/surefire-reports/TEST-a.LoginTest.xml": "<testsuite/>\n",
            "web/playwright.config.ts": "reporter: [['json', { outputFile: 'out/results.json' "
            "}]]\n",
            "web/reports/jest.json": "{}\n",
            "api/pytest.ini": "[pytest]\naddopts = --report-log=out/log.jsonl\n",
        },
    )
    make_repository(tmp_path)
    assert cli("init", "--json").json["reports"] == [
        "api/out/log.jsonl", "web/out/results.json", "core/target/*-reports/*.xml",
        "web/reports/**/*.json",
    ]  # fmt: skip


def test_the_settings_file_has_every_key_with_default_and_description(
    cli: Cli, tmp_path: Path
) -> None:
    make_repository(tmp_path)
    assert cli("init").status == 0
    text = (tmp_path / ".project" / "config.toml").read_text()
    assert tomllib.loads(text) == {}
    values = tomllib.loads(re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE))
    own = {key: about for key, about in Settings.model_fields.items() if key not in personal_keys()}
    assert values == Settings().model_dump(mode="json", include=own.keys())
    assert "claude = " not in text
    for about in own.values():
        assert f"# {about.description}\n" in text
    assert load(Layout(tmp_path), {}) == Settings()


def test_without_tests_the_gates_file_has_only_examples(cli: Cli, tmp_path: Path) -> None:
    make_repository(tmp_path)
    done = cli("init")
    assert "note: No tests were found, so .project/gates gates nothing yet." in done.out
    assert rules(tmp_path) == []
    assert "mode block " in (tmp_path / ".project" / "gates").read_text()


def test_dossiers_are_private_unless_shared(cli: Cli, project: Path) -> None:
    (project / ".project" / ".gitignore").unlink()
    assert cli("init", cwd=project).status == 0
    assert (project / ".project" / ".gitignore").read_text() == ".cache/\n.state/\ncontext/\n"
    assert not (project / ".project" / ".gitattributes").exists()
    cli("load", "checkout", cwd=project)
    assert "context" not in git(project, "status", "--porcelain", "-uall")


def test_shared_dossiers_are_committed_and_merge_line_by_line(cli: Cli, project: Path) -> None:
    (project / ".project" / ".gitignore").unlink()
    assert cli("init", "--share", cwd=project).status == 0
    assert (project / ".project" / ".gitignore").read_text() == ".cache/\n.state/\n"
    assert load(Layout(project), {}).share is True
    cli("load", "checkout", cwd=project)
    status = git(project, "status", "--porcelain", "-uall")
    assert ".project/context/checkout/patterns.md" in status
    assert ".state" not in status
    assert ".cache" not in status
    merged = ("patterns.md", "manifest.json")
    for path in (
        *(f"context/checkout/{name}" for name in merged),
        "context/a/b/c.md",
        "knowledge.md",
    ):
        assert (
            git(project, "check-attr", "merge", f".project/{path}").strip().endswith("merge: union")
        )


def test_two_branches_of_a_shared_dossier_merge_without_a_conflict(cli: Cli, project: Path) -> None:
    (project / ".project" / ".gitignore").unlink()
    cli("init", "--share", cwd=project)
    cli("load", "checkout", cwd=project)
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Dossier")
    path = project / ".project" / "context" / "checkout" / "patterns.md"
    text = path.read_text()
    for branch in ("one", "two"):
        git(project, "checkout", "-q", "-b", branch, "main")
        path.write_text(f"{text}- `class Cart` on {branch} (api/shop/cart.py:1-99)\n")
        git(project, "commit", "-q", "-a", "-m", branch)
    git(project, "merge", "-q", "-m", "Both", "one")
    assert "on one" in path.read_text()
    assert "on two" in path.read_text()


def test_existing_files_are_not_overwritten(cli: Cli, project: Path) -> None:
    mine = {
        name: f"# mine: {name}\n"
        for name in ("config.toml", "gates", ".gitignore", ".gitattributes")
    }
    write(project / ".project", mine)
    done = cli("init", "--share", "--json", cwd=project)
    assert done.status == 0
    assert done.json["written"] == []
    assert set(done.json["kept"]) == {f".project/{name}" for name in mine}
    for name, text in mine.items():
        assert (project / ".project" / name).read_text() == text
    notes = " ".join(done.json["notes"])
    assert "it does not list .cache/" in notes
    assert "set `share = true`" in notes


def test_a_second_time_it_keeps_what_the_first_wrote(cli: Cli, project: Path) -> None:
    first = cli("init", "--json", cwd=project).json
    before = {
        path: path.read_bytes() for path in (project / ".project").glob("*") if path.is_file()
    }
    second = cli("init", "--json", cwd=project).json
    assert second["written"] == []
    assert set(second["kept"]) == {*first["written"], *first["kept"]}
    assert {path: path.read_bytes() for path in before} == before


def test_a_link_in_place_of_a_file_is_kept_and_not_followed(cli: Cli, tmp_path: Path) -> None:
    make_repository(tmp_path)
    (tmp_path / ".project").mkdir()
    (tmp_path / ".project" / "gates").symlink_to("nowhere")
    assert ".project/gates" in cli("init", "--json").json["kept"]
    assert not (tmp_path / ".project" / "nowhere").exists()


def test_many_test_folders_become_one_rule(cli: Cli, tmp_path: Path) -> None:
    write(tmp_path, {f"packages/p{n}/tests/test_login.py": TEST for n in range(20)})
    make_repository(tmp_path)
    cli("init")
    assert rules(tmp_path) == ["**/test_{feature}.py"]


@pytest.mark.parametrize("folder", ["a b", "a#b", "!a", "{feature}", "a*", "a?b"])
def test_a_folder_that_no_rule_can_express_gets_no_rule(
    cli: Cli, tmp_path: Path, folder: str
) -> None:
    write(tmp_path, {f"{folder}/tests/test_login.py": TEST})
    make_repository(tmp_path)
    assert cli("init").status == 0
    assert rules(tmp_path) == []


def test_settings_that_are_broken_are_an_error_not_a_guess(cli: Cli, project: Path) -> None:
    write(project / ".project", {"config.toml": "share = maybe\n"})
    done = cli("init", cwd=project)
    assert (done.status, done.err.split(": ")[1]) == (1, "E_SETTINGS")
    assert not (project / ".project" / "gates").exists()


def test_an_installed_package_finds_its_templates_inside_itself(cli: Cli, tmp_path: Path) -> None:
    site = tmp_path / "site"
    shutil.copytree(
        ROOT / "server" / "preread", site / "preread", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copytree(ROOT / "prompts", site / "preread" / "data" / "prompts")
    app = write(tmp_path / "app", {"tests/test_login.py": TEST})
    done = cli("init", cwd=app, env={"PYTHONPATH": str(site)})
    assert (done.status, done.err) == (0, "")
    assert rules(app) == ["tests/**/test_{feature}.py"]
    shutil.rmtree(site / "preread" / "data")
    environ = {"PYTHONPATH": str(site), "TMPDIR": str(tmp_path)}  # it leaves its traceback there
    broken = cli("init", cwd=write(tmp_path / "other", {}), env=environ)
    assert broken.status == 3
    assert "reinstall preread" in broken.err


def test_the_configuration_of_a_runner_is_no_test(cli: Cli, tmp_path: Path) -> None:
    files = {
        "vitest.config.e2e.ts": "export default { test: {} };\n",
        "package.json": '{"devDependencies": {"vitest": "3"}}\n',
        "e2e/login.e2e.ts": "test('a', f);\n",
    }
    done = cli("init", "--json", cwd=write(tmp_path, files))
    assert "vitest.config" not in str(done.json["found"])
    assert all(found["rules"] != ["**/{feature}.e2e.ts"] for found in done.json["found"])


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("def test_login():\n    assert True\n", "pytest"),
        ("import pytest\n\n\nclass TestLogin:\n    def test_a(self): ...\n", "pytest"),
        (
            "import unittest\n\n\nclass A(unittest.TestCase):\n    def test_a(self): ...\n",
            "unittest",
        ),
    ],
)
def test_python_tests_are_told_by_what_they_say(
    cli: Cli, tmp_path: Path, text: str, framework: str
) -> None:
    done = cli("init", "--json", cwd=write(tmp_path, {"tests/test_login.py": text}))
    assert [found["framework"] for found in done.json["found"]] == [framework]


def status_of_git(root: Path) -> str:
    return git(root, "status", "--porcelain", "--untracked-files=all")


def test_before_init_git_sees_nothing_of_a_load(cli: Cli, tmp_path: Path) -> None:
    root = write(tmp_path / "app", {"login.py": "def login():\n    pass\n"})
    make_repository(root)
    cli("load", "login", cwd=root)
    assert status_of_git(root) == ""
    cli("init", cwd=root)
    assert "context/" in (root / ".project" / ".gitignore").read_text()
    seen = status_of_git(root)
    assert ".project/gates" in seen
    assert "context" not in seen


def test_a_folder_does_not_become_a_project_silently(cli: Cli, tmp_path: Path) -> None:
    root = write(tmp_path / "app", {"login.py": "def login():\n    pass\n"})
    first = cli("load", "login", "--json", cwd=root).json
    assert f"{root} had neither .project nor .git" in first["warnings"][0]
    assert "--project DIR" in first["warnings"][0]
    assert cli("load", "other", "--json", cwd=root).json["warnings"][:1] != first["warnings"][:1]


def test_the_home_folder_is_no_project_unless_it_is_made_one(cli: Cli, tmp_path: Path) -> None:
    home = write(tmp_path / "home", {"login.py": "def login():\n    pass\n"})
    done = cli("load", "login", cwd=home, env={"HOME": str(home)})
    assert (done.status, done.err.split(": ")[1]) == (1, "E_PROJECT_DIR")
    assert not (home / ".project").exists()
    (home / ".project").mkdir()
    assert cli("load", "login", cwd=home, env={"HOME": str(home)}).status == 0


def test_undo_of_init_leaves_what_init_did_not_write(cli: Cli, tmp_path: Path) -> None:
    own = {
        ".project/.gitignore": "# ours\nscratch/\n",
        ".project/gates": "mode warn\n",
        ".project/config.toml": "share = true\n",
        ".project/.gitattributes": "*.md text\n",
    }
    for number, names in enumerate((own, [".project/.gitignore"], [".project/gates"])):
        root = write(tmp_path / str(number), {name: own[name] for name in names})
        before = {root / name: own[name] for name in names}
        for command in (["init", "--undo"], ["init"], ["init", "--undo"]):
            done = cli(*command, "--json", cwd=root)
            assert done.status == 0
            assert {path: path.read_text() for path in before} == before
            assert not {*done.json["removed"]} & {*names}
        assert set(done.json["kept"]) >= {*names}


def test_undo_of_init_leaves_git_as_a_load_before_it_did(cli: Cli, tmp_path: Path) -> None:
    root = write(tmp_path / "app", {"login.py": "def login():\n    pass\n"})
    make_repository(root)
    for command in (["load", "login"], ["init"], ["init", "--undo"]):
        assert cli(*command, cwd=root).status == 0
    assert (root / ".project" / "context" / "login").is_dir()
    assert status_of_git(root) == ""


def test_undo_removes_what_init_wrote_and_copies_what_was_changed(cli: Cli, tmp_path: Path) -> None:
    root = write(tmp_path / "app", {"tests/test_login.py": TEST})
    make_repository(root)
    cli("init", "--share", cwd=root)
    done = cli("init", "--undo", "--json", cwd=root)
    assert set(done.json["removed"]) >= {".project/gates", ".project/config.toml"}
    assert not (root / ".project").exists()
    assert status_of_git(root) == ""
    nothing = cli("init", "--undo", cwd=root)
    assert (nothing.status, "nothing to undo" in nothing.out) == (0, True)

    cli("init", cwd=root)
    gates = root / ".project" / "gates"
    changed = gates.read_text() + "mode warn\n"
    gates.write_text(changed)
    (root / ".project" / "knowledge.md").write_text("# Knowledge\n")
    done = cli("init", "--undo", "--json", cwd=root)
    assert not gates.exists()
    copy = root / ".project" / ".state" / "backups" / "_init" / "gates.1"
    assert copy.read_text() == changed
    assert any("gates.1" in note for note in done.json["notes"])
    assert ".project/knowledge.md" in done.json["kept"]
    assert (root / ".project" / ".gitignore").exists()
    assert cli("init", cwd=root).status == 0
    assert gates.exists()


def test_init_says_that_the_repositorys_own_rules_ignore_dossiers(cli: Cli, project: Path) -> None:
    (project / ".gitignore").write_text("# build\n.project\n")
    notes = cli("init", "--share", "--json", cwd=project).json["notes"]
    assert [one for one in notes if "Git ignores" in one] == [
        "Git ignores dossiers because of .gitignore:2:.project; remove that to share them."
    ]
    (project / ".gitignore").write_text("# build\n")
    assert not [
        one
        for one in cli("init", "--share", "--json", cwd=project).json["notes"]
        if "ignores" in one
    ]
