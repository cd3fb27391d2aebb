"""Decisions: the conditions in a stretch of code and what each leads to, as its lines have them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.view import FileView

CONDITION = re.compile(r"(?:\}\s*)?(?:else\s+)?(if|elif|elsif|unless|guard)\b\s*(?!let\b)(.+)$")
CONTINUED = re.compile(r"\s*(?:\.\w|&&|\|\||(?:and|or)\b)")
NEGATED = frozenset({"unless", "guard"})  # what follows is done where the condition does not hold
ENDS = re.compile(r"(?:\s*\{|:|\s+then|\s+else\s*\{)$")
REMARK = re.compile(r"\s+(?:#\s|//).*$|\s*/\*.*\*/$")  # behind code
COMMENT = re.compile(r"\s*(#|//|/\*|\*|--\s)")
NOTHING = r"(?:None|nil|null|undefined|\"\"|'')"
THING = r"(?:!|not )?\$?\w(?:[\w.?]|->)*(?:\(\))?"
PRESENT = rf"{THING}(?:\s*(?:is (?:not )?None|[!=]==?\s*{NOTHING}))?|(?:not |!)?(?:isinstance|isset|empty)\([^()]*\)"
PLAIN = re.compile(rf"\(?(?:{PRESENT})(?:\s*(?:&&|and)\s*(?:{PRESENT}))*\)?$")
# A name that says how something stands, not what there is: isOpen, must_rotate, socketInitialized.
STATE = re.compile(
    r"(?:\b|_)(?:is|has|was|should|must|can|did|will|needs?)_(?!none|some|null|empty)[a-z]"
    r"|(?:\b|[a-z_])(?:[Ii]s|[Hh]as|[Ww]as|[Ss]hould|[Mm]ust|[Cc]an|[Dd]id|[Ww]ill|[Nn]eeds?)(?!None|Null|Empty)[A-Z]"
    r"|(?<!e)ed\b"
)
TELLING = re.compile(
    r"\b(?:raise|throw|panic|abort|exit|warn)\b|[\"'`][^\"'`]+[\"'`]|\d\d|\breturn -?\d|[<>!=]=|\s[<>]\s"
)
ERRORS = re.compile(r"\berr(or)?\s*!=\s*nil$|^typing\.|TYPE_CHECKING")
MESSAGE = re.compile(r"(?:raise|throw|panic)\b[^\"'`]*(?:\"[^\"]{8,}\"|'[^']{8,}'|`[^`]{8,}`)")
ABSENT = re.compile(r"^\(?(?:(?:!|not )\s*\w+|\w+\s*(?:is None|={2,3}\s*(?:nil|null|undefined|None)))\)?$")
RAISES = re.compile(r"(?:raise|throw|panic)\b")
ENDING = re.compile(r"(?:return|continue|break|exit)(?:\s*\(?(?:None|nil|null|undefined|false|False)\)?)?$")
LOGS = re.compile(r"(?:\w+\.)*(?:console|log|logger|logging|debug)\w*(?:\.\w+)?\(")
ASKS_LOG = re.compile(r"(?i)\b(?:log|logger|logging)\.\w+\(")
STRING = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|(?:^|\s)(?://|#\s|/?\*\s).*")  # and comments
LEAVES = re.compile(r"\s*(?:return|raise|throw|break|continue)\b")
PAIRS = {"(": ")", "[": "]", "{": "}"}
CUT = re.compile(r"(?:[<=.(\[,\\]|(?<!\+)\+|=>|\b(?:and|or|in|not))$")  # goes on, on the next line
OPENER = re.compile(r"(?:try|do|begin|unsafe)\s*[:{]?$|@\w[\w.]*(?:\(.*\))?$")  # of what is done, not it itself
DECLARES = re.compile(  # names something, and does nothing with it
    r"(?:(?:const|let|var|val|final)\b\s*(?:mut\s+)?|[A-Z][\w.]*(?:<.*>)?(?:\[\])?\s+)[\w{}, ]+(?:\s*:[^=]+)?\s*=[^=]"
    r"|[\w, ]+ :=\s"
)
HEAD = re.compile(r".{4,80}\w[({](?!['\"`)])")
BARE = re.compile(r"(?:(?:return|await|yield|new)\s+)*\w+[({]")
OPERATOR = re.compile(r"(?:&&|\|\||\\|\b(?:and|or|not))$")
BRANCH = re.compile(r"(?:else|finally|ensure|except|rescue|catch)\b")
LONGEST, WHOLE, RAISED = 120, 130, 170  # characters of a line shown, of a condition, of what is raised


FUNCTION = re.compile(r"\b(?:def|function|func|fn|fun|lambda|class)\b|=>\s*\{?$|\bdo(?:\s*\|.*\|)?$")
CHAINED = re.compile(r"\s*[.?]\w")
GUARD = 60  # characters of a condition that stands before another


class Decision(NamedTuple):
    """One condition and the line it leads to."""

    line: int
    word: str  # "unless" where it leads there when it does not hold, else "if"
    condition: str
    effect: str
    then: str  # what follows it at the same depth

    @property
    def is_plain(self) -> bool:
        """Whether it only asks if something is there, or what it is, and does nothing out of the ordinary."""
        is_thing = PLAIN.match(self.condition) and not STATE.search(self.condition)
        return bool(is_thing) and not any(map(TELLING.search, (self.effect, self.then)))


def said(one: Decision) -> str:
    """A decision as a dossier has it: "if `a`: `b`, `c`"."""
    done = ", ".join(_quoted(line) for line in (one.effect, one.then) if line)
    return f"{one.word} {_quoted(one.condition, WHOLE)}: {done}"


def _quoted(text: str, most: int = LONGEST) -> str:
    most = RAISED if RAISES.match(text) else most
    return phrases.quote(text, most) if phrases.provable(text) else text


def _shown(effect: str) -> str:
    """A statement whole; of a long one the part up to its message, of one that raises nothing, up to where a call or
    block begins; empty where that tells nothing."""
    raises = RAISES.match(effect) is not None
    if len(effect) <= (RAISED if raises else LONGEST):
        return effect
    message = MESSAGE.match(effect)
    if message and len(message[0]) <= RAISED:
        return message[0]
    head = HEAD.match(effect)
    if raises:
        return effect[:RAISED].rpartition(" ")[0]
    return head[0] if head and not BARE.fullmatch(head[0]) else ""


def fragments(file: FileView, start: int, end: int) -> frozenset[int]:
    """The lines from `start` to `end` that begin inside round or square brackets: parts of what began above."""
    opened: list[str] = []
    found = set()
    for number in range(start, min(end, len(file.lines)) + 1):
        line = file.lines[number - 1]
        while opened and opened[-1] != "{" and LEAVES.match(line):
            opened.pop()  # some bracket above is in no code
        if opened and opened[-1] != "{":
            found.add(number)
        for char in STRING.sub("", line):
            if char in PAIRS:
                opened.append(char)
            elif char in ")]}" and char in map(PAIRS.get, opened):
                while PAIRS[opened.pop()] != char:
                    pass
    return frozenset(found)


def decisions(file: FileView, start: int, end: int, within: frozenset[int]) -> Iterator[Decision]:
    """The conditions on the lines `start` to `end`, but `within` others, with what they lead to, in their order."""
    lines = file.lines[:end]
    for number in range(start, len(lines)):
        match = CONDITION.match(lines[number].strip())
        if not match or number + 1 in within:
            continue
        condition, last = _whole(lines, number, REMARK.sub("", match[2]))
        condition, effect = _parted(condition)
        then = ""
        if not effect:
            effect, after = _effect(lines, last + 1)
            then, next_ = _effect(lines, after) if effect and after and _is_level(lines, last + 1, after) else ("", 0)
            if then and DECLARES.match(effect) and not TELLING.search(effect):  # what is done with it tells more
                further, _ = _effect(lines, next_) if _is_level(lines, after, next_) else ("", 0)
                effect, then = then, further
        effect = _shown(effect)
        if not condition or not effect or ERRORS.search(condition) or len(condition) > WHOLE:
            continue
        if LOGS.match(effect) or ASKS_LOG.search(condition) or (ABSENT.match(condition) and ENDING.match(effect)):
            continue  # nothing is decided: there is nothing to do
        yield Decision(number + 1, _word(match), condition, effect, then if len(then) <= LONGEST else "")


def _word(match: re.Match[str]) -> str:
    return "unless" if match[1] in NEGATED else "if"


def guard(file: FileView, start: int, number: int) -> tuple[int, str]:
    """The nearest `if` around line `number`, not above `start`: its line, and it as a dossier has it; 0 where there is
    none or what it means is less simple."""
    lines, depth = file.lines, _indent(file.lines[number - 1])
    for n in range(number - 2, start - 2, -1):
        text = lines[n].strip()
        if not text or COMMENT.match(lines[n]) or _indent(lines[n]) >= depth:
            continue
        match = CONDITION.match(text)
        if match:
            condition, after = _parted(_whole(lines, n, REMARK.sub("", match[2]))[0])
            is_short = condition and not after and len(condition) <= GUARD
            return (n + 1, f"{_word(match)} {_quoted(condition)}") if is_short else (0, "")
        if FUNCTION.search(text) or re.match(r"\W*(?:else|except|catch|case|default|when)\b", text):
            return 0, ""
        depth = _indent(lines[n]) + (text[0] in ")]")  # the head that ends here begins above
    return 0, ""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _whole(lines: list[str], number: int, first: str) -> tuple[str, int]:
    """A condition over as many lines as its brackets are open, four at most."""
    text, last = first, number
    while last + 1 < len(lines) and last < number + 7 and _goes_on(text, lines[last + 1]):
        last += 1
        text = f"{text} {lines[last].strip()}"
    return (text, last) if phrases.balanced(text.rstrip(" {")) else ("", last)


def _goes_on(text: str, following: str) -> bool:
    """Whether a condition has not ended on the line before this one."""
    is_open = not phrases.balanced(text.removesuffix("{")) or OPERATOR.search(text) is not None
    return is_open or bool(CONTINUED.match(following) and text[-1:] not in "{:")


def _parted(text: str) -> tuple[str, str]:
    """A condition without its brackets, and what follows on its own line."""
    if not text.startswith("("):
        return ENDS.sub("", text.rstrip()).strip(), ""
    depth = 0
    for at, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            rest = text[at + 1 :].strip()
            if rest in {"", "{", ":"}:
                return text[1:at].strip(), ""
            if re.match(r"(?:and|or|in|is|not|instanceof)\b|[&|=!<>+?.\-]", rest):
                return ENDS.sub("", text.rstrip()).strip(), ""
            return text[1:at].strip(), rest.strip("{} ;")
    return "", ""


def _is_level(lines: list[str], one: int, other: int) -> bool:
    """Whether two lines stand at the same depth."""
    if other >= len(lines) or not lines[other].strip() or COMMENT.match(lines[one]):
        return False
    return _indent(lines[one]) == _indent(lines[other])


def _effect(lines: list[str], number: int) -> tuple[str, int]:
    """The first statement under a condition, a text that stands so in the source, and the number of the line after."""
    while number < len(lines) and (
        lines[number].strip() in {"", "{"} or COMMENT.match(lines[number]) or OPENER.match(lines[number].strip())
    ):
        number += 1
    if number >= len(lines) or lines[number].lstrip().startswith(tuple(PAIRS.values())):
        return "", 0
    text, after = lines[number].strip(), number + 1
    while (text.endswith("\\") or not phrases.balanced(text)) and after < min(len(lines), number + 12):
        text, after = f"{text} {lines[after].strip()}", after + 1
    while after < len(lines) and CHAINED.match(lines[after]):
        text, after = f"{text} {lines[after].strip()}", after + 1
    if not phrases.balanced(text):
        return "", 0
    text = re.sub(r"\s*[{;,:]$", "", re.sub(r"\s+(#|//)\s.*$", "", text))
    is_none = any(one.match(text) for one in (CONDITION, BRANCH)) or CUT.search(text) or text in {"pass", "..."}
    return ("", 0) if is_none else (text, after)
