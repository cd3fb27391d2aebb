"""What the hooks remember of a session, in `.project/.state/sessions/<id>/`.

start.json                when it began, git's HEAD, the gated files that had changes by then
dispatched/<tool use>     an agent that was dispatched: its name and its feature
agents/<agent id>         the agent that a dispatch became
marks/<name>              something done only once, by the process that creates the file
used/<feature>            a dossier in use; the file's time is that of the last use
read/<feature>            a dossier as the session read it: see `refreshes`
started/<tool use>        the folder that a command was started in
"""

from __future__ import annotations

import os
import time

from preread.gates import state_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Seconds after which a dispatch that no agent claimed is dropped: its call was refused or killed.
DISPATCH_EXPIRES = 600.0
KEEP_DAYS = 30
MAX_PRUNED = 50  # sessions that are checked by one pruning
CLOCK_SLACK = 2  # seconds; the times of files may be coarse


def make_folder(root: str, session: object, *names: str) -> str:
    """A folder of a session, created if needed. Raises OSError."""
    return state_files.make_folder(
        root, ".state", "sessions", state_files.safe_name(session), *names
    )


def _place(root: str, session: object, *names: str) -> str:
    folder = state_files.safe_name(session)
    return os.path.join(root, ".project", ".state", "sessions", folder, *names)


def first_time(root: str, session: object, mark: str) -> bool:
    """True the first time that anyone in this session asks for `mark`, then false.

    False also where it cannot be remembered.
    """
    with state_files.WhereWritable():
        folder = make_folder(root, session, "marks")
        return state_files.create_empty(os.path.join(folder, state_files.safe_name(mark)))
    return False


def is_news(root: str, session: object, mark: str) -> bool:
    """As `first_time`, for what is shown: false, too, where a folder is in the way."""
    try:
        return first_time(root, session, mark)
    except OSError:  # else it would be repeated at every prompt
        return False


# -- dispatches of agents


def plain_agent(name: str) -> str:
    """An agent's name without the plugin's prefix; it is dispatched and started under either."""
    return name[len("preread:") :] if name.startswith("preread:") else name


def add_dispatch(
    root: str, session: object, tool_use_id: object, agent: str, feature: str | None
) -> None:
    """Remember that an agent is dispatched for a feature, if its prompt names one."""
    with state_files.WhereWritable():
        folder = make_folder(root, session, "dispatched")
        place = os.path.join(folder, state_files.safe_name(tool_use_id))
        state_files.write_texts(place, {"agent": plain_agent(agent), "feature": feature or ""})


def unclaimed(root: str, session: object, agent: str) -> dict[str, str]:
    """The dispatches of an agent that none has claimed yet: tool use -> feature.

    Expired ones are removed.
    """
    found = {}
    folder = _place(root, session, "dispatched")
    for name in state_files.names_in(folder):
        path = os.path.join(folder, name)
        record = state_files.read_json(path)
        if abs(time.time() - state_files.modified(path)) > DISPATCH_EXPIRES:
            state_files.remove_file(path)
        elif record.get("agent") == plain_agent(agent) and isinstance(record.get("feature"), str):
            found[name] = record["feature"]
    return found


def claim(root: str, session: object, tool_use: str, agent_id: object) -> bool:
    """Assign a dispatch to an agent; false when another agent was first."""
    with state_files.WhereWritable():
        place = os.path.join(make_folder(root, session, "agents"), state_files.safe_name(agent_id))
        return state_files.move(_place(root, session, "dispatched", tool_use), place)
    return False


def launched(root: str, session: object, tool_use_id: object, agent_id: object) -> None:
    """Assign a dispatch to the agent that it became.

    If that agent has already claimed another dispatch of the same feature, its own is left for the
    agent that now lacks one. A resumed agent needs none.
    """
    is_first = first_time(root, session, f"launched {agent_id}")
    if agent_feature(root, session, agent_id) is None:
        claim(root, session, state_files.safe_name(tool_use_id), agent_id)
    elif not is_first:
        drop_dispatch(root, session, tool_use_id)


def drop_dispatch(root: str, session: object, tool_use_id: object) -> None:
    """Forget a dispatch that has ended, or was refused."""
    name = state_files.safe_name(tool_use_id)
    state_files.remove_file(_place(root, session, "dispatched", name))


def _agent(root: str, session: object, agent_id: object) -> str:
    return _place(root, session, "agents", state_files.safe_name(agent_id))


