"""What single commands do to the paths among their words. A word of None is not literal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from preread.gates.shell_words import Token

    Words = list[str | None]

    class Walker(Protocol):
        """What records the actions: the parser of preread.gates.shell."""

        cwd: str | None
        actions: list[tuple[str, str]]

        def act(self, action: str, path: str | None) -> None: ...
        def absolute(self, path: str) -> str: ...


PROMPT = "/preread:gates"  # of a person; another Claude Code could be given it
PREFIXES = frozenset(["sudo", "env", "command", "time", "exec", "nohup", "builtin"])
# Options of sed.
IN_PLACE = "--in-place"
SCRIPTS = ("--expression", "--file")
VALUED = (*SCRIPTS, "--line-length")
SED_LETTERS = {
    "i": IN_PLACE,
    "e": "--expression",
    "f": "--file",
    "l": "--line-length",
}

TOUCH_VALUED = ("-d", "--date", "-r", "--reference", "-t")


def perform(walker: Walker, tokens: list[Token]) -> None:
    """Record what one simple command does."""
    words = _unprefixed(tokens)
    name, rest = (os.path.basename(words[0] or ""), words[1:]) if words else ("", [])
    if name in WRITERS:
        for path in WRITERS[name](rest):
            walker.act("write", path)
    elif name == "rm":
        for path in _operands(rest):
            walker.act("remove", path)
    elif name in ("cp", "mv"):
        _copy(walker, name, rest)
    elif name in ("cd", "pushd", "popd"):
        _change(walker, name, rest)
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
    """The words that are not options."""
    end = words.index("--") if "--" in words else len(words)
    return [word for word in words[:end] if not _is_option(word)] + words[end + 1 :]


def _is_option(word: str | None) -> bool:
    return word is not None and word.startswith("-")


def _copy(walker: Walker, name: str, words: Words) -> None:
    """`cp` and `mv`: write the last operand, or each source's name below it."""
    folder, is_named, sources = _copied(words)
    if not is_named:
        if len(sources) < 2:
            return
        folder = sources.pop()
    if folder:
        is_folder = is_named or len(sources) > 1 or folder.endswith("/")
        if is_folder or _is_folder(walker, folder):
            for source in filter(None, sources):
                walker.act("write", os.path.join(folder, os.path.basename(source.rstrip("/"))))
        else:
            walker.act("write", folder)
    if name == "mv":
        for moved in sources:
            walker.act("remove", moved)


def _copied(words: Words) -> tuple[str | None, bool, Words]:
    """The folder of `-t`, whether there is one, and the operands."""
    folder: str | None = None
    is_named = False
    operands: Words = []
    rest = iter(words)
    for word in rest:
        if word in ("-t", "--target-directory"):
            folder, is_named = next(rest, None), True
        elif word is not None and word.startswith("--target-directory="):
            folder, is_named = word.partition("=")[2], True
        elif word == "--":
            operands += rest
        elif not _is_option(word):
            operands.append(word)
    return folder, is_named, operands


def _is_folder(walker: Walker, path: str) -> bool:
    known = path.startswith("/") or walker.cwd is not None
    return known and "\0" not in path and os.path.isdir(walker.absolute(path))


def _edited(words: Words) -> Words:
    """The files that `sed -i` writes."""
    in_place = has_script = False
    names: Words = []
    at = 0
    while at < len(words):
        word = words[at]
        at += 1
        if word is None or not word.startswith("-") or word == "-":
            names.append(word)
            continue
        if word == "--":
            names += words[at:]
            break
        option, takes_next = _sed_option(word, words[at : at + 1])
        in_place = in_place or option == IN_PLACE
        has_script = has_script or option in SCRIPTS
        at += takes_next
    if not in_place:
        return []
    return names if has_script else names[1:]


def _sed_option(word: str, following: Words) -> tuple[str, bool]:
    """The long name of an option of sed, and whether the next word is its value."""
    if word.startswith("--"):
        return word.partition("=")[0], word in VALUED
    # The first of these letters takes the rest of its cluster, or the next word.
    at = min([at for at in map(word.find, SED_LETTERS) if at > 0], default=0)
    option = SED_LETTERS[word[at]] if at else ""
    if word[at + 1 :]:
        return option, False
    # `-i ""` is how macOS writes no backup.
    return option, option in VALUED or (option == IN_PLACE and following == [""])


def _touched(words: Words) -> Words:
    """The files that `touch` creates."""
    names: Words = []
    rest = iter(words)
    for word in rest:
        if word in ("-c", "--no-create"):
            return []
        if word == "--":
            names += rest
        elif word in TOUCH_VALUED:
            next(rest, None)
        elif not _is_option(word):
            names.append(word)
    return names


WRITERS = {"tee": _operands, "sed": _edited, "touch": _touched}


def _change(walker: Walker, name: str, words: Words) -> None:
    """`cd`: the folder from here on, or None when it is unknown."""
    names = [word for word in words if word is None or not word.startswith("-") or word == "-"]
    folder = names[0] if len(names) == 1 and name != "popd" else None
    known = folder and folder != "-" and (folder.startswith("/") or walker.cwd is not None)
    walker.cwd = walker.absolute(folder) if folder and known else None


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
