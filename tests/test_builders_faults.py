"""What ended a headless child: recorded streams, and each failure shown by the real program."""

import json
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _claude import api, bare_environ, claude  # noqa: F401
from _messages_api import (
    BROKEN,
    NO_CREDIT,
    NO_MODEL,
    OVERLOADED,
    TOO_LONG,
    UNAUTHORIZED,
    Answer,
    Fail,
    Hang,
    MessagesAPI,
    Request,
    Turn,
    rate_limit,
    text,
    tool,
)
from conftest import ROOT
from preread.builders import faults
from preread.builders.failure_table import ROWS, STDERR
from preread.builders.stream import Transcript
from preread.errors import CODES
from preread.infra.subprocesses import Ended, child, streamed
from preread.models import Fault, Outcome

STREAMS = ROOT / "tests" / "data" / "streams"
PROJECT = Path("/project")
FAILED = Ended(1, b"", "", 1.0)


def heard(name: str, *servers: str) -> Transcript:
    transcript = Transcript(PROJECT, servers)
    for line in (STREAMS / f"{name}.jsonl").read_bytes().splitlines():
        transcript.feed(line)
    return transcript


def of_text(words: str, **more: Any) -> Fault:
    """The fault of a result as an older version reports it: as text only."""
    transcript = Transcript(PROJECT)
    result = {"type": "result", "subtype": "success", "is_error": True, "result": words, **more}
    transcript.feed(json.dumps(result).encode())
    found = faults.of_run(transcript, FAILED)
    assert found is not None
    return found


# -- recorded streams

WHOLE = [
    "good",
    "two-messages",
    "denied",
    "server",
    "server-failed",
    "server-needs-login",
    "fallback-model",
]
RECORDED = [
    ("not-logged-in", "E_LOGIN", "Claude Code is not logged in"),
    ("key-refused", "E_LOGIN", "login or key was refused"),
    ("login-expired", "E_LOGIN", "login or key was refused"),
    ("forbidden", "E_LOGIN", "login or key was refused"),
    ("organization", "E_LOGIN", "may not use Claude Code"),
    ("no-model", "E_MODEL", "does not know the model"),
    ("bad-request", "E_MODEL", "refused the request: 400 messages.0: something is odd"),
    ("too-long", "E_MODEL", "too long"),
    ("too-large", "E_MODEL", "too long"),
    ("answer-too-long", "E_MODEL", "longer than allowed"),
    ("safeguards", "E_MODEL", "safeguards"),
    ("no-credit", "E_MONEY", "no credit"),
    ("max-budget", "E_MONEY", "spending limit ($0.004)"),
    ("max-turns", "E_TURNS", "all its turns (3)"),
    ("cut-each-turn", "E_TURNS", "all its turns (4)"),
    ("rate-limit", "E_RATE_LIMIT", "limits the rate of requests"),
    ("rate-limit-subscription", "E_RATE_LIMIT", "limits the rate of requests"),
    ("usage-limit", "E_RATE_LIMIT", "usage limit is reached until Nov 2"),
    ("usage-limit-old-words", "E_RATE_LIMIT", "usage limit is reached until Nov 2"),
    ("overloaded", "E_OVERLOADED", "is overloaded"),
    ("failing", "E_OVERLOADED", "is failing"),
    ("connection-refused", "E_NETWORK", "could not be reached"),
    ("no-such-host", "E_NETWORK", "could not be reached"),
    ("tls", "E_NETWORK", "no secure connection"),
    ("proxy", "E_NETWORK", "something other than the model's service answered"),
    ("interrupted", "E_CHILD", "was interrupted"),
    ("interrupted-while-waiting", "E_OVERLOADED", "is overloaded"),
    ("silent", "E_CHILD", "ended without a result (exit status 1)"),
]


def test_every_recorded_stream_is_in_one_of_the_tables() -> None:
    named = {*WHOLE, *(name for name, _, _ in RECORDED), "denied-twice", "server-pending"}
    assert named == {path.stem for path in STREAMS.iterdir()}


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize(
    "ended",
    [Ended(0, b"", "", 1.0), Ended(143, b"x", "lingered", 9.0), Ended(0, b"", "deadline", 9.0)],
)
def test_a_good_result_is_not_a_fault_whatever_the_exit_status(name: str, ended: Ended) -> None:
    assert faults.of_run(heard(name), ended) is None


