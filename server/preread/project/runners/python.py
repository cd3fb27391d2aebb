"""Python: pytest by its settings or by imports, Django's manage.py, tox, unittest."""

import re
from collections.abc import Iterator

from preread.project.runners.model import (
    Command,
    Note,
    Proof,
    Target,
    folders,
    line_with,
    nearest,
    relative,
    shell,
    within,
)

# Where pytest looks for its settings, in its own order, and the line that opens their section.
SETTINGS = {
    "pytest.toml": re.compile(r"\[pytest\]"),
    "pytest.ini": re.compile(r"\[pytest\]"),
    ".pytest.ini": re.compile(r"\[pytest\]"),
    "pyproject.toml": re.compile(r"^\[tool\.pytest(\.ini_options)?\]"),
    "tox.ini": re.compile(r"^\[pytest\]"),
    "setup.cfg": re.compile(r"^\[tool:pytest\]"),
}
# Files in which a project declares its test tools.
DECLARES = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "Makefile")
REQUIREMENTS = re.compile(
    r"(?:^|/)[\w-]*(?:requirements|constraints)[^/]*(?:/[\w-]+)?\.(?:txt|in)$"
)
NAMED = re.compile(r"^[^#]*(?<![\w-])pytest(?![\w-])")
KEY = re.compile(r"\s*([A-Za-z_]+)\s*=\s*(.*)")
REPORTED = ("addopts", "asyncio_mode", "xfail_strict", "DJANGO_SETTINGS_MODULE", "pythonpath")
MAX_NOTE = 90  # characters of a setting that is quoted
MANAGE = re.compile(r"execute_from_command_line")
POSARGS = re.compile(r"\{posargs[^}]*\}")


def pytest(target: Target) -> Command | None:
    """pytest, if it is configured, imported by the test or a conftest, or declared."""
    found = _settings(target)
    if found is None:
        return _unconfigured(target)
    folder, opens = found
    return _command(folder, target, opens, tuple(_notes(target, opens)))


def _command(folder: str, target: Target, proof: Proof, notes: tuple[Note, ...] = ()) -> Command:
    file = shell(relative(folder, target.test))
    return Command("pytest", "python -m pytest", proof, folder, notes, (file,))


def _settings(target: Target) -> tuple[str, Proof] | None:
    for folder in folders(target.test):
        for name, section in SETTINGS.items():
            path = within(folder, name)
            opens = line_with(target.tree, path, section) if path in target.tree.files else None
            if opens is not None:
                return folder, opens
    return None


def _notes(target: Target, opens: Proof) -> Iterator[Note]:
    """The settings of pytest's section that change what a test may do."""
    lines = target.tree.lines(opens.path) or []
    for key, start, end in _keys(lines, opens.start):
        text = " ".join(" ".join(lines[start - 1 : end]).split())
        proof = Proof(opens.path, start, end)
        if key == "filterwarnings" and re.search(r"=\s*\[?\s*[\"']?error[\"']?(?=[\s,\]]|$)", text):
            yield Note(key, proof, "warnings are errors")
        elif key in REPORTED and len(text) <= MAX_NOTE:
            yield Note(text, proof)


def _keys(lines: list[str], opens: int) -> Iterator[tuple[str, int, int]]:
    """The keys of a section with the lines of their values: up to the next key or section."""
    key, start, last = "", 0, 0
    for number, line in enumerate(lines[opens:], opens + 1):
        match = KEY.fullmatch(line) if not line[:1].isspace() else None
        if match or line.startswith("["):
            if key:
                yield key, start, last
            key, start, last = (match[1], number, number) if match else ("", 0, 0)
        if line.startswith("["):
            return
        if line.strip() and not line.lstrip().startswith(("#", ";")):
            last = number
    if key:
        yield key, start, last


def _unconfigured(target: Target) -> Command | None:
    """pytest without settings of its own, from the project's folder."""
    homes = [folder for folder, _ in nearest(target, *DECLARES)]
    folder = homes[0] if homes else ""
    helpers = [path for _, path in nearest(target, "conftest.py")]
    imported = next(
        filter(None, (_imports(target, p, "pytest") for p in (target.test, *helpers))), None
    )
    proof = imported or _declared(target, folder)
    return _command(folder, target, proof) if proof else None


def _imports(target: Target, path: str, module: str) -> Proof | None:
    for one in target.tree.outline(path).imports:
        if one.module.partition(".")[0] == module:
            return Proof(path, one.line, one.line)
    return None


def _declared(target: Target, folder: str) -> Proof | None:
    tree = target.tree
    paths = [within(folder, name) for name in DECLARES]
    paths += [path for path in tree.files if REQUIREMENTS.search(path)]
    found = (line_with(tree, path, NAMED) for path in paths if path in tree.files)
    return next(filter(None, found), None)


def django(target: Target) -> Command | None:
    """Django's own runner, if pytest is neither configured nor imported."""
    for folder, path in nearest(target, "manage.py"):
        proof = line_with(target.tree, path, MANAGE)
        if proof and not _settings(target) and not _imports(target, target.test, "pytest"):
            files = (_module(folder, target),)
            return Command("django", "python manage.py test", proof, folder, files=files)
    return None


def tox(target: Target) -> Command | None:
    """tox, if its commands take arguments."""
    for folder, path in nearest(target, "tox.ini"):
        lines = target.tree.lines(path) or []
        opens = next((n for n, line in enumerate(lines, 1) if line.strip() == "[testenv]"), 0)
        for key, start, end in _keys(lines, opens) if opens else ():
            text = " ".join(lines[start - 1 : end])
            if key == "commands" and POSARGS.search(text):
                given = relative(folder, target.test)
                given = _module(folder, target) if "unittest" in text else shell(given)
                return Command("tox", f"tox -e py -- {given}", Proof(path, start, end), folder)
    return None


def unittest(target: Target) -> Command | None:
    proof = _imports(target, target.test, "unittest")
    homes = [folder for folder, _ in nearest(target, *DECLARES)]
    folder = homes[0] if homes else ""
    if proof is None:
        return None
    file = shell(relative(folder, target.test))
    return Command("unittest", "python -m unittest", proof, folder, files=(file,))


def _module(folder: str, target: Target) -> str:
    return relative(folder, target.test).removesuffix(".py").replace("/", ".")
