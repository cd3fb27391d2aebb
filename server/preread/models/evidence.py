"""Evidence: what the project itself says about a feature, without a model."""

from pydantic import Field

from preread.models.base import Model


class Ranked(Model):
    """One file chosen for a request: why, how strongly, and which of its lines matter."""

    path: str
    score: float = Field(description="Relative to the best file of its list, 0 to 1.")
    reasons: tuple[str, ...]
    lines: tuple[tuple[int, int], ...] = Field(
        (), description="Line ranges, 1-based, both ends included."
    )
    symbols: tuple[str, ...] = Field(
        (),
        description="For each range, the names of its definitions; empty outside of any.",
    )


class Finding(Model):
    """One fact that a rule found, with its place in a dossier."""

    rule: str = Field(description="The rule that found it; the same tree gives the same finding.")
    file: str = Field(description="The dossier's file that it belongs to.")
    section: str = Field(description="The heading of its section; a path for what is in one file.")
    text: str
    sources: tuple[str, ...]
    score: float = Field(description="0 to 1; the lowest are cut first.")
    fence: tuple[str, ...] = Field((), description="Lines of code from the first source, whole.")
    about: str = Field(
        "", description="What it is about, if it stays the same fact while its details change."
    )


class Evidence(Model):
    """Everything that was found for one request: ranked, bounded, sourced."""

    feature: str
    words: tuple[str, ...] = Field(description="What was searched for.")
    files: tuple[Ranked, ...] = ()
    tests: tuple[Ranked, ...] = ()
    docs: tuple[Ranked, ...] = Field((), description="Documents of the project.")
    findings: tuple[Finding, ...] = ()
    total: int = Field(0, description="How many findings there are, including any beyond a limit.")
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
    used: dict[str, str] = Field(
        default_factory=dict,
        description="Digest of each ticket, knowledge file and report that was used.",
    )
    notes: tuple[str, ...] = Field((), description="What could not be read or was left out.")
