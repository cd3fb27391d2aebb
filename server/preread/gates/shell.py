"""What a shell script obviously writes and removes (docs/gates-reference.md, "Bash")."""

from __future__ import annotations

import os

from preread.gates import shell_commands, shell_words
from preread.gates.shell_words import (
    ARITHMETIC,
    BROKEN,
    CLOSERS,
    END,
    OPERATOR,
    REDIRECTION,
    WORD,
    Token,
    Unreadable,
)

MAX_DEPTH = 60  # of nested compound commands; a script beyond it counts as unreadable from there
WRITES = frozenset(["&>>", "&>", ">>", ">|", ">&", ">"])
ENDING = frozenset([")", ";;", ";&", ";;&", "|", "|&", *CLOSERS])  # cannot begin a command
NOTHING = Token(END, "")


def actions(text: str, cwd: str | None) -> list[tuple[str, str]]:
    """(`write` or `remove`, absolute path) in order; (`switch`, folder) for `preread gates off`."""
    return _parsed(text, cwd).actions


def targets(text: str, cwd: str | None) -> list[str]:
    """The absolute paths that a script obviously writes."""
    return [path for action, path in actions(text, cwd) if action == "write"]


def commands(text: str) -> list[list[str]]:
    """The words of each simple command; a word that the shell would expand is left as written."""
    return _parsed(text, None).commands


def _parsed(text: str, cwd: str | None) -> _Parser:
    return _read(_Parser(shell_words.tokens(text), cwd))


def _read(parser: _Parser) -> _Parser:
    """Walk a whole script, or up to where bash could not read it."""
    try:
        parser.sequence(())
    except Unreadable:
        pass
    return parser