@pytest.mark.parametrize(("name", "code", "words"), RECORDED)
def test_a_recorded_failure_is_recognised(name: str, code: str, words: str) -> None:
    found = faults.of_run(heard(name), FAILED)
    assert found is not None
    assert (found.code, words in found.reason) == (code, True), found
    assert found.hint


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Invalid API key · Fix external API key", "E_LOGIN"),
        ('API Error: 401 {"type":"error","error":{"type":"authentication_error"}}', "E_LOGIN"),
        ("Credit balance is too low", "E_MONEY"),
        ("Claude AI usage limit reached|1795240177", "E_RATE_LIMIT"),
        ("You've hit your limit · resets 3pm (Europe/Berlin)", "E_RATE_LIMIT"),
        (
            (
                "API Error: 529 "
                '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
            ),
            "E_OVERLOADED",
        ),
        ("API Error: 500 Internal server error", "E_OVERLOADED"),
        ("API Error: Connection error.", "E_NETWORK"),
        ("API Error: Request timed out.", "E_NETWORK"),
        ("Prompt is too long", "E_MODEL"),
        ("API Error: 400 something else", "E_MODEL"),
        ("nobody knows", "E_CHILD"),
        ("", "E_CHILD"),
    ],
)
def test_versions_that_report_it_as_text_only_are_understood(words: str, code: str) -> None:
    assert of_text(words).code == code


def fed(*events: dict[str, Any]) -> Transcript:
    transcript = Transcript(PROJECT)
    for event in events:
        transcript.feed(json.dumps(event).encode())
    return transcript


def trouble(kind: str, words: str = "x") -> dict[str, Any]:
    content = [{"type": "text", "text": words}]
    return {
        "type": "assistant",
        "error": kind,
        "message": {"model": "<synthetic>", "content": content},
    }


RETRY = {"type": "system", "subtype": "api_retry", "error_status": None, "error": "unknown"}
ANSWER = {"type": "assistant", "message": {"id": "a", "model": "m", "content": []}}


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("billing_error", "E_MONEY"),
        ("oauth_org_not_allowed", "E_LOGIN"),
        ("authentication_failed", "E_LOGIN"),
        ("model_not_found", "E_MODEL"),
        ("rate_limit", "E_RATE_LIMIT"),
        ("overloaded", "E_OVERLOADED"),
        ("server_error", "E_OVERLOADED"),
        ("invalid_request", "E_MODEL"),
        ("a word of next year", "E_CHILD"),
    ],
)
def test_the_programs_own_word_for_a_failure_is_enough(kind: str, code: str) -> None:
    found = faults.of_run(
        fed(trouble(kind), {"type": "result", "is_error": True, "result": "x"}), FAILED
    )
    assert found is not None
    assert found.code == code
    other = faults.of_run(
        fed(trouble(kind), {"type": "result", "is_error": True, "result": "y"}), FAILED
    )
    assert other is not None
    assert other.code == "E_CHILD", "a failure that the result does not speak of"


@pytest.mark.parametrize(
    ("word", "code"),
    [
        ("usage_limit_reached", "E_RATE_LIMIT"),
        ("tls_untrusted_ca", "E_NETWORK"),
        ("no_response", "E_NETWORK"),
        ("connection_failed", "E_NETWORK"),
        ("max_output_tokens", "E_MODEL"),
        ("org_disabled_credential", "E_LOGIN"),
    ],
)
def test_the_programs_word_for_the_cause_is_enough(word: str, code: str) -> None:
    assert of_text("x", api_error=word).code == code


def test_a_failure_that_was_overcome_is_not_reported_for_a_later_end() -> None:
    transcript = fed(
        trouble("overloaded"), ANSWER, {"type": "result", "is_error": False, "result": "Done."}
    )
    transcript.message_sent()
    found = faults.of_run(transcript, FAILED)
    assert found is not None
    assert found.code == "E_CHILD"


