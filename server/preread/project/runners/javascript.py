"""JavaScript: the runner for a test file, by scripts, imports and settings."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from preread.project.runners.globs import matches, names_project_of, patterns_in
from preread.project.runners.model import (
    Command,
    Proof,
    Target,
    folders,
    json_of,
    line_with,
    relative,
    shell,
    table,
    within,
)
from preread.project.tree import Tree

MANIFEST = "package.json"
SCRIPTS = {MANIFEST: "scripts", "deno.json": "tasks", "deno.jsonc": "tasks"}
# How well a runner fits a file: its script names the file, its settings have a project for the
# file's folder, the file imports it, its settings' patterns match, `test` calls it, it is set up.
NAMED, WORKSPACE, IMPORTED, MATCHED, USUAL, PRESENT = 4.0, 3.0, 2.5, 2.0, 1.0, 0.5
UNFIT = -1.0
MAX_RUN = 160  # characters: with more, a script's flags are left out


class Tool(NamedTuple):
    """One runner: the module that only its tests import, its settings, its call in scripts."""

    name: str
    module: str
    settings: re.Pattern[str]
    script: re.Pattern[str]
    run: str  # with the file as its last word, if it may be followed by more


def _tool(name: str, script: str, settings: str, module: str = "", run: str = "") -> Tool:
    call = re.compile(rf"(?:^|(?<=[\s/]))(?:{script})(?=\s|$)")
    run = run or f"npx {name}{{flags}} {{path}}"
    return Tool(name, module, re.compile(settings or r"(?!)"), call, run)


TOOLS = (
    _tool(
        "vitest run",
        r"vitest(?: (?:run|--run)\b)?",
        r"vitest\.(?:config|workspace)\.\w+",
        "vitest",
    ),
    _tool("vp test", "vp test", "", "vite-plus/test", "npx vp test run{flags} {path}"),
    _tool("playwright test", "playwright test", r"playwright\.config\.\w+", "@playwright/test"),
    _tool("jest", r"jest(?:\.js)?", r"jest\.config\.\w+", "@jest/globals"),
    _tool("mocha", r"_?mocha(?:\.js)?", r"\.mocharc(?:\.\w+)?", "mocha"),
    _tool("ava", "ava", r"ava\.config\.\w+", "ava"),
    _tool("tap", "tap", r"\.taprc", "tap"),
    _tool("tape", "tape", "", "tape"),
    _tool("jasmine", "jasmine", r"jasmine\.json", "jasmine"),
    _tool(
        "cypress",
        "cypress run",
        r"cypress\.config\.\w+",
        run="npx cypress run{flags} --spec {path}",
    ),
    _tool("bun", "bun test", r"bunfig\.toml", "bun:test", "bun test{flags} {path}"),
    _tool("deno", "deno test", r"deno\.jsonc?", "jsr:@std/testing", "deno test{flags} {path}"),
    _tool(
        "node",
        r"node (?:-\S+ (?:[^-\s]\S* )?)*--test",
        "",
        "node:test",
        "node --test{flags} {path}",
    ),
    _tool("tsd", "tsd", "", "tsd", "npx tsd{flags} --files {path}"),
    _tool("tstyche", "tstyche", r"tstyche\.config\.json", "tstyche"),
    _tool("react-scripts test --watchAll=false", "react-scripts test", ""),
    _tool("karma", "karma start", r"karma\.conf\.\w+", run="npm run {script}"),
)
# Tests of types, which only a type checker reads.
TYPES_ONLY = re.compile(r"(?:(?:test|spec)-d|\.tst)\.[cm]?tsx?$")
TYPE_CHECKERS = frozenset(("tsd", "tstyche"))
# Flags for watching, coverage and reports, which a run of one file does not need.
ASIDE = re.compile(
    r"--?(?:w|watch|cov|clean|report|ui$|run$|bail|shard|silent|verbose|color|update|u$|parallel)"
)
VARIABLE = re.compile(
    r"""(?<!\S)([A-Z_][A-Z0-9_]*=)(?:([\w./:=-]*)|'([^']*)'|"([^"'$`\\]*)")(?=\s)"""
)
# Flags without a value. A word after any other flag may be its value.
SWITCH = re.compile(
    r"--(?:no-.*|bail|ci|colors?|coverage|debug|detectOpenHandles|exit|forceExit|headed|parallel"
    r"|passWithNoTests|recursive|run|runInBand|silent|sort|test|verbose|watch|watchAll)|-[biw]"
)
PARTS = re.compile(r"&&|\|\||;")  # between the commands of a script
# A runner started by Node itself, whose flags it needs.
BY_NODE = re.compile(r"(?<![\w-])(node (?:-\S+ )+\S+\.[cm]?js)\b")
PASSED_ON = re.compile(r"(?:npm|pnpm|yarn)(?: run)?(?: -\S+)* ([\w:.-]+) -- ")


class Choice(NamedTuple):
    """A runner, from a folder, with the part of a script that calls it, if one does."""

    tool: Tool
    folder: str
    proof: Proof
    script: str = ""
    call: str = ""


def node(target: Target) -> Command | None:
    """The runner that the nearest scripts and settings prove, or else a script called `test`."""
    choice = _choice(target)
    if choice is None:
        return None if TYPES_ONLY.search(target.test) else _any_script(target)
    tool, inner = choice.tool, shell(relative(choice.folder, target.test))
    flags, variables = _flags(target, choice), _variables(choice.call)
    if len(f"{variables}{tool.run}{flags}{inner}") > MAX_RUN or "{script}" in tool.run:
        flags = variables = ""
    start, is_last, _ = tool.run.partition("{flags} {path}")
    if is_last:
        by_node = BY_NODE.search(choice.call)
        start = by_node[1] if by_node and tool.module != "node:test" else start
        run = f"{variables}{start}{flags}"
        return Command(tool.name, run, choice.proof, choice.folder, files=(inner,))
    run = variables + tool.run.format(flags=flags, path=inner, script=choice.script)
    return Command(tool.name, run, choice.proof, choice.folder)


def _choice(target: Target) -> Choice | None:
    """The nearest folder's best runner; one above wins if it names the file or its folder."""
    own = _imported(target)
    found: list[tuple[float, Choice]] = []
    for folder in folders(target.test):
        ranked = [(_fit(target, one, own), one) for one in _proven(target, folder)]
        best = max((fit for fit, _ in ranked), default=UNFIT)
        if best >= (WORKSPACE if found else 0):
            found.append((best, next(one for fit, one in ranked if fit == best)))
    if found:
        return max(found, key=lambda one: max(one[0], WORKSPACE - 1))[1]
    if own is None:
        return None
    home = next((f for f in folders(target.test) if within(f, MANIFEST) in target.tree.files), "")
    return Choice(own[0], home, own[1])


def _imported(target: Target) -> tuple[Tool, Proof] | None:
    """The runner whose module the test imports, with that line."""
    by_module = {tool.module: tool for tool in TOOLS if tool.module}
    for one in target.tree.outline(target.test).imports:
        if one.module in by_module:
            return by_module[one.module], Proof(target.test, one.line, one.line)
    return None


def _proven(target: Target, folder: str) -> Iterator[Choice]:
    """The runners that a folder's scripts call, then those that it has settings for."""
    for name, text, proof in _scripts(target, folder):
        for part in PARTS.split(text):
            yield from _calls(folder, proof, name, part.strip())
    for tool in TOOLS:
        if (path := _settings(target, folder, tool)) and "script" not in tool.run:
            yield Choice(tool, folder, Proof(path, 1, 1))


def _calls(folder: str, proof: Proof, script: str, part: str) -> list[Choice]:
    """The runners that a command of a script calls."""
    tools = (tool for tool in TOOLS if tool.script.search(part))
    return [Choice(tool, folder, proof, script, part) for tool in tools]


def _settings(target: Target, folder: str, tool: Tool) -> str:
    start = len(f"{folder}/") if folder else 0
    found = (p for p in target.tree.files if tool.settings.fullmatch(p[start:]))
    return next((p for p in found if folders(p)[0] == folder), "")


def _scripts(target: Target, folder: str) -> list[tuple[str, str, Proof]]:
    """The scripts of a folder's manifests with their lines, `test` first."""
    found = []
    for manifest, key in SCRIPTS.items():
        path = within(folder, manifest)
        scripts = table(json_of(target.tree, path), key)
        for name, text in scripts.items():
            opens = re.compile(rf'^\s*"{re.escape(name)}"\s*:\s*"')
            proof = line_with(target.tree, path, opens)
            if isinstance(text, str) and proof is not None:
                found.append((name, _expanded(text, scripts), proof))
    return sorted(found, key=lambda one: (one[0] != "test", not one[0].startswith("test")))


def _expanded(text: str, scripts: dict[str, object]) -> str:
    """A script's text, with the scripts that it passes arguments to filled in."""
    for _ in range(3):
        called = PASSED_ON.search(text)
        other = scripts.get(called[1]) if called else None
        if called is None or not isinstance(other, str):
            break
        text = f"{text[: called.start()]}{other} {text[called.end() :]}"
    return text


def _fit(target: Target, choice: Choice, own: tuple[Tool, Proof] | None) -> float:
    """How well a runner fits the file; `own` is the one that the file imports."""
    inner = relative(choice.folder, target.test)
    if _names(choice, inner):
        return NAMED
    if _names_others(target.tree, choice, inner):
        return UNFIT
    can_run = _reads(choice.tool, inner) if own is None else own[0] is choice.tool
    if not can_run:
        return UNFIT
    settings = target.tree.lines(_settings(target, choice.folder, choice.tool)) or []
    if names_project_of(settings, inner):
        return WORKSPACE
    return _fit_by_settings(choice, settings, inner) if own is None else IMPORTED


def _names(choice: Choice, path: str) -> bool:
    """Whether a script's call names the file or a folder that contains it."""
    words = _words(choice)
    return any(matches(word, path) or path.startswith(f"{word.rstrip('/')}/") for word in words)


def _names_others(tree: Tree, choice: Choice, path: str) -> bool:
    """Whether a script's call says which files or folders it runs, and the file is not there.

    Some runners take a folder's name as a part of any path.
    """
    words = _words(choice)
    if any("*" in word or within(choice.folder, word) in tree.files for word in words):
        return True
    return bool(_folders(tree, choice)) and not any(place in path for place in _places(choice))


def folders_of(tree: Tree, folder: str, runner: str) -> set[str]:
    """The folders where a package's scripts call a runner; none if a script calls it for all."""
    choices = _proven(Target(tree, within(folder, MANIFEST)), folder)
    calls = (one for one in choices if one.call and one.tool.name.split()[0] == runner)
    named = [_folders(tree, one) for one in calls]
    return set().union(*named) if all(named) else set()


def _folders(tree: Tree, choice: Choice) -> list[str]:
    """The project's folders among the arguments of a call, from the folder of its script."""
    starts = {place: f"{within(choice.folder, place)}/" for place in _places(choice)}
    return [place for place in starts if any(p.startswith(starts[place]) for p in tree.files)]


def _places(choice: Choice) -> list[str]:
    """The arguments of a call that are neither flags nor perhaps the values of some."""
    given = _given(choice)
    values = {word for flag, word in pairwise(given) if _may_take_a_value(flag)}
    return [word.rstrip("/") for word in _paths(word for word in given if word not in values)]


def _may_take_a_value(word: str) -> bool:
    return word.startswith("-") and "=" not in word and SWITCH.fullmatch(word) is None


def _reads(tool: Tool, path: str) -> bool:
    """Whether a runner reads such a file: tests of types need a type checker; Vitest does both."""
    if TYPES_ONLY.search(path):
        return tool.module in TYPE_CHECKERS or tool.module == "vitest"
    return tool.module not in TYPE_CHECKERS


def _fit_by_settings(choice: Choice, settings: list[str], inner: str) -> float:
    """How well a runner fits a file that neither a script nor an import assigns to it."""
    if patterns := patterns_in(settings):
        return MATCHED if any(matches(pattern, inner) for pattern in patterns) else UNFIT
    return USUAL if choice.script == "test" else PRESENT


def _given(choice: Choice) -> list[str]:
    """The words of a call after the runner's name."""
    called = choice.tool.script.search(choice.call)
    return choice.call[called.end() :].split() if called else []


def _words(choice: Choice) -> list[str]:
    """The arguments of a call that are no flags, as paths from the folder."""
    settings = choice.tool.settings
    words = _paths(_given(choice))
    return [one for one in words if not settings.fullmatch(one.rpartition("/")[2])]


def _paths(words: Iterable[str]) -> list[str]:
    """The words that are no flags, without quotes."""
    plain = (word.strip("\"'").removeprefix("./") for word in words if not word.startswith("-"))
    return [word for word in plain if word]


def _flags(target: Target, choice: Choice) -> str:
    """The flags of a script's call, without its files and flags that only watch or report."""
    inner, kept, after_flag = relative(choice.folder, target.test), list[str](), False
    for word in _arguments(choice):
        plain = word.strip("\"'").removeprefix("./").rstrip("/")
        if word.startswith("-"):
            after_flag = "=" not in word and not ASIDE.match(word)
            kept += [] if ASIDE.match(word) or word == "--" else [word]
        elif after_flag and "*" not in word and not f"{inner}/".startswith(f"{plain}/"):
            kept.append(word)
            after_flag = False
    if TYPES_ONLY.search(inner) and choice.tool.module == "vitest" and "--typecheck" not in kept:
        kept.append("--typecheck")
    return "".join(f" {word}" for word in kept)


def _arguments(choice: Choice) -> list[str]:
    """The words of a script's call that the runner's own command does not have."""
    called = choice.tool.script.search(choice.call)
    if called is None:
        return []
    own = choice.tool.run.replace("{flags}", " ").split()
    before = [word for word in called[0].split()[1:] if word not in own]
    return [*before, *choice.call[called.end() :].split()]


def _variables(call: str) -> str:
    """The environment variables set for a call, quoted so that dossiers can show them."""
    found = ((one[1], one[2], one[3] or one[4] or "") for one in VARIABLE.finditer(call))
    return "".join(f"{name}{shell(quoted) if quoted else bare} " for name, bare, quoted in found)


def _any_script(target: Target) -> Command | None:
    for folder in folders(target.test):
        for name, text, proof in _scripts(target, folder):
            is_test = name == "test" and proof.path.endswith(MANIFEST)
            if is_test and not _runs_only_others(target, folder, proof, text):
                return Command("npm", "npm test", proof, folder, is_general=True)
    return None


def _runs_only_others(target: Target, folder: str, proof: Proof, script: str) -> bool:
    """Whether a script is nothing but calls of runners that name other files."""
    inner = relative(folder, target.test)
    calls = [_calls(folder, proof, "test", part.strip()) for part in PARTS.split(script)]
    return all(own and _names_others(target.tree, own[0], inner) for own in calls)
