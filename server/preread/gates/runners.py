"""Which commands of a shell script run tests, and on what."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TARGETS = 20
MAX_WORDS, MAX_WORD = 200, 300

ANY = ()  # whatever follows
SCRIPTS = ("test", "t", "tst", "e2e")  # of a package: also `test:e2e`, `test-unit`
GOALS = ("test", "tests", "check", "verify", "integration-test", "spec")

# Program -> words, one of which has to follow (after options) for the program to run tests.
RUNNERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("pytest", "py.test", "tox", "nox", "unittest", "vitest", "jest", "mocha", "rspec"), ANY
    ),
    **dict.fromkeys(("phpunit", "pest", "paratest", "gotestsum", "ctest"), ANY),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun", "composer"), SCRIPTS),
    "playwright": ("test",),
    "cypress": ("run",),
    "deno": ("test",),
    "go": ("test",),
    "cargo": ("test", "t", "nextest"),
    "rails": ("test",),
    "artisan": ("test",),
    "dotnet": ("test",),
    "swift": ("test",),
    "ng": ("test",),
}
# For these, any word may be the goal: `mvn -q clean verify`, `gradle :app:test`, `make -j4 test`.
BUILDERS = frozenset(("mvn", "mvnw", "gradle", "gradlew", "make", "gmake", "just", "rake", "task"))
# These start another program, named among their first words.
STARTERS = frozenset(
    """
    npx pnpx bunx npm pnpm yarn bun uv poetry pipenv pdm hatch rye bundle sudo doas time command
    exec nice nohup env timeout xvfb-run cross-env dotenv docker podman docker-compose coverage
    php node corepack stdbuf
    """.split()
)
MAX_STARTER_WORDS = 8
MODULE_RUNNERS = frozenset(("pytest", "unittest", "tox", "nox"))
# With one of these, no test is run.
NO_RUN = frozenset(
    """
    --version --help -h --collect-only --collectonly --co --list --listTests --list-tests
    --no-run --showConfig
    """.split()
)
PACKAGE_OPTIONS = frozenset(
    ("--prefix", "-C", "--filter", "-F", "--cwd", "-w", "--workspace", "--dir")
)
# Options whose value may look like a target.
VALUED = frozenset(
    """
    -c -k -m -n -p -o -t -g -r --config --rootdir --project --reporter --grep --outputFile
    --ignore --confcutdir --junitxml --junit-xml --cov-config --cov-report --tsconfig --setup
    --require --import --manifest-path -f
    """.split()
)
# Options that choose tests by their names.
FILTERS = frozenset(
    "-k -m -t -g --grep --testNamePattern -run --tests --filter -e --example".split()
)
EXPANDED = frozenset("$`*?{")  # bash may replace a word with one of these
# Words of the runners themselves, even if a folder has that name.
NO_TARGETS = frozenset((*SCRIPTS, "run", "run-script", "exec", "nextest", "workspace", "-"))
_FOLDERS = frozenset(("-C", "--prefix", "--cwd", "--dir"))  # the run happens there
_CODE = tuple(".py .js .ts .jsx .tsx .mjs .cjs .mts .cts .rb .go .rs .php .java .kt .swift".split())


class RunnerCommand:
    """One command that runs tests."""

    __slots__ = ("filters", "folder", "is_last", "places", "program", "targets", "words")

    def __init__(self, words: list[str], start: int, folder: str) -> None:
        before = [word for word in words[:start] if not _is_assignment(word)]
        self.words = before + words[start:]
        self.program = words[start:]  # from the program's name on
        self.folder = _folder_of(self.program, folder)  # that it runs in
        self.targets = _targets(self.program, self.folder)  # the absolute paths that it names
        self.places = _places(self.program)  # the tests in them: `a.py::test_x`, `a.spec.ts:12`
        self.filters = _filters(self.program)  # `-k login`
        self.is_last = True  # whether the exit status of the whole script is its own


def runner_commands(commands: Iterable[list[str]], cwd: str) -> list[RunnerCommand]:
    """The simple commands of a shell script that run tests."""
    found: list[RunnerCommand] = []
    folder = cwd
    for command in commands:
        for earlier in found:
            earlier.is_last = False
        if command and command[0] in ("cd", "pushd"):
            folder = _entered(folder, command[1:])
            continue
        words = [word[:MAX_WORD] for word in command[:MAX_WORDS]]
        start = _start_of_runner(words)
        if start is not None and NO_RUN.isdisjoint(words[start:]):
            found.append(RunnerCommand(words, start, folder))
    return found


def _entered(folder: str, words: list[str]) -> str:
    """The folder after `cd WORDS`; the same one when that is not literal."""
    words = [word for word in words if word != "--"]
    if len(words) != 1 or words[0] in ("-", "") or words[0].startswith("~"):
        return folder
    if not EXPANDED.isdisjoint(words[0]):
        return folder
    return os.path.normpath(os.path.join(folder, words[0]))


def _start_of_runner(words: list[str]) -> int | None:
    """The index of the program that runs tests; None when there is none."""
    at = 0
    while at < len(words) and _is_assignment(words[at]):
        at += 1
    if at < len(words) and _is_runner(words, at):
        return at
    if at == len(words) or _name(words[at]) not in STARTERS:
        return None
    places = range(at + 1, min(len(words), at + 1 + MAX_STARTER_WORDS))
    return next((place for place in places if _is_runner(words, place)), None)


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.replace("_", "a").isalnum() and name.isascii()


def _name(word: str) -> str:
    """The program that a word names, without its folder and the endings of Windows."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.endswith((".cmd", ".exe", ".bat")) else name