def test_the_end_of_a_limit_is_given_as_the_program_reports_it() -> None:
    assert of_text("You've hit your limit · resets 3pm (Europe/Berlin)").reason.endswith(
        "it resets 3pm"
    )


def test_a_refusal_to_start_says_why() -> None:
    found = of_text(
        "",
        subtype="error_during_execution",
        startup_failure_reason="proxy_invalid",
        errors=["Bad proxy."],
    )
    assert (found.code, found.reason) == ("E_CLI", "Claude Code refused to start: Bad proxy.")


# -- ends without a result


@pytest.mark.parametrize(
    ("ended", "code", "words"),
    [
        (
            Ended(127, b"[Errno 2] No such file or directory: '/x/claude'", "", 0),
            "E_CLI",
            "No such file or directory",
        ),
        (Ended(126, b"", "", 0), "E_CLI", "could not be started"),
        (
            Ended(1, b"noise\nerror: unknown option '--safe'\n", "", 0),
            "E_CLI",
            "unknown option '--safe'",
        ),
        (
            Ended(1, b"Error: Invalid MCP configuration:\nMCP config file not found", "", 0),
            "E_SERVER",
            "MCP servers",
        ),
        (Ended(1, b"Not logged in \xc2\xb7 Please run /login", "", 0), "E_LOGIN", "not logged in"),
        (Ended(1, b"Invalid API key", "", 0), "E_LOGIN", "refused"),
        (Ended(0, b"", "", 0), "E_CHILD", "without a result (exit status 0)"),
        (
            Ended(0, b"a server says: not logged in", "", 0),
            "E_CHILD",
            "without a result (exit status 0: a server says",
        ),
        (Ended(3, b"first\nlast \x1b[31mred\n", "", 0), "E_CHILD", "(exit status 3: last red)"),
        (Ended(137, b"", "", 0), "E_CHILD", "by signal 9"),
        (Ended(130, b"", "deadline", 0), "E_TIMEOUT", "the time was up"),
        (Ended(143, b"", "lingered", 0), "E_CHILD", "by signal 15"),
    ],
)
def test_an_end_without_a_result_is_explained_by_exit_status_and_stderr(
    ended: Ended, code: str, words: str
) -> None:
    found = faults.of_run(Transcript(PROJECT), ended)
    assert found is not None
    assert (found.code, words in found.reason) == (code, True), found


def test_a_timeout_while_retrying_is_blamed_on_the_error() -> None:
    late = Ended(0, b"", "deadline", 180.0)
    found = faults.of_run(heard("interrupted-while-waiting"), late)
    assert found is not None
    assert (found.code, found.reason) == (
        "E_OVERLOADED",
        "the model's service is overloaded, until the time was up",
    )
    working = faults.of_run(heard("interrupted"), late)
    assert working is not None
    assert working.code == "E_TIMEOUT"


def test_a_message_sent_after_a_good_result_needs_its_own() -> None:
    transcript = heard("good")
    transcript.message_sent()
    found = faults.of_run(transcript, Ended(0, b"", "deadline", 9.0))
    assert found is not None
    assert found.code == "E_TIMEOUT"


def test_a_build_without_time_for_another_child_keeps_the_fault_of_the_one_before() -> None:
    known = Fault(code="E_OVERLOADED", reason="x")
    assert faults.out_of_time([Outcome(), Outcome(fault=known)]) == known
    assert faults.out_of_time([]).code == "E_TIMEOUT"


# -- what a reason may contain


@pytest.mark.parametrize(
    "secret", ["sk-ant-api03-abcDEF123", "Bearer abc.def", "api_key=hunter22", "http://me:pw@proxy"]
)
def test_secrets_and_escapes_of_the_child_are_in_no_reason(secret: str) -> None:
    found = of_text(f"API Error: 400 odd {secret} \x1b[2J" + "x" * 5000)
    assert found.code == "E_MODEL"
    assert "odd" in found.reason
    assert all(part not in found.reason for part in ("abcDEF", "abc.def", "hunter22", "pw", "\x1b"))
    assert len(found.reason) < 250


