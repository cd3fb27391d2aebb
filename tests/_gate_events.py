"""Random events for fuzzing the gates: as Claude Code writes them, and any other JSON."""

import itertools
import json
import random
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from _gate_commands import Commands
from _gate_rows import Scene
from _gate_worlds import FEATURES, FOLDERS, NAMES

PARTS = (
    *FOLDERS, "..", ".", "nested", ".project", ".project/context/login", ".project/.state",
    ".PROJECT", "ünï",
    ".draft",
    "$(touch pwned)", "`touch pwned`", "a\\b", "x\ny", "a#b", "", "tests/nested", "a}b",
)  # fmt: skip
LAST = (
    *NAMES, "gates", "config.toml", "summary.md", "knowledge.md", "gates-off", "*.ts", "-x.spec.ts",
    "", "l.ts",
    "notes",
    "it's \"q\".spec.ts", "x\u202ey.spec.ts", "log\nin.spec.ts", "😀 login.spec.ts",
    "a" * 300 + ".spec.ts",
    "pwned.ts",
    "$(touch pwned).spec.ts", "`touch pwned`.spec.ts", "xloginy", "LOGIN.SPEC.TS",
    "tests\\login.spec.ts",
    "x;touch pwned",
)  # fmt: skip
CONTENTS = (
    "x", "", 'import x\n"file_path": "/a"\n',
    '{"tool_name":"Read","tool_input":{"file_path":"/a"}}', "\\", '\\"',
    "é😀\u2028",
    "$(touch pwned)`touch pwned`", '","file_path":"/a', "\0\x01\x7f", "\ud800 \udfff",
    '","tool_input":{"',
    "</x>\t\r\n", "'\"",
)  # fmt: skip
SENTENCES = (
    "feature: {}", "feature={}", 'feature="{}"', '{{"feature": "{}"}}', "**Feature:** {}",
    "Feature: `{}`",
    "Look at `{}`.",
    "Look at '{}', and at it's tests.", 'Look at "{}"', "Extend tests/{}.spec.ts",
    "See (tests/{}.spec.ts:12).",
    "In `tests/{} x.ts`.",
    "Plan what {} needs.", "write a test plan for the {} flow", "Tests for {}.",
    "Test cases for the {}, please",
    "the {} page",
    "The new {} page", "tests for {} in Chrome", "Do it.", "Don't.", "feature: the",
    "the existing flow",
    "$(touch pwned)",
    "features: {}", "feature:\n{}", "docs/api.md", ".draft/tests/{}.spec.ts",
    "the {} and the {} dialog",
    "Look at 'a b'",
    "feature = '{}' # x", "myfeature: {}", "`code`", "測試 \"{}\"", "(feature={})", "see {}/x.ts",
    "`{}`/`{}`",
)  # fmt: skip
OTHER_NAMES = (
    "Login", "sign up", "log_in", "mail rules", "MAIL-RULES", "test", "_project", "con",
    "login-errors",
    "no such thing at all",
)  # fmt: skip
AGENTS = (
    "test-planner", "test-planner", "test-planner", "preread:test-planner", "other:test-planner",
    "reviewer",
    "preread:reviewer",
    "other:reviewer", "general-purpose", "Test-Planner", "test-planner ", "",
)  # fmt: skip
TOOLS = (
    ("Write",) * 6
    + ("Edit",) * 4
    + ("MultiEdit", "NotebookEdit")
    + ("Bash",) * 9
    + ("Agent",) * 5
    + ("Task", "Read")
)
ENVIRONMENTS = (
    {"PREREAD_GATES": "off"}, {"PREREAD_GATES": "warn"}, {"PREREAD_GATES": "block"},
    {"PREREAD_GATES": "x$(touch pwned)"},
    {"PREREAD_GATES": ""}, {"CI": "true"}, {"CI": "0"}, {"CI": "False"}, {"CI": ""},
    {"PREREAD_CHILD": "1"},
    {"PREREAD_CHILD": ""}, {"PREREAD_GATES": "OFF", "CI": "1"},
)  # fmt: skip
SPOILT = (None, 7, "", [], ["a"], {}, {"file_path": "/a"}, True, "\0", "a\ud800", "Write")
FOLDERS_OF_SESSIONS = (
    "@P",
    "@P/tests",
    "@B/q",
    "@B",
    "/nowhere",
    "tests",
    "",
    "@P/link",
    "@P/../p/.",
    "$(touch pwned)",
)


class Event(NamedTuple):
    """One call of a hook."""

    hook: str
    data: bytes
    env: dict[str, str]


