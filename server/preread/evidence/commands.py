"""How the feature's tests are run: the runner's settings, scripts nearest to the tests, what CI adds, a bar to keep."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from preread.dossier import code
from preread.evidence import builds, cases, phrases
from preread.evidence.scripts import WATCH, script_for
from preread.evidence.view import View
from preread.evidence.workflows import is_of_others, is_whole, rows
from preread.models import Finding
from preread.sources import Ref

# Settings file of a runner → the line that opens its section; of several in one folder the first one counts.
SECTIONS: dict[str, re.Pattern[str]] = {
    "pytest.ini": re.compile(r"\[pytest\]"),
    "pyproject.toml": re.compile(r"\[tool\.pytest(\.ini_options)?\]"),
    "tox.ini": re.compile(r"\[pytest\]"),
    "setup.cfg": re.compile(r"\[tool:pytest\]"),
    "Cargo.toml": re.compile(r"\[package\]|\[workspace\]"),
    "go.mod": re.compile(r"module \S+"),
    "pom.xml": re.compile(r"\s*<artifactId>[^<]+</artifactId>"),
    "build.gradle": re.compile(r"\s*(?:plugins|dependencies)\s*\{"),
    "build.gradle.kts": re.compile(r"\s*(?:plugins|dependencies)\s*\{"),
    "phpunit.xml": re.compile(r"\s*<phpunit\b"),
    "phpunit.xml.dist": re.compile(r"\s*<phpunit\b"),
    ".rspec": re.compile(r"\s*-"),
    ".csproj": re.compile(r"\W*<Project\b"),
    "Package.swift": re.compile(r"\s*\.testTarget\("),
    "Rakefile": re.compile(r"\s*Rake::TestTask\.new(?:\(\s*:?[\"']?([\w:]+)|\s+:([\w:]+))?"),
}
RUN = {
    "py": "python -m pytest {path}",
    "go": "go test ./{folder}",
    "rs": "cargo test{target}",
    "java": "mvn{among} test -Dtest={stem}",
    "kt": "mvn{among} test -Dtest={stem}",
    "php": "vendor/bin/phpunit {path}",
    "rb": "bundle exec rspec {path}",
    "swift": "swift test --filter {group}",
    "cs": "dotnet test {base} --filter FullyQualifiedName~{stem}",
}
TARGET = re.compile(r"[\w-]*(?:test|check|e2e)[\w-]*:(?!=)")
SETTING = re.compile(
    r"\s*(?:addopts|filterwarnings|asyncio_mode|xfail_strict|timeout)\b(?!\s*=\s*$)"
)
RUNNER = re.compile(
    r"\b(?:pytest|go test|cargo (?:nextest|test)|vitest|jest|playwright test|mvnw? .*(?:test|verify)|gradlew? .*test"
    r"|(?:npm|pnpm|yarn)(?: run)? test|rspec|phpunit|swift test|dotnet test|ctest)\b"
)
STAYS = re.compile(r"\bvitest(?!\s+run\b)(?!.*--run\b)")
FLAG = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")
BAR = re.compile(r"--(?:cov-)?fail-under[= ]\d+|fail_under\s*=\s*\d+")
BARS = re.compile(
    r"(?:scripts?|tools|\.github/workflows)/[^/]+|(?:pyproject\.toml|setup\.cfg|\.coveragerc|noxfile\.py|Makefile|tox\.ini)"
)
SCRIPTS = frozenset("js jsx ts tsx mjs cjs vue svelte".split())
# A runner's word → the endings of what it runs; all others run scripts.
SPOKEN = {
    "pytest": {"py"},
    "go test": {"go"},
    "cargo": {"rs"},
    "mvn": {"java", "kt"},
    "gradle": {"java", "kt"},
    "rspec": {"rb"},
    "phpunit": {"php"},
    "swift": {"swift"},
    "dotnet": {"cs"},
    "ctest": {"c", "cc", "cpp"},
}
RAKE = "bundle exec rake {task} TEST={path}"
GRADLE = "./gradlew {task} --tests {stem}"
OTHERS = ("CMakeLists.txt",)
UNNAMED = (
    "Package.swift",
    ".gradle",
    ".kts",
    ".dist",
    ".xml",
    ".rspec",
    ".csproj",
)  # whose first line tells nothing
MOST_SETTINGS, MOST_FILES = 2, 6
WHOLE = 160  # characters of a command: a longer one is not quoted, none is cut
LARGE = 60_000  # bytes of a settings file


def commands(view: View) -> Iterator[Finding]:
    """How to run just the feature's tests, by the settings nearest to them."""
    tests = dict.fromkeys(
        [hot.file.path for hot in view.cases] + [f.path for f in view.tests if f.role == "test"]
    )
    own = {file.path for file in (*view.tests, *view.sources) if cases.holds(view, file)}
    seen: set[str] = set()
    of_each: dict[str, list[str]] = {}
    for test in list(tests)[:MOST_FILES]:
        of_each.setdefault(_spoken(test), []).append(test)
    for first, *others in reversed(of_each.values()):
        for test in (first, *(other for other in others if other in own)):
            if found := _nearest(view, test, seen):
                yield from found
                break


