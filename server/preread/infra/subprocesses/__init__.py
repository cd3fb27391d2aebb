"""Run programs: each in its own session, ended with all its descendants, every wait bounded."""

from preread.infra.subprocesses.streamed import Child, Ended, Starter, child
from preread.infra.subprocesses.whole import Done, Runner, kill_tree, never, run

__all__ = ["Child", "Done", "Ended", "Runner", "Starter", "child", "kill_tree", "never", "run"]
