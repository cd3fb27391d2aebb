"""The record of a build: its counts, what it took, what it dropped, what refreshes changed."""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import get_args

from preread.dossier import fact_history, fact_text, markdown
from preread.dossier.build_records import BuildRecord
from preread.dossier.fact_changes import Facts, Known, compare
from preread.dossier.published import Published
from preread.errors import Unreadable
from preread.layout import Layout
from preread.models import Checked, LostFact, Manifest, Outcome, Refresh, State, Stats

MAX_LISTED, MAX_SHOWN = 10, 160  # facts that each list of a refresh names, and characters of each


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


def refresh_result(
    layout: Layout, before: Published, after: Published | None, lost: Sequence[LostFact]
) -> Refresh | None:
    """What a refresh changed, by facts; None if the dossier says the same as before.

    After a merge, what both changed: the facts are compared with those of the last publish here.
    `lost`: the model's facts and fences that lost their sources; they are the first in the lists.
    """
    if after is None or _shown(before) == _shown(after):
        return None
    feature = after.manifest.feature if after.manifest is not None else ""
    known = _before_merge(layout, before) if before.is_merged else None
    if known is None:
        known = fact_history.facts_in(before.texts, feature)
    changes = compare(known, fact_history.facts_in(after.texts, feature))
    of_model = {_key(one): one.is_changed for one in lost}
    changed: list[Known | LostFact] = [one for one in lost if one.is_fence and one.is_changed]
    gone: list[Known | LostFact] = [one for one in lost if one.is_fence and not one.is_changed]
    for kind, was in ((one.kind, one.was) for one in changes):
        if was is not None and kind != "moved":
            is_changed = kind == "changed" or of_model.get(_key(was), False)
            (changed if is_changed else gone).append(was)
    for found in (changed, gone):
        found.sort(key=lambda one: _key(one) not in of_model)
    return Refresh(
        moved=sum(one.kind == "moved" for one in changes),
        changed=_named(changed),
        gone=_named(gone),
        changed_count=len(changed),
        gone_count=len(gone),
        code=sum(one.is_fence for one in lost),
        added=sum(one.kind == "added" for one in changes),
    )


def _before_merge(layout: Layout, before: Published) -> Facts | None:
    with suppress(Unreadable):
        return fact_history.before_merge(layout, before)
    return None


def lost_since(before: Published, after: Published) -> tuple[LostFact, ...]:
    """The model's facts that only the later manifest lists as lost."""
    known = before.manifest.lost if before.manifest is not None else ()
    lost = after.manifest.lost if after.manifest is not None else ()
    return tuple(one for one in lost if one not in known)


def _shown(found: Published) -> tuple[object, ...]:
    """A dossier's texts, whether its files have them, and what no longer checks out."""
    manifest = found.manifest or Manifest(feature="")
    fences = [key for key, is_valid in manifest.peoples_fences.items() if not is_valid]
    return found.texts, found.restored, manifest.unverified, fences


def with_refresh(
    run: BuildRecord, found: Refresh | None, earlier: BuildRecord | None
) -> BuildRecord:
    """The record with a refresh; one that changed nothing leaves that of the `earlier` record."""
    if found is None and earlier is not None:
        found = earlier.refresh
    return run.model_copy(update={"refresh": found})


def _key(one: LostFact | Known) -> tuple[str, str]:
    """A fact's file and words, without the lines that they name: these follow the code."""
    return one.file, fact_text.without_places(one.text)


def _named(facts: Sequence[Known | LostFact]) -> tuple[str, ...]:
    return tuple(f"{one.file}: {one.text[:MAX_SHOWN]}" for one in facts[:MAX_LISTED])


def after_refresh(
    earlier: BuildRecord | None, run: BuildRecord, found: Refresh | None
) -> BuildRecord:
    """The record of the last build after a refresh: new counts, and what the build took."""
    run = with_refresh(run, found, earlier)
    if earlier is None:
        return run
    cost = {name: getattr(earlier.stats, name) for name in ("turns", "cost_usd", "seconds")}
    now = {"stats": run.stats.model_copy(update=cost), "problems": run.problems}
    return earlier.model_copy(update=now | {"refresh": run.refresh})
