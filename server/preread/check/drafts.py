"""The drafts that are to be checked: what a builder left in its staging folder, and what people added since."""

import os
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from preread import dossier, published
from preread.layout import BY_NAME
from preread.models import Draft, Problem
from preread.services import Services

MOST_BYTES = 250_000  # of one draft: thirty times the default budget of a whole dossier
MOST_PROBLEMS = 100  # named of one file; and of strange files


def staged(
    services: Services, feature: str, staging: Path
) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
    """The drafts in a staging folder: plain files of the dossier's table, everything else named as a problem."""
    drafts: list[Draft] = []
    problems: list[Problem] = []
    strangers = sorted(path.name for path in staging.iterdir() if path.name not in BY_NAME)[
        :MOST_PROBLEMS
    ]
    for path in sorted(staging / name for name in (*strangers, *BY_NAME)):
        if path.name in BY_NAME and not os.path.lexists(path):
            continue
        if path.name not in BY_NAME or not _is_plain(path):
            problems.append(
                Problem(ascii(path.name)[1:-1], 1, "E_FILE_NAME", "is no file of a dossier")
            )
            continue
        large = path.lstat().st_size > MOST_BYTES
        text = None if large else services.tree.read(services.layout.relative(path))
        if text is None:
            problems.append(
                Problem(path.name, 1, "E_FILE_TEXT", "is not text, or is larger than any dossier")
            )
            continue
        draft, found = dossier.parse(path.name, feature, text)
        drafts.append(draft)
        problems += found[:MOST_PROBLEMS]
    return tuple(drafts), tuple(problems)


def _is_plain(path: Path) -> bool:
    """Whether it is a file of its own: no link of either sort, folder, pipe or device."""
    info = path.lstat()
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1


def with_people(
    services: Services, feature: str, drafts: Iterable[Draft]
) -> tuple[tuple[Draft, ...], frozenset[str]]:
    """The drafts with the facts that people added to the published files, and the ids of those.

    They come first, unless a draft has them in their place already, and are checked like all others.
    """
    by_name = {draft.name: draft for draft in drafts}
    standing = published.read(services.layout, feature)
    if standing is None or standing.manifest is None:
        return tuple(by_name.values()), frozenset()
    ours, theirs = set(standing.manifest.facts), set()
    for name, text in standing.texts.items():
        if name == "summary.md":
            continue
        old = by_name.get(name, Draft(name, feature))
        held = {dossier.fact_id(name, fact.text) for fact in old.facts}
        added = []
        for section in dossier.parse(name, feature, text)[0].sections:
            people = {dossier.fact_id(name, fact.text): fact for fact in section.facts}
            theirs |= people.keys() - ours
            items = tuple(fact for key, fact in people.items() if key not in ours | held)
            added += [replace(section, items=items)] if items else []
        if added:
            by_name[name] = replace(old, sections=(*added, *old.sections))
    return tuple(by_name.values()), frozenset(theirs)
