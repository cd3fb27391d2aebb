"""Find published dossiers of what may be the same feature under another name."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread import published, sources
from preread.gates import aliases
from preread.layout import MANIFEST, PROJECT, Layout
from preread.models import Manifest

# Minimum shares of the new dossier's cited spans and files that another one also cites, for names
# with nothing in common; and of the spans if one name contains the other's words. Of 2,512 pairs of
# 88 names in three repositories, 38 are similar: 26 by name alone (`coupon`, `coupons`), 6 contain
# the other (`cart-page`, `cart`), 6 are others (`proxy`, `proxies`). With 0.6 for unlike names, 4
# pairs of different features would be, too.
MIN_SPANS, MIN_FILES, MIN_SPANS_CONTAINED = 0.8, 0.6, 0.55
MAX_WARNINGS = 2
MAX_EDITS, MIN_LENGTH = 2, 5  # of similar names: edits between them, and characters of each
SAME_NAME, SIMILAR, CONTAINED, OTHER = range(4)


class Similar(NamedTuple):
    """Another dossier: how similar its name is, and what it shares with the new one."""

    kind: int
    name: str
    files: int  # cited by both
    share: float  # of the new one's spans that it also cites


def warnings(layout: Layout, new: Manifest) -> list[str]:
    """Warnings about published dossiers that may be the same feature as a new one."""
    if new.feature == PROJECT:
        return []
    cited = set(_cited(new.spans))
    files = {path for path, _ in cited}
    found = _similar(layout, new.feature, cited, files)
    found = sorted(found, key=lambda other: (-other.share, other))[:MAX_WARNINGS]
    return [
        f"{other.name} {_why(other, len(files))}; if it is the same feature, load that, or have "
        f"the person add `alias {new.feature} {other.name}` to .project/gates."
        for other in found
    ]


def _why(other: Similar, files: int) -> str:
    if other.files:
        return f"covers the same files ({other.files} of {files})"
    return "has nearly the same name"


def _similar(
    layout: Layout, feature: str, cited: set[tuple[str, str]], files: set[str]
) -> Iterable[Similar]:
    aliased: Iterable[str] = ()
    with suppress(aliases.Broken):
        aliased = aliases.read(layout)
    for name in published.features(layout):
        if name in {feature, PROJECT} or name in aliased:
            continue
        data = published.plain_bytes(layout.dossier(name) / MANIFEST)
        manifest = published.parse_manifest(data, name)
        theirs = set(_cited(manifest.spans)) if manifest is not None else set()
        shared = files & {path for path, _ in theirs}
        share = len(cited & theirs) / max(1, len(cited))
        other = Similar(kind(feature, name), name, len(shared), share)
        if _is_similar(other, len(files)):
            yield other


def _is_similar(other: Similar, files: int) -> bool:
    if other.kind in {SAME_NAME, SIMILAR}:
        return True
    if other.kind == CONTAINED and other.share >= MIN_SPANS_CONTAINED:
        return True
    return other.share >= MIN_SPANS and other.files >= MIN_FILES * files


def _cited(spans: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The path and text of each source that is in a file."""
    for text in spans:
        ref = sources.parse(text)
        if ref is not None and ref.kind in {"lines", "path", "test"}:
            yield ref.path, text


def kind(one: str, other: str) -> int:
    """How similar two names are: equal but for hyphens, few edits apart, one contains the other."""
    if one.replace("-", "") == other.replace("-", ""):
        return SAME_NAME
    if min(len(one), len(other)) >= MIN_LENGTH and _edits(one, other) <= MAX_EDITS:
        return SIMILAR
    return CONTAINED if f"-{one}-" in f"-{other}-" or f"-{other}-" in f"-{one}-" else OTHER


def _edits(one: str, other: str) -> int:
    """The Levenshtein distance, or a number above MAX_EDITS."""
    if abs(len(one) - len(other)) > MAX_EDITS:
        return MAX_EDITS + 1
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]
