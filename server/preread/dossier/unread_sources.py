"""Lines of files that a person's fact names in a form that is not a source, so nothing follows."""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from preread.dossier import anchors, fact_text, markdown, published, sources
from preread.models import Draft, Fact, Manifest

# `a.py:12` in mid-sentence, `a.py:L12`, `a.py#L12-L15`
NAMED = re.compile(
    r"(?P<path>[^\s,:;<>()\[\]#]*[\w-]\.\w+)(?::L?|#L)"
    r"(?P<start>[1-9]\d{0,6})(?:-L?(?P<end>[1-9]\d{0,6}))?(?!\w)"
)


class Unread(NamedTuple):
    """What a fact names, and how it would be a source."""

    file: str
    fact: Fact
    named: str
    source: str

    @property
    def message(self) -> str:
        return (
            f"`{self.named}` is not read as a source, so it does not follow the code: "
            f"sources are in round brackets at the end, like ({self.source})"
        )


def of_people(root: Path, manifest: Manifest, drafts: Iterable[Draft]) -> Iterator[Unread]:
    """The first such lines of each of the drafts' facts that a person wrote and that has sources.

    The file must be one of the project: other words with dots and numbers are no lines.
    """
    is_file = _files(root, manifest)
    for draft, section, fact in markdown.all_facts(drafts):
        if not fact.sources or published.is_built(manifest, draft.name, fact):
            continue
        for match in NAMED.finditer(_own_words(fact, section.source)):
            if is_file(match["path"]):
                lines = "-".join(filter(None, (match["start"], match["end"])))
                yield Unread(draft.name, fact, match[0], f"{match['path']}:{lines}")
                break


def _own_words(fact: Fact, base: str) -> str:
    """A fact's text without what it quotes, and without the lines of quoted names."""
    text = fact.text
    for match in reversed(anchors.matches(text, base)):
        text = f"{text[: match.start()]} {text[match.end() :]}"
    return fact_text.own_words(text)


def _files(root: Path, manifest: Manifest) -> Callable[[str], bool]:
    refs = (sources.parse(one) for one in manifest.spans)
    cited = {ref.path.rpartition("/")[2] for ref in refs if ref is not None and ref.path}
    return lambda path: path.rpartition("/")[2] in cited or (root / path).is_file()