def test_an_excerpt_with_a_secret_of_a_known_shape_is_left_out() -> None:
    found = of_text("API Error: 400 odd ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3gH6")
    assert found.reason == "the service refused the request: it did not say why"


@pytest.mark.parametrize("row", [*ROWS, *STDERR], ids=lambda row: row.reason[:30])
def test_every_row_reads_as_a_clause_and_says_what_to_do(row: Any) -> None:
    assert row.code in CODES
    assert not row.reason.endswith(".")
    assert row.reason[0].islower() or row.reason.startswith("Claude Code")
    assert row.hint.endswith(".")
    assert row.hint[0].isupper()


FIELDS = (
    "subtype result errors api_error api_error_type api_error_status terminal_reason "
    "startup_failure_reason"
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda v: st.lists(v, max_size=3),
)


@given(
    st.dictionaries(
        st.sampled_from(FIELDS.split()),
        JUNK,
    ),
    st.integers(0, 255),
    st.binary(max_size=60),
    st.sampled_from(["", "deadline", "lingered"]),
    st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_whatever_ends_a_child_has_a_code_and_one_printable_line(
    fields: Mapping[str, Any], status: int, err: bytes, cut: Any, told: bool
) -> None:
    transcript = Transcript(PROJECT)
    if told:
        transcript.feed(json.dumps({"type": "result", "is_error": True, **fields}).encode())
    found = faults.of_run(transcript, Ended(status, err, cut, 1.0))
    assert found is not None
    assert found.code in CODES
    assert found.reason.isprintable()


# -- whether to try again


def test_only_what_passes_is_tried_again_and_not_for_ever() -> None:
    again = ["overloaded", "failing", "rate-limit"]
    never = ["key-refused", "connection-refused", "max-turns", "no-credit", "usage-limit"]
    for name in again + never:
        found = faults.of_run(heard(name), FAILED)
        assert found is not None
        assert (faults.retry_after(found, 1) is not None) is (name in again), name
    overloaded = faults.of_run(heard("overloaded"), FAILED)
    assert overloaded is not None
    pauses = [faults.retry_after(overloaded, attempt) for attempt in (1, 2, 3, 9)]
    assert pauses[2:] == [None, None]
    assert pauses[0] is not None
    assert pauses[1] is not None
    assert 8 <= pauses[0] <= 12 < pauses[1] <= faults.MAX_PAUSE


def test_a_limit_that_ends_soon_is_waited_for() -> None:
    limited = Fault(code="E_RATE_LIMIT", reason="the account's usage limit is reached")
    soon = faults.retry_after(limited, 1, resets_at=time.time() + 20)
    assert soon is not None
    assert 15 < soon < 25
    assert faults.retry_after(limited, 1, resets_at=time.time() + 3600) is None
    assert faults.retry_after(limited, 1, resets_at=time.time() - 3600) is None


def test_repeated_login_refusals_are_hopeless_and_an_overload_is_not() -> None:
    for name, expected in [
        ("key-refused", True),
        ("connection-refused", True),
        ("overloaded", False),
        ("good", False),
    ]:
        transcript, seen = Transcript(PROJECT), []
        for line in (STREAMS / f"{name}.jsonl").read_bytes().splitlines():
            transcript.feed(line)
            seen.append(faults.is_hopeless(transcript))
        assert any(seen) is expected, name
        assert not seen[-1], "it ended by itself"
    assert faults.is_hopeless(fed(RETRY, RETRY, RETRY))
    assert not faults.is_hopeless(fed(RETRY, RETRY, ANSWER, RETRY))
    assert not faults.is_hopeless(fed(ANSWER, RETRY, RETRY, RETRY)), (
        "what was paid for is worth waiting for"
    )


# -- servers


def test_a_server_that_could_not_be_used_is_a_warning_with_what_to_do() -> None:
    assert faults.server_warnings(heard("server", "tracker")) == ()
    (login,) = faults.server_warnings(heard("server-needs-login", "web", "my.tracker x"))
    assert login.startswith(
        "E_SERVER: the MCP server `web` is not logged in. Run `claude mcp login web`"
    )
    failed = faults.server_warnings(heard("server-failed", "tracker", "web"))
    assert ["could not be started" in warning for warning in failed] == [True, True]
    assert "did not answer in time" in faults.server_warnings(heard("server-pending", "slow"))[0]
    asked = {"type": "tool_use", "id": "t", "name": "mcp__slow__find", "input": {}}
    late = heard("server-pending", "slow")
    late.feed(
        json.dumps({**ANSWER, "message": {"id": "b", "model": "m", "content": [asked]}}).encode()
    )
    late.feed(
        b'{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", '
        b'"content": "x"}]}}'
    )
    assert faults.server_warnings(late) == (), "it answered after all"
    assert "was not loaded" in faults.server_warnings(heard("good", "tracker"))[0]
    assert faults.server_warnings(Transcript(PROJECT, ("tracker",))) == ()


# -- the real program

ARGUMENTS = [
    "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--model",
    "sonnet",
    "--tools", "Read,Grep,Glob,Write", "--permission-mode", "dontAsk",
    "--setting-sources", "", "--strict-mcp-config", "--no-session-persistence",
]  # fmt: skip
ONE_TRY = {"CLAUDE_CODE_MAX_RETRIES": "1"}
LATER = 600.0  # seconds; a deadline that only a clock which is set forward reaches
TOKEN = {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-scripted"}
TRACKER = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    given = {
        "initialize": lambda: {
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": {"tools": {}},
            "serverInfo": {"name": "tracker", "version": "1"},
        },
        "tools/list": lambda: {
            "tools": [{"name": "get_issue", "inputSchema": {"type": "object", "properties": {}}}]
        },
        "tools/call": lambda: {"content": [{"type": "text", "text": "SHOP-7, see tracker://issue/7"}]},
    }.get(asked["method"], dict)()
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": given}), flush=True)
"""


def message(words: str) -> bytes:
    content = [{"type": "text", "text": words}]
    return (
        json.dumps({"type": "user", "message": {"role": "user", "content": content}}).encode()
        + b"\n"
    )


class Runs:
    """Runs the real program on one scripted service."""

    def __init__(self, program: Path, service: MessagesAPI, folder: Path) -> None:
        self.program, self.service, self.folder = program, service, folder
        self.lines: list[bytes] = []
        self.project = (folder / "project").resolve()
        self.project.mkdir()
        (self.project / "order.ts").write_text("export const createOrder = 1;\n")
        (folder / "home").mkdir()

    def __call__(
        self, script: list[Answer] | Callable[..., Answer], *arguments: str, environ: Mapping[str,
        str] = ONE_TRY,
        seconds: float = 60, messages: tuple[str, ...] = ("Do it.",), servers: Mapping[str,
        Any] | None = None,
        stop: Callable[[Transcript], bool] = lambda transcript: False,
    ) -> tuple[Transcript, Ended, list[str]]:  # fmt: skip
        self.service.play(script)
        config = ["--mcp-config", json.dumps({"mcpServers": servers})] if servers else []
        whole = {**bare_environ(self.service, self.folder / "home"), **environ}
        transcript, said, left = (
            Transcript(self.project, tuple(servers or ())),
            [],
            list(messages[1:]),
        )
        with child(
            [str(self.program), *ARGUMENTS, *arguments, *config],
            cwd=self.project, environ={name: value for name, value in whole.items() if value},
            deadline=time.monotonic() + seconds,
        ) as it:  # fmt: skip
            it.send(message(messages[0]))
            for line in it.lines():
                self.lines.append(line)
                said += filter(None, [transcript.feed(line)])
                if stop(transcript):
                    break
                if transcript.done and left:
                    transcript.message_sent()
                    it.send(message(left.pop(0)))
                elif transcript.done:
                    it.close_input(within=10)
        return transcript, it.ended, said


@pytest.fixture
def run(claude: Path, api: MessagesAPI, tmp_path: Path) -> Runs:  # noqa: F811
    return Runs(claude, api, tmp_path)


def looping(request: object) -> Answer:
    return [tool("Read", file_path="order.ts")]


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (UNAUTHORIZED, "E_LOGIN", "was refused"),
        (Fail(403, "permission_error", "No access."), "E_LOGIN", "was refused"),
        (NO_MODEL, "E_MODEL", "does not know the model"),
        (TOO_LONG, "E_MODEL", "too long"),
        (Fail(400, "invalid_request_error", "messages.0: odd"), "E_MODEL", "400 messages.0: odd"),
        (NO_CREDIT, "E_MONEY", "no credit"),
        (rate_limit(), "E_RATE_LIMIT", "limits the rate"),
        (rate_limit(3600), "E_RATE_LIMIT", "limits the rate"),
        (OVERLOADED, "E_OVERLOADED", "is overloaded"),
        (BROKEN, "E_OVERLOADED", "is failing"),
    ],
    ids=["401", "403", "404", "too-long", "400", "credit", "429", "429-long", "529", "500"],
)
def test_a_refused_request_is_recognised(run: Runs, answer: Fail, code: str, words: str) -> None:
    transcript, ended, _ = run(lambda request: answer)
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, words in found.reason) == (code, True), found
    assert (ended.status, transcript.turns, transcript.cost_usd) == (1, 0, 0)
    assert transcript.result is not None
    assert transcript.result["subtype"] == "success", "a failed run says so"


def test_without_a_login_nothing_is_asked(run: Runs) -> None:
    transcript, ended, _ = run([[text("Done.")]], environ={"ANTHROPIC_API_KEY": ""})
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, found.reason) == ("E_LOGIN", "Claude Code is not logged in")
    assert run.service.requests == []


def test_the_end_of_a_subscriptions_limit_is_known(run: Runs) -> None:
    resets = int(time.time()) + 3 * 3600
    unified = {"status": "rejected", "reset": str(resets), "representative-claim": "five_hour"}
    headers = {f"anthropic-ratelimit-unified-{name}": value for name, value in unified.items()}
    refusal = Fail(
        429, "rate_limit_error", "This request would exceed your account's rate limit.", headers
    )
    transcript, ended, _ = run(lambda request: refusal, environ=ONE_TRY | TOKEN)
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert transcript.limit_resets_at == resets
    assert time.strftime("%H:%M", time.localtime(resets)) in found.reason
    assert run.service.requests[0].key == "Bearer sk-ant-oat01-scripted"


def test_a_missing_service_is_given_up_on_early(run: Runs) -> None:
    with socket.socket() as unheard:
        unheard.bind(("127.0.0.1", 0))
        nowhere = {
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{unheard.getsockname()[1]}",
            **faults.RETRIES_ENV,
        }
        transcript, ended, said = run([], environ=nowhere, stop=faults.is_hopeless)
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, found.reason) == ("E_NETWORK", "the model's service could not be reached")
    assert ended.seconds < 40
    assert sum("waits: no answer" in words for words in said) == faults.MAX_TRIES


def test_the_program_retries_as_often_as_configured_and_continues(
    run: Runs,
) -> None:
    transcript, ended, said = run([OVERLOADED, BROKEN, [text("Done.")]], environ=faults.RETRIES_ENV)
    assert faults.of_run(transcript, ended) is None
    assert said[1:] == [
        "turn 1: waits: the service is overloaded (try 1)",
        "turn 1: waits: the service is failing (try 2)",
    ]
    assert (transcript.turns, transcript.text) == (1, "Done.")


def test_the_bound_on_tries_is_one_that_the_program_knows(run: Runs) -> None:
    run(
        lambda request: OVERLOADED,
        environ=faults.RETRIES_ENV,
        stop=lambda transcript: transcript.tries == 1,
    )
    (retry,) = [
        event for event in map(json.loads, run.lines) if event.get("subtype") == "api_retry"
    ]
    assert str(retry["max_retries"]) == faults.RETRIES_ENV["CLAUDE_CODE_MAX_RETRIES"]


def test_an_answer_cut_in_the_middle_of_a_line_is_asked_for_again(run: Runs) -> None:
    transcript, ended, said = run([Turn([text("Hel")], cut="line"), [text("Hello.")]])
    assert faults.of_run(transcript, ended) is None
    # On a busy machine the program may notice the cut before the answer begins; then it retries
    # silently.
    assert {words for words in said if "waits" in words} <= {
        "turn 1: waits: no answer from the service (try 1)"
    }
    assert transcript.text == "Hello."


def test_turns_and_money_are_limited(run: Runs) -> None:
    transcript, ended, _ = run(looping, "--max-turns", "2")
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, found.reason, transcript.turns) == (
        "E_TURNS",
        "the model used all its turns (2)",
        2,
    )
    transcript, ended, _ = run(looping, "--max-budget-usd", "0.0001")
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, found.reason) == (
        "E_MONEY",
        "the drafts reached their spending limit ($0.0001)",
    )
    assert transcript.cost_usd is not None
    assert transcript.cost_usd > 0.0001


class Clock:
    """The clock of deadlines, which a test sets forward when the program has got far enough."""

    def __init__(self) -> None:
        self._ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self._ahead

    def set_forward(self) -> None:
        self._ahead = LATER


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(streamed, "time", found)
    return found


def test_a_deadline_keeps_the_output_and_the_drafts(run: Runs, clock: Clock) -> None:
    def script(request: Request) -> Answer:
        if request.turn == 0:
            return [tool("Read", file_path=str(run.project / "order.ts"))]
        clock.set_forward()
        return Hang()

    transcript, ended, said = run(script, seconds=LATER)
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, ended.cut) == ("E_TIMEOUT", "deadline")
    assert "turn 1: reads order.ts" in said
    assert transcript.interrupted
    assert (transcript.turns, bool(transcript.cost_usd)) == (1, True)


def test_a_deadline_while_retrying_is_blamed_on_the_service(run: Runs, clock: Clock) -> None:
    def script(_request: Request) -> Answer:
        if len(run.service.requests) > 1:  # the program has said that it tries again
            clock.set_forward()
        return OVERLOADED

    transcript, ended, _ = run(script, environ=faults.RETRIES_ENV, seconds=LATER)
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, ended.cut) == ("E_OVERLOADED", "deadline")
    assert found.reason.endswith("until the time was up")


def test_two_messages_and_a_server_in_one_run(run: Runs) -> None:
    script = [
        [tool("mcp__tracker__get_issue"), tool("Read", file_path="/etc/passwd")], [text("One.")],
        [tool("Grep", pattern="createOrder")], [text("Two.")],
    ]  # fmt: skip
    servers = {
        "tracker": {"command": sys.executable, "args": ["-c", TRACKER]},
        "gone": {"command": "/nowhere/server"},
    }
    transcript, ended, said = run(
        script,
        "--allowedTools",
        "mcp__tracker__get_issue",
        messages=("Do it.", "And again."),
        servers=servers,
    )
    assert faults.of_run(transcript, ended) is None
    assert (transcript.turns, transcript.text, ended.status) == (4, "Two.", 0)
    assert transcript.tokens == {"input": 400, "output": 40, "cache_read": 0, "cache_creation": 0}
    assert transcript.external == ["SHOP-7, see tracker://issue/7"]
    assert transcript.denials == ["Read /etc/passwd"]
    assert 'turn 3: searches "createOrder"' in said
    assert [warning.split("`")[1] for warning in faults.server_warnings(transcript)] == ["gone"]


def test_an_option_that_the_program_does_not_know_is_reported(run: Runs) -> None:
    transcript, ended, _ = run([], "--no-such-option")
    found = faults.of_run(transcript, ended)
    assert found is not None
    assert (found.code, "unknown option '--no-such-option'" in found.reason) == ("E_CLI", True)


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    with child(
        [str(tmp_path / "claude")], cwd=tmp_path, environ={}, deadline=time.monotonic() + 20
    ) as it:
        assert list(it.lines()) == []
    found = faults.of_run(Transcript(tmp_path), it.ended)
    assert found is not None
    assert found.code == "E_CLI"
