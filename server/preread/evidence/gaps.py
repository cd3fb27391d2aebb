"""What no test mentions: public names, messages, values of enumerations, options. Each is proved by an absence."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.expected import is_expected, is_expected_otherwise, is_impossible
from preread.evidence.messages import LEAST, messages
from preread.evidence.nearness import RARE, nearness
from preread.evidence.proofs import absent, absent_shortly, gap, is_exported, is_reached, tests_for
from preread.evidence.view import FileView, HotSymbol, View
from preread.index import words
from preread.models import Finding
from preread.syntax import Parameter

MOST, MOST_MESSAGES, MOST_OPTIONS, SHOWN = 4, 12, 4, 4
NEAR = 0.45  # heat of a line that is the feature's own
FIRST_SOURCES, LONG_NAME = (
    4,
    7,
)  # files, and letters of a file's name, by which a description means it
SHORT, GIVES = 4, re.compile(r"[{:]\s*return\s+[A-Za-z_][\w.]*\s*;?\s*\}?\s*$")


def unmentioned_symbols(view: View) -> Iterator[Finding]:
    """Public functions of the feature whose names stand in no test, one fact a file."""
    found: dict[str, list[tuple[HotSymbol, tuple[str, ...]]]] = {}
    for hot in view.symbols:
        name = hot.symbol.name
        if (
            len(name) < 5
            or hot.symbol.kind not in {"function", "method", "component"}
            or name.endswith("Impl")
        ):
            continue  # classes are used through what makes them
        if not (view.is_telling(hot) or view.relevance(hot.file.path) >= 1) or hot.score < NEAR:
            continue
        if sum(map(len, found.values())) >= MOST or view.candidates(name, ("test", "support")):
            continue
        if any(other.symbol.name == name for other, _ in found.get(hot.file.path, ())):
            continue
        if not is_exported(view, hot.file, hot.symbol) or is_reached(view, name):
            continue
        if hot.symbol.end - hot.symbol.start < SHORT and GIVES.search(
            " ".join(hot.file.lines[hot.symbol.start - 1 : hot.symbol.end])
        ):
            continue  # it only hands out a name
        if proof := absent(view, name, tests_for(view, hot.file)):
            found.setdefault(hot.file.path, []).append((hot, proof))
    named = {
        h.file.path
        for h in view.symbols
        if h.symbol.container and view.candidates(h.symbol.name, ("test", "support"))
    }
    for path, group in found.items():
        if path not in named and all(hot.symbol.kind == "method" for hot, _ in group):
            continue  # tests call no method of this file by name
        cites = [s for hot, proof in group for s in (hot.file.cite(hot.symbol.start), *proof)]
        names = phrases.names([hot.symbol.name for hot, _ in group], MOST)
        reason = "public names of the feature that stand in no test"
        yield gap(
            "unmentioned_symbols",
            f"no test names {names}",
            cites,
            reason,
            0.35 + 0.35 * group[0][0].score,
        )


class _Message(NamedTuple):
    """A text that the feature shows and no test holds."""

    text: str
    lines: list[int]
    proof: tuple[str, ...]
    heat: float
    raised: bool
    name: str


def unmentioned_messages(view: View) -> Iterator[Finding]:
    """Errors and warnings whose texts no test shows, a few of one file together; those of one beginning apart."""
    n = 0
    for file in view.sources[:8]:
        found: list[_Message] = []
        tests, named = tests_for(view, file), _is_described(view, file)
        for message in messages(file):
            text, others, lines, raised, name = message[:5]
            heat = max(
                *(view.heat(file, line) for line in lines),
                min(1.0, view.relevance(text)),
                NEAR * named,
            )
            if (
                heat < NEAR
                or n >= MOST_MESSAGES
                or any(view.holds(other, tests) for other in others)
            ):
                continue
            by_name = absent(view, name, tests) if name else ()
            if name and not by_name:
                continue  # tests compare with it
            if is_impossible(file, message) or is_expected_otherwise(view, message):
                continue
            if (named or _is_near(view, file, text, lines)) and (
                proof := absent_shortly(view, text, tests)
            ):
                n += 1
                found.append(_Message(text, lines, (*proof, *by_name), heat, raised, name))
        shared = _shared([one.text for one in found])
        if shared and (partly := _held_line(view, shared)):
            every = [one for one in found if one.text.startswith(shared)]
            yield _asserted_partly(file, shared, every, partly)
            found = [one for one in found if one not in every]
        found = [one for one in found if not is_expected(view, one.text)]
        found.sort(key=lambda one: (-one.heat - 0.2 * one.raised, one.lines))
        for at in range(0, min(len(found), 2 * SHOWN), SHOWN):
            yield _unshown(file, found[at : at + SHOWN])


def _is_described(view: View, file: FileView) -> bool:
    """Whether one of the first sources is called as the description says, by a rare word or two in a row, or the very
    first by the rarer word of the feature's name; a package's main file is about more."""
    folder, _, name = file.path.rpartition("/")
    if file in view.sources[:1] and nearness(view).named_in(name.partition(".")[0]):
        return True
    name = re.sub(r"[\W_]", "", name.partition(".")[0]).lower()
    said = re.findall(r"[a-z]+|[,.:;]", view.request.description.lower())
    rare = {stem for stem, worth in nearness(view).also.items() if worth >= RARE}
    pairs = {"".join(pair) for pair in pairwise(said)}
    is_one = (
        file in view.sources[:FIRST_SOURCES]
        and len(name) >= LONG_NAME
        and not folder.lower().endswith(name)
    )
    return is_one and (words.stem(name) in rare or name in pairs)


def _is_near(view: View, file: FileView, text: str, lines: Sequence[int]) -> bool:
    """Whether a message, the definitions around it or their file have the feature's name, not a common word of it."""
    around = [
        s.name for s in file.outline.symbols if any(s.start <= line <= s.end for line in lines)
    ]
    held = (file.path, text, *around)
    return (
        nearness(view).named_in(*held)
        or view.relevance(*held) >= 1
        or not view.spelled.isdisjoint(around)
    )


