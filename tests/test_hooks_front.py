"""The gates as processes: accidents let a call through, and bash passes what hook.py passes."""

import ast
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from _files_project import ignores_permissions
from _processes import until
from conftest import ROOT
from preread.gates import events, file_gate, stop_words

HOOKS = ROOT / "hooks"
SCRIPTS = sorted(path for path in HOOKS.iterdir() if path.is_file() and path.suffix in {"", ".sh"})
LIBRARY = ROOT / "server" / "preread" / "gates"
MODULES = [HOOKS / "hook.py", *sorted(LIBRARY.glob("*.py"))]
# More shells to test with: PREREAD_TEST_BASH=/opt/bash-3.2/bash:/opt/bash-4.0/bash.
SHELLS = ["/bin/bash", *filter(None, os.environ.get("PREREAD_TEST_BASH", "").split(":"))]
NOT_BLOCKED = "; nothing was blocked"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs bash and POSIX processes")


def event(tool: str, cwd: Path, **fields: Any) -> bytes:
    sent = {"session_id": "0123456789abcdef", "cwd": str(cwd), "effort": {"level": "medium"}}
    sent |= {
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_input": fields,
        "tool_use_id": "toolu_1",
    }
    return json.dumps(sent, separators=(",", ":"), ensure_ascii=False).encode()


