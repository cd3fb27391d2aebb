"""Texts of errors and warnings in a source file, as they are raised, shown, or kept under a name of their own."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence.view import FileView
from preread.syntax import Raise

LEAST = 12  # characters of a message by which it is known
# What shows a text to people without being raised.
SAYS = re.compile(
    r"^(?!console\.(?:log|debug|info|warn)$)(?:.*[.>])?(?:warn|warning|error|critical|echo|secho|fail|abort|alert|panic|Errorf|Fatalf|eprintln!|writeln?!"
    r"|bail!|ensure!|anyhow!|fatal|notice|confirm|Errf?|invariant|(?:[A-Z]+_)*THROW(?:_\w+)?|(?:report|throw|raise)_(?:error|warning)"
    r"|(?:Validate|Preconditions|Objects|Guard|Check|Assert)\.\w+)$"
)
LITERAL = re.compile(r"\"([^\"\\\n]* [^\"\\\n]+)\"|'([^'\\\n]* [^'\\\n]+)'|`([^`\\\n]* [^`\\\n]+)`")
JOINED = re.compile(r"\s*\+?\s*[fFrRbB]?")  # what stands between two literals that are one message
PLACEHOLDER = re.compile(
    r"[$#]?\{[^{}]*\}|\$\w+|%[-+#\d.]*[a-zA-Z]|\{|\\."
)  # of any language's templates
ENDS = re.compile(r"^[\s,;:.)\]'\"]+|[\s,;:.(\['\"]+$")  # what stands around a placeholder
ASSERTED = re.compile(
    r"\s*assert\b.*,\s*[fFrRbB]?(\"[^\"]* [^\"]+\"|'[^']* [^']+')\)?$"
)  # Python's, on one line
NAMED = re.compile(  # an error that is made once, and compared with by its name
    r"^\s*(?:(?:var|const|let|export|pub|static|public|final|readonly)\s+)*(?:\w+\s+)?([A-Za-z_]\w{3,})\s*(?::\s*[\w.]+\s*)?"
    r"=\s*(?:new\s+)?(?:[\w.]+\.)?(?:errors\.New|Errorf|\w*Error|\w*Exception)\("
)


class Message(NamedTuple):
    """A text of an error or a warning."""

    text: str  # its longest fixed stretch
    others: list[str]  # the other ones
    lines: list[int]
    raised: bool
    name: str  # of the error, when it is made once and for all
    exception: str  # what is raised with it, or what a function checks
    within: str


def messages(file: FileView) -> Iterator[Message]:
    """Texts of errors and warnings of a file, each once."""
    found: dict[str, Message] = {}
    for said in (*_raised(file), *_shown(file), *_asserted(file)):
        fixed = _fixed(said.text)
        text = fixed[0][:60] if fixed else ""
        if not text or not (at := _line_holding(file, said.line, said.end, text)):
            continue
        new = Message(
            text, fixed[1:], [], said.raised, _name(file, at), said.exception, said.within
        )
        lines = found.setdefault(text, new).lines
        if at not in lines:
            lines.append(at)
    yield from found.values()


class _Said(NamedTuple):
    """A text as it stands, with the lines of what says it."""

    text: str
    line: int
    end: int
    raised: bool
    exception: str = ""
    within: str = ""


def _raised(file: FileView) -> Iterator[_Said]:
    for item in file.details.raises:
        yield _Said(_whole(file, item), item.line, item.line, True, item.exception, item.within)


def _shown(file: FileView) -> Iterator[_Said]:
    """What calls show; the text of a long one ends before its literal does."""
    for call in file.details.calls:
        if SAYS.search(call.callee):
            told = LITERAL.search(call.text)
            text = (
                next(filter(None, told.groups()))
                if told
                else next((t for t in call.literals if " " in t), "")
            )
            yield _Said(text, call.line, call.end, False)


def _asserted(file: FileView) -> Iterator[_Said]:
    for number, line in enumerate(file.lines, 1) if file.path.endswith(".py") else ():
        if "assert " in line and (told := ASSERTED.match(line)):
            yield _Said(told[1][1:-1], number, number, False)


def _name(file: FileView, line: int) -> str:
    """What an error is called that is made on this line, outside of any function; empty for others."""
    made = NAMED.match(file.lines[line - 1])
    inside = (
        s
        for s in file.outline.symbols
        if s.kind in {"function", "method"} and s.start <= line <= s.end
    )
    return made[1] if made and next(inside, None) is None else ""


def _whole(file: FileView, raised: Raise) -> str:
    """The literal that a message is the longest stretch of; of several that follow each other the first."""
    text = " ".join(" ".join(file.lines[raised.line - 1 : raised.line + 5]).split())
    first = end = -1
    for told in LITERAL.finditer(text):
        if end < 0 or not JOINED.fullmatch(text[end : told.start()]):
            first = told.start()
        end = told.end()
        if " ".join(raised.message.split()) in told[0]:
            whole = next(filter(None, told.groups()))
            leading = text[first:end].partition(text[first])[2].partition(text[first])[0]
            return leading if len(leading) > LEAST else whole
    return raised.message


def _fixed(message: str) -> list[str]:
    """The stretches of a message that are the same each time it is shown, the longest first."""
    parts = [
        re.sub(r"^[\s,;:.)\]'\"]+|[\s,;:.(\['\"]+$", "", part)
        for part in PLACEHOLDER.split(" ".join(message.split()))
    ]
    return sorted(
        (part for part in parts if len(part) >= LEAST and " " in part), key=lambda part: -len(part)
    )


def _line_holding(file: FileView, line: int, end: int, literal: str) -> int:
    last = min(max(line + 5, end), len(file.lines))
    return next(
        (n for n in range(line, last + 1) if literal in " ".join(file.lines[n - 1].split())), 0
    )
