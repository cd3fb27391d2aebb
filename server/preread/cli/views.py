"""How each reply looks to a person: text and tables; colours and boxes only on a terminal."""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from preread.cli import builds, document_views, worktree_views
from preread.cli.agent_views import executed, workflow_executed
from preread.cli.evidence_views import evidence, facts, failures
from preread.cli.graph_views import graph
from preread.cli.history_views import blame, diff, impact, trace
from preread.cli.integrity_views import backups, gc, remove, repair, restore
from preread.cli.memory_views import capture, kept, recall
from preread.cli.session_views import attention, consolidated, heard, here, said
from preread.cli.setup_views import doctor, gates, init, install_client
from preread.cli.terminal import Block, Markdown, Marked, Table, age, render_blocks
from preread.gates import fence
from preread.infra.plural import counted

if TYPE_CHECKING:
    from preread.dossier.build_records import BuildRecord
    from preread.models import LoadReply, Model, Refresh
    from preread.operations.check import CheckReply
    from preread.operations.cited import CitedFact
    from preread.operations.log import LogReply
    from preread.operations.ops import OpsReply
    from preread.operations.settings import SettingsReply
    from preread.operations.show import ShowReply
    from preread.operations.status import DossierStatus, StatusReply
    from preread.operations.workflow.readiness import ReadinessReply
    from preread.operations.workflow.state import StateReply
    from preread.operations.wrong import WrongReply

# A settings file `sets` its keys, and no option of the same name is `mean`t.
FIELD = re.compile(r"(?<!sets )(?<!mean )`(\w+)`")
LOADS = ("context.load", "context.extend")
# What these print is quoted from the project.
QUOTING = (
    "context.show", "context.evidence", "context.failures", "knowledge.search", "memory.recall",
    "attention.wm_consolidate", "session.hear", "attention.cognitive_status",
    "history.diff", "history.impact", "history.blame", "history.trace", "knowledge.graph",
    "worktree.diff",
    "workflow.readiness", "knowledge.capture", "session.who_is_here", "documents.load",
    "documents.read", "builds.list", "agent.execute", "workflow.execute",
)  # fmt: skip


def render(operation: str, reply: "Model", *, terminal: bool) -> str:
    """A reply as text, for a terminal or for a pipe, at whose end a model may be reading."""
    if not terminal and operation in LOADS:
        reply = reply.model_copy(update={"dossier": fence.block(getattr(reply, "dossier", ""))})
    if operation not in VIEWS:  # operations for programs: show their data
        return json.dumps(reply.model_dump(mode="json", exclude_none=True), indent=2)
    text = render_blocks(VIEWS[operation](reply), terminal=terminal)
    return text if terminal or operation not in QUOTING else fence.block(text).rstrip("\n")


def load(reply: "LoadReply") -> Iterator[Block]:
    stats = reply.stats
    how = [
        reply.state,
        f"by {reply.builder}" if reply.builder else "",
        f"({reply.level})" if reply.level else "",
    ]
    head = [f": {' '.join(word for word in how if word)}".removesuffix(": ")]
    head += [reply.path] if reply.path else []  # none if the dossier could not be saved
    if stats is not None:
        head.append(
            f"{counted(stats.facts, 'fact')}, about {stats.tokens} tokens, {stats.seconds:.2f} s"
        )
        if stats.turns:
            today = f"{dollars(stats.cost_today_usd)} today"
            head.append(f"{stats.turns} turns, {dollars(stats.cost_usd)}, {today}")
    yield Marked(reply.status, " · ".join(head))
    if (done := reply.refresh) is not None:
        feature = reply.path.rstrip("/").rpartition("/")[2]
        is_more = done.changed_count + done.gone_count + done.added > done.code  # facts
        more = f" (`preread diff {feature}` names them)" if is_more and feature else ""
        yield f"refreshed: {_in_words(done)}{more}"
    yield from (Marked("warning", f": {as_options(warning)}") for warning in reply.warnings)
    if reply.hint:
        yield Marked("hint", f": {as_options(reply.hint)}")
    yield Markdown(f"\n{reply.dossier}") if reply.dossier else reply.next