class Events:
    """An endless row of events about one project."""

    def __init__(
        self, rng: random.Random, scene: Scene, sessions: Iterator[int] | None = None
    ) -> None:
        self.rng, self.scene = rng, scene
        self.sessions = sessions or itertools.count()
        self.links = [
            (path.name, str(path.readlink()))
            for path in scene.project.iterdir()
            if path.is_symlink()
        ]
        gates = scene.project / ".project" / "gates"
        text = gates.read_text(errors="replace") if gates.is_file() else ""
        self.patterns = [
            line.strip(" \t\r!") for line in text.split("\n") if "/" in line or "{feature}" in line
        ] or ["*"]
        contexts = (scene.project / ".project" / "context").glob("*")
        self.dossiers = sorted(path.name for path in contexts) or ["login"]
        self.existing = sorted(str(path) for path in scene.project.rglob("*.*s"))

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def path(self) -> str:
        rng = self.rng
        if self.existing and self.chance(0.15):
            return rng.choice(self.existing)
        if self.chance(0.4):
            return f"{self.scene.project}/{self.disguised(self.fitting(rng.choice(self.patterns)))}"
        parts = (
            [rng.choice(PARTS) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
            if self.chance(0.3)
            else []
        )
        usual = rng.choice(FOLDERS) if self.chance(0.8) else ""
        name = rng.choice(NAMES if self.chance(0.7) else LAST)
        path = "/".join([*filter(None, [*parts, usual]), name])
        how = rng.random()
        if how < 0.72:
            return f"{self.scene.project}/{path}"
        if how < 0.85:
            return path
        start = rng.choice(
            (
                f"{self.scene.base}/q/",
                f"/{self.scene.project}/",
                f"{self.scene.project}/nested/",
                f"{self.scene.base}/data/",
                "C:\\",
            )
        )
        return start + path

    def fitting(self, pattern: str) -> str:
        """A path that a pattern names."""
        rng = self.rng
        pattern = re.sub(r"[ \t]+#.*", "", pattern).replace("{feature}", rng.choice(FEATURES))
        folders = rng.choice(("", "", "tests/", "a b/", "src/x/"))
        path = (
            pattern.replace("**/", folders)
            .replace("**", rng.choice(("x", "x/y")))
            .replace("*", rng.choice(("", "x")))
        )
        return path.replace("?", "q").removeprefix("./").lstrip("/")

    def disguised(self, path: str) -> str:
        """The same file, or its draft, by another name."""
        rng = self.rng
        how = rng.random()
        if how < 0.15:
            return f".draft/{path}"
        if how < 0.25:
            return path.replace("/", "/.draft/", 1)
        if how < 0.3:
            return rng.choice(("./", "src/../", "nested/", "/")) + path
        for name, target in self.links:
            if path.startswith(f"{target}/") and self.chance(0.7):
                return name + path.removeprefix(target)
        return path

    def relative(self) -> str:
        path = self.path()
        return (
            path.removeprefix(f"{self.scene.project}/") or "." if self.chance(0.8) else path or "."
        )

    def prompt(self) -> str:
        rng = self.rng
        known = (*FEATURES, *OTHER_NAMES) if self.chance(0.6) else self.dossiers
        sentences = [rng.choice(SENTENCES) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        words = [re.sub(r"\{\}", lambda _: rng.choice(known), each) for each in sentences]
        return rng.choice((" ", "\n", ". ")).join(words).replace("{{", "{").replace("}}", "}")

    def given(self, tool: str) -> dict[str, Any]:
        if tool == "Bash":
            paths = [
                path
                for path in (self.relative() for _ in range(4))
                if not re.search("[\0\ud800-\udfff]", path)
            ]
            return {
                "command": Commands(self.rng, paths or ["x"]).text(),
                "description": self.rng.choice(CONTENTS),
            }
        if tool in {"Agent", "Task"}:
            return {
                "description": "x",
                "prompt": self.prompt(),
                "subagent_type": self.rng.choice(AGENTS),
            }
        key = "notebook_path" if tool == "NotebookEdit" else "file_path"
        content = self.rng.choice(CONTENTS)
        if self.chance(0.05):  # large, or near the end of what the hooks' front reads by itself
            content = self.rng.choice(("x", "é", '"', "a\n")) * self.rng.choice(
                (300, 7900, 8000, 8100, 15900, 16100, 60_000)
            )
            content += "x" * self.rng.randint(0, 200)
        given = {key: self.path(), "content": content}
        if self.chance(0.1):
            given["edits"] = [{"file_path": self.path(), key: self.path()}]
        return given

    def event(self) -> Event:
        rng = self.rng
        tool = rng.choice(TOOLS)
        cwd = (
            str(self.scene.project)
            if self.chance(0.85)
            else self.scene.filled(rng.choice(FOLDERS_OF_SESSIONS))
        )
        event: dict[str, Any] = {
            "session_id": f"session-{next(self.sessions)}", "transcript_path": "/t.jsonl",
            "cwd": cwd,
            "prompt_id": "p", "permission_mode": "default", "effort": {"level": "medium"},
            "hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": self.given(tool),
            "tool_use_id": "t1",
        }  # fmt: skip
        if self.chance(0.04):
            self.spoil(event)
        hook = "pre-task-gate" if tool in {"Agent", "Task"} else "pre-spec-write"
        if self.chance(0.01):
            hook = "pre-task-gate" if hook == "pre-spec-write" else "pre-spec-write"
        env = dict(rng.choice(ENVIRONMENTS)) if self.chance(0.12) else {}
        if self.chance(0.3):
            env["CLAUDE_PROJECT_DIR"] = self.scene.filled(rng.choice(FOLDERS_OF_SESSIONS))
        if self.chance(0.1):
            env["CLAUDE_PLUGIN_DATA"] = str(self.scene.base / "data")
        return Event(hook, self.written(event), env)

    def spoil(self, event: dict[str, Any]) -> None:
        """Something of another type, or away."""
        fields = event if self.chance(0.5) else event["tool_input"]
        key = self.rng.choice(sorted(fields))
        if self.chance(0.4):
            del fields[key]
        else:
            fields[key] = self.rng.choice(SPOILT)

    # -- as text

    def written(self, event: dict[str, Any]) -> bytes:
        if self.chance(0.6):
            text = json.dumps(event, separators=(",", ":"), ensure_ascii=self.chance(0.2))
        else:
            text = self.value(event, self.chance(0.5))
        data = re.sub(
            "[\ud800-\udfff]", lambda found: f"\\u{ord(found.group()):04x}", text
        ).encode()
        return self.broken(data) if self.chance(0.03) else data

    def space(self) -> str:
        return self.rng.choice(("", "", "", " ", "\t", "\n", "\r\n ", "  "))

    def value(self, value: Any, odd: bool) -> str:
        if isinstance(value, str):
            return self.string(value, odd)
        if isinstance(value, list):
            return (
                f"[{self.space()}"
                + ",".join(self.space() + self.value(each, odd) for each in value)
                + "]"
            )
        if not isinstance(value, dict):
            return json.dumps(value)
        pairs = list(value.items())
        if odd:
            self.rng.shuffle(pairs)
        written = []
        for key, each in pairs:
            if odd and self.chance(0.05):  # the same key before: it does not count
                written.append(
                    self.pair(
                        key,
                        self.rng.choice(("Write", "Read", "/a", {"file_path": "/a"}, None)),
                        odd,
                    )
                )
            written.append(self.pair(key, each, odd))
        return f"{self.space()}{{" + ",".join(written) + f"}}{self.space()}"

    def pair(self, key: str, value: Any, odd: bool) -> str:
        name, inner = f"{self.space()}{self.string(key, odd)}{self.space()}", self.space()
        return f"{name}:{inner}{self.value(value, odd)}{self.space()}"

    def string(self, text: str, odd: bool) -> str:
        """A string with escapes where none is needed."""
        share = self.rng.choice((0.0, 0.02, 0.3)) if odd and len(text) < 1000 else 0.0
        if not share:
            return json.dumps(text, ensure_ascii=False)
        return '"' + "".join(self.character(char, share) for char in text) + '"'

    def character(self, char: str, share: float) -> str:
        if self.rng.random() >= share:
            return json.dumps(char, ensure_ascii=False)[1:-1]
        if char == "/":
            return "\\/"
        units = char.encode("utf-16-be", "surrogatepass")
        form = self.rng.choice(("{:04x}", "{:04X}"))
        return "".join(
            "\\u" + form.format(int.from_bytes(units[i : i + 2])) for i in range(0, len(units), 2)
        )

    def broken(self, data: bytes) -> bytes:
        """Not quite an event; often no JSON any more."""
        rng, place = self.rng, self.rng.randint(0, len(data))
        junk = rng.choice(
            (
                b"",
                b"\0",
                b'"',
                b"\\",
                b"}",
                b"{",
                b"\xff",
                b",",
                b"\n",
                b"\xed\xa0\x80",
                b"NaN",
                b"[" * 5000,
                b"\xef\xbb\xbf",
            )
        )
        how = rng.random()
        if how < 0.3:
            return data[:place]
        if how < 0.7:
            return data[:place] + junk + data[place:]
        if how < 0.8:
            return junk + data
        return (
            data + junk
            if how < 0.9
            else rng.choice((b"", b"[]", b"null", b"{}", b"7", b'"x"', b"[" + data + b"]"))
        )
