"""`trace`: the chain that led to a fact: commits, calls, builds and edits, in order of time."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from preread.dossier import sources
from preread.errors import PrereadError
from preread.models import Model
from preread.names import feature_name
from preread.operations.history import blame
from preread.operations.history.blame import Blamed
from preread.operations.registry import Operation, RequestModel, threaded
from preread.records import audit
from preread.services import Services

CALLS = ("context.load", "context.extend", "context.wrong", "integrity.restore")
MEMORY = "memory."


class TraceRequest(RequestModel):
    """Which fact."""

    fact: str = Field(min_length=1, description="The fact's id, or its exact text.")


class Step(Model):
    """One link of the chain."""

    kind: Literal["commit", "call", "build", "edit", "memory", "source"]
    at: float | None = Field(description="In epoch seconds; null if that is not known.")
    id: str = Field("", description="The commit, or the call's id in the audit log.")
    text: str
    by: str = ""


class TraceReply(Model):
    """The chain, the oldest link first."""

    fact: Blamed
    steps: tuple[Step, ...]


def _trace(services: Services, request: TraceRequest) -> TraceReply:
    fact = blame.blamed(services, request.fact)[0]
    steps = [*_sources(services, fact), *_calls(services, fact), *_origins(fact)]
    return TraceReply(fact=fact, steps=tuple(sorted(steps, key=lambda step: step.at or 0.0)))


def _sources(services: Services, fact: Blamed) -> Iterator[Step]:
    """The fact's sources, and the commits that their lines come from."""
    seen: set[str] = set()
    for source in fact.sources:
        services.progress.check()
        ref = sources.parse(source)
        if ref is not None and ref.kind == "lines":
            for commit in blame.commits_of(services, ref.path, ref.start, ref.end):
                if commit.sha not in seen:
                    seen.add(commit.sha)
                    text = f"{commit.summary} ({source})"
                    yield Step(kind="commit", at=commit.at, id=commit.sha, text=text, by=commit.by)
        elif ref is not None and ref.kind == "commit":
            yield _commit(services, ref.name)
        else:
            yield Step(kind="source", at=None, text=source)


def _commit(services: Services, name: str) -> Step:
    done = services.tree.git("log", "-1", "--format=%ct%x00%an%x00%s", name, "--")
    fields = done.out.decode("utf-8", "replace").strip().split("\0")
    if done.status != 0 or len(fields) != 3:
        return Step(kind="source", at=None, text=f"commit:{name}")
    return Step(kind="commit", at=float(fields[0]), id=name, text=fields[2], by=fields[1])


def _calls(services: Services, fact: Blamed) -> Iterator[Step]:
    """The calls that built, refreshed or changed the dossier or memory with the fact."""
    for entry in audit.entries(services.layout):
        if _concerns(entry, fact):
            text = f"{entry.method} ({entry.outcome})"
            yield Step(kind="call", at=entry.time, id=entry.id, text=text, by=entry.by)


def _concerns(entry: audit.Entry, fact: Blamed) -> bool:
    if not fact.feature:
        said = {value for value in entry.params.values() if isinstance(value, str)}
        return entry.method.startswith(MEMORY) and bool(said & {fact.id, fact.text})
    if entry.method not in CALLS:
        return False
    try:
        return feature_name(str(entry.params.get("feature", ""))) == fact.feature
    except PrereadError:
        return fact.id in entry.params.values()


def _origins(fact: Blamed) -> Iterator[Step]:
    kinds: dict[str, Literal["edit", "memory", "commit"]] = {
        "edited": "edit", "remembered": "memory", "committed": "commit",
        "checked out": "commit", "merged": "commit",
    }  # fmt: skip
    for one in fact.origins:
        text = f"{one.how}: {one.kind}" + (f" ({one.why})" if one.why else "")
        kind = kinds.get(one.how, "build")
        yield Step(kind=kind, at=one.at, id=one.commit, text=text, by=one.by)


OPERATION = Operation(
    name="history.trace",
    request=TraceRequest,
    reply=TraceReply,
    effect="read",
    doc="Show the chain that led to a fact: commits, calls, builds and edits, the oldest first.",
    example="preread trace 3f9a01bc",
    run=threaded(_trace),
    command="trace",
    positional=("fact",),
)
