"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import definitions, tests

RULES = (
    definitions.RULE,
    tests.RULE,
)
