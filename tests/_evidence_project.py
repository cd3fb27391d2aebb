"""Small real projects for the tests of evidence: files, their git history, the evidence found."""

import itertools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import hypothesis

from conftest import ROOT, git
from preread.check import check as check_drafts
from preread.dossier import markdown
from preread.evidence.collect import collect
from preread.layout import Layout
from preread.models import Checked, Draft, Evidence, Fact, Fence, Finding, Request, Section
from preread.services import Progress, Services
from preread.settings import Settings

CALM = hypothesis.settings(
    deadline=None, database=None
)  # slow machines are not failures; nothing is written
PAST = itertools.count(1_700_000_000)  # time stamps old enough to be trusted


def write(root: Path, files: dict[str, str]) -> Path:
    """Write the files, as long ago; `root` made real."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        os.utime(path, (when := next(PAST), when))
    return root.resolve()


def commit(root: Path, files: dict[str, str], message: str, *, date: str = "2026-01-05") -> str:
    """Commit the files on top of what is there; the commit's id."""
    write(root, files)
    if not (root / ".git").exists():
        git(root, "init", "-q")
    git(root, "add", "-A")
    git(
        root,
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        message,
        "--date",
        date if "T" in date else f"{date}T12:00:00Z",
    )
    return git(root, "rev-parse", "HEAD").strip()


def services(
    root: Path, report: Callable[[str, float, float], None] | None = None, **settings: object
) -> Services:
    """One request's view of the project at `root`; created for each request, as the faces do."""
    (root / ".project").mkdir(parents=True, exist_ok=True)
    progress = Progress(report) if report else Progress()
    return Services(Layout(root.resolve()), Settings(**settings), progress=progress)


def request(feature: str, description: str = "", ticket: str = "") -> Request:
    return Request(feature=feature, description=description, ticket=ticket)


def evidence(root: Path, feature: str, description: str = "", ticket: str = "") -> Evidence:
    return collect(services(root), request(feature, description, ticket))


def found(
    root: Path, rule: str, feature: str, description: str = "", ticket: str = ""
) -> list[Finding]:
    """What one rule found; everything that any rule found is checked on the way."""
    everything = evidence(root, feature, description, ticket)
    assert_holds(root, everything.findings)
    return [finding for finding in everything.findings if finding.rule == rule]


def assert_holds(root: Path, findings: Iterable[Finding]) -> None:
    """Every finding passes the check as a fact: sources resolve, quotes and fences match."""
    unique = {finding.text: finding for finding in findings}.values()
    sections = [
        Section(
            finding.section,
            (_item(finding),),
            finding.sources[0] if finding.fence else markdown.heading_source(finding.section),
        )
        for finding in unique
    ]
    text = markdown.render(Draft("patterns.md", "login", tuple(sections)))
    checked = check(root, [markdown.parse("patterns.md", "login", text)[0]])
    broken = "\n".join(f"{problem.message} {problem.line}" for problem in checked.problems)
    assert not checked.problems, broken + "\n" + "\n".join(f.text for f in unique)
    assert checked.dropped == 0, checked
    for finding in unique:
        only_fills_room = finding.score == 0 and finding.rule == "definitions"
        assert 0 < finding.score <= 1 or only_fills_room, finding
        assert "\n" not in finding.text, finding


def _item(finding: Finding) -> Fact | Fence:
    return Fence("", finding.fence) if finding.fence else Fact(finding.text, finding.sources)


def check(
    root: Path,
    drafts: Sequence[Draft],
    feature: str = "login",
    *,
    budget: bool = False,
    **settings: object,
) -> Checked:
    return check_drafts(services(root, **settings), feature, drafts, budget=budget)


def draft(
    *facts: tuple[str, *tuple[str, ...]],
    name: str = "patterns.md",
    heading: str = "Facts",
    source: str = "",
) -> Draft:
    """A draft of one section; a fact is its text and its sources."""
    items = tuple(
        Fact(text, tuple(sources), line) for line, (text, *sources) in enumerate(facts, 4)
    )
    return Draft(name, "login", (Section(heading, items, source),))


def shop_with_history(folder: Path) -> Path:
    """The example shop in a clone of this repository, with the history of what was tried."""
    git(folder, "clone", "-q", "--no-hardlinks", str(ROOT), "clone")
    return (folder / "clone" / "examples" / "shop").resolve()
