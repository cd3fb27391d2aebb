"""Where the Claude Code program is, from looks at files alone: part of every look-up of a dossier, so kept light."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from preread.models import Fault
from preread.services import Services

INSTALL = "Install it (https://claude.com/claude-code) and log in once by running `claude`, or set PREREAD_CLAUDE=off."


class NoCli(Exception):  # noqa: N818 - what it is, not an error of anyone's
    """There is no program to run; `fault` says why."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.reason)
        self.fault = fault


def is_there(services: Services) -> bool:
    """Whether there is a program, from looks at files alone; whether it runs is another matter."""
    try:
        located(services)
    except NoCli:
        return False
    return True


def places(services: Services) -> list[Path]:
    """Where a program would be found once there is one."""
    setting = services.settings.claude
    with suppress(NoCli):
        return [] if setting == "off" else _places(setting, services.environ)
    return []


def fault(reason: str, hint: str) -> Fault:
    return Fault(code="E_CLI", reason=reason, hint=hint)


def located(services: Services) -> Path:
    """The program's path, absolute and outside the project: a repository must not choose what runs."""
    setting, root = services.settings.claude, services.layout.root
    if setting == "off":
        raise NoCli(fault("Claude Code is switched off", "Unset PREREAD_CLAUDE to use it."))
    inside, candidates = None, _places(setting, services.environ)
    for place in candidates:
        found = _executable(place)
        if found and _is_outside(root, place.parent, found):
            return found
        inside = inside or found
    if inside:
        raise NoCli(
            fault(f"{inside} is inside the project, which must not choose what runs", INSTALL)
        )
    for place in candidates if setting else ():
        if place.is_file():
            raise NoCli(
                fault(f"PREREAD_CLAUDE={setting} is not executable", f"Run `chmod +x {place}`.")
            )
    where = f"PREREAD_CLAUDE={setting}" if setting else "`claude` on the PATH"
    raise NoCli(fault(f"there is no Claude Code program: {where}", INSTALL))


def _places(setting: str, environ: Mapping[str, str]) -> list[Path]:
    """Where the program may be: the path that is set, or a name in each folder of the PATH."""
    if "/" in setting or os.sep in setting:
        place = Path(setting).expanduser()
        if not place.is_absolute():
            raise NoCli(
                fault(
                    f"PREREAD_CLAUDE={setting} is not an absolute path", "Give it from the root on."
                )
            )
        return [place]
    folders = [Path(entry) for entry in environ.get("PATH", "").split(os.pathsep)]
    return [folder / (setting or "claude") for folder in folders if folder.is_absolute()]


def _executable(place: Path) -> Path | None:
    if os.name == "posix":
        return place if os.access(place, os.X_OK) and place.is_file() else None
    from shutil import which  # knows the suffixes of programs; loads too much for every look-up

    found = which(place)
    return Path(found) if found else None


def _is_outside(root: Path, *paths: Path) -> bool:
    return not any(Path(os.path.realpath(path)).is_relative_to(root) for path in paths)
