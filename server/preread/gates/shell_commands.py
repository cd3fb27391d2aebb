"""What single commands do to the paths among their words. A word of None is not literal."""

from __future__ import annotations

import os

from preread.gates import shell_writers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol, TypeGuard

    from preread.gates.shell_words import Token

    Words = list[str | None]

    class Walker(Protocol):
        """What records the actions: the parser of preread.gates.shell."""

        cwd: str | None
        actions: list[tuple[str, str]]

        def act(self, action: str, path: str | None) -> None: ...
        def absolute(self, path: str) -> str: ...
        def script(self, text: str | None) -> None: ...


PROMPT = "/preread:gates"  # a person's prompt, which could be passed to another Claude Code
# Commands that run another command -> their options whose value is the next word.
PREFIXES = {
    **dict.fromkeys(("command", "time", "nohup", "builtin", "setsid"), ""),
    "exec": "-a",
    "sudo": "-u --user -g --group -h --host -p --prompt -r -t -U",
    "doas": "-u",
    "env": "-u --unset",
    "nice": "-n --adjustment",
    "ionice": "-c -n --class --classdata",
    "stdbuf": "-i -o -e --input --output --error",
    "timeout": "-k -s --kill-after --signal",  # and an operand: the time
    "xargs": "-I -n -P -L -s -d -E -a --max-args --max-procs --max-lines --delimiter --arg-file",
}


def perform(walker: Walker, tokens: list[Token]) -> None:
    """Record what one simple command does."""
    words = _unprefixed(tokens)
    name, rest = (os.path.basename(words[0] or ""), words[1:]) if words else ("", [])
    if name in shell_writers.WRITERS:
        for path in shell_writers.written(name, rest):
            walker.act("write", path)
    elif name in COMMANDS:
        COMMANDS[name](walker, words)
    elif _switches_off(name, rest) or any((word or "").startswith(PROMPT) for word in words):
        walker.actions.append(("switch", walker.cwd or ""))


def is_assignment(raw: str) -> bool:
    """Whether a word, as written, begins with `NAME=` or `NAME+=`."""
    name, sign, _ = raw.partition("=")
    name = name[:-1] if name.endswith("+") else name
    plain = name.replace("_", "a")
    return bool(sign) and plain.isalnum() and plain.isascii() and not plain[0].isdigit()


def _unprefixed(tokens: list[Token]) -> Words:
    """The words of a command, from its name on; none for `command -v`."""
    at, size = 0, len(tokens)
    xargs: Words | None = None
    while at < size:
        if is_assignment(tokens[at].raw):
            at += 1
            continue
        prefix = os.path.basename(tokens[at].value or "")
        if prefix not in PREFIXES:
            break
        start = at + 1
        at = _after_options(tokens, start, PREFIXES[prefix].split())
        given: Words = [_text(token) for token in tokens[start:at]]
        if prefix == "command" and ("-v" in given or "-V" in given):
            return []
        at += prefix == "timeout"
        xargs = given if prefix == "xargs" else xargs
    words = [token.value for token in tokens[at:]]
    return words if xargs is None else _completed(words, xargs)


def _text(token: Token) -> str:
    return token.raw if token.value is None else token.value


def _completed(words: Words, options: Words) -> Words:
    """The command that xargs runs: unknown words come at its end, or where `-I` says."""
    given = shell_writers.Given(options, PREFIXES["xargs"])
    marks = [mark or "{}" for mark in given.values("-I", "-i", "--replace")]
    if not marks:
        return [*words, None]
    return [None if any(mark in (word or "") for mark in marks) else word for word in words]


def _after_options(tokens: list[Token], at: int, valued: list[str]) -> int:
    """The index after the options, their values and assignments."""
    while at < len(tokens):
        option = _text(tokens[at])
        if not option.startswith("-") and not is_assignment(tokens[at].raw):
            break
        at += 2 if option in valued else 1
    return at


def _remove(walker: Walker, words: Words) -> None:
    for path in shell_writers.Given(words[1:], "").operands:
        walker.act("remove", path)


def _copy(walker: Walker, words: Words) -> None:
    """`cp` and the like: write the last operand, or each source's name below it."""
    name = os.path.basename(words[0] or "")
    sources, target, kind = shell_writers.copied(name, words[1:])
    if target:
        either = kind == shell_writers.EITHER
        if either and (target.endswith("/") or _is_folder(walker, target)):
            kind = shell_writers.FOLDER
        if kind == shell_writers.FOLDER:
            for source in filter(None, sources):
                walker.act("write", os.path.join(target, os.path.basename(source.rstrip("/"))))
        else:
            walker.act("write", target)
    if name == "mv":
        for moved in sources:
            walker.act("remove", moved)


def _git(walker: Walker, words: Words) -> None:
    """`git mv` and `git rm`, in the folder of `-C`."""
    at = 1
    folder: str | None = ""
    while at < len(words) and _is_option(words[at]):
        if words[at] == "-C":
            folder = words[at + 1] if at + 1 < len(words) else None
        at += 2 if words[at] in ("-C", "-c") else 1
    command = words[at] if at < len(words) else None
    given = shell_writers.Given(words[at + 1 :], "")
    if command not in ("mv", "rm") or given.has("-n", "--dry-run", "--cached"):
        return
    before = walker.cwd
    if folder != "":
        _change(walker, ["cd", folder])
    COMMANDS[command](walker, words[at:])
    walker.cwd = before


def _script(walker: Walker, words: Words) -> None:
    """`bash -c SCRIPT`."""
    rest = iter(words[1:])
    for word in rest:
        if not _is_option(word) or word == "--":
            return
        if not word.startswith("--") and word.endswith("c"):
            walker.script(next(rest, None))
            return
        if word.endswith(("o", "O")) and not word.startswith("--"):
            next(rest, None)


def _is_option(word: str | None) -> TypeGuard[str]:
    return word is not None and word.startswith("-") and word != "-"


def _is_folder(walker: Walker, path: str) -> bool:
    known = path.startswith("/") or walker.cwd is not None
    return known and "\0" not in path and os.path.isdir(walker.absolute(path))


def _change(walker: Walker, words: Words) -> None:
    """`cd`: the folder from here on, or None when it is unknown."""
    names = [word for word in words[1:] if not _is_option(word)]
    is_back = os.path.basename(words[0] or "") == "popd"
    folder = names[0] if len(names) == 1 and not is_back else None
    known = folder and folder != "-" and (folder.startswith("/") or walker.cwd is not None)
    walker.cwd = walker.absolute(folder) if folder and known else None


COMMANDS = {
    **dict.fromkeys(("rm", "unlink"), _remove),
    **dict.fromkeys(shell_writers.COPIERS, _copy),
    **dict.fromkeys(("cd", "pushd", "popd"), _change),
    **dict.fromkeys(("sh", "bash", "dash", "zsh", "ksh"), _script),
    "git": _git,
}


def _switches_off(name: str, words: Words) -> bool:
    """Whether this is `preread gates off`, or `preread init --undo`, which removes the gates."""
    if name.startswith("python"):
        module = words.index("-m") + 1 if "-m" in words else len(words)
        if words[module : module + 1] != ["preread"]:
            return False
        words = words[module + 1 :]
    elif name != "preread":
        return False
    if "init" in words and "--undo" in words:
        return True
    return "gates" in words and "off" in words[words.index("gates") :]
