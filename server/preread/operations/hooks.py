"""Asking the hooks that come with Preread: what they make of a path. They are the one engine that decides."""

import json
import sys
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from preread.errors import PrereadError
from preread.infra import assets
from preread.models import Model
from preread.services import Services

SECONDS = 10.0
Decision = Literal["block", "remark", "failure", "pass"]


class Told(Model):
    """A part of the hooks' answer; what a later version adds to it is left out."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Broken(Told):
    """What is wrong with a gates file; line 0 is all of it."""

    line: int
    why: str


class DossierFound(Told):
    """One place where the dossier is looked for."""

    project: str
    files: dict[str, str] = Field(description="`there`, `missing`, `empty` or `no file`, by name.")
    stands: bool
    building: bool
    stale: bool


class Explained(Told):
    """What the gate on files makes of one path."""

    target: str
    exists: bool
    project: str | None = Field(description="The project that decides.")
    gates: str | None = Field(description="Its gates file; none where nothing is gated.")
    broken: Broken | None
    notes: tuple[str, ...] = Field(description="Switches that are ignored, and why.")
    mode: Literal["block", "warn", "off"] | None
    mode_from: str
    off_until: float | None = Field(
        description="Epoch seconds, where the gates are off and that has an end."
    )
    own: bool = Field(description="One of the project's own files, which only people write.")
    line: int | None
    rule: str | None
    captured: str
    feature: str | None
    served_by: str | None = Field(
        description="The feature whose dossier counts: an alias is followed."
    )
    dossiers: tuple[DossierFound, ...]
    near: tuple[str, ...]
    decision: Decision
    text: str = Field(description="What the model is told.")
    person: str = Field(description="What the person is told.")


def folder() -> Path:
    """Where the hooks are. Raises E_GATES."""
    try:
        return assets.folder("hooks")
    except FileNotFoundError as error:
        raise PrereadError(
            "E_GATES", f"{error}.".capitalize(), "Run: pip install --upgrade preread"
        ) from error


def explain(services: Services, target: str, cwd: Path) -> Explained:
    """What a write of `target` would get, and why. Raises E_GATES."""
    event = json.dumps({"target": target, "cwd": str(cwd), "tool": "Write"}).encode()
    done = services.run(
        [sys.executable, "-I", "-S", "-B", str(folder() / "hook.py"), "--explain"],
        cwd=services.layout.root,
        timeout=SECONDS,
        environ=services.environ,
        check=services.progress.check,
        feed=event,
    )
    try:
        return Explained.model_validate_json(done.out)
    except ValidationError as error:
        raise PrereadError(
            "E_GATES",
            f"The hooks do not answer: {_said(done.out, done.err)}",
            "Run: preread doctor",
        ) from error


def _said(out: bytes, err: bytes) -> str:
    try:
        note = json.loads(out)["systemMessage"]
    except (ValueError, LookupError, TypeError):
        note = err.decode("utf-8", "replace").strip().rpartition("\n")[2] or "nothing was said"
    return f"{str(note)[:300]}."
