"""What the commands that docs/gates.md names do to the paths among their words. A word of None is not literal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from preread.gates.shell_words import Token

    Words = list[str | None]

    class Walker(Protocol):
        """What notes the actions: gatelib.shell's parser."""

        cwd: str | None
        actions: list[tuple[str, str]]

        def act(self, action: str, path: str | None) -> None: ...
        def absolute(self, path: str) -> str: ...


PREFIXES = frozenset(["sudo", "env", "command", "time", "exec", "nohup", "builtin"])
SCRIPTS = ("--expression", "--file")
VALUED = (*SCRIPTS, "--line-length")


def perform(walker: Walker, tokens: list[Token]) -> None:
    """Note what one simple command does."""
    words = _unprefixed(tokens)
    name, rest = (os.path.basename(words[0] or ""), words[1:]) if words else ("", [])
    if name in ("tee", "rm"):
        for path in _operands(rest):
            walker.act("write" if name == "tee" else "remove", path)
    elif name in ("cp", "mv"):
        _copy(walker, name, rest)
    elif name == "sed":
        for path in _edited(rest):
            walker.act("write", path)
    elif name in ("cd", "pushd", "popd"):
        _change(walker, name, rest)
    elif _switches_off(name, rest):
        walker.actions.append(("switch", walker.cwd or ""))


def is_assignment(raw: str) -> bool:
    """Whether a word, as it is written, begins with `NAME=` or `NAME+=`."""
    name, sign, _ = raw.partition("=")
    name = name[:-1] if name.endswith("+") else name
    plain = name.replace("_", "a")
    return bool(sign) and plain.isalnum() and plain.isascii() and not plain[0].isdigit()


def _unprefixed(tokens: list[Token]) -> Words:
    """The words of a command from its name on; none for `command -v`."""
    at, size = 0, len(tokens)
    while at < size:
        if is_assignment(tokens[at].raw):
            at += 1
            continue
        prefix = os.path.basename(tokens[at].value or "")
        if prefix not in PREFIXES:
            break
        at += 1
        while at < size and (
            is_assignment(tokens[at].raw) or (tokens[at].value or "").startswith("-")
        ):
            option = tokens[at].value
            if prefix == "command" and option in ("-v", "-V"):
                return []
            at += 2 if prefix in ("sudo", "env") and option == "-u" else 1
    return [token.value for token in tokens[at:]]


def _operands(words: Words) -> Words:
    """Every word that is no option."""
    end = words.index("--") if "--" in words else len(words)
    return [word for word in words[:end] if not _is_option(word)] + words[end + 1 :]


def _is_option(word: str | None) -> bool:
    return word is not None and word.startswith("-")


def _copy(walker: Walker, name: str, words: Words) -> None:
    """`cp` and `mv`: the last operand is written, or what stands below it under each source's name."""
    folder, named, sources = _copied(words)
    if not named:
        if len(sources) < 2:
            return
        folder = sources.pop()
    if folder:
        below = named or len(sources) > 1 or folder.endswith("/") or _is_folder(walker, folder)
        for source in sources:
            if not below:
                walker.act("write", folder)
            elif source:
                walker.act("write", os.path.join(folder, os.path.basename(source.rstrip("/"))))
    if name == "mv":
        for source in sources:
            walker.act("remove", source)


def _copied(words: Words) -> tuple[str | None, bool, Words]:
    """The folder of `-t`, whether there was one, and the operands."""
    folder: str | None = None
    named = False
    operands: Words = []
    left = iter(words)
    for word in left:
        if word in ("-t", "--target-directory"):
            folder, named = next(left, None), True
        elif word is not None and word.startswith("--target-directory="):
            folder, named = word.partition("=")[2], True
        elif word == "--":
            operands += left
        elif not _is_option(word):
            operands.append(word)
    return folder, named, operands


def _is_folder(walker: Walker, path: str) -> bool:
    known = path.startswith("/") or walker.cwd is not None
    return known and "\0" not in path and os.path.isdir(walker.absolute(path))


def _edited(words: Words) -> Words:
    """The files that `sed -i` writes."""
    in_place = scripted = False
    names: Words = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word is None or not word.startswith("-") or word == "-":
            names.append(word)
        elif word == "--":
            names += words[at:]
            break
        elif word.startswith("--"):
            option = word.partition("=")[0]
            in_place = in_place or option == "--in-place"
            scripted = scripted or option in SCRIPTS
            at += word in VALUED
        else:
            # The first of these letters takes the rest of its cluster, or the next word.
            place = min([place for place in map(word.find, "iefl") if place > 0], default=0)
            letter, rest = word[place] if place else "", word[place + 1 :]
            in_place = in_place or letter == "i"
            scripted = scripted or letter in ("e", "f")
            if not rest and (
                letter in ("e", "f", "l") or (letter == "i" and words[at : at + 1] == [""])
            ):
                at += 1
    return (names if scripted else names[1:]) if in_place else []


def _change(walker: Walker, name: str, words: Words) -> None:
    """`cd`: the folder that follows, or None where it cannot be known."""
    names = [word for word in words if word is None or not word.startswith("-") or word == "-"]
    folder = names[0] if len(names) == 1 and name != "popd" else None
    known = folder and folder != "-" and (folder.startswith("/") or walker.cwd is not None)
    walker.cwd = walker.absolute(folder) if folder and known else None


def _switches_off(name: str, words: Words) -> bool:
    """Whether this is `preread gates off`."""
    if name.startswith("python"):
        module = words.index("-m") + 1 if "-m" in words else len(words)
        if words[module : module + 1] != ["preread"]:
            return False
        words = words[module + 1 :]
    elif name != "preread":
        return False
    return "gates" in words and "off" in words[words.index("gates") :]
