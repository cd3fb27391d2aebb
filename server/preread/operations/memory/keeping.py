"""What `remember`, `learn`, `decide` and `capture` share: a fact is checked, then kept."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from pydantic import Field

from preread import check, git_rules
from preread.dossier import brackets, fact_notes, markdown
from preread.errors import PrereadError
from preread.memory import files
from preread.memory.book import NAME, TITLE, Book, similar, tidy_tags
from preread.models import Model, Problem
from preread.operations import previews
from preread.operations.registry import Context, Preview, in_thread
from preread.services import Services

# Descriptions of fields that several requests have.
CONTEXT = "When it applies, or what it is about."
TAGS = "Words to find it by, each on its own or with commas between them."
COLLECTION = "The section that contains it."
SOURCES = "What proves it, like src/a.py:12. Without any, it counts as your statement."
PERSONAL = "Keep it for yourself: in .project/.state/, which git never commits."
TOPIC = "What it is about, in a word or two: it replaces what the collection has on the same topic."
MAX_TEXT, MAX_NAME = 1500, 60


@dataclass(frozen=True)
class New:
    """A fact to keep."""

    text: str
    collection: str
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    topic: str = ""
    personal: bool = False


class Similar(Model):
    """Another fact that may say the same."""

    id: str
    text: str
    share: float = Field(description="The share of both facts' words that they have in common.")


class KeptReply(Model):
    """Where the fact is kept, and what it replaced."""

    id: str
    state: str = Field(
        description="`added`; `merged` with an equal one; `revived`; `known`: it was there already."
    )
    text: str
    collection: str
    sources: tuple[str, ...]
    path: str
    line: int
    replaced: tuple[str, ...] = Field((), description="Ids of facts on the same topic.")
    similar: tuple[Similar, ...] = Field((), description="Facts that may say the same; unchanged.")
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Checked:
    """A fact that may be kept, and its note."""

    new: New
    text: str
    sources: tuple[str, ...]
    note: dict[str, str]


async def keep(context: Context, new: New) -> KeptReply:
    """Keep a fact. Raises E_REMEMBER for one that may not be kept."""
    return await in_thread(context, context.services(), _keep, context, new)


async def preview(context: Context, *news: New) -> Preview:
    """What `keep` would change, for facts of one file; raises like it."""
    return await in_thread(context, context.services(), _preview, context, news)


async def refusal(
    context: Context, facts: Iterable[str], command: str, *, yes: bool
) -> dict[str, str]:
    """Asks the person; the state of a reply that keeps nothing, and what is next, else empty.

    An agent cannot say yes for the person.
    """
    if yes and not context.is_agent:
        return {}
    if context.caller.ask is None:
        keeps = f"`preread {command} --yes` in a terminal"
        return {"state": "proposed", "next": f"Show them to the person; to keep them: {keeps}"}
    listed = "".join(f"\n- {fact}" for fact in facts)
    if await context.caller.ask(f"Keep this in the project's knowledge?{listed}\n"):
        return {}
    return {"state": "declined", "next": "Nothing was kept."}


def _keep(services: Services, context: Context, new: New) -> KeptReply:
    layout = services.layout
    fact = checked(services, who(services, context), new)
    warnings = git_rules.prepare(layout, services.settings)
    if not new.personal and git_rules.is_provisional(layout):
        warnings += ("git ignores .project/ until `preread init` has set it up.",)
    path = layout.relative(files.path_of(layout, personal=new.personal))
    reply = files.edit(layout, partial(_change, fact, path), personal=new.personal)
    return reply.model_copy(update={"warnings": warnings})


def _preview(services: Services, context: Context, news: tuple[New, ...]) -> Preview:
    layout, personal = services.layout, news[0].personal
    path = layout.relative(files.path_of(layout, personal=personal))
    by = who(services, context)
    facts = [checked(services, by, new) for new in news]

    def change(book: Book) -> None:
        for fact in facts:
            _change(fact, path, book)

    return previews.of_file(path, *files.previewed(layout, change, personal=personal))


def _change(fact: _Checked, path: str, book: Book) -> KeptReply:
    new, topic = fact.new, fact.note["topic"]
    near = similar(book, fact.text)
    added = book.add(new.collection, fact.text, fact.sources, fact.note)
    replaced = [
        entry
        for entry in book.live
        if (topic, new.collection.casefold()) in entry.topics and entry.id != added.id
    ]
    for entry in reversed(replaced):  # the lines below a wrapped one may move up
        book.retire(entry, "replaced-by", added.id, fact.note["at"])
    entry = next(one for one in book.live if one.id == added.id)
    gone = {one.id for one in replaced}
    return KeptReply(
        id=added.id,
        state=added.state,
        text=entry.text,
        collection=entry.collection,
        sources=entry.sources,
        path=path,
        line=entry.lines[0],
        replaced=tuple(sorted(gone)),
        similar=tuple(
            Similar(id=one.id, text=one.text, share=share)
            for share, one in near
            if one.id not in gone
        ),
    )


def who(services: Services, context: Context) -> str:
    """The caller's name as sources contain it: an agent's client, or the person's name in git."""
    name = context.by.removeprefix("mcp:")
    if not context.is_agent:
        named = services.tree.git("config", "user.name").out.decode("utf-8", "replace").strip()
        name = named or services.environ.get("USER") or services.environ.get("USERNAME") or name
    return re.sub(r"[^\w.-]+", "-", name).strip("-._")[:64] or "person"


