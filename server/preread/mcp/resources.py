"""The published dossiers as resources: `dossier://{feature}/{file}`, listed, read and completed."""

import re

from mcp_types import Completion, Resource, ResourceTemplate, TextResourceContents

from preread import published
from preread.errors import PrereadError
from preread.gates.feature_names import is_feature
from preread.layout import BY_NAME, MANIFEST, Layout

TEMPLATE = "dossier://{feature}/{file}"
URI = re.compile(r"dossier://([^/]+)/([^/]+)")
NAMES = (*BY_NAME, MANIFEST)
MOST = 100  # values of one completion, by the protocol


def template() -> ResourceTemplate:
    return ResourceTemplate(
        uri_template=TEMPLATE,
        name="dossier",
        title="Dossier file",
        description="One file of a feature's published dossier.",
    )


def listed(layout: Layout) -> list[Resource]:
    """Every file of every dossier that is there."""
    return [
        Resource(
            uri=f"dossier://{feature}/{name}",
            name=f"{feature}/{name}",
            title=f"{BY_NAME[name].title}: {feature}"
            if name in BY_NAME
            else f"Manifest: {feature}",
            mime_type=_kind(name),
        )
        for feature in published.features(layout)
        for name in files(layout, feature)
    ]


def files(layout: Layout, feature: str) -> list[str]:
    """The names of a dossier's files, in the dossier's order."""
    folder = layout.dossier(feature)
    return [name for name in NAMES if (folder / name).is_file()]


def read(layout: Layout, uri: str) -> TextResourceContents:
    """One file as it is published. Raises E_FEATURE_NAME, E_NOT_FOUND and E_OUTSIDE."""
    matched = URI.fullmatch(uri)
    if matched is None:
        raise PrereadError(
            "E_NOT_FOUND", f"{_shown(uri)} is no resource.", f"Resources are {TEMPLATE}."
        )
    feature, name = matched.groups()
    if not is_feature(feature):
        raise PrereadError(
            "E_FEATURE_NAME", f"{_shown(feature)} is not a feature name.", "It is like `login`."
        )
    if name not in NAMES:
        raise PrereadError(
            "E_NOT_FOUND", f"{_shown(name)} is no dossier file.", f"Files: {', '.join(NAMES)}."
        )
    layout.guard(feature)
    found = published.read(layout, feature)
    text = None
    if found is not None and name == MANIFEST:
        text = published.manifest_bytes(found.manifest).decode() if found.manifest else None
    elif found is not None:
        text = found.texts.get(name)
    if text is None:
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no {name} for {feature}.",
            f'Call load_context with feature="{feature}".',
        )
    return TextResourceContents(uri=uri, mime_type=_kind(name), text=text)


def completed(layout: Layout, argument: str, start: str, feature: str) -> Completion:
    """The published features, or a dossier's files, that begin with `start`."""
    values: list[str] = []
    if argument == "feature":
        values = published.features(layout)
    elif argument == "file":
        values = files(layout, feature) if is_feature(feature) else list(NAMES)
    found = [value for value in values if value.startswith(start)]
    return Completion(values=found[:MOST], total=len(found), has_more=len(found) > MOST)


def _kind(name: str) -> str:
    return "text/markdown" if name in BY_NAME else "application/json"


def _shown(text: str) -> str:
    return ascii(text[:100])
