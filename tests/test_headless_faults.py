"""A build whose model fails: its code, reason and hint, and that there is a dossier in any case."""

import json
import os
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from _fake_claude import GOOD, STUBBORN, FakeClaude
from _headless import CODEBASE, EXISTING_TESTS, PATTERNS, STANDARD, headless, output, writing
from _messages_api import (
    BROKEN,
    OVERLOADED,
    UNAUTHORIZED,
    Answer,
    Hang,
    MessagesAPI,
    Request,
    Turn,
    rate_limit,
    text,
    tool,
)
from _processes import left_behind, small
from conftest import child_environ, run_cli
from preread.layout import MANIFEST, Layout

READ = [tool("Read", file_path="login.py")]
BODY = {"patterns.md": PATTERNS, "codebase.md": CODEBASE}
ONE_TRY = {"CLAUDE_CODE_MAX_RETRIES": "0"}
BEGUN = (
    0.00021  # dollars that the program may count for an answer that broke off after its beginning
)
SOON = 8  # seconds; a child that needs two has done its work by then, on a busy machine too


class Built(NamedTuple):
    """One `preread load`: its reply, and what it left on disk."""

    reply: dict[str, Any]
    manifest: dict[str, Any]
    run: dict[str, Any]
    costs: list[float | None]
    texts: dict[str, str]
    seconds: float

    @property
    def said(self) -> tuple[str, str | None]:
        return self.reply["status"], self.reply.get("code")


class Project:
    """The small project, built by a Claude Code that fails."""

    def __init__(self, root: Path, env: Mapping[str, str]) -> None:
        self.root, self.env = root, dict(env)

    def load(self, *arguments: str, level: str = "standard", **env: object) -> Built:
        layout = Layout(self.root)
        named = {
            name if name.isupper() else f"PREREAD_{name.upper()}": str(value)
            for name, value in env.items()
        }
        begun = time.monotonic()
        done = run_cli(
            "load",
            "login",
            "--json",
            "--level",
            level,
            *arguments,
            cwd=self.root,
            env={**self.env, **named},
        )
        seconds = time.monotonic() - begun
        assert done.status == 0, done
        assert done.err == ""
        folder = layout.dossier("login")
        lines = layout.spending.read_text().splitlines() if layout.spending.exists() else []
        return Built(
            done.json,
            json.loads((folder / MANIFEST).read_text()),
            json.loads(layout.run_record("login").read_text()),
            [json.loads(line)["cost_usd"] for line in lines],
            {path.name: path.read_text() for path in folder.glob("*.md")},
            seconds,
        )


@pytest.fixture
def project(claude: Path, api: MessagesAPI, tmp_path: Path) -> Project:
    """Builds with the real program, a scripted model, and private files in the test's folder."""
    (tmp_path / "private").mkdir()
    env = {**headless(claude, api, tmp_path, timeout=20), "TMPDIR": str(tmp_path / "private")}
    return Project(small(tmp_path / "small"), env)


@pytest.fixture
def faked(tmp_path: Path) -> Callable[..., tuple[Project, FakeClaude]]:
    """Built by a program that only pretends."""

    def make(behaviour: str, version: str = "2.1.329 (Claude Code)") -> tuple[Project, FakeClaude]:
        fake = FakeClaude(tmp_path / "fake", behaviour, version)
        (tmp_path / "private").mkdir()
        env = {
            "PREREAD_CLAUDE": str(fake.path),
            "PREREAD_TIMEOUT": "20",
            "TMPDIR": str(tmp_path / "private"),
        }
        return Project(small(tmp_path / "small"), env), fake

    return make


def is_clean(project: Project) -> bool:
    assert left_behind(project.root) == []
    assert list(Path(project.env["TMPDIR"]).glob("preread-*")) == []
    return True


def assert_stands_in(project: Project, code: str, words: str, hint: str, **env: object) -> Built:
    """Run a build that fails like this; its static dossier is complete, and everything says why."""
    built = project.load(**env)
    assert built.said == ("degraded", code)
    assert built.reply["builder"] == built.manifest["builder"] == "static"
    assert words in built.manifest["fault"]["reason"] == built.run["reason"]
    assert hint in built.reply["hint"] == built.manifest["fault"]["hint"]
    assert any(built.manifest["fault"]["reason"] in warning for warning in built.reply["warnings"])
    assert built.reply["next"].startswith(
        "Go on. If a gate refused a write, a dispatch or a command"
    )
    assert "FEATURE" not in built.reply["hint"]
    assert "{" not in built.reply["hint"]
    assert (built.manifest["drafted"], built.manifest["missing"]) == ([], list(STANDARD))
    assert built.run["outcome"]["fault"]["code"] == code
    assert "`login` in 3 of 3 tests" in built.texts["patterns.md"]
    assert set(STANDARD) <= set(built.texts)
    assert is_clean(project)
    again = project.load(**env)
    if code == "E_CHILD":  # its hint is to try again
        assert (again.reply["state"], *again.said) == ("built", "degraded", code)
        assert again.run["finished"] > built.run["finished"]
    else:
        assert (again.reply["state"], *again.said) == ("cached", "degraded", code)
        assert again.run == built.run
    return built


