"""What the hooks remember of a session, in `.project/.state/sessions/<id>/`: small files that several hooks share.

    start.json                when it began, git's head, the gated files that had changes by then
    dispatched/<tool use>     an agent that was sent off: its name and its feature
    agents/<agent id>         the agent that a dispatch became
    marks/<name>              what is said once; who makes the file first says it
    used/<feature>            a dossier in use; its time is that of the last use

Every name on disk is made by `safe`, no link is followed, and whatever cannot be read is as if it were not there.
"""

from __future__ import annotations

import os
import stat
import time

from gatelib import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

AGED = 600.0  # seconds after which a dispatch that no agent claimed is forgotten: its call was refused, or died
KEPT_DAYS = 30
MAX_BYTES = 2_000_000
MAX_LISTED = 1000
MAX_PRUNED = 50  # sessions looked at by one pruning
_READ = (
    os.O_RDONLY
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)
_MAKE = (
    os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
)
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


def safe(name: object) -> str:
    """A file name for an identifier that came from outside: itself where it is plain, else a hash of it."""
    text = name if isinstance(name, str) else repr(name)
    if 8 <= len(text) <= 64 and _PLAIN.issuperset(text):  # shorter ones may be devices of Windows
        return text
    import hashlib

    return "x" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def make_folder(root: str, *names: str) -> str:
    """The folder `.project/NAMES` of a project, made where it is not there. Raises OSError for a link on its way."""
    place = os.path.join(root, ".project")
    for name in ("", *names):
        place = os.path.join(place, name) if name else place
        try:
            os.mkdir(place)
        except FileExistsError:
            if not stat.S_ISDIR(os.lstat(place).st_mode):
                raise NotADirectoryError(f"{place} is a link or no folder") from None
    return place


def folder_of(root: str, session: object, *names: str) -> str:
    """A folder of a session, made where it is not there."""
    return make_folder(root, ".state", "sessions", safe(session), *names)


def _place(root: str, session: object, *names: str) -> str:
    return os.path.join(root, ".project", ".state", "sessions", safe(session), *names)


def read_bytes(path: str, most: int = MAX_BYTES) -> bytes | None:
    """The bytes of a regular file of at most `most` bytes; None for everything else."""
    try:
        handle = os.open(path, _READ)
    except (OSError, ValueError):
        return None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_size > most:
            return None
        with os.fdopen(handle, "rb", closefd=False) as file:
            return file.read(most)
    except OSError:
        return None
    finally:
        os.close(handle)


