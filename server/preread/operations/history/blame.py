"""`blame`: which build, model, commit or person a fact comes from."""

from collections.abc import Collection, Iterator

from pydantic import Field

from preread.builders import CLAUDE, STATIC
from preread.dossier import damaged_history, fact_history, fact_text, published
from preread.dossier.fact_changes import Change, Known
from preread.dossier.fact_history import Event
from preread.errors import PrereadError
from preread.memory import files
from preread.memory.book import Entry
from preread.models import Fact, Manifest, Model
from preread.operations import published_dossier
from preread.operations.history import versions
from preread.operations.published_dossier import PublishedDossier
from preread.operations.registry import Context, Operation, RequestModel, in_thread
from preread.services import Services

PERSON = "person"


class BlameRequest(RequestModel):
    """Which fact."""

    fact: str = Field(min_length=1, description="The fact's id, or its exact text.")


class Origin(Model):
    """One origin of a fact."""

    at: float | None = Field(None, description="In epoch seconds.")
    how: str = Field(description="`built`, `refreshed`, `edited`, `remembered`, `committed`, …")
    by: str = Field(description="The builder and its model, a person, or git.")
    commit: str = Field("", description="The commit that was checked out, or that has the line.")
    kind: str = Field(
        description="`added`, `moved` or `changed`; `last changed` for the commit of its line."
    )
    before: str = Field("", description="The fact's earlier text, if it differed.")
    why: str = ""


class Blamed(Model):
    """One fact and where it comes from."""

    id: str
    feature: str = Field(description="Its dossier; empty for what is remembered.")
    path: str
    line: int
    text: str
    sources: tuple[str, ...]
    by: str = Field(description="Who it comes from: a builder and its model, or a person.")
    origins: tuple[Origin, ...] = Field(description="The latest first.")
    retired: str = Field("", description="Why a remembered fact is out of use.")


class BlameReply(Model):
    """The facts with this id or text."""

    facts: tuple[Blamed, ...]
    warnings: tuple[str, ...] = ()


async def blame(context: Context, request: BlameRequest) -> BlameReply:
    return await in_thread(context, context.services(), _blame, request)


def _blame(services: Services, request: BlameRequest) -> BlameReply:
    found = blamed(services, request.fact)
    features = dict.fromkeys(one.feature for one in found if one.feature)
    warnings = (one for name in features for one in damaged_history.warnings(services.layout, name))
    return BlameReply(facts=tuple(found), warnings=tuple(warnings))


def blamed(services: Services, wanted: str) -> list[Blamed]:
    """Every fact with this id or text, and its origins. Raises E_NOT_FOUND."""
    found = [*_of_dossiers(services, {wanted}), *_remembered(services, wanted)]
    found = found or list(_of_dossiers(services, _later_ids(services, wanted)))
    if found:
        return found
    raise PrereadError(
        "E_NOT_FOUND",
        f"No fact has the id or text {wanted[:120]!a}.",
        '`preread facts "WORDS"` lists ids.',
    )


def _later_ids(services: Services, wanted: str) -> set[str]:
    """The ids that a fact with an earlier id has now: it is derived from words, lines included."""
    found: set[str] = set()
    for feature in published.features(services.layout):
        ids = {wanted}
        for event in fact_history.events(services.layout, feature):
            for change in event.changes:
                if change.was is not None and change.now is not None and change.was.id in ids:
                    ids.add(change.now.id)
        found |= ids
    return found - {wanted}


def _of_dossiers(services: Services, wanted: Collection[str]) -> Iterator[Blamed]:
    for feature in published.features(services.layout):
        found = published_dossier.find(services, feature)
        for name, fact in found.facts():
            id_ = fact_text.fact_id(name, fact.text)
            if id_ in wanted or fact.text in wanted:
                one = Known(id=id_, file=name, text=fact.text, sources=fact.sources)
                yield _blamed(services, found, one, fact.line)


def _blamed(services: Services, found: PublishedDossier, fact: Known, line: int) -> Blamed:
    feature, path, manifest = found.feature, f"{found.path}{fact.file}", found.manifest
    _, past = versions.of_now(services, found)
    is_models = _is_models(manifest, fact)
    origins = [
        _origin(event, change, is_models=is_models)
        for event, change in fact_history.lineage(past, fact)
    ]
    # A person's edit is noticed only later; the line's commit may say who made it.
    committed = _committed(services, path, line)
    if published.is_built(manifest, fact.file, Fact(fact.text, fact.sources)):
        by = _builder(CLAUDE.name, manifest.model) if is_models else STATIC.name
    else:  # a manifest without facts does not say who wrote them
        by = (origins[0].by if origins and not manifest.facts else "") or PERSON
    if by == PERSON and committed is not None:
        by = committed.by
    return Blamed(
        id=fact.id,
        feature=feature,
        path=path,
        line=line,
        text=fact.text,
        sources=fact.sources,
        by=by,
        origins=(*origins, *([committed] if committed else [])),
    )


