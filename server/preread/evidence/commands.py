"""How the feature's tests are run: the runner's settings, scripts nearest to the tests, what CI adds, a bar to keep."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import PurePosixPath

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import View
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
}
RUN = {
    "py": "python -m pytest {path}",
    "go": "go test ./{folder}",
    "rs": "cargo test{target}",
    "java": "mvn test -Dtest={stem}",
    "php": "vendor/bin/phpunit {path}",
    "rb": "bundle exec rspec {path}",
    "cs": "dotnet test {base} --filter FullyQualifiedName~{stem}",
}
GRADLE = "./gradlew {module}test --tests {stem}"
SCRIPT = re.compile(
    r'\s*"(?!pre|post)[\w:.-]*(?:test|e2e)[\w:.-]*"\s*:\s*"(?=[^"]*\b(?:vitest|jest|playwright|mocha|ava|karma)\b)[^"]+"'
)
TARGET = re.compile(r"[\w-]*(?:test|check|e2e)[\w-]*:(?!=)")
SETTING = re.compile(r"\s*(?:addopts|filterwarnings|asyncio_mode|xfail_strict|timeout)\b(?!\s*=\s*$)")
RUNNER = re.compile(
    r"\b(?:pytest|go test|cargo (?:nextest|test)|vitest|jest|playwright test|mvnw? .*(?:test|verify)|gradlew? .*test"
    r"|(?:npm|pnpm|yarn)(?: run)? test|rspec|phpunit|swift test|dotnet test|ctest)\b"
)
WATCH = re.compile(
    r"(?i)watch|bench|codspeed|debug|--ui\b|--update|snapshot"
)  # no run of the tests that ends by itself
STAYS = re.compile(r"\bvitest(?!\s+run\b)(?!.*--run\b)")
FLAG = re.compile(r"(?<!\S)--?[A-Za-z][\w-]*")
MATRIX = re.compile(r"\$\{\{\s*matrix\.(\w+)")
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
CUT = re.compile(r"\s*\$\{\{[^}]*$")
UNNAMED = (".gradle", ".kts", ".dist", ".xml", ".rspec", ".csproj")  # whose first line tells nothing
CARGO_NAME = re.compile(r"[\w-]+")
MOST_SETTINGS, MOST_FILES = 2, 6
LARGE = 60_000  # bytes of a settings file


def commands(view: View) -> Iterator[Finding]:
    """How to run just the feature's tests, by the settings nearest to them."""
    tests = dict.fromkeys([hot.file.path for hot in view.cases] + [f.path for f in view.tests if f.role == "test"])
    seen: set[str] = set()
    first = {_spoken(test): test for test in reversed(list(tests)[:MOST_FILES])}  # the first of each language
    for test in reversed(first.values()):
        for folder in [str(parent) for parent in PurePosixPath(test).parents]:
            prefix = "" if folder == "." else f"{folder}/"
            paths = [f"{prefix}{name}" for name in (*SECTIONS, "package.json", "Makefile", "justfile")]
            paths += _csharp(view, prefix) if test.endswith(".cs") else []
            near = [p for p in paths if p in view.services.tree.files and _kin(p.rpartition("/")[2], test)]
            found, by_settings = [], False
            for path in near:
                is_settings = _settings(path) in SECTIONS
                one = None if path in seen or (is_settings and by_settings) else _command_in(view, path, test)
                if one is not None:
                    found.append(one)
                    by_settings = by_settings or is_settings
            seen.update(near)
            yield from found
            if found:
                break


def _csharp(view: View, folder: str) -> list[str]:
    """The C# projects of a folder."""
    return sorted(p for p in view.services.tree.files if p.endswith(".csproj") and p.rpartition("/")[0] == folder[:-1])


def _settings(path: str) -> str:
    """A settings file's name in SECTIONS."""
    return ".csproj" if path.endswith(".csproj") else path.rpartition("/")[2]


def _spoken(test: str) -> str:
    """The suffix of a test, one for all that the same runner takes."""
    suffix = test.rpartition(".")[2]
    return "js" if suffix in SCRIPTS else "java" if suffix == "kt" else suffix


def _command_in(view: View, path: str, test: str) -> Finding | None:
    opens = SECTIONS.get(_settings(path))
    return _section(view, path, opens, test) if opens else _script(view, path, test)


def _kin(name: str, test: str) -> bool:
    """Whether a settings file can be about a test of this language."""
    suffix = test.rpartition(".")[2]
    if name == "package.json":
        return suffix in SCRIPTS
    own = {"Cargo.toml": "rs", "go.mod": "go", "pom.xml": "java", "phpunit.xml": "php", ".rspec": "rb"}
    own["phpunit.xml.dist"] = "php"
    if name.endswith(".csproj"):
        return suffix == "cs"
    if name.startswith("build.gradle"):
        return suffix in {"java", "kt"}
    return own[name] == suffix if name in own else name in {"Makefile", "justfile"} or suffix == "py"


