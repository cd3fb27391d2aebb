"""Runs Preread for the plugin: keeps an environment with its packages in the plugin's data folder, then becomes it.

Only the standard library, and grammar of Python 3.8: an old Python can say what is missing. `preread` starts it.
The packages are those of pyproject.toml; Preread's own code runs from the plugin's folder, where nothing is written.

In the data folder:
    venv-<digest>/        packages for one list of dependencies and one kind of Python; `ready` is written last
    venv-<digest>.part-*  one that is being made
    venv-<digest>.lock    held alone by who makes or removes it, shared by each process that runs in it
    python                a link to the Python behind it, for the hooks
    install.log           what the last installation printed
    unready               why the last start failed, while it does: the gates only warn then
"""

from __future__ import annotations

import fcntl
import os
import sys
from contextlib import suppress

TYPE_CHECKING = False  # typing's costs two milliseconds
if TYPE_CHECKING:
    from collections.abc import Mapping

HERE = os.path.dirname(os.path.abspath(__file__))
PLUGIN = os.path.dirname(HERE)
SERVER = os.path.join(PLUGIN, "server", "preread", "mcp", "server.py")
OLDEST = (3, 11)
IN_PLACE = "--in-place"  # the first argument of a start behind relay.py, which may take its time
# Not `-m`: that would take modules from the working directory, and PYTHONPATH would reach every program we start.
RUN = "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('preread', None, '__main__', True)"


class Unready(Exception):  # noqa: N818 - what happened, said to a person
    """Preread cannot run: what happened, and what to do."""


class Environment:
    """The place of one environment, which may not be there yet."""

    def __init__(self, data: str, digest: str) -> None:
        self.data = data
        self.path = os.path.join(data, "venv-" + digest)
        self.python = os.path.join(self.path, "bin", "python")
        self.cache = os.path.join(self.path, "pycache")

    def ready(self) -> bool:
        """Whether it was made to its end and its Python is still there: a link that leads nowhere is no program."""
        return os.path.exists(os.path.join(self.path, "ready")) and os.access(self.python, os.X_OK)


def main(arguments: list[str]) -> None:
    in_place = arguments[:1] == [IN_PLACE]
    arguments = arguments[in_place:]
    soon = not in_place and arguments[:1] == ["mcp"] and not os.isatty(0)
    try:
        become_preread(arguments, soon=soon)
    except Unready as error:
        if not soon:
            leave_word(str(error))
            sys.exit(f"preread: {error}")
        become_relay(arguments)


def leave_word(reason: str) -> None:
    """Say to the hooks that nothing here could open a gate and why; or, without a reason, that it can."""
    if not os.environ.get("CLAUDE_PLUGIN_DATA"):
        return  # a shell's command: the session's server may well run
    word = os.path.join(os.environ["CLAUDE_PLUGIN_DATA"], "unready")
    with suppress(OSError):
        if reason:
            os.makedirs(os.path.dirname(word), exist_ok=True)
            with open(word, "w", encoding="utf-8") as file:
                file.write(reason + "\n")
        elif os.path.lexists(word):
            os.unlink(word)


def become_preread(arguments: list[str], *, soon: bool) -> None:
    """Run it, once it is installed; where it is wanted `soon`, only if that takes no time. Raises Unready."""
    if sys.version_info < OLDEST:
        found = f"{sys.version_info[0]}.{sys.version_info[1]} at {sys.executable}"
        raise Unready(
            f"it needs Python 3.11 or newer and found only {found}. Install a newer one "
            "(https://www.python.org/downloads, or `uv python install 3.13`), or set PREREAD_PYTHON to the path of one."
        )
    wanted = dependencies()
    if os.environ.get("PREREAD_PYTHON") and satisfied(wanted):
        cache = os.path.join(data_folders(os.environ)[0], "pycache")
        if soon and not warm(cache):
            raise Unready("its first start takes longer")
        run(sys.executable, cache, arguments)
    environment = chosen(os.environ, digest(wanted))
    if soon and not (environment.ready() and warm(environment.cache)):
        raise Unready("it is not installed yet")
    lock = locked(environment, wanted)
    link(environment)
    run(environment.python, environment.cache, arguments, lock)


