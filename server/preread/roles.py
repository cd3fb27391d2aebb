"""The role of a file in its project, from its path; what evidence excludes by default."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from preread.languages import LANGUAGES, language_of

Role = Literal["source", "test", "support", "doc", "config", "data", "generated"]
TESTS = frozenset({"test", "support"})  # the tests of a project, and what is only there for them

_PROSE_AND_DATA = frozenset({"YAML", "TOML", "JSON", "Markdown", "reStructuredText"})
_CODE = frozenset(language.name for language in LANGUAGES) - _PROSE_AND_DATA

# What evidence excludes by default, by folder and file names.
_VENDORED = (
    "node_modules vendor vendored _vendor third_party thirdparty bower_components site-packages"
    " .venv venv .tox .yarn"
)
_GENERATED = (
    "dist build out .next .nuxt .output coverage htmlcov target __generated__ generated"
    " __snapshots__ __pycache__"
)
# Inside a folder `src`, these are packages like any other.
_OUTPUT = frozenset("dist build out coverage target".split())
_FOLDERS = dict.fromkeys(_VENDORED.split(), "vendored") | dict.fromkeys(
    _GENERATED.split(), "generated"
)
_FILES = re.compile(
    r"(?P<minified>\.min\.(js|css|mjs)$|\.bundle\.js$|\.map$)"
    r"|(?P<lock>-lock\.(json|yaml)$|\.lock$|\.lockb?$|^go\.sum$|^npm-shrinkwrap\.json$)"
    r"|(?P<generated>\.snap$|\.pb(\.gw)?\.go$|_pb2(_grpc)?\.pyi?$|\.pb\.(cc|h)$|\.generated\.\w+$"
    r"|_generated\.\w+$"
    r"|\.gen\.\w+$|\.g\.(cs|dart)$|^zz_generated)",
    re.IGNORECASE,
)
# The "do not edit" comment of generators at the top of a file.
_HEADER = re.compile(
    r"^[ \t]*(?:#|//|--|;|%|\*|<!--|/\*|\"{3}|\(\*)[^\n\w@]*(?:@generated\b"
    r"|this (?:file|code|module|class) (?:is|was|has been) auto(?:-|matically )?generated\b"
    r"|(?:[^\n]{0,80}\b)?generated\b[^\n]{0,160}(?:\n[^\n]{0,20})?\bdo not (?:edit|modify)\b"
    r"|(?:[^\n]{0,40}\b)?do not (?:edit|modify)\b[^\n]{0,80}(?:\n[^\n]{0,20})?\bgenerated\b)",
    re.IGNORECASE | re.MULTILINE,
)
_HEAD = 1_000  # characters
_MINIFIABLE = (".js", ".mjs", ".cjs", ".css")
# A file with more characters than this and longer lines on average is minified: hand-written lines
# are shorter.
_LONG_FILE, _LONG_LINES = 4_000, 250
_TEST_FILE = re.compile(
    r"^tests?\.py$|^test_.*\.pyi?$|_test\.(py|go|rs|rb|php|exs|dart)$|_tests?\.(rs|py)$"
    r"|^(test|tst)[-_].*\.(c|cc|cpp|cxx|rb)$|[-_](tests?|unittests?|spec)\.(c|cc|cpp|cxx)$"
    r"|[.\-_](test|tests|spec|e2e|cy|e2e-spec|test-d)\.[cm]?[jt]sx?$|^(test|spec)\.[cm]?[jt]sx?$"
    r"|_spec\.rb$|^spec_(?!helper\.).*\.rb$|\.bats$|\.setup\.[cm]?[jt]s$",
)
# Case matters here: "Latest.java" and "Manifest.kt" are not tests.
_TEST_CLASS_FILE = re.compile(
    r"(Test|Tests|TestCase|IT|Spec|Specs)\.(java|kt|kts|cs|php|swift|scala|groovy)$"
    r"|^Test[A-Z].*\.(java|kt)$"
)
# .NET projects such as `Shop.Tests`.
_TEST_PROJECT = re.compile(r"\.(unit|integration|functional)?(tests?|specs)(\.|$)")
_TEST_IN_PROJECT = re.compile(r"(Tester|Fixture|Facts)\.cs$")
_TEST_FOLDERS = frozenset(
    "test tests testing __tests__ __mocks__ __fixtures__ spec specs e2e e2e-tests "
    "integration-tests cypress playwright"
    " integration_tests functional-tests androidtest unittest unittests test-utils test_utils "
    "testdata"
    " testsuite testsuites".split()
)
# `ktor-client-tests`, `IntegrationTests`; the singular may be a product for testing. Case matters,
# also in the second one, which matches Gradle's `src/commonTest`.
_NAMED_FOR_TESTS = re.compile(r"[-_.](tests|specs)$|[a-zI](Tests|Specs)$")
_SOURCE_SET = re.compile(r"(^|/)src/[a-z]\w*Tests?/")
# What Maven and Gradle build the product from.
_MAIN_SOURCE_SET = re.compile(r"(^|/)src/(?:[a-z]\w*M|m)ain/(?:java|kotlin|scala|groovy)/")
_SUPPORT_FOLDERS = frozenset(
    "fixtures fixture helpers helper utils util support mocks __mocks__ __fixtures__ stubs "
    "factories pages"
    " page-objects page_objects pageobjects pom setup commands lib common shared".split()
)
# Input for tests, and stand-ins. Files in these folders that look like tests are examples.
_FIXTURE_FOLDERS = frozenset(
    "fixtures fixture __fixtures__ mocks __mocks__ stubs testdata test-data test_data".split()
)
_SUPPORT_FILE = re.compile(
    r"^conftest\.py$|^(jest|vitest|test|tests|playwright|cypress|global)[.\-_]?(setup|teardown"
    r"|utils?|helpers?)\b"
    r"|^(setup|teardown)[-_]?tests?\b|^(spec_helper|rails_helper|test_helper)\.\w+$"
    r"|[-_]test[-_](utils?|helpers?)\.\w+$|\.(po|page|fixture|fixtures|mock|mocks"
    r"|stub)\.[cm]?[jt]sx?$",
    re.IGNORECASE,
)
_CONFIG_FILE = re.compile(
    r"^\..*rc(\.\w+)?$|\.config\.[cm]?[jt]sx?$|\.config\.\w+\.[cm]?[jt]s$|^(dockerfile|makefile"
    r"|justfile|procfile|jenkinsfile)\b"
    r"|\.(toml|ya?ml|ini|cfg|conf|properties|env|editorconfig|tf|hcl|cmake|mk)$|^\.env"
    r"|^\.git\w+$|^\.\w+ignore$"
    r"|^(package|tsconfig|turbo|nx|lerna|composer|angular|deno|jsconfig|vercel"
    r"|biome)(\.[\w.\-]+)?\.jsonc?$|^go\.(mod|work)$|^setup\.py$"
    r"|^requirements.*\.txt$|^(gemfile|rakefile|cmakelists\.txt|pom\.xml|noxfile\.py|gulpfile\.js"
    r"|gruntfile\.js)$",
    re.IGNORECASE,
)
_DOCS = re.compile(r"(?:^|/)docs?/", re.IGNORECASE)  # with HTML that a tool wrote
# `vitest.config.e2e.ts` is named like a test; Gradle's scripts may be in folders of tests.
_TOOL_CONFIG = re.compile(
    r"^(vitest|vite|jest|playwright|cypress|wdio|karma|detox|nightwatch)\.conf(ig)?\."
    r"|\.gradle(\.kts)?$"
)
_DOC_FILE = re.compile(
    r"\.(md|mdx|markdown|rst|adoc|asciidoc|org|pdf|docx?|odt|tex)$"
    r"|^(readme|changelog|changes|license|licence|authors|contributing|copying|notice|history"
    r"|news)(\.\w+)?$"
    r"|^[a-z_-]+\.[1-8]$",  # a page of a manual
    re.IGNORECASE,
)


def role_of(path: str) -> Role:
    """The role of the file at this path; `generated` for what evidence excludes by default."""
    return "generated" if left_out(path) else own_role(path)


def with_all_tests(matching: Sequence[str], paths: Iterable[str]) -> list[str]:
    """The files that match a glob; if they are tests, with all tests among the project's paths.

    So whoever claims that no test has a text need not know every place that has tests.
    """
    if {role_of(path) for path in matching}.isdisjoint(TESTS):
        return [*matching]
    if any(role_of(path) == "source" for path in matching):
        return [*matching]
    found = {*matching}
    return [path for path in paths if path in found or role_of(path) in TESTS]


@lru_cache(maxsize=65536)
def left_out(path: str) -> str:
    """Why evidence excludes a file by default, judged by its path.

    Returns `vendored`, `generated`, `minified` or `lock`; "" if evidence includes it.
    """
    *folders, name = path.split("/")
    within_sources = False
    for folder in map(str.lower, folders):
        if (kind := _FOLDERS.get(folder)) and not (within_sources and folder in _OUTPUT):
            return kind
        within_sources = within_sources or folder == "src"
    found = _FILES.search(name)
    return (found.lastgroup or "") if found else ""


def left_out_by_text(path: str, text: str) -> str:
    """Why evidence excludes a code file, judged by its text.

    Returns `generated` or `minified`; "" if evidence includes it.
    """
    if _HEADER.search(text[:_HEAD]):
        return "generated"
    is_minified = (
        path.endswith(_MINIFIABLE)
        and len(text) > _LONG_FILE
        and len(text) > _LONG_LINES * (text.count("\n") + 1)
    )
    return "minified" if is_minified else ""


@lru_cache(maxsize=65536)
def own_role(path: str) -> Role:
    """The role of the file at this path, by the naming conventions of test runners and tools."""
    name = path.rpartition("/")[2]
    language = language_of(path)
    is_code = language is not None and language.name in _CODE
    is_html = language is not None and language.name == "HTML"
    if (_DOC_FILE.search(name) and (not is_code or is_html)) or (is_html and _DOCS.search(path)):
        return "doc"
    if _TOOL_CONFIG.search(name):
        return "config"
    if (is_code and _TEST_FILE.search(name)) or _is_test_class(path, name):
        return "test"
    if is_code and _SUPPORT_FILE.search(name):
        return "support"
    if _CONFIG_FILE.search(name):
        return "config"
    return _role_by_folder(path, name) if is_code else "data"


@lru_cache(maxsize=65536)
def may_contain_tests(path: str) -> bool:
    """Whether to look for tests in the text of the file at this path.

    That is a test file, or another code file in a test folder that is neither set-up nor fixture.
    """
    role = own_role(path)
    *folders, name = path.split("/")
    is_set_up = _SUPPORT_FILE.search(name) is not None
    is_fixture = not _FIXTURE_FOLDERS.isdisjoint(map(str.lower, folders))
    return role == "test" or (role == "support" and not is_set_up and not is_fixture)


def _is_test_class(path: str, name: str) -> bool:
    """Whether a file is named like a test's class, where its place does not say otherwise.

    In .NET and in the sources of a JVM product, a `GetCallSpec` may specify anything.
    """
    folders = path.lower().split("/")[:-1]
    is_doubtful = name.endswith(("Spec.cs", "Specs.cs")) or _MAIN_SOURCE_SET.search(path)
    is_for_tests = _in_test_project(folders) or _within_tests(path, folders)
    return bool(_TEST_CLASS_FILE.search(name)) and (not is_doubtful or is_for_tests)


def _in_test_project(folders: list[str]) -> bool:
    return any(map(_TEST_PROJECT.search, folders))


def _role_by_folder(path: str, name: str) -> Role:
    """The role of a code file whose name says nothing."""
    folders = path.lower().split("/")[:-1]
    if name.endswith(".cs") and _in_test_project(folders):
        return "test" if _TEST_IN_PROJECT.search(name) else "support"
    return _role_in_test_folder(folders, name) if _within_tests(path, folders) else "source"


def _within_tests(path: str, folders: list[str]) -> bool:
    """Whether one of these folders is for tests and what they need; `t` at the root is Perl's.

    Below `src/main/java`, folders are packages of the product.
    """
    if main := _MAIN_SOURCE_SET.search(path):
        path = path[: main.start() + 1]
        folders = path.lower().split("/")[:-1]
    return (
        not _TEST_FOLDERS.isdisjoint(folders)
        or folders[:1] == ["t"]
        or any(map(_NAMED_FOR_TESTS.search, path.split("/")[:-1]))
        or _SOURCE_SET.search(path) is not None
    )


def _role_in_test_folder(folders: list[str], name: str) -> Role:
    """The role of a code file in a test folder whose own name does not make it a test."""
    if not _SUPPORT_FOLDERS.isdisjoint(folders):
        return "support"
    # Jest runs every script in __tests__, cargo every file directly in tests/.
    if folders[-1] == "__tests__" or (
        name.endswith(".rs") and folders[-1] == "tests" and name != "mod.rs"
    ):
        return "test"
    return "support"
