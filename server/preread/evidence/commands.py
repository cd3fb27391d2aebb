"""How the feature's tests are run: scripts, test runner settings, make targets, nearest to the tests first."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.view import View
from preread.models import Finding
from preread.sources import Ref

# File name → the line that says how tests run.
PLACES: dict[str, re.Pattern[str]] = {
    "package.json": re.compile(r'\s*"(?:test|e2e)[\w:-]*"\s*:\s*"[^"]+"'),
    "pyproject.toml": re.compile(r"\[tool\.pytest(\.ini_options)?\]|\[tool\.(tox|nox|hatch\.envs\.\w*test\w*)[\w.]*\]"),
    "pytest.ini": re.compile(r"\[pytest\]"),
    "setup.cfg": re.compile(r"\[tool:pytest\]"),
    "tox.ini": re.compile(r"\[pytest\]|\[testenv\]"),
    "noxfile.py": re.compile(r"def tests?\b"),
    "Makefile": re.compile(r"(?:test|check|e2e)[\w-]*:"),
    "justfile": re.compile(r"(?:test|check|e2e)[\w-]*:"),
    "Cargo.toml": re.compile(r"\[dev-dependencies\]"),
    "go.mod": re.compile(r"module \S+"),
}
RUNNERS = {"py": "python -m pytest {path}", "go": "go test ./{folder}", "rs": "cargo test"}
MOST = 4


def commands(view: View) -> Iterator[Finding]:
    """Where it is said how to run the feature's tests."""
    tests = [file.path for file in view.tests if file.role == "test"][:4]
    seen: set[str] = set()
    for test in tests:
        for folder in [str(parent) for parent in PurePosixPath(test).parents]:
            prefix = "" if folder == "." else f"{folder}/"
            for name, pattern in PLACES.items():
                path = f"{prefix}{name}"
                if path in seen or not _kin(name, test) or path not in view.services.tree.files:
                    continue
                seen.add(path)
                yield from _of_file(view, path, pattern, test)


def _kin(name: str, test: str) -> bool:
    """Whether a settings file can be about a test of this language."""
    suffix = test.rpartition(".")[2]
    if name == "package.json":
        return suffix in {"js", "jsx", "ts", "tsx", "mjs", "cjs", "vue", "svelte"}
    if name in {"Cargo.toml", "go.mod"}:
        return {"Cargo.toml": "rs", "go.mod": "go"}[name] == suffix
    return name in {"Makefile", "justfile"} or suffix == "py"


def _of_file(view: View, path: str, pattern: re.Pattern[str], test: str) -> Iterator[Finding]:
    found = 0
    for number, line in enumerate(view.services.tree.lines(path) or (), 1):
        match = pattern.match(line)
        if not match or found >= MOST:
            continue
        found += 1
        run = (
            RUNNERS.get(test.rpartition(".")[2], "") if path.rpartition("/")[2] not in {"Makefile", "justfile"} else ""
        )
        base = path.rpartition("/")[0]
        inner = test.removeprefix(f"{base}/") if base else test
        shown = run.format(path=inner, folder=inner.rpartition("/")[0])
        how = f': "{shown}"' if shown else ""
        yield Finding(
            rule="commands",
            kind="command",
            text=f"{code(match[0].strip())}{how}" if phrases.provable(match[0]) else shown,
            sources=(str(Ref("lines", path, number, number)),),
            reason="it says how the feature's tests run",
            score=0.75 - 0.1 * found,
        )
