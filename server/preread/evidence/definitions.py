"""The feature's definitions: those of which more is to be told than their names."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases, saying
from preread.evidence.nearness import nearness
from preread.evidence.passages import FUNCTIONS, MANY, passages
from preread.evidence.proofs import HIDDEN
from preread.evidence.view import FileView, HotSymbol, View
from preread.index import words
from preread.models import Finding
from preread.syntax import Symbol

DULL_METHODS = frozenset(
    """
    __repr__ __str__ __eq__ __hash__ __len__ __iter__ __enter__ __exit__ constructor toString equals hashCode
    """.split()
)
OF_ANY = words.STOP | {
    "return",
    "returns",
    "gets",
    "sets",
    "given",
    "instance",
    "represents",
}  # said of any definition
SAYS_NOTHING = frozenset(  # verbs and nouns of which every definition has one
    """
    class contains configuration configurations defines describes field fields function implements interface logic
    method object option options property settings specifies value values
    """.split()
)
OPENED = re.compile(r" [(\[][^()\[\]]*$")  # a remark in brackets that the end cut off
SAID, LEAST = 160, 2  # characters of what is said of a definition; letters of a word
LEADING, SHORT, ENOUGH = 3, 600, 2  # files; lines of them; words
TYPES = frozenset({"class", "interface", "type", "enum"})
MAKES = frozenset(
    {"__init__", "__new__", "__construct", "initialize", "init", "constructor", "new"}
)
FOR_TESTS = re.compile(r"(?i)(?:^|\.)tests?(?:$|\.)")  # a module of tests inside a source
FILES, MOST_FILES = 6, 2  # looked at for main definitions, and that have them told
LONG, MOST_FUNCTIONS = 5, 3  # lines of a function that does something; of a file
FLOOR, NEAR, HIDDEN_COUNTS = (
    0.3,
    0.5,
    0.7,
)  # of the weightiest function, of the nearest; of one that is not public


def symbols(view: View) -> Iterator[Finding]:
    """Definitions that the feature's words name, each with the first sentence said about it."""
    near = nearness(view)
    is_short = view.whole_project or sum(len(file.lines) for file in view.sources[:LEADING]) < SHORT
    for hot in view.symbols:
        symbol = hot.symbol
        if symbol.kind == "constant" and any(
            m.line == symbol.start and m.name == symbol.name for m in hot.file.details.members
        ):
            continue  # a value: the next rule has it
        head = phrases.definition(hot.file, symbol.start, symbol.name, symbol.signature)
        if symbol.name not in head:  # what it inherits is not what it is called
            head = phrases.definition(hot.file, symbol.start, symbol.name, "")
        told = OPENED.sub("", phrases.sentence(_said_of(hot), SAID)) if not _is_stale(hot) else ""
        said = phrases.plain(told)
        named = symbol.name in view.spelled or near.named_in(
            symbol.name, symbol.container, said, hot.file.path
        )
        if symbol.container and symbol.container not in head:
            head += f" of {code(symbol.container) if phrases.provable(symbol.container) else symbol.container}"
        tells = _says(view, symbol, said, is_short) or _shows(hot, head, is_short)
        if not (named and tells) or _is_handed_on(view, hot):
            continue
        yield Finding(
            rule="symbols",
            kind="symbol",
            text=f"{head}: {said}" if said else head,
            sources=(hot.cite,),
            reason=f"`{symbol.name}` or what it holds is named by the request",
            score=(0.3 + 0.4 * hot.score + (0.1 if said else 0.0))
            * (0.6 if symbol.name in DULL_METHODS else 1.0),
        )


def mains(view: View) -> Iterator[Finding]:
    """The main definitions of the first file and of those called as the feature: a type, and where most of it is."""
    first = view.sources[0].path.rpartition(".")[2] if view.sources else ""
    written = [file for file in view.sources[:FILES] if file.path.endswith(f".{first}")]
    named = [
        file for file in written if view.relevance(_stem(file)) >= 1 or file is view.sources[0]
    ]
    told: set[str] = set()
    for place, file in enumerate(
        sorted(named[:MOST_FILES], key=lambda one: view.relevance(_stem(one)) < 1)
    ):
        functions = _functions(file, view)
        kind = _type_of(view, file, functions)
        names = {one.name for one in functions}
        if names <= told and (kind is None or file is not view.sources[0]):
            continue  # nothing, or its twin's
        told |= names
        listed = [*([kind] if kind else []), *sorted(functions, key=lambda one: one.start)]
        yield Finding(
            rule="mains",
            kind="main",
            text=phrases.names([one.name for one in listed]),
            sources=tuple(
                file.cite(at) for at in dict.fromkeys(_named_at(file, one) for one in listed)
            ),
            reason="where most of the feature is",
            score=1 - 0.1 * place,
        )


