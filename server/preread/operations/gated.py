"""`gated`: which files the gates cover, and what they blocked."""

import json
from collections.abc import Iterator
from contextlib import suppress

from pydantic import Field, ValidationError

from preread.gates import blocks, dossiers, rules, run_records
from preread.infra.reading import plain_bytes
from preread.models import Model
from preread.operations import gates, hooks
from preread.operations.registry import Operation, RequestModel, threaded
from preread.services import Services


class GatedRequest(RequestModel):
    """How much to list."""

    limit: int = Field(50, ge=1, le=5000, description="The maximum number of blocked calls.")


class GatedFile(Model):
    """An existing file that a rule covers."""

    path: str
    rule: str
    feature: str = Field(description="The feature whose dossier its writers need.")
    is_ready: bool = Field(description="Whether that dossier is there.")
    is_stale: bool = Field(description="Whether it is there, but known to be stale.")


class GateRule(Model):
    """A line of `.project/gates`; the first that matches a file wins."""

    line: int
    rule: str
    gates: bool = Field(description="False for one that exempts files.")
    files: int = Field(description="How many existing files it decides about.")


class Blocked(Model):
    """A call that was blocked."""

    at: float = Field(description="In epoch seconds.")
    tool: str
    what: str = Field(description="The file or agent; empty for a command.")
    why: str


class GatedReply(Model):
    """What is gated here."""

    says: tuple[str, ...] = Field(description="Sentences: whether the gates are on, and why.")
    rules: tuple[GateRule, ...]
    files: tuple[GatedFile, ...]
    blocked: tuple[Blocked, ...] = Field(description="The latest first.")


def _gated(services: Services, request: GatedRequest) -> GatedReply:
    layout = services.layout
    here = hooks.explain(services, str(layout.gates), layout.root)
    found = rules.Rules()
    with suppress(rules.Broken):  # `says` has it
        found = rules.read(str(layout.root)) or found
    files, counts = [], dict.fromkeys([rule.line for rule in found.rules], 0)
    for path in services.tree.files:
        rule, captured = found.find(path)
        if rule is None:
            continue
        counts[rule.line] += 1
        if rule.gates:
            feature = found.served_by(rules.feature_for(rule, captured))
            files.append(_file(services, path, rule.text, feature))
    return GatedReply(
        says=tuple(gates.state(here)),
        rules=tuple(
            GateRule(line=one.line, rule=one.text, gates=one.gates, files=counts[one.line])
            for one in found.rules
        ),
        files=tuple(files),
        blocked=tuple(list(_blocked(services))[: -request.limit - 1 : -1]),
    )


def _file(services: Services, path: str, rule: str, feature: str) -> GatedFile:
    root = str(services.layout.root)
    return GatedFile(
        path=path,
        rule=rule,
        feature=feature,
        is_ready=not dossiers.problem(root, feature),
        is_stale=dossiers.is_stale(root, feature),
    )


def _blocked(services: Services) -> Iterator[Blocked]:
    path = services.layout.root / run_records.path_of("", blocks.NAME)
    for line in (plain_bytes(path) or b"").split(b"\n"):
        with suppress(ValueError, ValidationError):  # a line that a killed hook left
            yield Blocked.model_validate(json.loads(line))


OPERATION = Operation(
    name="config.gated",
    request=GatedRequest,
    reply=GatedReply,
    effect="read",
    doc="List the files that the gates cover, and the calls that they blocked, with the reasons.",
    example="preread call config.gated",
    run=threaded(_gated),
    pages="files",
)
