"""What build tools call the tests of one file: Cargo's targets and features, Gradle's tasks, names of CTest and tox."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from preread.project.tree import Tree

CARGO_NAME = re.compile(r"[\w-]+")
CFG = re.compile(r"\s*#!?\[cfg\((.*)\)\]\s*$")
FEATURE = re.compile(r'feature\s*=\s*"([\w-]+)"')
UNSURE = re.compile(r"\b(?:any|not)\(")  # a condition that does not ask for each of its features
SHARED = re.compile(
    r"multiplatform|\bcommon(?:Main|Test)\b"
)  # in a build file: a module of several platforms
JVM = re.compile(r"\bjvm\s*[({]")
ANDROID = re.compile(  # in a build file: a module of Android, whose plain task takes no filter
    r"(?:\bid\b|apply plugin:)[\s(]*[\"']com\.android\.\w+|\bplugins\.android\.(?:application|library)\b"
)
FLAVORS = re.compile(r"\bproductFlavors\b|\bflavorDimensions\b")
SETTINGS = ("settings.gradle", "settings.gradle.kts")
REGISTERS = re.compile(
    r"\s*\w*(?:add|register)_?\w*test\w*\s*\(\s*(?:NAME\s+)?\"?([\w.-]+)\"?(?=[\s)])", re.IGNORECASE
)
POSARGS = re.compile(
    r"\s*(?:commands\s*=\s*)?((?:\w+:\s*)?(?:python|pytest|py\.test|coverage|stestr)\b.*\{posargs[^}]*\}.*)"
)


def cargo(tree: Tree, base: str, test: str, inner: str) -> str:
    """What follows `cargo test` for one file's tests: the package, the features that they need, the target."""
    told = _toml(tree.read(f"{base}/Cargo.toml" if base else "Cargo.toml") or "")
    package = told.get("package")
    name = package.get("name") if isinstance(package, dict) else None
    shown = ""
    if base and isinstance(name, str) and CARGO_NAME.fullmatch(name):
        above = [str(parent) for parent in PurePosixPath(base).parents]
        homes = ["Cargo.toml" if folder == "." else f"{folder}/Cargo.toml" for folder in above]
        in_workspace = any(
            "[workspace" in (tree.read(path) or "") for path in homes if path in tree.files
        )
        shown = f" -p {name}" if in_workspace else f" --manifest-path {base}/Cargo.toml"
    needed = dict.fromkeys(_features_of(tree, base, test, inner))
    missing = [feature for feature in needed if feature not in _by_default(told)]
    features = f" --features {','.join(missing)}" if missing else ""
    return f"{shown}{features}{_cargo_target(tree, base, told, inner)}"


def _toml(text: str) -> Mapping[str, object]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _features_of(tree: Tree, base: str, test: str, inner: str) -> Iterator[str]:
    """The features without which a file's tests are not compiled: of its modules, of the file, of its tests."""
    parts = PurePosixPath(inner).with_suffix("").parts
    for n in range(1, len(parts)) if parts[0] == "src" else ():
        folder = "/".join(filter(None, (base, *parts[:n])))
        homes = (
            [f"{folder}/lib.rs", f"{folder}/main.rs"]
            if n == 1
            else [f"{folder}/mod.rs", f"{folder}.rs"]
        )
        for home in homes:
            lines = tree.lines(home) or []
            at = next(
                (
                    i
                    for i, line in enumerate(lines)
                    if re.match(rf"\s*(?:pub\S*\s+)?mod {parts[n]};", line)
                ),
                0,
            )
            while at > 0 and lines[at - 1].lstrip().startswith("#["):
                at -= 1
                yield from _asked(lines[at])
    lines = tree.lines(test) or []
    opens = next((n for n, line in enumerate(lines) if line.strip() == "#[cfg(test)]"), len(lines))
    for number, line in enumerate(lines):
        if line.startswith("#![cfg(") or number > opens:
            yield from _asked(line)


def _asked(line: str) -> list[str]:
    told = CFG.match(line)
    return FEATURE.findall(told[1]) if told and not UNSURE.search(told[1]) else []


def _by_default(told: Mapping[str, object]) -> set[str]:
    """The features of a crate that are on unless turned off."""
    features = told.get("features")
    table = features if isinstance(features, dict) else {}
    on, left = set[str](), ["default"]
    while left:
        if (name := left.pop()) not in on:
            on.add(name)
            left += [str(one) for one in table.get(name, ())]
    return on


