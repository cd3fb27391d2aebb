"""Runs Preread for the plugin, from an environment that it keeps in the plugin's data folder.

Only the standard library and the syntax of Python 3.8, so that an old Python can say what is
missing. `preread` starts it. The environment has the packages of pyproject.toml; Preread's own code
runs from the plugin's folder, where nothing is written.

In the data folder:
    venv-<digest>/        one environment; `ready` in it is written last
    venv-<digest>.part-*  one that is being made
    venv-<digest>.lock    held exclusively to make or remove it, shared by each process in it
    python                a link to the Python behind it, for the hooks
    install.log           what the last installation printed
    unready               why the last start failed, until one succeeds: the gates only warn then
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False  # importing typing takes two milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.dirname(HERE)
SERVER = os.path.join(PLUGIN, "server", "preread", "mcp", "server.py")
MIN_PYTHON = (3, 11)
IN_PLACE = "--in-place"  # the first argument when relay.py starts this: it need not be quick
# Not `-m`, which imports from the working directory, nor PYTHONPATH, which children inherit.
RUN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); "
    "runpy.run_module('preread', None, '__main__', True)"
)


class Unready(Exception):  # noqa: N818 - a state, not an error of ours
    """Preread cannot run yet, or at all: what happened, and what to do."""


class Environment:
    """One environment, which may not exist yet."""

    def __init__(self, data: str, digest: str) -> None:
        self.data = data
        self.path = os.path.join(data, "venv-" + digest)
        self.python = os.path.join(self.path, "bin", "python")
        self.cache = os.path.join(self.path, "pycache")

    def ready(self) -> bool:
        """Whether it is complete and its Python still exists."""
        return os.path.exists(os.path.join(self.path, "ready")) and os.access(self.python, os.X_OK)


def main(arguments: list[str]) -> None:
    in_place = arguments[:1] == [IN_PLACE]
    arguments = arguments[in_place:]
    must_be_quick = not in_place and arguments[:1] == ["mcp"] and not os.isatty(0)
    try:
        become_preread(arguments, must_be_quick=must_be_quick)
    except Unready as error:
        if not must_be_quick:
            report_to_hooks(str(error))
            sys.exit(f"preread: {error}")
        become_relay(arguments)


def report_to_hooks(reason: str) -> None:
    """Tell the hooks why there is no server to open a gate; an empty reason: there is one."""
    if not os.environ.get("CLAUDE_PLUGIN_DATA"):
        return  # a command in a shell: the session's server may well be running
    path = os.path.join(os.environ["CLAUDE_PLUGIN_DATA"], "unready")
    with suppress(OSError):
        if reason:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(reason + "\n")
        elif os.path.lexists(path):
            os.unlink(path)


def become_preread(arguments: list[str], *, must_be_quick: bool) -> None:
    """Become Preread, after installing it if needed and not `must_be_quick`. Raises Unready."""
    if sys.version_info < MIN_PYTHON:
        found = f"{sys.version_info[0]}.{sys.version_info[1]} at {sys.executable}"
        raise Unready(
            f"it needs Python 3.11 or newer and found only {found}. Install a newer one "
            "(https://www.python.org/downloads, or `uv python install 3.13`), "
            "or set PREREAD_PYTHON to the path of one."
        )
    wanted = dependencies()
    if os.environ.get("PREREAD_PYTHON") and satisfied(wanted):
        cache = os.path.join(data_folders(os.environ)[0], "pycache")
        if must_be_quick and not is_compiled(cache):
            raise Unready("its first start takes longer")
        exec_preread(sys.executable, cache, arguments)
    environment = choose_environment(os.environ, digest(wanted))
    if must_be_quick and not (environment.ready() and is_compiled(environment.cache)):
        raise Unready("it is not installed yet")
    lock = ensure_environment(environment, wanted)
    link(environment)
    exec_preread(environment.python, environment.cache, arguments, lock)


def is_compiled(cache: str) -> bool:
    """Whether the server's bytecode is cached; without it a start takes too long for a client."""
    source = SERVER[: -len(".py")]
    return os.path.exists(f"{cache}{source}.{sys.implementation.cache_tag}.pyc")


