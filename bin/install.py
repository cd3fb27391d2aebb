"""Makes and removes environments. Callers hold the lock.

An environment is built in a temporary folder and renamed at the end. `uv` is used if it is
installed, else pip; both as the person has configured them (index, proxy, certificates).
"""

from __future__ import annotations

import fcntl
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

# Variables that would have packages installed elsewhere, or imported from elsewhere.
FOREIGN = (
    "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PIP_USER", "PIP_TARGET",
    "PIP_PREFIX", "PIP_ROOT", "PIP_PYTHON", "PIP_REQUIRE_VIRTUALENV",
)  # fmt: skip
QUIET = ["--disable-pip-version-check", "--no-input", "--no-color", "--progress-bar=off", "--quiet"]
# Imported once, so that packages built for another kind of machine fail here, not at each start.
COMPILED = "import pydantic_core, tree_sitter"
MAX_REASON = 600  # characters of the installer's output in an error


class Failed(Exception):  # noqa: N818 - install.Failed reads well
    """The installation failed. The text says, for a person, why and what to do."""


def make(path: str, wanted: list[str]) -> None:
    """Make an environment with these packages at `path`, and mark it as ready. Raises Failed."""
    data = os.path.dirname(path)
    log = os.path.join(data, "install.log")
    for leftover in (path, *glob.glob(f"{glob.escape(path)}.part-*")):
        shutil.rmtree(leftover, ignore_errors=True)
    sys.stderr.write("preread: installing its Python packages, once; this takes up to a minute.\n")
    part = ""
    try:
        part = tempfile.mkdtemp(prefix=f"{os.path.basename(path)}.part-", dir=data)
        with open(log, "w", encoding="utf-8") as file:
            _fill(part, wanted, file)
        with open(os.path.join(part, "ready"), "w", encoding="utf-8") as file:
            file.write("\n".join([*wanted, ""]))
        os.rename(part, path)
    except (OSError, subprocess.SubprocessError) as error:
        why = _reason(log) if isinstance(error, subprocess.SubprocessError) else str(error)
        command = " ".join([f"{_base()} -m pip install", *(f"'{line}'" for line in wanted)])
        raise Failed(
            f"its Python packages could not be installed: {why}\n"
            f"The installer's whole output is in {log}. Check the network, the proxy and the "
            "package index, then start again. Or set PREREAD_PYTHON to a Python that has the "
            f"packages ({command})."
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def remove_others(keep: str) -> None:
    """Remove the other environments that no process runs in."""
    for lock in glob.glob(os.path.join(glob.escape(os.path.dirname(keep)), "venv-*.lock")):
        path = lock[: -len(".lock")]
        if path == keep:
            continue
        with suppress(OSError), open(lock, "a", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for folder in (path, *glob.glob(f"{glob.escape(path)}.part-*")):
                shutil.rmtree(folder, ignore_errors=True)


def _base() -> str:
    """This Python without links, because a link of ours may change."""
    return os.path.realpath(sys.executable)


def _fill(part: str, wanted: list[str], log: IO[str]) -> None:
    """Make the environment in this empty folder. Raises SubprocessError and OSError."""
    uv = shutil.which("uv")
    if uv:
        try:
            return _with_uv(uv, part, wanted, log)
        except (OSError, subprocess.SubprocessError):
            log.write("\nuv failed; now with pip\n")
            log.flush()
            shutil.rmtree(part, ignore_errors=True)
            os.makedirs(part)
    return _with_pip(part, wanted, log)


def _with_uv(uv: str, part: str, wanted: list[str], log: IO[str]) -> None:
    python = os.path.join(part, "bin", "python")
    _run([uv, "venv", "--quiet", "--no-project", "--python", _base(), part], log)
    _run([uv, "pip", "install", "--quiet", "--python", python, *wanted], log)
    _run([python, "-I", "-c", COMPILED], log)


def _with_pip(part: str, wanted: list[str], log: IO[str]) -> None:
    """With the Python's own pip if it is new enough (22.3), else with one in the environment."""
    python = os.path.join(part, "bin", "python")
    pip = [_base(), "-I", "-m", "pip", "--python", python]
    _run([_base(), "-I", "-m", "venv", "--without-pip", part], log)
    try:
        _run([*pip, "--version"], log)
    except subprocess.SubprocessError:
        _run([_base(), "-I", "-m", "venv", "--clear", part], log)
        pip = [python, "-I", "-m", "pip"]
    # The first start compiles what it needs; compiling everything takes as long as the rest.
    _run([*pip, "install", *QUIET, "--prefer-binary", "--no-compile", *wanted], log)
    _run([python, "-I", "-c", COMPILED], log)


def _run(command: list[str], log: IO[str]) -> None:
    """Run one step, in the data folder, so that no project's configuration applies."""
    environ = {name: value for name, value in os.environ.items() if name not in FOREIGN}
    log.write(f"$ {' '.join(command)}\n")
    log.flush()
    subprocess.run(
        command,
        cwd=os.path.dirname(log.name),
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        check=True,
    )


def _reason(log: str) -> str:
    """The installer's error messages, else the end of its output."""
    with suppress(OSError), open(log, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip() and not line.startswith("$ ")]
        starts = ("error", "fatal", "the virtual environment")
        errors = [line for line in lines if line.lower().startswith(starts)]
        return " ".join(errors or lines[-5:])[-MAX_REASON:] or "the installer printed nothing"
    return "the installer's output cannot be read"
