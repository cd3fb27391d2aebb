"""The plugin's launcher on machines of the test's own: what is on their PATH, a `uv` that waits, fails or installs."""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # seconds for what takes one or two; the machine may be busy
PARTS = (
    "bin",
    "server",
    "prompts",
    "hooks",
    "skills",
    "agents",
    ".claude-plugin",
    ".mcp.json",
    "pyproject.toml",
)
TOOLS = ("bash", "env", "readlink", "git")
# Installs by a path file to the packages that the tests run with; says who it is, and waits where it is told to.
UV = """#!{python} -IS
import os, subprocess, sys, time
here, arguments = {folder!r}, sys.argv[1:]
with open(here + "/calls", "a") as file:
    file.write(" ".join([str(os.getpid()), *arguments]) + "\\n")
if arguments[0] == "venv":
    sys.exit(subprocess.call([{python!r}, "-I", "-m", "venv", "--without-pip", arguments[-1]]))
if os.path.exists(here + "/hold"):
    with open(here + "/entered", "w") as file:
        file.write("here\\n")
    with open(here + "/go") as file:
        file.read()
if os.path.exists(here + "/fail"):
    sys.exit("error: no network, says the test")
python = arguments[arguments.index("--python") + 1]
purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
where = subprocess.check_output([python, "-I", "-c", purelib], text=True).strip()
with open(where + "/borrowed.pth", "w") as file:
    file.write({packages!r} + "\\n")
os.symlink({compiled!r}, python[:-len("bin/python")] + "pycache")  # compiled once for all tests
"""


def real_python() -> str:
    """The program behind the environment that the tests run in; it has none of the packages."""
    return os.path.realpath(sys.executable)


def copy_plugin(folder: Path, parts: Iterable[str] = PARTS) -> Path:
    """The plugin as it is installed, without what its own use leaves in it."""
    for name in parts:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def compiled(tmp: Path) -> Path:
    """Where what was compiled once is for all tests of a run, by the folder of one of them."""
    runs = (folder for folder in tmp.parents if folder.name.startswith("pytest-"))
    found = next(runs, tmp.parent) / "compiled"
    found.mkdir(exist_ok=True)
    return found


class Uv:
    """The installer of one machine."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        for name in ("entered", "go"):
            os.mkfifo(folder / name)
        mcp = metadata.distribution("mcp").locate_file("mcp/x")
        packages = os.path.dirname(os.path.dirname(mcp))  # noqa: PTH120 - a path of importlib's
        known = {"packages": packages, "compiled": str(compiled(folder.parent))}
        (path / "uv").write_text(UV.format(python=real_python(), folder=str(folder), **known))
        (path / "uv").chmod(0o755)

    @property
    def calls(self) -> list[str]:
        """What it was called for: `venv` or `pip`."""
        log = self.folder / "calls"
        return [line.split()[1] for line in log.read_text().splitlines()] if log.exists() else []

    @property
    def processes(self) -> list[int]:
        return [int(line.split()[0]) for line in (self.folder / "calls").read_text().splitlines()]

    def hold(self) -> None:
        (self.folder / "hold").touch()

    def entered(self) -> None:
        """Wait until an installation is under way."""
        pipe = os.open(self.folder / "entered", os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert select.select([pipe], [], [], PATIENCE)[0]
        finally:
            os.close(pipe)

    def let_go(self) -> None:
        (self.folder / "hold").unlink()
        (self.folder / "go").open("w").close()

    def fail(self, *, on: bool = True) -> None:
        (self.folder / "fail").touch() if on else (self.folder / "fail").unlink()


class Machine:
    """A home folder, a PATH with a few tools, a plugin, its data folder, a project to be started in."""

    def __init__(self, tmp: Path, plugin: Path = ROOT) -> None:
        self.plugin, self.home, self.path = plugin, tmp / "home", tmp / "path"
        self.data = tmp / "data of the plugin"
        self.project = tmp / "a 'project'"
        for folder in (self.home, self.path, self.project / ".git"):
            folder.mkdir(parents=True)
        for tool in TOOLS:
            (self.path / tool).symlink_to(str(shutil.which(tool)))
        self.python = self.path / f"python{sys.version_info[0]}.{sys.version_info[1]}"
        self.python.symlink_to(real_python())
        self.environ = {
            "HOME": str(self.home),
            "PATH": str(self.path),
            "CLAUDE_PLUGIN_DATA": str(self.data),
        }

    def start(self, *arguments: str, **options: Any) -> "subprocess.Popen[bytes]":
        pipe = subprocess.PIPE
        command, streams = (
            [str(self.plugin / "bin" / "preread"), *arguments],
            {"stdin": subprocess.DEVNULL},
        )
        streams |= {"stdout": pipe, "stderr": pipe, **options}
        return subprocess.Popen(command, env=self.environ, cwd=self.project, **streams)

    def run(self, *arguments: str) -> tuple[int, str, str]:
        return ended(self.start(*arguments))

    def server(self) -> "Server":
        return Server(self.start("mcp", stdin=subprocess.PIPE))

    def gated_write(self) -> dict[str, Any]:
        """What the plugin's gate says of a new file that wants a dossier."""
        (self.project / ".project").mkdir(exist_ok=True)
        (self.project / ".project" / "gates").write_text("**/{feature}.spec.ts\n")
        tool = {
            "tool_name": "Write",
            "tool_input": {"file_path": str(self.project / "login.spec.ts"), "content": ""},
        }
        event = json.dumps(
            {"session_id": "s", "cwd": str(self.project), "hook_event_name": "PreToolUse", **tool}
        )
        hook = [str(shutil.which("bash")), str(self.plugin / "hooks" / "pre-spec-write")]
        done = subprocess.run(
            hook, input=event.encode(), env=self.environ, stdout=subprocess.PIPE, timeout=PATIENCE
        )
        return dict(json.loads(done.stdout))

    @property
    def environments(self) -> list[str]:
        """Folders of environments, whole or not."""
        return sorted(path.name for path in self.data.glob("venv-*") if path.is_dir())


