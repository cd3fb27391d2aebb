"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import definitions, run, tests

RULES = (
    definitions.RULE,
    tests.RULE,
    run.RULE,
)
