"""Where the daemon's sockets and files are. Only the standard library: the relay starts with it."""

import os
import socket
import stat
import struct
from collections.abc import Mapping

PORT = 9742
PRIVATE = 0o600  # the mode of files


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
        return not problem(folder)
    except OSError:
        return False


def problem(folder: str) -> str:
    """Why a folder is not private; empty if only this user can access it. Raises OSError."""
    found = os.lstat(folder)
    if stat.S_ISLNK(found.st_mode):
        return "is a link"
    if found.st_uid != os.getuid():
        return "belongs to another user"
    if not stat.S_ISDIR(found.st_mode):
        return "is not a folder"
    return "is open to others" if found.st_mode & 0o077 else ""


def peer_of(connection: socket.socket) -> tuple[int, int]:
    """The user and process at the other end of a Unix socket; process 0 if unknown."""
    if hasattr(socket, "SO_PEERCRED"):
        size = struct.calcsize("3i")
        found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        pid, uid, _ = struct.unpack("3i", found)
        return uid, pid
    # Other systems rely on the socket's folder, which is private.
    return os.getuid(), 0
