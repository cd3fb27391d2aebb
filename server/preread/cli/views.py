"""How each reply looks to a person: text and tables; colours and boxes only on a terminal."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from preread.cli.evidence_views import evidence, facts, failures
from preread.cli.setup_views import doctor, gates, init
from preread.cli.terminal import Block, Table, render_blocks

if TYPE_CHECKING:
    from preread.models import LoadReply, Model
    from preread.operations.check import CheckReply
    from preread.operations.show import ShowReply
    from preread.operations.status import DossierStatus, StatusReply
    from preread.operations.wrong import WrongReply
    from preread.published import RunRecord


def render(operation: str, reply: "Model", *, terminal: bool) -> str:
    """A reply as text, for a terminal or for a pipe."""
    return render_blocks(VIEWS[operation](reply), terminal=terminal)


def load(reply: "LoadReply") -> Iterator[Block]:
    stats = reply.stats
    how = [
        reply.state,
        f"by {reply.builder}" if reply.builder else "",
        f"({reply.level})" if reply.level else "",
    ]
    head = [
        f"{reply.status}: {' '.join(word for word in how if word)}".removesuffix(": "),
        reply.path,
    ]
    if stats is not None:
        head.append(f"{stats.facts} facts, about {stats.tokens} tokens, {stats.seconds:.2f} s")
        if stats.turns:
            today = f"{dollars(stats.cost_today_usd)} today"
            head.append(f"{stats.turns} turns, {dollars(stats.cost_usd)}, {today}")
    yield " · ".join(head)
    yield from (f"warning: {warning}" for warning in reply.warnings)
    if reply.hint:
        yield f"hint: {reply.hint}"
    yield f"\n{reply.dossier}" if reply.dossier else reply.next


def dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount >= 0.1 or not amount else f"${amount:.4f}"


def show(reply: "ShowReply") -> Iterator[Block]:
    yield from _notes(reply.warnings)
    about = f" for {reply.ticket}" if reply.ticket else ""
    builder = f"by {reply.builder or 'hand'} ({reply.level})"
    yield f"{reply.path} {builder}{about}: {', '.join(reply.files)}"
    if reply.reason:
        yield f"{reply.status}: {reply.reason}"
    if reply.edited:
        yield f"edited since: {', '.join(reply.edited)}"
    if reply.facts is None:
        yield f"\n{reply.text.rstrip()}"
    else:
        rows = [
            (fact.id, f"{reply.path}{fact.file}:{fact.line}", fact.text) for fact in reply.facts
        ]
        yield Table(("id", "where", "fact"), rows)


def status(reply: "StatusReply") -> Iterator[Block]:
    yield from _notes(reply.warnings)
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
        month = f"{dollars(reply.spent.month)}{limit} this month"
        yield f"spent: {dollars(reply.spent.today)} today, {month}{unknown}"


def _last_run(run: "RunRecord") -> Iterator[Block]:
    """How the last build went: who drafted, what it took, what was dropped and why."""
    outcome, stats = run.outcome, run.stats
    counts = f"{stats.facts} facts, {stats.dropped} dropped, {stats.cut} cut"
    yield f"last run: {run.status or 'unknown'}, {counts}"
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
    state = "fresh" if dossier.fresh else "stale"
    return (
        dossier.feature,
        state if dossier.status == "ok" else f"{state}, {dossier.status}",
        str(dossier.facts),
        str(dossier.tokens),
        f"{dossier.builder or 'hand'} ({dossier.level})",
        "-" if dossier.age is None else age(dossier.age),
        took,
        "; ".join(part for part in (dossier.why, edited) if part),
    )


def age(seconds: float) -> str:
    """A time span, in its largest unit."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def check(reply: "CheckReply") -> Iterator[Block]:
    yield from (f"{p.path}:{p.line}: {p.code} {p.message}" for p in reply.problems)
    yield from _notes(reply.warnings)
    if reply.run is None:
        yield f"{reply.feature}: {reply.facts} facts check out, {len(reply.problems)} problems"
        return
    stage = f"at {reply.run.stage}" if reply.run.stage else "started"
    stage = "finished" if reply.run.finished else stage
    counts = (
        f"{reply.run.runs} runs, {reply.run.rounds} rounds of fixes, {len(reply.problems)} problems"
    )
    yield f"{reply.feature}: run log {stage}, {counts}"


def _notes(warnings: Sequence[str]) -> Iterator[Block]:
    yield from (f"note: {warning}" for warning in warnings)


def wrong(reply: "WrongReply") -> Iterator[Block]:
    yield from (f"dropped {fact.id} from {fact.file}: {fact.text}" for fact in reply.dropped)
    yield "No rebuild will bring it back."


VIEWS: dict[str, Callable[[Any], Iterator[Block]]] = {
    "context.load": load,
    "context.extend": load,
    "context.show": show,
    "context.status": status,
    "context.evidence": evidence,
    "context.failures": failures,
    "context.check": check,
    "context.wrong": wrong,
    "knowledge.search": facts,
    "config.init": init,
    "config.doctor": doctor,
    "config.gates": gates,
}
