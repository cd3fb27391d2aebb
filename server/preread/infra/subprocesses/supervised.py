"""A program under its supervisor: the POSIX way to run a child that leaves nothing behind."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from preread.infra.subprocesses import supervisor
from preread.infra.subprocesses.pipes import Pipes

MARKER = "PREREAD_CHILD"  # in the environment of everything that descends from one run
ENDING = 1.0  # seconds for a supervisor that was killed, or says that it ends, to be gone


class Supervised(Pipes):
    """A running program. `ask` ends it politely, in at most 7.5 s; `force` at once."""

    def __init__(
        self, argv: Sequence[str], cwd: Path, environ: Mapping[str, str], scratch: Path | None
    ) -> None:
        """Raises OSError or ValueError when not even the supervisor can be started."""
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
        """The program's status as a shell has it (128 + n for a signal), once nothing of it is left."""
        if self.hung_up and self._process.returncode is None:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(ENDING)
        code = self._process.poll()
        if code is not None and code < 0 and not self._swept:
            self._swept = True  # somebody killed the supervisor: its work is ours
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
