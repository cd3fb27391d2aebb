"""The published dossier that an operation is about, or an error that says how to get one."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from preread import aliases
from preread.dossier import markdown, published
from preread.errors import PrereadError
from preread.layout import Layout
from preread.models import Draft, Fact, Manifest, Problem
from preread.names import feature_name
from preread.services import Services


@dataclass(frozen=True)
class PublishedDossier:
    """A published dossier. Without a manifest of Preread's, it has an empty one."""

    feature: str
    path: str  # relative to the root, with a slash at the end
    manifest: Manifest
    texts: dict[str, str]
    edited: tuple[str, ...]
    warnings: tuple[str, ...] = ()  # says so if the caller used an alias

    def parsed(self) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
        """Its files as drafts, and their format errors."""
        pairs = [markdown.parse(name, self.feature, text) for name, text in self.texts.items()]
        problems = tuple(problem for _, found in pairs for problem in found)
        return tuple(draft for draft, _ in pairs), problems

    def facts(self) -> Iterator[tuple[str, Fact]]:
        """Its facts, each with the name of its file."""
        for draft, _, fact in markdown.all_facts(self.parsed()[0]):
            yield draft.name, fact


def find(services: Services, feature: str, *, hint: str = "") -> PublishedDossier:
    """The dossier of a feature.

    `hint` says what to do if there is none, by default to build it.
    Raises E_FEATURE_NAME, and E_NOT_FOUND with the most similar feature that has a dossier.
    """
    name = feature_name(feature)
    services.layout.guard(name)
    found = published.read(services.layout, name)
    if found is None:
        raise not_found(services.layout, name, hint)
    path = services.layout.relative(services.layout.dossier(name)) + "/"
    manifest = found.manifest or Manifest(feature=name)
    return PublishedDossier(name, path, manifest, found.texts, found.edited)


def find_serving(services: Services, name: str) -> PublishedDossier:
    """The dossier that serves a name, which may be an alias. Raises like `find`."""
    served = aliases.resolve(services.layout, name)
    return replace(find(services, served.feature), warnings=served.warnings)


def not_found(layout: Layout, feature: str, hint: str = "") -> PrereadError:
    names = published.features(layout)
    near = difflib.get_close_matches(feature, names, n=1, cutoff=0.3)
    guess = f" The most similar is {near[0]}." if near else ""
    message = f"There is no dossier of {feature}.{guess}"
    hint = hint or f"Build it: `preread load {feature}`"
    return PrereadError("E_NOT_FOUND", message, hint, {"features": names})