def _nearest(view: View, test: str, seen: set[str]) -> list[Finding]:
    """What the settings and scripts of the nearest folder that has some say of a test, without those told already."""
    for folder in [str(parent) for parent in PurePosixPath(test).parents]:
        prefix = "" if folder == "." else f"{folder}/"
        paths = [
            f"{prefix}{name}"
            for name in (*SECTIONS, "package.json", "Makefile", "justfile", *OTHERS)
        ]
        paths += _csharp(view, prefix) if test.endswith(".cs") else []
        near = [
            p for p in paths if p in view.services.tree.files and _kin(p.rpartition("/")[2], test)
        ]
        found, by_settings = [], False
        for path in near:
            is_settings = _settings(path) in SECTIONS or path.endswith("tox.ini")
            one = (
                None
                if path in seen or (is_settings and by_settings)
                else _command_in(view, path, test)
            )
            if one is not None:
                found.append(one)
                by_settings = by_settings or is_settings
        if found:
            seen.update(near)
            return found
    return []


def _csharp(view: View, folder: str) -> list[str]:
    """The C# projects of a folder."""
    return sorted(
        p
        for p in view.services.tree.files
        if p.endswith(".csproj") and p.rpartition("/")[0] == folder[:-1]
    )


def _settings(path: str) -> str:
    """A settings file's name in SECTIONS."""
    return ".csproj" if path.endswith(".csproj") else path.rpartition("/")[2]


def _spoken(test: str) -> str:
    """The suffix of a test, one for all that the same runner takes."""
    suffix = test.rpartition(".")[2]
    return "js" if suffix in SCRIPTS else "java" if suffix == "kt" else suffix


def _command_in(view: View, path: str, test: str) -> Finding | None:
    name, opens = path.rpartition("/")[2], SECTIONS.get(_settings(path))
    if name == "package.json":
        return _npm(view, path, test)
    if name == "CMakeLists.txt":
        return _ctest(view, path, test)
    found = _section(view, path, opens, test) if opens else _make(view, path, test)
    return _tox(view, path, test) if found is None and name == "tox.ini" else found


def _kin(name: str, test: str) -> bool:
    """Whether a settings file can be about a test of this language."""
    suffix = test.rpartition(".")[2]
    if name == "package.json":
        return suffix in SCRIPTS
    if name == "CMakeLists.txt":
        return suffix in SPOKEN["ctest"]
    own = {
        "Cargo.toml": "rs",
        "go.mod": "go",
        "pom.xml": "java",
        "phpunit.xml": "php",
        ".rspec": "rb",
    }
    own |= {"phpunit.xml.dist": "php", "Package.swift": "swift", "Rakefile": "rb"}
    if name.endswith(".csproj"):
        return suffix == "cs"
    if name.startswith("build.gradle"):
        return suffix in {"java", "kt"}
    return (
        own[name] == suffix if name in own else name in {"Makefile", "justfile"} or suffix == "py"
    )


