"""Digests: what a passage decides, does and remarks, in the words of its own lines."""

import math
import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import decisions, effects, phrases, saying
from preread.evidence.items import ALIKE, Item, guarded, is_dispatch
from preread.evidence.nearness import nearness
from preread.evidence.passages import DECLARED, Passage, passages
from preread.evidence.view import FileView, View, once
from preread.index import words
from preread.models import Finding
from preread.syntax import Comment

STATEMENT = re.compile(r"^(?:return|yield|throw|raise|panic|await|del)\b|[(=]")
LITERAL = re.compile(r"[\"'`][^\"'`]{2,}[\"'`]")
ENDS = re.compile(r"^(?:return|yield|throw|raise|panic)\b")
CHANGES = re.compile(
    r"\.(?:append|pop|push|set|delete|remove|add|clear|cancel|emit|send\w*|count|split|strip|lstrip|replace)\("
)
SETS = re.compile(r"^(?:[\w.]+\[.*\]|(?:self|this|[a-z])\.\w+)\s*=(?!=)")
SAYS = re.compile(
    r"\b(?:t|_|print|echo|console\.\w+|log\w*|logger\.\w+|log\.(?:debug|info|trace))\("
)
DULL = re.compile(
    r"^(?:return|yield|raise|throw)?\s*(?:[\w.]*|[\[({]*[\])}]*|[\"'`]{2}|-?\d+)$"
    r"|^(?:import|from|export|def|class|func|fn|async def|function|assert|rescue|except|catch|for|while|with|switch)\b"
    r"|^_ => |^\w+\._?(\w+) = \1$"
    r"|^(?:[\"'@*<>.?:&|)}\]]|->)|^(?:and|or)\b"
)
OPEN = re.compile(
    r"(?:=>|[=(,\\]|(?<!\+)\+|\s[-*/|&<>?:]|&&|\|\||\b(?:and|or|not))$"
)  # goes on, on the next line
GOES_ON = re.compile(r"\s*(?:[?:|&+*/] |[|&]{2}|-> |(?:and|or) )")  # from the line above
LONGEST, RETURNED, MOST_SAID, MOST_ITEMS, MOST = 90, 150, 480, 8, 20
QUALIFIED = re.compile(  # what somebody says of a function beyond what it is for
    r"(?i)(?<!checks )(?<!returns true )\bif\b|\b(?:when|which|unless|only|not|no|without|since|because|but|until"
    r"|before|after|first|last|default|instead|even|also|same|so)\b"
)
NEW = 5  # words of a sentence that a function's name does not have, so that it tells something
LEADING = ("@", "#", "//", "/*", "*", "[")  # how lines begin that belong to the definition below
COMPARES = re.compile(r"[<>]=?\s|[=!]=")
FAILS = re.compile(
    r"\b(?:raise|throw|panic|bail|abort|reject|error|Err|fail)\w*|\b(?:unwrap|expect)\("
)
UNUSUAL = re.compile(rf"{FAILS.pattern}|\bdefault\b|\block\b")
# How likely one thing that a passage says is one that a careful reader writes down: a logistic model of a few
# properties, fitted on the tuning half of bench/claims.
LIKELY = {
    "": -6.58, "file": 3.32, "near": 1.07, "named": 0.63, "home": 0.51, "declared": -0.74, "about": 1.04,
    "compares": 0.20, "fails": 0.41, "strong": 0.92, "weak": 0.70, "statement": -0.53,
}  # fmt: skip
LEAST = 0.04  # what is less likely is left out
SHORT = 4  # letters of a name that says little
SYNC = re.compile(r"\bawait |(?<=\.)a(?=[a-z]+\()|(?i:a?sync)")


@once
def inside(view: View) -> Iterator[Finding]:
    """What the passages nearest to the feature decide, do and remark."""
    found = [
        (passage, guarded(passage, _chosen(everything), MOST_SAID))
        for passage, everything in _said(view)
    ]
    found = [(passage, chosen) for passage, chosen in found if _is_named(view, passage, chosen)]
    found.sort(
        key=lambda one: -sum(item.likely for item in one[1])
    )  # what is known of it shows that it matters
    before: set[tuple[str, str]] = (
        set()
    )  # a function within another is a passage, too; others stand twice
    count = 0
    for passage, chosen in found:
        told = [item for item in chosen if item.kind != "purpose"]
        fresh = [item for item in told if (passage.file.path, _alike(item.text)) not in before]
        if not _tell(fresh) or count >= MOST:
            continue
        before |= {(passage.file.path, _alike(item.text)) for item in told}
        count += 1
        likely = sum(item.likely for item in chosen)
        start = min(passage.start, *(item.line for item in told))
        yield Finding(
            rule="inside",
            kind="inside",
            text=f"{_name(passage)}: {'; '.join(item.text for item in told)}",
            sources=(passage.file.cite(start, passage.end),),
            reason="conditions, effects and remarks of a passage near the feature",
            score=1
            / (1 + math.exp(2.2 - 3.2 * likely)),  # that one of them does, as it came out there
        )


