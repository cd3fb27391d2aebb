"""The audit log: one line for each call of an operation that may have changed something.

Each line is a JSON object with the fields of `Entry`. Other lines are ignored.
"""

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

from pydantic import Field, ValidationError

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.reading import plain_bytes
from preread.infra.secrets import Credentials
from preread.layout import Layout
from preread.models import Model

MAX_TEXT = 2000  # characters of one value, so that a line stays small
CUT = "…"


class Entry(Model):
    """One call: what it requested, who made it, and how it ended."""

    id: str
    time: float = Field(description="When it ended, in epoch seconds.")
    method: str
    params: dict[str, Any]
    by: str = Field(description="`person`, or the name of an agent's client.")
    outcome: str = Field(description="`ok`, or the code of its error.")
    duration_ms: float
    whole: bool = Field(
        True, description="Whether `params` are complete: nothing was cut, and no secret hidden."
    )


def new_id() -> str:
    """A unique id for a call."""
    return uuid.uuid4().hex[:12]


def add(
    layout: Layout, method: str, params: dict[str, Any], by: str, outcome: str, seconds: float
) -> Entry:
    """Record a call. Secrets are replaced, and long texts cut. Raises E_WRITE."""
    credentials = Credentials(layout.root)

    def safe(value: Any) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, str):
            hidden = credentials.hidden(value)
            return hidden if len(hidden) <= MAX_TEXT else hidden[:MAX_TEXT] + CUT
        if isinstance(value, dict):
            return {safe(key): safe(inner) for key, inner in value.items()}
        return [safe(inner) for inner in value] if isinstance(value, list) else value

    kept = safe(params)
    entry = Entry(
        id=new_id(),
        time=round(time.time(), 3),
        method=method,
        params=kept,
        by=by[:100],
        outcome=outcome,
        duration_ms=round(seconds * 1000, 1),
        whole=kept == params,
    )
    atomic.append(layout.audit, json.dumps(entry.model_dump(), ensure_ascii=True).encode())
    return entry


def entries(layout: Layout) -> Iterator[Entry]:
    """Every call in the log, oldest first. Raises E_READ."""
    for line in (plain_bytes(layout.audit) or b"").split(b"\n"):
        try:
            yield Entry.model_validate_json(line)
        except ValidationError:
            continue


def entry(layout: Layout, id_: str) -> Entry:
    """The call with this id. Raises E_NOT_FOUND."""
    for found in entries(layout):
        if found.id == id_:
            return found
    raise PrereadError(
        "E_NOT_FOUND", f"No call in the log has the id {id_[:40]!a}.", "List them: `preread log`"
    )
