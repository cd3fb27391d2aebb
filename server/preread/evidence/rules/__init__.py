"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import definitions, errors, run, tests, values, where

RULES = (
    where.RULE,
    definitions.RULE,
    values.RULE,
    errors.RULE,
    tests.RULE,
    run.RULE,
)
