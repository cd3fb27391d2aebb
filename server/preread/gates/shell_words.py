"""A shell text as tokens: words, redirections, operators. Linear in the text, and no input makes it raise."""

from __future__ import annotations

REDIRECTIONS = ("&>>", "&>", ">>", ">|", ">&", "<<<", "<<-", "<<", "<&", "<>", "<", ">")
OPERATORS = (";;&", ";;", ";&", "&&", "||", "|&", "|", "&", ";", "(", ")", "\n")
# Words that end one part of a compound command; `((` is arithmetic after these, as after an operator.
CLOSERS = frozenset(["then", "do", "else", "elif", "fi", "done", "esac", "}"])
BEFORE_ARITHMETIC = CLOSERS | {"for", "if", "while", "until"}
ENDS_WORD = frozenset(" \t\n|&;()<>")
SPECIAL = frozenset("\\'\"$`<>*?[{~ \t\n|&;()")
WORD, REDIRECTION, OPERATOR, ARITHMETIC, BROKEN, END = (
    "word",
    "redirection",
    "operator",
    "arithmetic",
    "broken",
    "end",
)
KINDS = {**dict.fromkeys(REDIRECTIONS, REDIRECTION), **dict.fromkeys(OPERATORS, OPERATOR)}


class Token:
    """`value` is the text of a word that the shell takes as it stands, None where it expands it."""

    __slots__ = ("kind", "raw", "value")

    def __init__(self, kind: str, raw: str, value: str | None = None) -> None:
        self.kind = kind
        self.raw = raw
        self.value = value


class Unreadable(Exception):  # noqa: N818 - no error of ours: bash could not read on from here, either
    """The text ends inside of something."""


def tokens(text: str) -> list[Token]:
    """The tokens of a text; here-documents' bodies and comments are gone. The last is `broken` where it breaks off."""
    reader = _Reader(text)
    try:
        while reader.skip_blanks():
            reader.one()
    except Unreadable:
        reader.found.append(Token(BROKEN, ""))
    return reader.found


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.found: list[Token] = []
        self.documents: list[
            tuple[str, bool]
        ] = []  # here-documents whose bodies follow: delimiter, tabs are dropped
        self.brackets: dict[int, int] | None = None

    def skip_blanks(self) -> bool:
        """Go to the next token; whether there is one."""
        text, size = self.text, len(self.text)
        while self.at < size:
            char = text[self.at]
            if char == "\\" and text.startswith("\n", self.at + 1):
                self.at += 2
            elif char in " \t":
                self.at += 1
            elif char == "#":
                end = text.find("\n", self.at)
                self.at = size if end < 0 else end
            else:
                return True
        return False

    def one(self) -> None:
        text, at = self.text, self.at
        char = text[at]
        if char not in "&|;()<>\n" or text.startswith(("<(", ">("), at):
            self.word()
            return
        if char == "(" and text.startswith("((", at) and self.arithmetic():
            return
        raw = text[at : at + 3]
        while raw not in KINDS:
            raw = raw[:-1]
        self.found.append(Token(KINDS[raw], raw))
        self.at += len(raw)
        if raw == "\n":
            self.at = _after_documents(text, self.at, self.documents)

    def arithmetic(self) -> bool:
        """Take `((…))`, where it stands at a command's place and is no subshell in a subshell."""
        before = self.found[-1] if self.found else None
        if before is not None and before.kind != OPERATOR and before.raw not in BEFORE_ARITHMETIC:
            return False
        if self.brackets is None:
            self.brackets = _brackets(self.text)
        end = self.brackets.get(self.at + 1, -1)
        if end < 0 or not self.text.startswith(")", end + 1):
            return False
        self.found.append(Token(ARITHMETIC, "(("))
        self.at = end + 2
        return True

    def word(self) -> None:
        start = self.at
        value, literal = self.parts(start)
        raw = self.text[start : self.at]
        before = self.found[-1] if self.found else None
        copies = before is not None and before.raw in (
            ">&",
            "<&",
        )  # `2>&1>x`: this 1 is what is copied
        if (
            raw.isdigit()
            and raw.isascii()
            and self.text.startswith(("<", ">"), self.at)
            and not copies
        ):
            return  # the number of a file descriptor
        if before is not None and before.kind == REDIRECTION and before.raw in ("<<", "<<-"):
            self.documents.append((value, before.raw == "<<-"))
        self.found.append(Token(WORD, raw, value if literal else None))

    def parts(self, start: int) -> tuple[str, bool]:
        """Go past a word; its text without quotes, and whether it is literal."""
        text, size = self.text, len(self.text)
        value: list[str] = []
        literal = True
        while self.at < size:
            at, char = self.at, text[self.at]
            if char == "\\":
                value.append("" if text.startswith("\n", at + 1) else text[at + 1 : at + 2] or "\\")
                self.at = min(at + 2, size)
            elif char == "'":
                self.at = _found(text, "'", at + 1) + 1
                value.append(text[at + 1 : self.at - 1])
            elif char == '"':
                inner, plain = self.double()
                value.append(inner)
                literal = literal and plain
            elif char in "$`" or text.startswith(("<(", ">("), at):
                self.at = _after_expansion(text, at, quoted=False)
                literal = False
            elif char in ENDS_WORD:
                break
            elif char in SPECIAL:
                literal = literal and char == "~" and at != start
                value.append(char)
                self.at += 1
            else:
                end = at + 1
                while end < size and text[end] not in SPECIAL:
                    end += 1
                value.append(text[at:end])
                self.at = end
        return "".join(value), literal

    def double(self) -> tuple[str, bool]:
        """Go past "…"; its text, and whether it is literal."""
        text, size = self.text, len(self.text)
        value: list[str] = []
        literal = True
        self.at += 1
        while self.at < size:
            at, char = self.at, text[self.at]
            if char == '"':
                self.at += 1
                return "".join(value), literal
            if char == "\\":
                escaped = text[at + 1 : at + 2]
                value.append(
                    "" if escaped == "\n" else escaped if escaped in '$`"\\' else "\\" + escaped
                )
                self.at += 2
            elif char in "$`":
                self.at = _after_expansion(text, at, quoted=True)
                literal = False
            else:
                end = at + 1
                while end < size and text[end] not in '"\\$`':
                    end += 1
                value.append(text[at:end])
                self.at = end
        raise Unreadable


