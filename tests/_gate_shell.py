# Paths are text here, as the contract has it.
# ruff: noqa: PTH112, PTH118, PTH119
"""What a Bash command plainly writes by docs/gates-reference.md, with a slow parser of its grammar.

Nothing here is shared with `hooks/`: this is the second opinion that the hooks are compared with.
"""

import os
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from _gate_words import CLOSERS, Lexer, Token, UnreadableError

WRITING = {"&>>", "&>", ">>", ">|", ">&", ">"}
PREFIXES = {"sudo", "env", "command", "time", "exec", "nohup", "builtin"}
ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\+?=")


class Action(NamedTuple):
    """What a command does to a path: `write`, `remove`; or `switch`, with its folder."""

    what: str
    path: str


@dataclass
class Shell:
    """Walks the commands in order, with the folder that each runs in (None: unknown)."""

    tokens: list[Token]
    cwd: str | None
    at: int = 0

    def __post_init__(self) -> None:
        self.actions: list[Action] = []

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else Token("end", "")

    def is_control(self, *raws: str) -> bool:
        return self.token.kind == "control" and self.token.raw in raws

    def is_word(self, *raws: str) -> bool:
        return self.token.kind == "word" and self.token.raw in raws

    def run(self) -> list[Action]:
        with suppress(UnreadableError):
            self.sequence(())
        return self.actions

    def sequence(self, closers: tuple[str, ...]) -> None:
        """Pipelines up to one of the closing words or operators, or to the end."""
        while self.token.kind != "end":
            if self.token.raw in closers and self.token.kind in {"word", "control"}:
                return
            if self.is_control(";", "&", "\n", "&&", "||"):
                self.at += 1
            elif self.is_control(")", ";;", ";&", ";;&", "|", "|&") or self.is_word(*CLOSERS):
                raise UnreadableError
            else:
                self.pipeline()
        if closers:
            raise UnreadableError

    def pipeline(self) -> None:
        before = self.cwd
        self.command()
        while self.is_control("|", "|&"):
            self.at += 1
            while self.is_control("\n"):
                self.at += 1
            self.cwd = before
            self.command()
            self.cwd = before

    def command(self) -> None:
        while self.is_word("!", "time"):
            timed = self.is_word("time")
            self.at += 1
            if timed and self.is_word("-p"):
                self.at += 1
        token = self.token
        self.at += 1
        if token.kind == "control" and token.raw == "(":
            before = self.cwd
            self.body(")")
            self.cwd = before
        elif token.kind == "arithmetic":
            pass
        elif token.kind == "word" and token.raw in COMPOUND:
            COMPOUND[token.raw](self)
        else:
            self.at -= 1
            self.simple()
            return
        self.redirections()

    def body(self, *closers: str) -> str:
        """A sequence and the word that closes it."""
        self.sequence(closers)
        self.at += 1
        return self.tokens[self.at - 1].raw

    def braces(self) -> None:
        self.body("}")

    def conditional(self) -> None:
        while True:
            self.body("then")
            if (end := self.body("elif", "else", "fi")) != "elif":
                break
        if end == "else":
            self.body("fi")

    def loop(self) -> None:
        self.body("do")
        self.body("done")

    def each(self) -> None:
        while self.token.kind in {"word", "arithmetic"} and not self.is_word("do"):
            self.at += 1
        self.loop()

    def case(self) -> None:
        while self.token.kind == "word" and not self.is_word("in"):
            self.at += 1
        self.at += 1
        while True:
            while self.is_control("\n"):
                self.at += 1
            if self.is_word("esac"):
                self.at += 1
                return
            while not self.is_control(")"):
                if self.token.kind in {"end", "broken"}:
                    raise UnreadableError
                self.at += 1
            self.at += 1
            if self.body(";;", ";&", ";;&", "esac") == "esac":
                return

    def test(self) -> None:
        while not self.is_word("]]"):
            if self.token.kind in {"end", "broken"}:
                raise UnreadableError
            self.at += 1
        self.at += 1

    def function(self) -> None:
        self.at += 1
        if self.is_control("("):
            self.at += 2
        while self.is_control("\n"):
            self.at += 1
        self.command()

    def redirections(self) -> None:
        while self.token.kind == "redirection":
            self.redirection()

    def redirection(self) -> None:
        operator = self.token.raw
        self.at += 1
        if self.token.kind != "word":
            raise UnreadableError
        value = self.token.value
        self.at += 1
        copied = operator == ">&" and re.fullmatch(r"\d*-?", value or "")
        if operator in WRITING and not copied:
            self.act("write", value)

    def simple(self) -> None:
        words: list[Token] = []
        noted = len(self.actions)
        while self.token.kind in {"word", "redirection"}:
            if self.token.kind == "redirection":
                try:
                    self.redirection()
                except UnreadableError:
                    del self.actions[noted:]
                    raise
                continue
            words.append(self.token)
            self.at += 1
            if not self.is_control("("):
                continue
            if ASSIGNMENT.fullmatch(words[-1].raw):
                while not self.is_control(")"):
                    if self.token.kind in {"end", "broken"}:
                        raise UnreadableError
                    self.at += 1
                self.at += 1
            elif len(words) == 1:
                self.at -= 1
                self.function()
                return
        if self.token.kind in {"broken", "arithmetic"} or self.is_control("("):
            del self.actions[noted:]
            raise UnreadableError
        self.perform(words)

    # -- what the simple commands do

    def act(self, what: str, path: str | None) -> None:
        if path and (path.startswith("/") or self.cwd is not None):
            self.actions.append(Action(what, absolute(path, self.cwd or "/")))

    def perform(self, tokens: list[Token]) -> None:
        words = unprefixed(tokens)
        name, rest = (os.path.basename(words[0] or ""), words[1:]) if words else ("", [])
        if name == "tee":
            for path in operands(rest):
                self.act("write", path)
        elif name == "touch":
            for path in touched(rest):
                self.act("write", path)
        elif name in {"cp", "mv"}:
            self.copy(name, rest)
        elif name == "sed":
            for path in edited(rest):
                self.act("write", path)
        elif name == "rm":
            for path in operands(rest):
                self.act("remove", path)
        elif name in {"cd", "pushd", "popd"}:
            self.change(name, rest)
        elif switches_off(name, rest):
            self.actions.append(Action("switch", self.cwd or ""))

    def copy(self, name: str, words: list[str | None]) -> None:
        folder, sources, named = None, list[str | None](), False
        taken = iter(words)
        for word in taken:
            if word in {"-t", "--target-directory"}:
                folder, named = next(taken, None), True
            elif word is not None and word.startswith("--target-directory="):
                folder, named = word.partition("=")[2], True
            elif word == "--":
                sources += taken
            elif word is None or not word.startswith("-"):
                sources.append(word)
        if not named:
            if len(sources) < 2:
                return
            folder = sources.pop()
        if folder:
            place = absolute(folder, self.cwd or "/")
            known = folder.startswith("/") or self.cwd is not None
            below = (
                named
                or len(sources) > 1
                or folder.endswith("/")
                or (known and os.path.isdir(place))
            )
            for source in sources:
                if not below:
                    self.act("write", folder)
                elif source:
                    self.act("write", os.path.join(folder, os.path.basename(source.rstrip("/"))))
        if name == "mv":
            for source in sources:
                self.act("remove", source)

    def change(self, name: str, words: list[str | None]) -> None:
        names = [
            word for word in words if word is None or not (word.startswith("-") and len(word) > 1)
        ]
        folder = names[0] if len(names) == 1 and name != "popd" else None
        if not folder or folder == "-" or not (folder.startswith("/") or self.cwd):
            self.cwd = None
        else:
            self.cwd = absolute(folder, self.cwd or "/")


