"""Run git so that a repository's own settings cannot run programs or reach the network."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from preread.infra.subprocesses import Done, Runner

SECONDS = 20.0  # default timeout
COMMAND = (
    "git", "--no-pager", "--literal-pathspecs",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false", "-c", "core.quotePath=false", "-c", "protocol.allow=never",
    "-c", "core.attributesFile=/dev/null",
)  # fmt: skip
ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1",
    "GIT_PAGER": "cat", "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C.UTF-8",
}  # fmt: skip


def run(
    runner: Runner,
    root: Path,
    arguments: Sequence[str],
    environ: Mapping[str, str],
    timeout: float,
    check: Callable[[], None],
) -> Done:
    """Run git in `root`; `check` may raise to cancel it."""
    own = {key: value for key, value in environ.items() if not key.startswith("GIT_")}
    command = [*COMMAND, *arguments]
    return runner(command, cwd=root, timeout=timeout, environ=own | ENVIRON, check=check)
