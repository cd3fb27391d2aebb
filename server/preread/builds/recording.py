"""The record of a build: its counts, what it took, and what it dropped."""

import time
from collections.abc import Sequence
from typing import get_args

from preread.dossier import fact_text, markdown
from preread.dossier.build_records import BuildRecord
from preread.dossier.source_tracking import SourceChanges
from preread.models import Checked, LostFact, Manifest, Outcome, Refresh, State, Stats


def counts(checked: Checked) -> dict[str, int]:
    """The number of facts, in total and by state, and their estimated tokens."""
    states = [verdict.state for verdict in checked.verdicts]
    by_state = {state: states.count(state) for state in get_args(State)}
    tokens = sum(fact_text.tokens(markdown.render(draft)) for draft in checked.drafts)
    return {"facts": len(states), "tokens": tokens, **by_state}


def record_of(
    manifest: Manifest, checked: Checked, outcome: Outcome, started: float
) -> BuildRecord:
    """The record of a build: times, counts, and what was dropped and why."""
    finished = time.time()
    stats = Stats(
        **counts(checked),
        dropped=checked.dropped,
        cut=checked.cut,
        seconds=round(finished - started, 3),
        turns=outcome.turns,
        cost_usd=round(outcome.cost_usd or 0.0, 6),
    )
    return BuildRecord(
        started=started,
        finished=finished,
        builder=manifest.builder,
        level=manifest.level,
        status=manifest.status,
        reason=manifest.fault.reason if manifest.fault else "",
        stats=stats,
        outcome=outcome,
        problems=tuple(str(problem) for problem in checked.problems[:100]),
    )


def refresh_result(changes: SourceChanges, lost: Sequence[LostFact]) -> Refresh:
    """The results of a refresh, for the reply and the run record."""
    changed = tuple(f"{one.file}: {one.text}" for one in lost if one.is_changed)
    gone = tuple(f"{one.file}: {one.text}" for one in lost if not one.is_changed)
    return Refresh(moved=len(changes.moved), changed=changed, gone=gone)


def after_refresh(earlier: BuildRecord | None, run: BuildRecord, found: Refresh) -> BuildRecord:
    """The record of the last build after a refresh: new counts, and what the build took."""
    news = {"refresh": found} if found.moved or found.changed or found.gone else {}
    if earlier is None:
        return run.model_copy(update=news)
    cost = {name: getattr(earlier.stats, name) for name in ("turns", "cost_usd", "seconds")}
    now = {"stats": run.stats.model_copy(update=cost), "problems": run.problems}
    return earlier.model_copy(update=now | news)
