"""Resolve: find the project's root, and turn what a caller asked for into a valid request."""

import errno
import os
from pathlib import Path
from stat import S_ISDIR

from preread.errors import PrereadError
from preread.layout import Layout
from preread.models import LEVELS, Request
from preread.names import feature_name, ticket_name
from preread.services import Services
from preread.settings import Level

MAX_DESCRIPTION = 20_000  # characters; the rest is ignored


def find_root(start: Path) -> Path:
    """The nearest ancestor of `start` with a `.project` folder or `.git`, else `start` itself.

    Returns a real path. Raises E_PROJECT_DIR.
    """
    return find_project(start)[0]


def find_project(start: Path) -> tuple[Path, bool]:
    """What `find_root` finds, and whether that is a project. Raises E_PROJECT_DIR.

    Every call of a server asks; with pathlib, it would be half of a cached call's time.
    """
    hint = "Name a folder as the project (`--project DIR`)."
    try:
        real = os.path.realpath(start, strict=True)
        is_folder = S_ISDIR(os.stat(real).st_mode)  # noqa: PTH116
    except (OSError, ValueError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        message = f"{start} cannot be opened: {why.lower()}."
        raise PrereadError("E_PROJECT_DIR", message, hint) from error
    if not is_folder:
        raise PrereadError("E_PROJECT_DIR", f"{real} is not a folder.", hint)
    folder, above = real, ""
    while folder != above:
        if _is_project(folder):
            return Path(folder), True
        folder, above = os.path.dirname(folder), folder  # noqa: PTH120
    if real in {folder, os.path.realpath(Path.home())}:
        raise PrereadError(
            "E_PROJECT_DIR",
            f"{real} is not a project: it has no .project or .git, and contains all your files.",
            "Name the project's folder (`--project DIR`), or start the session in it.",
        )
    return Path(real), False


def is_project(folder: Path) -> bool:
    """Whether a folder is marked as a project, rather than used because no folder above is one."""
    return _is_project(str(folder))


def _is_project(folder: str) -> bool:
    return S_ISDIR(_mode(f"{folder}/.project")) or _mode(f"{folder}/.git") != 0


def _mode(path: str) -> int:
    """The mode of what is there; 0 if nothing is. Raises OSError if that cannot be found out."""
    try:
        return os.stat(path).st_mode  # noqa: PTH116
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError as error:
        if error.errno == errno.ELOOP:
            return 0
        raise


def open_layout(start: Path) -> Layout:
    """The layout of the project that contains `start`. Raises E_PROJECT_DIR and E_OUTSIDE."""
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
    """The request with valid names and a definite level. `headless`: whether a model can run here.

    A long description is truncated; see `warnings`. Raises E_FEATURE_NAME, E_TICKET_NAME, E_SCOPE.
    """
    name = feature_name(feature)
    services.layout.guard(name)
    asked = level or services.settings.level
    resolved = resolved_level(asked, headless=headless, ticket=bool(ticket))
    return Request(
        feature=name,
        ticket=ticket_name(ticket) if ticket else "",
        description=_truncated(_folded(description)),
        scope=_scope(services, scope),
        level=resolved,
        auto=asked == "auto" and resolved == "standard",
        force=force,
    )


def warnings(description: str | None) -> tuple[str, ...]:
    """What the caller should know about how `resolve` used this description."""
    size = len(_folded(description))
    if size <= MAX_DESCRIPTION:
        return ()
    return (f"The description has {size:,} characters; the first {MAX_DESCRIPTION:,} are used.",)


def _folded(description: str | None) -> str:
    """The description without blank lines and needless spaces: its first line may be a title."""
    lines = (" ".join(line.split()) for line in (description or "").splitlines())
    return "\n".join(filter(None, lines))


def _truncated(text: str) -> str:
    """The description cut at the last word boundary within the limit."""
    if len(text) <= MAX_DESCRIPTION:
        return text
    whole_words, *cut = text[: MAX_DESCRIPTION + 1].rsplit(maxsplit=1)
    return whole_words if cut else text[:MAX_DESCRIPTION]


def _scope(services: Services, asked: str | None) -> str:
    if not asked:
        return ""
    from preread.project.packages import scope_of

    return scope_of(services.tree, asked)


def resolved_level(asked: str, *, headless: bool, ticket: bool) -> Level:
    """The level itself, or for `auto`: light without a model, full with a ticket, else standard.

    A build may raise that `standard` to full.
    """
    for level in LEVELS:
        if level == asked:
            return level
    if not headless:
        return "light"
    return "full" if ticket else "standard"