def _section(view: View, path: str, opens: re.Pattern[str], test: str) -> Finding | None:
    """The command for one test file, with what its runner is told in the project's settings."""
    lines = view.services.tree.lines(path) or []
    number = next((n for n, line in enumerate(lines, 1) if opens.match(line)), 0)
    base = path.rpartition("/")[0]
    run = GRADLE if ".gradle" in path else RUN.get(test.rpartition(".")[2], "")
    if not number or not run:
        return None
    inner = test.removeprefix(f"{base}/") if base else test
    stem = inner.rpartition("/")[2].rpartition(".")[0]
    module = f":{base.replace('/', ':')}:" if base else ""
    target = _cargo_target(view, base, inner)
    folder = inner.rpartition("/")[0]
    shown = run.format(path=inner, folder=folder, stem=stem, module=module, target=target, base=base or ".")
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


def _cargo_target(view: View, base: str, inner: str) -> str:
    """What picks a Rust file's tests: the target of tests/, the module of src/, nothing for others."""
    first, *rest = inner.removesuffix(".rs").split("/")
    if first == "src":
        modules = [name for name in rest if name not in {"mod", "lib", "main"}]
        return f" {'::'.join(modules)}::" if modules else ""
    if first != "tests":
        return ""
    declared = _declared_targets(view, base)
    if declared is not None:
        own, module = declared.get(inner), PurePosixPath(inner).stem
        shared = [name for path, name in declared.items() if PurePosixPath(path).parent == PurePosixPath(inner).parent]
        return f" --test {own}" if own else f" --test {shared[0]} {module}" if shared else f" {module}"
    main = "/".join(filter(None, (base, "tests", *rest[:1], "main.rs")))
    return f" --test {rest[0]}" if len(rest) == 1 or main in view.services.tree.files else ""


def _declared_targets(view: View, base: str) -> dict[str, str] | None:
    """The test targets of a crate that does not have cargo find them: path to name; None for one that has."""
    text = view.services.tree.read(f"{base}/Cargo.toml" if base else "Cargo.toml") or ""
    if "autotests" not in text:
        return None
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return None
    package, tests = told.get("package"), told.get("test")
    if not isinstance(package, dict) or package.get("autotests") is not False:
        return None
    rows = [row for row in tests if isinstance(row, dict)] if isinstance(tests, list) else []
    named = [(str(row.get("name")), row.get("path")) for row in rows]
    return {str(path or f"tests/{name}.rs"): name for name, path in named if CARGO_NAME.fullmatch(name)}


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


def _script(view: View, path: str, test: str) -> Finding | None:
    """The script that names the test file, else the first script or target that runs a test runner."""
    name = path.rpartition("/")[2]
    lines = view.services.tree.lines(path) or []
    base = path.rpartition("/")[0]
    inner = test.removeprefix(f"{base}/") if base else test
    if number := next((n for n, line in enumerate(lines, 1) if name == "package.json" and inner in line), 0):
        return _command(phrases.quote(lines[number - 1].strip().rstrip(","), 160), [_at(path, number)], 0.8)
    for number, line in enumerate(lines, 1):
        if name == "package.json":
            if SCRIPT.match(line) and not WATCH.search(line):
                once = f'; once: "npx vitest run {inner}"' if STAYS.search(line) else ""
                return _command(phrases.quote(line.strip().rstrip(",")) + once, [_at(path, number)], 0.7)
        elif TARGET.match(line) and not WATCH.search(line):
            below = [n for n in range(number + 1, min(number + 6, len(lines)) + 1) if RUNNER.search(lines[n - 1])]
            if below and not WATCH.search(lines[below[0] - 1]):
                target = line.partition(":")[0]
                run = phrases.quote(lines[below[0] - 1].strip().lstrip("@-"), 80)
                return _command(f'"make {target}" runs {run}', [_at(path, number, below[0])], 0.7)
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
        for number, line in enumerate(view.services.tree.lines(path) or (), 1):
            if bar is None and (match := BAR.search(line)):
                bar = path, number, match[0]
            run = re.sub(r"^\s*(?:-\s+)?(?:run:\s*)?", "", line)
            runner = RUNNER.search(run) if workflow else None
            if runner is None or WATCH.search(run) or "bench" in path:
                continue
            if _speaks(run, suffixes) and not line.strip().startswith(("#", "- name", "name")):
                flags = len(FLAG.findall(run[runner.start() :]))
                if flags and (best is None or flags > best[0]):
                    best = flags, path, number, run
    if bar is not None:
        yield _command(f"coverage has to stay: {phrases.quote(bar[2])}", [_at(bar[0], bar[1])], 0.6, "checks")
    if best is not None:
        _, path, number, run = best
        lines = view.services.tree.lines(path) or []
        rows = [
            n
            for name in dict.fromkeys(MATRIX.findall(run))
            for n, line in enumerate(lines, 1)
            if re.match(rf"\s*{name}:\s*\[.*\]", line)
        ][:1]
        told = "".join(f", with {phrases.quote(lines[n - 1].strip(), 80)}" for n in rows)
        cited = [*(_at(path, n) for n in rows), _at(path, number)]
        shown = CUT.sub("", phrases.clip(run, 100).removesuffix(" …"))
        yield _command(f"CI runs {code(shown)}{told}", cited, 0.6, "checks")


def _speaks(run: str, suffixes: set[str]) -> bool:
    """Whether a runner's command is for tests of one of these languages."""
    for word, ends in SPOKEN.items():
        if word in run:
            return bool(ends & suffixes)
    return bool(SCRIPTS & suffixes)
