"""Run one agent in one worktree, to its end, its deadline or its limit of dollars."""

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from preread import spending
from preread.agents import kinds
from preread.builders import command, faults
from preread.builders.claude import EXIT_SECONDS, message
from preread.builders.locate import ClaudeUnavailable
from preread.builders.stream import Transcript
from preread.errors import PrereadError
from preread.gates import fence
from preread.layout import Layout
from preread.models import Outcome
from preread.services import Services


class Ended(NamedTuple):
    """What an agent said last, and what it used."""

    text: str
    outcome: Outcome


def prompt(layout: Layout, kind: str, task: str, sources: dict[str, str]) -> str:
    """The instructions of a kind, the task, and what is known; all but the first is data."""
    parts = [kinds.instructions(layout, kind).strip(), "Your task:", fence.block(task)]
    for name, text in sources.items():
        if text.strip():
            parts += [f"{name}:", fence.block(text)]
    return "\n\n".join(parts)


def run(
    services: Services, kind: str, root: Path, text: str, *, seconds: float, feature: str
) -> Ended:
    """Run an agent of a kind in the worktree at `root`, with the limits of `services`.

    Its cost goes to the ledger. Raises E_AGENT, E_TIMEOUT, E_MONEY, Cancelled.
    """
    if not spending.allows(services):
        fault = spending.refusal(services)
        raise PrereadError(fault.code, f"{fault.reason}.", fault.hint)
    try:
        program = command.find(services)
    except ClaudeUnavailable as error:
        raise _failed(kind, error.fault.reason, error.fault.hint, error.fault.code) from error
    policy = kinds.policy(kind)
    inside = replace(services, layout=Layout(root.resolve()))
    edits, kept = (("/**",), kinds.KEPT) if policy.writes else ((), ())
    begun = time.monotonic()
    marker = os.urandom(8).hex()
    with command.prepared(inside, program, marker, edits=edits, kept=kept) as ready:
        transcript = Transcript(inside.layout.root, ready.servers)
        try:
            with services.child(
                ready.argv,
                cwd=inside.layout.root,
                environ={**faults.RETRIES_ENV, **ready.environ},
                deadline=begun + seconds,
                check=services.progress.check,
                scratch=ready.scratch,
            ) as child:
                child.send(message(text))
                for line in child.lines():
                    if said := transcript.feed(line):
                        services.progress.say(f"{kind}: {said}")
                    if transcript.done:
                        child.close_input(within=EXIT_SECONDS)
        finally:
            outcome = Outcome(
                model=transcript.model,
                turns=transcript.turns,
                tokens=transcript.tokens,
                cost_usd=transcript.cost_usd,
                seconds=round(time.monotonic() - begun, 3),
                denials=tuple(transcript.denials),
            )
            spending.add(services, feature, outcome, marker)
    if failure := faults.of_run(transcript, child.ended):
        code = "E_TIMEOUT" if child.ended.cut == "deadline" else failure.code
        raise _failed(kind, failure.reason, failure.hint, code)
    return Ended(transcript.text, outcome)


def _failed(kind: str, reason: str, hint: str, because: str) -> PrereadError:
    code = because if because in {"E_TIMEOUT", "E_MONEY"} else "E_AGENT"
    details = {"kind": kind, "because": because}
    return PrereadError(code, f"The {kind} agent failed: {reason}.", hint, details)
