"""How replies about remembered facts look to a person."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block, Marked

if TYPE_CHECKING:
    from preread.operations.memory.capture import CaptureReply
    from preread.operations.memory.keeping import KeptReply
    from preread.operations.memory.recall import RecallReply


def kept(reply: "KeptReply") -> Iterator[Block]:
    yield from (Marked("warning", f": {warning}") for warning in reply.warnings)
    yield f"{reply.state} {reply.id} in {reply.path}:{reply.line}"
    yield f"{'':8}  {reply.text} ({', '.join(reply.sources)})"
    yield from (f"replaced {id_}" for id_ in reply.replaced)
    for other in reply.similar:
        yield Marked("note", f": {other.id} may say the same: {other.text}")


def recall(reply: "RecallReply") -> Iterator[Block]:
    yield from (Marked("note", f": {warning}") for warning in reply.warnings)
    if not reply.entries and not reply.documents:
        yield "Nothing is remembered about that."
    for one in reply.entries:
        about = [one.state, f"{one.confidence:.2f}", f"{one.path}:{one.line}", *one.tags]
        yield f"{one.id}  {one.text} ({', '.join(one.sources)})"
        yield f"{'':8}  {', '.join(about)}"
    yield from (f"{one.text} ({one.source})" for one in reply.documents)


def capture(reply: "CaptureReply") -> Iterator[Block]:
    for fact in reply.proposed:
        yield f"- {fact.text} ({', '.join(fact.sources)})"
    yield from (Marked("note", f": {refused}") for refused in reply.refused)
    for one in reply.kept:
        yield f"{one.state} {one.id} in {one.path}:{one.line}"
    yield from [reply.next] if reply.next else []
