"""Files that a dossier has lost: gone, empty, damaged or cut off, as by a power cut.

They are put back as they were published, if there is a copy; otherwise the next build writes them.
"""

from collections.abc import Iterator
from typing import NamedTuple

from preread import backups
from preread.builds import lost_manifests
from preread.dossier import fact_history, fact_text, markdown, published
from preread.dossier.published import digest
from preread.infra import atomic
from preread.infra.plural import counted
from preread.infra.reading import plain_bytes
from preread.layout import BY_NAME
from preread.models import Fact, Manifest
from preread.records import stale_hints
from preread.services import Services

MAX_NAMED, MAX_SHOWN = 5, 160  # facts named in a message, and characters of each


class LostFile(NamedTuple):
    """A file of a dossier that is not as it was published, although no person has edited it."""

    name: str
    state: str  # what it is instead
    copy: bytes | None  # its published bytes, if they are known
    left: bool = False  # whether any of its own bytes are left
    is_blocked: bool = False  # whether a folder, a pipe or the like is in its place


def find(services: Services, manifest: Manifest) -> list[LostFile]:
    """The lost files of a dossier. Raises Unreadable."""
    listed = [name for name in BY_NAME if manifest.files.get(name)]  # git merged: not known
    return [one for name in listed if (one := _lost(services, manifest, name)) is not None]


def _lost(services: Services, manifest: Manifest, name: str) -> LostFile | None:
    path = services.layout.dossier(manifest.feature) / name
    data, value = plain_bytes(path), manifest.files[name]
    is_damaged = data is None or published.says_nothing(data)
    if data is not None and not is_damaged and (data.endswith(b"\n") or digest(data) == value):
        return None
    same = (one for one in lost_manifests.copies(services, path) if digest(one) == value)
    copy = next(same, None)
    if data is None and path.is_symlink():
        return LostFile(name, f"a link, to {path.readlink()}", copy)
    if data is None and path.exists():
        return LostFile(name, "not a regular file", copy, is_blocked=True)
    if not data:
        return LostFile(name, "missing" if data is None else "empty", copy)
    if is_damaged:
        state = "damaged, with NUL bytes in it" if b"\0" in data else "empty"
        return LostFile(name, state, copy, left=True)
    if copy is not None and copy.startswith(data):  # else a person left out the last line end
        return LostFile(name, "cut off in the middle of a line", copy, left=True)
    return None


def restore(services: Services, feature: str) -> list[str]:
    """Put the lost files of a dossier back; returns a warning about each of them, for people.

    Requires the feature's lock. Raises E_WRITE and Unreadable.
    """
    manifest = published.in_place(services.layout, feature).manifest
    if manifest is None:
        return []
    lost = find(services, manifest)
    warnings = [_warning(services, manifest, one) for one in lost]
    for one in lost:
        if one.copy is not None and not one.is_blocked:
            backups.keep_file(services.layout, feature, one.name)
            atomic.write(services.layout.dossier(feature) / one.name, one.copy, durable=True)
            stale_hints.clear(services.layout, feature)
    return warnings


def _warning(services: Services, manifest: Manifest, lost: LostFile) -> str:
    about = f"{lost.name} was {lost.state}"
    if lost.is_blocked:
        return f"{about}: move it, because the dossier needs a file there."
    theirs = of_people(services, manifest, lost)
    left = f" `preread backups {manifest.feature}` lists what was left of it." if lost.left else ""
    if lost.copy is None:
        gone = f" What people wrote there is gone: {theirs}." if theirs else ""
        shown = f" `preread diff {manifest.feature}` prints it." if theirs else ""
        return f"{about}, and no copy of it is known: a build writes it again.{left}{gone}{shown}"
    back = f"{about}; it is as it was published again.{left}"
    if not theirs or lost.left:
        return back
    return f"{back} To drop what people wrote there, delete its line, not the file: {theirs}."


def of_people(services: Services, manifest: Manifest, lost: LostFile) -> str:
    """What people wrote in a lost file, as far as it is known, for a message; may be empty."""
    facts = list(_peoples_facts(services, manifest, lost))
    texts = [fact_text.with_sources(one) if one.sources else one.text for one in facts]
    shown = [text[:MAX_SHOWN] for text in texts[:MAX_NAMED]]
    if (more := len(facts) - MAX_NAMED) > 0:
        shown.append(counted(more, "more fact"))
    return "; ".join(shown)


def _peoples_facts(services: Services, manifest: Manifest, lost: LostFile) -> Iterator[Fact]:
    if lost.copy is not None:
        text = published.text_of(lost.copy)
        for fact in markdown.parse(lost.name, manifest.feature, text)[0].facts:
            if not published.is_built(manifest, lost.name, fact):
                yield fact
        return
    past = fact_history.events(services.layout, manifest.feature)
    for known in fact_history.facts_after(past).values():
        if known.file == lost.name and known.id not in manifest.facts:
            yield Fact(known.text, known.sources)
