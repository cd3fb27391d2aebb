"""Splits a shell script into words, redirections and operators; linear, and never raises."""

from __future__ import annotations

REDIRECTIONS = ("&>>", "&>", ">>", ">|", ">&", "<<<", "<<-", "<<", "<&", "<>", "<", ">")
OPERATORS = (";;&", ";;", ";&", "&&", "||", "|&", "|", "&", ";", "(", ")", "\n")
# Words that end a part of a compound command; `((` is arithmetic after these and after operators.
CLOSERS = frozenset(["then", "do", "else", "elif", "fi", "done", "esac", "}"])
BEFORE_ARITHMETIC = CLOSERS | {"for", "if", "while", "until"}
ENDS_WORD = frozenset(" \t\n|&;()<>")
SPECIAL = frozenset("\\'\"$`<>*?[{~ \t\n|&;()")
WORD, REDIRECTION, OPERATOR = "word", "redirection", "operator"
ARITHMETIC, BROKEN, END = "arithmetic", "broken", "end"
KINDS = {**dict.fromkeys(REDIRECTIONS, REDIRECTION), **dict.fromkeys(OPERATORS, OPERATOR)}


class Token:
    """`value` is the text of a literal word, None for a word that the shell expands."""

    __slots__ = ("kind", "raw", "value")

    def __init__(self, kind: str, raw: str, value: str | None = None) -> None:
        self.kind = kind
        self.raw = raw
        self.value = value


class Unreadable(Exception):  # noqa: N818 - not an error: bash could not read on, either
    """The script ends inside a construct."""


def tokens(text: str) -> list[Token]:
    """The tokens of a script, without comments and the bodies of here-documents.

    The last one is `broken` when the script breaks off.
    """
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
        # Here-documents whose bodies follow: the delimiter, and whether leading tabs are dropped.
        self.documents: list[tuple[str, bool]] = []
        self.brackets: dict[int, int] | None = None

    def skip_blanks(self) -> bool:
        """Move to the next token; false when there is none."""
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
        """Take `((…))` where a command may be; false for a subshell in a subshell."""
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
        # In `2>&1>x` the 1 is what is copied.
        is_copied = before is not None and before.raw in (">&", "<&")
        is_number = raw.isdigit() and raw.isascii()
        if is_number and not is_copied and self.text.startswith(("<", ">"), self.at):
            return  # the number of a file descriptor
        if before is not None and before.kind == REDIRECTION and before.raw in ("<<", "<<-"):
            self.documents.append((value, before.raw == "<<-"))
        self.found.append(Token(WORD, raw, value if literal else None))

    def parts(self, start: int) -> tuple[str, bool]:
        """Move past a word; its text without quotes, and whether it is literal."""
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
                self.at = _run_end(text, at, SPECIAL)
                value.append(text[at : self.at])
        return "".join(value), literal

    def double(self) -> tuple[str, bool]:
        """Move past "…"; its text, and whether it is literal."""
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
                if escaped != "\n":
                    value.append(escaped if escaped in '$`"\\' else "\\" + escaped)
                self.at += 2
            elif char in "$`":
                self.at = _after_expansion(text, at, quoted=True)
                literal = False
            else:
                self.at = _run_end(text, at, '"\\$`')
                value.append(text[at : self.at])
        raise Unreadable


def _run_end(text: str, at: int, stops: frozenset[str] | str) -> int:
    """Where a run that begins at `at` ends, before one of the characters that stop it."""
    at += 1
    while at < len(text) and text[at] not in stops:
        at += 1
    return at


def _found(text: str, what: str, start: int) -> int:
    place = text.find(what, start)
    if place < 0:
        raise Unreadable
    return place


def _after_quoted(text: str, at: int, quote: str) -> int:
    """Where a text with escapes that begins at `at` ends, after `quote`."""
    while at < len(text):
        if text[at] == quote:
            return at + 1
        at += 2 if text[at] == "\\" else 1
    raise Unreadable


def _after_expansion(text: str, at: int, quoted: bool) -> int:
    """Where the expansion or substitution at `at` ends; brackets nest without recursion."""
    expansion = _Expansion(text, quoted)
    at = expansion.enter(at)
    while expansion.closers:
        if at >= len(text):
            raise Unreadable
        at = expansion.step(at)
    return at


class _Expansion:
    """Expansions in one another, by what closes them, outermost first."""

    def __init__(self, text: str, quoted: bool) -> None:
        self.text = text
        self.quoted = quoted
        self.closers: list[str] = []
        self.documents: list[tuple[str, bool]] = []
        self.arithmetic = 0  # the depth of `$((`, in which `<<` is a shift

    def enter(self, at: int) -> int:
        """Move into the expansion at `at`, or past one without brackets."""
        is_quoted = self.quoted or self.closers[-1:] == ['"']
        after = _opened(self.text, at, is_quoted, self.closers)
        if not self.arithmetic and self.text.startswith("$((", at):
            self.arithmetic = len(self.closers)
        return after

    def step(self, at: int) -> int:
        """Move past one character inside, or past what begins with it."""
        text, char, closer = self.text, self.text[at], self.closers[-1]
        if char == closer:
            self.closers.pop()
            self.arithmetic = self.arithmetic if len(self.closers) >= self.arithmetic else 0
            return at + 1
        if char == "\\":
            return at + 2
        if char in "$`":
            return self.enter(at)
        if closer != '"' and char == "'":
            return _found(text, "'", at + 1) + 1
        if closer == ")" and char == "<" and not self.arithmetic:
            return _after_less(text, at, self.documents)
        if closer == ")" and char == "\n" and self.documents:
            return _after_documents(text, at + 1, self.documents)
        if char == '"' or (char == "(" and closer == ")"):
            self.closers.append('"' if char == '"' else ")")
        return at + 1


def _after_less(text: str, at: int, documents: list[tuple[str, bool]]) -> int:
    """Move past `<` in a command substitution, adding a here-document to `documents`."""
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
    """Where the bodies that begin at `at` end; empties `documents`."""
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
    """Enter an expansion, adding what ends it to `closers`, or move past one without brackets."""
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
    """Where each `(` is closed, ignoring quotes, as bash does to find the end of arithmetic."""
    pairs: dict[int, int] = {}
    opened: list[int] = []
    for at, char in enumerate(text):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            pairs[opened.pop()] = at
    return pairs
