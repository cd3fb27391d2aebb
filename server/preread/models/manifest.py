"""The manifest of a dossier: what it was built from, and the digests that show staleness."""

from typing import Literal

from pydantic import Field

from preread.models.base import Model
from preread.models.faults import Fault
from preread.settings import Level


class Wording(Model):
    """Another description that a dossier serves, and what the map added to it for that one."""

    digest: str
    facts: tuple[str, ...] = Field((), description="Ids of the facts that were added.")


class SpanMark(Model):
    """The content of a source's lines, to find them again when they move.

    Digests are of text without white space, 12 hex digits of SHA-256.
    """

    size: int = Field(description="Characters of the lines, without white space.")
    digest: str
    before: str = Field(description="Digest of the nearest line before that is not blank.")
    after: str = Field(description="Digest of the nearest line after that is not blank.")
    symbol: str = Field("", description="The innermost definition or test around the lines.")
    ordinal: int = Field(1, description="Which of the equal runs of lines in the file it is.")
    copies: int = Field(1, description="How many equal runs of lines the file has.")
    lines: int = Field(1, description="How many lines, including blank ones at the end.")
    twins: int = Field(
        1, description="How many of the copies have the same neighbours in the same definition."
    )
    is_whole: bool = Field(False, description="Whether the lines are all of the symbol.")
    is_text: bool | None = Field(
        None,
        description="Whether they are inside a comment or string that begins before them; null if "
        "that is not known.",
    )


class LostFact(Model):
    """A model's fact, or a code block of it, that has lost its sources."""

    file: str
    text: str = Field(description="Of a code block its heading and source.")
    is_changed: bool = Field(
        description="True if what it was about still exists, with other content; false if gone."
    )
    is_fence: bool = Field(False, description="Whether it is a code block.")


class Manifest(Model):
    """`manifest.json`: the request, who built the dossier, and the digests that show staleness."""

    schema_version: int = 1
    feature: str
    ticket: str = ""
    description: str = ""
    scope: str = ""
    level: Level = "light"
    builder: str = "static"
    model: str = ""
    status: Literal["ok", "partial", "degraded"] = "ok"
    fault: Fault | None = Field(None, description="Why it is partial or degraded.")
    drafted: tuple[str, ...] = Field(
        (), description="Files that a model drafted; the static builder wrote the others."
    )
    missing: tuple[str, ...] = Field(
        (), description="Files that a model should have drafted; the static builder wrote them."
    )
    recipe: str = Field(
        "", description="Build key: digest of the template or rules, and of the content settings."
    )
    used: dict[str, str] = Field(default_factory=dict, description="Digest of each input.")
    cut: str = Field("", description="What the work tree left out: sparse, shallow, digests.")
    files: dict[str, str] = Field(default_factory=dict, description="Digest of each file.")
    spans: dict[str, str] = Field(default_factory=dict, description="Digest of each cited span.")
    marks: dict[str, SpanMark] = Field(
        default_factory=dict,
        description="What was at the lines of each source that a model or a person cited.",
    )
    facts: tuple[str, ...] = Field(
        (),
        description="Ids of the facts that the build wrote, in order; all others are people's.",
    )
    cited: tuple[str, ...] = Field(
        (),
        description="Digests of these facts with what they cite: a person corrected other sources.",
    )
    fences: tuple[str, ...] | None = Field(
        None, description="Ids of the fences that the build wrote; null if that is not known."
    )
    cited_by_fences: tuple[str, ...] = Field(
        (), description="These fences, by id and source: a person corrected other sources."
    )
    cut_lines: dict[str, tuple[int, ...]] = Field(
        default_factory=dict,
        description="Of fences that a model quoted, by id and source: the numbers of the lines "
        "that are only a part of a line of the source.",
    )
    peoples_fences: dict[str, bool] = Field(
        default_factory=dict,
        description="People's fences, by id and source -> whether the source, if any, has all "
        "their lines.",
    )
    headings: tuple[str, ...] | None = Field(
        None, description="Ids of the headings that the build wrote; null if that is not known."
    )
    subjects: dict[str, str] = Field(
        default_factory=dict,
        description="Ids of those of these facts that stay the same while their details change -> "
        "ids of what they are about.",
    )
    replaced: dict[str, str] = Field(
        default_factory=dict,
        description="Ids of a build's facts (also their lasting ids, without numbers, and the ids "
        "of what they are about) -> ids of people's versions of them, which count instead.",
    )
    order: tuple[str, ...] = Field(
        (),
        description="If there are such versions: the names of all files, each followed by the ids "
        "of its facts. It shows which version a person reworded.",
    )
    by_hand: tuple[str, ...] = Field(
        (), description="Files that people edited: their order and other lines stay."
    )
    lost: tuple[LostFact, ...] = Field(
        (), description="The model's facts that are missing because the code changed."
    )
    wordings: tuple[Wording, ...] = Field(
        (), description="The other descriptions that the dossier serves, oldest first."
    )
    unverified: tuple[str, ...] = Field(
        (),
        description="Texts of people's facts whose sources no longer support them; with these "
        "sources if other facts have the same words.",
    )
    sought: dict[str, SpanMark] = Field(
        default_factory=dict,
        description="For these facts, and fences whose source is lost, by id and source: what was "
        "at the lines, to find it again.",
    )
    thin: bool = Field(False, description="The project says next to nothing about the feature.")
