"""The headless builder: `claude -p` drafts, and corrects once what fails the check.

It corrects in the same run. If that run has used up its money or its turns, it corrects in another
one, with the share of the money that drafting may not use.
"""

import hashlib
import json
import os
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from preread.errors import PrereadError
from preread.models import Fault, Order, Outcome
from preread.services import Services
from preread.settings import RESERVED

if TYPE_CHECKING:
    from preread.builders.command import Prepared, Program
    from preread.builders.stream import Transcript
    from preread.infra.subprocesses import Child, Ended

EXIT_SECONDS = 5.0  # time the child has to exit after its last result
MIN_LEFT = 0.1  # of the time and money; with less, drafts are not sent back to be corrected
POLL_SECONDS = 0.1
PROGRESS_STEPS = 2.8  # how many of a build's five progress steps the child's run covers
MIN_CHILD_SECONDS = 1.0  # starting a child for less is pointless
# Results of a run whose drafts another run can still correct.
USED_UP = ("error_max_budget_usd", "error_max_turns")


class ClaudeBuilder:
    """Runs Claude Code on a prompt: it may read the project and write drafts, and nothing else."""

    name = "claude"

    async def build(self, services: Services, order: Order) -> Outcome:
        import anyio.to_thread

        return await anyio.to_thread.run_sync(_build, services, order)


@dataclass
class _Run:
    """State that the attempts of one build share."""

    services: Services
    order: Order
    deadline: float
    begun: float = field(default_factory=time.monotonic)
    attempts: list[Outcome] = field(default_factory=list)
    sent_back: bool = False
    needs_another: bool = False  # the run lacked the money or turns to correct its drafts
    is_delayed: bool = False

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()

    @property
    def usd_left(self) -> float:
        """What the build may still cost. An attempt of unknown cost counts as the whole budget."""
        budget = self.services.settings.max_usd
        return budget - sum(
            budget if attempt.cost_usd is None else attempt.cost_usd for attempt in self.attempts
        )

    def delay(self, fault: Fault) -> None:
        """Offer waiting callers a static dossier in the meantime; only once in a build."""
        if not self.is_delayed:
            self.is_delayed = True
            self.order.delayed(fault)

    def say(self, message: str) -> None:
        if self.is_delayed:
            message = f"{message}; meanwhile, a dossier without it is available"
        passed, whole = time.monotonic() - self.begun, max(self.deadline - self.begun, 1e-3)
        done = 1 + PROGRESS_STEPS * min(1.0, passed / whole)
        self.services.progress.say(message, round(done, 3), 5)

    @property
    def usd_for_drafts(self) -> float:
        return self.usd_left - RESERVED * self.services.settings.max_usd

    @property
    def is_late(self) -> bool:
        """Whether too little time is left for the model to correct its drafts."""
        return self.seconds_left <= MIN_LEFT * (self.deadline - self.begun)

    def is_enough(self, usd: float) -> bool:
        return usd > MIN_LEFT * self.services.settings.max_usd


def _build(services: Services, order: Order) -> Outcome:
    from preread.builders import command, locate

    limit = services.settings.child_seconds(order.request.level)
    run = _Run(services, order, services.progress.begun + limit)
    try:
        program = command.find(services)
    except locate.ClaudeUnavailable as error:
        return Outcome(fault=error.fault)
    _draft(run, program)
    if problems := _correction_prompt(run):
        run.sent_back = True
        run.say("sending the drafts back to be corrected")
        outcome, _ = _attempt(run, program, problems)
        # The fault of the drafting run counts, even if this one failed: it says what is missing.
        run.attempts.append(outcome.model_copy(update={"fault": run.attempts[-1].fault}))
    return _combined(run.attempts)


def _draft(run: _Run, program: "Program") -> None:
    """Run children until one has no fault, its fault lasts, or no time or money is left."""
    from preread.builders import faults

    while run.seconds_left >= MIN_CHILD_SECONDS:
        outcome, resets_at = _attempt(run, program)
        fault = faults.of_attempt(outcome, run.attempts)
        run.attempts.append(outcome.model_copy(update={"fault": fault}))
        pause = faults.retry_after(fault, len(run.attempts), resets_at) if fault else None
        if fault is None or pause is None or run.usd_for_drafts <= 0:
            return
        if pause + MIN_CHILD_SECONDS > run.seconds_left:
            return
        run.delay(fault)
        _wait(run, pause, fault)
    late = Outcome(version=program.text, fault=faults.out_of_time(run.attempts))
    run.attempts.append(late)


def _attempt(run: _Run, program: "Program", problems: str = "") -> tuple[Outcome, float | None]:
    """Run one child to its end: it drafts, or corrects `problems`.

    Returns its outcome, and the epoch second at which the account's usage limit resets if that
    limit ended the run.
    """
    from preread.builders import command, faults
    from preread.builders.stream import Transcript

    services, order = run.services, run.order
    settings = services.settings
    limits: dict[str, float] = {"max_usd": run.usd_for_drafts}
    if problems:
        turns = max(1, round(RESERVED * settings.max_turns))
        limits = {"max_usd": run.usd_left, "max_turns": turns}
    services = replace(services, settings=settings.model_copy(update=limits))
    begun = time.monotonic()
    with ExitStack() as stack:
        try:
            files = command.prepare(services, program, order.staging, os.urandom(8).hex())
            prepared = stack.enter_context(files)
        except PrereadError as error:
            return _unprepared(program, error), None
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
                _converse(run, child, transcript, problems)
            except BaseException:
                # Record the cost now: this process may be killed before the child has ended.
                order.spent(_usage(transcript, begun).model_copy(update={"cost_usd": None}))
                raise
    outcome = _outcome(run, program, prepared, transcript, child.ended, begun)
    order.spent(outcome)
    return outcome, transcript.limit_resets_at


