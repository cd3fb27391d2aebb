"""Whether the feature's tests expect an error whose text they do not hold whole, or nothing leads to it at all."""

import re

from preread.evidence.messages import LEAST, LITERAL, Message
from preread.evidence.view import FileView, View

FIRST = 3  # words of a message that a test expects it by
NEAREST = 4  # sources in which an error is counted
EXPECTS_TYPE = re.compile(
    r"(?i)expect|raises|(?:must|to)_?raise|raise_error|throws|(?:to|be)throw|fails|assert"
)
TYPE = re.compile(r"[A-Z]\w{5,}")  # of an error
CHECKS = re.compile(
    r"(?:validate|clean)_(\w{4,})$"
)  # a function that is called for a field, by its name
IMPOSSIBLE = re.compile(
    r"(?i)\bunreachable\b|this is a bug"
    r"|\b(?:should|must|can)(?: ?not|n't| never) (?:be reached|reach|happen|get here|occur)"
)
ILLEGAL = re.compile(
    r"(?i)\billegal (?:state|type)|\bunhandled\b|^unexpected\b"
)  # where all others were taken before
OTHERWISE = re.compile(r"default:|else:|\}?\s*else\s*\{?|_\s*(?:=>|->)\s*\{?|case _:")
EXPECTS = re.compile(r"(?i)expect|match|raises|throw|exception|error|assert|warns")


def is_impossible(file: FileView, message: Message) -> bool:
    """Whether a message says of itself that nothing leads to it."""
    above = file.lines[max(0, message.lines[0] - 2)].strip()
    said = " ".join((message.text, *message.others))
    return bool(IMPOSSIBLE.search(said) or (OTHERWISE.fullmatch(above) and ILLEGAL.search(said)))


def is_expected_otherwise(view: View, message: Message) -> bool:
    """Whether a test expects an error without its text: by its type, that nothing else of the feature raises, or by
    the field that a function checks."""
    exception = re.split(r"\W+", message.exception)[-1]
    field = CHECKS.match(message.within.rpartition(".")[2])
    if field is not None and _is_in_expectation(
        view, re.compile(rf"[\"']{field[1]}[\"']"), EXPECTS
    ):
        return True
    if not message.raised or not TYPE.fullmatch(exception) or len(message.lines) > 1:
        return False
    thrown = re.compile(rf"\b(?:raise|throw)\s+(?:new\s+)?(?:\w+(?:\.|::|\\))*{exception}\b")
    places = sum(len(thrown.findall(file.text)) for file in view.sources[:NEAREST])
    return places == 1 and _is_in_expectation(view, re.compile(rf"\b{exception}\b"), EXPECTS_TYPE)


def _is_in_expectation(view: View, held: re.Pattern[str], expects: re.Pattern[str]) -> bool:
    """Whether a line of the feature's tests expects something, and has this in it."""
    found = (
        line
        for file in view.tests
        if held.search(file.text)
        for line in file.lines
        if held.search(line)
    )
    return any(expects.search(held.sub("", line)) for line in found)


def is_expected(view: View, text: str) -> bool:
    """Whether a test expects a message by its first words, as by a pattern that ends before it does, or by other ones
    of it that stand in quotes there."""
    begun = " ".join(text.split(" ")[:FIRST]).rstrip(",;:.-")
    if len(begun) >= LEAST and _is_in_expectation(view, re.compile(re.escape(begun)), EXPECTS):
        return True
    return any(
        len(part) >= LEAST and part.count(" ") >= 2 and part in text for part in _literals(view)
    )


def _literals(view: View) -> frozenset[str]:
    """What stands in quotes in the feature's tests, of several words."""
    if "gaps.literals" not in view.memo:
        held = (LITERAL.findall(file.text) for file in view.tests)
        view.memo["gaps.literals"] = frozenset(
            "".join(told).strip() for every in held for told in every
        )
    literals: frozenset[str] = view.memo["gaps.literals"]
    return literals
