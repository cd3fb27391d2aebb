"""Decisions: the conditions in a stretch of code and what each leads to, as its lines have them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import effects, phrases
from preread.evidence.view import FileView

CONTINUED = re.compile(r"\s*(?:\.\w|&&|\|\||(?:and|or)\b)")
NEGATED = frozenset({"unless", "guard"})  # what follows is done where the condition does not hold
ENDS = re.compile(r"(?:\s*\{|:|\s+then|\s+else\s*\{)$")
REMARK = re.compile(r"\s+(?:#\s|//).*$|\s*/\*.*\*/$")  # behind code
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
ERRORS = re.compile(r"\berr(or)?\s*!=\s*nil$|^typing\.|TYPE_CHECKING")
ABSENT = re.compile(
    r"^\(?(?:(?:!|not )\s*\w+|\w+\s*(?:is None|={2,3}\s*(?:nil|null|undefined|None)))\)?$"
)
NEGATIVE = re.compile(r"\(?(?:!|not )")
STEP = re.compile(  # counts or moves what only the function has
    r"(?:\+\+|--)\w+$|\w+(?:\+\+|--)$|(?:(?:const|let|var|val|auto|final|int|long|size_t)\s+)*"
    r"(?!_|m_)\w+(?<!_)\s*(?:[-+*/|&]|\|\|)?=(?!=)"  # members often have one there
)
NAMED = re.compile(  # what somebody would look for: a message, a constant, a limit
    r"\b(?:raise|throw|panic|abort|exit|warn)\b|[\"'`][^\"'`]{3,}[\"'`]|\d\d|\b[A-Z][A-Z\d_]{3,}\b"
)
ENDING = re.compile(
    r"(?:return|continue|break|exit)(?:\s*\(?(?:None|nil|null|undefined|false|False)\)?)?$"
)
ASKS_LOG = re.compile(r"(?i)\b(?:log|logger|logging)\.\w+\(")
STRING = re.compile(
    r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|`[^`]*`|(?:^|\s)(?://|#\s|/?\*\s).*"
)  # and comments
LEAVES = re.compile(r"\s*(?:return|raise|throw|break|continue)\b")
OTHERWISE = re.compile(r"(.*?)\belse\s*\{(.*)$")  # of Swift's `guard`
INLINE = re.compile(r"(\S.*?[^\s:]):\s+([^\s{].*[^{])$")  # what Python does on the same line
VALUE = re.compile(r"[\w.\"']*$")
NOT = re.compile(r"!([\w.?]+(?:\([^()]*\))?)")
OPERATOR = re.compile(r"(?:&&|\|\||\\|\b(?:and|or|not))$")
WHOLE = 130  # characters of a condition


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
        is_state = STATE.search(self.condition) and not (
            NEGATIVE.match(self.condition) and ENDING.match(self.effect)
        )
        is_thing = PLAIN.match(self.condition) and not is_state
        if is_thing and not any(map(effects.TELLING.search, (self.effect, self.then))):
            return True
        done = [line for line in (self.effect, self.then) if line]
        return all(map(STEP.match, done)) and not any(map(NAMED.search, (self.condition, *done)))


def said(one: Decision) -> str:
    """A decision as a dossier has it: "if `a`: `b`, `c`"."""
    done = ", ".join(quoted(line) for line in (one.effect, one.then) if line)
    return f"{one.word} {quoted(one.condition, WHOLE)}: {done}"


def quoted(text: str, most: int = effects.LONGEST) -> str:
    most = effects.RAISED if effects.RAISES.match(text) else most
    return phrases.quote(text, most) if phrases.provable(text) else text


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
            if char in effects.PAIRS:
                opened.append(char)
            elif char in ")]}" and char in map(effects.PAIRS.get, opened):
                while effects.PAIRS[opened.pop()] != char:
                    pass
    return frozenset(found)


def decisions(
    file: FileView, start: int, end: int, within: frozenset[int], above: int = 0
) -> Iterator[Decision]:
    """The conditions on the lines `start` to `end`, but `within` others, with what they lead to, in their order; their
    function begins on line `above` if that is not `start`."""
    lines = file.lines[:end]
    for number in range(start, len(lines)):
        match = effects.CONDITION.match(lines[number].strip())
        if not match or number + 1 in within:
            continue
        condition, effect, last = asked(lines, number, match)
        then = ""
        if not effect:
            effect, then = effects.done(file, lines, last + 1, above or start)
        is_log, effect = effects.LOGS.match(effect), effects.shown(effect)
        if not condition or not effect or ERRORS.search(condition) or len(condition) > WHOLE:
            continue
        if (
            is_log
            or ASKS_LOG.search(condition)
            or (ABSENT.match(condition) and ENDING.match(effect))
        ):
            continue  # nothing is decided: there is nothing to do
        yield Decision(
            number + 1,
            *turned(word(match), condition),
            effect,
            then if len(then) <= effects.LONGEST else "",
        )


def asked(lines: list[str], number: int, match: re.Match[str]) -> tuple[str, str, int]:
    """The condition that begins on line `number`, counted from 0, what it leads to where that stands behind it, and the
    last of its lines."""
    if match[1] == "guard":
        text, last = REMARK.sub("", match[2]).strip(), number
        while " else" not in f" {text}" and last + 1 < len(lines) and last < number + 7:
            last += 1
            text = f"{text} {lines[last].strip()}"
        parted = OTHERWISE.match(text)
        condition, effect = (
            (parted[1].strip(), parted[2].removesuffix("}").strip()) if parted else ("", "")
        )
        return (
            (condition if phrases.closed(condition) and phrases.closed(effect) else ""),
            effect,
            last,
        )
    text, last = _whole(lines, number, REMARK.sub("", match[2]))
    return *_parted(text.strip()), last


def turned(word: str, condition: str) -> tuple[str, str]:
    """`if` for `unless` where the condition only says that something is not."""
    found = NOT.fullmatch(condition) if word == "unless" else None
    return ("if", found[1]) if found else (word, condition)


def word(match: re.Match[str]) -> str:
    return "unless" if match[1] in NEGATED else "if"


def _whole(lines: list[str], number: int, first: str) -> tuple[str, int]:
    """A condition over as many lines as its brackets are open, four at most."""
    text, last = first, number
    while last + 1 < len(lines) and last < number + 7 and _goes_on(text, lines[last + 1]):
        last += 1
        text = f"{text} {lines[last].strip()}"
    return (text, last) if phrases.closed(text.rstrip(" {")) else ("", last)


def _goes_on(text: str, following: str) -> bool:
    """Whether a condition has not ended on the line before this one."""
    is_open = (
        not phrases.closed(text.removesuffix("{"))
        or OPERATOR.search(text) is not None
        or text.endswith(",")
    )
    return is_open or bool(CONTINUED.match(following) and text[-1:] not in "{:")


def _parted(text: str) -> tuple[str, str]:
    """A condition without its brackets, and what follows on its own line."""
    if not text.startswith("("):
        inline = INLINE.match(text)
        if inline and phrases.closed(inline[1]) and "lambda" not in inline[1]:
            return inline[1], inline[2]
        return ENDS.sub("", text.rstrip()).strip(), ""
    depth = 0
    for at, char in enumerate(phrases.masked(text)):
        depth += (char == "(") - (char == ")")
        if depth == 0:
            rest = text[at + 1 :].strip()
            if rest in {"", "{", ":"}:
                return text[1:at].strip(), ""
            if re.match(r"(?:and|or|in|is|not|instanceof)\b|[&|=!<>+?.\-]", rest):
                return ENDS.sub("", text.rstrip()).strip(), ""
            return _parted_behind(text[1:at].strip(), rest)
    return "", ""


def _parted_behind(condition: str, rest: str) -> tuple[str, str]:
    """A condition and the one statement that follows it; nothing where more begins there."""
    if rest.startswith("{"):
        inner, bracket, _ = rest[1:].partition("}")
        rest = inner if bracket and phrases.closed(inner) else rest[1:].rstrip("} ;")
    masked = phrases.masked(rest)
    rest = rest[: masked.index(";")] if ";" in masked else rest
    first, otherwise, _ = rest.partition(" else ")
    if (
        not phrases.closed(first)
        or effects.CONDITION.match(first.strip())
        or (otherwise and VALUE.match(first.strip()))
    ):
        return "", ""
    return condition, first.strip()
