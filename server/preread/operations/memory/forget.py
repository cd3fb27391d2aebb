"""`forget`: retire a remembered fact; it stays in its file, marked."""

from functools import partial

from pydantic import Field

from preread.memory.book import Book, Entry
from preread.models import Model
from preread.operations.memory import entries, keeping
from preread.operations.registry import Context, Operation, Preview, RequestModel, in_thread
from preread.services import Services


class ForgetRequest(RequestModel):
    """Which fact to retire."""

    fact: str = Field(min_length=1, description="Its id, or its exact text.")
    reason: str = Field("", max_length=100, description="Why, in a few words.")


class ForgetReply(Model):
    """The retired fact. Remembering it again brings it back."""

    id: str
    text: str
    state: str = Field(description="`forgotten`, or `known` if it was already retired.")
    path: str
    line: int


async def forget(context: Context, request: ForgetRequest) -> ForgetReply:
    return await in_thread(context, context.services(), _forget, context, request)


async def preview(context: Context, request: ForgetRequest) -> Preview:
    return await in_thread(context, context.services(), _preview, context, request)


def _forget(services: Services, context: Context, request: ForgetRequest) -> ForgetReply:
    changed = entries.edit(services, request.fact, _change(services, context, request))
    return ForgetReply(
        id=changed.after.id,
        text=changed.after.text,
        state="known" if changed.before.is_retired else "forgotten",
        path=changed.path,
        line=changed.after.lines[0],
    )


def _preview(services: Services, context: Context, request: ForgetRequest) -> Preview:
    return entries.preview(services, request.fact, _change(services, context, request))


def _change(services: Services, context: Context, request: ForgetRequest) -> entries.Change:
    keeping.refuse_text(services, request.reason)
    at = keeping.now()
    mark = f"{at[:10]} by {keeping.who(services, context)}"
    mark += f", {request.reason}" if request.reason else ""
    return partial(_mark, mark, at)


def _mark(mark: str, at: str, book: Book, entry: Entry) -> None:
    if not entry.is_retired:
        book.retire(entry, "forgotten", mark, at)


OPERATION = Operation(
    name="memory.forget",
    request=ForgetRequest,
    reply=ForgetReply,
    effect="write",
    doc="Retire a remembered fact; it stays in its file, marked.",
    example="""preread call memory.forget '{"fact": "3f9a01bc", "reason": "no longer true"}'""",
    run=forget,
    preview=preview,
)
