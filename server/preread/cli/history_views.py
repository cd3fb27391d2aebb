"""How the history of facts looks to a person."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block, Marked
from preread.infra.plural import counted

if TYPE_CHECKING:
    from preread.operations.history.blame import BlameReply
    from preread.operations.history.diff import DiffReply
    from preread.operations.history.impact import ImpactReply
    from preread.operations.history.trace import TraceReply

SIGNS = {"added": "+", "removed": "-", "moved": ">", "changed": "~"}


def _at(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else "-"


def diff(reply: "DiffReply") -> Iterator[Block]:
    yield from (Marked("note", f": {warning}") for warning in reply.warnings)
    is_known = bool(reply.version)
    since = f"since {_at(reply.since)} ({reply.version})" if is_known else "has no earlier version"
    yield f"{reply.feature} {since}: {counted(len(reply.changes), 'change')}"
    for one in reply.changes:
        yield f"{SIGNS[one.kind]} {one.file}: {one.text} ({', '.join(one.sources)})"
        if one.before is not None:
            yield f"    was: {one.before.text} ({', '.join(one.before.sources)})"
        why = f": {one.why}" if one.why else ""
        yield f"    {', '.join(filter(None, (one.kind, one.how)))}{why}"


def impact(reply: "ImpactReply") -> Iterator[Block]:
    for one in reply.facts:
        yield f"{one.how}: {one.feature}/{one.file}: {one.text} ({one.source})"
    facts, files = counted(len(reply.facts), "fact"), counted(len(reply.paths), "file")
    yield f"{facts} of {counted(len(reply.features), 'dossier')}, {files}"


def blame(reply: "BlameReply") -> Iterator[Block]:
    yield from (Marked("note", f": {warning}") for warning in reply.warnings)
    for fact in reply.facts:
        yield f"{fact.path}:{fact.line}: {fact.text}"
        yield f"  by {fact.by}"
        if fact.retired:
            yield f"  {fact.retired}"
        for one in fact.origins:
            commit = f" at {one.commit}" if one.commit else ""
            why = f": {one.why}" if one.why else ""
            by = f" by {one.by}" if one.by else ""
            yield f"  {_at(one.at)}  {one.how}{by}{commit}, {one.kind}{why}"
            if one.before:
                yield f"      was: {one.before}"


def trace(reply: "TraceReply") -> Iterator[Block]:
    yield f"{reply.fact.path}:{reply.fact.line}: {reply.fact.text}"
    for step in reply.steps:
        by = f" by {step.by}" if step.by else ""
        yield f"  {_at(step.at)}  {step.kind} {step.id} {step.text}{by}"
