"""Merge one agent's work: only as the project's own tests have seen it."""

import threading

from preread.agents import project_tests
from preread.agents.project_tests import Suite
from preread.agents.purse import Purse
from preread.errors import PrereadError
from preread.services import Services
from preread.worktrees import merging, records
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed


def integrate(
    services: Services,
    repository: Repository,
    record: Record,
    suite: Suite,
    purse: Purse,
    reading: threading.Lock,
) -> tuple[str, str]:
    """The base's commit with the work in it, and what the tests said. Only one caller at a time.

    What is tested is what is merged: the base's own news are merged into the worktree first.
    Raises E_WORKTREE for conflicts and E_AGENT for tests that fail; the worktree is then clean, and
    the base as it was.
    """
    updated = merging.update(repository, record.name)
    if updated.conflicts:
        paths = ", ".join(one["path"] for one in updated.conflicts)
        raise failed(
            f"It conflicts with {records.short(record.base)} in {paths[:300]}.",
            f"Look at it and merge it: `preread worktree merge {record.name}`",
            stage="merge",
            conflicts=list(updated.conflicts),
        )
    path = records.path_of(repository, record.name)
    root = path / repository.prefix
    try:
        ran = project_tests.run(services, suite, root, purse.need_time())
        purse.need_time()
    finally:  # what tests leave behind is no part of the work
        kept = repository.uncancelled()
        kept.run("reset", "-q", "--hard", updated.commit, at=path)
        kept.run("clean", "-q", "-f", "-d", at=path)
    if ran.failure:
        raise PrereadError("E_AGENT", f"The tests failed: {ran.failure}", "", {"stage": "tests"})
    with reading:  # nobody reads the base's files while they change
        merged = merging.start(repository, record.name, "ff")
    return merged.commit, ran.said