def warm(cache: str) -> bool:
    """Whether the server has been compiled: without that its start takes seconds, and a client waits for about two."""
    source = SERVER[: -len(".py")]
    return os.path.exists(f"{cache}{source}.{sys.implementation.cache_tag}.pyc")


def dependencies() -> list[str]:
    """What pyproject.toml asks for."""
    import tomllib

    try:
        with open(os.path.join(PLUGIN, "pyproject.toml"), "rb") as file:
            return sorted(tomllib.load(file)["project"]["dependencies"])
    except (OSError, ValueError, KeyError) as error:
        raise Unready(f"the plugin is damaged ({error}). Install it again.") from None


def digest(wanted: list[str]) -> str:
    """A name for what an environment depends on; another version of the plugin alone needs no new one."""
    import zlib

    kind = [sys.implementation.cache_tag, sys.abiflags, sys.platform, os.uname().machine]
    text = "\n".join([*wanted, *map(str, kind)])
    return f"{sys.implementation.cache_tag}-{zlib.crc32(text.encode()):08x}"


def satisfied(wanted: list[str]) -> bool:
    """Whether this Python has the packages already, new enough."""
    import re
    from importlib import metadata

    def numbers(version: str) -> list[int]:
        return [int(part) for part in re.findall(r"\d+", version)]

    for line in wanted:
        name, _, least = re.match(r"([\w.-]+)(\[[^]]*\])?>=([\d.]+)", line).groups()  # type: ignore[union-attr]
        try:
            if numbers(metadata.version(name)) < numbers(least):
                return False
        except metadata.PackageNotFoundError:
            return False
    return True


# -- places


def data_folders(environ: Mapping[str, str]) -> list[str]:
    """Where an environment may be: the plugin's data folder; in a shell, where nobody says it, those that there are."""
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


def chosen(environ: Mapping[str, str], name: str) -> Environment:
    """The environment that is ready, else the first place for one."""
    places = [Environment(data, name) for data in data_folders(environ)]
    return next((place for place in places if place.ready()), places[0])


def link(environment: Environment) -> None:
    """`python` in the data folder leads to the real program: no shim, no look at an environment."""
    name, real = os.path.join(environment.data, "python"), os.path.realpath(environment.python)
    with suppress(OSError):  # the hooks look elsewhere then
        if not os.path.islink(name) or os.readlink(name) != real:
            beside = f"{name}.{os.getpid()}"
            os.symlink(real, beside)
            os.replace(beside, name)


# -- locks


def open_lock(path: str) -> int | None:
    """A file to lock; None where one can only read, as on a read-only disk."""
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return None


def locked(environment: Environment, wanted: list[str]) -> int | None:
    """The environment made ready, and the lock that keeps it from being removed. Raises Unready."""
    with suppress(OSError):
        os.makedirs(environment.data, exist_ok=True)
    lock = open_lock(environment.path + ".lock")
    if lock is None:
        if environment.ready():
            return None
        raise Unready(
            f"it keeps its Python packages in {environment.data}, where nothing can be written. Make it writable, or "
            f"set PREREAD_PYTHON to a Python that has the packages (`pip install {PLUGIN}`)."
        )
    while True:
        fcntl.flock(lock, fcntl.LOCK_SH)
        if environment.ready():
            return lock
        fcntl.flock(lock, fcntl.LOCK_EX)  # not in one step: another may have made it in between
        if not environment.ready():
            import install

            try:
                install.make(environment.path, wanted)
            except install.Failed as error:
                raise Unready(str(error)) from None
            install.sweep(environment.path)


# -- becoming something else


def run(python: str, cache: str, arguments: list[str], lock: int | None = None) -> None:
    """Become Preread, which holds the lock to its end."""
    if lock is not None:
        os.set_inheritable(lock, True)
    leave_word("")
    server = os.path.join(PLUGIN, "server")
    os.execv(python, [python, "-I", "-X", "pycache_prefix=" + cache, "-c", RUN, server, *arguments])


def become_relay(arguments: list[str]) -> None:
    """Answer the client while another start of ours does the work."""
    child = [os.path.join(HERE, "preread"), IN_PLACE, *arguments]
    os.execv(sys.executable, [sys.executable, "-I", os.path.join(HERE, "relay.py"), *child])


if __name__ == "__main__":
    sys.path.insert(0, HERE)
    sys.dont_write_bytecode = True
    main(sys.argv[1:])
