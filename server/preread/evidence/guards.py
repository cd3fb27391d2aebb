"""Guards: what a line of code stands under: a condition, the case of a choice, what catches an error."""

import re

from preread.evidence import decisions, effects, phrases
from preread.evidence.view import FileView

FUNCTION = re.compile(
    r"\b(?:def|function|func|fn|fun|lambda|class)\b|=>\s*\{?$|\bdo(?:\s*\|.*\|)?$"
)
LABEL = re.compile(
    r"(?:\}\s*)?((?:case|when|except|catch|rescue)\b.*?)\s*(?:\s+then|:|:\s*\{|=>\s*\{|->\s*\{|->|\{)?$"
)
ARM = {
    ".rs": re.compile(r"([^=]+?)\s*=>\s*(?:\{|\w+!?\($)?$"),
    ".kt": re.compile(r"([\w\"][^{}]*?|in .+?)\s*->\s*\{$"),
}
DEFAULT = re.compile(r"(?:default\s*(?::|->)|_\s*=>|else\s*->)\s*\{?$")
ELSE = re.compile(r"(?:\}\s*)?else\s*[:{]?$")
OTHER = re.compile(r"\W*(?:else|except|catch|case|default|finally|ensure)\b")
CHOOSES = re.compile(r"(?:(?:let|val|var)\b[^={]{1,80}=|return)\s+(?=if\b)")
WHEN = re.compile(r"(?:\w+ = |return )?when\b.*\{$")
HANDED = re.compile(r"\w\((?:.*, )?(?:func|function|async|\()")
GUARD = 75  # characters of a condition that stands before another


def guard(file: FileView, start: int, number: int) -> tuple[int, str]:
    """What stands nearest around line `number`, not above `start`: its line, and it as a dossier has it, empty where
    what it means is less simple; 0 where there is nothing."""
    lines, depth, is_within = file.lines, phrases.indent(file.lines[number - 1]), False
    for n in range(number - 2, start - 2, -1):
        text = decisions.REMARK.sub("", lines[n].strip())
        if not text or effects.COMMENT.match(lines[n]) or phrases.indent(lines[n]) >= depth:
            continue
        if label := _label(file, n):
            return n + 1, label
        if FUNCTION.search(text) and not is_within:
            if not HANDED.search(text):
                return 0, ""
            is_within = True  # of what is given to a call, the case around that call is told
        elif is_within and (effects.CONDITION.match(text) or OTHER.match(text)):
            return 0, ""
        if match := _condition(text):
            return n + 1, _asked(lines, n, match)
        if ELSE.match(text):
            return n + 1, _otherwise(lines, n, start)
        if WHEN.match(text):
            return 0, ""
        if OTHER.match(text):
            return n + 1, ""
        depth = phrases.indent(lines[n]) + (
            text[0] in ")]" or text == "{"
        )  # the head that ends here begins above
    return 0, ""


def _condition(text: str) -> re.Match[str] | None:
    """The condition that a line begins with, or that chooses what it names."""
    given = CHOOSES.match(text)
    return effects.CONDITION.match(text[given.end() :] if given else text)


def _asked(lines: list[str], n: int, match: re.Match[str], is_other: bool = False) -> str:
    """`if` and a condition, `unless` where its line leads elsewhere; empty if long, or done on the same line."""
    condition, after, _ = decisions.asked(lines, n, match)
    if not condition or after or len(condition) > GUARD:
        return ""
    word, condition = decisions.turned(
        "unless" if (decisions.word(match) == "if") == is_other else "if", condition
    )
    return f"{word} {decisions.quoted(condition)}"


def _otherwise(lines: list[str], n: int, start: int) -> str:
    """What holds under an `else`: that the one condition before it does not."""
    for above in range(n - 1, start - 2, -1):
        if (
            phrases.indent(lines[above]) > phrases.indent(lines[n])
            or not lines[above].strip()
            or lines[above].strip() in {"}", "{"}
        ):
            continue
        match = _condition(lines[above].strip())
        is_first = match is not None and match[0].startswith(match[1])
        if (
            match
            and is_first
            and match[1] not in {"elif", "elsif"}
            and phrases.indent(lines[above]) == phrases.indent(lines[n])
        ):
            return _asked(lines, above, match, is_other=match[1] != "guard")
        return ""
    return ""


def _label(file: FileView, n: int) -> str:
    """The case, or what is caught, that begins on line `n`, counted from 0, with the cases that lead there, too."""
    text = decisions.REMARK.sub("", file.lines[n].strip())
    if WHEN.match(text):
        return ""
    if DEFAULT.match(text):
        return "at `default`" if text.startswith("default") else ""
    arm = ARM.get(file.path[file.path.rfind(".") :])
    match = LABEL.match(text) or (arm.match(text) if arm else None)
    if match is None or not phrases.closed(match[1]) or not phrases.provable(match[1]):
        return ""
    above = file.lines[n - 1].strip() if n else ""
    is_one_of = text.startswith("case") and above.startswith("case") and above.endswith(":")
    return f"at {phrases.quote(match[1])}" if len(match[1]) <= GUARD and not is_one_of else ""
