"""Asks the hooks what they would do about a path: only they decide, so the package runs them."""

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


class HookAnswer(Model):
    """A part of the hooks' answer. Fields that a later version adds are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Broken(HookAnswer):
    """What is wrong with a gates file; line 0 means the whole file."""

    line: int
    why: str


class DossierFound(HookAnswer):
    """One place where the dossier is looked for."""

    project: str
    files: dict[str, str] = Field(description="`there`, `missing`, `empty` or `no file`, by name.")
    stands: bool
    building: bool
    stale: bool


class Explained(HookAnswer):
    """What the file gate would do about one path."""

    target: str
    exists: bool
    project: str | None = Field(description="The project that decides.")
    gates: str | None = Field(description="Its gates file; none if nothing is gated.")
    broken: Broken | None
    notes: tuple[str, ...] = Field(description="Switches that are ignored, and why.")
    mode: Literal["block", "warn", "off"] | None
    mode_from: str
    off_until: float | None = Field(
        description="Epoch seconds, if the gates are off for a limited time."
    )
    own: bool = Field(description="One of Preread's own files, which only people write.")
    line: int | None
    rule: str | None
    captured: str
    feature: str | None
    served_by: str | None = Field(
        description="The feature whose dossier counts, after following aliases."
    )
    dossiers: tuple[DossierFound, ...]
    near: tuple[str, ...]
    decision: Decision
    text: str = Field(description="The message to the model.")
    person: str = Field(description="The message to the person.")


def folder() -> Path:
    """The folder of the hooks. Raises E_GATES."""
    try:
        return assets.folder("hooks")
    except LookupError as error:
        raise PrereadError(
            "E_GATES", f"{error}.".capitalize(), "Run: pip install --upgrade preread"
        ) from error


def explain(services: Services, target: str, cwd: Path) -> Explained:
    """What would happen to a write of `target`, and why. Raises E_GATES."""
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
            f"The hooks do not answer: {_error_text(done.out, done.err)}",
            "Run: `preread doctor`",
        ) from error


def _error_text(out: bytes, err: bytes) -> str:
    try:
        note = json.loads(out)["systemMessage"]
    except (ValueError, LookupError, TypeError):
        note = err.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no message"
    return f"{str(note)[:300]}."