def assert_tried_again(project: Project) -> None:
    """Once its time is over, a degraded dossier is replaced by what the model drafts."""
    built = project.load(degraded_for=0)
    assert (built.reply["state"], *built.said) == ("built", "ok", None)
    assert set(built.manifest["drafted"]) == set(STANDARD)
    assert project.load().reply["state"] == "cached"


# -- limits of a run


def endless(files: Mapping[str, str], price: int = 100) -> Callable[[Request], Answer]:
    """A model that writes these files and then reads for ever, for so many tokens a turn."""

    def script(request: Request) -> Answer:
        first = [
            tool("Write", file_path=str(output(request) / name), content=data)
            for name, data in files.items()
        ]
        return first if request.turn == 0 else Turn(READ, {"input_tokens": price}, pause=0.1)

    return script


@pytest.mark.parametrize(
    ("files", "status"),
    [(BODY, "partial"), ({"existing-tests.md": EXISTING_TESTS}, "degraded")],
    ids=["body", "tests"],
)
def test_at_the_deadline_valid_drafts_are_kept_and_the_cost_is_known(
    project: Project, api: MessagesAPI, files: dict[str, str], status: str
) -> None:
    api.play(endless(files))
    built = project.load(timeout=SOON)
    assert built.said == (status, "E_TIMEOUT")
    assert built.seconds < SOON + 10
    assert built.run["reason"] == "the time was up before the model had finished"
    assert "Raise `timeout`" in built.reply["hint"]
    assert set(built.manifest["drafted"]) == set(files)
    assert set(built.manifest["missing"]) == set(STANDARD) - set(files)
    assert all(files[name].split("\n- ")[1] in built.texts[name] for name in files)
    assert set(STANDARD) <= set(built.texts)
    assert built.run["stats"]["turns"] > 3
    assert built.costs == [built.reply["stats"]["cost_usd"]]
    assert built.reply["stats"]["cost_usd"] > 0
    assert is_clean(project)


def test_all_files_in_time_are_a_whole_dossier_although_the_model_went_on_to_the_deadline(
    project: Project, api: MessagesAPI
) -> None:
    api.play(writing(STANDARD, Hang()))
    built = project.load(timeout=SOON)
    assert built.said == ("ok", None)
    assert built.run["outcome"]["fault"]["code"] == "E_TIMEOUT"
    assert set(built.manifest["drafted"]) == set(STANDARD)
    assert is_clean(project)


@pytest.mark.parametrize(
    ("setting", "code", "words", "hint"),
    [
        ({"max_turns": 2}, "E_TURNS", "used all its turns (2)", "Set PREREAD_MAX_TURNS"),
        ({"max_usd": 0.01}, "E_MONEY", "their spending limit ($0.008)", "Set PREREAD_MAX_USD"),
    ],
    ids=["turns", "money"],
)
def test_out_of_turns_or_money_valid_drafts_are_kept(
    project: Project, api: MessagesAPI, setting: dict[str, float], code: str, words: str, hint: str
) -> None:
    api.play(endless(BODY, price=10_000))
    built = project.load(**setting)
    assert built.said == ("partial", code)
    assert words in built.run["reason"]
    assert hint in built.reply["hint"]
    assert set(built.manifest["drafted"]) == set(BODY)
    assert built.reply["missing"] == [
        f"{name}: {built.run['reason']}" for name in ("existing-tests.md", "summary.md")
    ]
    assert built.costs == [built.reply["stats"]["cost_usd"]] != [0]
    assert len(api.requests) <= 3
    assert is_clean(project)
    assert project.load(**setting, degraded_for=0).reply["state"] == "cached"


# -- the service


