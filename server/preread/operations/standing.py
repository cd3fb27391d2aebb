"""The published dossier that an operation is about, or the error that says what to do without one."""

import difflib
from dataclasses import dataclass, replace

from preread import aliases, dossier, published
from preread.errors import PrereadError
from preread.layout import Layout, feature_name
from preread.models import Draft, Manifest, Problem
from preread.services import Services


@dataclass(frozen=True)
class Standing:
    """A published dossier. A missing or foreign manifest counts as an empty one."""

    feature: str
    path: str  # relative to the root, with its slash
    manifest: Manifest
    texts: dict[str, str]
    edited: tuple[str, ...]
    warnings: tuple[str, ...] = ()  # that it was asked for by an alias

    def parsed(self) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
        """Its files as drafts, and what breaks the format in them."""
        pairs = [dossier.parse(name, self.feature, text) for name, text in self.texts.items()]
        return tuple(draft for draft, _ in pairs), tuple(
            p for _, problems in pairs for p in problems
        )


def standing(services: Services, feature: str) -> Standing:
    """The dossier of a feature; raises E_FEATURE_NAME, and E_NOT_FOUND with the nearest one that there is."""
    name = feature_name(feature)
    services.layout.guard(name)
    found = published.read(services.layout, name)
    if found is None:
        raise missing(services.layout, name)
    path = services.layout.relative(services.layout.dossier(name)) + "/"
    return Standing(name, path, found.manifest or Manifest(feature=name), found.texts, found.edited)


def serving(services: Services, name: str) -> Standing:
    """The dossier that serves a name: of that feature, or of the one that it is an alias of. Raises as `standing`."""
    served = aliases.served(services.layout, name)
    return replace(standing(services, served.feature), warnings=served.warnings)


def missing(
    layout: Layout, feature: str, file: str = "", files: tuple[str, ...] = ()
) -> PrereadError:
    """E_NOT_FOUND for a dossier, or for one file of a dossier that is there."""
    if file:
        message = f"The dossier of {feature} has no file {file!r}; it has {', '.join(files)}."
        return PrereadError(
            "E_NOT_FOUND", message, f"Run: preread show {feature}", {"files": list(files)}
        )
    names = published.features(layout)
    near = difflib.get_close_matches(feature, names, n=1, cutoff=0.3)
    message = f"There is no dossier of {feature}." + (f" The nearest is {near[0]}." if near else "")
    return PrereadError(
        "E_NOT_FOUND", message, f"Make it: preread load {feature}", {"features": names}
    )
