"""The records of chains of calls on documents, each named by the digest of its content."""

import hashlib
import json
from datetime import UTC, datetime
from typing import Any, NamedTuple

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.literature.network import ID


class MadeCall(NamedTuple):
    """A call that was made, with its whole result; `after` is the index of the call before it."""

    call: dict[str, Any]
    result: dict[str, Any]
    after: int | None


class Record(NamedTuple):
    """Calls and their results, and when they were first made."""

    workflow_id: str
    tool_calls: tuple[dict[str, Any], ...]
    results: tuple[dict[str, Any], ...]
    made_at: str


def keep(layout: Layout, calls: list[dict[str, Any]], results: list[dict[str, Any]]) -> str:
    """Store a record, and return its name."""
    value = {"tool_calls": calls, "results": results}
    data = json.dumps(value, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass")
    name = hashlib.sha256(data).hexdigest()[:12]
    place = layout.document_workflow(name)
    if not place.is_file():
        atomic.write(place, data)
    return name


def read(layout: Layout, name: str) -> Record:
    """A record by its name. Raises E_NOT_FOUND."""
    place = layout.real(layout.document_workflow(name)) if ID.fullmatch(name) else None
    data = plain_bytes(place) if place else None
    if place is None or data is None:
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no record {name[:40]!a}.",
            "`preread call documents.workflows` lists them.",
        )
    found = json.loads(data)
    made_at = datetime.fromtimestamp(place.stat().st_mtime, UTC).isoformat(timespec="seconds")
    return Record(name, tuple(found["tool_calls"]), tuple(found["results"]), made_at)


def listed(layout: Layout) -> list[Record]:
    """All records, the newest first."""
    names = [path.stem for path in layout.document_workflows.glob("*.json")]
    found = [read(layout, name) for name in names if ID.fullmatch(name)]
    return sorted(found, key=lambda one: (one.made_at, one.workflow_id), reverse=True)


def documents(result: dict[str, Any]) -> dict[str, str]:
    """Path -> digest of the documents that a result is about."""
    made: dict[str, str] = result.get("made", {}).get("documents", {})
    listed = {one["path"]: one["digest"] for one in result.get("documents", ()) if "digest" in one}
    return {**made, **listed}