def _section(view: View, path: str, opens: re.Pattern[str], test: str) -> Finding | None:
    """The command for one test file, with what its runner is told in the project's settings."""
    lines = view.services.tree.lines(path) or []
    number = next((n for n, line in enumerate(lines, 1) if opens.match(line)), 0)
    base = path.rpartition("/")[0]
    task = builds.gradle(view.services.tree, path, test) if ".gradle" in path else ""
    run = RUN.get(test.rpartition(".")[2], "") if ".gradle" not in path else GRADLE if task else ""
    if path.endswith("Rakefile") and number and (rake := opens.match(lines[number - 1])):
        run, task = RAKE, rake[1] or rake[2] or "test"
    if not number or not run:
        return None
    inner = test.removeprefix(f"{base}/") if base else test
    stem = inner.rpartition("/")[2].rpartition(".")[0]
    among = f" -pl {base}" if base and "pom.xml" in view.services.tree.files else ""
    target = builds.cargo(view.services.tree, base, test, inner) if test.endswith(".rs") else ""
    folder = inner.rpartition("/")[0]
    group = next(
        (hot.case.group for hot in view.cases if hot.file.path == test and hot.case.group), stem
    )
    shown = run.format(
        path=inner,
        folder=folder,
        stem=stem,
        task=task,
        target=target,
        among=among,
        base=base or ".",
        group=group,
    )
    told: list[str] = []
    last = number
    for n in range(number + 1, min(number + 40, len(lines)) + 1):
        if lines[n - 1].startswith("[") or len(told) == MOST_SETTINGS:
            break
        if SETTING.match(lines[n - 1]):
            last = n if phrases.balanced(lines[n - 1]) else min(n + 1, len(lines))
            told.append(phrases.quote(" ".join(lines[n - 1 : last]).rstrip(", "), 60))
    if told:
        return _command(f'"{shown}"; {", ".join(told)}', [_at(path, number, last)], 0.75)
    named = "" if path.endswith(UNNAMED) else f"{phrases.quote(lines[number - 1], 80)}: "
    return _command(f'{named}"{shown}"', [_at(path, number)], 0.75)


def _at(path: str, start: int, end: int = 0) -> str:
    return str(Ref("lines", path, start, end or start))


def _command(text: str, sources: list[str], score: float, rule: str = "commands") -> Finding:
    return Finding(
        rule=rule,
        kind="command",
        text=text,
        sources=tuple(dict.fromkeys(sources)),
        reason="it says how the feature's tests run",
        score=score,
    )


def _npm(view: View, path: str, test: str) -> Finding | None:
    """The script that names the test file, else the one that runs it by its patterns, else the first of a runner."""
    lines, base = view.services.tree.lines(path) or [], path.rpartition("/")[0]
    inner = test.removeprefix(f"{base}/") if base else test
    if number := next((n for n, line in enumerate(lines, 1) if inner in line), 0):
        return _command(
            phrases.quote(lines[number - 1].strip().rstrip(","), WHOLE), [_at(path, number)], 0.8
        )
    script = script_for(view.services.tree, path, inner)
    if script is None:
        return None
    line = " ".join(lines[script.line - 1].split()).rstrip(",")
    shown = phrases.quote(line, WHOLE) if len(line) <= WHOLE else f'"npm run {script.name}"'
    once = f'; once: "npx vitest run {inner}"' if STAYS.search(line) else ""
    return _command(f"{shown}{once}", [_at(path, script.line)], 0.7)