@pytest.mark.parametrize(
    ("answer", "code", "words", "hint"),
    [
        (UNAUTHORIZED, "E_LOGIN", "login or key was refused", "`/login`"),
        (rate_limit(), "E_RATE_LIMIT", "limits the rate of requests", "Try again later"),
        (rate_limit(3600), "E_RATE_LIMIT", "limits the rate of requests", "Try again later"),
        (OVERLOADED, "E_OVERLOADED", "is overloaded", "Try again later"),
        (BROKEN, "E_OVERLOADED", "is failing", "Try again later"),
        (
            Turn([text("So ")], cut="block"),
            "E_NETWORK",
            "connection to the model's service was lost",
            "Try again",
        ),
    ],
    ids=["401", "429", "429-retry-after", "529", "500", "cut"],
)
def test_a_refusal_is_recognised_and_retried_where_that_may_help(
    project: Project, api: MessagesAPI, answer: Answer, code: str, words: str, hint: str
) -> None:
    project.env |= ONE_TRY
    api.play(lambda request: answer)
    # Time for one retry, and none that the end would cut: a limit of the rate waits 16 to 24 s.
    seconds = (5 if code == "E_RATE_LIMIT" else 3) * SOON
    built = assert_stands_in(project, code, words, hint, timeout=seconds)
    assert set(built.costs) <= ({0, BEGUN} if code == "E_NETWORK" else {0})
    assert built.seconds < 3 * SOON + 10
    api.play(writing(STANDARD))
    assert_tried_again(project)


def test_an_unresponsive_service_is_given_up_on_at_the_deadline(
    project: Project, api: MessagesAPI
) -> None:
    api.play(lambda request: Hang())
    built = assert_stands_in(
        project, "E_TIMEOUT", "the time was up", "Raise `timeout`", timeout=SOON
    )
    assert SOON < built.seconds < SOON + 10
    assert built.costs == [0]
    assert len(api.requests) == 1


def test_a_service_that_is_overloaded_for_all_the_time_is_blamed_for_it(
    project: Project, api: MessagesAPI
) -> None:
    api.play(lambda request: OVERLOADED)
    built = assert_stands_in(
        project,
        "E_OVERLOADED",
        "is overloaded, until the time was up",
        "Try again",
        timeout=SOON,
    )
    assert built.seconds < SOON + 10


def test_a_retry_that_is_cut_is_blamed_on_what_refused_the_first_try(
    project: Project, api: MessagesAPI
) -> None:
    project.env |= ONE_TRY
    api.play(lambda request: OVERLOADED if len(api.requests) == 1 else Hang())
    # The pause takes up to 12 s, and a retry for which too little time is left is not begun.
    built = assert_stands_in(
        project, "E_OVERLOADED", "is overloaded", "Try again later", timeout=3 * SOON
    )
    assert len(built.costs) == 2
    assert built.seconds < 3 * SOON + 10