def _is_runner(words: list[str], at: int) -> bool:
    name, rest = _name(words[at]), words[at + 1 :]
    if name == "py" or name.rstrip("0123456789.") == "python":
        return _module(rest) in MODULE_RUNNERS
    if name == "node":
        return "--test" in rest
    if name in BUILDERS:
        return any(_is_goal(word.rpartition(":")[2] if ":" in word else word) for word in rest)
    wanted = RUNNERS.get(name)
    if wanted is None:
        return False
    return wanted is ANY or _is_one_of(_first(rest, scripts=wanted is SCRIPTS), wanted)


def _is_one_of(word: str, wanted: tuple[str, ...]) -> bool:
    """Whether a word is one of these, or one with something after it: `test:e2e`, `test-unit`."""
    plain = word.replace(":", "-").replace("_", "-").partition("-")[0]
    return word in wanted or (len(plain) > 2 and plain in wanted)


def _is_goal(word: str) -> bool:
    is_variant = word.startswith("test") and word[4:5].isupper()  # Gradle's `testDebugUnitTest`
    return is_variant or _is_one_of(word, GOALS)


def _module(words: list[str]) -> str:
    """The module of `python … -m MODULE`."""
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if word == "-m"), "")


def _first(words: list[str], scripts: bool) -> str:
    """The first word that is not an option; for scripts, not `run` or the package, either."""
    at = 0
    while at < len(words):
        word = words[at]
        if word.startswith(("-", "+")):
            at += 2 if word in PACKAGE_OPTIONS else 1
        elif scripts and word in ("run", "run-script"):
            at += 1
        elif scripts and word == "workspace":
            at += 2
        else:
            return word
    return ""


def _folder_of(words: list[str], folder: str) -> str:
    for at, word in enumerate(words[:-1]):
        if word in _FOLDERS:
            return os.path.normpath(os.path.join(folder, words[at + 1]))
    return folder


def _targets(words: list[str], folder: str) -> list[str]:
    """The absolute paths that a command names, in order: words that are, or look like, a file."""
    found: dict[str, None] = {}
    is_value = False
    for word in words[1:]:
        was_option, is_value = is_value, word in VALUED or word in _FOLDERS
        if was_option or word.startswith("-") or word in NO_TARGETS:
            continue
        path = _target(word, folder, is_unittest="unittest" in words)
        if path and len(found) < MAX_TARGETS:
            found[path] = None
    return list(found)


def _places(words: list[str]) -> list[str]:
    return [word for word in words[1:] if not word.startswith("-") and without_place(word) != word]


def _filters(words: list[str]) -> list[str]:
    """The options that choose tests by name, with their values."""
    pairs = zip(words[1:], [*words[2:], ""])
    return [
        f"{word} {value}" if word in FILTERS else word
        for word, value in pairs
        if word in FILTERS or word.partition("=")[0] in FILTERS
    ]


def _target(word: str, folder: str, is_unittest: bool) -> str:
    """The path that one word names; empty when it names none."""
    if not EXPANDED.isdisjoint(word):
        return ""
    module = _of_module(word, folder) if is_unittest else ""
    if module or word.endswith("...") or "://" in word:
        return module
    path = os.path.normpath(os.path.join(folder, without_place(word)))
    return path if _looks_like_path(word) or os.path.exists(path) else ""


def _of_module(word: str, folder: str) -> str:
    """The file of `tests.test_login.TestLogin.test_error`; empty when there is none."""
    parts = word.split(".")[:8]
    places = (os.path.join(folder, *parts[:count]) + ".py" for count in range(len(parts), 0, -1))
    return next((place for place in places if os.path.isfile(place)), "")


def without_place(word: str) -> str:
    """A target without the test or line in the file: `a.py` of `a.py::test_x` and `a.py:12:3`."""
    word = word.partition("::")[0]
    while True:
        head, sign, tail = word.rpartition(":")
        if not sign or not tail.isdigit():
            return word
        word = head


def _looks_like_path(word: str) -> bool:
    plain = without_place(word)
    return bool(plain) and ("/" in plain or plain.endswith(_CODE) or "::" in word)
