"""One server process: standard streams claimed, signals caught, then the server run until its end."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from preread.mcp.ending import Ending, leave


def claim_standard_streams() -> tuple[int, int]:
    """Descriptors of the wire. What else reads input finds none; what else prints goes to standard error."""
    wire = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # standard error is closed
        os.dup2(nothing, 1)
    os.close(nothing)
    return wire


def serve_stdio(start: Path | None, environ: Mapping[str, str]) -> NoReturn:
    """Serve until the end of input (exit status 0) or a signal (128 + its number).

    The project is looked for from `start`, else from CLAUDE_PROJECT_DIR, else from the working directory.
    """
    ending = Ending()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ending.on_signal)
    wire = claim_standard_streams()
    import anyio

    from preread.mcp.server import serve

    anyio.run(
        serve,
        (start or Path(environ.get("CLAUDE_PROJECT_DIR") or ".")).absolute(),
        environ,
        wire,
        ending,
    )
    leave(ending.status or 0)
