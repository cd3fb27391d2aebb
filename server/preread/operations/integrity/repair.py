"""`repair`: rebuild what is derived, set aside what is damaged; what people wrote stays."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import Field

from preread import backups
from preread.builds import feature_lock
from preread.layout import Layout
from preread.models import Model
from preread.operations.integrity import check, damage
from preread.operations.integrity.check import DamageFound
from preread.operations.integrity.damage import Damage
from preread.operations.registry import (
    Context,
    NothingRequest,
    Operation,
    Preview,
    in_thread,
)
from preread.services import Services

MAX_ROUNDS = 4  # one repair can reveal more damage


class RepairReply(Model):
    """What was repaired, and what a person has to fix."""

    ok: bool = Field(description="Whether nothing is wrong any more.")
    repaired: tuple[DamageFound, ...]
    left: tuple[DamageFound, ...]
    backups: tuple[str, ...] = Field((), description="Ids of the copies that were made first.")
    next: str


async def repair(context: Context, _: NothingRequest) -> RepairReply:
    services = context.services()
    services.layout.guard()
    done: list[DamageFound] = []
    copies: list[str] = []
    for feature in check.features(services.layout):
        services.layout.guard(feature)
        async with feature_lock.hold(services, feature):
            found = await in_thread(context, services, _repair_feature, feature, copies)
        done += found
    done += await in_thread(context, services, _repair_project, copies)
    left = (await in_thread(context, context.services(), check.look)).problems
    return RepairReply(
        ok=not left,
        repaired=tuple(done),
        left=left,
        backups=tuple(copies),
        next=f"To undo it: `preread restore {copies[-1]}`" if copies else "",
    )


async def preview(context: Context, _: NothingRequest) -> Preview:
    found = await in_thread(context, context.services(), check.look)
    notes = [f"{one.path}: {one.message}: {one.fix or 'left to you'}" for one in found.problems]
    return Preview(notes=tuple(notes))


def _repair_feature(services: Services, feature: str, copies: list[str]) -> list[DamageFound]:
    done: list[DamageFound] = []
    for _ in range(MAX_ROUNDS):
        found = _repaired(services.layout, damage.of_feature(services, feature), copies)
        done += found
        if not found:
            break
    return done


def _repair_project(services: Services, copies: list[str]) -> list[DamageFound]:
    return _repaired(services.layout, damage.of_project(services), copies)


def _repaired(layout: Layout, damages: Iterable[Damage], copies: list[str]) -> list[DamageFound]:
    """Back up and repair everything that can be repaired, one by one."""
    done = []
    for one in list(damages):
        if one.repair is None:
            continue
        if id_ := _backed_up(layout, one.changes):
            copies.append(id_)
        one.repair()
        done.append(check.found(layout, one))
    return done


def _backed_up(layout: Layout, paths: tuple[Path, ...]) -> str:
    return backups.keep(layout, "repair", paths) if paths else ""


OPERATION = Operation(
    name="integrity.repair",
    request=NothingRequest,
    reply=RepairReply,
    effect="write",
    doc="Rebuild derived data and set damaged files aside; what people wrote stays.",
    example="preread repair",
    run=repair,
    preview=preview,
    command="repair",
)
