"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import (
    calls,
    definitions,
    errors,
    example,
    helpers,
    routes,
    run,
    selectors,
    settings,
    setup,
    tests,
    unmentioned,
    values,
)

RULES = (
    definitions.RULE,
    values.RULE,
    errors.RULE,
    routes.RULE,
    selectors.RULE,
    settings.RULE,
    tests.RULE,
    unmentioned.RULE,
    helpers.RULE,
    run.RULE,
    setup.RULE,
    calls.RULE,
    example.RULE,
)