def _is_models(manifest: Manifest, fact: Known) -> bool:
    """Whether a model wrote a fact of a build: it drafted the file, and the map did not add it."""
    added = {id_ for one in manifest.wordings for id_ in one.facts}
    return fact.file in manifest.drafted and fact.id not in added


def _origin(event: Event, change: Change, *, is_models: bool) -> Origin:
    was, now = change.was, change.now
    by = _builder(event.builder, event.model)
    if event.how in {fact_history.EDITED, fact_history.RESTORED}:
        by = PERSON
    elif event.how in {fact_history.CHECKED_OUT, fact_history.MERGED}:
        by = "git"
    elif event.builder and (event.how == "refreshed" or not is_models):
        by = STATIC.name  # no model ran for a refresh, or for files that the model did not draft
    return Origin(
        at=event.at if event.how not in fact_history.UNDATED else None,
        how=event.how,
        by=by,
        commit=event.commit,
        kind=change.kind,
        before=was.text if was and now and was.text != now.text else "",
        why=fact_history.reason(event, change),
    )


def _builder(builder: str, model: str) -> str:
    return f"{builder} ({model})" if builder and model else builder


def _committed(services: Services, path: str, line: int) -> Origin | None:
    """The commit that last changed a line of a tracked file."""
    for commit in commits_of(services, path, line, line):
        return Origin(
            at=commit.at, how="committed", by=commit.by, commit=commit.sha,
            kind="last changed", why=commit.summary,
        )  # fmt: skip
    return None


class Commit(Model):
    """A commit that lines come from."""

    sha: str
    at: float
    by: str
    summary: str


def commits_of(services: Services, path: str, start: int, end: int) -> list[Commit]:
    """The commits that lines come from; none for lines that are not committed."""
    tree = services.tree
    if not tree.is_git or not tree.exists(path):
        return []
    done = tree.git("blame", "--line-porcelain", "-L", f"{start},{end}", "--", path)
    if done.status != 0:
        return []
    found: dict[str, Commit] = {}
    for fields in _porcelain(done.out.decode("utf-8", "replace")):
        sha = fields.get("sha", "")
        at, by = fields.get("committer-time", "0"), fields.get("author", "")
        if sha.strip("0"):
            summary = fields.get("summary", "")
            found[sha] = Commit(sha=sha[:12], at=float(at), by=by, summary=summary)
    return list(found.values())


def _porcelain(text: str) -> Iterator[dict[str, str]]:
    """The fields that `git blame --line-porcelain` prints before each line; `sha` is its commit."""
    fields: dict[str, str] = {}
    for row in text.split("\n"):
        key, _, value = row.partition(" ")
        if row.startswith("\t"):  # the line itself
            yield fields
            fields = {}
        elif fields:
            fields.setdefault(key, value)
        else:
            fields["sha"] = key


def _remembered(services: Services, wanted: str) -> Iterator[Blamed]:
    layout = services.layout
    for personal in (False, True):
        path = layout.relative(files.path_of(layout, personal=personal))
        entry = files.read(layout, personal=personal).find(wanted)
        if entry is None:
            continue
        by = entry.note.get("by", "") or PERSON
        origin = Origin(
            at=_seconds(services, entry.note.get("at", "")), how="remembered", by=by,
            commit=entry.note.get("commit", ""), kind="added",
            why=f"about {entry.note['topic']}" if entry.note.get("topic") else "",
        )  # fmt: skip
        committed = _committed(services, path, entry.lines[0])
        yield Blamed(
            id=entry.id, feature="", path=path, line=entry.lines[0], text=entry.text,
            sources=entry.sources, by=by,
            origins=(origin, *([committed] if committed else [])), retired=_retired(entry),
        )  # fmt: skip


def _retired(entry: Entry) -> str:
    if forgotten := entry.note.get("forgotten"):
        return f"forgotten {forgotten}"
    replaced_by = entry.note.get("replaced-by")
    return f"replaced by {replaced_by}" if replaced_by else ""


def _seconds(services: Services, at: str) -> float | None:
    try:
        return versions.time_of(services, at).at if at else None
    except PrereadError:
        return None


OPERATION = Operation(
    name="history.blame",
    request=BlameRequest,
    reply=BlameReply,
    effect="read",
    doc="Say which build, model, commit or person a fact comes from.",
    example="preread blame 3f9a01bc",
    run=blame,
    command="blame",
    positional=("fact",),
)
