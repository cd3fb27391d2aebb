"""Aliases in `.project/gates`: names for which another feature's dossier is used."""

from typing import NamedTuple

from preread.gates import rules
from preread.layout import Layout, feature_name


class Served(NamedTuple):
    """The feature whose dossier is used for a name, and warnings."""

    feature: str
    warnings: tuple[str, ...] = ()


def served(layout: Layout, name: str) -> Served:
    """The dossier that serves `name`: its own, or its alias's. Raises E_FEATURE_NAME.

    Aliases are not chained. A gates file that cannot be used is a warning, not an error.
    """
    feature = feature_name(name)
    try:
        target = read(layout).get(feature, feature)
    except rules.Broken as error:
        where = f"line {error.line}" if error.line else "it"
        why = f"The aliases of .project/gates are not used: {where} {error.why}."
        return Served(feature, (why,))
    if target == feature:
        return Served(feature)
    return Served(
        target,
        (f"{feature} is an alias of {target} in .project/gates: this is the dossier of {target}.",),
    )


def read(layout: Layout) -> dict[str, str]:
    """The aliases, left name → right name; none without a gates file. Raises rules.Broken."""
    found = rules.read(str(layout.root))
    return {} if found is None else found.aliases