class _Parser:
    """Walks the commands in order, with the folder that each one runs in (None: unknown)."""

    def __init__(self, tokens: list[Token], cwd: str | None) -> None:
        self.tokens = tokens
        self.cwd = cwd
        self.at = 0
        self.depth = 0
        self.actions: list[tuple[str, str]] = []
        self.commands: list[list[str]] = []

    @property
    def token(self) -> Token:
        return self.tokens[self.at] if self.at < len(self.tokens) else NOTHING

    def take(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def is_operator(self, *raws: str) -> bool:
        return self.token.kind == OPERATOR and self.token.raw in raws

    def is_word(self, raw: str) -> bool:
        return self.token.kind == WORD and self.token.raw == raw

    def sequence(self, closers: tuple[str, ...]) -> None:
        """Pipelines up to one of the closers, or to the end. Raises Unreadable."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable
        while self.token.kind != END:
            token = self.token
            if token.raw in closers and token.kind in (WORD, OPERATOR):
                self.depth -= 1
                return
            if self.is_operator(";", "&", "\n", "&&", "||"):
                self.at += 1
            elif token.raw in ENDING and token.kind in (WORD, OPERATOR):
                raise Unreadable
            else:
                self.pipeline()
        if closers:
            raise Unreadable

    def body(self, *closers: str) -> str:
        """A sequence, and what closes it."""
        self.sequence(closers)
        return self.take().raw

    def pipeline(self) -> None:
        before = self.cwd
        self.command()
        while self.is_operator("|", "|&"):
            self.at += 1
            self.skip_lines()
            self.cwd = before
            self.command()
            self.cwd = before

    def skip_lines(self) -> None:
        while self.is_operator("\n"):
            self.at += 1

    def skip_to(self, raw: str, kind: str) -> None:
        """Move past the next such token."""
        while not (self.token.kind == kind and self.token.raw == raw):
            if self.token.kind in (END, BROKEN):
                raise Unreadable
            self.at += 1
        self.at += 1

    def command(self) -> None:
        while self.is_word("!") or self.is_word("time"):
            if self.take().raw == "time" and self.is_word("-p"):
                self.at += 1
        token = self.token
        if self.is_operator("("):
            self.at += 1
            before = self.cwd
            self.body(")")
            self.cwd = before
        elif token.kind == ARITHMETIC:
            self.at += 1
        elif token.kind == WORD and token.raw in COMPOUND:
            self.at += 1
            COMPOUND[token.raw](self)
        else:
            self.simple()
            return
        while self.token.kind == REDIRECTION:
            self.redirection()

    def braces(self) -> None:
        self.body("}")

    def conditional(self) -> None:
        end = "elif"
        while end == "elif":
            self.body("then")
            end = self.body("elif", "else", "fi")
        if end == "else":
            self.body("fi")

    def loop(self) -> None:
        self.body("do")
        self.body("done")

    def each(self) -> None:
        while self.token.kind in (WORD, ARITHMETIC) and not self.is_word("do"):
            self.at += 1
        self.loop()

    def case(self) -> None:
        while self.token.kind == WORD and not self.is_word("in"):
            self.at += 1
        self.at += 1
        while True:
            self.skip_lines()
            if self.is_word("esac"):
                self.at += 1
                return
            self.skip_to(")", OPERATOR)
            if self.body(";;", ";&", ";;&", "esac") == "esac":
                return

    def test(self) -> None:
        self.skip_to("]]", WORD)

    def function(self) -> None:
        self.at += 1
        if self.is_operator("("):
            self.at += 2
        self.skip_lines()
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable
        self.command()
        self.depth -= 1

    def redirection(self) -> None:
        operator = self.take().raw
        if self.token.kind != WORD:
            raise Unreadable
        value = self.take().value
        if operator in WRITES and not (operator == ">&" and _is_descriptor(value or "")):
            self.act("write", value)

    def simple(self) -> None:
        """A simple command; its redirections do not count when bash could not read all of it."""
        noted = len(self.actions)
        try:
            words = self.words()
        except Unreadable:
            del self.actions[noted:]
            raise
        if words is None:
            self.function()
        elif words:
            self.commands.append([word.raw if word.value is None else word.value for word in words])
            shell_commands.perform(self, words)

    def words(self) -> list[Token] | None:
        """The words of a simple command; None where a function definition begins."""
        words: list[Token] = []
        while self.token.kind in (WORD, REDIRECTION):
            if self.token.kind == REDIRECTION:
                self.redirection()
                continue
            words.append(self.take())
            if self.is_operator("("):
                raw = words[-1].raw
                if raw.endswith("=") and shell_commands.is_assignment(raw) and "=" not in raw[:-1]:
                    self.skip_to(")", OPERATOR)
                elif len(words) == 1:
                    self.at -= 1
                    return None
        if self.token.kind in (BROKEN, ARITHMETIC) or self.is_operator("("):
            raise Unreadable
        return words

    def act(self, action: str, path: str | None) -> None:
        """Record an action on a path that is literal, and relative to a known folder."""
        if path and (path.startswith("/") or self.cwd is not None):
            self.actions.append((action, self.absolute(path)))

    def script(self, text: str | None) -> None:
        """The actions of a script in a script: `bash -c`, where `text` is literal."""
        if text is None or self.depth > MAX_DEPTH:
            return
        inner = _Parser(shell_words.tokens(text), self.cwd)
        inner.depth = self.depth + 1
        _read(inner)
        self.actions += inner.actions

    def absolute(self, path: str) -> str:
        path = os.path.normpath(os.path.join(self.cwd or "/", path))
        return path[1:] if path.startswith("//") else path


def _is_descriptor(word: str) -> bool:
    """Whether `>&WORD` copies or closes a descriptor."""
    word = word[:-1] if word.endswith("-") else word
    return not word or word.isdecimal()


COMPOUND = {
    "{": _Parser.braces,
    "if": _Parser.conditional,
    "while": _Parser.loop,
    "until": _Parser.loop,
    "for": _Parser.each,
    "select": _Parser.each,
    "case": _Parser.case,
    "[[": _Parser.test,
    "function": _Parser.function,
}
