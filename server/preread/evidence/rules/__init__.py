"""The rules: what a program can say about a feature for certain. One file each, listed here."""

from preread.evidence.rules import (
    comments,
    definitions,
    deprecations,
    disagreements,
    documents,
    failing,
    flaky,
    history,
    knowledge,
    reverts,
    skipped,
    tests,
    ticket,
    together,
)

RULES = (
    definitions.RULE,
    tests.RULE,
    skipped.RULE,
    history.RULE,
    failing.RULE,
    flaky.RULE,
    comments.RULE,
    deprecations.RULE,
    reverts.RULE,
    disagreements.RULE,
    together.RULE,
    ticket.RULE,
    knowledge.RULE,
    documents.RULE,
)
