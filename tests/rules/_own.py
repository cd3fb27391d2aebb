"""What one rule finds in a small project, held to the check on its own."""

from pathlib import Path

import pytest

from _evidence_project import assert_holds, evidence
from preread.evidence import collect
from preread.models import Finding


def own(root: Path, rule: str, feature: str = "login", description: str = "") -> list[Finding]:
    """One rule's findings; every one of them checks out."""
    everything = evidence(root, feature, description).findings
    findings = [finding for finding in everything if finding.rule == rule]
    assert_holds(root, findings)
    return findings


def texts(root: Path, rule: str, feature: str = "login") -> list[str]:
    return [finding.text for finding in own(root, rule, feature)]


def make_thin(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, every view is that of a feature which its project says next to nothing about."""
    viewed = collect.viewed

    def thin(*arguments):
        view = viewed(*arguments)
        view.thin = True
        return view

    monkeypatch.setattr(collect, "viewed", thin)
