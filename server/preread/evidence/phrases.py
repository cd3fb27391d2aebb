"""How rules put what they found into one line: quotes that stand in their source, sentences cut at a word."""

import re
from collections.abc import Sequence

from preread.dossier import MIN_QUOTE, code
from preread.evidence.view import FileView

LEFT_OPEN = re.compile(r"(?i)(?:[:,(\[{=]|\b(?:the|an?|of|and|or|to|by|with|as follows|e\.g))\W?$")
LINE = 110  # characters of source that a fact quotes at most
# Strings and characters in code; not what begins with a letter's mark, as lifetimes and generics do.
LITERAL = re.compile(r"\"(?:\\.|[^\"\\])*\"|(?<![\w&<'])'(?:\\.|[^'\\])*'|`[^`]*`")


def clip(text: str, most: int) -> str:
    """`text` on one line, cut at a word's end."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    return text[:most].rsplit(" ", 1)[0].rstrip(" ,;:.-(") + " …"


def sentence(text: str, most: int = 140) -> str:
    """The first sentence, without its full stop."""
    folded = " ".join(text.split())
    match = re.match(r"(.+?[.!?])(?:\s|$)", folded)
    return clip((match[1] if match else folded).rstrip("."), most)


def plain(text: str) -> str:
    """Words of the source as prose: nothing in it can be taken for a quote, a source or markup."""
    return (
        text.replace("`", "'").replace("(", "[").replace(")", "]")
        if text.endswith(")")
        else text.replace("`", "'")
    )


def quote(text: str, most: int = LINE) -> str:
    """A code span of one stretch of source, cut so that it still stands there."""
    text = " ".join(text.split())
    if len(text) > most:
        text = text[:most].rsplit(" ", 1)[0] if " " in text[most // 2 : most] else text[:most]
    return code(text)


def quote_line(file: FileView, line: int, most: int = LINE) -> str:
    """One line of a file as a code span, without what only opens or ends a statement."""
    text = file.lines[line - 1].strip() if 0 < line <= len(file.lines) else ""
    return quote(re.sub(r"\s*[{;,]$", "", re.sub(r"^(?:await|return)\s+", "", text)), most)


def definition(file: FileView, start: int, name: str, signature: str) -> str:
    """How a definition reads: its whole signature if that is short and stands so, else keyword and name."""
    head = " ".join(" ".join(file.lines[start - 1 : start + 12]).split())
    folded = re.sub(r"\s*[:{=]+>?\s*$", "", " ".join(signature.split()))
    folded = re.sub(r"^(?:export\s+)?(?:default\s+)?", "", folded)
    whole = not folded.endswith(("(", "=", "=>", ",", "[", ":"))
    if folded and whole and len(folded) <= 90 and folded in head:
        return code(folded)
    match = re.search(
        rf"(?:\b(?:def|class|function|interface|type|enum|const|func|fn|struct|trait)\s+)?{re.escape(name)}(?!\w)",
        head,
    )
    return code(match[0]) if match else code(name)


def balanced(text: str) -> bool:
    """Whether a line opens no bracket that it does not close."""
    return all(
        text.count(opening) == text.count(closing) for opening, closing in ("()", "[]", "{}")
    )


def indent(line: str) -> int:
    """How many blanks a line begins with."""
    return len(line) - len(line.lstrip())


def masked(code: str) -> str:
    """Code of the same length whose strings hold nothing that could be taken for code."""
    return LITERAL.sub(lambda match: match[0][0] + "_" * (len(match[0]) - 2) + match[0][-1], code)


def closed(code: str) -> bool:
    """Whether code opens no bracket that it does not close; those in strings are none."""
    return balanced(masked(code))


def complete(text: str) -> bool:
    """Whether a sentence stands by itself: no bracket, mark or list left open, and none closed that it lacks."""
    return balanced(text) and text.count("`") % 2 == 0 and not LEFT_OPEN.search(text)


def names(values: Sequence[str], most: int = 6) -> str:
    """A list of names, each quoted, the rest counted."""
    shown = ", ".join(code(value) for value in values[:most])
    return shown + (f" and {len(values) - most} more" if len(values) > most else "")


def provable(text: str) -> bool:
    """Whether a quote is long enough to prove anything."""
    return len(text.strip()) >= MIN_QUOTE


def subject(text: str) -> str:
    """A commit's subject without its conventional prefix, revert marks, and what it was picked from."""
    text = re.sub(r"^(?:\[[^\]]*backport[^\]]*\]|\[\d[\w.]*\])+\s*", "", text)
    text = re.sub(r'^(?:Revert\s+"?)+|"$', "", text) if text.startswith("Revert") else text
    return re.sub(r"^[\w-]+(\([\w/., \-]+\))?!?:\s+", "", text)


def paragraph(lines: Sequence[str], start: int, most: int = 4) -> tuple[str, int]:
    """The text that begins on line `start` (1-based) with its indented continuation, folded, and its last line."""
    first = lines[start - 1]
    indent = len(first) - len(first.lstrip()) + (2 if re.match(r"\s*[-*+]\s", first) else 0)
    end = start
    while (
        end < min(len(lines), start + most - 1)
        and lines[end].strip()
        and not re.match(r"\s*([-*+]|\.\.)\s", lines[end])
    ):
        if len(lines[end]) - len(lines[end].lstrip()) < indent:
            break
        end += 1
    return " ".join(" ".join(lines[start - 1 : end]).split()), end


def shared(texts: Sequence[str]) -> str:
    """What all these texts begin with."""
    first, last = min(texts), max(texts)
    same = next(
        (i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b),
        min(len(first), len(last)),
    )
    return first[:same]
