"""How a project tests: its frameworks, folders, name patterns and report files."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from preread import inputs
from preread.project.globs import glob_pattern
from preread.project.runners import javascript
from preread.roles import role_of
from preread.services import Services

MAX_PACKAGES = 50  # whose folders are searched for reports
MAX_FOLDERS = 6  # per pattern; with more, the pattern applies to any folder
TEST_FOLDERS = frozenset(
    {"test", "tests", "testing", "spec", "specs", "e2e", "cypress", "playwright", "integration"}
)
SCRIPTS = ("ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "cts")


class Framework(NamedTuple):
    """How a framework names its tests, which files show that it is used, where it puts reports."""

    name: str
    names: tuple[str, ...]  # patterns of its test files' names, with `{feature}`
    # A regular expression for the names of its configuration files; empty: it may be used anywhere.
    configs: str = ""
    # A file's name, and a text in that file which shows that the framework is used.
    mention: tuple[str, str] | None = None
    reports: tuple[str, ...] = ()  # relative to a package's folder
    only_in: str = ""  # the folder that its tests must be in
    sign: str = ""  # a regular expression that matches the text of this framework's tests only


def _scripts(*kinds: str) -> tuple[str, ...]:
    return tuple(f"{{feature}}.{kind}.{suffix}" for kind in kinds for suffix in SCRIPTS)


SPECS = _scripts("spec", "test")
PYTHON = ("test_{feature}.py", "{feature}_test.py")
JUNIT = tuple(
    f"{{feature}}{end}.{suffix}" for end in ("Test", "Tests", "IT") for suffix in ("java", "kt")
)
JUNIT_RESULTS = ("target/*-reports/*.xml", "build/test-results/**/*.xml")
RESULTS = (
    "test-results/**/*.xml",
    "test-results/**/*.json",
    "reports/**/*.xml",
    "reports/**/*.json",
    "playwright-report/*.json",
    "junit.xml",
    "results.json",
    "test-results.json",
)
# In the order of precedence for files of the same name.
FRAMEWORKS: tuple[Framework, ...] = (
    Framework("Playwright", SPECS, r"playwright\.config\.[cm]?[jt]s", reports=RESULTS),
    Framework(
        "Cypress",
        _scripts("cy"),
        r"cypress\.(config\.[cm]?[jt]s|json)",
        reports=("cypress/results/**/*.xml",),
    ),
    Framework(
        "Vitest", SPECS, r"vitest\.config\.[cm]?[jt]s", ("package.json", '"vitest"'), RESULTS
    ),
    Framework(
        "Jest", SPECS, r"jest\.config\.([cm]?[jt]s|json)", ("package.json", '"jest"'), RESULTS
    ),
    Framework("JavaScript tests", (*SPECS, *_scripts("cy", "e2e"))),
    Framework(
        "pytest",
        PYTHON,
        r"conftest\.py|pytest\.ini",
        ("pyproject.toml", "pytest"),
        RESULTS,
        sign=r"^(?:async )?def test_|^(?:import|from) pytest\b",
    ),
    Framework("unittest", PYTHON, reports=RESULTS),
    Framework("Go", ("{feature}_test.go",), r"go\.mod", reports=("report.xml",)),
    Framework(
        "Rust",
        ("{feature}.rs",),
        r"Cargo\.toml",
        reports=("target/nextest/**/*.xml",),
        only_in="tests",
    ),
    Framework("JUnit", JUNIT, r"pom\.xml|build\.gradle(\.kts)?", reports=JUNIT_RESULTS),
    Framework(
        "RSpec",
        ("{feature}_spec.rb",),
        r"\.rspec|Gemfile",
        reports=("spec/reports/*.xml", "rspec.xml"),
    ),
    Framework(
        "Minitest", ("{feature}_test.rb", "test_{feature}.rb"), reports=("test/reports/*.xml",)
    ),
)
TEST_DIR = re.compile(r"""testDir["']?\s*:\s*["']([\w./-]+)["']""")
DECLARED = re.compile(
    r"""(?:outputFile|junitxml|json-report-file|report-log|output_file|mochaFile)["']?\s*[:=]\s*["']?"""
    r"""([\w./-]+\.(?:xml|jsonl?))(?![\w.])"""
)


@dataclass(frozen=True)
class Convention:
    """One framework as this project uses it."""

    framework: str
    rules: tuple[str, ...]
    count: int
    example: str


def conventions(services: Services) -> list[Convention]:
    """The frameworks with tests in this project, each with the gate rules for their files."""
    left = {path for path in services.tree.files if role_of(path) == "test" and _is_literal(path)}
    found = []
    for framework in FRAMEWORKS:
        folders = tuple(_folders(services, framework))
        candidates = {path for path in left if path.startswith(folders)}
        candidates |= set(_signed(services, framework, left - candidates))
        by_name = {name: _named(framework, name, candidates) for name in framework.names}
        files = sorted(path for paths in by_name.values() for path in paths)
        if files:
            left -= set(files)
            rules: dict[str, None] = {}
            for name, paths in by_name.items():
                if paths:
                    rules.update(dict.fromkeys(_rules(framework, name, paths)))
            found.append(Convention(framework.name, tuple(rules), len(files), files[0]))
    return found