def _in_words(done: "Refresh") -> str:
    """What a refresh changed, such as `12 facts moved, 1 changed, 1 new`."""
    counts = (
        (done.moved, "moved"),
        (done.changed_count, "changed"),
        (done.gone_count, "gone"),
        (done.added, "new"),
    )
    found = [(number, what) for number, what in counts if number]
    if not found:
        return "no fact says anything else"
    first, *more = found
    is_only_code = done.code == sum(number for number, _ in found)
    noun = "code block" if is_only_code else "fact"
    words = (f"{number:,} {what}" for number, what in more)
    text = ", ".join((f"{counted(first[0], noun)} {first[1]}", *words))
    if done.code and not is_only_code:
        text += f" ({counted(done.code, 'code block')} among them)"
    return text


def as_options(text: str) -> str:
    """A message with a request's fields written as options of the command line."""
    from preread.operations.load import LoadRequest

    fields = set(LoadRequest.model_fields) - {"feature"}
    return FIELD.sub(lambda name: f"`--{name[1]}`" if name[1] in fields else name[0], text)


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
    if reply.cited is not None:
        facts = [(fact.id, fact.state, _cites(fact), fact.text) for fact in reply.cited]
        yield Table(("id", "state", "cites", "fact"), facts)
    elif reply.facts is None:
        yield Markdown(f"\n{reply.text.rstrip()}")
    else:
        rows = [
            (fact.id, f"{reply.path}{fact.file}:{fact.line}", fact.text) for fact in reply.facts
        ]
        yield Table(("id", "where", "fact"), rows)


def _cites(fact: "CitedFact") -> str:
    return "\n".join(
        one.source if one.freshness == "fresh" else f"{one.source} ({one.freshness})"
        for one in fact.sources
    )


def status(reply: "StatusReply") -> Iterator[Block]:
    yield from _notes(reply.warnings)
    if not reply.dossiers:
        yield f"No dossiers in {reply.root}. Make one: `preread load _project`"
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


def _last_run(run: "BuildRecord") -> Iterator[Block]:
    """How the last build went: who drafted it, what it took, and what did not check out."""
    outcome, stats = run.outcome, run.stats
    counts = f"{counted(stats.facts, 'fact')}, {stats.dropped} dropped, {stats.cut} cut"
    yield f"last run: {run.status or 'unknown'}, {counts}"
    if outcome.version:
        cost = "cost unknown" if outcome.cost_usd is None else dollars(outcome.cost_usd)
        tokens = ", ".join(f"{count} {kind}" for kind, count in outcome.tokens.items())
        took = f"{outcome.turns} turns, {outcome.seconds:.1f} s, {cost}"
        yield f"  {outcome.model or 'no model'} by Claude Code {outcome.version}: {took}"
        yield f"  tokens: {tokens or 'none'}; prompt {outcome.prompt}"
    if run.refresh is not None:
        yield f"  last refresh: {_in_words(run.refresh)}"
    if outcome.fault is not None:
        yield f"  {outcome.fault.code}: {outcome.fault.reason}"
        yield from [f"  {outcome.fault.hint}"] if outcome.fault.hint else []
    yield from (f"  refused: {denial}" for denial in outcome.denials)
    yield from (f"  problem: {problem}" for problem in run.problems)
    yield from (f"  stderr: {line}" for line in outcome.stderr.splitlines()[-5:])


def _status_row(dossier: "DossierStatus") -> tuple[str, ...]:
    edited = f"edited: {', '.join(dossier.edited)}" if dossier.edited else ""
    refreshed = f"refreshed: {dossier.refreshed}" if dossier.refreshed else ""
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
        "; ".join(part for part in (dossier.why, refreshed, edited) if part),
    )


def check(reply: "CheckReply") -> Iterator[Block]:
    for p in reply.problems:
        fix = f" (repair: {p.fix})" if p.fix else ""
        yield f"{p.path}:{p.line}: {p.code} {p.message}{fix}"
    yield from _notes(reply.warnings)
    if reply.run is None:
        problems = counted(len(reply.problems), "problem")
        facts = "1 fact checks" if reply.facts == 1 else f"{reply.facts} facts check"
        yield f"{reply.feature or 'all'}: {facts} out, {problems}"
        if any(p.fix for p in reply.problems):
            yield "Repair what can be repaired: `preread repair`"
        return
    stage = f"at {reply.run.stage}" if reply.run.stage else "started"
    stage = "finished" if reply.run.finished else stage
    rounds, runs = counted(reply.run.rounds, "round"), counted(reply.run.runs, "run")
    problems = counted(len(reply.problems), "problem")
    yield f"{reply.feature}: run log {stage}, {runs}, {rounds} of fixes, {problems}"


