"""How each reply reads to a person: text and tables, with colours and boxes only on a terminal."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

if TYPE_CHECKING:
    from preread.models import Evidence, LoadReply, Model, Ranked
    from preread.operations.checking import CheckReply, WrongReply
    from preread.operations.context import DossierStatus, ShowReply, StatusReply
    from preread.operations.doctor import DoctorReply
    from preread.operations.gates import GatesReply
    from preread.operations.hooks import Explained
    from preread.operations.knowledge import SearchReply
    from preread.operations.setup import InitReply
    from preread.published import RunRecord

# Control and direction characters that a project's text could use to repaint a terminal.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Table(NamedTuple):
    """Rows under column names; the last column may be long."""

    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


Block = str | Table
Update = Callable[[str, float, float], None]


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at a stream; one that was closed before the start is None."""
    return stream is not None and stream.isatty()


def clean(text: str) -> str:
    """`text` with what a terminal would obey instead of showing made visible."""
    return UNSEEN.sub(lambda match: ascii(match[0])[1:-1], text.replace("\r\n", "\n"))


def render(operation: str, reply: "Model", *, terminal: bool) -> str:
    """A reply as text, for a terminal or for a pipe."""
    blocks = VIEWS[operation](reply)
    table = _boxed if terminal else _aligned
    return "\n".join(table(block) if isinstance(block, Table) else clean(block) for block in blocks)


def _cell(text: str) -> str:
    return clean(text.replace("\n", " ").replace("\t", " "))