def _functions(file: FileView, view: View) -> list[Symbol]:
    """The functions of a file in which most of the feature is: near it, and long; the weightiest of each name."""
    nearest: dict[Symbol, float] = {}
    for passage in passages(view):
        symbol = passage.symbol
        if (
            passage.file is file
            and symbol.kind in FUNCTIONS
            and not FOR_TESTS.search(symbol.container)
        ):
            nearest[symbol] = max(nearest.get(symbol, 0.0), passage.near)
    weights = {
        one: near * (one.end - one.start + 1) ** 0.5 * (HIDDEN_COUNTS if _is_hidden(one) else 1.0)
        for one, near in nearest.items()
    }
    least, near = (
        FLOOR * max(weights.values(), default=0.0),
        NEAR * max(nearest.values(), default=0.0),
    )
    found: dict[str, Symbol] = {}
    for one in sorted(weights, key=lambda one: (-weights[one], one.start)):
        makes = one.name in DULL_METHODS | MAKES or one.name == one.container.rpartition(".")[2]
        many = sum(other.name == one.name for other in weights) > MANY
        weighty = weights[one] >= least and nearest[one] >= near and one.end - one.start + 1 >= LONG
        if weighty and not (makes or many):
            found.setdefault(one.name, one)
    return list(found.values())[:MOST_FUNCTIONS]


def _is_hidden(one: Symbol) -> bool:
    return one.name.startswith("_") or HIDDEN.match(one.signature) is not None


def _type_of(view: View, file: FileView, functions: list[Symbol]) -> Symbol | None:
    """The type that a file is for: one of the feature's name that has half of its functions, one called as the file is,
    any that has half of them; where there are none, the largest of the feature's name."""
    types = [one for one in file.outline.symbols if one.kind in TYPES]
    owners = [one.container.rpartition(".")[2] for one in functions]

    def standing(one: Symbol) -> tuple[bool, bool, bool, int]:
        owns = 2 * owners.count(one.name) >= max(len(owners), 1)
        as_file, named = _plain(one.name) == _plain(_stem(file)), view.relevance(one.name) >= 1
        return (
            owns and (as_file or named),
            as_file,
            owns or (named and not owners),
            one.end - one.start,
        )

    best = max(types, key=standing, default=None)
    return best if best is not None and any(standing(best)[:3]) else None


def _stem(file: FileView) -> str:
    """A file's name without its ending."""
    return file.path.rpartition("/")[2].partition(".")[0]


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def _named_at(file: FileView, symbol: Symbol) -> int:
    """The line of a definition that has its name."""
    lines = range(symbol.start, min(symbol.end, symbol.start + 12, len(file.lines)) + 1)
    return next((n for n in lines if symbol.name in file.lines[n - 1]), symbol.start)


def _is_stale(hot: HotSymbol) -> bool:
    """Whether the first sentence about a function is of a variable that it does not have."""
    names = re.findall(r"`([a-z]\w*)`", phrases.sentence(hot.symbol.doc, 100))
    text = "\n".join(hot.file.lines[hot.symbol.start - 1 : hot.symbol.end])
    held = all(re.search(rf"(?<!`)\b{name}\b(?!`)", text) for name in names)
    return hot.symbol.kind in {"function", "method"} and not held


def _said_of(hot: HotSymbol) -> str:
    """The first sentence said of a definition, or the second where the first only tells its name again."""
    first = hot.symbol.doc
    if not first or _new(hot.symbol, first):
        return first
    above = next(
        (c for c in hot.file.details.comments if c.start < hot.symbol.start == c.end + 1), None
    )
    part = next(saying.parts(above.text), "") if above else ""
    second = part[slice(*spans[1])] if len(spans := saying.sentences(part)) > 1 else ""
    return second if _new(hot.symbol, second) else ""


def _new(symbol: Symbol, said: str) -> bool:
    """Whether a sentence has more than one word that is not, in this or another form, in a definition's own names."""
    own = [part for part in words.parts(f"{symbol.container}_{symbol.name}") if len(part) > LEAST]
    found = {word.lower() for word in re.findall(r"[A-Za-z]{3,}", said)} - SAYS_NOTHING
    new = {word for word in found if not word.startswith(tuple(own))}
    return len(new) > ENOUGH or len(new - OF_ANY) > 1


def _says(view: View, symbol: Symbol, said: str, is_short: bool) -> bool:
    """Whether a sentence says more of a definition than a word or two that neither it nor the request has; of little
    code, whether it is more than a few words."""
    if is_short:
        return said.count(" ") > ENOUGH
    known = words.stems(symbol.name) | view.wanted | view.also
    result = symbol.signature.rpartition(")")[2]
    new = {
        words.stem(word.lower())
        for word in re.findall(r"[A-Za-z]{3,}", said)
        if word.lower() not in OF_ANY
        and words.stem(word.lower()) not in known
        and word not in result
    }
    return len(new) > ENOUGH


def _shows(hot: HotSymbol, head: str, is_short: bool) -> bool:
    """Whether a bare signature tells something: all do of little code, else those that callers give three things."""
    if "(" not in head or not phrases.balanced(head) or hot.symbol.kind == "constant":
        return False
    given = re.sub(r"&?(?:mut )?self,", "", hot.symbol.signature.partition(hot.symbol.name)[2])
    is_open = not HIDDEN.match(hot.symbol.signature) and not hot.symbol.name.startswith("_")
    return is_short or (
        is_open and "override " not in hot.symbol.signature and given.count(",") > 1
    )


def _is_handed_on(view: View, hot: HotSymbol) -> bool:
    """Whether a definition only calls a longer one of its name in its file."""
    one = hot.symbol
    body = " ".join(hot.file.lines[one.start - 1 : one.end])
    if one.end - one.start > 2 or not re.search(rf"\.{re.escape(one.name)}\s*\(", body):
        return False
    same = (h.symbol for h in view.symbols if h.file is hot.file and h.symbol.name == one.name)
    return any(other.end - other.start > one.end - one.start for other in same)
