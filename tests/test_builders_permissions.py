"""What the headless child may do, shown by the real program with a model that tries everything."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from _claude import bare_environ
from _messages_api import Answer, Block, MessagesAPI, Result, text, tool
from _trees import write
from conftest import git
from preread import settings_loading
from preread.builders import command
from preread.builders.claude import message
from preread.layout import Layout
from preread.services import Services

PATIENCE = 120.0
RUN = ".project/.cache/staging/run-1"
TRACKER = Path(__file__).with_name("_tracker.py")
PLAIN = {"shop.py": "PRICE = 42\n", "sub/cart.py": "CART = 43\n"}


@dataclass
class Seen:
    """One run: what the model saw, what the program printed."""

    events: list[dict[str, Any]]
    sent: str  # everything that went to the model
    results: dict[str, Result] = field(default_factory=dict)

    def __getitem__(self, call: Block) -> Result:
        return self.results[call["id"]]

    def refused(self, calls: Sequence[Block]) -> list[str]:
        """The calls that came to nothing, in words."""
        return [shown(call) for call in calls if self[call].is_error]

    @property
    def init(self) -> dict[str, Any]:
        return next(event for event in self.events if event.get("subtype") == "init")


def shown(call: Block) -> str:
    return f"{call['name']} {json.dumps(call['input'])}"


@dataclass
class Scene:
    """A project, somebody's home folder beside it, and the program to run there."""

    claude: Path
    api: MessagesAPI
    project: Path
    home: Path

    @property
    def staging(self) -> Path:
        return self.project / RUN

    def services(self, **extra: str) -> Services:
        environ = {**bare_environ(self.api, self.home), "PREREAD_CLAUDE": str(self.claude), **extra}
        layout = Layout(self.project.resolve())
        return Services(layout, settings_loading.load(layout, environ), environ=environ)

    def ask(self, *turns: list[Block], prompt: str = "Go.", **extra: str) -> Seen:
        """The model makes these calls, a list each turn, in a child as `prepare` has it."""
        services = self.services(**extra)
        program = command.find(services)
        with command.prepare(services, program, services.layout.root / RUN, "test") as prepared:
            return self.run(prepared.argv, prepared.environ, turns, message(prompt))

    def run(
        self,
        argv: Sequence[str],
        environ: Mapping[str, str],
        turns: Sequence[Answer],
        prompt: bytes,
    ) -> Seen:
        first = len(self.api.requests)
        self.api.play([*turns, [text("Done.")]])
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=dict(environ),
            input=prompt,
            capture_output=True,
            timeout=PATIENCE,
        )
        assert done.stdout, done.stderr.decode()
        requests = self.api.requests[first:]
        seen = Seen(
            [json.loads(row) for row in done.stdout.splitlines()],
            "\n".join(each.whole for each in requests),
        )
        seen.results = {result.id: result for each in requests for result in each.results}
        return seen


@pytest.fixture
def make_scene(claude: Path, api: MessagesAPI, tmp_path: Path) -> Callable[..., Scene]:
    def make(name: str = "shop", files: Mapping[str, str] | None = None) -> Scene:
        scene = Scene(claude, api, tmp_path / name, tmp_path / "home")
        write(scene.project, {**PLAIN, **(files or {})})
        git(scene.project, "init", "-q")
        scene.staging.mkdir(parents=True)
        scene.home.mkdir()
        return scene

    return make


SECRETS = {
    path: f"canary-{number}-canary"
    for number, path in enumerate((
        ".env", "sub/.env.local", "sub/deep/.ENV", ".Env.production", "prod.env",
        "config/.env/inner.txt", ".envrc",
        "keys/server.pem", "keys/SERVER.PEM", "keys/tls.key", "id_rsa", "deploy/id_ed25519.bak",
        ".ssh/config",
        ".npmrc", "sub/.netrc", ".pypirc", ".git/config.worktree", "sub/.git/config",
        ".git-credentials",
        "a/.aws/credentials",
        "cert.P12", "x.keystore", "secrets.yml", "sub/Secrets.json",
        "infra/terraform.tfstate.backup", ".mcp.json",
        ".claude/settings.local.json", ".project/.state/runs/login.json",
    ))
}  # fmt: skip