COMPOUND = {
    "{": Shell.braces,
    "if": Shell.conditional,
    "while": Shell.loop,
    "until": Shell.loop,
    "for": Shell.each,
    "select": Shell.each,
    "case": Shell.case,
    "[[": Shell.test,
    "function": Shell.function,
}


def absolute(path: str, cwd: str) -> str:
    """The path as text: absolute, without `.`, `..`, and doubled separators."""
    joined = os.path.normpath(os.path.join(cwd, path))
    return "/" + joined.lstrip("/")


def unprefixed(tokens: list[Token]) -> list[str | None]:
    """The words of a command from its name on; none for `command -v`."""
    left = list(tokens)
    while left:
        if ASSIGNMENT.match(left[0].raw):
            left.pop(0)
            continue
        prefix = os.path.basename(left[0].value or "")
        if prefix not in PREFIXES:
            break
        left.pop(0)
        while left and (ASSIGNMENT.match(left[0].raw) or (left[0].value or "").startswith("-")):
            option = left.pop(0).value
            if prefix == "command" and option in {"-v", "-V"}:
                return []
            if prefix in {"sudo", "env"} and option == "-u" and left:
                left.pop(0)
    return [token.value for token in left]


def touched(words: list[str | None]) -> list[str | None]:
    names, left = list[str | None](), list(words)
    while left:
        word = left.pop(0)
        if word in {"-c", "--no-create"}:
            return []
        if word == "--":
            return names + left
        if word in {"-d", "--date", "-r", "--reference", "-t"}:
            left = left[1:]
        elif word is None or not word.startswith("-"):
            names.append(word)
    return names


def operands(words: list[str | None]) -> list[str | None]:
    """The words that are not options."""
    end = words.index("--") if "--" in words else len(words)
    return [word for word in words[:end] if word is None or not word.startswith("-")] + words[
        end + 1 :
    ]


def edited(words: list[str | None]) -> list[str | None]:
    """The files that `sed -i` writes."""
    in_place, scripted, names = False, False, list[str | None]()
    left = list(words)
    while left:
        word = left.pop(0)
        if word is None or not word.startswith("-") or word == "-":
            names.append(word)
        elif word == "--":
            names += left
            break
        elif word.startswith("--"):
            in_place |= word.partition("=")[0] == "--in-place"
            scripted |= word.partition("=")[0] in {"--expression", "--file"}
            if word in {"--expression", "--file", "--line-length"} and left:
                left.pop(0)
        else:
            letters = re.fullmatch(r"-([^iefl]*)(?:([iefl])(.*))?", word, re.DOTALL)
            assert letters is not None
            _, letter, more = letters.groups()
            in_place |= letter == "i"
            scripted |= letter in {"e", "f"}
            takes_next = letter in {"e", "f", "l"} and not more
            if left and (takes_next or (letter == "i" and not more and left[0] == "")):
                left.pop(0)
    return (names if scripted else names[1:]) if in_place else []


def switches_off(name: str, words: list[str | None]) -> bool:
    """Whether this is `preread gates off`, in any of its forms."""
    if name.startswith("python"):
        module = next((i for i, word in enumerate(words) if word == "-m"), len(words))
        if words[module + 1 : module + 2] != ["preread"]:
            return False
        words = words[module + 2 :]
    elif name != "preread":
        return False
    if {"init", "--undo"} <= set(words):
        return True
    return "gates" in words and "off" in words[words.index("gates") :]


def actions(command: str, cwd: str | None) -> list[Action]:
    """What the command does to paths it names, in the order of the text."""
    return Shell(Lexer(command).all(), cwd).run()
