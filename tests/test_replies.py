"""Replies: as much of the dossier as fits, correct counts, and one thing to do next."""

from pathlib import Path

import anyio
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from _evidence_project import CALM, request, services
from preread.builds import pipeline, recording, replies
from preread.dossier import fact_text, markdown, published
from preread.dossier.build_records import BuildRecord
from preread.dossier.published import Published
from preread.errors import CODES, Cancelled, PrereadError
from preread.layout import FILES
from preread.models import Checked, LoadReply, Manifest, Outcome, Problem, Stats

LINE = st.text(alphabet="ab `#-", max_size=60)
TEXTS = st.dictionaries(
    st.sampled_from([row.name for row in FILES]),
    st.lists(LINE, max_size=12).map("\n".join),
    max_size=7,
)


def build(root: Path, feature: str = "checkout", **settings: object) -> LoadReply:
    return anyio.run(
        pipeline.build,
        services(root, **settings),
        request(feature).model_copy(update={"force": True}),
    )


def again(root: Path, feature: str = "checkout", **settings: object) -> LoadReply:
    """The reply to a call that the standing dossier covers."""
    asked = services(root, **settings)
    found = published.read(asked.layout, feature)
    assert found is not None
    return replies.from_published(asked, request(feature), found, "cached", 0.01)


def texts_of(root: Path, feature: str = "checkout") -> dict[str, str]:
    folder = root / ".project" / "context" / feature
    return {path.name: path.read_text() for path in folder.glob("*.md")}


# -- inlining


@CALM
@given(TEXTS, st.integers(0, 120))
@example({"patterns.md": "abc", "codebase.md": "abc", "anti-patterns.md": "abc"}, 3)
def test_no_more_is_inlined_than_may_be(texts: dict[str, str], limit: int) -> None:
    shown, cut = replies.inline(texts, limit)
    assert fact_text.tokens(shown) <= limit
    whole = {name for name, text in texts.items() if text.strip() and name not in cut}
    assert all(texts[name].strip() in shown for name in whole)
    assert set(cut) <= texts.keys()


@CALM
@given(TEXTS)
def test_what_fits_is_inlined_whole_in_the_order_of_use(texts: dict[str, str]) -> None:
    shown, cut = replies.inline(texts, 100_000)
    assert cut == ()
    assert shown == "\n\n".join(
        texts[name].strip() for name in replies.INLINE_ORDER if texts.get(name, "").strip()
    )


def test_the_order_of_use_names_every_file_and_begins_with_what_must_be_seen() -> None:
    assert sorted(replies.INLINE_ORDER) == sorted(row.name for row in FILES)
    assert replies.INLINE_ORDER[:2] == ("summary.md", "anti-patterns.md")


# -- a dossier


def test_a_build_replies_with_the_dossier_itself_and_the_next_step(project: Path) -> None:
    reply = build(project)
    texts = texts_of(project)
    assert (reply.status, reply.state, reply.builder, reply.level) == (
        "ok",
        "built",
        "static",
        "light",
    )
    assert reply.path == ".project/context/checkout/"
    assert reply.files == tuple(row.name for row in FILES if row.name in texts)
    assert all(text.strip() in reply.dossier for text in texts.values())
    assert reply.next
    assert reply.code is None
    assert reply.missing == ()  # a file without facts is not missed


def test_the_counts_of_a_reply_are_those_of_the_files(project: Path) -> None:
    reply = build(project)
    texts = texts_of(project)
    stats = reply.stats
    assert stats is not None
    facts = [
        fact
        for name, text in texts.items()
        for fact in markdown.parse(name, "checkout", text)[0].facts
    ]
    assert (
        stats.facts == len(facts) == stats.quoted + stats.computed + stats.external + stats.located
    )
    assert stats.tokens == sum(fact_text.tokens(text) for text in texts.values())
    assert stats.computed == sum(
        any(source.startswith("absent:") for source in fact.sources) for fact in facts
    )
    assert stats.dropped == 0
    assert stats.seconds > 0


def test_a_covered_call_returns_the_same_dossier_as_cached(project: Path) -> None:
    first = build(project)
    reply = again(project)
    assert reply.state == "cached"
    assert reply.stats is not None
    assert reply.stats.seconds == 0.01
    same = {"state", "stats", "warnings"}
    assert reply.model_dump(exclude=same) == first.model_dump(exclude=same)