def _shared(texts: Sequence[str]) -> str:
    """The first words that the most of these texts share, two at least."""
    best, many = "", 1
    for i, one in enumerate(texts):
        for other in texts[i + 1 :]:
            same = zip(one.split(" "), other.split(" "), strict=False)
            common = " ".join(word for word, _ in takewhile(lambda pair: pair[0] == pair[1], same))
            count = sum(text.startswith(common) for text in texts)
            if len(common) >= LEAST and " " in common and (count, len(common)) > (many, len(best)):
                best, many = common, count
    return best


def _held_line(view: View, text: str) -> tuple[FileView, int] | None:
    """Where a test of the feature holds a text."""
    found = (
        (file, n) for file in view.tests for n, line in enumerate(file.lines, 1) if text in line
    )
    return next(found, None)


def _asserted_partly(
    file: FileView, shared: str, group: list[_Message], held: tuple[FileView, int]
) -> Finding:
    proof = [source for one in group[:SHOWN] for source in one.proof[:1]]
    return gap(
        "unmentioned_messages",
        f"of the {len(group)} messages that begin {phrases.quote(shared)} none is asserted beyond that",
        [
            held[0].cite(held[1]),
            *(file.cite(line) for one in group for line in one.lines[:1]),
            *proof,
        ],
        "a test that holds for each of them tells none from another",
        0.8,
    )


def _unshown(file: FileView, group: list[_Message]) -> Finding:
    return gap(
        "unmentioned_messages",
        f"no test shows {', '.join(code(one.text) + (f' ({code(one.name)})' if one.name else '') for one in group)}",
        [source for one in group for source in (*map(file.cite, one.lines[:2]), *one.proof)],
        "errors of the feature that no test reaches by their messages",
        0.4 + 0.3 * max(one.heat for one in group) + 0.1 * any(one.raised for one in group),
    )