def test_nothing_listens_where_the_service_should_be(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    project.env["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{port}"
    built = assert_stands_in(project, "E_NETWORK", "could not be reached", "HTTPS_PROXY")
    assert built.seconds < 15
    assert built.costs == [0]


def test_without_a_login_the_service_is_not_asked(project: Project, api: MessagesAPI) -> None:
    del project.env["ANTHROPIC_API_KEY"]
    built = assert_stands_in(project, "E_LOGIN", "is not logged in", "`/login`")
    assert api.requests == []
    assert built.costs == [0]
    project.env["ANTHROPIC_API_KEY"] = "sk-ant-scripted"
    api.play(writing(STANDARD))
    assert_tried_again(project)


def test_a_passing_overload_is_survived(project: Project, api: MessagesAPI) -> None:
    good = writing(STANDARD)
    api.play(lambda request: OVERLOADED if len(api.requests) <= 2 else good(request))
    built = project.load()
    assert built.said == ("ok", None)
    assert built.run["outcome"]["fault"] is None
    assert len(api.requests) == 4
    assert is_clean(project)


def test_a_lost_connection_is_tried_by_another_child_and_both_are_paid_for(
    project: Project, api: MessagesAPI
) -> None:
    project.env |= ONE_TRY
    good, sessions = writing(STANDARD), []

    def script(request: Request) -> Answer:
        sessions.append(request.session)
        if request.session != sessions[0]:
            return good(request)
        return (
            [tool("Read", file_path="login.py")]
            if request.turn == 0
            else Turn([text("So ")], cut="line")
        )

    api.play(script)
    built = project.load()
    assert built.said == ("ok", None)
    assert len(set(sessions)) == 2
    # If the beginning of a cut answer arrived, it counts, and the client goes on after it; if not,
    # the client asks the same again.
    asked = Counter(one.turn for one in api.requests if one.session == sessions[0])
    cut_or_read = len(asked) - (asked[max(asked)] > 1)
    assert built.run["stats"]["turns"] == cut_or_read + 2
    assert len(built.costs) == 2
    assert sum(built.costs) == pytest.approx(built.reply["stats"]["cost_usd"])
    assert all(built.costs)
    assert is_clean(project)


# -- what a model drafted before


def test_a_failing_rebuild_keeps_earlier_drafts_as_far_as_they_are_valid(
    project: Project, api: MessagesAPI
) -> None:
    api.play(writing(STANDARD))
    first = project.load()
    assert first.said == ("ok", None)
    source = project.root / "login.py"
    source.write_text(source.read_text().replace("ATTEMPTS = 5", "ATTEMPTS = 7"))
    api.play(lambda request: UNAUTHORIZED)
    built = project.load("--force")
    assert built.said == ("degraded", "E_LOGIN")
    assert built.texts["patterns.md"] == first.texts["patterns.md"]
    assert (
        "ATTEMPTS = 5" not in built.texts["codebase.md"]
    )  # it fell, so the file is the static builder's
    assert set(built.manifest["drafted"]) == set(STANDARD) - {"codebase.md"}
    assert [warning for warning in built.reply["warnings"] if "static builder" in warning] == [
        "The static builder wrote codebase.md: Claude Code's login or key was refused."
    ]
    assert any(
        "earlier" in warning and "patterns.md" in warning for warning in built.reply["warnings"]
    )
    again = project.load("--force", "--description", "reset by mail")
    assert set(again.manifest["drafted"]) == set(STANDARD) - {"codebase.md"}
    again = project.load("--force", "--ticket", "SHOP-2")
    assert again.manifest["drafted"] == []  # for another ticket nothing is kept
    assert again.reply["builder"] == "static"


# -- faults that the real program cannot be made to show


CUT = (
    "begin(); write('patterns.md', 'codebase.md'); os.write(1, b'{\"type\": \"assist'); "
    "os._exit(%d)"
)


@pytest.mark.parametrize("status", [0, 1])
def test_a_stream_cut_in_the_middle_of_a_line_leaves_what_was_drafted(
    faked: Callable, status: int
) -> None:
    project, fake = faked(CUT % status)
    built = project.load()
    assert built.said == ("partial", "E_CHILD")
    assert built.run["reason"] == f"Claude Code ended without a result (exit status {status})"
    assert set(built.manifest["drafted"]) == set(BODY)
    assert built.costs == [None]
    assert is_clean(project)
    assert fake.left() == set()


NOISE = r"""
    begin()
    write("patterns.md")
    noises = [
        b"garbage", b"", b"\xff\xfe\x00\x80", b"[1, 2]", b"null", b'"text"',
        b"[" * 100_000, b'{"a":' * 20_000, b'{"type": 7}', b'{"type": "assistant"}',
        b'{"type": "assistant", "message": [{"content": 4}]}',
        b'{"type": "user", "message": null}', b'{"type": "result_of_nothing", "is_error": true}',
    ]
    for noise in noises:
        os.write(1, noise + b"\n")
    tell("user", message={"content": [{"type": "tool_result", "content": "x" * 20_000_000}]})
    chunk = b"all work and no play makes a dull line\n" * 25_000
    for _ in range(52):
        os.write(2, chunk)
    write("codebase.md", "existing-tests.md", "summary.md")
    os.write(2, b"the last word\n")
    result()
    sys.stdin.read()
    """


def test_noise_long_lines_and_a_flood_of_errors_do_no_harm(faked: Callable) -> None:
    project, fake = faked(NOISE)
    built = project.load()
    assert built.said == ("ok", None)
    assert set(built.manifest["drafted"]) == set(STANDARD)
    assert built.run["outcome"]["stderr"].endswith("the last word\n")
    assert len(built.run["outcome"]["stderr"]) <= 16 * 1024
    assert built.costs == [0.25]
    assert built.run["stats"]["turns"] == 5  # one of the noise, and a file each
    assert is_clean(project)
    assert fake.left() == set()


@pytest.mark.parametrize(
    ("behaviour", "code", "words", "hint", "cost"),
    [
        ("begin(); os._exit(0)", "E_CHILD", "ended without a result (exit status 0)", "Try again",
        None),
        ("begin(); result(is_error=True, result='It broke.')", "E_CHILD", "failed: It broke.",
        "preread status", 0.25),
        (
            "os.write(2, b'Invalid API key - Please run /login\\n'); os._exit(1)",
            "E_LOGIN", "is not logged in", "`/login`", None,
        ),
        ("begin(); os.kill(os.getpid(), 11)", "E_CHILD", "was ended by signal 11", "Try again",
        None),
        (
            "begin(); result(); sys.stdin.readline(); result()",
            "E_DRAFTS", "no fact of the model's existing-tests.md and patterns.md", "force", 0.25,
        ),
    ],
    ids=["no-result", "is_error-success", "login", "crash", "nothing-drafted"],
)  # fmt: skip
def test_a_program_that_fails_is_recognised(
    faked: Callable, behaviour: str, code: str, words: str, hint: str, cost: float | None
) -> None:
    project, fake = faked(behaviour)
    built = assert_stands_in(project, code, words, hint)
    assert built.costs == [cost]
    assert len(fake.started()) == (2 if code == "E_CHILD" else 1)
    assert fake.left() == set()
    fake.behave(GOOD)
    assert_tried_again(project)


def test_a_program_that_lingers_after_its_result_is_ended_and_has_succeeded(
    faked: Callable,
) -> None:
    project, fake = faked("begin(); write(); result(); ready(); for_ever()")
    built = project.load()
    assert built.said == ("ok", None)
    assert fake.runs() == 1
    assert built.costs == [0.25]
    assert 5 < built.seconds < 12
    assert fake.left() == set()
    assert is_clean(project)


@pytest.mark.parametrize(
    ("version", "words", "hint"),
    [
        ("2.0.1 (Claude Code)", "Claude Code 2.0.1 is too old", "Run `claude update`"),
        ("who knows", "does not report its version: who knows", "--version"),
    ],
    ids=["old", "garbage"],
)
def test_another_version_is_not_run(faked: Callable, version: str, words: str, hint: str) -> None:
    project, fake = faked(GOOD, version)
    built = assert_stands_in(project, "E_CLI", words, hint)
    assert built.costs == []
    assert fake.started() == set()


def not_executable(fake: FakeClaude) -> dict[str, str]:
    fake.path.chmod(0o644)
    return {}


def switched_off(fake: FakeClaude) -> dict[str, str]:
    return {"PREREAD_CLAUDE": "off"}


def not_installed(fake: FakeClaude) -> dict[str, str]:
    """Nothing is set, and no folder of the PATH has it."""
    folders = [
        folder
        for folder in child_environ()["PATH"].split(":")
        if not os.path.exists(f"{folder}/claude")  # noqa: PTH110 - False for what is unreadable
    ]
    return {"PREREAD_CLAUDE": "", "PATH": ":".join(folders)}


@pytest.mark.parametrize(
    ("how", "words", "hint"),
    [
        (not_executable, "is not executable", "chmod +x"),
        (switched_off, "is switched off", "Unset PREREAD_CLAUDE"),
        (not_installed, "there is no Claude Code program: `claude` on the PATH", "Install it"),
    ],
    ids=["not-executable", "off", "not-installed"],
)
def test_without_a_program_the_static_builder_serves_and_a_light_level_is_ok(
    faked: Callable, how: Callable[[FakeClaude], dict[str, str]], words: str, hint: str
) -> None:
    project, fake = faked(GOOD)
    whole = dict(project.env)
    project.env |= how(fake)
    assert_stands_in(project, "E_CLI", words, hint)
    auto = run_cli("load", "paint", "--json", cwd=project.root, env=project.env).json
    assert (auto["status"], auto["level"], auto["builder"]) == ("ok", "light", "static")
    assert not Layout(project.root).spending.exists()
    fake.path.chmod(0o755)
    project.env = whole
    assert_tried_again(project)


def test_the_stubborn_fake_and_its_descendants_survive_as_intended(
    tmp_path: Path,
) -> None:
    fake = FakeClaude(tmp_path / "fake", STUBBORN)
    line = (
        json.dumps({"message": {"content": [{"text": "Output directory: /tmp"}]}}).encode() + b"\n"
    )
    with subprocess.Popen([fake.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin
        process.stdin.write(line)
        process.stdin.flush()
        try:
            while not fake.runs():
                assert process.poll() is None
            clan = fake.started()
            assert len(clan) == 4
            assert len({os.getsid(pid) for pid in clan}) == 4
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                for pid in clan:
                    os.kill(pid, number)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            assert fake.left() == clan
        finally:
            for pid in fake.started():
                os.kill(pid, signal.SIGKILL)


def test_processes_that_ignore_signals_are_gone_ten_seconds_after_the_deadline(
    faked: Callable,
) -> None:
    project, fake = faked(
        STUBBORN.replace("begin()", "begin(); write('patterns.md', 'codebase.md')")
    )
    built = project.load(timeout=2)
    assert built.said == ("partial", "E_TIMEOUT")
    assert built.seconds < 2 + 10
    assert len(fake.started()) == 4
    assert fake.left() == set()
    assert built.costs == [None]
    assert is_clean(project)
