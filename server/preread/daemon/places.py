"""Where the daemon's sockets and files are. Only the standard library: the relay starts with it."""

import os
import stat
from collections.abc import Mapping

PORT = 9742


def state_folder(environ: Mapping[str, str]) -> str:
    """The folder for what outlives a daemon: tokens, allowed folders, the log."""
    base = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "preread")


def runtime_folder(environ: Mapping[str, str]) -> str:
    """The folder of the sockets."""
    base = environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(base):
        return os.path.join(base, "preread")
    return os.path.join(state_folder(environ), "run")


def lines_socket(environ: Mapping[str, str]) -> str:
    """The socket for relays, which speak MCP in lines."""
    return os.path.join(runtime_folder(environ), "mcp.sock")


def http_socket(environ: Mapping[str, str]) -> str:
    """The socket that speaks HTTP."""
    return os.path.join(runtime_folder(environ), "http.sock")


def about(environ: Mapping[str, str]) -> str:
    """The file with the process, version and port of the running daemon."""
    return os.path.join(runtime_folder(environ), "daemon.json")


def log(environ: Mapping[str, str]) -> str:
    """The log of a daemon that runs detached."""
    return os.path.join(state_folder(environ), "daemon.log")


def is_private(folder: str) -> bool:
    """Whether only this user owns and can access a folder."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
