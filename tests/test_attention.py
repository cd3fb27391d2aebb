"""Working memory: attention by weight, time and turns; where work changes; what hooks do with it."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _faces import answer
from _session_hooks import GATES, Scene
from _trees import write
from conftest import Cli, make_repository
from preread.gates import attention
from preread.gates.attention import Event
from preread.layout import Layout
from preread.operations.attention import shared

pytestmark = pytest.mark.anyio

NOW = 1_000_000.0
DOSSIER = "# Codebase: {0}\n\n## Code\n- {1} (src/{0}.py:1)\n- nobody asked (src/other.py:2)\n"


def scores(*found: Event, now: float = NOW) -> dict[str, float]:
    return attention.scores(list(found), now)


# -- fading


def test_what_was_written_counts_more_than_what_was_read() -> None:
    found = scores(
        Event(NOW, "read", "a.py"), Event(NOW, "wrote", "b.py"), Event(NOW, "given", "x")
    )
    assert list(found) == ["b.py", "x", "a.py"]
    assert found["b.py"] == 3.0


def test_attention_halves_by_time_and_fades_by_turns() -> None:
    old = Event(NOW - attention.HALF_LIFE + 1, "wrote", "a.py")
    assert scores(old)["a.py"] == pytest.approx(1.5, abs=0.01)
    turns = [Event(NOW, "turn") for _ in range(3)]
    assert scores(Event(NOW, "wrote", "a.py"), *turns)["a.py"] == pytest.approx(3 * 0.9**3)
    assert scores(*turns, Event(NOW, "wrote", "a.py"))["a.py"] == 3.0


def test_what_has_faded_is_forgotten() -> None:
    assert scores(Event(NOW - 20 * attention.HALF_LIFE, "wrote", "a.py")) == {}


@given(
    st.lists(
        st.tuples(
            st.floats(0, 2 * NOW), st.sampled_from(attention.KINDS), st.sampled_from(["a/b.py", "x", ""])
        )
    )
)  # fmt: skip
def test_any_events_have_finite_attention_the_most_first(
    rows: list[tuple[float, str, str]],
) -> None:
    found = [Event(*row) for row in sorted(rows)]
    known = list(attention.scores(found, NOW).values())
    assert known == sorted(known, reverse=True)
    assert all(0 < score <= 3 * len(rows) for score in known)
    places = [one.place for one in attention.boundaries(found)]
    assert places == sorted(set(places))


# -- where work changes


def rules_of(*found: Event) -> list[tuple[str, str]]:
    return [(one.rule, one.why) for one in attention.boundaries(list(found))]


def test_another_features_dossier_is_a_boundary_and_the_same_again_is_none() -> None:
    found = [Event(NOW, "given", x) for x in ("cart", "cart", "login")]
    assert rules_of(*found) == [("new-feature", "from cart to login")]


def test_a_long_pause_is_a_boundary_and_a_short_one_is_none() -> None:
    short, long = NOW + attention.LONG_PAUSE - 1, NOW + 2 * attention.LONG_PAUSE
    assert rules_of(Event(NOW, "read", "a"), Event(short, "read", "a")) == []
    assert rules_of(Event(NOW, "read", "a"), Event(long, "read", "a")) == [
        ("long-pause", "60 minutes without an event")
    ]


def test_three_files_in_another_part_of_the_tree_are_a_boundary() -> None:
    here = [Event(NOW, "wrote", f"api/cart/{n}.py") for n in range(3)]
    there = [Event(NOW, "wrote", f"web/pages/{n}.ts") for n in range(3)]
    assert rules_of(*here, *there[:2]) == []
    assert rules_of(*here, *there) == [("other-tree", "from api/cart to web/pages")]
    assert rules_of(*here, there[0], here[0], there[1]) == []


def test_a_run_log_with_a_lesson_and_a_mark_by_hand_are_boundaries() -> None:
    found = [Event(NOW, "finished", "cart"), Event(NOW, "boundary", "done")]
    assert [rule for rule, _ in rules_of(*found)] == ["finished-run", "processed"]


def test_what_came_before_a_boundary_fades() -> None:
    before, after = Event(NOW, "wrote", "a.py"), Event(NOW, "wrote", "b.py")
    found = scores(before, Event(NOW, "boundary"), after)
    assert found["a.py"] == pytest.approx(3 * attention.PAST_BOUNDARY)
    assert found["b.py"] == 3.0


# -- what recurs


def test_notes_and_pairs_of_files_that_recur_are_proposed() -> None:
    piece = [
        Event(NOW, "noted", "the sandbox is slow"), Event(NOW, "wrote", "a.py"),
        Event(NOW, "wrote", "a_test.py"), Event(NOW, "boundary", "x"),
    ]  # fmt: skip
    assert shared.proposals(piece) == []
    twice = [one.text for one in shared.proposals(piece * 2)]
    assert twice == ["the sandbox is slow"]
    thrice = shared.proposals(piece * 3)
    assert [one.text for one in thrice][1] == "`a.py` and `a_test.py` change together"
    assert thrice[1].sources == ("a.py", "a_test.py")


# -- in real hooks


def line(at: float, name: str, **given: str) -> bytes:
    stamp = datetime.fromtimestamp(at, UTC).isoformat().replace("+00:00", "Z")
    block = {"type": "tool_use", "id": "t", "name": name, "input": given}
    entry = {"type": "assistant", "timestamp": stamp, "message": {"content": [block]}}
    return json.dumps(entry).encode() + b"\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    root = tmp_path / "shop"
    write(root, {".project/gates": GATES, "src/cart.py": "x = 1\n", "src/login.py": "y = 1\n"})
    for feature, fact in (
        ("cart", "totals are rounded"),
        ("login", "five tries"),
        ("mail", "queued"),
    ):
        for name in ("patterns.md", "codebase.md", "summary.md"):
            text = DOSSIER.format(feature, fact if name == "codebase.md" else "nothing here")
            write(root, {f".project/context/{feature}/{name}": text})
    make_repository(root)
    return Scene(root)


def begin(scene: Scene, transcript: Path, source: str, session: str) -> str:
    scene.session = session
    event = scene.event("SessionStart", source=source) | {"transcript_path": str(transcript)}
    return str(scene.run("session-start", event)["hookSpecificOutput"]["additionalContext"])


@pytest.mark.parametrize(
    ("edited", "told", "other"),
    [("cart", "totals are rounded", "five tries"), ("login", "five tries", "totals are rounded")],
)
def test_a_session_starts_with_the_facts_about_what_was_worked_on_last(
    scene: Scene, tmp_path: Path, edited: str, told: str, other: str
) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    assert "Facts about what was worked on last" not in begin(scene, first, "startup", "session-1")
    now = time.time()
    first.write_bytes(
        line(now - 60, "Edit", file_path=str(scene.root / f"src/{edited}.py"))
        + b"{broken\n"
        + line(now - 30, "Read", file_path="/etc/passwd")
    )
    text = begin(scene, second, "startup", "session-2")
    about = text.partition("Facts about what was worked on last")[2].partition("</data-")[0]
    assert told in about
    assert other not in about
    assert "nobody asked" not in about


def test_sessions_that_write_the_same_file_are_both_told_once(scene: Scene, tmp_path: Path) -> None:
    def prompt(session: str) -> str:
        scene.session = session
        event = scene.event("UserPromptSubmit", prompt="go on")
        said = scene.run("user-prompt", event | {"transcript_path": str(transcripts[session])})
        return str(said["hookSpecificOutput"]["additionalContext"]) if said else ""

    def write_in(session: str, *names: str) -> None:
        places = (str(scene.root / name) for name in names)
        text = b"".join(line(time.time(), "Edit", file_path=place) for place in places)
        transcripts[session].write_bytes(text)

    transcripts = {name: tmp_path / f"{name}.jsonl" for name in ("session-1", "session-2")}
    hint = scene.root / ".project/.cache/together"
    begin(scene, transcripts["session-1"], "startup", "session-1")
    assert not hint.exists()  # alone, nothing is looked for
    begin(scene, transcripts["session-2"], "startup", "session-2")
    write_in("session-1", "src/cart.py", "src/login.py")
    write_in("session-2", "src/cart.py", "src/mail.py")
    for session in transcripts:
        told = prompt(session)
        assert ("src/cart.py" in told, "login" in told, "mail" in told) == (True, False, False)
        assert prompt(session) == ""
    write_in("session-2", "src/cart.py", "src/login.py")
    assert "src/login.py" in prompt("session-1")
    for place in (
        transcripts["session-2"],
        *scene.root.glob(".project/.state/sessions/session-2/*"),
    ):
        os.utime(place, (1, 1))
    assert (prompt("session-1"), hint.exists()) == ("", False)


def test_after_compaction_the_dossier_with_most_attention_comes_first(
    scene: Scene, tmp_path: Path
) -> None:
    transcript = tmp_path / "t.jsonl"
    begin(scene, transcript, "startup", "session-1")
    now = time.time()
    call = "mcp__plugin_preread_preread__load_context"
    transcript.write_bytes(
        line(now - 1000, call, feature="cart")
        + b"".join(line(now - 20, call, feature="login") for _ in range(2))
        + line(now - 10, "Write", file_path=str(scene.root / "src/login.py"))
    )
    event = scene.event("PreCompact", trigger="auto") | {"transcript_path": str(transcript)}
    scene.run("pre-compact", event)
    text = begin(scene, transcript, "compact", "session-1")
    shown = [
        text.find(f"In use in this session: The dossier of the feature {x}")
        for x in ("login", "cart")
    ]
    assert 0 < shown[0] < shown[1]
    assert "feature mail" not in text


def test_an_agent_starts_with_the_facts_of_other_dossiers_about_what_is_being_written(
    scene: Scene, tmp_path: Path
) -> None:
    transcript = tmp_path / "t.jsonl"
    begin(scene, transcript, "startup", "session-1")
    transcript.write_bytes(line(time.time(), "Write", file_path=str(scene.root / "src/cart.py")))
    more: dict[str, Any] = {"transcript_path": str(transcript)}
    scene.run("pre-task-gate", scene.event(
        "PreToolUse", tool_name="Agent", tool_use_id="toolu_1",
        tool_input={"subagent_type": "preread:test-planner", "prompt": "Plan tests of the feature `login`."},
    ) | more)  # fmt: skip
    answer = scene.run("subagent-start", scene.event(
        "SubagentStart", agent_type="preread:test-planner", agent_id="a1"
    ) | more)  # fmt: skip
    text = answer["hookSpecificOutput"]["additionalContext"]
    assert "The dossier of the feature login" in text
    assert (
        "totals are rounded"
        in text.partition("From other dossiers, about what is being worked on")[2]
    )


def test_names_from_a_transcript_never_become_paths_outside(scene: Scene, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    call = "mcp__plugin_preread_preread__load_context"
    transcript.write_bytes(line(time.time(), call, feature="../../outside") + line(
        time.time(), "Write", file_path=str(scene.root / "../x\0y")
    ))  # fmt: skip
    begin(scene, transcript, "startup", "session-1")
    event = scene.event("PreCompact", trigger="auto") | {"transcript_path": str(transcript)}
    assert scene.run("pre-compact", event) is None
    assert not list((scene.root / ".project/.state/sessions/session-1").glob("used/*"))


# -- operations


async def test_notes_fade_end_with_a_piece_of_work_and_are_kept_after_a_yes(scene: Scene) -> None:
    async def call(method: str, **params: Any) -> dict[str, Any]:
        done = await answer(scene.root, {"method": method, "params": params})
        assert "error" not in done, done["error"]
        return dict(done["result"])

    note = "the sandbox rejects amounts over 999"
    assert (await call("wm_status"))["items"] == []
    (item,) = (await call("wm_add", what=note))["items"]
    assert (item["what"], item["kinds"]) == (note, ["noted"])
    (item,) = (await call("wm_decay", turns=2))["items"]
    assert item["score"] == pytest.approx(3 * 0.81, abs=0.01)
    ended = await call("process_boundary", why="the refund is done")
    assert ended["items"][0]["score"] == pytest.approx(3 * 0.81 * 0.3, abs=0.02)
    assert (await call("detect_boundary"))["latest"]["why"] == "the refund is done"
    assert (await call("wm_consolidate"))["state"] == "nothing"
    await call("wm_add", what=note)
    knowledge = Layout(scene.root).knowledge
    proposed = await call("wm_consolidate")
    assert (proposed["state"], proposed["proposed"][0]["text"]) == ("proposed", note)
    assert not knowledge.exists()
    by_agent = await answer(
        scene.root, {"method": "wm_consolidate", "params": {"yes": True}}, by="mcp:x"
    )
    assert by_agent["result"]["state"] == "proposed"
    kept = await call("wm_consolidate", yes=True)
    assert (kept["state"], len(kept["kept"])) == ("kept", 1)
    assert note in knowledge.read_text()


def test_a_person_sees_what_has_attention(scene: Scene, cli: Cli) -> None:
    assert "Nothing has attention." in cli("attention", cwd=scene.root).out
    cli("call", "wm_add", '{"what": "src/cart.py"}', cwd=scene.root)
    cli("call", "wm_add", '{"what": "mail"}', cwd=scene.root)
    cli("call", "wm_add", '{"what": "ask before a refund"}', cwd=scene.root)
    shown = cli("attention", cwd=scene.root).out
    assert "src/cart.py" in shown
    assert "totals are rounded (src/cart.py:1)" in shown
    assert "queued (src/mail.py:1)" in shown
    assert "noted: ask before a refund" in shown
