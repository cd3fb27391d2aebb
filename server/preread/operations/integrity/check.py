"""`integrity.check`: whether stored data is consistent: files, manifests, index, hints, records."""

from collections.abc import Iterator

from pydantic import Field

from preread.builds import feature_lock
from preread.dossier import published
from preread.layout import Layout
from preread.models import Model
from preread.operations.integrity import damage
from preread.operations.integrity.damage import Damage
from preread.operations.registry import Context, NothingRequest, Operation, in_thread
from preread.services import Services


class DamageFound(Model):
    """One thing that is damaged or inconsistent."""

    path: str
    code: str
    message: str
    fix: str = Field(description="What `repair` does about it; empty if a person has to fix it.")


class IntegrityReply(Model):
    """What is wrong; `ok` if nothing is."""

    ok: bool
    dossiers: int = Field(description="How many were checked.")
    busy: tuple[str, ...] = Field((), description="Features not checked: they are being built.")
    problems: tuple[DamageFound, ...]


async def integrity(context: Context, _: NothingRequest) -> IntegrityReply:
    return await in_thread(context, context.services(), look)


def look(services: Services) -> IntegrityReply:
    """Check everything that is stored, and change nothing."""
    services.layout.guard()
    busy: list[str] = []
    problems = [found(services.layout, one) for one in _every(services, busy)]
    return IntegrityReply(
        ok=not problems,
        dossiers=len(published.features(services.layout)),
        busy=tuple(busy),
        problems=tuple(problems),
    )


def _every(services: Services, busy: list[str]) -> Iterator[Damage]:
    for feature in features(services.layout):
        services.progress.say(f"checking {feature}")
        services.layout.guard(feature)
        with feature_lock.hold_if_free(services, feature) as is_free:
            if is_free:
                yield from damage.of_feature(services, feature)
            else:
                busy.append(feature)
    yield from damage.of_project(services)


def features(layout: Layout) -> list[str]:
    """The features with a dossier, or with leftovers of a killed build."""
    return sorted({*published.features(layout), *published.unfinished(layout)})


def found(layout: Layout, one: Damage) -> DamageFound:
    is_inside = layout.root in one.path.parents  # the index may be in the person's cache folder
    path = layout.relative(one.path) if is_inside else str(one.path)
    return DamageFound(path=path, code=one.code, message=one.message, fix=one.fix)


OPERATION = Operation(
    name="integrity.check",
    request=NothingRequest,
    reply=IntegrityReply,
    effect="read",
    doc="Check what is stored: dossiers against their manifests, index, hints, run records.",
    example="preread call integrity.check",
    run=integrity,
    pages="problems",
)
