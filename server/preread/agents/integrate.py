"""Merge one agent's work: exactly the state that passed the project's own tests."""

import threading

from preread.agents import project_tests
from preread.agents.budget import Budget
from preread.agents.project_tests import Suite
from preread.errors import PrereadError
from preread.services import Services
from preread.worktrees import merging, records, repair
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, failed


def integrate(
    services: Services,
    repository: Repository,
    record: Record,
    suite: Suite,
    budget: Budget,
    reading: threading.Lock,
) -> tuple[str, str]:
    """Merge the work if its tests pass; returns the base's new commit and the tests' last output.

    New commits of the base are merged into the worktree before the tests, so that they run on the
    result. Call from one thread at a time. Raises E_WORKTREE for conflicts and E_AGENT for failing
    tests; the worktree is then clean, and the base unchanged.
    """
    repair.clean(repository, record.name)  # tests that were killed may have left files
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
        ran = project_tests.run(services, suite, root, budget.need_time())
        budget.need_time()
    finally:  # files that tests leave behind are not part of the work
        kept = repository.uncancelled()
        kept.run("reset", "-q", "--hard", updated.commit, at=path)
        kept.run("clean", "-q", "-f", "-d", at=path)
    if ran.failure:
        raise PrereadError("E_AGENT", f"The tests failed: {ran.failure}", "", {"stage": "tests"})
    with reading:  # nobody reads the base's files while they change
        merged = merging.start(repository, record.name, "ff")
    return merged.commit, ran.output
