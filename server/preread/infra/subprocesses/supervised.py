"""Run a program under a supervisor process: on POSIX, so that it leaves nothing behind."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from preread.infra.subprocesses import supervisor
from preread.infra.subprocesses.pipes import Pipes

MARKER = "PREREAD_CHILD"  # environment variable of all descendants of one run
ENDING = 1.0  # seconds that a killed or ending supervisor may take to exit


class Supervised(Pipes):
    """A running program. `ask` ends it gracefully, within 7.5 s; `force` kills it."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], scratch: Path | None
    ) -> None:
        """Start it; raises OSError or ValueError when the supervisor cannot be started."""
        run = os.urandom(16).hex()
        self._marker = f"{MARKER}={run}".encode()
        heard, self._lifeline = os.pipe()
        place, locale = str(scratch.absolute()) if scratch else "", environ.get("LC_CTYPE", "")
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, str(heard), place, locale, *argv],
                cwd=cwd,
                env={**environ, MARKER: run},
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=(heard,),
            )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(heard)
        super().__init__(self._process, self._lifeline)
        self._swept = False

    def status(self) -> int | None:
        """The shell-style status (128 + n for a signal), once the whole tree has ended."""
        if self.hung_up and self._process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(ENDING)
        code = self._process.poll()
        if code is not None and code < 0 and not self._swept:
            self._swept = True  # the supervisor was killed, so do its work
            supervisor.sweep_marked(self._marker, ENDING)
        return code if code is None or code >= 0 else 128 - code

    def ask(self) -> None:
        with suppress(BrokenPipeError):
            os.write(self._lifeline, b".")

    def force(self) -> None:
        self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(ENDING)
        self.status()

    def close(self) -> None:
        super().close()
        os.close(self._lifeline)
