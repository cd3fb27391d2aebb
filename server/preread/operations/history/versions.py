"""What a dossier said at some time: from the history of its facts, from backups, from git."""

import re
import time
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from preread import backups
from preread.dossier import fact_history, published
from preread.dossier.fact_changes import Facts
from preread.dossier.fact_history import Event
from preread.dossier.published import Published
from preread.errors import PrereadError
from preread.layout import BY_NAME
from preread.operations.published_dossier import PublishedDossier
from preread.project import git
from preread.services import Services

UNITS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
MAX_COMMITS = 50


class Version(NamedTuple):
    """A dossier's facts at some time, and where they were found."""

    at: float
    facts: Facts
    label: str


def of_now(services: Services, found: PublishedDossier) -> tuple[Facts, list[Event]]:
    """A published dossier's facts, and the events that led to them."""
    now = Published(found.manifest, found.texts, found.edited)
    past = fact_history.events_and_edits(services.layout, found.feature, now)
    return fact_history.facts_in(found.texts, found.feature), past


class When(NamedTuple):
    """A time in epoch seconds, and the commit whose time it is."""

    at: float
    commit: str = ""


def time_of(services: Services, since: str) -> When:
    """The time that `2h`, a date or a git revision refers to. Raises E_USAGE."""
    if match := re.fullmatch(r"(\d+(?:\.\d+)?) ?(s|m|min|h|d|w)", since):
        return When(time.time() - float(match[1]) * UNITS[match[2]])
    try:
        return When(datetime.fromisoformat(since).timestamp())
    except ValueError:
        pass
    command = ("log", "-1", "--format=%ct %H", "--end-of-options", since, "--")
    done = services.tree.git(*command)
    at, _, commit = done.out.decode("ascii", "replace").strip().partition(" ")
    if done.status == 0 and at.isdigit():
        return When(float(at), commit)
    is_unknown = b"bad revision" in done.err or not services.tree.is_git
    why = git.failure(command, done, git.SECONDS, must=not is_unknown)
    raise PrereadError(
        "E_USAGE",
        f"{since[:60]!a} is not a time span, a date or a commit{f' ({why})' if why else ''}.",
        "Like 30m, 2h, 3d, 2026-11-20, HEAD~3.",
    )


def before(services: Services, feature: str, past: list[Event], when: When) -> Version:
    """The dossier's facts at a time; the oldest known version if none is that old.

    A dossier that was first built after a commit, but of it, counts as that commit's.
    """
    at, first = when.at, past[0] if past else None
    is_of_commit = first is not None and first.commit and when.commit.startswith(first.commit)
    earlier = [event for event in past if event.at <= at]
    if earlier:
        facts = fact_history.facts_after(earlier)
        return Version(earlier[-1].at, facts, earlier[-1].how)
    # Commits of one second, as a rebase makes them, stay in git's order, the latest first.
    found = sorted(_others(services, feature), key=lambda one: -one.at)
    fitting = (one for one in found if one.at <= at)
    if (latest := next(fitting, None)) is not None:
        return latest
    if found and (not past or found[-1].at < past[0].at):
        return found[-1]
    if first is not None and is_of_commit:
        return Version(first.at, fact_history.facts_after([first]), first.how)
    return Version(past[0].at, {}, "before its first build") if past else Version(at, {}, "")


def _others(services: Services, feature: str) -> Iterator[Version]:
    """The versions in backups and in git, the latest of each first."""
    layout, folder = services.layout, services.layout.dossier(feature)
    for backup in backups.list_all(layout):
        copies = backups.copies(layout, backup)
        texts = {
            path.name: published.text_of(data)
            for path, data in copies.items()
            if path.parent == folder and path.name in BY_NAME
        }
        if len(texts) > 1:  # a single file is no version of the dossier
            yield Version(backup.at, fact_history.facts_in(texts, feature), f"backup {backup.id}")
    if services.tree.is_git:
        yield from _committed(services, feature)


def _committed(services: Services, feature: str) -> Iterator[Version]:
    tree, folder = services.tree, services.layout.relative(services.layout.dossier(feature))
    done = tree.git("log", f"-{MAX_COMMITS}", "--format=%H %ct", "--", folder)
    for line in done.out.decode().splitlines() if done.status == 0 else ():
        commit, _, at = line.partition(" ")
        texts = {}
        for name in BY_NAME:
            shown = tree.git("show", f"{commit}:./{folder}/{name}")
            if shown.status == 0:
                texts[name] = published.text_of(shown.out)
        yield Version(float(at), fact_history.facts_in(texts, feature), f"commit {commit[:12]}")
