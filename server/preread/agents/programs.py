"""Run programs that a person allowed: the project's tests, the steps of a proposal."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from preread.builders import untrusted
from preread.services import Services

MAX_LINES, MAX_WIDTH = 20, 300  # of the end of its output


class ProgramResult(NamedTuple):
    """How a program ended."""

    failure: str  # why it failed; empty on success
    output: str  # the last lines of output, without secrets


def run(
    services: Services,
    words: Sequence[str],
    *,
    cwd: Path,
    environ: Mapping[str, str],
    seconds: float,
) -> ProgramResult:
    """Run a program without a shell, and end it with all its descendants. Raises Cancelled."""
    last: deque[str] = deque(maxlen=MAX_LINES)
    with services.child(
        words,
        cwd=cwd,
        environ=environ,
        deadline=time.monotonic() + seconds,
        check=services.progress.check,
    ) as child:
        child.close_input(within=seconds)
        last.extend(
            untrusted.clean(line.decode("utf-8", "replace"), MAX_WIDTH) for line in child.lines()
        )
    ended = child.ended
    errors = untrusted.clean(ended.err.decode("utf-8", "replace")[-1000:], 3 * MAX_WIDTH)
    said = services.credentials.without("\n".join(line for line in (*last, errors) if line))
    if ended.cut:
        return ProgramResult("it did not end in time", said)
    return ProgramResult(f"exit status {ended.status}" if ended.status else "", said)
