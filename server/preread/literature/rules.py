"""The rules that find entities and relations in sentences, each with its estimated precision.

The figures are estimates until a labelled set has measured them; replies say so.
"""

# ruff: noqa: E501 - a pattern in one piece reads better
import re
from typing import NamedTuple

from preread.literature.model import EntityKind, RelationKind

EDITION = "rules-1"
IS_MEASURED = False
TERM = r"[A-Za-z][\w-]*(?: [A-Za-z][\w-]*){0,3}"


class EntityRule(NamedTuple):
    """One rule; the first group of a match is the name."""

    name: str
    kind: EntityKind
    confidence: float
    pattern: re.Pattern[str]


class RelationRule(NamedTuple):
    """One rule. The groups are source and target; with one group, the document is the source."""

    name: str
    kind: RelationKind
    confidence: float
    pattern: re.Pattern[str]


ENTITIES = (
    EntityRule("code-span", "SYMBOL", 0.8, re.compile(r"`([A-Za-z_][\w.:]*(?:\(\))?)`")),
    EntityRule("call", "SYMBOL", 0.9, re.compile(r"\b([A-Za-z_]\w*(?:[.:]{1,2}\w+)*\(\))")),
    EntityRule("snake-case", "SYMBOL", 0.85, re.compile(r"(?<![\w/.-])([a-z]+(?:_[a-z0-9]+)+)\b")),
    EntityRule("upper-case", "SETTING", 0.8, re.compile(r"\b([A-Z][A-Z0-9]+(?:_[A-Z0-9]+)+)\b(?!\()")),
    EntityRule("option", "SETTING", 0.9, re.compile(r"(?<![\w-])(--[a-z][a-z0-9]+(?:-[a-z0-9]+)*)")),
    EntityRule("method-and-path", "ROUTE", 0.95,
               re.compile(r"\b((?:GET|POST|PUT|PATCH|DELETE) /[\w/{}:.-]*)")),
    EntityRule("error-code", "ERROR_CODE", 0.95, re.compile(r"\b(E_[A-Z][A-Z_]+|E[A-Z]{4,12}|HTTP [45]\d\d)\b")),
    EntityRule("organisation", "ORG", 0.85, re.compile(
        r"\b((?:University|Institute) of (?:[A-Z][\w-]+ ?)+|(?:[A-Z][\w&-]+ )+(?:University|Institute|"
        r"Foundation|Consortium|Corporation|Inc\.|Ltd\.?|GmbH|Laboratories))")),
    EntityRule("method", "METHOD", 0.8, re.compile(
        r"\b((?:[A-Z][\w’'-]+ ){1,3}(?:algorithm|method|transform|test|sort|heuristic|procedure))\b")),
    EntityRule("defined-term", "CONCEPT", 0.7, re.compile(r"[“\"‘]([A-Za-z][\w -]{2,40})[”\"’]")),
    EntityRule("abbreviation", "CONCEPT", 0.75, re.compile(r"\b((?:[A-Za-z][\w-]+ ){1,5})\([A-Z]{2,6}\)")),
)  # fmt: skip
RELATIONS = (
    RelationRule("is-defined-as", "defines", 0.8, re.compile(
        rf"(?i)\b(?:we (?:define|call)|defines?) (?:an? |the )?({TERM}) (?:as|to be)\b")),
    RelationRule("extends", "extends", 0.8, re.compile(
        rf"\b({TERM}) (?:extends?|builds? (?:up)?on|is based on|generali[sz]es) (?:an? |the )?({TERM})\b")),
    RelationRule("contradicts", "contradicts", 0.8, re.compile(
        rf"\b({TERM}) (?:contradicts?|conflicts? with|is inconsistent with|refutes?) (?:an? |the )?({TERM})\b")),
)  # fmt: skip