def ended(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out.decode(), err.decode()


class Server:
    """A client's view of a started server, line by line."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._held = b""

    def send(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ready(self, seconds: float = PATIENCE) -> bool:
        assert self.process.stdout
        return b"\n" in self._held or bool(select.select([self.process.stdout], [], [], seconds)[0])

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout
        while b"\n" not in self._held:
            assert self.ready(), "no message came"
            data = os.read(self.process.stdout.fileno(), 2**16)
            assert data, ended(self.process)
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        return dict(json.loads(line))

    def ask(self, ident: int | str, method: str, **params: Any) -> dict[str, Any]:
        self.send(id=ident, method=method, params=params)
        answer = self.receive()
        assert answer["id"] == ident, answer
        return answer

    def initialize(self, version: str = "2025-11-25") -> dict[str, Any]:
        client = {"name": "a-client", "version": "1"}
        answer = self.ask(
            "first", "initialize", protocolVersion=version, capabilities={}, clientInfo=client
        )
        self.send(method="notifications/initialized")
        return dict(answer["result"])

    def call(self, ident: int | str, name: str = "load_context", **params: Any) -> None:
        self.send(
            id=ident,
            method="tools/call",
            params={"name": name, "arguments": {"feature": "shop"}, **params},
        )

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *error: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=PATIENCE)


# -- wheels without a network


def wheelhouse(folder: Path) -> Path:
    """The packages that the tests run with as wheels again, so that a real pip installs them from a folder."""
    folder.mkdir()
    found: set[str] = set()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [Requirement(text) for text in project["dependencies"]]
    while wanted:
        each = wanted.pop()
        if each.name.lower() in found:
            continue
        found.add(each.name.lower())
        dist = metadata.distribution(each.name)
        _wheel(dist, folder)
        extras = [*each.extras, ""]
        for text in dist.requires or ():
            needed = Requirement(text)
            if not needed.marker or any(
                needed.marker.evaluate({"extra": extra}) for extra in extras
            ):
                wanted.append(needed)
    return folder


def _wheel(dist: metadata.Distribution, folder: Path) -> None:
    tags = [
        line[5:].split("-")
        for line in (dist.read_text("WHEEL") or "").splitlines()
        if line.startswith("Tag: ")
    ]
    tag = "-".join(".".join(dict.fromkeys(part)) for part in zip(*tags, strict=True))
    name = dist.metadata["Name"].replace("-", "_").replace(".", "_")
    with zipfile.ZipFile(folder / f"{name}-{dist.version}-{tag}.whl", "w") as wheel:
        for file in dist.files or ():
            place = Path(str(dist.locate_file(file)))
            if ".." not in file.parts and place.suffix != ".pyc" and place.is_file():
                wheel.write(place, str(file))