def _is_named(view: View, passage: Passage, chosen: list[Item]) -> bool:
    """Whether a function's lines have the feature's name, what is told of a struct, or their names a rare word of the
    description."""
    file, symbol = passage.file, passage.symbol
    first = passage.start if passage.start > symbol.start else _above(passage)
    lines = (
        [item.text for item in chosen]
        if symbol.kind in DECLARED
        else file.lines[first - 1 : passage.end]
    )
    name = f"{symbol.name} {symbol.container} {file.path.rpartition('/')[2]}"
    return view.relevance(file.path) >= 1 or nearness(view).is_about(name, "\n".join(lines))


def _name(passage: Passage) -> str:
    """A function's name, with its class where it says little by itself or others have it, too."""
    name, owner = passage.symbol.name, passage.symbol.container.rpartition(".")[2]
    shared = sum(symbol.name == name for symbol in passage.file.outline.symbols) > 1
    said = code(name) if phrases.provable(name) else name
    is_told = owner and owner != name
    return (
        f"{said} of {owner}"
        if is_told and (shared or len(name) <= SHORT or name.startswith("__"))
        else said
    )


def _alike(text: str) -> str:
    """What a text says whether or not it waits for it: `await response.aread()` is `response.read()`."""
    return SYNC.sub("", text).lower()


def _tell(told: list[Item]) -> bool:
    """Whether items say what a function's name and signature do not: a decision, a warning, how it fails."""
    kinds = {item.kind for item in told}
    fails = any(item.kind == "statement" and UNUSUAL.search(item.text) for item in told)
    return (
        fails
        or not kinds.isdisjoint({"decision", "strong", "weak"})
        or kinds >= {"plain", "remark"}
    )


@once
def _said(view: View) -> list[tuple[Passage, list[Item]]]:
    return [(passage, said_in(view, passage)) for passage in passages(view)[: 4 * MOST]]


def items(view: View) -> list[tuple[Passage, Item]]:
    """What the passages near the feature do, each with how likely it matters; remarks are left out."""
    found = [(passage, item) for passage, everything in _said(view) for item in everything]
    return [
        (passage, item)
        for passage, item in found
        if item.kind in {"decision", "plain", "statement"}
    ]


def _chosen(items: list[Item]) -> list[Item]:
    """The items that matter most for their length and fit, in their order."""
    chosen: list[Item] = []
    left = MOST_SAID
    for item in sorted(
        items, key=lambda one: (-one.likely / max(len(one.text), 30) ** 0.3, one.line)
    ):
        again = any(
            item.text in other.text for other in chosen
        )  # what a condition leads to is a statement, too
        if (
            item.likely >= LEAST
            and len(item.text) + 2 <= left
            and not again
            and len(chosen) < MOST_ITEMS
        ):
            chosen.append(item)
            left -= len(item.text) + 2
    return sorted(chosen, key=lambda one: one.line)


def said_in(view: View, passage: Passage) -> list[Item]:
    """All that a passage says, each with how likely it matters."""
    within = decisions.fragments(passage.file, passage.symbol.start, passage.end)
    found = list(
        decisions.decisions(passage.file, passage.start, passage.end, within, passage.symbol.start)
    )
    asked = [
        one for one in found if not is_dispatch(one)
    ]  # which case leads where is what their names say
    told = asked if len(found) - len(asked) >= ALIKE else found
    decided = [
        Item(one.line, decisions.said(one), "plain" if one.is_plain else "decision") for one in told
    ]
    taken = {line for one in found for line in (one.line, one.line + 1)}
    done = (
        [item for item in _statements(passage) if item.line not in taken | within]
        if told or not found
        else []
    )
    return [
        item._replace(likely=_likely(view, passage, item))
        for item in (*decided, *_remarks(passage), *done)
    ]


def _likely(view: View, passage: Passage, item: Item) -> float:
    total = sum(LIKELY[name] * value for name, value in properties(view, passage, item).items())
    return 1 / (1 + math.exp(-total))


def properties(view: View, passage: Passage, item: Item) -> dict[str, float]:
    """What the model looks at: the rows of LIKELY, each between 0 and 1."""
    symbol = passage.symbol
    return {
        "": 1.0,
        "file": passage.file.score,
        "near": passage.near,
        "named": float(nearness(view).of(symbol.name) > 0),
        "home": min(1.0, view.relevance(passage.file.path)),
        "declared": float(symbol.kind in DECLARED),
        "about": min(1.0, view.relevance(item.text)),
        "compares": float(COMPARES.search(item.text) is not None),
        "fails": float(FAILS.search(item.text) is not None),
        "strong": float(item.kind == "strong"),
        "weak": float(item.kind == "weak"),
        "statement": float(item.kind == "statement"),
    }


