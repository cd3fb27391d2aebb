"""How each reply reads to a person: text and tables, with colours and boxes only on a terminal."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from preread.cli.terminal import Bar, Block, Cut, Place, Points, Table, drawn

if TYPE_CHECKING:
    from preread.models import Evidence, LoadReply, Model
    from preread.operations.checking import CheckReply, WrongReply
    from preread.operations.context import DossierStatus, ShowReply, StatusReply
    from preread.operations.doctor import DoctorReply
    from preread.operations.failures import FailedTest, FailuresReply
    from preread.operations.gates import GatesReply
    from preread.operations.hooks import Explained
    from preread.operations.knowledge import SearchReply
    from preread.operations.setup import InitReply
    from preread.published import RunRecord

MOST_WORDS = 12  # shown of those that were searched for


def render(operation: str, reply: "Model", *, terminal: bool) -> str:
    """A reply as text, for a terminal or for a pipe."""
    return drawn(VIEWS[operation](reply), terminal=terminal)


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
            head.append(
                f"{stats.turns} turns, {dollars(stats.cost_usd)}, {dollars(stats.cost_today_usd)} today"
            )
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
        rows = [
            (fact.id, f"{reply.path}{fact.file}:{fact.line}", fact.text) for fact in reply.facts
        ]
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
        ("fresh" if dossier.fresh else "stale")
        + ("" if dossier.status == "ok" else f", {dossier.status}"),
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
    more = f" and {len(reply.words) - MOST_WORDS} more" if len(reply.words) > MOST_WORDS else ""
    yield f"{reply.feature}: searched for {', '.join(reply.words[:MOST_WORDS]) or 'nothing'}{more}"
    for title, ranked in (
        ("sources", reply.files),
        ("tests", reply.tests),
        ("documents", reply.docs),
    ):
        rows = [
            (
                str(rank),
                Bar(one.score),
                Place(one.path, one.lines),
                Cut(next(iter(one.reasons), "")),
            )
            for rank, one in enumerate(ranked, 1)
        ]
        yield Table(("rank", "score", title, "reason"), rows) if rows else f"no {title}"
    yield from _findings(reply)
    yield from (f"note: {note}" for note in reply.notes)


def _findings(reply: "Evidence") -> Iterator[Block]:
    """The findings by section, and how many are not shown."""
    sections: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for finding in reply.findings:
        row = (finding.text, ", ".join(finding.sources))
        sections.setdefault((finding.file, finding.section), []).append(row)
    for (file, section), rows in sections.items():
        yield Points(f"\n{file}: {section}", rows)
    if reply.total > len(reply.findings):
        more = reply.total - len(reply.findings)
        yield f"\n{more} more findings (--limit {reply.total} shows all)"


def failures(reply: "FailuresReply") -> Iterator[Block]:
    if reply.tests:
        columns = ("state", "failed", "flaky", "last failed", "recent", "kinds", "test")
        yield Table(columns, [_failed(test) for test in reply.tests])
    else:
        yield f"No test {f'of {reply.feature} ' if reply.feature else ''}is known to have failed."
    if reply.total > len(reply.tests):
        yield f"{reply.total - len(reply.tests)} more (--limit {reply.total} shows all)"
    yield from _told(reply.notes)


def _failed(test: "FailedTest") -> tuple[str, ...]:
    kinds = sorted(test.kinds.items(), key=lambda pair: -pair[1])
    return (
        test.state,
        f"{test.failures} of {test.runs}" + (f", {test.retried} retried" if test.retried else ""),
        f"{test.flakiness:.2f}",
        test.last_failed[:10],
        test.recent,
        ", ".join(f"{kind} {times}" for kind, times in kinds),
        f"{test.test}: {test.message}" if test.message else test.test,
    )


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
    counts = (
        f"{reply.run.runs} runs, {reply.run.rounds} rounds of fixes, {len(reply.problems)} problems"
    )
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
        rows = [
            (DECIDED[path.decision], path.target, path.served_by or "-", _by(path))
            for path in reply.paths
        ]
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
        text = (
            f", from {path.captured!r}" if path.captured and path.captured != path.feature else ""
        )
        yield "feature", f"{path.feature}{text}{alias}"
        yield "file", "is there: a write is only remarked on" if path.exists else "is new"
    for found in path.dossiers:
        files = ", ".join(f"{name} {what}" for name, what in found.files.items())
        marks = [
            mark
            for mark, holds in (("being built", found.building), ("stale", found.stale))
            if holds
        ]
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
    "context.failures": failures,
    "context.check": check,
    "context.wrong": wrong,
    "knowledge.search": facts,
    "config.init": init,
    "config.doctor": doctor,
    "config.gates": gates,
}
