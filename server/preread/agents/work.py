"""Run one agent in one worktree, locked for it."""

from pathlib import Path
from typing import NamedTuple

from preread.agents import kinds, run
from preread.agents.answers import Answer
from preread.agents.order import DOSSIER
from preread.agents.run import AgentResult
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.services import Services
from preread.worktrees import listing, records, removal
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository

MAX_TEXT = 100_000
MAX_SUBJECT = 72


class Job(NamedTuple):
    """What an agent is asked to do."""

    kind: str
    text: str  # the prompt
    subject: str  # of the commit of its work
    feature: str
    seconds: float
    form: type[Answer] | None = None


def do(services: Services, repository: Repository, record: Record, job: Job) -> AgentResult:
    """Run an agent; if its kind may write, commit its work. Raises like `run.run`."""
    layout = repository.layout
    root = records.path_of(repository, record.name) / repository.prefix
    edits = kinds.edits(job.kind)
    with repository.at_work(listing.work_lock(layout, record.name)):
        # It stays in the record: the lock says whether the agent is at work.
        records.write(layout, record.model_copy(update={"agent": job.kind}))
        ended = run.run(
            services, job.kind, root, job.text,
            seconds=job.seconds, feature=job.feature, form=job.form, edits=edits,
        )  # fmt: skip
        if edits:
            commit(repository, record, f"{job.kind}: {job.subject}")
    return ended


def known(layout: Layout, feature: str, dossier: str) -> dict[str, str]:
    """The texts that every agent gets besides its task, by title."""
    return {
        DOSSIER: dossier,
        "What the project knows": _text(layout.knowledge),
        "What this person keeps about it": _text(layout.personal_knowledge),
        "The run log": _text(layout.run_log(feature)),
    }


def leave(repository: Repository, record: Record) -> None:
    """Remove a worktree unless it contains work that exists nowhere else."""
    removal.remove_unchanged(repository.uncancelled(), record.name)


def commit(repository: Repository, record: Record, subject: str) -> None:
    """Commit what is in a worktree, so that it can be merged."""
    path = records.path_of(repository, record.name)
    if listing.changes(repository, path):
        line = " ".join(subject.split())[:MAX_SUBJECT]
        repository.run("add", "-A", at=path)
        repository.run("commit", "-q", "--no-verify", "-m", line, at=path)


def _text(path: Path) -> str:
    return (plain_bytes(path, MAX_TEXT) or b"").decode("utf-8", "replace")