def dependencies() -> list[str]:
    """The dependencies in pyproject.toml. Raises Unready."""
    import tomllib

    try:
        with open(os.path.join(PLUGIN, "pyproject.toml"), "rb") as file:
            return sorted(tomllib.load(file)["project"]["dependencies"])
    except (OSError, ValueError, KeyError) as error:
        raise Unready(f"the plugin is damaged ({error}). Install it again.") from None


def digest(wanted: list[str]) -> str:
    """A digest of what an environment depends on; the plugin's version is not part of it."""
    import zlib

    kind = [sys.implementation.cache_tag, sys.abiflags, sys.platform, os.uname().machine]
    text = "\n".join([*wanted, *map(str, kind)])
    return f"{sys.implementation.cache_tag}-{zlib.crc32(text.encode()):08x}"


def satisfied(wanted: list[str]) -> bool:
    """Whether this Python already has the packages, in versions that are new enough."""
    import re
    from importlib import metadata

    def numbers(version: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", version)]

    for line in wanted:
        found = re.match(r"([\w.-]+)(\[[^]]*\])?>=([\d.]+)", line)
        name, _, least = found.groups()  # type: ignore[union-attr]
        try:
            if numbers(metadata.version(name)) < numbers(least):
                return False
        except metadata.PackageNotFoundError:
            return False
    return True


# -- places


def data_folders(environ: Mapping[str, str]) -> list[str]:
    """Where an environment may be: the plugin's data folder; in a shell, every one of these."""
    if environ.get("CLAUDE_PLUGIN_DATA"):
        return [os.path.abspath(environ["CLAUDE_PLUGIN_DATA"])]
    home = os.path.expanduser("~")
    plugins = os.path.join(
        environ.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "plugins", "data"
    )
    found = []
    with suppress(OSError):
        found = [
            os.path.join(plugins, name)
            for name in sorted(os.listdir(plugins))
            if name.startswith("preread-")
        ]
    shared = environ.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return [*found, os.path.join(shared, "preread")]


def choose_environment(environ: Mapping[str, str], name: str) -> Environment:
    """The first environment that is ready, else the one to make."""
    places = [Environment(data, name) for data in data_folders(environ)]
    return next((place for place in places if place.ready()), places[0])


def link(environment: Environment) -> None:
    """Make `python` in the data folder a link to the real program, past shims and environments."""
    name, real = os.path.join(environment.data, "python"), os.path.realpath(environment.python)
    with suppress(OSError):  # without it, the hooks search
        if not os.path.islink(name) or os.readlink(name) != real:
            temporary = f"{name}.{os.getpid()}"
            os.symlink(real, temporary)
            os.replace(temporary, name)


# -- locks


def open_lock(path: str) -> int | None:
    """A file to lock; None when it cannot be created, as on a read-only disk."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return None


def ensure_environment(environment: Environment, wanted: list[str]) -> int | None:
    """Make the environment if needed; returns the lock that keeps it. Raises Unready."""
    with suppress(OSError):
        os.makedirs(environment.data, exist_ok=True)
    lock = open_lock(environment.path + ".lock")
    if lock is None:
        if environment.ready():
            return None
        raise Unready(
            f"it keeps its Python packages in {environment.data}, where nothing can be written. "
            "Make it writable, or set PREREAD_PYTHON to a Python that has the packages "
            f"(`pip install {PLUGIN}`)."
        )
    while True:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if environment.ready():
            return lock
        fcntl.flock(lock, fcntl.LOCK_EX)  # flock cannot upgrade in one step: look again
        if not environment.ready():
            import install

            try:
                install.make(environment.path, wanted)
            except install.Failed as error:
                raise Unready(str(error)) from None
            install.remove_others(environment.path)


# -- becoming something else


def exec_preread(python: str, cache: str, arguments: list[str], lock: int | None = None) -> None:
    """Become Preread. The process then keeps the lock until it ends."""
    if lock is not None:
        os.set_inheritable(lock, True)
    report_to_hooks("")
    server = os.path.join(PLUGIN, "server")
    os.execv(python, [python, "-I", "-X", "pycache_prefix=" + cache, "-c", RUN, server, *arguments])


def become_relay(arguments: list[str]) -> None:
    """Become the relay, which answers the client while a second start installs the packages."""
    child = [os.path.join(HERE, "preread"), IN_PLACE, *arguments]
    os.execv(sys.executable, [sys.executable, "-I", os.path.join(HERE, "relay.py"), *child])


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    main(sys.argv[1:])