def _cargo_target(tree: Tree, base: str, told: Mapping[str, object], inner: str) -> str:
    """What picks a Rust file's tests: the target of tests/, the module of src/, nothing for others."""
    first, *rest = inner.removesuffix(".rs").split("/")
    if first == "src":
        modules = [name for name in rest if name not in {"mod", "lib", "main"}]
        return f" {'::'.join(modules)}::" if modules else ""
    if first != "tests":
        return ""
    declared = _declared_targets(told)
    if declared is not None:
        own, module = declared.get(inner), PurePosixPath(inner).stem
        shared = [
            name
            for path, name in declared.items()
            if PurePosixPath(path).parent == PurePosixPath(inner).parent
        ]
        return (
            f" --test {own}" if own else f" --test {shared[0]} {module}" if shared else f" {module}"
        )
    main = "/".join(filter(None, (base, "tests", *rest[:1], "main.rs")))
    return f" --test {rest[0]}" if len(rest) == 1 or main in tree.files else ""


def _declared_targets(told: Mapping[str, object]) -> dict[str, str] | None:
    """The test targets of a crate that does not have cargo find them: path to name; None for one that has."""
    package, tests = told.get("package"), told.get("test")
    if not isinstance(package, dict) or package.get("autotests") is not False:
        return None
    rows = [row for row in tests if isinstance(row, dict)] if isinstance(tests, list) else []
    named = [(str(row.get("name")), row.get("path")) for row in rows]
    return {
        str(path or f"tests/{name}.rs"): name for name, path in named if CARGO_NAME.fullmatch(name)
    }


def gradle(tree: Tree, path: str, test: str) -> str:
    """The task that runs a test file of the module that a build file makes; empty where none can be told."""
    base, text = path.rpartition("/")[0], tree.read(path) or ""
    inner = test.removeprefix(f"{base}/") if base else test
    module = _gradle_module(tree, base)
    if module is None:
        return ""
    home = f"{base}/" if base else ""
    if SHARED.search(text) or any(
        p.startswith((f"{home}src/commonMain/", f"{home}common/src/")) for p in tree.files
    ):
        has_jvm = JVM.search(text) or any(
            p.startswith((f"{home}src/jvmMain/", f"{home}src/jvmTest/", f"{home}jvm/"))
            for p in tree.files
        )
        shared = inner.startswith(("src/commonTest/", "src/jvmTest/", "common/test/", "jvm/test/"))
        return f"{module}jvmTest" if has_jvm and shared else ""
    if ANDROID.search(text):
        return (
            f"{module}testDebugUnitTest"
            if inner.startswith("src/test/") and not FLAVORS.search(text)
            else ""
        )
    return f"{module}test"


def _gradle_module(tree: Tree, base: str) -> str | None:
    """A module's path as the nearest settings name it, with a colon at its end; None where they do not."""
    folders = (
        [str(folder) for folder in (PurePosixPath(base), *PurePosixPath(base).parents)]
        if base
        else ["."]
    )
    named = ((f"{'' if at == '.' else f'{at}/'}{name}", at) for at in folders for name in SETTINGS)
    settings, at = next(((path, at) for path, at in named if path in tree.files), ("", "."))
    own = base if at == "." else base.removeprefix(at).strip("/")
    if not own:
        return ""
    if not settings:
        return f":{own.replace('/', ':')}:"
    text, whole = tree.read(settings) or "", re.escape(own).replace("/", "[/:]")
    if re.search(rf"[\"']:?{whole}[\"']", text):
        placed = re.search(
            rf"project\(\s*[\"'](:[^\"']+)[\"']\s*\)\.projectDir\s*=[^\n]*[\"'](?:\./)?{whole}[\"']",
            text,
        )
        return f"{placed[1]}:" if placed else f":{own.replace('/', ':')}:"
    last = own.rpartition("/")[2]
    return f":{last}:" if re.search(rf"[\"']:?{re.escape(last)}[\"']", text) else None


def ctest(tree: Tree, path: str, test: str) -> tuple[int, str] | None:
    """The line of a CMake file that registers a test called as its file is, and that name."""
    stem = PurePosixPath(test).stem
    for number, line in enumerate(tree.lines(path) or (), 1):
        told = REGISTERS.match(line)
        if told and told[1] in {stem, test.rpartition("/")[2]}:
            return number, stem
    return None


def tox(tree: Tree, path: str) -> tuple[int, str] | None:
    """The first command of tox's own section that hands its arguments on to the tests."""
    is_plain = False
    for number, line in enumerate(tree.lines(path) or (), 1):
        is_plain = line.strip() == "[testenv]" if line.startswith("[") else is_plain
        if is_plain and (told := POSARGS.match(line)):
            return number, told[1].strip()
    return None