def _notes(warnings: Sequence[str]) -> Iterator[Block]:
    yield from (Marked("note", f": {warning}") for warning in warnings)


def wrong(reply: "WrongReply") -> Iterator[Block]:
    for fact in reply.dropped:
        yield f"dropped {fact.id} from {fact.file}: {fact.text}"
    if reply.dropped:
        yield "No rebuild will bring it back."
    for one in reply.unmarked:
        yield f"no longer marked as wrong: {one.id} of {one.feature}: {one.text}"
    for feature in sorted({one.feature for one in reply.unmarked}):
        yield f"A build may find it again: `preread load {feature} --force`"
        yield "If a person wrote it, it is in a backup: `preread backups`"
    yield from _notes(reply.warnings)


def log(reply: "LogReply") -> Iterator[Block]:
    for entry in reply.entries:
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.time))
        params = json.dumps(entry.params, ensure_ascii=False)
        yield f"{entry.id}  {at}  {entry.outcome}  {entry.method} {params}  by {entry.by}"
    if not reply.entries:
        yield "No call has changed anything yet."


def workflow(reply: "StateReply") -> Iterator[Block]:
    for found in reply.features:
        ran = f", its tests {found.last_run}" if found.last_run else ""
        yield f"{found.feature}: {found.stage} ({found.workflow}{ran})"
        yield from (f"  lacks: {condition}" for condition in found.left)
        yield f"  next: {found.next}"
    if not reply.features:
        yield "No feature has been started yet. The workflows are:"
        yield from (f"  {name}: {doc}" for name, doc in reply.workflows.items())


def ready(reply: "ReadinessReply") -> Iterator[Block]:
    yield Marked("ok" if reply.ready else "not ready", "" if reply.ready else ":")
    for found in reply.blockers:
        about = f"{found.feature}: " if found.feature else ""
        yield f"  {about}{found.message}"
        yield f"      {found.next}"
    counted = reply.metrics.model_dump(exclude_none=True)
    yield ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in counted.items())


def settings(reply: "SettingsReply") -> Iterator[Block]:
    for found in reply.settings:
        yield f"{found.key} = {json.dumps(found.value, ensure_ascii=False)}  ({found.source})"
        yield f"      {found.doc}"
    yield from _notes(reply.warnings)


def ops(reply: "OpsReply") -> Iterator[Block]:
    category = ""
    for found in reply.operations:
        if category != (category := found.name.partition(".")[0]):
            yield f"{category}:"
        people = ", for people" if found.people_only else ""
        yield f"  {found.name}({found.params})"
        yield f"      {found.doc} ({found.effect}{people})"
        yield f"      {found.example}"


VIEWS: dict[str, Callable[[Any], Iterator[Block]]] = {
    "context.load": load,
    "context.extend": load,
    "context.show": show,
    "context.status": status,
    "context.evidence": evidence,
    "context.failures": failures,
    "context.check": check,
    "context.wrong": wrong,
    "context.remove": remove,
    "builds.list": builds.listed,
    "builds.cancel": builds.cancelled,
    "agent.execute": executed,
    "workflow.execute": workflow_executed,
    **{f"worktree.{name}": view for name, view in worktree_views.VIEWS.items()},
    "history.diff": diff,
    "history.impact": impact,
    "history.blame": blame,
    "history.trace": trace,
    "integrity.repair": repair,
    "integrity.backups": backups,
    "integrity.restore": restore,
    "integrity.gc": gc,
    "knowledge.search": facts,
    "knowledge.graph": graph,
    "knowledge.capture": capture,
    "memory.remember": kept,
    "memory.decide": kept,
    "memory.recall": recall,
    "documents.load": document_views.load,
    "documents.read": document_views.read,
    "graph.save": document_views.report,
    "attention.cognitive_status": attention,
    "attention.wm_consolidate": consolidated,
    "session.who_is_here": here,
    "session.say": said,
    "session.hear": heard,
    "audit.log": log,
    "workflow.state": workflow,
    "workflow.readiness": ready,
    "config.ops": ops,
    "config.get": settings,
    "config.init": init,
    "config.install_client": install_client,
    "config.doctor": doctor,
    "config.gates": gates,
}