def read(path: str, most: int = MAX_BYTES) -> dict[str, Any]:
    """The JSON object in a file; an empty one when there is none that can be read."""
    data = read_bytes(path, most)
    try:
        value = events.parse(data.decode("utf-8")) if data else {}
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def write_bytes(path: str, data: bytes) -> None:
    """Put a file in place whole: nobody sees half of it, and a link of that name is replaced, not followed."""
    beside = f"{path}.{os.getpid()}.{time.time_ns():x}.tmp"
    handle = os.open(beside, _MAKE, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise


def write(path: str, words: dict[str, str]) -> None:
    """Put a JSON object of texts in place."""
    write_bytes(path, events.encode(words).encode("ascii"))


def _names(folder: str) -> list[str]:
    try:
        found = os.listdir(folder)
    except (OSError, ValueError):
        return []
    return sorted(name for name in found if not name.endswith(".tmp"))[:MAX_LISTED]


def mark(root: str, session: object, name: str) -> bool:
    """Whether this is the first to ask for a mark of this session: true once, whoever asks at the same time."""
    try:
        os.close(os.open(os.path.join(folder_of(root, session, "marks"), safe(name)), _MAKE, 0o666))
    except FileExistsError:
        return False
    return True


# -- dispatches of agents


def dispatched(
    root: str, session: object, tool_use_id: object, agent: str, feature: str | None
) -> None:
    """Remember that an agent is sent off for a feature; without one (None or "") when its prompt names none."""
    place = os.path.join(folder_of(root, session, "dispatched"), safe(tool_use_id))
    write(place, {"agent": plain(agent), "feature": feature or ""})


def plain(agent: str) -> str:
    """An agent's name without the plugin that it comes with: it is dispatched and started under either."""
    return agent[len("preread:") :] if agent.startswith("preread:") else agent


def waiting(root: str, session: object, agent: str) -> dict[str, str]:
    """The dispatches of an agent that none has claimed yet: tool use -> feature. Aged ones are forgotten."""
    found = {}
    folder = _place(root, session, "dispatched")
    for name in _names(folder):
        record = read(os.path.join(folder, name))
        if abs(time.time() - _changed(os.path.join(folder, name))) > AGED:
            _unlink(os.path.join(folder, name))
        elif record.get("agent") == plain(agent) and isinstance(record.get("feature"), str):
            found[name] = record["feature"]
    return found


def claim(root: str, session: object, tool_use: str, agent_id: object) -> bool:
    """Make a waiting dispatch an agent's; false when another agent was first."""
    place = os.path.join(folder_of(root, session, "agents"), safe(agent_id))
    try:
        os.rename(
            _place(root, session, "dispatched", tool_use), place
        )  # one of several succeeds, and it is one step
        os.utime(place)
    except OSError:
        return False
    return True


def launched(root: str, session: object, tool_use_id: object, agent_id: object) -> None:
    """Make a dispatch the agent's that it became.

    An agent that is known by then has taken another's dispatch for the same feature: its own is left for that one. One
    that is sent off again needs none.
    """
    first = mark(root, session, f"launched {agent_id}")
    if agent_feature(root, session, agent_id) is None:
        claim(root, session, safe(tool_use_id), agent_id)
    elif not first:
        forget(root, session, tool_use_id)


def forget(root: str, session: object, tool_use_id: object) -> None:
    """A dispatch has ended, or was refused."""
    _unlink(_place(root, session, "dispatched", safe(tool_use_id)))


def agent_feature(root: str, session: object, agent_id: object) -> str | None:
    """The feature of an agent: "" when its dispatch named none, None when nothing is known of it (yet)."""
    feature = read(_place(root, session, "agents", safe(agent_id))).get("feature")
    return feature if isinstance(feature, str) else None


def agent_began(root: str, session: object, agent_id: object) -> float:
    """When an agent was first heard of, in epoch seconds, a little early: the clock of files may be coarse."""
    return _changed(_place(root, session, "agents", safe(agent_id))) - 2


# -- dossiers in use


def use(root: str, session: object, feature: str) -> None:
    """Remember that a dossier is in use now."""
    write(
        os.path.join(folder_of(root, session, "used"), safe("feature-" + feature)),
        {"feature": feature},
    )


def in_use(root: str, session: object) -> list[str]:
    """The features whose dossiers are in use, the last used first."""
    folder = _place(root, session, "used")
    found = []
    for name in _names(folder):
        feature = read(os.path.join(folder, name)).get("feature")
        if isinstance(feature, str):
            found.append((_changed(os.path.join(folder, name)), feature))
    return [feature for _, feature in sorted(found, reverse=True)]


# -- the start


def started(root: str, session: object) -> dict[str, Any]:
    """What was written down when a session began; empty when nothing was."""
    return read(_place(root, session, "start.json"))


def start(root: str, session: object, record: dict[str, Any]) -> None:
    import json

    place = os.path.join(folder_of(root, session), "start.json")
    write_bytes(place, json.dumps(record, separators=(",", ":")).encode("ascii"))


def prune(root: str) -> None:
    """Remove what is left of sessions that nothing touched for a month; a bounded number at a time."""
    folder = os.path.join(root, ".project", ".state", "sessions")
    aged = time.time() - KEPT_DAYS * 86_400
    old = sorted((_changed(os.path.join(folder, name)), name) for name in _names(folder))[
        :MAX_PRUNED
    ]
    for changed, name in old:
        place = os.path.join(folder, name)
        inside = _names(place) if _is_folder(place) else []
        if changed < aged and all(_changed(os.path.join(place, inner)) < aged for inner in inside):
            _remove(place)


def _remove(place: str) -> None:
    """Remove a session's folder: it holds files and folders of files, and a link is removed as itself."""
    import shutil

    shutil.rmtree(place, ignore_errors=True) if _is_folder(place) else _unlink(place)


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except (OSError, ValueError):
        return 0.0


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except (OSError, ValueError):
        pass