def _unprepared(program: "Program", error: PrereadError) -> Outcome:
    """The outcome of a child that was not started: its temporary files could not be written."""
    if error.code != "E_WRITE":
        raise error
    hint = "Free some disk space there or set TMPDIR, then call again."
    fault = Fault(code=error.code, reason=error.message.rstrip("."), hint=hint)
    return Outcome(version=program.text, fault=fault)


def _outcome(
    run: _Run,
    program: "Program",
    prepared: "Prepared",
    transcript: "Transcript",
    ended: "Ended",
    begun: float,
) -> Outcome:
    from preread.builders import faults
    from preread.infra.secrets import Credentials

    prompt = run.order.prompt().encode("utf-8", "surrogatepass")
    stderr = ended.err.decode("utf-8", "replace")
    return _usage(transcript, begun).model_copy(
        update={
            "version": transcript.version or program.text,
            "denials": tuple(transcript.denials),
            "prompt": hashlib.sha256(prompt).hexdigest()[:16],
            "stderr": Credentials(run.services.layout.root).without(stderr),
            "sent_back": run.sent_back,
            "fault": faults.of_run(transcript, ended),
            "warnings": (*prepared.warnings, *faults.server_warnings(transcript)),
            "external": tuple(transcript.external),
        }
    )


def _usage(transcript: "Transcript", begun: float) -> Outcome:
    """What a child has used so far."""
    return Outcome(
        model=transcript.model,
        turns=transcript.turns,
        tokens=transcript.tokens,
        cost_usd=transcript.cost_usd,
        seconds=round(time.monotonic() - begun, 3),
    )


def _converse(run: _Run, child: "Child", transcript: "Transcript", problems: str) -> None:
    """Send the prompt, follow the run, and send drafts that fail the check back once."""
    from preread.builders import faults

    child.send(message(problems or run.order.prompt()))
    reviewed, closed = bool(problems), False
    for line in child.lines():
        progress = transcript.feed(line)
        if fault := faults.of_delay(transcript):
            run.delay(fault)
        if progress:
            run.say(progress)
        if not closed and faults.is_hopeless(transcript):
            closed = True
            child.close_input(within=0)  # ends it at once; its last message reports the cost
        if not transcript.done or closed:
            continue
        problems = "" if reviewed else _review(run, transcript)
        if problems:
            reviewed = run.sent_back = True
            run.say("sending the drafts back to be corrected")
            transcript.message_sent()
            child.send(message(problems))
        else:
            closed = True
            child.close_input(within=EXIT_SECONDS)


def _review(run: _Run, transcript: "Transcript") -> str:
    """The message that asks for corrections in the same run; empty if there is nothing to send.

    Sets `run.needs_another` if only another run can correct the drafts.
    """
    if transcript.failed:
        run.needs_another = bool(transcript.result and transcript.result["subtype"] in USED_UP)
        return ""
    run.needs_another = not run.is_enough(run.usd_for_drafts - (transcript.cost_usd or 0.0))
    if run.needs_another or run.is_late:
        return ""
    earlier = (text for attempt in run.attempts for text in attempt.external)
    return run.order.review((*earlier, *transcript.external), in_own_run=False)


def _correction_prompt(run: _Run) -> str:
    """The prompt for corrections in another run; empty if none is needed or possible."""
    is_possible = run.needs_another and not run.is_late and run.is_enough(run.usd_left)
    if not is_possible or not any(run.order.staging.glob("*.md")):
        return ""
    external = (text for attempt in run.attempts for text in attempt.external)
    return run.order.review(external, in_own_run=True)


def message(text: str) -> bytes:
    """One user message, in the form that `--input-format stream-json` takes."""
    content = [{"type": "text", "text": text}]
    data = {"type": "user", "message": {"role": "user", "content": content}}
    return json.dumps(data).encode() + b"\n"


def _wait(run: _Run, seconds: float, fault: Fault) -> None:
    until, shown = time.monotonic() + seconds, ""
    while (left := until - time.monotonic()) > 0:
        message = f"{fault.reason}; trying again in {left:.0f} s"
        if message != shown:
            shown = message
            run.say(message)
        run.services.progress.check()
        time.sleep(min(POLL_SECONDS, left))


def _combined(attempts: list[Outcome]) -> Outcome:
    """The last attempt's outcome, with the usage of all attempts added up."""
    last = attempts[-1]
    if len(attempts) == 1:
        return last
    tokens = Counter[str]()
    for attempt in attempts:
        tokens.update(attempt.tokens)
    costs = [attempt.cost_usd for attempt in attempts]
    return last.model_copy(
        update={
            "turns": sum(attempt.turns for attempt in attempts),
            "tokens": dict(sorted(tokens.items())),
            "cost_usd": None if None in costs else sum(cost or 0.0 for cost in costs),
            "seconds": round(sum(attempt.seconds for attempt in attempts), 3),
            "external": tuple(chain.from_iterable(attempt.external for attempt in attempts)),
            "denials": tuple(chain.from_iterable(attempt.denials for attempt in attempts)),
        }
    )