def _found(text: str, what: str, start: int) -> int:
    place = text.find(what, start)
    if place < 0:
        raise Unreadable
    return place


def _after_quoted(text: str, at: int, quote: str) -> int:
    """Where a text ends that begins at `at` and has escapes; `quote` ends it."""
    while at < len(text):
        if text[at] == quote:
            return at + 1
        at += 2 if text[at] == "\\" else 1
    raise Unreadable


def _after_expansion(text: str, at: int, quoted: bool) -> int:
    """Where an expansion or a substitution ends that begins at `at`; brackets nest without recursion."""
    closers: list[str] = []
    documents: list[tuple[str, bool]] = []
    arithmetic = 0  # how deep `$((` stands, where `<<` shifts
    while True:
        before = at
        at = _opened(text, at, quoted or closers[-1:] == ['"'], closers)
        arithmetic = arithmetic or (len(closers) if text.startswith("$((", before) else 0)
        while closers:
            if at >= len(text):
                raise Unreadable
            char, closer = text[at], closers[-1]
            if char == closer:
                closers.pop()
                at += 1
                arithmetic = arithmetic if len(closers) >= arithmetic else 0
            elif char == "\\":
                at += 2
            elif char in "$`":
                break
            elif closer != '"' and char == "'":
                at = _found(text, "'", at + 1) + 1
            elif char == "<" and closer == ")" and not arithmetic:
                at = _after_less(text, at, documents)
            elif char == "\n" and closer == ")" and documents:
                at = _after_documents(text, at + 1, documents)
            else:
                if char == '"' or (char == "(" and closer == ")"):
                    closers.append('"' if char == '"' else ")")
                at += 1
        else:
            return at


def _after_less(text: str, at: int, documents: list[tuple[str, bool]]) -> int:
    """Go past `<` in a command substitution; a here-document that it announces is put onto `documents`."""
    if text.startswith("<<<", at) or not text.startswith("<<", at):
        return at + (3 if text.startswith("<<<", at) else 1)
    drops_tabs = text.startswith("-", at + 2)
    at += 3 if drops_tabs else 2
    while text.startswith((" ", "\t"), at):
        at += 1
    reader = _Reader(text)
    reader.at = at
    documents.append((reader.parts(at)[0], drops_tabs))
    return reader.at


def _after_documents(text: str, at: int, documents: list[tuple[str, bool]]) -> int:
    """Where the bodies end that begin at `at`; `documents` is empty then."""
    for delimiter, drops_tabs in documents:
        while at < len(text):
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            line = text[at:end]
            at = min(end + 1, len(text))
            if (line.lstrip("\t") if drops_tabs else line) == delimiter:
                break
    documents.clear()
    return at


def _opened(text: str, at: int, quoted: bool, closers: list[str]) -> int:
    """Go into an expansion, putting what ends it onto `closers`, or past it where it has no brackets."""
    if text[at] == "`":
        return _after_quoted(text, at + 1, "`")
    if text.startswith("$'", at) and not quoted:
        return _after_quoted(text, at + 2, "'")
    if text.startswith(("$(", "<(", ">("), at):
        closers.append(")")
        return at + 2
    if text.startswith("${", at):
        closers.append("}")
        return at + 2
    return at + 1


def _brackets(text: str) -> dict[int, int]:
    """Where each `(` is closed, whatever is quoted: as bash looks for the end of arithmetic."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for at, char in enumerate(text):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            pairs[opened.pop()] = at
    return pairs
