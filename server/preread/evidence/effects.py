"""Effects: the statements that a condition leads to, as far as they tell something."""

import re

from preread.evidence import phrases
from preread.evidence.view import FileView

CONDITION = re.compile(r"(?:\}\s*)?(?:else\s+)?(if|elif|elsif|unless|guard)\b\s*(?!let\b)(.+)$")
COMMENT = re.compile(r"\s*(#|//|/\*|\*|--\s)")
TELLING = re.compile(
    r"\b(?:raise|throw|panic|abort|exit|warn)\b|[\"'`][^\"'`]+[\"'`]|\d\d|\breturn -?\d|[<>!=]=|\s[<>]\s"
)
MESSAGE = re.compile(r"(?:raise|throw|panic)\b[^\"'`]*(?:\"[^\"]{8,}\"|'[^']{8,}'|`[^`]{8,}`)")
RAISES = re.compile(r"(?:raise|throw|panic)\b")
LOGS = re.compile(r"(?:\w+\??\.)*(?:console|log|logger|logging|debug)\w*(?:\??\.\w+)?\(")
PAIRS = {"(": ")", "[": "]", "{": "}"}
CUT = re.compile(
    r"(?:[<=.(\[,\\]|(?<!\+)\+|=>|\b(?:and|or|in|not)|\bdo(?:\s*\|[^|]*\|)?)$"
)  # goes on, on the next line
OPENER = re.compile(
    r"(?:try|do|begin|unsafe)\s*[:{]?$|@\w[\w.]*(?:\(.*\))?$"
)  # of what is done, not it itself
DECLARES = re.compile(  # names something, and does nothing with it
    r"(?:(?:using|const|let|var|val|final)\b\s*(?:mut\s+)?|[A-Z][\w.]*(?:<.*>)?(?:\[\])?\s+)"
    r"[\w{}, ]+(?:\s*:[^=]+)?\s*=[^=]"
    r"|[\w, ]+ :=\s|(?:var|let)\s+\w+(?:\s+[\w.*\[\]]+|\s*:[^=]+)$"
)
TYPED = re.compile(  # a variable without a value, in C and its kin
    r"(?!(?:return|yield|throw|await|delete|goto|break|continue|else|new|assert|co_\w+)\b)[A-Za-z][\w.:<>]*[?*&]?\s+\w+$"
)
C_LIKE = (".c", ".cc", ".cpp", ".h", ".hpp", ".cs", ".java")
ASSIGNS = re.compile(r"(?:(?:[\w.<>\[\]*&?]+\s+)*)\$?(\w+)\s*(?:[-+*/|&%]|\?\?|\|\|)?=(?![=>])")
ASSIGNED = re.compile(r"[^=!<>(]*[^=!<>(]=(?![=>])")
LOOP = re.compile(r"(?:for|while|switch|match|foreach)\b")
BARE = re.compile(r"(?:(?:await|yield|new)\s+)*\w+$")
BRANCH = re.compile(r"(?:else|finally|ensure|except|rescue|catch)\b")
CHAINED = re.compile(r"\s*[.?]\w")
FAR = 200  # lines behind a name in which it is looked for
LONGEST, RAISED = 120, 170  # characters of a line shown, of what is raised


def shown(effect: str) -> str:
    """A statement whole; of a long one the part up to its message, of one that raises nothing what stands before the
    bracket that does not fit; empty where that tells nothing."""
    raises = RAISES.match(effect) is not None
    if len(effect) <= (RAISED if raises else LONGEST):
        return effect
    message = MESSAGE.match(effect)
    if message and len(message[0]) <= RAISED:
        return message[0]
    if raises:
        return effect[:RAISED].rpartition(" ")[0]
    head = _before_open(effect[:LONGEST]).rstrip()
    is_dull = any(one.match(head) for one in (ASSIGNED, BARE, LOOP))
    return "" if is_dull or not phrases.closed(head) else head


def _before_open(code: str) -> str:
    """What stands before the first bracket that is not closed; empty where all are."""
    opened: list[int] = []
    for at, char in enumerate(phrases.masked(code)):
        if char in PAIRS:
            opened.append(at)
        elif char in ")]}" and opened:
            opened.pop()
    return code[: opened[0]] if opened else ""


def done(file: FileView, lines: list[str], number: int, above: int) -> tuple[str, str]:
    """The first two statements under a condition that tell something, the second if it stands at the same depth."""
    effect, after = _effect(lines, number)
    then, next_ = (
        _effect(lines, after) if effect and after and _is_level(lines, number, after) else ("", 0)
    )
    if effect and (_names_only(file, number, effect, above) or (then and LOGS.match(effect))):
        if not then:
            return "", ""
        further, _ = _effect(lines, next_) if _is_level(lines, after, next_) else ("", 0)
        is_more = not _names_only(file, after, then, above)  # what is done with it tells more
        return (then, further) if is_more else (further, "")
    return effect, "" if LOGS.match(then) else then


def _names_only(file: FileView, number: int, text: str, above: int) -> bool:
    """Whether a statement only names something for the lines that follow in its block."""
    if TELLING.search(text):
        return False
    if DECLARES.match(text) or (file.path.endswith(C_LIKE) and TYPED.match(text)):
        return True
    found = ASSIGNS.match(text)
    if found is None or (found[1] in text[found.end() :]):
        return False
    used = re.compile(rf"(?<![\w.]){re.escape(found[1])}\b")
    depth = phrases.indent(file.lines[number])
    if any(map(used.search, file.lines[max(above - 1, 0) : number])):
        return False
    below = file.lines[number + 1 : number + 1 + FAR]
    ends = next(
        (n for n, line in enumerate(below) if line.strip() and phrases.indent(line) < depth),
        len(below),
    )
    return not any(map(used.search, below[ends:]))


def _is_level(lines: list[str], one: int, other: int) -> bool:
    """Whether two lines stand at the same depth."""
    if other >= len(lines) or not lines[other].strip() or COMMENT.match(lines[one]):
        return False
    return phrases.indent(lines[one]) == phrases.indent(lines[other])


def _effect(lines: list[str], number: int) -> tuple[str, int]:
    """The first statement under a condition, a text that stands so in the source, and the number of the line after."""
    while number < len(lines) and (
        lines[number].strip() in {"", "{"}
        or COMMENT.match(lines[number])
        or OPENER.match(lines[number].strip())
    ):
        number += 1
    if number >= len(lines) or lines[number].lstrip().startswith(tuple(PAIRS.values())):
        return "", 0
    text, after = lines[number].strip(), number + 1
    while (text.endswith("\\") or not phrases.closed(text)) and after < min(
        len(lines), number + 12
    ):
        text, after = f"{text} {lines[after].strip()}", after + 1
    while after < len(lines) and CHAINED.match(lines[after]):
        text, after = f"{text} {lines[after].strip()}", after + 1
    if not phrases.closed(text):
        return "", 0
    text = re.sub(r"\s*[{;,:]$", "", re.sub(r"\s+(#|//)\s.*$", "", text))
    is_none = (
        any(one.match(text) for one in (CONDITION, BRANCH))
        or CUT.search(text)
        or text in {"pass", "..."}
    )
    return ("", 0) if is_none else (text, after)
