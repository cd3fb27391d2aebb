"""Which files count as sources and which as tests: told from the path, by rules of this benchmark's
own.

They are not Preread's rules on purpose: a file that Preread takes for something else has to show as
lost.
"""

import re
from functools import cache

SOURCE, TEST, ASIDE, OTHER = (
    "source",
    "test",
    "aside",
    "other",
)  # aside: examples, documents' code, benchmarks

CODE = frozenset(
    """
    py pyi pyx js jsx mjs cjs ts tsx mts cts go rs java kt kts scala groovy c h cc cpp cxx hh hpp
    hxx m mm cs fs vb rb rake php phtml swift dart lua ex exs erl clj hs ml jl pl pm r sh bash zsh
    ps1 sql html htm erb haml slim vue svelte astro j2 jinja jinja2 twig css scss sass less proto
    """.split()
)
_GENERATED = re.compile(
    r"(^|/)(node_modules|vendor|vendored|_vendor|third_party|dist|build|__snapshots__"
    r"|__generated__|generated|\.yarn)/"
    r"|\.min\.\w+$|\.pb(\.gw)?\.go$|_pb2(_grpc)?\.pyi?$|\.g\.cs$|\.designer\.cs$|_generated\.\w+$"
    r"|\.generated\.\w+$"
    r"|(^|/)(locales?|i18n/locales?|translations)/",
    re.IGNORECASE,
)
_CONFIG = re.compile(
    r"(^|/)(setup|noxfile|tasks|fabfile|conf)\.py$|\.config\.[cm]?[jt]s$|(^|/)\.[^/]+rc\.[cm]?js$"
    r"|(^|/)build\.rs$|\.gradle\.kts$"
    r"|(^|/)(gulpfile|gruntfile)\.\w+$|(^|/)\.(github|circleci|husky|changeset|vscode)/",
    re.IGNORECASE,
)
_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|__mocks__|__fixtures__|specs?|e2e|cypress|playwright|testdata"
    r"|test-?utils?|testsuite"
    r"|(unit|integration|functional)[-_.]?tests?|[\w.\-]+[.\-_](tests?|specs?))/"
    r"|(^|/)src/\w*[tT]est/|(^|/)(conftest|tests?)\.py$|(^|/)test_[^/]*\.py$|_tests?\.(py|go|rs|rb"
    r"|php|cc|cpp|c)$|_spec\.rb$|_bench\.rs$"
    r"|[.\-_](test|tests|spec|e2e|cy|test-d|bench)\.[cm]?[jt]sx?$|(^|/)(setupTests"
    r"|vitest\.\w+)\.[cm]?[jt]sx?$"
)
_TEST_CLASS = re.compile(
    r"(Tests?|TestCase|IT|Specs?)\.(java|kt|cs|php|swift|scala|groovy)$|(^|/)Test[A-Z]\w*\.(java"
    r"|kt)$"
)
# A library's own helper for its users' tests (`click/testing.py`) is a source: the file alone makes
# no test.
_ASIDE = re.compile(
    r"^(docs?|documentation|www|website|site|examples?|samples?|demos?|bench|benches|benchmarks?)/"
    r"|/(examples?|samples?)/"
)


@cache
def kind_of(path: str) -> str:
    """The kind of one file; `.d.ts` files, lock files, data and prose are `other`."""
    suffix = path.rpartition("/")[2].rpartition(".")[2].lower()
    if suffix not in CODE or _GENERATED.search(path) or _CONFIG.search(path):
        return OTHER
    if _TEST.search(path) or _TEST_CLASS.search(path):
        return TEST
    return ASIDE if _ASIDE.search(path) else SOURCE