def _aligned(table: Table) -> str:
    rows = [[_cell(cell) for cell in row] for row in (tuple(c.upper() for c in table.columns), *table.rows)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(table.columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def _boxed(table: Table) -> str:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Grid
    from rich.text import Text

    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name in table.columns:
        grid.add_column(name, overflow="fold")
    for row in table.rows:
        grid.add_row(*(Text(_cell(cell)) for cell in row))
    console = Console()
    with console.capture() as capture:
        console.print(grid)
    return capture.get().rstrip("\n")


@contextmanager
def live_line(begun: float, limit: float) -> Iterator[Update]:
    """One line on stderr: for how long it runs, of how long at most, how far it is; it vanishes at the end."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, refresh_per_second=10) as live:

        def update(message: str, done: float, total: float) -> None:
            step = f" {done:.0f}/{total:.0f}" if total else ""
            passed = f"{time.monotonic() - begun:.0f}" + (f" of {limit:.0f} s" if limit else " s")
            text = f"{passed}{step}  {clean(message) or 'working'}"
            live.update(Text(text, overflow="ellipsis", no_wrap=True))

        yield update


def load(reply: "LoadReply") -> Iterator[Block]:
    stats = reply.stats
    how = [
        reply.state,
        f"by {reply.builder}" if reply.builder else "",
        f"({reply.level})" if reply.level else "",
    ]
    head = [f"{reply.status}: {' '.join(word for word in how if word)}".removesuffix(": "), reply.path]
    if stats is not None:
        head.append(f"{stats.facts} facts, about {stats.tokens} tokens, {stats.seconds:.2f} s")
        if stats.turns:
            head.append(f"{stats.turns} turns, {dollars(stats.cost_usd)}, {dollars(stats.cost_today_usd)} today")
    yield " · ".join(head)
    yield from (f"warning: {warning}" for warning in reply.warnings)
    if reply.hint:
        yield f"hint: {reply.hint}"
    yield f"\n{reply.dossier}" if reply.dossier else reply.next


def dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"


def show(reply: "ShowReply") -> Iterator[Block]:
    yield from _told(reply.warnings)
    about = f" for {reply.ticket}" if reply.ticket else ""
    yield f"{reply.path} by {reply.builder or 'hand'} ({reply.level}){about}: {', '.join(reply.files)}"
    if reply.reason:
        yield f"{reply.status}: {reply.reason}"
    if reply.edited:
        yield f"edited since: {', '.join(reply.edited)}"
    if reply.facts is None:
        yield f"\n{reply.text.rstrip()}"
    else:
        rows = [(fact.id, f"{reply.path}{fact.file}:{fact.line}", fact.text) for fact in reply.facts]
        yield Table(("id", "where", "fact"), rows)


def status(reply: "StatusReply") -> Iterator[Block]:
    yield from _told(reply.warnings)
    if not reply.dossiers:
        yield f"No dossiers in {reply.root}. Make one: preread load FEATURE"
    else:
        columns = ("feature", "state", "facts", "tokens", "builder", "age", "built in", "why")
        yield Table(columns, [_status_row(dossier) for dossier in reply.dossiers])
    if len(reply.dossiers) == 1 and reply.dossiers[0].run is not None:
        yield from _last_run(reply.dossiers[0].run)
    if reply.spent.runs_month:
        limit = f" of {dollars(reply.month_usd)}" if reply.month_usd else ""
        unknown = f", {reply.spent.unknown} runs of unknown cost" if reply.spent.unknown else ""
        yield f"spent: {dollars(reply.spent.today)} today, {dollars(reply.spent.month)}{limit} this month{unknown}"


def _last_run(run: "RunRecord") -> Iterator[Block]:
    """How the last build went: who drafted, what it took, what was dropped and why."""
    outcome, stats = run.outcome, run.stats
    yield f"last run: {run.status or 'unknown'}, {stats.facts} facts, {stats.dropped} dropped, {stats.cut} cut"
    if outcome.version:
        cost = "cost unknown" if outcome.cost_usd is None else dollars(outcome.cost_usd)
        tokens = ", ".join(f"{count} {kind}" for kind, count in outcome.tokens.items())
        took = f"{outcome.turns} turns, {outcome.seconds:.1f} s, {cost}"
        yield f"  {outcome.model or 'no model'} by Claude Code {outcome.version}: {took}"
        yield f"  tokens: {tokens or 'none'}; prompt {outcome.prompt}"
    if outcome.fault is not None:
        yield f"  {outcome.fault.code}: {outcome.fault.reason}"
        yield from [f"  {outcome.fault.hint}"] if outcome.fault.hint else []
    yield from (f"  refused: {denial}" for denial in outcome.denials)
    yield from (f"  dropped: {problem}" for problem in run.problems)
    yield from (f"  stderr: {line}" for line in outcome.stderr.splitlines()[-5:])


def _status_row(dossier: "DossierStatus") -> tuple[str, ...]:
    edited = f"edited: {', '.join(dossier.edited)}" if dossier.edited else ""
    took = f"{dossier.run.stats.seconds:.1f} s" if dossier.run is not None else "elsewhere"
    return (
        dossier.feature,
        ("fresh" if dossier.fresh else "stale") + ("" if dossier.status == "ok" else f", {dossier.status}"),
        str(dossier.facts),
        str(dossier.tokens),
        f"{dossier.builder or 'hand'} ({dossier.level})",
        "-" if dossier.age is None else age(dossier.age),
        took,
        "; ".join(part for part in (dossier.why, edited) if part),
    )


def age(seconds: float) -> str:
    """A time span in its largest unit."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def evidence(reply: "Evidence") -> Iterator[Block]:
    yield f"{reply.feature}: searched for {', '.join(reply.words) or 'nothing'}"
    for title, ranked in (("files", reply.files), ("tests", reply.tests)):
        if ranked:
            yield Table(
                ("rank", "score", title, "reason"),
                [row for i, one in enumerate(ranked, 1) for row in _rows(i, one)],
            )
        else:
            yield f"no {title}"
    if reply.findings:
        rows = [(f"{f.score:.2f}", f.kind, f.text, ", ".join(f.sources)) for f in reply.findings]
        yield Table(("score", "kind", "finding", "sources"), rows)
    yield from (f"note: {note}" for note in reply.notes)


def _rows(rank: int, one: "Ranked") -> Iterator[tuple[str, ...]]:
    """A file's rows: one reason each, the file itself on the first."""
    lines = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in one.lines)
    head = (str(rank), f"{one.score:.2f} {bar(one.score)}", f"{one.path}:{lines}" if lines else one.path)
    for reason in one.reasons or ("",):
        yield (*head, reason)
        head = ("", "", "")


def bar(score: float, width: int = 10) -> str:
    return ("#" * round(max(0.0, min(1.0, score)) * width)).ljust(width, ".")


def facts(reply: "SearchReply") -> Iterator[Block]:
    if not reply.facts:
        yield "No fact says that."
        return
    for fact in reply.facts:
        yield f"{fact.id}  {fact.text} ({', '.join(fact.sources)})"
        yield f"{'':8}  {fact.state}, {fact.confidence:.2f}, {fact.path}:{fact.line}"


def check(reply: "CheckReply") -> Iterator[Block]:
    yield from (f"{p.path}:{p.line}: {p.code} {p.message}" for p in reply.problems)
    yield from _told(reply.warnings)
    if reply.run is None:
        yield f"{reply.feature}: {reply.facts} facts hold, {len(reply.problems)} problems"
        return
    stage = f"at {reply.run.stage}" if reply.run.stage else "begun"
    stage = "finished" if reply.run.finished else stage
    counts = f"{reply.run.runs} runs, {reply.run.rounds} rounds of fixes, {len(reply.problems)} problems"
    yield f"{reply.feature}: run log {stage}, {counts}"


def _told(warnings: Sequence[str]) -> Iterator[Block]:
    yield from (f"note: {warning}" for warning in warnings)


def wrong(reply: "WrongReply") -> Iterator[Block]:
    yield from (f"dropped {fact.id} from {fact.file}: {fact.text}" for fact in reply.dropped)
    yield "It is remembered, and no rebuild brings it back."


def init(reply: "InitReply") -> Iterator[Block]:
    yield f"Project: {reply.root}"
    yield from (f"found {f.framework}, {f.files} files: {', '.join(f.rules)}" for f in reply.found)
    yield from (f"reports: {glob}" for glob in reply.reports)
    yield from (f"wrote {path}" for path in reply.written)
    yield from (f"kept {path}, which was there" for path in reply.kept)
    yield from (f"note: {note}" for note in reply.notes)
    yield reply.next


def doctor(reply: "DoctorReply") -> Iterator[Block]:
    for look in reply.looks:
        yield f"{look.state:<4}  {look.name:<9}  {look.found}"
        if look.hint:
            yield f"{'':17}{look.hint}"


def gates(reply: "GatesReply") -> Iterator[Block]:
    if reply.action == "test":
        rows = [(DECIDED[path.decision], path.target, path.served_by or "-", _by(path)) for path in reply.paths]
        yield Table(("would be", "path", "feature", "by"), rows)
        yield from () if reply.mode == "block" else reply.says
        return
    for path in reply.paths:
        yield f"{path.target} would be {DECIDED[path.decision]}."
        yield from (f"  {label:<9} {text}" for label, text in _explained(path) if text)
    yield from () if reply.paths else reply.says


DECIDED = {"block": "blocked", "remark": "remarked", "failure": "let through", "pass": "passed"}


def _by(path: "Explained") -> str:
    if path.broken is not None:
        return f"the gates file is broken, line {path.broken.line}"
    if path.own:
        return "the project's own file"
    return f"line {path.line}: {path.rule}" if path.rule is not None else "no rule"


def _explained(path: "Explained") -> Iterator[tuple[str, str]]:
    """Why a path would get what it gets: what a person would look up one after the other."""
    yield "project", path.project or "none: no folder above it holds .project or .git"
    yield "by", f"{_by(path)}" if path.gates or path.broken else "no gates file: nothing is gated"
    if path.broken is not None:
        yield "broken", path.broken.why
    if path.mode is not None:
        yield "mode", f"{path.mode} ({path.mode_from})"
    if path.feature is not None:
        alias = f", an alias of {path.served_by}" if path.served_by != path.feature else ""
        text = f", from {path.captured!r}" if path.captured and path.captured != path.feature else ""
        yield "feature", f"{path.feature}{text}{alias}"
        yield "file", "is there: a write is only remarked on" if path.exists else "is new"
    for found in path.dossiers:
        files = ", ".join(f"{name} {what}" for name, what in found.files.items())
        marks = [mark for mark, holds in (("being built", found.building), ("stale", found.stale)) if holds]
        stands = "stands" if found.stands else "does not stand"
        yield "dossier", f"{'; '.join([stands, *marks])} in {found.project}: {files}"
    yield "near", ", ".join(path.near)
    yield from (("ignored", note) for note in path.notes)
    yield "model", path.text
    yield "person", path.person


VIEWS: dict[str, Callable[[Any], Iterator[Block]]] = {
    "context.load": load,
    "context.extend": load,
    "context.show": show,
    "context.status": status,
    "context.evidence": evidence,
    "context.check": check,
    "context.wrong": wrong,
    "knowledge.search": facts,
    "config.init": init,
    "config.doctor": doctor,
    "config.gates": gates,
}
