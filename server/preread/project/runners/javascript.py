"""JavaScript: the runner that takes a test file, by scripts, imports and settings."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.project.runners.globs import names_project_of, patterns_in, takes
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

MANIFEST = "package.json"
NAMED, WORKSPACE = 4.0, 3.0  # the fit of a script that names the file, of settings for its folder
MAX_RUN = 160  # characters: with more, a script's flags are left out


class Tool(NamedTuple):
    """One runner: the module that only its tests import, its settings, its call in scripts."""

    name: str
    module: str
    settings: re.Pattern[str]
    script: re.Pattern[str]
    run: str


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
    _tool("playwright test", "playwright test", r"playwright\.config\.\w+", "@playwright/test"),
    _tool("jest", r"jest(?:\.js)?", r"jest\.config\.\w+", "@jest/globals"),
    _tool("mocha", r"_?mocha(?:\.js)?", r"\.mocharc(?:\.\w+)?", "mocha"),
    _tool("ava", "ava", r"ava\.config\.\w+", "ava"),
    _tool("tap", "tap", r"\.taprc", "tap"),
    _tool("jasmine", "jasmine", r"jasmine\.json", "jasmine"),
    _tool(
        "cypress",
        "cypress run",
        r"cypress\.config\.\w+",
        run="npx cypress run{flags} --spec {path}",
    ),
    _tool("bun", "bun test", r"bunfig\.toml", "bun:test", "bun test{flags} {path}"),
    _tool("deno", "deno test", r"deno\.jsonc?", "jsr:@std/testing", "deno test{flags} {path}"),
    _tool("node", r"node (?:-\S+ )*--test", "", "node:test", "node --test{flags} {path}"),
    _tool("react-scripts test --watchAll=false", "react-scripts test", ""),
    _tool("karma", "karma start", r"karma\.conf\.\w+", run="npm run {script}"),
)
# Flags of watching, coverage and reports, which one run of one file does without.
ASIDE = re.compile(
    r"--?(?:w|watch|cov|report|ui$|run$|bail|shard|silent|verbose|color|update|u$|parallel)"
)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*=[\w./:=-]*")
PASSED_ON = re.compile(r"(?:npm|pnpm|yarn)(?: run)?(?: -\S+)* ([\w:.-]+) -- ")


class Choice(NamedTuple):
    """A runner, from a folder, with the part of a script that calls it, if one does."""

    tool: Tool
    folder: str
    proof: Proof
    script: str = ""
    call: str = ""


def node(target: Target) -> Command | None:
    """The runner that the nearest scripts and settings prove; else a script called `test`."""
    choice = _choice(target)
    if choice is None:
        return _any_script(target)
    tool, inner = choice.tool, shell(relative(choice.folder, target.test))
    flags, variables = _flags(target, choice), _variables(choice.call)
    run = variables + tool.run.format(flags=flags, path=inner, script=choice.script)
    if len(run) > MAX_RUN or "{script}" in tool.run:
        run = tool.run.format(flags="", path=inner, script=choice.script)
    return Command(tool.name, run, choice.proof, choice.folder)


def _choice(target: Target) -> Choice | None:
    """The nearest folder's best; scripts and settings above that name the file's folder win."""
    own = _imported(target)
    found: list[tuple[float, Choice]] = []
    for folder in folders(target.test):
        ranked = [(_fit(target, one, own), one) for one in _proven(target, folder)]
        best = max((fit for fit, _ in ranked), default=-1.0)
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
        for part in re.split(r"&&|\|\||;", text):
            for tool in TOOLS:
                if tool.script.search(part.strip()):
                    yield Choice(tool, folder, proof, name, part.strip())
    for tool in TOOLS:
        if (path := _settings(target, folder, tool)) and "script" not in tool.run:
            yield Choice(tool, folder, Proof(path, 1, 1))


def _settings(target: Target, folder: str, tool: Tool) -> str:
    start = len(f"{folder}/") if folder else 0
    found = (p for p in target.tree.files if tool.settings.fullmatch(p[start:]))
    return next((p for p in found if folders(p)[0] == folder), "")


def _scripts(target: Target, folder: str) -> list[tuple[str, str, Proof]]:
    """The scripts of a folder's manifest with their lines, `test` first."""
    path = within(folder, MANIFEST)
    scripts = table(json_of(target.tree, path), "scripts")
    found = []
    for name, text in scripts.items():
        key = re.compile(rf'^\s*"{re.escape(name)}"\s*:\s*"')
        proof = line_with(target.tree, path, key)
        if isinstance(text, str) and proof is not None:
            found.append((name, _expanded(text, scripts), proof))
    return sorted(found, key=lambda one: (one[0] != "test", not one[0].startswith("test")))


def _expanded(text: str, scripts: dict[str, object]) -> str:
    """A script with the text of those that it hands arguments to."""
    for _ in range(3):
        called = PASSED_ON.search(text)
        other = scripts.get(called[1]) if called else None
        if called is None or not isinstance(other, str):
            break
        text = f"{text[: called.start()]}{other} {text[called.end() :]}"
    return text


def _fit(target: Target, choice: Choice, own: tuple[Tool, Proof] | None) -> float:
    """How well a runner fits the file: a script that names it, imports, settings' patterns."""
    inner = relative(choice.folder, target.test)
    words = _words(choice)
    files = target.tree.files
    globs = [word for word in words if "*" in word or within(choice.folder, word) in files]
    named = (takes(word, inner) or inner.startswith(f"{word.rstrip('/')}/") for word in words)
    if any(named):
        return NAMED
    settings = target.tree.lines(_settings(target, choice.folder, choice.tool)) or []
    if not globs and names_project_of(settings, inner):
        return WORKSPACE if own is None or own[0] is choice.tool else -1.0
    if own is not None:
        return 2.5 if own[0] is choice.tool and not globs else -1.0
    globs = globs or patterns_in(settings)
    if globs:
        return 2.0 if any(takes(glob, inner) for glob in globs) else -1.0
    return 1.0 if choice.script == "test" else 0.5


def _words(choice: Choice) -> list[str]:
    """The arguments of a call that are no flags, as paths from the folder."""
    called = choice.tool.script.search(choice.call)
    given = choice.call[called.end() :].split() if called else []
    words = (word.strip("\"'").removeprefix("./") for word in given if not word.startswith("-"))
    settings = choice.tool.settings
    return [one for one in words if one and not settings.fullmatch(one.rpartition("/")[2])]


def _flags(target: Target, choice: Choice) -> str:
    """The flags of a script's call, without its files and what only watches or reports."""
    called = choice.tool.script.search(choice.call)
    given = choice.call[called.end() :].split() if called else []
    inner, kept, after_flag = relative(choice.folder, target.test), list[str](), False
    for word in given:
        plain = word.strip("\"'").removeprefix("./").rstrip("/")
        if word.startswith("-"):
            after_flag = "=" not in word and not ASIDE.match(word)
            kept += [] if ASIDE.match(word) or word == "--" else [word]
        elif after_flag and "*" not in word and not f"{inner}/".startswith(f"{plain}/"):
            kept.append(word)
            after_flag = False
    return "".join(f" {word}" for word in kept)


def _variables(call: str) -> str:
    """The environment that a call is given."""
    return "".join(f"{word} " for word in call.split() if VARIABLE.fullmatch(word))


def _any_script(target: Target) -> Command | None:
    for folder in folders(target.test):
        for name, _, proof in _scripts(target, folder):
            if name == "test":
                return Command("npm", "npm test", proof, folder)
    return None
