"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import (
    calls,
    definitions,
    errors,
    example,
    helpers,
    setup,
    tests,
    values,
)

RULES = (
    definitions.RULE,
    values.RULE,
    errors.RULE,
    tests.RULE,
    helpers.RULE,
    setup.RULE,
    calls.RULE,
    example.RULE,
)
