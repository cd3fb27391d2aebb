"""The headless builder: one `claude -p` a build, its drafts sent back once if they do not hold."""

import hashlib
import json
import os
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from preread.models import Fault, Order, Outcome
from preread.services import Services

if TYPE_CHECKING:
    from preread.builders.cli import Cli
    from preread.builders.stream import Transcript
    from preread.infra.subprocesses import Child

EXIT_SECONDS = 5.0  # after its last result, before it is ended
SEND_BACK_WITHIN = 0.6  # of its time and money: what is left must do for writing the files again
SLICE = 0.1  # seconds between looks at whether to wait on
SHARE = 2.8  # of the five steps of a build
LEAST_SECONDS = 1.0  # no child is worth starting for less


class ClaudeBuilder:
    """Runs Claude Code with a prompt; it reads the project and writes drafts, and can do nothing else."""

    name = "claude"

    async def build(self, services: Services, order: Order) -> Outcome:
        import anyio.to_thread

        return await anyio.to_thread.run_sync(_build, services, order)


@dataclass
class _Run:
    """What all attempts of one build share."""

    services: Services
    order: Order
    deadline: float
    begun: float = field(default_factory=time.monotonic)
    attempts: list[Outcome] = field(default_factory=list)

    @property
    def left(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def money(self) -> float:
        """Dollars that are left; an attempt whose cost is not known counts as all that it was allowed."""
        most = self.services.settings.max_usd
        return most - sum(
            most if attempt.cost_usd is None else attempt.cost_usd for attempt in self.attempts
        )

    def say(self, message: str) -> None:
        passed, whole = time.monotonic() - self.begun, max(self.deadline - self.begun, 1e-3)
        self.services.progress.say(message, round(1 + SHARE * min(1.0, passed / whole), 3), 5)

    def room(self, cost: float | None) -> bool:
        """Whether time and money are left for a second round."""
        whole = self.deadline - self.begun
        money = self.money - (cost or 0.0)
        needed = 1 - SEND_BACK_WITHIN
        return self.left > needed * whole and money > needed * self.services.settings.max_usd


def _build(services: Services, order: Order) -> Outcome:
    from preread.builders import cli, faults, located

    run = _Run(
        services,
        order,
        services.progress.begun + services.settings.child_seconds(order.request.level),
    )
    try:
        program = cli.find(services)
    except located.NoCli as error:
        return Outcome(fault=error.fault)
    while True:
        if run.left < LEAST_SECONDS:
            run.attempts.append(Outcome(version=program.text, fault=faults.too_late(run.attempts)))
            break
        outcome, resets = _attempt(run, program)
        run.attempts.append(outcome)
        pause = (
            faults.retry_after(outcome.fault, len(run.attempts), resets) if outcome.fault else None
        )
        if pause is None or pause + LEAST_SECONDS > run.left or run.money <= 0:
            break
        _wait(run, pause, outcome.fault)
    return _together(run.attempts)


def _attempt(run: _Run, program: "Cli") -> tuple[Outcome, float | None]:
    """One child from its start to its end; and when the account's limit ends, if that is what ended it."""
    from preread.builders import cli, faults
    from preread.builders.stream import Transcript
    from preread.infra.secrets import Credentials

    services, order = run.services, run.order
    services = replace(
        services, settings=services.settings.model_copy(update={"max_usd": run.money})
    )
    begun = time.monotonic()
    with cli.prepare(services, program, order.staging, os.urandom(8).hex()) as prepared:
        transcript = Transcript(services.layout.root, prepared.servers)
        with services.child(
            prepared.argv,
            cwd=services.layout.root,
            environ={**faults.RETRIES_ENV, **prepared.environ},
            deadline=run.deadline,
            check=services.progress.check,
            scratch=prepared.scratch,
        ) as child:
            try:
                run.say("waiting for Claude Code")
                _converse(run, child, transcript)
            except BaseException:
                # Now, and not when it has ended: who cancels may not leave this process so much time.
                order.spent(_used(transcript, begun).model_copy(update={"cost_usd": None}))
                raise
    outcome = _used(transcript, begun).model_copy(
        update={
            "version": transcript.version or program.text,
            "denials": tuple(transcript.denials),
            "prompt": hashlib.sha256(order.prompt().encode("utf-8", "surrogatepass")).hexdigest()[
                :16
            ],
            "stderr": Credentials(services.layout.root).without(
                child.ended.err.decode("utf-8", "replace")
            ),
            "fault": faults.fault(transcript, child.ended),
            "warnings": (*prepared.warnings, *faults.servers(transcript)),
            "external": tuple(transcript.external),
        }
    )
    order.spent(outcome)
    return outcome, transcript.resets


def _used(transcript: "Transcript", begun: float) -> Outcome:
    """What a child has used so far."""
    return Outcome(
        model=transcript.model,
        turns=transcript.turns,
        tokens=transcript.tokens,
        cost_usd=transcript.cost_usd,
        seconds=round(time.monotonic() - begun, 3),
    )


def _converse(run: _Run, child: "Child", transcript: "Transcript") -> None:
    """The prompt and what comes of it; drafts that do not hold go back once, in the same run."""
    from preread.builders import faults

    child.send(message(run.order.prompt()))
    sent_back = closed = False
    for line in child.lines():
        if said := transcript.feed(line):
            run.say(said)
        if not closed and faults.hopeless(transcript):
            closed = True
            child.close_input(within=0)  # it is ended at once, and its last words tell what it cost
        if not transcript.done or closed:
            continue
        may_go_back = not (sent_back or transcript.failed) and run.room(transcript.cost_usd)
        answered = (
            text
            for said in (*(a.external for a in run.attempts), transcript.external)
            for text in said
        )
        findings = run.order.review(answered) if may_go_back else ""
        if findings:
            sent_back = True
            run.say("sending the drafts back with what does not hold")
            transcript.sent()
            child.send(message(findings))
        else:
            closed = True
            child.close_input(within=EXIT_SECONDS)


def message(text: str) -> bytes:
    """One user message, as `--input-format stream-json` takes it."""
    content = [{"type": "text", "text": text}]
    return (
        json.dumps({"type": "user", "message": {"role": "user", "content": content}}).encode()
        + b"\n"
    )


def _wait(run: _Run, seconds: float, fault: Fault | None) -> None:
    until, told = time.monotonic() + seconds, ""
    while (left := until - time.monotonic()) > 0:
        message = f"{fault.reason if fault else 'it failed'}; trying again in {left:.0f} s"
        if message != told:
            told = message
            run.say(message)
        run.services.progress.check()
        time.sleep(min(SLICE, left))


def _together(attempts: list[Outcome]) -> Outcome:
    """The last attempt, with what all of them used."""
    last = attempts[-1]
    if len(attempts) == 1:
        return last
    kinds = {kind for attempt in attempts for kind in attempt.tokens}
    costs = [attempt.cost_usd for attempt in attempts]
    return last.model_copy(
        update={
            "turns": sum(attempt.turns for attempt in attempts),
            "tokens": {
                kind: sum(attempt.tokens.get(kind, 0) for attempt in attempts)
                for kind in sorted(kinds)
            },
            "cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
            "seconds": round(sum(attempt.seconds for attempt in attempts), 3),
            "external": tuple(text for attempt in attempts for text in attempt.external),
            "denials": tuple(denial for attempt in attempts for denial in attempt.denials),
        }
    )
