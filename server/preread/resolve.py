"""Resolve: where the project is, and what exactly is asked for."""

from pathlib import Path

from preread.errors import PrereadError
from preread.layout import Layout, feature_name, ticket_name
from preread.models import LEVELS, Request
from preread.services import Services
from preread.settings import Level

MAX_DESCRIPTION = 4000


def find_root(start: Path) -> Path:
    """The nearest ancestor of `start` that holds a `.project` folder or `.git`, else `start` itself; a real path."""
    try:
        start = start.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise PrereadError(
            "E_PROJECT_DIR",
            f"{start} cannot be opened: {error}.",
            "Name a folder with --project DIR.",
        ) from error
    if not start.is_dir():
        raise PrereadError(
            "E_PROJECT_DIR", f"{start} is not a folder.", "Name a folder with --project DIR."
        )
    for folder in (start, *start.parents):
        if (folder / ".project").is_dir() or (folder / ".git").exists():
            return folder
    return start


def open_layout(start: Path) -> Layout:
    """The layout of the project around `start`, its own folders checked to lie inside it."""
    layout = Layout(find_root(start))
    layout.guard()
    return layout


def resolve(
    services: Services,
    *,
    feature: str,
    ticket: str | None = None,
    description: str | None = None,
    scope: str | None = None,
    level: str | None = None,
    force: bool = False,
    headless: bool = False,
) -> Request:
    """The request, names checked and level resolved: `headless` says whether a model can be run here.

    Raises E_FEATURE_NAME, E_TICKET_NAME, E_SCOPE, E_USAGE.
    """
    name = feature_name(feature)
    services.layout.guard(name)
    words = " ".join((description or "").split())
    if len(words) > MAX_DESCRIPTION:
        raise PrereadError(
            "E_USAGE",
            f"The description has {len(words)} characters; at most {MAX_DESCRIPTION} are read.",
        )
    asked = level or services.settings.level
    resolved = resolved_level(asked, headless=headless, ticket=bool(ticket))
    return Request(
        feature=name,
        ticket=ticket_name(ticket) if ticket else "",
        description=words,
        scope=_scope(services, scope),
        level=resolved,
        auto=asked == "auto" and resolved == "standard",
        force=force,
    )


def _scope(services: Services, asked: str | None) -> str:
    if not asked:
        return ""
    from preread.project.packages import scope_of

    return scope_of(services.tree, asked)


def resolved_level(asked: str, *, headless: bool, ticket: bool) -> Level:
    """`auto` is light where no model can be run, full with a ticket, else standard (a build may still raise it)."""
    if asked in LEVELS:
        return LEVELS[LEVELS.index(asked)]
    return "light" if not headless else "full" if ticket else "standard"
