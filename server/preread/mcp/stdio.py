"""One server process over stdio: claims the standard streams, handles signals, runs the server."""

import os
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from preread.mcp.shutdown import Shutdown, leave


def claim_standard_streams() -> tuple[int, int]:
    """The connection's descriptors, taken away from everything else in this process.

    Other readers find an empty standard input; other output goes to standard error.
    """
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

    The project is the one around `start`, else around CLAUDE_PROJECT_DIR, else around the working
    directory.
    """
    shutdown = Shutdown()
    shutdown.handle((signal.SIGINT, signal.SIGTERM))
    wire = claim_standard_streams()
    import anyio

    from preread.mcp.server import serve

    folder = (start or Path(environ.get("CLAUDE_PROJECT_DIR") or ".")).absolute()
    anyio.run(serve, folder, environ, wire, shutdown)
    leave(shutdown.status or 0)
