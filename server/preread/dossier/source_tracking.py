"""Follow changes in the code: update the sources of a dossier's facts, without a model."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from preread.dossier import anchors, cited_commits, fact_text, sources
from preread.dossier.drafted_fences import Follower
from preread.dossier.relocation import Relocator
from preread.dossier.sources import Ref, SourceError
from preread.models import Draft, Fact, Fence, LostFact, Manifest, Section, SpanMark
from preread.services import Services

HISTORY = frozenset({"commit", "run", "said"})  # kinds of sources that say nothing of the present


@dataclass(frozen=True)
class SourceChanges:
    """What has become of the sources that a manifest lists; those in no field are unchanged."""

    moved: dict[str, str] = field(default_factory=dict)  # source -> its new place
    changed: frozenset[str] = frozenset()  # its file or symbol exists, but the text does not
    gone: frozenset[str] = frozenset()

    @property
    def lost(self) -> frozenset[str]:
        return self.changed | self.gone

    def has_lost_text(self, source: str) -> bool:
        """Whether a lost source was certain text, or a file that is gone; not history."""
        ref = sources.parse(source)
        if ref is None or ref.kind in HISTORY:
            return False
        return ref.kind != "path" or source in self.gone

    def with_moved(self, moved: Mapping[str, str]) -> "SourceChanges":
        """The same, with sources that were found again after all."""
        lost = moved.keys()
        return SourceChanges({**self.moved, **moved}, self.changed - lost, self.gone - lost)

    def __or__(self, other: "SourceChanges") -> "SourceChanges":
        """What is known by either; `other` counts for what is in both."""
        both = self.with_moved(other.moved)
        return SourceChanges(both.moved, both.changed | other.changed, both.gone | other.gone)


def follow(services: Services, manifest: Manifest) -> SourceChanges:
    """Look up every source of the manifest; lines that have moved are found again."""
    relocator = Relocator(services.tree)
    refs = {text: sources.parse(text) for text in manifest.spans}
    commits = [ref.name for ref in refs.values() if ref is not None and ref.kind == "commit"]
    cited_commits.read(commits, services.tree)
    moved: dict[str, str] = {}
    changed, gone = set(), set()
    for text, digest in manifest.spans.items():
        services.progress.check()
        ref = refs[text]
        if ref is None or not sources.ROWS[ref.kind].local:
            continue
        if ref.kind != "lines":
            state = _state(services, ref, digest)
            if state == "gone" and (now := relocator.found_elsewhere(ref, digest)) is not None:
                moved[text] = str(now)
                continue
            changed |= {text} if state == "changed" else set()
            gone |= {text} if state == "gone" else set()
            continue
        now = relocator.relocate(ref, digest, manifest.marks.get(text))
        if now is None:
            is_there = relocator.has_symbol(ref.path, manifest.marks.get(text))
            (changed if is_there else gone).add(text)
        elif now != ref:
            moved[text] = str(now)
    return SourceChanges(moved, frozenset(changed), frozenset(gone))


def sought(manifest: Manifest, file: str, fact: Fact) -> dict[str, SpanMark]:
    """What was at the sources of an unverified fact, as far as that is known."""
    identity = fact_text.fact_id(file, fact.text)
    keys = {source: f"{identity} {source}" for source in fact.sources}
    return {one: manifest.sought[key] for one, key in keys.items() if key in manifest.sought}


def find_lost(relocator: Relocator, marks: Mapping[str, SpanMark]) -> SourceChanges:
    """Search for sources that could not be found before, by what was there."""
    moved: dict[str, str] = {}
    changed: set[str] = set()
    gone: set[str] = set()
    for text, mark in marks.items():
        ref = sources.parse(text)
        if ref is not None and ref.kind != "lines" and relocator.has_digest(ref, mark.digest):
            continue
        now = _found_again(relocator, ref, mark) if ref is not None else None
        if now is not None:
            moved[text] = str(now)
        else:
            (gone if ref is None or ref.kind == "lines" else changed).add(text)
    return SourceChanges(moved, frozenset(changed), frozenset(gone))


def _found_again(relocator: Relocator, ref: Ref, mark: SpanMark) -> Ref | None:
    if ref.kind == "lines":
        return relocator.relocate(ref, "", mark)
    return relocator.found_elsewhere(ref, mark.digest)


def mark_of_whole(source: str, digest: str | None) -> SpanMark | None:
    """What was in a source that is not lines but, for example, a file; None for lines."""
    ref = sources.parse(source)
    if ref is None or ref.kind == "lines" or digest is None:
        return None
    return SpanMark(size=0, digest=digest, before="", after="")


def _state(services: Services, ref: Ref, digest: str) -> str:
    try:
        now = sources.resolve(ref, services.tree).digest
    except SourceError:
        return "gone"
    return "" if now == digest or ref.kind == "commit" else "changed"  # a commit never changes


def updated_draft(
    draft: Draft, found: SourceChanges, code: Follower
) -> tuple[Draft, tuple[LostFact, ...]]:
    """The draft with updated sources, and the facts and fences that lost theirs.

    A fact that loses one of its sources is lost, unless that was only a whole file which has other
    text now, or a commit or run. A fact with quotes keeps a changed source that is a whole ticket
    or file, because the check looks its quotes up.
    """
    lost: list[LostFact] = []
    sections = []
    for section in draft.sections:
        items: list[Fact | Fence] = []
        now = code.follow(draft.name, section, found.moved, found.lost)
        base = now.source or _path_of_rest(section, found)
        for item in section.items:
            if isinstance(item, Fence) and item in now.fences:
                items.append(item)
            elif isinstance(item, Fence):
                is_changed = section.source not in found.gone
                lost.append(lost_fence(draft.name, section, is_changed=is_changed))
            elif has_lost_its_sources(item, section.source, found):
                is_changed = not found.gone.issuperset(item.sources)
                lost.append(LostFact(file=draft.name, text=item.text, is_changed=is_changed))
            else:
                remaining = tuple(one for one in item.sources if not is_lost(one, item, found))
                left = replace(item, sources=remaining)
                items.append(updated_fact(left, section.source, found, base))
        is_path = section.source == section.heading
        heading = base if is_path and base else section.heading
        sections.append(replace(section, heading=heading, source=base, items=tuple(items)))
    return replace(draft, sections=tuple(one for one in sections if one.items)), tuple(lost)


def _path_of_rest(section: Section, found: SourceChanges) -> str:
    """The file of a section's lost source if facts that are left cite it, else the only one that
    they cite; else empty.
    """
    left = (one for fact in section.facts for one in fact.sources if one not in found.lost)
    paths = {_path(found.moved.get(one, one)) for one in left} - {""}
    before = _path(section.source)
    path = before if before in paths else paths.pop() if before and len(paths) == 1 else ""
    return str(Ref("path", path)) if path else ""


def lost_fence(name: str, section: Section, *, is_changed: bool) -> LostFact:
    """A section's fence that has lost its source."""
    text = f'the code below "{section.heading}" ({section.source})'
    return LostFact(file=name, text=text, is_changed=is_changed, is_fence=True)


