"""Where a project's files are, and the files of a dossier. Joins all paths."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from preread.errors import PrereadError
from preread.names import feature_name, ticket_name


class DossierFile(NamedTuple):
    """A file of a dossier: its name, the word in its heading, the kind of its facts."""

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
PROJECT = ".project"


@dataclass(frozen=True)
class Layout:
    """Paths of one project's files. `root` is a real path, and every path is inside it."""

    root: Path

    @cached_property
    def project(self) -> Path:
        return self.root / PROJECT

    @cached_property
    def config(self) -> Path:
        return self.project / "config.toml"

    @cached_property
    def gates(self) -> Path:
        return self.project / "gates"

    @cached_property
    def knowledge(self) -> Path:
        return self.project / "knowledge.md"

    @cached_property
    def personal_knowledge(self) -> Path:
        """A person's private knowledge, in the format of `knowledge`; never committed."""
        return self.state / "knowledge.md"

    @cached_property
    def documents(self) -> Path:
        """Copies of outside documents, and the list of loaded documents."""
        return self.project / "documents"

    @property
    def document_workflows(self) -> Path:
        """The records of chains of calls on documents."""
        return self.state / "document-workflows"

    def document_workflow(self, name: str) -> Path:
        return self.document_workflows / f"{name}.json"

    @cached_property
    def loaded(self) -> Path:
        return self.documents / "loaded.json"

    @cached_property
    def context(self) -> Path:
        return self.project / "context"

    @cached_property
    def state(self) -> Path:
        return self.project / ".state"

    @cached_property
    def cache(self) -> Path:
        return self.project / ".cache"

    @cached_property
    def staging(self) -> Path:
        return self.cache / "staging"

    @cached_property
    def db(self) -> Path:
        return self.cache / "index.db"

    @cached_property
    def log(self) -> Path:
        return self.cache / "preread.log"

    @cached_property
    def wrong(self) -> Path:
        return self.state / "wrong.json"

    @cached_property
    def results(self) -> Path:
        return self.state / "results.jsonl"

    @cached_property
    def test_history(self) -> Path:
        """Database of each test's results over time, from reports."""
        return self.state / "test-history.db"

    @cached_property
    def gates_off(self) -> Path:
        """When the gates' off switch expires, in epoch seconds, or `forever`."""
        return self.state / "gates-off"

    @cached_property
    def sessions(self) -> Path:
        """What the hooks remember about each agent session, one file per session."""
        return self.state / "sessions"

    @cached_property
    def working_memory(self) -> Path:
        """Items that were noted by hand as having attention, one line per event."""
        return self.state / "working-memory.jsonl"

    @cached_property
    def sessions_db(self) -> Path:
        """Database of sessions and their messages."""
        return self.state / "state.db"

    @cached_property
    def spending(self) -> Path:
        """The ledger of what builds cost, one line per run."""
        return self.state / "spending.jsonl"

    @cached_property
    def reserved(self) -> Path:
        """Money reserved by running builds, which is not in the ledger yet."""
        return self.cache / "reserved.json"

    @cached_property
    def audit(self) -> Path:
        """The log of the calls that changed something, one line per call."""
        return self.state / "audit.jsonl"

    @cached_property
    def agreement(self) -> Path:
        """The month, and the monthly limit that a person agreed to exceed in it."""
        return self.state / "spending-agreed"

    def ticket(self, name: str) -> Path:
        return self.project / "tickets" / f"{ticket_name(name)}.md"

    def dossier(self, feature: str) -> Path:
        return self.context / feature_name(feature)

    def lock(self, name: str) -> Path:
        """The lock of a feature, or of anything else by a name that starts with an underscore."""
        return self.cache / "locks" / f"{name}.lock"

    def building(self, feature: str) -> Path:
        """Hint for the gates: the running build's deadline in epoch seconds."""
        return self.cache / "building" / feature_name(feature)

    @property
    def live_builds(self) -> Path:
        """Journals of running builds of all processes. A headless child cannot read `state`."""
        return self.state / "builds"

    def stale(self, feature: str) -> Path:
        """Hint for the gates: why the dossier no longer covers the request it was built for."""
        return self.cache / "stale" / feature_name(feature)

    @cached_property
    def run_logs(self) -> Path:
        return self.project / "runs"

    @cached_property
    def workflows(self) -> Path:
        """The project's own workflows, a file each."""
        return self.project / "workflows"

    @cached_property
    def worktrees(self) -> Path:
        """Where worktrees are created; git ignores it."""
        return self.root / ".worktrees"

    @cached_property
    def worktree_records(self) -> Path:
        """Records of worktrees, one file each."""
        return self.state / "worktrees"

    def worktree_index(self, name: str) -> Path:
        """A copy of a worktree's index, while its work is being kept."""
        return self.cache / "worktrees" / f"{feature_name(name)}.index"

    def agent_run(self, name: str) -> Path:
        """The journal of a coordinated run of agents, one line per step."""
        return self.state / "agents" / f"{feature_name(name)}.jsonl"

    def run_log(self, feature: str) -> Path:
        """The agent's log of one piece of work on a feature's tests."""
        return self.run_logs / f"{feature_name(feature)}.md"

    def history(self, feature: str) -> Path:
        """How the feature's facts changed over time, one line per publish."""
        return self.state / "history" / f"{feature_name(feature)}.jsonl"

    def run_record(self, feature: str) -> Path:
        """How the feature's last build went."""
        return self.state / "runs" / f"{feature_name(feature)}.json"

    @cached_property
    def all_backups(self) -> Path:
        return self.state / "backups"

    @cached_property
    def backup_sets(self) -> Path:
        """Copies of all files that one call changed; a folder per call."""
        return self.all_backups / "_sets"

    def backups(self, feature: str) -> Path:
        """Copies of dossier files that a person had edited and a build replaced."""
        return self.all_backups / feature_name(feature)

    def relative(self, path: Path) -> str:
        """`path` as a source cites it: POSIX, relative to the root."""
        return path.relative_to(self.root).as_posix()

    def inside(self, relative: str) -> Path:
        """The file that a cited path names; raises E_OUTSIDE unless it is relative without `..`."""
        pure = PurePosixPath(relative)
        is_absolute = pure.is_absolute() or re.match(r"[A-Za-z]:", relative)
        has_odd_character = "\0" in relative or "\\" in relative
        if not relative or is_absolute or has_odd_character or ".." in pure.parts:
            raise PrereadError("E_OUTSIDE", f"{relative[:120]!a} is not a path inside the project.")
        return self.root / pure

    def real(self, path: Path) -> Path:
        """`path` with symbolic links resolved; raises E_OUTSIDE when that leaves the project."""
        resolved = Path(os.path.realpath(path))
        if resolved != self.root and self.root not in resolved.parents:
            raise PrereadError(
                "E_OUTSIDE",
                f"{path} leads out of the project, to {resolved}.",
                "Replace the symbolic link with a real folder or file. Preread does not follow "
                "links out of the project.",
            )
        return resolved

    def guard(self, feature: str | None = None) -> None:
        """Check that `.project` is a folder and that nothing in it links out of the project.

        Raises E_PROJECT_DIR and E_OUTSIDE.
        """
        if self.project.exists() and not self.project.is_dir():
            raise PrereadError(
                "E_PROJECT_DIR",
                f"{self.project} is a file of another tool, and Preread needs a folder there.",
                "Move that file, or choose another root (`--project DIR`).",
            )
        for path in self.links(feature):
            self.real(Path(path))

    def links(self, feature: str | None = None) -> Iterator[str]:
        """The links among Preread's folders and files, with a feature's folders if it is named."""
        paths = _places(self)
        if feature is not None:
            paths = (*paths, str(self.dossier(feature)), str(self.backups(feature)))
        return filter(os.path.islink, paths)  # every operation checks all of them

    def entries(self) -> dict[str, set[str]]:
        """The existing folders that contain Preread's folders and files, with these names."""
        found: dict[str, set[str]] = {}
        for path in _places(self):
            folder, _, name = path.rpartition("/")
            found.setdefault(folder, set()).add(name)
        return {folder: names for folder, names in found.items() if os.path.isdir(folder)}  # noqa: PTH112


@lru_cache(maxsize=64)
def _places(layout: Layout) -> tuple[str, ...]:
    """Preread's folders and files in a project, and all folders above them up to the root.

    These are all that `guard` has to check: whatever is below a link that stays inside the project
    is inside, too, unless it is a link itself.
    """
    x = "x"  # any feature's name: only the folder of its file is used
    folders = [layout.project, layout.context, layout.cache, layout.state, layout.staging]
    folders += [layout.lock(x).parent, layout.building(x).parent, layout.stale(x).parent]
    folders += [layout.ticket(x).parent, layout.run_log(x).parent, layout.run_record(x).parent]
    folders += [layout.history(x).parent, layout.agent_run(x).parent, layout.backup_sets]
    folders += [layout.live_builds]
    files = [layout.config, layout.knowledge, layout.db, layout.wrong, layout.results]
    files += [layout.spending, layout.agreement, layout.test_history, layout.audit]
    files += [layout.personal_knowledge, layout.loaded]
    inside = (above for one in (*folders, *files) for above in (*reversed(one.parents), one))
    return tuple(dict.fromkeys(str(one) for one in inside if layout.root in one.parents))
