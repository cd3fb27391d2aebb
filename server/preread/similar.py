"""Near: standing dossiers that a new one is nearly the same as: a project shall not grow one for each spelling."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple

from preread import aliases, published, sources
from preread.gates.feature_names import PROJECT
from preread.gates.near_names import CONTAINED, SAME_NAME, SIMILAR, similarity
from preread.gates.rules import Broken
from preread.layout import MANIFEST, Layout
from preread.models import Manifest

# Shares of what the new dossier cites that another one has, too: for names that have nothing in common, and for one
# that holds the other's words. Of 2,512 pairs of 88 names in three repositories 38 are near: 26 by their names alone
# (`coupon`, `coupons`), 6 are parts (`cart-page` of `cart`), 6 others (`proxy`, `proxies`). With 0.6 for unlike names,
# 4 came that were other features.
SAME_SPANS, SAME_FILES, SAME_WORDS = 0.8, 0.6, 0.55
MOST = 2


class Near(NamedTuple):
    """Another dossier: how near its name is, and what of the new one's files and spans it has."""

    kind: int
    name: str
    files: int
    share: float


def told(layout: Layout, new: Manifest) -> list[str]:
    """What is to be said of the standing dossiers that may be the same feature as one that was just built."""
    if new.feature == PROJECT:
        return []
    cited = set(_cited(new.spans))
    files = {path for path, _ in cited}
    return [
        f"{near.name} {_why(near, len(files))}; if it is the same feature, load that, or have the person add "
        f"`alias {new.feature} {near.name}` to .project/gates."
        for near in sorted(
            _all(layout, new.feature, cited, files), key=lambda near: (-near.share, near)
        )[:MOST]
    ]


def _why(near: Near, files: int) -> str:
    return (
        f"covers the same files ({near.files} of {files})"
        if near.files
        else "has nearly the same name"
    )


def _all(
    layout: Layout, feature: str, cited: set[tuple[str, str]], files: set[str]
) -> Iterator[Near]:
    served: Iterable[str] = ()
    with suppress(Broken):
        served = aliases.read(layout)
    for name in published.features(layout):
        if name in {feature, PROJECT} or name in served:
            continue
        manifest = published.parse_manifest(
            published.plain_bytes(layout.dossier(name) / MANIFEST), name
        )
        theirs = set(_cited(manifest.spans)) if manifest is not None else set()
        shared = files & {path for path, _ in theirs}
        near = Near(
            similarity(feature, name), name, len(shared), len(cited & theirs) / max(1, len(cited))
        )
        if _is_near(near, len(files)):
            yield near


def _is_near(near: Near, files: int) -> bool:
    if near.kind in {SAME_NAME, SIMILAR}:
        return True
    if near.kind == CONTAINED and near.share >= SAME_WORDS:
        return True
    return near.share >= SAME_SPANS and near.files >= SAME_FILES * files


def _cited(spans: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The spans that lie in files, each with its path."""
    for text in spans:
        ref = sources.parse(text)
        if ref is not None and ref.kind in {"lines", "path", "test"}:
            yield ref.path, text