def _remarks(passage: Passage) -> Iterator[Item]:
    """What comments in a passage say, and the one right above its function."""
    file, symbol = passage.file, passage.symbol
    first = passage.start if passage.start > symbol.start else _above(passage)
    for comment in file.details.comments:
        told = saying.telling(file, comment.text) if first <= comment.start <= passage.end else None
        if told is None or not saying.stands(told.said) or saying.is_usual(file, told.said):
            continue
        kind = "strong" if told.weight >= saying.SURE else "weak" if told.weight else "remark"
        if kind == "remark" and not _adds(symbol.name, told.said):
            kind = "purpose"
        if told.said.startswith("@deprecated"):
            continue  # another rule tells it, with what to use instead
        if (
            told.weight or comment.start < symbol.start
        ):  # what explains a line of code is told by the line
            yield Item(
                comment.start,
                _of(field(file, comment), phrases.quote(told.said, saying.WHOLE)),
                kind,
            )


def field(file: FileView, comment: Comment) -> str:
    """The field of a struct, an interface, that a comment in it stands above or behind; nothing elsewhere."""
    is_behind = not effects.COMMENT.match(file.lines[comment.start - 1])
    below = next((one for one in file.details.members if one.line >= comment.start), None)
    if (
        below is None
        or below.kind not in {"field", "enum"}
        or (is_behind and below.line != comment.start)
    ):
        return ""
    begun = [(one.start, one.name) for one in file.outline.symbols if one.start <= below.line]
    begun += [(one.start, one.name) for one in file.outline.tests if one.start <= below.line]
    start, owner = max(begun, default=(0, ""))  # nothing else begins between the two
    return below.name if owner == below.owner and start < comment.start else ""


def _of(name: str, said: str) -> str:
    return f"{code(name) if phrases.provable(name) else name}: {said}" if name else said


def _adds(name: str, said: str) -> bool:
    """Whether a sentence says more of a function than its name does."""
    known = words.stems(name)
    new = {
        word
        for word in re.findall(r"[a-z]{3,}", said.lower())
        if words.stem(word) not in known | words.STOP
    }
    return QUALIFIED.search(said) is not None or len(new) >= NEW


def _above(passage: Passage) -> int:
    """The first line of what stands right above a definition: its comment, its decorators."""
    lines, start = passage.file.lines, passage.symbol.start
    while start > 1 and lines[start - 2].lstrip().startswith(LEADING):
        start -= 1
    return start


def _statements(passage: Passage) -> Iterator[Item]:
    """Statements on one line that return, change or name something in full."""
    for number in _body(passage):
        line = _whole(passage, number)
        most = RETURNED if ENDS.match(line) else LONGEST
        if not STATEMENT.search(line) or len(line) > most or effects.COMMENT.match(line):
            continue
        line = re.sub(r"\s*[{;,]$", "", line)
        if DULL.match(line) or _is_piece(passage, number, line) or effects.CONDITION.match(line):
            continue
        telling = LITERAL, ENDS, CHANGES, SETS, COMPARES, FAILS
        if (
            any(one.search(line) for one in telling)
            and not SAYS.search(line)
            and phrases.provable(line)
        ):
            yield Item(number, phrases.quote(line, RETURNED), "statement")


def _is_piece(passage: Passage, number: int, text: str) -> bool:
    """Whether a line goes on behind or began above, so that what it says is not all of it."""
    below = passage.file.lines[number : number + 1]
    goes_on = OPEN.search(text) or any(
        one.match(line) for one in (effects.CHAINED, GOES_ON) for line in below
    )
    above = decisions.REMARK.sub("", passage.file.lines[number - 2].strip()) if number > 1 else ""
    is_begun = (
        OPEN.search(above) is not None
        and above[-1:] not in ",:>("
        and not effects.COMMENT.match(above)
    )
    return bool(goes_on) or not phrases.closed(text) or is_begun


def _whole(passage: Passage, number: int) -> str:
    """A line, or what returns or raises over as many lines as its brackets are open."""
    line, last = passage.file.lines[number - 1].strip(), number
    goes_on = ENDS.match(line) and line.count("{") == line.count("}")
    while goes_on and not phrases.balanced(line) and last < passage.end and len(line) < RETURNED:
        last, line = last + 1, f"{line} {passage.file.lines[last].strip()}"
    remark = decisions.REMARK.search(phrases.masked(line))
    return line[: remark.start()] if remark else line


def _body(passage: Passage) -> Iterator[int]:
    """The lines of a passage behind its function's head, without docstrings."""
    lines, number = passage.file.lines, passage.start
    if number == passage.symbol.start:
        head = lines[number - 1]
        while not phrases.balanced(head) and number < passage.end:
            number += 1
            head += lines[number - 1]
        number += 1
    inside = False
    for n in range(number, passage.end + 1):
        marks = lines[n - 1].count('"""') if passage.file.path.endswith((".py", ".pyi")) else 0
        if not inside and not marks:
            yield n
        inside ^= marks % 2 == 1