def agent_feature(root: str, session: object, agent_id: object) -> str | None:
    """An agent's feature: "" when its dispatch named none, None for an unknown agent."""
    feature = state_files.read_json(_agent(root, session, agent_id)).get("feature")
    return feature if isinstance(feature, str) else None


def agent_began(root: str, session: object, agent_id: object) -> float:
    """When an agent was first seen, in epoch seconds, rounded down a little."""
    return state_files.modified(_agent(root, session, agent_id)) - CLOCK_SLACK


# -- dossiers in use


def use_dossier(root: str, session: object, feature: str) -> None:
    """Remember that a dossier is in use now."""
    name = state_files.safe_name("feature-" + feature)
    with state_files.WhereWritable():
        place = os.path.join(make_folder(root, session, "used"), name)
        state_files.write_texts(place, {"feature": feature})


def dossiers_in_use(root: str, session: object) -> list[str]:
    """The features whose dossiers are in use, most recent first."""
    folder = _place(root, session, "used")
    found = []
    for name in state_files.names_in(folder):
        path = os.path.join(folder, name)
        feature = state_files.read_json(path).get("feature")
        if isinstance(feature, str):
            found.append((state_files.modified(path), feature))
    return [feature for _, feature in sorted(found, reverse=True)]


def write_read(root: str, session: object, feature: str, record: dict[str, str]) -> None:
    """Remember what the session has read of a dossier."""
    with state_files.WhereWritable():
        folder = make_folder(root, session, "read")
        name = state_files.safe_name("feature-" + feature)
        state_files.write_texts(os.path.join(folder, name), record)


def read_record(root: str, session: object, feature: str) -> dict[str, Any]:
    """What the session has read of a dossier; empty if it has read nothing."""
    name = state_files.safe_name("feature-" + feature)
    return state_files.read_json(_place(root, session, "read", name))


def last_use(root: str, session: object) -> float:
    """When a dossier was last asked for, in epoch seconds; 0 if none was."""
    folder = _place(root, session, "used")
    names = state_files.names_in(folder)
    return max([0.0, *(state_files.modified(os.path.join(folder, name)) for name in names)])


def last_dispatch(root: str, session: object, agent: str) -> float:
    """When an agent was last dispatched, in epoch seconds; 0 if it never was."""
    places = [_place(root, session, folder) for folder in ("dispatched", "agents")]
    paths = [os.path.join(place, name) for place in places for name in state_files.names_in(place)]
    own = [path for path in paths if state_files.read_json(path).get("agent") == agent]
    return max([0.0, *map(state_files.modified, own)])


# -- commands


def begin_command(root: str, session: object, tool_use_id: object, folder: str) -> None:
    """Remember where a command starts: the event at its end has the folder that it ended in."""
    name = state_files.safe_name(tool_use_id)
    with state_files.WhereWritable():
        place = make_folder(root, session, "started")
        state_files.write_texts(os.path.join(place, name), {"folder": folder})


def end_command(root: str, session: object, tool_use_id: object) -> str:
    """The folder that a command started in, once; empty when it was not recorded."""
    path = _place(root, session, "started", state_files.safe_name(tool_use_id))
    folder = state_files.read_json(path).get("folder")
    state_files.remove_file(path)
    return folder if isinstance(folder, str) else ""


# -- the start


def read_start(root: str, session: object) -> dict[str, Any]:
    """What was recorded when a session began; empty when nothing was."""
    return state_files.read_json(_place(root, session, "start.json"))


def write_start(root: str, session: object, record: dict[str, Any]) -> None:
    import json

    with state_files.WhereWritable():
        place = os.path.join(make_folder(root, session), "start.json")
        state_files.write_bytes(place, json.dumps(record, separators=(",", ":")).encode("ascii"))


def prune(root: str) -> None:
    """Remove sessions that nothing has touched for KEEP_DAYS, oldest first, a few at a time."""
    folder = os.path.join(root, ".project", ".state", "sessions")
    limit = time.time() - KEEP_DAYS * 86_400
    places = [os.path.join(folder, name) for name in state_files.names_in(folder)]
    for place in sorted(places, key=lambda place: (state_files.modified(place), place))[
        :MAX_PRUNED
    ]:
        inside = state_files.names_in(place) if state_files.is_folder(place) else []
        times = [state_files.modified(os.path.join(place, name)) for name in inside]
        if max([state_files.modified(place), *times]) < limit:
            state_files.remove(place)