def unmentioned_options(view: View) -> Iterator[Finding]:
    """Options of the feature's public functions, parameters with a default, that no test passes by name."""
    n, told = 0, set[str]()
    for file in view.sources[:6]:
        if not file.path.endswith((".py", ".pyi")):
            continue  # elsewhere arguments have no names
        hot = {
            h.symbol.name
            for h in view.symbols
            if h.file is file and h.score >= 0.5 and is_exported(view, file, h.symbol)
        }
        found: dict[str, dict[str, tuple[int, str, tuple[str, ...]]]] = {}
        for parameter in file.details.parameters:
            name, function = parameter.name, parameter.function.rpartition(".")[2]
            about = view.relevance(name) >= 1 and (
                function == "__init__" or not function.startswith("_")
            )
            if len(name) < 4 or name.startswith("_") or not (function in hot or about):
                continue
            line = file.lines[parameter.line - 1] if parameter.line <= len(file.lines) else ""
            default = re.search(rf"(?<!\w){re.escape(name)}\s*(?::[^=]+)?=\s*(\S+)", line)
            if (
                default is None
                or name in told
                or not _is_passed_by_name(file, parameter, default[1])
            ):
                continue
            if _is_set_otherwise(view, file, parameter):
                continue
            for spelled in _spelled(name, default[1].strip(",):")):
                if proof := absent(view, spelled, tests_for(view, file)):
                    told.add(name)
                    found.setdefault(function, {}).setdefault(
                        name, (parameter.line, spelled, proof)
                    )
                    break
        for function, options in found.items():
            if n >= MOST_OPTIONS or len(options) > 6:
                continue  # nobody passes any: it is called by other means
            n += 1
            yield _unset(file, function, function in hot, list(options.values())[:SHOWN])


def _spelled(name: str, default: str) -> tuple[str, ...]:
    """How a test would spell an option that is not as by default: the switch set, else its name alone."""
    if default in {"True", "False"}:
        return (f"{name}={default == 'False'}",)
    return name, f"{name}="


def _unset(
    file: FileView, function: str, is_hot: bool, options: list[tuple[int, str, tuple[str, ...]]]
) -> Finding:
    of = f" of {function}" if is_hot else ""
    cites = []
    for line, spelled, _ in options:
        cites.append(file.cite(line))
        name = re.escape(spelled.partition("=")[0])
        read = re.compile(
            rf"\bif\b.*(?<![\w.]){name}\b(?!\s*=[^=])|\bself\.{name}\b.*[<>]|[<>]=?\s*self\.{name}\b"
        )
        end = next(
            (
                s.end
                for s in file.outline.symbols
                if s.name == function and s.start <= line <= s.end
            ),
            line,
        )
        cites += [file.cite(n) for n in range(line + 1, end + 1) if read.search(file.lines[n - 1])][
            :1
        ]
    text = f"no test sets {phrases.names([spelled.rstrip('=') for _, spelled, _ in options], SHOWN)}{of}"
    proof = [source for _, _, proof in options for source in proof]
    reason = "options of the feature that no test passes by name"
    return gap(
        "unmentioned_options", text, [*cites, *proof], reason, 0.68 + (0.1 if is_hot else 0.05)
    )


def _is_passed_by_name(file: FileView, parameter: Parameter, default: str) -> bool:
    """Whether callers can be expected to spell a parameter out: a switch, or one that stands after many or a star."""
    own = [p for p in file.details.parameters if p.function == parameter.function]
    place = next((i for i, p in enumerate(own) if p.name == parameter.name), 0)
    first = own[0].line if own else parameter.line
    before = "\n".join(file.lines[first - 1 : parameter.line]).rpartition(parameter.name)[0]
    starred = re.search(r"(?<!\w)\*\s*,", before)
    return bool(starred) or place >= 4 or default.strip(",):") in {"True", "False"}


def _is_set_otherwise(view: View, file: FileView, parameter: Parameter) -> bool:
    """Whether tests may set a parameter without its keyword: as a flag or a key, by its place, by what calls its
    function."""
    name, tests = parameter.name, tests_for(view, file)
    flag = name.replace("_", "-")
    if any(
        view.holds(f"{mark}{end}", tests)
        for mark, end in (("--", flag), ("--no-", flag), ('"', name + '"'), ("'", name + "'"))
    ):
        return True
    own = [p.name for p in file.details.parameters if p.function == parameter.function]
    place = own.index(name) - (own[0] in {"self", "cls"})
    owner, _, function = parameter.function.rpartition(".")
    called = owner.rpartition(".")[2] if function == "__init__" else function
    for test in view.tests:
        for call in test.details.calls:
            if call.callee.rpartition(".")[2] == called and call.text.count(",") >= place + len(
                call.keywords
            ):
                return True
    given = re.compile(rf"(?<![\w.]){re.escape(name)}=(?!{re.escape(name)}\b|None\b)")
    calls = (
        call
        for source in view.sources
        for call in source.details.calls
        if call.callee.rpartition(".")[2] == called
    )
    return any(name in call.keywords and given.search(call.text) for call in calls)
