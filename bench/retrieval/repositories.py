"""The manifest's repositories: read, cloned, and looked at commit by commit."""

import os
import subprocess
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

MANIFEST = Path(__file__).with_name("manifest.toml")
MAX_BYTES = 1_000_000
GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.autocrlf=false",
       "-c", "advice.detachedHead=false", "-c", "filter.lfs.smudge=", "-c", "filter.lfs.required=false")  # fmt: skip
ENVIRON = {"GIT_LFS_SKIP_SMUDGE": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C.UTF-8"}


class Entry(NamedTuple):
    """One row of the manifest."""

    name: str
    url: str
    commit: str
    language: str
    split: str  # tuning | held-out
    digest: str  # of its cases, "" while they are not written down

    @property
    def slug(self) -> str:
        return self.name.replace("/", "+")


class Manifest(NamedTuple):
    seed: str
    cases: int  # at most so many a repository
    window: int  # of the latest commits
    entries: tuple[Entry, ...]


def manifest(place: Path = MANIFEST) -> Manifest:
    data = tomllib.loads(place.read_text(encoding="utf-8"))
    rows = (
        Entry(row["url"].removeprefix("https://github.com/"), digest=row.pop("cases", ""), **row)
        for row in data["repository"]
    )
    return Manifest(data["seed"], data["most_cases"], data["window"], tuple(rows))


class File(NamedTuple):
    path: str
    blob: str


@dataclass
class Clone:
    """A clone and its one work tree, which is moved from commit to commit."""

    entry: Entry
    git_dir: Path
    tree: Path

    @classmethod
    def of(cls, entry: Entry, folder: Path, source: str) -> "Clone":
        """The clone below `folder`, made where it is missing: from the URL, or from what `source`
        makes of the name.
        """
        git_dir, tree = folder / f"{entry.slug}.git", folder / entry.slug
        folder.mkdir(parents=True, exist_ok=True)
        if not git_dir.exists():
            place = (
                source.format(name=entry.name, slug=entry.slug, owner=entry.name.split("/")[0])
                or entry.url
            )
            fresh = folder / f"{entry.slug}.part"
            subprocess.run(
                [*GIT, "clone", "-q", "--bare", place, str(fresh)],
                check=True,
                env={**os.environ, **ENVIRON},
            )
            fresh.rename(git_dir)
        clone = cls(entry, git_dir, tree)
        if not tree.exists():
            clone.git("worktree", "prune")
            clone.git("worktree", "add", "-q", "--no-checkout", "--detach", str(tree), entry.commit)
        return clone

    def git(self, *arguments: str, at: Path | None = None) -> str:
        done = subprocess.run(
            [*GIT, "-C", str(at or self.git_dir), *arguments],
            check=True, capture_output=True, env={**os.environ, **ENVIRON},
        )  # fmt: skip
        return done.stdout.decode("utf-8", "replace")

    def checkout(self, commit: str) -> "State":
        """The work tree as it was at this commit; untracked folders of the systems stay."""
        try:
            self.git("checkout", "-q", "--force", "--detach", commit, at=self.tree)
        except subprocess.CalledProcessError:
            # A mirror may lack its largest blobs, fonts and the like: everything else is in place
            # then.
            if self.git("rev-parse", "HEAD", at=self.tree).strip() != commit:
                raise
        return State(self, commit)

    def files(self, commit: str) -> list[File]:
        """Every regular file of a commit's tree."""
        found = []
        for line in self.git("ls-tree", "-r", "-z", commit).split("\0"):
            head, _, path = line.partition("\t")
            if head.startswith("100"):
                found.append(File(path, head.split(" ")[2]))
        return found


@dataclass
class State:
    """The work tree at one commit."""

    clone: Clone
    commit: str

    @property
    def root(self) -> Path:
        return self.clone.tree

    @cached_property
    def files(self) -> list[File]:
        return self.clone.files(self.commit)

    def text(self, path: str) -> str:
        """A file's text; empty for binary and very large files."""
        place = self.root / path
        if not place.is_file() or place.is_symlink() or place.stat().st_size > MAX_BYTES:
            return ""
        data = place.read_bytes()
        return "" if b"\0" in data else data.decode("utf-8", "replace")
