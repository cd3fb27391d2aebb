"""The feature's definitions: those of which more is to be told than their names."""

import re
from collections.abc import Iterator

from preread.dossier import code
from preread.evidence import phrases, words
from preread.evidence.nearness import nearness
from preread.evidence.proofs import HIDDEN
from preread.evidence.view import HotSymbol, View
from preread.models import Finding
from preread.syntax import Symbol

DULL_METHODS = frozenset(
    """
    __repr__ __str__ __eq__ __hash__ __len__ __iter__ __enter__ __exit__ constructor toString equals hashCode
    """.split()
)
OF_ANY = words.STOP | {"return", "returns", "gets", "sets", "given", "instance", "represents"}  # said of any definition
LEADING, SHORT, ENOUGH = 3, 600, 2  # files; lines of them; words


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
        said = phrases.plain(phrases.sentence(symbol.doc, 100)) if symbol.doc and not _is_stale(hot) else ""
        named = symbol.name in view.spelled or near.named_in(symbol.name, symbol.container, said, hot.file.path)
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
            score=(0.3 + 0.4 * hot.score + (0.1 if said else 0.0)) * (0.6 if symbol.name in DULL_METHODS else 1.0),
        )


def _is_stale(hot: HotSymbol) -> bool:
    """Whether the first sentence about a function is of a variable that it does not have."""
    names = re.findall(r"`([a-z]\w*)`", phrases.sentence(hot.symbol.doc, 100))
    text = "\n".join(hot.file.lines[hot.symbol.start - 1 : hot.symbol.end])
    held = all(re.search(rf"(?<!`)\b{name}\b(?!`)", text) for name in names)
    return hot.symbol.kind in {"function", "method"} and not held


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
        if word.lower() not in OF_ANY and words.stem(word.lower()) not in known and word not in result
    }
    return len(new) > ENOUGH


def _shows(hot: HotSymbol, head: str, is_short: bool) -> bool:
    """Whether a bare signature tells something: all do of little code, else those that callers give three things."""
    if "(" not in head or not phrases.balanced(head) or hot.symbol.kind == "constant":
        return False
    given = re.sub(r"&?(?:mut )?self,", "", hot.symbol.signature.partition(hot.symbol.name)[2])
    is_open = not HIDDEN.match(hot.symbol.signature) and not hot.symbol.name.startswith("_")
    return is_short or (is_open and "override " not in hot.symbol.signature and given.count(",") > 1)


def _is_handed_on(view: View, hot: HotSymbol) -> bool:
    """Whether a definition only calls a longer one of its name in its file."""
    one = hot.symbol
    body = " ".join(hot.file.lines[one.start - 1 : one.end])
    if one.end - one.start > 2 or not re.search(rf"\.{re.escape(one.name)}\s*\(", body):
        return False
    same = (h.symbol for h in view.symbols if h.file is hot.file and h.symbol.name == one.name)
    return any(other.end - other.start > one.end - one.start for other in same)
