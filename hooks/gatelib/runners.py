"""Which commands of a shell text run tests, and on what. docs/gates.md, "Running tests"."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_TARGETS, MAX_WORD = 20, 300

ANY = ()  # whatever follows
SCRIPTS = ("test", "t", "tst", "e2e")  # of a package: also `test:e2e`, `test-unit`
GOALS = ("test", "tests", "check", "verify", "integration-test", "spec")

# A program, and the words of which one has to follow for it to run tests (options before it are skipped).
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
# Of these any word may be the goal: `mvn -q clean verify`, `gradle :app:test`, `make -j4 test`.
BUILDERS = frozenset(("mvn", "mvnw", "gradle", "gradlew", "make", "gmake", "just", "rake", "task"))
# These start another program, which stands among their first words.
STARTERS = frozenset(
    """npx pnpx bunx npm pnpm yarn bun uv poetry pipenv pdm hatch rye bundle sudo doas time command exec nice nohup env
    timeout xvfb-run cross-env dotenv docker podman docker-compose coverage php node corepack stdbuf""".split()
)
STARTED_WITHIN = 8  # words
MODULE_RUNNERS = frozenset(("pytest", "unittest", "tox", "nox"))
# With one of these nothing is run.
NO_RUN = frozenset(
    """--version --help -h --collect-only --collectonly --co --list --listTests --list-tests --no-run
    --showConfig""".split()
)
PACKAGE_OPTIONS = frozenset(
    ("--prefix", "-C", "--filter", "-F", "--cwd", "-w", "--workspace", "--dir")
)
# Options whose value looks like a target and is none.
VALUED = frozenset(
    """-c -k -m -n -p -o -t -g -r --config --rootdir --project --reporter --grep --outputFile --ignore --confcutdir
    --junitxml --junit-xml --cov-config --cov-report --tsconfig --setup --require --import --manifest-path -f""".split()
)
EXPANDED = frozenset("$`*?{")  # with one of these a word stands for what bash makes of it
# Words that may be folders' names, too, and are a runner's own.
NO_TARGETS = frozenset((*SCRIPTS, "run", "run-script", "exec", "nextest", "workspace", "-"))
_FOLDERS = frozenset(("-C", "--prefix", "--cwd", "--dir"))  # the run happens there
_CODE = (
    ".py",
    ".js",
    ".ts",
    ".jsx",
    ".tsx",
    ".mjs",
    ".cjs",
    ".mts",
    ".cts",
    ".rb",
    ".go",
    ".rs",
    ".php",
    ".java",
    ".kt",
    ".swift",
)


class Run:
    """One command that runs tests: its words, those from the program on, the folder it runs in, the paths it names."""

    __slots__ = ("folder", "last", "program", "targets", "words")

    def __init__(self, words: list[str], program: int, folder: str) -> None:
        self.words = [word for word in words[:program] if not _is_assignment(word)] + words[
            program:
        ]
        self.program = words[program:]
        self.folder = _folder_of(self.program, folder)
        self.targets = _targets(self.program, self.folder)  # absolute
        self.last = True  # whether the whole command's exit status is its own


def runs(commands: Iterable[list[str]], cwd: str) -> list[Run]:
    """The runs of tests among a shell text's simple commands."""
    found: list[Run] = []
    folder = cwd
    for command in commands:
        for run in found:
            run.last = False
        if command and command[0] in ("cd", "pushd"):
            folder = _entered(folder, command[1:])
            continue
        words = [word[:MAX_WORD] for word in command[:200]]
        start = _starts_at(words)
        if start is not None and NO_RUN.isdisjoint(words[start:]):
            found.append(Run(words, start, folder))
    return found


def _entered(folder: str, words: list[str]) -> str:
    words = [word for word in words if word != "--"]
    literal = (
        len(words) == 1
        and words[0] not in ("-", "")
        and words[0][0] != "~"
        and EXPANDED.isdisjoint(words[0])
    )
    return os.path.normpath(os.path.join(folder, words[0])) if literal else folder


def _starts_at(words: list[str]) -> int | None:
    """Where in a command the program stands that runs tests."""
    at = 0
    while at < len(words) and _is_assignment(words[at]):
        at += 1
    if at < len(words) and _is_run(words, at):
        return at
    if at == len(words) or _name(words[at]) not in STARTERS:
        return None
    places = range(at + 1, min(len(words), at + 1 + STARTED_WITHIN))
    return next((place for place in places if _is_run(words, place)), None)


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.replace("_", "a").isalnum() and name.isascii()


def _name(word: str) -> str:
    """The program that a word names, without its folder and what Windows adds."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.endswith((".cmd", ".exe", ".bat")) else name


def _is_run(words: list[str], at: int) -> bool:
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
    return _is_one_of(word, GOALS) or (
        word.startswith("test") and word[4:5].isupper()
    )  # Gradle's `testDebugUnitTest`


def _module(words: list[str]) -> str:
    """The module of `python … -m MODULE`."""
    return (
        next((words[at + 1] for at, word in enumerate(words[:-1]) if word == "-m"), "")
        if words[:1]
        else ""
    )


def _first(words: list[str], scripts: bool) -> str:
    """The first word that is no option; of a package manager also without `run` and what chooses the package."""
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
    """The paths that a run names, absolute, in order: its words that name a file, or look as if they did."""
    found: list[str] = []
    skip = False
    for word in words[1:]:
        valued, skip = skip, word in VALUED or word in _FOLDERS
        expanded = not EXPANDED.isdisjoint(word)
        if (
            valued
            or expanded
            or word.startswith("-")
            or word in NO_TARGETS
            or len(found) >= MAX_TARGETS
        ):
            continue
        path = os.path.normpath(os.path.join(folder, without_place(word)))
        module = _of_module(word, folder) if "unittest" in words else ""
        if module:
            path = module
        elif (
            word.endswith("...")
            or "://" in word
            or not (_looks_like_path(word) or os.path.exists(path))
        ):
            continue
        if path not in found:
            found.append(path)
    return found


def _of_module(word: str, folder: str) -> str:
    """The file of `tests.test_login.TestLogin.test_error`; empty where there is none."""
    parts = word.split(".")[:8]
    places = (os.path.join(folder, *parts[:count]) + ".py" for count in range(len(parts), 0, -1))
    return next((place for place in places if os.path.isfile(place)), "")


def without_place(word: str) -> str:
    """A target without the test or line that it names in the file: `a.py::test_x`, `a.spec.ts:12:3`."""
    word = word.partition("::")[0]
    while True:
        head, sign, tail = word.rpartition(":")
        if not sign or not tail.isdigit():
            return word
        word = head


def _looks_like_path(word: str) -> bool:
    plain = without_place(word)
    return bool(plain) and ("/" in plain or plain.endswith(_CODE) or "::" in word)