def has_lost_its_sources(fact: Fact, base: str, found: SourceChanges) -> bool:
    """Whether what a fact says may depend on a source that it has lost.

    Not if others remain and the lost one is history (a commit, a run), which says nothing about
    the code as it is, or a whole file that is still there.
    """
    if any(anchor.source in found.lost for anchor in anchors.of_fact(fact, base)):
        return True
    lost = [one for one in fact.sources if is_lost(one, fact, found)]
    return bool(lost) and (len(lost) == len(fact.sources) or any(map(found.has_lost_text, lost)))


def is_lost(source: str, fact: Fact, found: SourceChanges) -> bool:
    """Whether a fact's source is gone or changed, and no quotes could show that it still counts."""
    if source in found.gone:
        return True
    ref = sources.parse(source)
    whole = ref is not None and ref.kind != "lines"
    return source in found.changed and not (whole and fact_text.quotes(fact.text))


def updated_fact(fact: Fact, base: str, found: SourceChanges, new_base: str | None = None) -> Fact:
    """The fact with updated sources; `base` is its section's source, and was before that."""
    moved = found.moved
    new_base = moved.get(base, base) if new_base is None else new_base
    parts, end = [], 0
    path = _path(new_base)  # what an anchor without a path refers to in the new text
    for match, anchor in zip(
        anchors.matches(fact.text, base), anchors.of_fact(fact, base), strict=True
    ):
        ref = sources.parse(moved.get(anchor.source, anchor.source))
        if ref is None:
            raise ValueError(f"{anchor.source!r} moved to what is not a source")
        written = anchors.written_path(ref.path) if match["path"] or ref.path != path else ""
        lines = f"{ref.start}" + (f"-{ref.end}" if ref.end != ref.start else "")
        parts += [fact.text[end : match.start("path")], f"{written}:{lines}"]
        end = match.end()
        path = _path(new_base) or ref.path
    text = "".join((*parts, fact.text[end:]))
    return replace(
        fact, text=text, sources=tuple(moved.get(source, source) for source in fact.sources)
    )


def _path(source: str) -> str:
    ref = sources.parse(source) if source else None
    return ref.path if ref is not None else ""