def now() -> str:
    return datetime.now(UTC).strftime(fact_notes.TIME)


def topic_of(text: str) -> str:
    return " ".join(text.split()).casefold()


def heading(text: str) -> str:
    """A collection's name as a heading."""
    return " ".join(text.split()).lstrip("# ") or "Notes"


def checked(services: Services, by: str, new: New) -> _Checked:
    """The fact with its sources and its note. Raises E_REMEMBER."""
    text, cited = " ".join(new.text.split()), new.sources
    without, parts = brackets.split_sources(text)
    if not cited and brackets.are_sources(parts):
        text, cited = without, tuple(parts)
    at = now()
    cited = cited or (f"said:{by}@{at[:10]}",)
    topic = topic_of(new.topic)
    new = replace(new, collection=heading(new.collection))
    tags = ", ".join(tidy_tags(new.tags))
    names = f"{new.collection}\t{tags}\t{topic}"
    body = f"{TITLE}\n\n## {names}\n- {text} ({', '.join(cited)})\n"
    draft, problems = markdown.parse(NAME, "", body)
    if len(text) > MAX_TEXT or max(map(len, names.split("\t"))) > MAX_NAME * 3:
        problems.append(Problem(NAME, 4, "E_FACT_LONG", "is too long"))
    problems += check.check_unbudgeted(services, "", [draft]).problems
    refuse(problems)
    (fact,) = draft.facts
    commit = services.tree.git("rev-parse", "--short=10", "HEAD").out.decode().strip()
    note = {"by": by, "at": at, "commit": commit, "tags": tags, "topic": topic}
    note |= {fact_notes.ADDED_TO: new.collection} if topic else {}
    return _Checked(new, fact.text, fact.sources, note)


def with_reason(text: str, reason: str) -> str:
    """A sentence with what explains it; sources at its end stay there."""
    reason = " ".join(reason.split())
    without, parts = brackets.split_sources(" ".join(text.split()))
    if not reason or not brackets.are_sources(parts):
        return f"{text} — {reason}" if reason else text
    return f"{without} — {reason} ({', '.join(parts)})"


def refuse_text(services: Services, text: str) -> None:
    """Refuse a text that contains what no fact may contain. Raises E_REMEMBER."""
    fact = f"{TITLE}\n\n## x\n- {' '.join(text.split()) or 'x'} (said:x@2000-01-01)\n"
    refuse(list(check.check_unbudgeted(services, "", [markdown.parse(NAME, "", fact)[0]]).problems))


def refuse(problems: list[Problem]) -> None:
    """Raise E_REMEMBER if there are problems with a fact."""
    if problems:
        why = "; ".join(f"{each.message} ({each.code})" for each in problems[:3])
        details = [{"code": each.code, "message": each.message} for each in problems]
        raise PrereadError(
            "E_REMEMBER",
            f"This fact {why}.",
            "Correct it. Without a source in the code, leave the sources out: then it counts as "
            "what you said.",
            {"problems": details},
        )
