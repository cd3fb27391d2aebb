"""Find published dossiers of what may be the same feature under another name."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread import aliases
from preread.dossier import published, sources
from preread.errors import Unreadable
from preread.gates.feature_names import PROJECT
from preread.gates.near_names import CONTAINED, SAME_NAME, SIMILAR, similarity
from preread.gates.rules import Broken
from preread.infra.reading import plain_bytes
from preread.layout import MANIFEST, Layout
from preread.models import Manifest

# Minimum shares of the new dossier's cited spans and files that another one also cites, for names
# with nothing in common; and of the spans if one name contains the other's words. Of 2,512 pairs of
# 88 names in three repositories, 38 are similar: 26 by name alone (`coupon`, `coupons`), 6 contain
# the other (`cart-page`, `cart`), 6 are others (`proxy`, `proxies`). With 0.6 for unlike names, 4
# pairs of different features would count as similar, too.
MIN_SPANS, MIN_FILES, MIN_SPANS_CONTAINED = 0.8, 0.6, 0.55
MAX_WARNINGS = 2


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
    found = sorted(
        _similar(layout, new.feature, cited, files), key=lambda other: (-other.share, other)
    )[:MAX_WARNINGS]
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
) -> Iterator[Similar]:
    aliased: Iterable[str] = ()
    with suppress(Broken):
        aliased = aliases.read(layout)
    for name in published.features(layout):
        if name in {feature, PROJECT} or name in aliased:
            continue
        manifest = None
        with suppress(Unreadable):  # another feature's: only its name counts
            data = plain_bytes(layout.dossier(name) / MANIFEST)
            manifest = published.parse_manifest(data, name)
        theirs = set(_cited(manifest.spans)) if manifest is not None else set()
        shared = files & {path for path, _ in theirs}
        share = len(cited & theirs) / max(1, len(cited))
        other = Similar(similarity(feature, name), name, len(shared), share)
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
