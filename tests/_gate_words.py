"""A Bash command as words and operators, read slowly; shares nothing with `hooks/`."""

import re
from typing import NamedTuple

REDIRECTIONS = ("&>>", "&>", ">>", ">|", ">&", "<<<", "<<-", "<<", "<&", "<>", "<", ">")
CONTROLS = (";;&", ";;", ";&", "&&", "||", "|&", "|", "&", ";", "(", ")", "\n")
HERE_DOCUMENT = re.compile(
    r"""<<(?!<)(-?)[ \t]*(?:'([^']*)'|"([^"]*)"|((?:\\.|[^\s|&;()<>'"$`\\])+))"""
)
CLOSERS = {"then", "do", "else", "elif", "fi", "done", "esac", "}"}


class UnreadableError(Exception):
    """Bash could not read on from here."""


class Token(NamedTuple):
    kind: str  # word, redirection, control, arithmetic, broken
    raw: str
    value: str | None = None  # a word's text, where it is literal
    start: int = 0
    end: int = 0


class Lexer:
    """The text as tokens; the bodies of here-documents, comments and joined lines are gone."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.tokens = text, 0, list[Token]()
        self.delimiters: list[tuple[str, bool]] = []

    def all(self) -> list[Token]:
        try:
            while self.skip_blanks():
                self.one()
        except UnreadableError:
            self.tokens.append(Token("broken", ""))
        return self.tokens

    def skip_blanks(self) -> bool:
        """Move to the next token; false when there is none."""
        while self.at < len(self.text):
            if self.text.startswith("\\\n", self.at):
                self.at += 2
            elif self.text[self.at] in " \t":
                self.at += 1
            elif self.text[self.at] == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            else:
                return True
        return False

    def one(self) -> None:
        text, at = self.text, self.at
        if text.startswith("((", at) and self.starts_arithmetic():
            self.add("arithmetic", "((", None, self.after_arithmetic(at))
        elif text.startswith(("<(", ">("), at):
            self.word()
        elif (
            found := next((op for op in REDIRECTIONS if text.startswith(op, at)), None)
        ) is not None:
            self.add("redirection", found, None, at + len(found))
        elif (found := next((op for op in CONTROLS if text.startswith(op, at)), None)) is not None:
            self.add("control", found, None, at + len(found))
            if found == "\n":
                self.skip_bodies()
        else:
            self.word()

    def add(self, kind: str, raw: str, value: str | None, end: int) -> None:
        self.tokens.append(Token(kind, raw, value, self.at, end))
        self.at = end

    def starts_arithmetic(self) -> bool:
        before = self.tokens[-1] if self.tokens else None
        place = (
            before is None
            or before.kind == "control"
            or before.raw in CLOSERS | {"for", "if", "while", "until"}
        )
        return place and self.after_arithmetic(self.at) > 0

    def after_arithmetic(self, at: int) -> int:
        """Where `((…))` ends, or 0 where these brackets are two subshells."""
        depth = 0
        for place in range(at, len(self.text)):
            depth += {"(": 1, ")": -1}.get(self.text[place], 0)
            if depth == 1 and self.text[place] == ")":
                return place + 2 if self.text.startswith("))", place) else 0
        return 0

    def skip_bodies(self) -> None:
        for delimiter, tabs in self.delimiters:
            while self.at < len(self.text):
                line, _, _ = self.text[self.at :].partition("\n")
                self.at = min(self.at + len(line) + 1, len(self.text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self.delimiters = []

    def word(self) -> None:
        value, literal, start = "", True, self.at
        while self.at < len(self.text):
            rest = self.text[self.at :]
            char = rest[0]
            if rest.startswith("\\\n"):
                self.at += 2
            elif char == "\\":
                value += rest[1:2] or "\\"
                self.at += 2
            elif char == "'":
                value += self.until_quote(self.at + 1)
            elif char == '"':
                inner, plain = self.double()
                value, literal = value + inner, literal and plain
            elif char == "$" or char == "`" or rest.startswith(("<(", ">(")):
                self.expansion()
                literal = False
            elif char in " \t\n|&;()<>":
                break
            else:
                literal = literal and char not in "*?[{" and not (char == "~" and self.at == start)
                value += char
                self.at += 1
        end, self.at = min(self.at, len(self.text)), start
        raw = self.text[start:end]
        before = self.tokens[-1] if self.tokens else None
        copies = before is not None and before.raw in {">&", "<&"}
        if (
            raw.isdecimal()
            and raw.isascii()
            and self.text[end : end + 1] in {"<", ">"}
            and not copies
        ):
            self.at = end  # the number of a file descriptor
            return
        if before and before.kind == "redirection" and before.raw in {"<<", "<<-"}:
            self.delimiters.append((value, before.raw == "<<-"))
        self.add("word", raw, value if literal else None, end)

    def until_quote(self, start: int) -> str:
        end = self.text.find("'", start)
        if end < 0:
            raise UnreadableError
        self.at = end + 1
        return self.text[start:end]

    def double(self) -> tuple[str, bool]:
        """Go past "…"; its text, and whether it is literal."""
        value, literal = "", True
        self.at += 1
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return value, literal
            if char == "\\":
                escaped = self.text[self.at + 1 : self.at + 2]
                value += (
                    {"\n": ""}.get(escaped, escaped) if escaped in '$`"\\\n' else "\\" + escaped
                )
                self.at += 2
            elif char in "$`":
                self.expansion(quoted=True)
                literal = False
            else:
                value += char
                self.at += 1
        raise UnreadableError

    def expansion(self, *, quoted: bool = False) -> None:
        """Go past an expansion or a substitution."""
        rest = self.text[self.at :]
        if rest[0] == "`":
            ticked = re.match(r"`(?:[^`\\]|\\.)*`", rest, re.DOTALL)
            if not ticked:
                raise UnreadableError
            self.at += ticked.end()
        elif rest.startswith("$'") and not quoted:
            ansi = re.match(r"\$'(?:[^'\\]|\\.)*'", rest, re.DOTALL)
            if not ansi:
                raise UnreadableError
            self.at += ansi.end()
        elif rest.startswith(("$(", "<(", ">(")):
            shifts = rest.startswith("$((")
            self.at += 2
            self.past(")", None if shifts else [])
        elif rest.startswith("${"):
            self.at += 2
            self.past("}")
        else:
            self.at += 1

    def past(self, closer: str, documents: list[tuple[str, bool]] | None = None) -> None:
        """Move past the closing bracket, over quotes, brackets and here-documents inside."""
        while self.at < len(self.text):
            char = self.text[self.at]
            less = HERE_DOCUMENT.match(self.text, self.at)
            if char == closer:
                self.at += 1
                return
            if char == "\\":
                self.at += 2
            elif char == "'":
                self.until_quote(self.at + 1)
            elif char == '"':
                self.double()
            elif char in "$`":
                self.expansion()
            elif char == "(" and closer == ")":
                self.at += 1
                self.past(")", documents)
            elif self.text.startswith("<<<", self.at):
                self.at += 3
            elif documents is not None and less:
                self.at = less.end()
                quoted = less[2] if less[2] is not None else less[3]
                documents.append(
                    (re.sub(r"\\(.)", r"\1", less[4]) if quoted is None else quoted, less[1] == "-")
                )
            elif documents and char == "\n":
                self.at += 1
                outer, self.delimiters = self.delimiters, documents[:]
                self.skip_bodies()
                documents.clear()
                self.delimiters = outer
            else:
                self.at += 1
        raise UnreadableError
