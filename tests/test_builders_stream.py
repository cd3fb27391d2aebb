"""The headless child's output: recorded streams of the real program, and malformed lines."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from _whole import sized
from conftest import ROOT
from preread.builders import faults, untrusted
from preread.builders.stream import MAX_EXTERNAL, WIDTH, Transcript

STREAMS = ROOT / "tests" / "data" / "streams"
PROJECT = Path("/project")
NO_TOKENS = {"input": 0, "output": 0, "cache_read": 0, "cache_creation": 0}


def told(name: str, *servers: str) -> tuple[Transcript, list[str]]:
    """A recorded stream, taken in; the messages for a person."""
    transcript = Transcript(PROJECT, servers)
    lines = (STREAMS / f"{name}.jsonl").read_bytes().splitlines()
    return transcript, [said for line in lines if (said := transcript.feed(line))]


def feed(transcript: Transcript, **event: Any) -> str | None:
    return transcript.feed(json.dumps(event).encode())


def call(
    transcript: Transcript,
    tool: str,
    arguments: dict[str, Any],
    name: str = "t1",
    message: str = "m1",
) -> str | None:
    block = {"type": "tool_use", "id": name, "name": tool, "input": arguments}
    return feed(
        transcript, type="assistant", message={"id": message, "model": "m", "content": [block]}
    )


def answer(transcript: Transcript, content: Any, name: str = "t1", **more: Any) -> str | None:
    block = {"type": "tool_result", "tool_use_id": name, "content": content, **more}
    return feed(transcript, type="user", message={"role": "user", "content": [block]})


# -- recorded streams


def test_a_good_run_reports_progress_turn_by_turn_with_project_paths() -> None:
    transcript, said = told("good")
    assert said == [
        "turn 1: asks claude-sonnet-5-5",
        "turn 1: reads src/order.ts",
        "turn 2: thinks",
        'turn 2: searches "createOrder" in src',
        "turn 2: reads README.md",
    ]
    assert (transcript.done, transcript.failed, transcript.text) == (True, False, "Done.")
    assert (transcript.model, transcript.version) == ("claude-sonnet-test", "2.1.329")
    assert transcript.tools == ("Glob", "Grep", "Read", "Write")


def test_parts_of_one_answer_are_one_turn_and_their_usage_counts_once() -> None:
    transcript, _ = told("good")
    assert transcript.turns == 3  # the result says 4: it counts tool calls
    assert transcript.tokens == {
        "input": 3000,
        "output": 150,
        "cache_read": 600,
        "cache_creation": 90,
    }
    assert transcript.cost_usd == pytest.approx(0.007785)


def test_a_run_cut_before_its_result_still_has_turns_and_tokens_but_no_cost() -> None:
    transcript = Transcript(PROJECT)
    lines = (STREAMS / "good.jsonl").read_bytes().splitlines()
    for line in lines[:-1]:
        transcript.feed(line)
    assert (transcript.turns, transcript.done, transcript.cost_usd) == (3, False, None)
    assert transcript.tokens == {
        "input": 3000,
        "output": 3,
        "cache_read": 600,
        "cache_creation": 90,
    }


def test_the_second_result_of_a_run_reports_the_cost_of_both() -> None:
    transcript, _ = told("two-messages")
    results = [
        json.loads(line) for line in (STREAMS / "two-messages.jsonl").read_bytes().splitlines()
    ]
    costs = [event["total_cost_usd"] for event in results if event["type"] == "result"]
    assert transcript.cost_usd == costs[-1] > costs[0]
    assert transcript.turns == 4
    assert transcript.tokens == {
        "input": 4000,
        "output": 200,
        "cache_read": 800,
        "cache_creation": 120,
    }


def test_a_crash_that_reports_zero_does_not_reset_the_cost() -> None:
    transcript, _ = told("good")
    before = transcript.tokens
    feed(
        transcript,
        type="result",
        subtype="error_during_execution",
        is_error=True,
        total_cost_usd=0,
        modelUsage={"m": {"inputTokens": 1}},
    )
    assert transcript.cost_usd == pytest.approx(0.007785)
    assert transcript.tokens == before


def test_a_result_of_an_older_version_adds_what_its_message_used() -> None:
    transcript = Transcript(PROJECT)
    usage = {"input_tokens": 10, "output_tokens": 20}
    for name in "ab":
        feed(
            transcript,
            type="assistant",
            message={"id": name, "model": "m", "usage": {"input_tokens": 10}},
        )
        feed(transcript, type="result", subtype="success", is_error=False, usage=usage)
    assert transcript.tokens == {**NO_TOKENS, "input": 20, "output": 40}


def test_done_waits_for_the_result_of_the_last_message() -> None:
    transcript, _ = told("good")
    transcript.message_sent()
    assert not transcript.done
    feed(transcript, type="result", subtype="success", is_error=False)
    assert transcript.done


def test_denied_calls_are_reported_at_once_and_listed_once() -> None:
    transcript, said = told("denied")
    assert transcript.denials == ["Read /etc/passwd", "Write x.md"]
    assert "turn 1: was refused: Read /etc/passwd" in said
    again, _ = told("denied-twice")
    assert again.denials == ["Read /etc/passwd"] * 2


def test_waiting_is_explained_and_the_tries_are_counted() -> None:
    transcript, said = told("overloaded")
    assert said[1:4] == [f"turn 1: waits: the service is overloaded (try {n})" for n in (1, 2, 3)]
    assert transcript.retrying is None
    assert (transcript.turns, transcript.cost_usd) == (0, 0)
    assert told("connection-refused")[1][1] == "turn 1: waits: no answer from the service (try 1)"
    assert "turn 1: continues with claude-haiku-5-5" in told("fallback-model")[1]


def test_an_error_message_of_the_program_is_not_a_turn_of_the_model() -> None:
    transcript, _ = told("not-logged-in")
    assert transcript.turns == 0
    assert transcript.failed
    assert [trouble.kind for trouble in transcript.errors] == ["authentication_failed"]


def test_answers_of_configured_servers_are_kept_and_no_others() -> None:
    transcript, said = told("server", "tracker")
    assert "turn 1: asks tracker: get_issue" in said
    assert transcript.external == ["Issue SHOP-7: see tracker://issue/7\nsecond"]
    assert told("server")[0].external == []
    assert told("server", "track")[0].external == []


def test_a_server_whose_name_has_other_characters_is_recognised_by_its_tools() -> None:
    transcript, said = told("server-needs-login", "web", "my.tracker x")
    assert "turn 1: asks my.tracker x: get_issue" in said
    assert transcript.external
    assert transcript.servers == {"web": "needs-auth", "my.tracker x": "connected"}


def test_the_end_of_a_limit_is_taken_from_the_event_that_refuses() -> None:
    assert told("usage-limit")[0].limit_resets_at == 1795240177
    assert told("rate-limit")[0].limit_resets_at is None


# -- calls as a person reads them


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("Read", {"file_path": "/project/src/a.ts"}, "reads src/a.ts"),
        ("Read", {"file_path": "/projects/a.ts"}, "reads /projects/a.ts"),
        (
            "Write",
            {"file_path": "/project/.project/.cache/staging/login.ab/patterns.md"},
            "writes patterns.md",
        ),
        ("Edit", {"file_path": "/project/a.md"}, "edits a.md"),
        ("Glob", {"pattern": "**/*.ts"}, "looks for **/*.ts"),
        ("Grep", {"pattern": "x", "glob": "*.py"}, 'searches "x" in *.py'),
        ("Grep", {"pattern": "x", "path": "/project"}, 'searches "x" in .'),
        ("Grep", {"pattern": 7}, 'searches ""'),
        ("mcp__other__find", {}, "asks other: find"),
        ("Bash", {"command": "rm -rf /"}, "calls Bash"),
    ],
)
def test_a_call_is_described_in_a_few_words(
    tool: str, arguments: dict[str, Any], said: str
) -> None:
    assert call(Transcript(PROJECT), tool, arguments) == f"turn 1: {said}"


def test_a_long_path_keeps_its_end() -> None:
    said = call(Transcript(PROJECT), "Read", {"file_path": "/project/" + "deep/" * 40 + "Form.tsx"})
    assert said is not None
    assert said.endswith("deep/Form.tsx")
    assert len(said) <= WIDTH


@pytest.mark.parametrize(
    "hostile",
    [
        "a\x1b[2Jb",
        "a\x1b]0;title\x07b",
        "a\x1b]8;;http://x\x1b\\b",
        "a\x9b31mb",
        "a\x00b",
        "a\u202eb",
        "a\u2028b",
        "a\nb",
        "a\rb",
    ],
)
def test_nothing_a_terminal_would_obey_is_in_a_message(hostile: str) -> None:
    said = call(Transcript(PROJECT), "Read", {"file_path": hostile})
    assert said in {"turn 1: reads ab", "turn 1: reads a b"}


# -- lines that no program should say

DEEP = b"[" * 200_000
LINES = [
    b"", b"   ", b"garbage", b"\xff\xfe\x00", b"[]", b"null", b"1" * 10_000, b'"' + b"x" * 1000,
    DEEP,
    b'{"type":' + DEEP, b'{"type": "result"', b"{" * 50_000,
    b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
]  # fmt: skip


@pytest.mark.parametrize("line", LINES, ids=range(len(LINES)))
def test_a_line_that_is_not_an_object_is_skipped(line: bytes) -> None:
    transcript = Transcript(PROJECT)
    assert transcript.feed(line) is None
    feed(transcript, type="result", subtype="success", is_error=False, total_cost_usd=0.5)
    assert (transcript.done, transcript.cost_usd) == (True, 0.5)


def test_bytes_that_are_not_text_do_not_lose_the_line() -> None:
    transcript = Transcript(PROJECT)
    transcript.feed(
        b'{"type": "result", "is_error": false, "result": "a\xff\\ud800b", "total_cost_usd": NaN}'
    )
    assert transcript.done
    assert transcript.text.encode("utf-8")
    assert transcript.cost_usd is None


def test_an_overlong_line_is_not_parsed() -> None:
    transcript = Transcript(PROJECT)
    transcript.feed(b'{"type": "result", "result": "' + b"x" * untrusted.MAX_LINE + b'"}')
    assert not transcript.done


WORDS = st.sampled_from(
    "type subtype system assistant user result init api_retry permission_denied model_fallback "
    "message content tool_use"
    " tool_result thinking text id name input usage input_tokens model tool_use_id is_error "
    "permission_denials"
    " total_cost_usd modelUsage inputTokens errors error mcp_servers status tools file_path "
    "pattern path"
    " mcp__tracker__get tracker Read Grep Write m1 t1 rate_limit_event rate_limit_info resetsAt "
    "rejected".split()
)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS
VALUES = st.recursive(
    SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(WORDS, v, max_size=5), max_leaves=6
)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["tool_use", "tool_result", "text", "thinking"]) | VALUES},
    optional={
        "id": WORDS | VALUES, "tool_use_id": WORDS | VALUES, "name": WORDS | VALUES,
        "input": VALUES,
        "content": VALUES | st.text(), "is_error": VALUES,
    },
)  # fmt: skip
MESSAGES = st.fixed_dictionaries(
    {"content": st.lists(BLOCKS | VALUES, max_size=4) | VALUES},
    optional={"id": WORDS | VALUES, "model": WORDS | VALUES, "usage": VALUES},
)
EVENTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["system", "assistant", "user", "result",
    "rate_limit_event"]) | VALUES},
    optional={
        "subtype": WORDS | VALUES, "message": MESSAGES | VALUES, "error": VALUES, "result": VALUES,
        "errors": VALUES,
        "modelUsage": VALUES, "usage": VALUES, "permission_denials": st.lists(VALUES,
        max_size=3) | VALUES,
        "mcp_servers": VALUES, "total_cost_usd": VALUES, "rate_limit_info": VALUES,
        "tool_name": VALUES,
        "tool_use_id": VALUES, "is_error": VALUES, "error_status": VALUES,
        "terminal_reason": VALUES,
    },
)  # fmt: skip


@given(
    st.lists(
        EVENTS.map(lambda event: json.dumps(event).encode()) | st.binary(max_size=60), max_size=8
    )
)
@settings(max_examples=sized(60, 200), deadline=None)
def test_any_input_raises_nothing_and_messages_are_short_printable_lines(
    lines: list[bytes],
) -> None:
    transcript = Transcript(PROJECT, ("tracker",))
    for line in lines:
        said = transcript.feed(line)
        assert said is None or (said.isprintable() and 0 < len(said) <= WIDTH)
    kept = [
        transcript.model,
        transcript.version,
        transcript.text,
        *transcript.denials,
        *transcript.external,
    ]
    assert all(text.encode("utf-8") is not None for text in kept)
    assert set(transcript.tokens) == set(NO_TOKENS)
    assert min(transcript.tokens.values()) >= 0
    assert transcript.failed in {True, False}


# -- memory


def test_answers_of_tools_are_not_kept() -> None:
    transcript = Transcript(PROJECT, ("tracker",))
    tracemalloc.start()
    try:
        for number in range(300):
            name = f"call{number}"
            call(
                transcript,
                "Read",
                {"file_path": f"/project/{number}", "x": "y" * 2000},
                name,
                message=name,
            )
            answer(transcript, "z" * 20_000, name)
            feed(
                transcript,
                type="system",
                subtype="permission_denied",
                tool_use_id=name,
                tool_name="Read" * 500,
            )
            feed(transcript, type="result", result="r" * 50_000, errors=["e" * 20_000] * 5)
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000
    assert transcript.turns == 300
    assert len(transcript.denials) == 51
    assert transcript.denials[-1] == "and more"


def test_answers_of_servers_are_kept_up_to_a_bound_and_the_newest_are_dropped() -> None:
    transcript = Transcript(PROJECT, ("tracker",))
    for number in range(12):
        name = f"call{number}"
        call(transcript, "mcp__tracker__get_issue", {}, name, message=name)
        answer(
            transcript,
            [{"type": "text", "text": f"{number} " + "x" * 500_000}, "and a text", None],
            name,
        )
    assert [text[:2] for text in transcript.external] == [f"{number} " for number in range(7)]
    assert sum(map(len, transcript.external)) <= MAX_EXTERNAL
    assert transcript.answers_lost == 5
    feed(transcript, type="system", subtype="init", claude_code_version="2.1.329")
    assert faults.server_warnings(transcript)[-1].startswith(
        "E_SERVER: 5 answers of MCP servers were too long to keep"
    )
    assert transcript.external[0].endswith("\nand a text")


def test_an_answer_that_is_an_error_is_not_kept() -> None:
    transcript = Transcript(PROJECT, ("tracker",))
    call(transcript, "mcp__tracker__get_issue", {})
    answer(transcript, "tracker://issue/7 not found", is_error=True)
    assert (transcript.external, transcript.answered) == ([], set())


def test_a_result_without_its_call_is_ignored() -> None:
    transcript = Transcript(PROJECT, ("tracker",))
    answer(transcript, "tracker://issue/7", name="never-called")
    call(transcript, "Read", {"file_path": "a"})
    answer(transcript, "tracker://issue/7")
    assert transcript.external == []