def reports(services: Services) -> list[str]:
    """Globs of the test reports that exist, and of those that a configuration names."""
    tree = services.tree
    packages = sorted({_folder(path) for path in tree.files if _configures(path)} | {""}, key=len)
    declared = list(_declared(services))
    usual = [
        f"{p}{glob}" for p in packages[:MAX_PACKAGES] for f in FRAMEWORKS for glob in f.reports
    ]
    literal = [glob for glob in usual if _is_literal(glob, "*")]
    wanted = list(dict.fromkeys([*declared, *literal, *services.settings.reports]))
    existing = inputs.report_paths(tree, services.settings.model_copy(update={"reports": wanted}))
    patterns = {glob: glob_pattern(glob) for glob in wanted}
    named = [
        next(glob for glob, pattern in patterns.items() if pattern.fullmatch(path))
        for path in existing
    ]
    return list(dict.fromkeys([*declared, *named]))


def _is_literal(path: str, allowed: str = "") -> bool:
    """Whether a gate rule or glob can contain this path unescaped, except for `allowed`."""
    text = re.sub(f"[{allowed}]", "", path) if allowed else path
    return not re.search(r"[\s*?{}#\\]|^!", text)


def _folder(path: str) -> str:
    """The folder of a path, with a slash at the end; empty for the root."""
    return path[: path.rfind("/") + 1]


def _configures(path: str) -> bool:
    name = path.rpartition("/")[2]
    return any(_is_config(f, name) or (f.mention and f.mention[0] == name) for f in FRAMEWORKS)


def _is_config(framework: Framework, name: str) -> bool:
    return bool(framework.configs and re.fullmatch(framework.configs, name))


def _folders(services: Services, framework: Framework) -> Iterator[str]:
    """The folders in which a framework is configured; the root if it needs no configuration."""
    if not framework.configs:
        yield ""
        return
    file, mention = framework.mention or ("", "")
    for path in services.tree.files:
        name = path.rpartition("/")[2]
        if _is_config(framework, name):
            declared = TEST_DIR.search(services.tree.text(path) or "")
            inner = declared[1].removeprefix("./").strip("/") if declared else ""
            yield _folder(path) + (f"{inner}/" if inner and ".." not in inner else "")
        elif name == file and mention in (services.tree.text(path) or ""):
            package = _folder(path)
            runner = framework.name.lower()
            named = javascript.folders_of(services.tree, package.rstrip("/"), runner)
            yield from (f"{package}{inner}/" for inner in sorted(named)) if named else (package,)


def _signed(services: Services, framework: Framework, paths: set[str]) -> Iterator[str]:
    """The tests whose text shows this framework, wherever it is configured."""
    sign = re.compile(framework.sign, re.MULTILINE)
    if framework.sign:
        yield from (path for path in paths if sign.search(services.tree.text(path) or ""))


def _named(framework: Framework, name: str, paths: set[str]) -> list[str]:
    """Those of these tests whose file names match a pattern of the framework."""
    pattern = re.compile("[^/]+".join(re.escape(part) for part in name.split("{feature}")))
    return [
        path
        for path in paths
        if pattern.fullmatch(path.rpartition("/")[2])
        and (not framework.only_in or f"/{_folder(path)}".endswith(f"/{framework.only_in}/"))
    ]


def _rules(framework: Framework, name: str, paths: Iterable[str]) -> list[str]:
    """Gate rules for tests with one name pattern: by their test folders, unless there are many."""
    if framework.only_in:
        return sorted({f"{_folder(path)}{name}" for path in paths})[:MAX_FOLDERS]
    roots = {_test_root(path) for path in paths}
    if None in roots or len(roots) > MAX_FOLDERS:
        return [f"**/{name}"]
    return [f"{root}**/{name}" for root in sorted(root for root in roots if root is not None)]


def _test_root(path: str) -> str | None:
    """The outermost folder whose name says that it is for tests, with a slash at the end."""
    folders = path.split("/")[:-1]
    for depth, folder in enumerate(folders, 1):
        if folder.lower() in TEST_FOLDERS:
            return "/".join(folders[:depth]) + "/"
    return None


def _declared(services: Services) -> Iterator[str]:
    """The report files that configurations name, relative to the root."""
    for path in services.tree.files:
        if _configures(path):
            for match in DECLARED.finditer(services.tree.text(path) or ""):
                relative = match[1].removeprefix("./")
                if (
                    ".." not in relative
                    and not relative.startswith("/")
                    and _is_literal(_folder(path))
                ):
                    yield _folder(path) + relative