def _ctest(view: View, path: str, test: str) -> Finding | None:
    told = builds.ctest(view.services.tree, path, test)
    if told is None:
        return None
    line = phrases.quote((view.services.tree.lines(path) or [])[told[0] - 1].strip())
    return _command(f'{line}: "ctest -R {told[1]}"', [_at(path, told[0])], 0.75)


def _tox(view: View, path: str, test: str) -> Finding | None:
    """The command that tox hands arguments to, with the test file as what its runner takes: a path or a module."""
    told = builds.tox(view.services.tree, path)
    if told is None or len(told[1]) > WHOLE:
        return None
    base = path.rpartition("/")[0]
    inner = (test.removeprefix(f"{base}/") if base else test).removeprefix(
        "src/" if "pytest" not in told[1] else ""
    )
    given = (
        inner
        if re.search(r"\bpy\.?test\b", told[1])
        else inner.removesuffix(".py").replace("/", ".")
    )
    return _command(f'{code(told[1])}: "tox -e py -- {given}"', [_at(path, told[0])], 0.72)


def _make(view: View, path: str, test: str) -> Finding | None:
    """The first target that runs a test runner for the test's language."""
    lines = view.services.tree.lines(path) or []
    for number, line in enumerate(lines, 1):
        if TARGET.match(line) and not WATCH.search(line):
            below = [
                n
                for n in range(number + 1, min(number + 6, len(lines)) + 1)
                if RUNNER.search(lines[n - 1])
            ]
            run = " ".join(lines[below[0] - 1].split()).lstrip("@-") if below else ""
            if run and not WATCH.search(run) and _speaks(run, {test.rpartition(".")[2]}):
                shown = f" runs {code(run)}" if len(run) <= WHOLE and not run.endswith("\\") else ""
                return _command(
                    f'"make {line.partition(":")[0]}"{shown}', [_at(path, number, below[0])], 0.7
                )
    return None


def checks(view: View) -> Iterator[Finding]:
    """What CI adds to a plain run of the tests: flags and variants, and a bar for coverage."""
    suffixes = {file.path.rpartition(".")[2] for file in view.tests[:4]}
    best: tuple[int, str, int, str] | None = None
    bar: tuple[str, int, str] | None = None
    for path, stat in view.services.tree.files.items():
        if not BARS.fullmatch(path) or stat.st_size > LARGE:
            continue
        workflow = path.startswith(".github/")
        lines = view.services.tree.lines(path) or []
        for number, line in enumerate(lines, 1):
            if bar is None and (match := BAR.search(line)):
                bar = path, number, match[0]
            run = " ".join(re.sub(r"^\s*(?:-\s+)?(?:run:\s*)?", "", line).split())
            runner = RUNNER.search(run) if workflow else None
            if runner is None or WATCH.search(run) or "bench" in path:
                continue
            if not _speaks(run, suffixes) or line.strip().startswith(("#", "- name", "name")):
                continue
            flags = len(FLAG.findall(run[runner.start() :]))
            if (
                flags
                and (best is None or flags > best[0])
                and is_whole(run, lines)
                and not is_of_others(view, run)
            ):
                best = flags, path, number, run
    if bar is not None:
        yield _command(
            f"coverage has to stay: {phrases.quote(bar[2])}", [_at(bar[0], bar[1])], 0.6, "checks"
        )
    if best is not None:
        _, path, number, run = best
        listed = rows(run, view.services.tree.lines(path) or [])[:1]
        told = "".join(f", with {phrases.quote(row, 80)}" for _, row in listed)
        cited = [*(_at(path, n) for n, _ in listed), _at(path, number)]
        yield _command(f"CI runs {code(run)}{told}", cited, 0.6, "checks")


def _speaks(run: str, suffixes: set[str]) -> bool:
    """Whether a runner's command is for tests of one of these languages."""
    for word, ends in SPOKEN.items():
        if word in run:
            return bool(ends & suffixes)
    return bool(SCRIPTS & suffixes)