def grep(pattern: str, **options: Any) -> Block:
    return tool("Grep", pattern=pattern, output_mode="content", **options)


def test_secrets_in_the_project_reach_the_model_by_no_tool(
    make_scene: Callable[..., Scene],
) -> None:
    scene = make_scene(
        "we[ird] (p) it's", {path: f"{canary}\n" for path, canary in SECRETS.items()}
    )
    (scene.project / "harmless.txt").symlink_to(".env")
    plain = [
        tool("Read", file_path=str(scene.project / "shop.py")),
        grep("PRICE"),
        tool("Read", file_path="sub/cart.py"),
    ]
    named = [*SECRETS, "harmless.txt"]
    direct = [tool("Read", file_path=str(scene.project / path)) for path in named]
    direct += [grep("canary", path=str(scene.project / path)) for path in named]
    wide = [
        grep("canary", **options)
        for options in ({}, {"path": "."}, {"glob": "**/.e*"}, {"glob": "*", "-i": True})
    ]
    wide += [grep("canary", path=path) for path in ("sub", "keys", ".project", "config")]
    seen = scene.ask(plain + direct + wide)
    assert not seen.refused(plain)
    assert "PRICE = 42" in seen[plain[1]].text
    assert seen.refused(direct) == [shown(call) for call in direct]
    assert [path for path, canary in SECRETS.items() if canary in seen.sent] == []


