"""How evidence, failed tests and facts look to a person."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from preread.cli.terminal import Bar, Block, BulletList, FileLines, Table, Truncated

if TYPE_CHECKING:
    from preread.models import Evidence, Ranked
    from preread.operations.facts import SearchReply
    from preread.operations.failures import FailedTest, FailuresReply

MAX_WORDS = 12  # how many of the search words are shown


def evidence(reply: "Evidence") -> Iterator[Block]:
    more = f" and {len(reply.words) - MAX_WORDS} more" if len(reply.words) > MAX_WORDS else ""
    yield f"{reply.feature}: searched for {', '.join(reply.words[:MAX_WORDS]) or 'nothing'}{more}"
    yield _ranked("sources", reply.files)
    yield _ranked("tests", reply.tests)
    yield _ranked("documents", reply.docs)
    yield from _findings(reply)
    yield from (f"note: {note}" for note in reply.notes)


def _ranked(title: str, ranked: Sequence["Ranked"]) -> Block:
    rows = [
        (
            str(rank),
            Bar(one.score),
            FileLines(one.path, one.lines),
            Truncated(next(iter(one.reasons), "")),
        )
        for rank, one in enumerate(ranked, 1)
    ]
    return Table(("rank", "score", title, "reason"), rows) if rows else f"no {title}"


def _findings(reply: "Evidence") -> Iterator[Block]:
    """The findings by section, and how many are not shown."""
    sections: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for finding in reply.findings:
        row = (finding.text, ", ".join(finding.sources))
        sections.setdefault((finding.file, finding.section), []).append(row)
    for (file, section), rows in sections.items():
        yield BulletList(f"\n{file}: {section}", rows)
    if reply.total > len(reply.findings):
        more = reply.total - len(reply.findings)
        yield f"\n{more} more findings (--limit {reply.total} shows all)"


def failures(reply: "FailuresReply") -> Iterator[Block]:
    if reply.tests:
        columns = ("state", "failed", "flaky", "last failed", "recent", "kinds", "test")
        yield Table(columns, [_failed(test) for test in reply.tests])
    else:
        yield f"No test {f'of {reply.feature} ' if reply.feature else ''}is known to have failed."
    if reply.total > len(reply.tests):
        yield f"{reply.total - len(reply.tests)} more (--limit {reply.total} shows all)"
    yield from (f"note: {note}" for note in reply.notes)


def _failed(test: "FailedTest") -> tuple[str, ...]:
    kinds = sorted(test.kinds.items(), key=lambda pair: -pair[1])
    return (
        test.state,
        f"{test.failures} of {test.runs}" + (f", {test.retried} retried" if test.retried else ""),
        f"{test.flakiness:.2f}",
        test.last_failed[:10],
        test.recent,
        ", ".join(f"{kind} {times}" for kind, times in kinds),
        f"{test.test}: {test.message}" if test.message else test.test,
    )


def facts(reply: "SearchReply") -> Iterator[Block]:
    if not reply.facts:
        yield "No fact matches."
        return
    for fact in reply.facts:
        yield f"{fact.id}  {fact.text} ({', '.join(fact.sources)})"
        yield f"{'':8}  {fact.state}, {fact.confidence:.2f}, {fact.path}:{fact.line}"
