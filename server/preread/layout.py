"""Every name and place on disk: feature names, slugs, and the files of a project. The one place that joins paths."""

import os
import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from preread.errors import PrereadError
from preread.gates.feature_names import DEVICES, MAX_LENGTH, is_feature, slug

# The same words as their slug, only spelled as identifiers or headings are: taken, not refused.
LOOSE_FEATURE = re.compile(r"[A-Za-z0-9]+([ _.-][A-Za-z0-9]+)*", re.ASCII)
TICKET = re.compile(r"[A-Za-z0-9]+([._#-][A-Za-z0-9]+)*", re.ASCII)


class DossierFile(NamedTuple):
    """One row of the dossier's table of files: name, heading, kind of its facts, whether it must be there."""

    name: str
    title: str
    kind: str
    required: bool


FILES: tuple[DossierFile, ...] = (
    DossierFile("patterns.md", "Patterns", "pattern", True),
    DossierFile("codebase.md", "Codebase", "code", True),
    DossierFile("anti-patterns.md", "Anti-patterns", "trap", False),
    DossierFile("existing-tests.md", "Existing tests", "test", False),
    DossierFile("failures.md", "Failures", "failure", False),
    DossierFile("requirements.md", "Requirements", "requirement", False),
    DossierFile("summary.md", "Summary", "summary", True),
)
BY_NAME = {row.name: row for row in FILES}
REQUIRED = tuple(row.name for row in FILES if row.required)
MANIFEST = "manifest.json"


def feature_name(name: str) -> str:
    """The feature that `name` stands for; raises E_FEATURE_NAME with the slug that would do."""
    if is_feature(name):
        return name
    proposal = slug(name)
    if LOOSE_FEATURE.fullmatch(name) and len(name) <= MAX_LENGTH and is_feature(proposal):
        return proposal
    shown = ascii(name if len(name) <= 80 else name[:77] + "...")
    usable = proposal if is_feature(proposal) else ""
    raise PrereadError(
        "E_FEATURE_NAME",
        f"{shown} is not a feature name: lower-case letters, digits and single hyphens, at most "
        f"{MAX_LENGTH} characters, no reserved device name.",
        f'Call again with feature="{usable}".'
        if usable
        else "Choose a name like `login` or `checkout-coupon`.",
        {"slug": usable},
    )


def ticket_name(name: str) -> str:
    """The ticket's id, checked to be a plain file name; raises E_TICKET_NAME."""
    if TICKET.fullmatch(name) and len(name) <= MAX_LENGTH and name.lower() not in DEVICES:
        return name
    raise PrereadError(
        "E_TICKET_NAME",
        f"{name[:80]!a} is not a ticket id: letters and digits, joined by single `-`, `_`, `.` or `#`.",
        "Give the id alone, like `SHOP-142`.",
    )


@dataclass(frozen=True, slots=True)
class Layout:
    """The files of one project. `root` is a real path; every method joins onto it and none leads out of it."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / ".project"

    @property
    def config(self) -> Path:
        return self.project / "config.toml"

    @property
    def gates(self) -> Path:
        return self.project / "gates"

    @property
    def knowledge(self) -> Path:
        return self.project / "knowledge.md"

    @property
    def context(self) -> Path:
        return self.project / "context"

    @property
    def state(self) -> Path:
        return self.project / ".state"

    @property
    def cache(self) -> Path:
        return self.project / ".cache"

    @property
    def staging(self) -> Path:
        return self.cache / "staging"

    @property
    def db(self) -> Path:
        return self.cache / "index.db"

    @property
    def log(self) -> Path:
        return self.cache / "preread.log"

    @property
    def wrong(self) -> Path:
        return self.state / "wrong.json"

    @property
    def results(self) -> Path:
        return self.state / "results.jsonl"

    @property
    def test_history(self) -> Path:
        """What reports said of each test over time."""
        return self.state / "test-history.db"

    @property
    def gates_off(self) -> Path:
        """Says until when the gates are switched off, in epoch seconds, or `forever`."""
        return self.state / "gates-off"

    @property
    def sessions(self) -> Path:
        """What the hooks remember, a file a session."""
        return self.state / "sessions"

    @property
    def spending(self) -> Path:
        """The ledger of what builds cost; a line each."""
        return self.state / "spending.jsonl"

    @property
    def agreement(self) -> Path:
        """The month and the limit that a person agreed to pass."""
        return self.state / "spending-agreed"

    def ticket(self, name: str) -> Path:
        return self.project / "tickets" / f"{ticket_name(name)}.md"

    def dossier(self, feature: str) -> Path:
        return self.context / feature_name(feature)

    def lock(self, name: str) -> Path:
        """The lock of a feature, or of something else under a name that no feature has: with an underscore."""
        return self.cache / "locks" / f"{name}.lock"

    def building(self, feature: str) -> Path:
        """The hint for the gates: its text is the running build's deadline in epoch seconds."""
        return self.cache / "building" / feature_name(feature)

    def stale(self, feature: str) -> Path:
        """The hint for the gates that the dossier no longer serves what it was built for; its text says why."""
        return self.cache / "stale" / feature_name(feature)

    def run_log(self, feature: str) -> Path:
        """The log of one piece of work on a feature's tests, from the first look to what was learned."""
        return self.project / "runs" / f"{feature_name(feature)}.md"

    def run_record(self, feature: str) -> Path:
        return self.state / "runs" / f"{feature_name(feature)}.json"

    def backups(self, feature: str) -> Path:
        return self.state / "backups" / feature_name(feature)

    def relative(self, path: Path) -> str:
        """`path` as it stands in a citation: posix, relative to the root."""
        return path.relative_to(self.root).as_posix()

    def inside(self, relative: str) -> Path:
        """The file that a cited path names; raises E_OUTSIDE when it is absolute, climbs out or is no path at all."""
        pure = PurePosixPath(relative)
        bad = (
            not relative
            or "\0" in relative
            or pure.is_absolute()
            or ".." in pure.parts
            or "\\" in relative
        )
        if bad or re.match(r"[A-Za-z]:", relative):
            raise PrereadError("E_OUTSIDE", f"{relative[:120]!a} is not a path inside the project.")
        return self.root / pure

    def real(self, path: Path) -> Path:
        """`path` with symbolic links resolved; raises E_OUTSIDE when that leaves the project."""
        resolved = Path(os.path.realpath(path))
        if resolved != self.root and self.root not in resolved.parents:
            raise PrereadError(
                "E_OUTSIDE",
                f"{path} leads out of the project, to {resolved}.",
                "Replace the symbolic link by a real folder or file; Preread follows none out of the project.",
            )
        return resolved

    def guard(self, feature: str | None = None) -> None:
        """Refuse a `.project` that is a file, and any of its folders that is a link out of the project."""
        if self.project.exists() and not self.project.is_dir():
            raise PrereadError(
                "E_PROJECT_DIR",
                f"{self.project} is a file (another tool's), and Preread keeps its folder there.",
                "Move that file, or name another root with --project DIR.",
            )
        own = [self.project, self.context, self.cache, self.state, self.staging, self.db]
        own += [
            self.lock("x").parent,
            self.project / "tickets",
            self.project / "runs",
            self.state / "runs",
        ]
        own += [self.spending, self.agreement, self.test_history]
        own += [
            self.wrong,
            self.results,
            self.config,
            self.knowledge,
            self.cache / "building",
            self.cache / "stale",
        ]
        if feature is not None:
            own += [self.dossier(feature), self.backups(feature)]
        for path in own:
            self.real(path)