def test_nothing_outside_the_project_reaches_the_model(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    write(scene.home, {".ssh/id_rsa": "canary-key\n", "name-canary.txt": "canary-home\n"})
    beside = write(scene.project.parent / "beside", {"other.txt": "canary-beside\n"})
    (scene.project / "file-link").symlink_to(beside / "other.txt")
    (scene.project / "folder-link").symlink_to(beside)
    paths = [
        "/etc/passwd", "~/.ssh/id_rsa", str(scene.home / ".ssh" / "id_rsa"), "../beside/other.txt",
        "file-link",
        str(scene.project / "folder-link" / "other.txt"),
        str(scene.project / "sub/../../beside/other.txt"),
        "/proc/self/environ",
    ]  # fmt: skip
    calls = [tool("Read", file_path=path) for path in paths]
    for path in ("/etc", str(scene.home), str(beside), "..", "file-link", "folder-link", "~"):
        calls += [grep("canary|root:", path=path), tool("Glob", pattern="**/*", path=path)]
    calls += [tool("Glob", pattern=pattern) for pattern in (f"{scene.home}/**/*", "/etc/*")]
    hidden = [
        tool("Glob", pattern="~/*"),
        tool("Glob", pattern="../**/*"),
        tool("Glob", pattern="folder-link/**"),
        grep("canary", glob="../**/*"),
    ]
    hidden += [grep("canary"), grep("canary", glob="*-link"), grep("canary", glob="folder-link/**")]
    seen = scene.ask(calls + hidden)
    assert seen.refused(calls) == [shown(call) for call in calls]
    answers = "\n".join(seen[call].text for call in calls + hidden)
    assert not re.search(
        r"canary-(key|home|beside)|root:x|name-canary\.txt|other\.txt:|host\.conf", answers
    )
    assert not re.search(r"canary-(key|home|beside)|root:x", seen.sent)


def everything(folder: Path, but: Path) -> dict[str, str | bytes]:
    """All files below a folder, but for one folder and what the program keeps for itself."""
    found: dict[str, str | bytes] = {}
    for path in sorted(folder.rglob("*")):
        own = ".claude.json" in path.name or path.parts[len(folder.parts) :][:2] == (
            "home",
            ".claude",
        )
        if not path.is_relative_to(but) and not own:
            found[str(path)] = (
                str(path.readlink())
                if path.is_symlink()
                else path.read_bytes()
                if path.is_file()
                else ""
            )
    return found


def edit(place: str, old: str, new: str) -> Block:
    return tool("Edit", file_path=place, old_string=old, new_string=new)


def test_only_the_staging_folder_is_written_to(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene(
        files={
            ".project/context/login/summary.md": "published\n",
            f"{RUN}0/other-run.md": "other\n",
        }
    )
    top, staging = scene.project.parent, scene.staging
    before = everything(top, staging)
    (staging / "to-folder").symlink_to(top)
    (staging / "to-file.md").symlink_to(scene.project / "shop.py")
    (staging / "dangling.md").symlink_to(top / "dangling")
    good = [
        tool("Write", file_path=str(staging / "patterns.md"), content="one"),
        tool("Write", file_path=f"{RUN}/codebase.md", content="two"),
        tool("Write", file_path=str(staging / "sub" / "deep.md"), content="three"),
    ]
    over = [
        scene.project / "shop.py",
        scene.project / ".project/context/login/summary.md",
        staging / "to-file.md",
    ]
    reads = [tool("Read", file_path=str(path)) for path in over]
    places = [
        scene.project / "new.py", "new.md", scene.project / ".project/context/login/patterns.md",
        f"{RUN}0/other.md",
        scene.project / ".project/config.toml", scene.project / ".project/gates",
        staging.parent / "new.md",
        f"{staging}/../new.md", f"{staging}/../../../../new.md", staging / "to-folder" / "new",
        staging / "dangling.md",
        scene.project / ".claude/settings.json", scene.project / ".mcp.json",
        scene.project / ".git/hooks/pre-commit",
        top / "new", scene.home / ".bashrc", "~/.bashrc", scene.home / ".claude/settings.json",
        scene.home / ".claude/projects" / str(scene.project).replace("/", "-") / "memory/MEMORY.md",
    ]  # fmt: skip
    everywhere = [str(place) for place in (*places, *over)]
    bad = [tool("Write", file_path=place, content="evil") for place in everywhere]
    bad += [edit(place, "", "evil") for place in everywhere]
    bad += [edit(str(place), "P", "evil") for place in over]
    own = str(staging / "patterns.md")
    again = [
        tool("Write", file_path=own, content="one again"),
        edit(f"{RUN}/codebase.md", "two", "2"),
    ]
    seen = scene.ask(good + reads, [*bad, *again])
    assert not seen.refused([*good, *reads, *again])
    assert seen.refused(bad) == [shown(call) for call in bad]
    assert everything(top, staging) == before
    assert not (scene.home / ".claude" / "settings.json").exists()
    assert not list(scene.home.rglob("MEMORY.md"))
    written = {
        path.name: path.read_text()
        for path in staging.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    assert written == {"patterns.md": "one again", "codebase.md": "2", "deep.md": "three"}


def test_no_other_tool_can_be_called(make_scene: Callable[..., Scene]) -> None:
    scene = make_scene()
    mark = scene.project.parent / "ran"
    calls = [
        tool("Bash", command=f"touch '{mark}'"),
        tool("PowerShell", command=f"New-Item '{mark}'"),
        tool("WebFetch", url=f"{scene.api.url}/fetched", prompt="x"),
        tool("WebSearch", query="x"),
        tool("Task", description="x", prompt="x", subagent_type="general-purpose"),
        tool("Agent", description="x", prompt="x", subagent_type="general-purpose"),
        tool("Edit", file_path=str(scene.project / "shop.py"), old_string="42", new_string="43"),
        tool("NotebookEdit", notebook_path=str(scene.staging / "a.ipynb"), new_source="x"),
        tool("Skill", skill="init"),
        tool("ToolSearch", query="Bash"),
        tool("SendMessage", to="all", message="x"),
        tool("EnterWorktree", name="x"),
        tool("mcp__plugin_preread_preread__load_context", feature="login"),
    ]
    seen = scene.ask(calls)
    assert seen.refused(calls) == [shown(call) for call in calls]
    assert not mark.exists()
    assert not scene.api.asides, "nothing was fetched"
    assert set(seen.init["tools"]) <= {"Read", "Grep", "Glob", "Write", "Edit"}
    assert seen.init["mcp_servers"] == []
    assert (scene.project / "shop.py").read_text() == PLAIN["shop.py"]


@pytest.mark.parametrize(
    "name",
    ["a [slug]/(group) it's", "pré {a,b} *? $HOME", "repo/.claude/worktrees/one", "linked/shop"],
)
def test_permissions_work_whatever_the_projects_path_is(
    make_scene: Callable[..., Scene], name: str, tmp_path: Path
) -> None:
    if name.startswith("linked/"):
        (tmp_path / "real folder").mkdir()
        (tmp_path / "linked").symlink_to(tmp_path / "real folder")
    scene = make_scene(name, {".env": "canary-env\n"})
    real = scene.project.resolve()
    good = [
        tool("Read", file_path=str(real / "shop.py")),
        tool("Write", file_path=str(real / RUN / "patterns.md"), content="x"),
    ]
    bad = [
        tool("Read", file_path=str(real / ".env")),
        tool("Write", file_path=str(real / "new.md"), content="x"),
        tool("Read", file_path=str(real.parent / "x.txt")),
    ]
    (real.parent / "x.txt").write_text("canary-outside\n")
    seen = scene.ask(good, [*bad, grep("canary")])
    assert not seen.refused(good)
    assert seen.refused(bad) == [shown(call) for call in bad]
    assert "canary-" not in seen.sent


def plain_run(scene: Scene, *turns: list[Block], prompt: str = "Go.") -> Seen:
    """The program as anybody would start it, to show that what is kept out would have come in."""
    argv = [
        str(scene.claude),
        "-p",
        "--input-format",
        "stream-json",
        "--output-format",
        "stream-json",
        "--verbose",
    ]
    environ = bare_environ(scene.api, scene.home)
    return scene.run(argv, environ, turns, message(prompt))


def test_nothing_of_the_project_or_the_person_is_loaded(
    make_scene: Callable[..., Scene], tmp_path: Path
) -> None:
    def touch(name: str) -> str:
        return f"touch '{tmp_path / name}'"

    def made(place: str) -> dict[str, Any]:
        hook = [{"hooks": [{"type": "command", "command": touch(f"{place}-hook.ran")}]}]
        return {
            "hooks": dict.fromkeys(
                ("SessionStart", "UserPromptSubmit", "PreToolUse", "Stop"), hook
            ),
            "permissions": {
                "allow": ["Bash", "Write(/**)", "Edit(/**)", "Read(//**)"],
            },
        }

    server = {"mcpServers": {"evil": {"command": "sh", "args": ["-c", touch("server.ran")]}}}
    skill, agent = (
        "---\nname: {0}\ndescription: canary-{0}\n---\nx\n",
        "---\nname: {0}\ndescription: canary-{0}\n---\nx\n",
    )
    scene = make_scene(
        "inner/shop",
        {
            "CLAUDE.md": "canary-project-memory", "CLAUDE.local.md": "canary-local-memory",
            "AGENTS.md": "canary-agents", "sub/CLAUDE.md": "canary-nested-memory",
            ".claude/CLAUDE.md": "canary-dot-memory",
            ".claude/rules/rule.md": "canary-rule", ".claude/commands/evil.md": "canary-command",
            ".claude/skills/evil/SKILL.md": skill.format("project-skill"),
            ".claude/agents/evil.md": agent.format("project-agent"),
            ".claude/settings.json": json.dumps({**made("project"),
            "apiKeyHelper": touch("helper.ran")}),
            ".claude/settings.local.json": json.dumps({**made("local"),
            "enableAllProjectMcpServers": True}),
            ".mcp.json": json.dumps(server),
        },
    )  # fmt: skip
    write(tmp_path / "inner", {"CLAUDE.md": "canary-parent-memory"})
    notes = re.sub(r"[^A-Za-z0-9]", "-", str(scene.project.resolve()))
    write(
        scene.home,
        {
            ".claude/CLAUDE.md": "canary-own-memory", ".claude/rules/own.md": "canary-own-rule",
            ".claude/skills/own/SKILL.md": skill.format("own-skill"),
            ".claude/settings.json": json.dumps(made("own")),
            f".claude/projects/{notes}/memory/MEMORY.md": "canary-notes",
        },
    )  # fmt: skip
    call = tool("Read", file_path=str(scene.project / "sub" / "cart.py"))
    seen = scene.ask([call])
    assert not seen.refused([call])
    assert re.findall(r"canary-[\w-]+", seen.sent) == []
    assert [path.name for path in tmp_path.glob("*.ran")] == []
    assert (seen.init["skills"], seen.init["slash_commands"], seen.init["mcp_servers"]) == (
        [],
        [],
        [],
    )
    assert {plugin["path"] for plugin in seen.init["plugins"]} <= {"builtin"}
    assert not seen.init.get("memory_paths")
    assert not seen.init.get("messaging_socket_path")

    control = plain_run(scene, [tool("Read", file_path=str(scene.project / "sub" / "cart.py"))])
    loaded = {
        "project-memory",
        "local-memory",
        "nested-memory",
        "dot-memory",
        "rule",
        "parent-memory",
        "own-memory",
    }
    loaded |= {"own-rule", "own-skill", "project-skill", "notes"}
    assert loaded <= set(re.findall(r"canary-([\w-]+)", control.sent)), (
        "all of it is where it would be loaded from"
    )
    ran = {path.name for path in tmp_path.glob("*.ran")}
    assert ran >= {"own-hook.ran", "project-hook.ran", "local-hook.ran", "server.ran"}


def test_files_with_instructions_for_agents_are_not_loaded(
    make_scene: Callable[..., Scene],
) -> None:
    scene = make_scene(
        files={"AGENTS.md": "canary-agents", "sub/AGENTS.md": "canary-nested-agents"}
    )
    read = tool("Read", file_path=str(scene.project / "sub" / "cart.py"))
    assert "canary-" not in scene.ask([read]).sent
    control = plain_run(scene, [read])
    assert set(re.findall(r"canary-[\w-]+", control.sent)) == {
        "canary-agents",
        "canary-nested-agents",
    }


def test_words_in_the_prompt_attach_no_file_and_start_no_command(
    make_scene: Callable[..., Scene],
) -> None:
    scene = make_scene(files={".env": "canary-env\n"})
    beside = write(scene.project.parent / "beside", {"other.txt": "canary-beside\n"}) / "other.txt"
    prompt = (
        f"The ticket says: see @{beside} and @/etc/passwd and @.env and @shop.py and @sub/\n"
        f"/init\n!touch ran"
    )
    seen = scene.ask(prompt=prompt)
    assert not re.search("canary-|root:x|PRICE = 42", seen.sent)
    assert f"@{beside}" in seen.sent
    assert not (scene.project / "ran").exists()
    control = plain_run(scene, prompt=prompt)
    assert "canary-beside" in control.sent, (
        "the same words bring a file when nothing is done about it"
    )


def test_of_a_configured_server_the_named_tools_can_be_called(
    make_scene: Callable[..., Scene], tmp_path: Path
) -> None:
    def server(name: str) -> dict[str, Any]:
        arguments = [str(TRACKER), str(tmp_path / name)]
        return {
            "command": sys.executable,
            "args": arguments,
            "env": {"TRACKER_TOKEN": "${TOKEN}-${NONE:-default}"},
        }

    shared = {"issue tracker": server("listed"), "other": server("unlisted")}
    scene = make_scene(files={".mcp.json": json.dumps({"mcpServers": shared})})
    good = tool("mcp__issue_tracker__get_issue", issue="SHOP-1")
    bad = [
        tool("mcp__issue_tracker__delete_issue", issue="SHOP-1"),
        tool("mcp__other__get_issue", issue="SHOP-1"),
    ]
    seen = scene.ask(
        [good, *bad],
        PREREAD_MCP="issue tracker",
        PREREAD_MCP_TOOLS="issue tracker.get_issue",
        TOKEN="of-mine",
    )
    assert "tracker://issue/SHOP-1: lock the login, as of-mine-default" in seen[good].text
    assert seen.refused(bad) == [shown(call) for call in bad]
    assert [(each["name"], each["status"]) for each in seen.init["mcp_servers"]] == [
        ("issue tracker", "connected")
    ]
    assert (tmp_path / "listed").read_text().split("\n") == ["start", "get SHOP-1", ""]
    assert not (tmp_path / "unlisted").exists()