def test_a_dossier_longer_than_a_reply_says_which_files_to_read(project: Path) -> None:
    build(project)
    reply = again(project, inline_tokens=400)
    assert fact_text.tokens(reply.dossier) <= 400
    assert reply.dossier.startswith("# Summary: checkout")
    longer = [warning for warning in reply.warnings if "longer than a reply" in warning]
    assert longer
    for name, text in texts_of(project).items():
        assert (text.strip() in reply.dossier) != any(
            f"checkout/{name}" in warning for warning in longer
        )


def test_nothing_is_inlined_when_nothing_may_be(project: Path) -> None:
    build(project)
    reply = again(project, inline_tokens=0)
    assert reply.dossier == ""
    assert len(reply.warnings) >= len(texts_of(project))


def test_a_dossier_that_came_with_the_repository_is_counted_from_its_files(project: Path) -> None:
    first = build(project)
    services(project).layout.run_record("checkout").unlink()
    reply = again(project)
    assert first.stats is not None
    assert reply.stats is not None
    assert (reply.stats.facts, reply.stats.tokens) == (first.stats.facts, first.stats.tokens)


def test_a_dossier_without_facts_asks_for_a_longer_description(project: Path) -> None:
    reply = build(project, "zeppelin")
    assert reply.status == "ok"
    assert any("zeppelin" in warning and "description" in warning for warning in reply.warnings)
    assert "No facts found." in reply.dossier


def test_a_fallback_is_reported_with_its_reason(project: Path) -> None:
    deeper = request("checkout").model_copy(update={"force": True, "level": "full"})
    reply = anyio.run(pipeline.build, services(project), deeper)
    assert reply.status == "degraded"
    assert any("The static builder wrote everything" in warning for warning in reply.warnings)
    assert reply.dossier


def test_a_dossier_without_a_manifest_is_returned_as_far_as_it_exists(project: Path) -> None:
    found = Published(None, {"summary.md": "# Summary: x\n"}, ("summary.md",))
    reply = replies.from_published(services(project), request("x"), found, "cached", 0.0)
    assert reply.files == ("summary.md",)
    assert reply.dossier == "# Summary: x"


# -- failures


def test_a_running_build_asks_for_the_same_call_again(project: Path) -> None:
    reply = replies.building(services(project), request("checkout"), 50.1234)
    assert (reply.status, reply.state, reply.dossier) == ("building", None, "")
    assert "same arguments" in reply.next
    assert reply.stats is not None
    assert reply.stats.seconds == 50.123


@pytest.mark.parametrize("code", sorted(CODES))
def test_a_failure_carries_its_code_and_always_something_to_do(code: str) -> None:
    for hint in ("", "Do this."):
        reply = replies.failed(PrereadError(code, "It failed.", hint, {"slug": "x"}))
        assert (reply.status, reply.code, reply.message, reply.hint) == (
            "error",
            code,
            "It failed.",
            hint,
        )
        assert reply.next
        assert reply.details == {"slug": "x"}


def test_a_cancelled_build_says_that_nothing_changed() -> None:
    reply = replies.failed(Cancelled())
    assert reply.code == "E_CANCELLED"
    assert "Nothing that was published has changed" in reply.next


def test_a_reply_is_json_whatever_it_contains(project: Path) -> None:
    reply = build(project)
    assert LoadReply.model_validate_json(reply.model_dump_json()) == reply


# -- the record of a run


def test_a_run_s_record_counts_states_and_keeps_why_facts_fell() -> None:
    problems = tuple(Problem("patterns.md", n, "E_QUOTE", "`x` stands in none") for n in range(500))
    checked = Checked((), problems=problems, dropped=500, cut=3)
    run = recording.record_of(Manifest(feature="x"), checked, Outcome(turns=3, cost_usd=0.25), 5.0)
    assert isinstance(run, BuildRecord)
    assert run.stats == Stats(dropped=500, cut=3, seconds=run.stats.seconds, turns=3, cost_usd=0.25)
    assert run.started == 5.0 < run.finished
    assert 0 < len(run.problems) <= 100
    assert run.problems[1] == "patterns.md:1: E_QUOTE `x` stands in none"
