"""Where the Claude Code program is, found without running it.

Every look-up of a dossier needs this, so importing the module has to be fast.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from preread.models import Fault
from preread.services import Services

INSTALL = (
    "Install it (https://claude.com/claude-code) and log in once by running `claude`, "
    "or set PREREAD_CLAUDE=off."
)


class ClaudeUnavailable(Exception):  # noqa: N818 - a state that callers expect, not an error
    """There is no Claude Code program that can be run; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


def unavailable(reason: str, hint: str) -> ClaudeUnavailable:
    return ClaudeUnavailable(Fault(code="E_CLI", reason=reason, hint=hint))


def is_installed(services: Services) -> bool:
    """Whether there is a program; it may still fail to run."""
    try:
        locate(services)
    except ClaudeUnavailable:
        return False
    return True


def candidates(services: Services) -> list[Path]:
    """The paths where the program is looked for, whether or not they exist."""
    setting = services.settings.claude
    with suppress(ClaudeUnavailable):
        return [] if setting == "off" else _candidates(setting, services.environ)
    return []


def locate(services: Services) -> Path:
    """The program's absolute path. Raises ClaudeUnavailable.

    A program inside the project does not count: a repository must not choose what runs.
    """
    setting, root = services.settings.claude, services.layout.root
    if setting == "off":
        raise unavailable("Claude Code is switched off", "Unset PREREAD_CLAUDE to use it.")
    inside, places = None, _candidates(setting, services.environ)
    for place in places:
        found = _executable(place)
        if found and _is_outside(root, place.parent, found):
            return found
        inside = inside or found
    if inside:
        raise unavailable(
            f"{inside} is inside the project, which must not choose what runs", INSTALL
        )
    for place in places if setting else ():
        if os.path.isfile(place):  # noqa: PTH113 - raises nothing: a folder may be unreadable
            raise unavailable(
                f"PREREAD_CLAUDE={setting} is not executable", f"Run `chmod +x {place}`."
            )
    where = f"PREREAD_CLAUDE={setting}" if setting else "`claude` on the PATH"
    raise unavailable(f"there is no Claude Code program: {where}", INSTALL)


def _candidates(setting: str, environ: Mapping[str, str]) -> list[Path]:
    """The path in the setting, or the program's name in each folder of the PATH."""
    if "/" in setting or os.sep in setting:
        place = Path(setting).expanduser()
        if not place.is_absolute():
            raise unavailable(
                f"PREREAD_CLAUDE={setting} is not an absolute path", "Set it to an absolute path."
            )
        return [place]
    folders = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep)]
    return [folder / (setting or "claude") for folder in folders if folder.is_absolute()]


def _executable(place: Path) -> Path | None:
    if os.name == "posix":
        return place if os.access(place, os.X_OK) and place.is_file() else None
    from shutil import which  # knows PATHEXT; imports too much for every look-up

    found = which(place)
    return Path(found) if found else None


def _is_outside(root: Path, *paths: Path) -> bool:
    return not any(Path(os.path.realpath(path)).is_relative_to(root) for path in paths)
