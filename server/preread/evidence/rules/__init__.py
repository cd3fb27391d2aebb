"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import definitions, run, tests, where

RULES = (
    where.RULE,
    definitions.RULE,
    tests.RULE,
    run.RULE,
)
