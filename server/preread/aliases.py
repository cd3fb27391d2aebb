"""Aliases in `.project/gates`: names that another feature's dossier serves."""

from typing import NamedTuple

from preread.gates import rules
from preread.layout import Layout
from preread.names import feature_name


class Resolved(NamedTuple):
    """The feature whose dossier serves a name, and warnings for the caller."""

    feature: str
    warnings: tuple[str, ...] = ()


def resolve(layout: Layout, name: str) -> Resolved:
    """The feature whose dossier serves `name`: itself, or its alias's target.

    Raises E_FEATURE_NAME.

    Aliases are not chained. A gates file that cannot be used is a warning, not an error.
    """
    feature = feature_name(name)
    try:
        target = read(layout).get(feature, feature)
    except rules.Broken as error:
        where = f"line {error.line}" if error.line else "it"
        why = f"The aliases of .project/gates are not used: {where} {error.why}."
        return Resolved(feature, (why,))
    if target == feature:
        return Resolved(feature)
    return Resolved(
        target,
        (f"{feature} is an alias of {target} in .project/gates: this is the dossier of {target}.",),
    )


def read(layout: Layout) -> dict[str, str]:
    """The aliases, left name → right name; none without a gates file. Raises rules.Broken."""
    found = rules.read(str(layout.root))
    return {} if found is None else found.aliases
