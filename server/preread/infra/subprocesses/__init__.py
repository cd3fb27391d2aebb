"""Run programs: each in its own session, ended with all its descendants, every wait bounded."""

from preread.infra.subprocesses.captured import Done, Runner, kill_tree, never, run
from preread.infra.subprocesses.streamed import Child, Ended, Starter, child

__all__ = ["Child", "Done", "Ended", "Runner", "Starter", "child", "kill_tree", "never", "run"]
