"""What a coordinated run tried, decided and learned, for the run log and for memory."""

from collections.abc import Iterator
from typing import NamedTuple

from preread.agents.order import Order, Result
from preread.builders import untrusted
from preread.gates import run_log
from preread.infra import atomic
from preread.services import Services

WIDTH = 300  # characters of a line


class Lesson(NamedTuple):
    """A sentence to keep; it replaces the one on the same topic."""

    text: str
    topic: str
    is_decision: bool


def lessons(order: Order, result: Result) -> Iterator[Lesson]:
    """What the agents decided and learned."""
    for name, state in result.run_state.tasks.items():
        topic = f"{order.id} {name}"
        report = state.report
        if report is None or not state.merged:
            continue
        for number, text in enumerate(report.decided):
            yield Lesson(_line(text), f"{topic} decision {number}", is_decision=True)
        for number, text in enumerate(report.learned):
            yield Lesson(_line(text), f"{topic} lesson {number}", is_decision=False)


def failures(order: Order, result: Result) -> Iterator[Lesson]:
    """Lessons from failed tasks; a later merge of the same task replaces its lesson."""
    for failure in result.all_failures():
        if failure.stage != "waiting":
            text = f"{order.id}: {failure.task} failed in {failure.stage}: {failure.reason}"
            yield Lesson(_line(text), f"{order.id} {failure.task}", is_decision=False)
    for name, state in result.run_state.tasks.items():
        if state.merged and state.failures:
            text = f"{order.id}: {name} was merged after it had failed in {state.failures[-1]}"
            yield Lesson(_line(text), f"{order.id} {name}", is_decision=False)


def write_log(services: Services, order: Order, result: Result) -> None:
    """Add the result of each task to the feature's run log. Raises E_WRITE."""
    lines = [f"coordinator {order.id}: {order.task}"]
    for name, state in result.run_state.tasks.items():
        if state.merged and name not in result.merged_before:
            said = state.report.summary if state.report else ""
            lines.append(f"{order.id} {name}: merged as {state.merged[:10]}: {said}")
    lines += [
        f"{order.id} {failure.task}: failed in {failure.stage}: {failure.reason}"
        for failure in result.all_failures()
    ]
    safe = [services.credentials.without(_line(line)) for line in lines]
    with atomic.write_errors(services.layout.run_log(order.feature)):
        run_log.add_notes(str(services.layout.root), order.feature, safe)


def _line(text: str) -> str:
    return untrusted.clean(text, WIDTH)