def run(
    hook: Path, data: bytes, env: Mapping[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The answer of a hook, which ends with 0 and says nothing on stderr; {} for none."""
    done = subprocess.run(
        [hook], input=data, env=dict(env or {}), capture_output=True, timeout=60, **more
    )
    assert (done.returncode, done.stderr) == (0, b""), done
    assert done.stdout.count(b"\n") == bool(done.stdout)
    return json.loads(done.stdout) if done.stdout else {}


def is_block(answer: Mapping[str, Any]) -> bool:
    return answer.get("hookSpecificOutput", {}).get("permissionDecision") == "deny"


def is_failure(answer: Mapping[str, Any]) -> bool:
    """One visible line, and nothing for the model."""
    line = answer.get("systemMessage", "")
    return (
        set(answer) == {"systemMessage"}
        and line.startswith("preread: ")
        and line.endswith(NOT_BLOCKED)
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / 'a project\'s "folder" $(x)'
    (root / ".project").mkdir(parents=True)
    (root / ".project" / "gates").write_text("**/{feature}.spec.ts\n")
    return root


@pytest.fixture
def gated(project: Path) -> bytes:
    """A call that is blocked where nothing is wrong."""
    return event("Write", project, file_path=str(project / "tests/login.spec.ts"), content="x")


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """The hooks of a plugin in a folder with an odd name, where a test may break them."""
    plugin = tmp_path / 'plug in\'s "cache"'
    place = plugin / "hooks"
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HOOKS, place, ignore=ignored)
    shutil.copytree(LIBRARY, plugin / "server" / "preread" / "gates", ignore=ignored)
    shutil.copy(LIBRARY.parent / "__init__.py", plugin / "server" / "preread")
    return place


def gates_of(hooks: Path) -> Path:
    """The folder of the modules that these hooks import."""
    return hooks.parent / "server" / "preread" / "gates"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    place = tmp_path / "plugin's data"
    place.mkdir()
    return place


def program(place: Path, text: str) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    place.chmod(0o755)
    return place


# -- accidents


def without_library(hooks: Path) -> None:
    shutil.rmtree(gates_of(hooks))


def with_a_broken_library(hooks: Path) -> None:
    (gates_of(hooks) / "events.py").write_text("def (:\n")


def with_a_broken_decision(hooks: Path) -> None:
    (gates_of(hooks) / "file_gate.py").write_text(
        "def decide(event, environ):\n    raise SystemExit(2)\n"
    )


def without_a_module(hooks: Path) -> None:
    (gates_of(hooks) / "rules.py").unlink()


def without_hook_py(hooks: Path) -> None:
    (hooks / "hook.py").unlink()


def with_a_broken_hook_py(hooks: Path) -> None:
    (hooks / "hook.py").write_text("def (:\n")


def without_the_front(hooks: Path) -> None:
    (hooks / "_front.sh").unlink()


def with_half_a_front(hooks: Path) -> None:
    (hooks / "_front.sh").write_text("case x in\n")


@pytest.mark.parametrize(
    "break_it",
    [
        without_library,
        with_a_broken_library,
        with_a_broken_decision,
        without_a_module,
        without_hook_py,
        with_a_broken_hook_py,
        without_the_front,
        with_half_a_front,
    ],
)
@pytest.mark.parametrize("hook", ["pre-spec-write", "pre-task-gate"])
def test_a_broken_plugin_lets_the_call_through_and_says_so(
    installed: Path, project: Path, break_it: Callable[[Path], None], hook: str
) -> None:
    if hook == "pre-task-gate" and break_it is with_a_broken_decision:
        pytest.skip("that module is the other hook's")
    calls = {
        "pre-spec-write": event(
            "Write", project, file_path=str(project / "tests/login.spec.ts"), content="x"
        ),
        "pre-task-gate": event(
            "Agent", project, subagent_type="test-planner", prompt="feature: login"
        ),
    }
    assert is_block(run(installed / hook, calls[hook]))
    break_it(installed)
    assert is_failure(run(installed / hook, calls[hook]))


def test_without_the_fast_path_hook_py_decides(installed: Path, gated: bytes) -> None:
    (installed / "_fast_path.sh").unlink()
    assert is_block(run(installed / "pre-spec-write", gated))


@pytest.mark.parametrize(
    "text",
    [
        "#!/bin/sh\nexit 2\n",
        "#!/bin/sh\nexit 0\n",
        "#!/bin/sh\necho Traceback; exit 1\n",
        "#!/bin/sh\nkill -9 $$\n",
        "#!/bin/sh\necho '{\"half\": '\n",
        "#!/nowhere/python\n",
        "no program",
    ],
)
def test_a_python_that_fails_lets_the_call_through_and_says_so(
    data: Path, gated: bytes, text: str
) -> None:
    program(data / "python", text)
    assert is_failure(run(HOOKS / "pre-spec-write", gated, {"CLAUDE_PLUGIN_DATA": str(data)}))


def test_without_any_python_the_call_is_let_through(
    installed: Path, gated: bytes, tmp_path: Path
) -> None:
    front = installed / "_front.sh"
    places = " /usr/local/bin /opt/homebrew/bin /usr/bin /bin;"
    assert places in front.read_text()
    front.write_text(front.read_text().replace(places, ";"))
    answer = run(installed / "pre-spec-write", gated, {"PATH": str(tmp_path)})
    assert is_failure(answer)
    assert "no Python was found" in answer["systemMessage"]


def test_a_python_that_hangs_is_ended(data: Path, gated: bytes) -> None:
    seen = data / "its number"
    program(data / "python", f'#!/bin/sh\necho $$ > "{seen}"\nexec sleep 60\n')
    answer = run(
        HOOKS / "pre-spec-write",
        gated,
        {"CLAUDE_PLUGIN_DATA": str(data), "PATH": os.environ["PATH"]},
    )
    assert is_failure(answer)
    assert "took longer than five seconds" in answer["systemMessage"]
    number = int(seen.read_text())

    def has_ended() -> bool:
        try:
            return psutil.Process(number).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    until(has_ended, "the end of the Python that hangs")


def test_a_bash_that_does_not_know_the_id_of_a_hanging_python_kills_nothing_else(
    installed: Path, data: Path, gated: bytes
) -> None:
    program(data / "python", "#!/bin/sh\nexec sleep 15\n")
    front = installed / "_front.sh"
    text = front.read_text()
    older = text.replace("${!:", "${unset:").replace("$!", "$unset")
    assert older != text
    front.write_text(older)
    env = {"CLAUDE_PLUGIN_DATA": str(data), "PATH": os.environ["PATH"]}
    answer = run(installed / "pre-spec-write", gated, env, start_new_session=True)
    assert is_failure(answer)


def test_a_decision_that_hangs_ends_by_itself() -> None:
    command = [sys.executable, "-I", "-S", "-B", HOOKS / "hook.py", "pre-spec-write"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as hook:  # its event never ends
        assert hook.wait(timeout=30) == -signal.SIGALRM


def test_the_launchers_python_is_used_and_a_shim_is_not(
    data: Path, gated: bytes, tmp_path: Path
) -> None:
    (work := tmp_path / "work").mkdir()
    shim = program(
        tmp_path / "shims" / "python3", "#!/bin/sh\necho - ; touch 'the shim ran'\n"
    ).parent
    found = program(tmp_path / "found" / "python3", '#!/bin/sh\necho \'{"from": "PATH"}\'\n').parent
    (tmp_path / "folders" / "python3").mkdir(parents=True)
    env = {"PATH": f"{shim}:{tmp_path / 'folders'}:{found}", "CLAUDE_PLUGIN_DATA": str(data)}
    assert run(HOOKS / "pre-spec-write", gated, env, cwd=work) == {"from": "PATH"}
    program(data / "python", '#!/bin/sh\necho \'{"from": "data"}\'\n')
    assert run(HOOKS / "pre-spec-write", gated, env, cwd=work) == {"from": "data"}
    assert not (work / "the shim ran").exists()


def test_a_python_of_the_project_is_not_used(data: Path, gated: bytes, tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    evil = program(work / "python3", "#!/bin/sh\ntouch 'it ran'\n").parent
    found = program(tmp_path / "found" / "python3", '#!/bin/sh\necho \'{"from": "PATH"}\'\n').parent
    env = {"PATH": f".:{evil}::{found}", "CLAUDE_PLUGIN_DATA": str(data)}
    assert run(HOOKS / "pre-spec-write", gated, env, cwd=work) == {"from": "PATH"}
    elsewhere = {**env, "CLAUDE_PROJECT_DIR": str(work)}
    (other := tmp_path / "other").mkdir()
    assert run(HOOKS / "pre-spec-write", gated, elsewhere, cwd=other) == {"from": "PATH"}
    assert not (work / "it ran").exists()


# -- the surroundings of a call


@pytest.mark.parametrize(
    "what", ["a folder", "a FIFO", "no UTF-8", "a NUL", "too large", "a socket"]
)
def test_an_unusable_gates_file_lets_the_call_through_and_says_so(
    project: Path, gated: bytes, what: str
) -> None:
    import socket

    place = project / ".project" / "gates"
    contents = {
        "no UTF-8": b"**/x\n\xff\n",
        "a NUL": b"**/x\n\0\n",
        "too large": b"# x\n" * 300_000,
    }
    place.unlink()
    if what in contents:
        place.write_bytes(contents[what])
    elif what == "a FIFO":
        os.mkfifo(place)
    elif what == "a folder":
        place.mkdir()
    else:
        here = Path.cwd()
        os.chdir(place.parent)  # a socket's whole path has to be short
        try:
            with socket.socket(socket.AF_UNIX) as made:
                made.bind("gates")
        finally:
            os.chdir(here)
    answer = run(HOOKS / "pre-spec-write", gated)
    assert is_failure(answer)
    assert ".project/gates" in answer["systemMessage"]
    ungated = event("Write", project, file_path=str(project / "a.txt"), content="x")
    assert is_failure(run(HOOKS / "pre-spec-write", ungated))


@pytest.mark.parametrize("place", [".project/gates", ".project"])
def test_what_cannot_be_read_lets_the_call_through_and_says_so(
    project: Path, gated: bytes, place: str
) -> None:
    if ignores_permissions(project):
        pytest.skip("nothing is unreadable for this user")
    (project / place).chmod(0)
    try:
        assert is_failure(run(HOOKS / "pre-spec-write", gated))
    finally:
        (project / place).chmod(0o755)


def test_a_hook_works_when_its_working_directory_is_gone(gated: bytes, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'cd "$1" && rmdir "$1" && exec "$2"'
    done = subprocess.run(
        ["/bin/bash", "-c", script, "x", gone, HOOKS / "pre-spec-write"],
        input=gated,
        env={},
        capture_output=True,
    )
    assert is_block(json.loads(done.stdout))


def test_a_plugin_is_not_written_to(installed: Path, gated: bytes, data: Path) -> None:
    plugin = installed.parent
    before = {path: path.stat().st_mtime_ns for path in plugin.rglob("*")}
    assert is_block(run(installed / "pre-spec-write", gated))
    assert is_block(run(installed / "pre-spec-write", gated, {"CLAUDE_PLUGIN_DATA": str(data)}))
    assert {path: path.stat().st_mtime_ns for path in plugin.rglob("*")} == before
    assert list(data.rglob("file_gate*.pyc")), "bytecode is cached in the plugin's data folder"


@pytest.mark.parametrize("kind", ["missing", "a file"])
def test_a_missing_data_folder_does_not_matter(gated: bytes, tmp_path: Path, kind: str) -> None:
    place = tmp_path / "data"
    if kind == "a file":
        place.write_text("")
    assert is_block(run(HOOKS / "pre-spec-write", gated, {"CLAUDE_PLUGIN_DATA": str(place)}))


def test_variables_for_bash_and_python_do_not_matter(gated: bytes, tmp_path: Path) -> None:
    noise = program(tmp_path / "noise.sh", "echo noise; exit 3\n")
    env = {
        "BASH_ENV": str(noise),
        "ENV": str(noise),
        "SHELLOPTS": "errexit:nounset:noexec",
        "CDPATH": "/",
    }
    env |= {
        "BASH_FUNC_read%%": "() { echo noise; }",
        "BASH_FUNC_printf%%": "() { exit 2; }",
        "LC_ALL": "POSIX",
    }
    env |= {
        "PYTHONPATH": str(tmp_path),
        "PYTHONHOME": "/nowhere",
        "PYTHONSTARTUP": str(noise),
        "IFS": "/e",
    }
    env |= {
        "HOOKS": "/nowhere",
        "NAME": "x",
        "event": "x",
        "rest": "x",
        "python": "/nowhere",
        "BLANK": "x",
    }
    (tmp_path / "os.py").write_text("raise SystemExit(2)\n")
    assert is_block(run(HOOKS / "pre-spec-write", gated, env, cwd=tmp_path))


@pytest.mark.parametrize("size", [0, 4_000, 16_384, 70_000, 5_000_000])
def test_the_size_of_an_event_does_not_change_the_decision(project: Path, size: int) -> None:
    for name, blocks in (("tests/login.spec.ts", True), ("tests/login.ts", False)):
        call = event("Write", project, file_path=str(project / name), content="é\n" * (size // 3))
        assert is_block(run(HOOKS / "pre-spec-write", call)) is blocks


@pytest.mark.parametrize("switch", [{"PREREAD_CHILD": "1"}, {"PREREAD_GATES": "off"}])
def test_a_switch_in_the_environment_goes_before_everything_else(
    installed: Path, switch: dict[str, str]
) -> None:
    without_library(installed)
    for text in (b"", b"no event", b"x" * 1_000_000):
        assert run(installed / "pre-spec-write", text, switch) == {}


def test_each_remark_for_the_person_has_a_line_of_its_own(gated: bytes) -> None:
    shown = run(HOOKS / "pre-spec-write", gated, {"PREREAD_GATES": "of"})["systemMessage"]
    first, second = shown.split("\n")
    assert first == "preread: PREREAD_GATES=of is not block, warn or off, and is ignored"
    assert second.startswith("preread: tests/login.spec.ts waits for the dossier of login. ")


@pytest.mark.parametrize(
    "text",
    [
        "$(touch pwned)",
        "`touch pwned`",
        "';touch pwned;'",
        "$((x[$(touch pwned)]))",
        "*",
        "%s%n",
        "a\nb",
        "-n",
    ],
)
def test_nothing_in_an_event_is_executed(project: Path, tmp_path: Path, text: str) -> None:
    work = tmp_path / "work"
    work.mkdir()
    calls = [
        event("Write", Path(text), file_path=f"{project}/tests/{text}.spec.ts", content=text),
        event("Write", project, file_path=f"{project}/{text}", content=text),
        event("Bash", project, command=f"{text} > {text}.spec.ts", description=text),
        event("Agent", project, subagent_type="test-planner", prompt=f"feature: {text}"),
        event(text, project, file_path=text),
    ]
    (project / ".project" / "gates").write_text(f"**/{{feature}}.spec.ts\n{text.splitlines()[0]}\n")
    env = {"CLAUDE_PROJECT_DIR": text, "PREREAD_GATES": text, "CI": text}
    for call in calls:
        for hook in ("pre-spec-write", "pre-task-gate"):
            run(HOOKS / hook, call, env, cwd=work)
    assert not list(work.iterdir())
    assert not list(tmp_path.rglob("pwned"))


def test_a_repository_inside_the_project_folder_does_not_unprotect_it(project: Path) -> None:
    (project / ".project" / "context" / ".git").mkdir(parents=True)
    (project / ".project" / ".git").mkdir()
    for name in (".project/gates", ".project/context/login/summary.md"):
        assert is_block(
            run(
                HOOKS / "pre-spec-write",
                event("Write", project, file_path=str(project / name), content="x"),
            )
        )


# -- bash and hook.py on the same events

WORDS = """rm cp mv tee sed -i -n -ni ls echo cat 2>&1 > >> >/dev/null 2>/dev/null >&2 | && ; \\n
\\t \\" ' \\\\ $X
\\\\\\n a.spec.ts tests/n.spec.ts x.ts /bin/rm .project/gates preread gates off r\\\\m 'r'm
t\\"e\\"e cd ( ) <<E E $'
dd of=a ln install curl -o -O wget sort -uo perl -pi patch truncate unlink sponge git mv bash
-c timeout 5 xargs form 1,20p committee sudo >/dev/nullx 2>&1x &> # ` --in-place""".split()
FOLDERS = [
    "tests",
    "src",
    "a",
    "legacy",
    "ln",
    "sub",
    ".draft",
    ".project",
    "..",
    ".",
    "",
    "[a]",
    "é",
    ".PROJECT",
    "context",
]
NAMES = [
    "login.spec.ts",
    "test_cart.py",
    "x.ts",
    "api.md",
    "a.ts",
    "gates",
    "config.toml",
    "lk.ts",
    "n\\\\m.spec.ts",
]
NAMES += [
    'q\\"x.spec.ts',
    "b\\u006c.spec.ts",
    "login.SPEC.ts",
    " x.ts",
    "x.login.md",
    "*.spec.ts",
    "{feature}",
]
GATES = [
    "**/{feature}.spec.ts\n",
    "mode warn\n# c\ntests/**/test_{feature}.py # x\n!tests/legacy/**\n**/{feature}.spec.ts\n",
    "alias a-b login\nagent x\n  src/*/{feature}.ts  \r\n",
    "mode blok\n",
    "alias con b\n",
    "docs/api.md\n/abs.ts\n./x/?.ts\n",
    "a b.ts\n",
    "**\n",
    "tests/{feature}/**/*.cy.ts\n[a]/{feature}.ts\n",
    "!\n",
    "# é\n**/{feature}.spec.ts",
    "agent\n",
    "\nalias x y\nalias\tx y\n",
    "a**b.ts\n*.{feature}.md\n",
    "**/{feature}.*.ts\n",
    "mode  block\n**/x.ts",
]


def generated(projects: list[Path], count: int) -> list[str]:
    """Events on one line each: ordinary ones, and ones that break a careless reader."""
    rng = random.Random(7)

    def path() -> str:
        return "/".join(
            [
                str(rng.choice(projects)),
                *rng.choices(FOLDERS, k=rng.choice([0, 1, 1, 2, 3])),
                rng.choice(NAMES),
            ]
        )

    def fields(tool: str) -> str:
        if tool == "Bash":
            words = [
                rng.choice(WORDS) + rng.choice(["", " ", " "]) for _ in range(rng.randint(1, 8))
            ]
            return f'"command":"{"".join(words)}","description":"{rng.choice(["x", "rm > x"])}"'
        key = "notebook_path" if tool == "NotebookEdit" else "file_path"
        content = rng.choice(["x", '\\"file_path\\": \\"a\\"', "\\u00e9", "{}[]"])
        parts = [f'"{key}":"{path()}"', f'"content":"{content}"']
        parts += [f'"{key}":"{path()}"'] if rng.random() < 0.05 else []
        return ",".join(parts if rng.random() < 0.9 else parts[::-1])

    made = []
    for _ in range(count):
        tool = rng.choice(
            ["Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "Bash", "Bash", "Read"]
        )
        effort = rng.choice(["", '"effort":{"level":"medium"},'])
        head = f'"cwd":"{rng.choice(projects)}",{effort}"tool_name":"{tool}"'
        text = f'{{{head},"tool_input":{{{fields(tool)}}},"tool_use_id":"t"}}'
        odd = rng.random()
        if odd < 0.03:
            text = text.replace('":"', '" : "', 3)
        elif odd < 0.06:
            text = text[:-1] + rng.choice(
                [f',"tool_input":{{"file_path":"{path()}"}}}}', ',"tool_name":"Write"}']
            )
        made.append(text)
    return made


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One for each gates file, with links, a project within, and one without gates."""
    above = tmp_path_factory.mktemp("projects")
    for number, rules in enumerate(GATES):
        root = above / f"p{number}"
        for folder in (".project/context/login", "tests/legacy", "src/a", "sub/.git"):
            (root / folder).mkdir(parents=True)
        (root / ".project/gates").write_text(rules, newline="")
        (root / "ln").symlink_to("src")
        (root / "lk.ts").symlink_to("tests/new.spec.ts")
        (root / "tests/login.spec.ts").write_text("x")
    (above / "bare").mkdir()
    return sorted(above.iterdir())


ASK = """
. "$1/_front.sh" </dev/null; . "$1/_fast_path.sh"; rest=
while IFS= read -r event; do if is_certain_pass; then echo yes; else echo no; fi; done
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_what_bash_passes_hook_py_passes(projects: list[Path], shell: str) -> None:
    calls = generated(projects, 4000)
    text = "\n".join([*calls, ""])
    asked = subprocess.run(
        [shell, "-p", "-c", ASK, "x", HOOKS], input=text, stdout=subprocess.PIPE, text=True, env={}
    )
    answers = asked.stdout.split()
    assert len(answers) == len(calls)
    passed = [call for call, answer in zip(calls, answers, strict=True) if answer == "yes"]
    assert len(passed) > 300
    for call in passed:
        assert file_gate.decide(events.read(call.encode()), {}) is None, call


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("tool", "value"),
    [
        ("Write", "src/cart.ts"),
        ("Edit", "README.md"),
        ("Bash", "npm run build 2>&1 | tail -20"),
        ("Bash", "git status && sed -n 1,20p src/cart.ts 2>/dev/null"),
        ("Bash", 'grep -rn "form" src; cat a-rm.txt'),
    ],
)
def test_an_ordinary_call_starts_no_python(
    project: Path, tmp_path: Path, shell: str, tool: str, value: str
) -> None:
    plain = tmp_path / "plain"
    shutil.copytree(project, plain)
    given = (
        {"command": value} if tool == "Bash" else {"file_path": str(plain / value), "content": "x"}
    )
    program(tmp_path / "data" / "python", '#!/bin/sh\necho \'{"started": "Python"}\'\n')
    command = [shell, "-p", HOOKS / "pre-spec-write"]
    env = {"CLAUDE_PLUGIN_DATA": str(tmp_path / "data")}
    done = subprocess.run(
        command, input=event(tool, plain, **given), stdout=subprocess.PIPE, env=env
    )
    assert done.stdout == b""


@pytest.mark.parametrize("shell", SHELLS)
def test_the_event_reaches_python_unchanged(project: Path, tmp_path: Path, shell: str) -> None:
    text = program(
        tmp_path / "data" / "python",
        '#!/bin/bash\nprintf "%s" "$PREREAD_EVENT" >all; cat >>all; echo -\n',
    )
    env = {"CLAUDE_PLUGIN_DATA": str(text.parent), "PATH": os.environ["PATH"]}
    for size in (10, 16_300, 200_000):
        call = (
            event(
                "Write",
                project,
                file_path=str(project / "a.spec.ts"),
                content="\\ é 'x' \n\t*" * (size // 10),
            )
            + b" \n\n"
        )
        subprocess.run(
            [shell, "-p", HOOKS / "pre-spec-write"], input=call, env=env, cwd=tmp_path, check=True
        )
        assert (tmp_path / "all").read_bytes() == call


@pytest.mark.parametrize("tool", ["Write", "Bash"])
def test_the_model_may_not_write_the_file_that_makes_gates_only_warn(
    project: Path, tmp_path: Path, tool: str
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    word = str(data / "unready")
    given = (
        {"command": f"echo no > {word}"} if tool == "Bash" else {"file_path": word, "content": "no"}
    )
    answer = run(
        HOOKS / "pre-spec-write", event(tool, project, **given), {"CLAUDE_PLUGIN_DATA": str(data)}
    )
    assert is_block(answer)
    (project / ".project" / "gates").unlink()
    assert (
        run(
            HOOKS / "pre-spec-write",
            event(tool, project, **given),
            {"CLAUDE_PLUGIN_DATA": str(data)},
        )
        == {}
    )


def test_the_content_of_a_call_is_not_passed_in_arguments_that_others_can_read(
    project: Path, tmp_path: Path
) -> None:
    text = program(
        tmp_path / "data" / "python", '#!/bin/bash\nprintf "%s\\n" "$@" >arguments; echo -\n'
    )
    env = {"CLAUDE_PLUGIN_DATA": str(text.parent), "PATH": os.environ["PATH"]}
    call = event("Write", project, file_path=str(project / "a.spec.ts"), content="hunter2")
    subprocess.run(
        ["bash", "-p", HOOKS / "pre-spec-write"], input=call, env=env, cwd=tmp_path, check=True
    )
    assert "hook.py" in (tmp_path / "arguments").read_text()
    assert "hunter2" not in (tmp_path / "arguments").read_text()


# -- where the hooks find the gates


def as_checkout(place: Path) -> Path:
    """The repository as it is, which is also what a plugin installs."""
    copied(LIBRARY.parent, place / "server" / "preread")
    return place / "hooks"


def as_wheel(place: Path) -> Path:
    """An installed wheel: the hooks are data of the package."""
    copied(LIBRARY.parent, place / "preread")
    return place / "preread" / "data" / "hooks"


def copied(package: Path, place: Path) -> None:
    """What the hooks need of the package."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(package / "gates", place / "gates", ignore=ignored)
    shutil.copy(package / "__init__.py", place)


@pytest.mark.parametrize("layout", [as_checkout, as_wheel])
def test_the_hooks_find_the_gates_in_each_layout(
    layout: Callable[[Path], Path], project: Path, gated: bytes, tmp_path: Path
) -> None:
    hooks = layout(tmp_path / "an installation")
    shutil.copytree(HOOKS, hooks, ignore=shutil.ignore_patterns("__pycache__"))
    assert is_block(run(hooks / "pre-spec-write", gated))
    # A module beside the package does not shadow the standard library.
    (hooks / "../../../json.py").resolve().write_text("raise SystemExit(3)\n")
    (hooks / "../server/json.py").resolve().parent.mkdir(exist_ok=True)
    (hooks / "../server/json.py").resolve().write_text("raise SystemExit(3)\n")
    starting = json.dumps({"cwd": str(project), "session_id": "0123456789", "source": "startup"})
    assert "no dossiers yet" in json.dumps(run(hooks / "session-start", starting.encode()))
    shutil.rmtree(next((tmp_path / "an installation").rglob("gates")))
    assert is_failure(run(hooks / "pre-spec-write", gated))


# -- what the sources may use

NEWER_THAN_BASH_3_2 = [
    r"\$\{[^}]*(?:,,?|\^\^?)\}", r"\$\{[^}]*@[A-Za-z]\}", r"\bmapfile\b", r"\breadarray\b", r"\|&",
    r"&>>",
    r"\b(?:declare|local|typeset) -[A-Za-z]*[Angu]", r"\$\{?EPOCH", r"\bprintf -v [^ ]*\[",
    r";;&|;&$", r"\bwait -n",
    r"\$\{[^}:]+:[^}]*: *-", r"\$\{[^}]+: +-", r"\[\[? -v ", r"\bglobstar\b", r"\{[a-z]+\}[<>]",
    r"printf '[^']*%\(",
    r"\bcoproc\b",
]  # fmt: skip


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_use_nothing_newer_than_bash_3_2(script: Path) -> None:
    text = script.read_text()
    lines = [re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines()]
    for pattern in NEWER_THAN_BASH_3_2:
        assert not [line for line in lines if re.search(pattern, line)], pattern
    if script.suffix == "":
        assert text.startswith("#!/bin/bash -p\n"), "-p: nothing of the person's shell is read"
        assert os.access(script, os.X_OK)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_the_shell_can_parse_the_scripts(script: Path, shell: str) -> None:
    done = subprocess.run([shell, "-n", script], capture_output=True, env={})
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_modules_are_python_3_8_and_import_only_the_standard_library(path: Path) -> None:
    tree = ast.parse(path.read_text(), feature_version=(3, 8))
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        assert {name.partition(".")[0] for name in names} <= {*sys.stdlib_module_names, "preread"}


def test_each_hook_of_the_reference_is_declared_for_its_events() -> None:
    table = (
        (ROOT / "docs" / "gates-reference.md")
        .read_text()
        .partition("| hook | event |")[2]
        .partition("\n\n")[0]
    )
    documented = set()
    for row in table.splitlines()[2:]:
        name, when = row.split("|")[1:3]
        events = re.findall(
            r"[A-Z][a-z]+[A-Z]\w+|Stop", when.replace("NotebookEdit", "").replace("MultiEdit", "")
        )
        documented |= {(name.strip(" `"), event) for event in events}
    declared, matchers = set(), {}
    for kind, groups in json.loads((HOOKS / "hooks.json").read_text())["hooks"].items():
        for group in groups:
            for hook in group["hooks"]:
                assert (hook["type"], hook["timeout"]) == ("command", 10)
                found = re.fullmatch(
                    r'bash -p "\$\{CLAUDE_PLUGIN_ROOT\}/hooks/([a-z-]+)"', hook["command"]
                )
                assert found, hook
                declared.add((found.group(1), kind))
                matchers[found.group(1)] = group.get("matcher", "")
    assert declared == documented
    assert {name for name, _ in declared} == {path.name for path in SCRIPTS if path.suffix == ""}
    assert matchers["pre-spec-write"] == "Write|Edit|MultiEdit|NotebookEdit|Bash"
    assert matchers["pre-task-gate"] == "Agent|Task"


def test_the_stop_words_are_those_of_the_reference() -> None:
    contract = (
        (ROOT / "docs" / "gates-reference.md")
        .read_text()
        .partition("The stop words, all of them:\n\n```\n")[2]
    )
    assert frozenset(contract.partition("```")[0].split()) == stop_words.STOP_WORDS


# -- hook.py --explain


def explained(**given: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", "-B", HOOKS / "hook.py", "--explain"]
    done = subprocess.run(
        command, input=json.dumps(given).encode(), stdout=subprocess.PIPE, env={}, check=True
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_explanation_says_which_rule_decided_and_what_is_missing(project: Path) -> None:
    (project / ".project" / "gates").write_text(
        "!old/**\n**/{feature}.spec.ts # specs\nalias log-in login\nmode warn\n"
    )
    told = explained(target="tests/Log In.spec.ts", cwd=str(project))
    assert (told["project"], told["line"], told["rule"]) == (
        str(project),
        2,
        "**/{feature}.spec.ts",
    )
    assert (told["captured"], told["feature"], told["served_by"]) == ("Log In", "log-in", "login")
    assert (told["mode"], told["mode_from"], told["decision"]) == ("warn", "line 4", "remark")
    assert told["dossiers"][0]["files"] == dict.fromkeys(
        ("patterns.md", "codebase.md", "summary.md"), "missing"
    )
    told = explained(target=str(project / "old/x.spec.ts"))
    assert (told["line"], told["rule"], told["candidates"][0]["gates"], told["decision"]) == (
        1,
        "!old/**",
        False,
        "pass",
    )


def test_an_explanation_says_what_is_broken(project: Path) -> None:
    (project / ".project" / "gates").write_text("x\nmode blok\n")
    told = explained(target="a.ts", cwd=str(project))
    assert (told["broken"]["line"], told["decision"]) == (2, "failure")


def test_an_explanation_needs_a_target(project: Path) -> None:
    assert is_failure(explained(cwd=str(project)))
