"""How replies about sessions and their attention look to a person."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block, Marked, Table, one_line

if TYPE_CHECKING:
    from preread.operations.attention.cognitive_status import CognitiveReply
    from preread.operations.attention.wm_consolidate import ConsolidateReply
    from preread.operations.session.hear import HearReply
    from preread.operations.session.say import SayReply
    from preread.operations.session.who_is_here import WhoReply


def here(reply: "WhoReply") -> Iterator[Block]:
    if not reply.sessions:
        yield "Nobody is here."
    rows = [
        (
            one.id + (" (you)" if one.id == reply.you else ""),
            one.name,
            one.feature,
            one.doing,
            ", ".join(one.files),
            _ago(one.seen),
        )
        for one in reply.sessions
    ]
    if rows:
        yield Table(("session", "name", "feature", "doing", "files", "seen"), rows)
    for build in reply.builds:
        left = max(0, round(build.until - time.time()))
        by = f", for {', '.join(build.by)}" if build.by else ""
        yield f"{build.feature} is being built{by}; at most {left} s more"


def attention(reply: "CognitiveReply") -> Iterator[Block]:
    if not reply.top:
        yield "Nothing has attention."
    rows = [
        (f"{one.score:.2f}", ", ".join(one.kinds), _ago(one.last), one.what) for one in reply.top
    ]
    if rows:
        yield Table(("attention", "kinds", "last", "what"), rows)
    if reply.boundary is not None:
        yield f"The work last changed {_ago(reply.boundary.at)}: {reply.boundary.why}"
    yield from reply.facts
    for one in reply.proposed:
        yield f"could be kept: {one.text} ({one.why})"


def consolidated(reply: "ConsolidateReply") -> Iterator[Block]:
    for one in reply.proposed:
        yield f"- {one.text} ({one.why})"
    yield from (Marked("note", f": {refused}") for refused in reply.refused)
    for fact in reply.kept:
        yield f"{fact.state} {fact.id} in {fact.path}:{fact.line}"
    yield from [reply.next] if reply.next else []


def said(reply: "SayReply") -> Iterator[Block]:
    if reply.sent.to:
        yield f"sent to {reply.sent.to}"
    elif reply.reached:
        yield f"sent to {', '.join(map(one_line, reply.reached))}"
    else:
        yield "Nobody else is here; sessions that begin later do not get it."


def heard(reply: "HearReply") -> Iterator[Block]:
    if not reply.messages:
        yield "No new messages."
    for one in reply.messages:
        yield f"{one.name} ({_ago(one.at)}): {one.text}"
    if reply.left:
        yield f"{reply.left} more are unread."


def _ago(at: float) -> str:
    minutes = max(0, round((time.time() - at) / 60))
    return f"{minutes} min ago" if minutes else "now"
