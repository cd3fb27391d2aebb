"""Decisions: the conditions in a stretch of code and what each leads to, as its lines have them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from preread.evidence import phrases
from preread.evidence.view import FileView

CONDITION = re.compile(r"(?:\}\s*)?(?:else\s+)?(?:if|elif|elsif|unless|guard)\b\s*(?!let\b)(.+)$")
CONTINUED = re.compile(r"\s*(?:\.\w|&&|\|\||(?:and|or)\b)")
ENDS = re.compile(r"(?:\s*\{|:|\s+then|\s+else\s*\{)$")
EFFECT = re.compile(
    r"\b(return|raise|throw|panic|continue|break|pop|del|delete|remove|warn|exit|abort|append|push|set\w*)\b"
)
COMMENT = re.compile(r"\s*(#|//|/\*|\*|--\s)")
PLAIN = re.compile(r"^\(?!?\s*\w+\s*(?:is (?:not )?None|[!=]==?\s*(?:nil|null|undefined|None))?\)?$")
ERRORS = re.compile(r"\berr(or)?\s*!=\s*nil$|^typing\.|TYPE_CHECKING")
MESSAGE = re.compile(r"(?:raise|throw|panic)\b[^\"'`]*(?:\"[^\"]{8,}\"|'[^']{8,}'|`[^`]{8,}`)")
ABSENT = re.compile(r"^\(?(?:(?:!|not )\s*\w+|\w+\s*(?:is None|={2,3}\s*(?:nil|null|undefined|None)))\)?$")
RAISES = re.compile(r"(?:raise|throw|panic)\b")
ENDING = re.compile(r"(?:return|continue|break|exit)(?:\s*\(?(?:None|nil|null|undefined|false|False)\)?)?$")
LOGS = re.compile(r"(?:\w+\.)*(?:console|log|logger|logging|debug)\w*(?:\.\w+)?\(")
LONGEST, WHOLE, RAISED = 90, 130, 170  # characters of a line shown, of a condition, of what is raised


class Decision(NamedTuple):
    """One condition and the line it leads to."""

    line: int
    condition: str
    effect: str
    then: str  # what follows it at the same depth
    worth: float


def said(one: Decision) -> str:
    """A decision as a dossier has it: "if `a`: `b`, `c`"."""
    return f"if {_quoted(one.condition, WHOLE)}: {', '.join(_quoted(line) for line in (one.effect, one.then) if line)}"


def _quoted(text: str, most: int = LONGEST) -> str:
    most = RAISED if RAISES.match(text) else most
    return phrases.quote(text, most) if phrases.provable(text) else text


def _shown(effect: str) -> str:
    """A statement whole, of a long one that raises its part up to the message; empty where neither is short enough."""
    if len(effect) <= (RAISED if RAISES.match(effect) else LONGEST):
        return effect
    message = MESSAGE.match(effect)
    return message[0] if message and len(message[0]) <= RAISED else ""


def decisions(file: FileView, start: int, end: int) -> Iterator[Decision]:
    """The conditions on the lines `start` to `end`, each with what it leads to, in their order."""
    lines = file.lines[:end]
    for number in range(start, len(lines)):
        match = CONDITION.match(lines[number].strip())
        if not match:
            continue
        condition, last = _whole(lines, number, match[1])
        condition, effect = _parted(condition)
        then = ""
        if not effect:
            effect, after = _effect(lines, last + 1)
            then, _ = _effect(lines, after) if effect and after and _is_level(lines, last + 1, after) else ("", 0)
        effect = _shown(effect)
        if not condition or not effect or ERRORS.search(condition) or len(condition) > WHOLE:
            continue
        if LOGS.match(effect) or (ABSENT.match(condition) and ENDING.match(effect)):
            continue  # nothing is decided: there is nothing to do
        yield Decision(number + 1, condition, effect, then if len(then) <= LONGEST else "", _worth(condition, effect))


def _whole(lines: list[str], number: int, first: str) -> tuple[str, int]:
    """A condition over as many lines as its brackets are open, four at most."""
    text, last = first, number
    while last + 1 < len(lines) and last < number + 7 and _goes_on(text, lines[last + 1]):
        last += 1
        text = f"{text} {lines[last].strip()}"
    return (text, last) if phrases.balanced(text.rstrip(" {")) else ("", last)


def _goes_on(text: str, following: str) -> bool:
    """Whether a condition has not ended on the line before this one."""
    return not phrases.balanced(text.removesuffix("{")) or bool(CONTINUED.match(following) and text[-1:] not in "{:")


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
            if re.match(r"(and|or|[&|=!<>+?.\-])", rest):
                return ENDS.sub("", text.rstrip()).strip(), ""
            return text[1:at].strip(), rest.strip("{} ;")
    return "", ""


def _is_level(lines: list[str], one: int, other: int) -> bool:
    """Whether two lines stand at the same depth."""
    if other >= len(lines) or not lines[other].strip() or COMMENT.match(lines[one]):
        return False
    return len(lines[one]) - len(lines[one].lstrip()) == len(lines[other]) - len(lines[other].lstrip())


def _effect(lines: list[str], number: int) -> tuple[str, int]:
    """The first statement under a condition, a text that stands so in the source, and the number of the line after."""
    while number < len(lines) and (lines[number].strip() in {"", "{"} or COMMENT.match(lines[number])):
        number += 1
    if number >= len(lines):
        return "", 0
    text, after = lines[number].strip(), number + 1
    while not phrases.balanced(text) and after < min(len(lines), number + 5):
        text, after = f"{text} {lines[after].strip()}", after + 1
    if not phrases.balanced(text):
        return "", 0
    text = re.sub(r"\s*[{;,]$", "", re.sub(r"\s+(#|//)\s.*$", "", text))
    return (text, after) if not CONDITION.match(text) and text not in {"pass", "}", "..."} else ("", 0)


def _worth(condition: str, effect: str) -> float:
    """How much a decision tells: most when it ends or takes away or has a literal, little when it asks for presence."""
    literal = bool(re.search(r"[\"'][^\"']+[\"']|\b\d+\b|\b[A-Z][A-Z_]{3,}\b", condition + effect))
    compares = bool(re.search(r"[<>=!]=|<|>|\bin\b|\bis\b|\bnot\b|!|\bor\b|\band\b|&&|\|\|", condition))
    return (
        1.0 * bool(EFFECT.search(effect))
        + 1.0 * literal
        + 0.5 * compares
        - 1.2 * bool(PLAIN.match(condition))
        - 0.3 * (len(condition) + len(effect) > 110)
    )
