"""Constants with their values, and families of names: enumerations and unions, one fact each."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from preread.dossier.fact_text import code
from preread.evidence import quoting
from preread.evidence.files import FileView
from preread.evidence.relevance import RELATED
from preread.evidence.rule import Found, Rule
from preread.evidence.view import View
from preread.syntax import Member, Symbol, enclosing

MAX_FILES, MAX_SHOWN = 10, 8  # files that are read; values in one fact
MAX_VALUE = 80  # characters of a value with its name
MIN_FAMILY = 2
FAMILIES = frozenset({"enum", "union"})
LITERAL = re.compile(r"[\d\"']|\b(?:[Tt]rue|[Ff]alse)\b|%w")  # Ruby's lists of words have no quotes
EMPTY = re.compile(r"\W*|0(?:\.0)?|[Ff]alse|None")  # defaults that say nothing
MADE = re.compile(r"^\w+\.\w+\((?!\d+\))")  # by a function of a module: a pattern, a type
VARIABLE = re.compile(r"\s*(?:export\s+)?let\b")  # what JavaScript assigns again


def find(view: View) -> Iterator[Found]:
    """The values of each ranked file: single ones in one fact, each family in one of its own."""
    used = _names_in_mains(view)
    for rank, file in enumerate(view.code[:MAX_FILES]):
        members = [one for one in file.details.members if not file.is_in_test(one.line)]
        single = [one for one in members if _is_worth(view, file, one, used)]
        yield from _single(view, file, rank, single)
        families: dict[str, list[Member]] = defaultdict(list)
        for member in members:
            if member not in single and _is_of_family(view, member) and _is_quotable(file, member):
                families[member.owner].append(member)
        for owner, own in families.items():
            yield from _family(view, file, rank, owner, own)


def _names_in_mains(view: View) -> frozenset[str]:
    """Every name that the feature's main definitions contain."""
    return frozenset(name for one in view.mains for name in re.findall(r"[^\W\d]\w*", one.text))


def _relevance(view: View, file: FileView, member: Member) -> float:
    return view.relevance_at(file, member.line, member.name, member.owner)


def _score(relevance: float, rank: int) -> float:
    return min(1.0, 0.3 + 0.5 * relevance + 0.2 / (1 + rank))


# -- single values


def _is_worth(view: View, file: FileView, member: Member, used: frozenset[str]) -> bool:
    """Whether it is a named literal that the feature's own name or code brings up."""
    default = member.value.partition(" = ")[2]
    if member.kind == "field" and default:
        own = view.relevance.of(member.name, member.owner)
        return own >= RELATED and EMPTY.fullmatch(default) is None
    is_used = member.name in used and len(member.name) > 3
    return member.kind == "constant" and (is_used or _relevance(view, file, member) >= RELATED)


def _single(view: View, file: FileView, rank: int, members: Sequence[Member]) -> Iterator[Found]:
    found: dict[str, tuple[int, float]] = {}
    for member in members:
        if text := _assignment(file, member):
            found.setdefault(text, (member.line, _relevance(view, file, member)))
    best = sorted(found, key=lambda text: -found[text][1])[:MAX_SHOWN]
    if best:
        named = [(text, found[text][0]) for text in found if text in best]
        yield Found(quoting.in_file(file.path, named), (), _score(found[best[0]][1], rank))


def _assignment(file: FileView, member: Member) -> str:
    """`NAME = 30` as written; nothing unless name and value are whole on the one line."""
    line = file.line(member.line)
    match = re.search(rf"(?<!\w){re.escape(member.name)}(?!\w)", line)
    value = member.value.rpartition(" = ")[2]  # of a field, behind its type
    literal = LITERAL.search(value) and not MADE.search(value)
    if match is None or VARIABLE.match(line) or not literal:
        return ""
    end = line.find(value, match.end())
    text = line[match.start() : end + len(value)] if end > 0 else ""
    names_itself = re.search(rf"[\"']{re.escape(member.name)}[\"']", value)
    fits = quoting.is_provable(text) and len(text) <= MAX_VALUE and "``" not in text
    return text if fits and not names_itself else ""


# -- families


def _is_of_family(view: View, member: Member) -> bool:
    """Whether its owner lists it with others: of a type's fields, those with the feature's name."""
    is_named = member.kind == "field" and view.relevance.has_feature(member.name)
    return is_named or member.kind in FAMILIES


def _is_quotable(file: FileView, member: Member) -> bool:
    """Whether a name is on its line, and the line is inside its owner, as the check wants it."""
    around = enclosing(file.outline, member.line)
    inside = f"{around.container} {around.name}" if isinstance(around, Symbol) else ""
    line = file.line(member.line)
    named = bool(member.owner) and (member.owner in inside or member.owner in line)
    return named and member.name in line and "`" not in member.name


def _family(
    view: View, file: FileView, rank: int, owner: str, members: Sequence[Member]
) -> Iterator[Found]:
    """An enumeration or a union: all of it if it is short, else the feature's own members."""
    own = {one.name: one.line for one in members if _relevance(view, file, one) >= RELATED}
    every = {one.name: one.line for one in members}
    if not own or (len(every) < MIN_FAMILY and members[0].kind != "field"):
        return
    named = list((every if len(every) <= MAX_SHOWN else own).items())[:MAX_SHOWN]
    rest = len(every) - len(named)
    more = f" and {rest} more" if rest else ""
    score = _score(max(_relevance(view, file, one) for one in members), rank)
    yield Found(f"{code(owner)}: {quoting.in_file(file.path, named)}{more}", (), score)


RULE = Rule(
    name="values",
    file="codebase.md",
    heading="Values",
    weight=0.07,
    find=find,
    example="`DEFAULT_LIMIT = 20` src/search.py:12, `MAX_LIMIT = 100` :13",
)
