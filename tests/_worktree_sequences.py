"""Random work in worktrees, with kills, against git as the oracle.

`PYTHONPATH=server:tests python tests/_worktree_sequences.py 500` runs 500 sequences.
"""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from preread.errors import PrereadError
from preread.infra import subprocesses
from preread.infra.subprocesses import Done
from preread.layout import Layout
from preread.services import Services
from preread.settings import Settings
from preread.worktrees import create, listing, merging, records, removal, repair
from preread.worktrees.records import Record
from preread.worktrees.repository import Repository, open_repository

NAMES = ("one", "two", "three")
STEPS = 20


def git(at: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=at, capture_output=True, text=True)
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


def descendants(pid: int) -> list[int]:
    """Those that are there now: one may end while they are looked for."""
    found = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                for child in map(int, (task / "children").read_text().split()):
                    found += [child, *descendants(child)]
    return found


class Sequence:
    """One repository, some worktrees, and the marks that must never be lost."""

    def __init__(self, root: Path, seed: int) -> None:
        self.root, self.random, self.count = root, random.Random(seed), 0
        self.marks: set[str] = set()
        self.kills = self.conflicts = self.left = 0
        root.mkdir()
        git(root, "init", "-q", "-b", "main")
        git(root, "config", "user.name", "T")
        git(root, "config", "user.email", "t@e")
        (root / "shared.txt").write_text("begin\n")
        for number in range(40):
            (root / f"plain-{number}.txt").write_text(f"{number}\n" * 200)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "begin")

    @cached_property
    def repository(self) -> Repository:
        return open_repository(Services(Layout(self.root), Settings(), run=self._run))

    def _run(self, *arguments: Any, **options: Any) -> Done:
        """Git as usual, until it is its turn to be killed."""
        self.left -= 1
        if self.left == 0:
            threading.Timer(self.random.uniform(0, 0.02), self._die).start()
        return subprocesses.run(*arguments, **options)

    def _die(self) -> None:
        """Kill this process; with it, half of the time, the git that it runs."""
        for other in descendants(os.getpid()) if self.random.random() < 0.5 else []:
            with suppress(ProcessLookupError):
                os.kill(other, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def path(self, name: str) -> Path:
        return self.root / ".worktrees" / name

    def play(self) -> None:
        for _ in range(STEPS):
            there = [name for name in NAMES if self.path(name).exists()]
            name = self.random.choice(there if len(there) > 1 else NAMES)
            step = self.random.choice(
                (self.add, self.add, self.change, self.change, self.change, self.merge, self.merge,
                 self.merge, self.update, self.on_base, self.remove, self.delete)
            )  # fmt: skip
            (step if self.path(name).exists() or step == self.on_base else self.add)(name)
        self.check()
        for name in records.all_records(Layout(self.root)):
            removal.remove(self.repository, name, force=True)
        self.check()
        assert git(self.root, "worktree", "list").count("\n") == 0
        assert not list((self.root / ".project/.state/worktrees").glob("*.json"))

    # -- steps

    def add(self, name: str) -> None:
        at = self.repository.commit_of("HEAD")
        wanted = Record(name=name, branch=f"refs/heads/preread/{name}", base="refs/heads/main",
                        begun_at=at)  # fmt: skip
        if self.repository.commit_of(wanted.branch) and not self.path(name).exists():
            # A branch whose folder somebody deleted: its work goes on under another name.
            git(self.root, "branch", "-m", f"preread/{name}", f"kept/{name}-{self.count}")
            self.count += 1
        self.ended(lambda: create.create(self.repository, wanted))

    def change(self, name: str) -> None:
        if not (self.path(name) / ".git").exists():
            return
        mark = self._mark()
        (self.path(name) / f"{mark}.txt").write_text(mark)
        if self.random.random() < 0.6:
            (self.path(name) / "shared.txt").write_text(f"{mark} here\n")
        if self.random.random() < 0.3:
            (self.path(name) / f"plain-{self.random.randrange(40)}.txt").write_text(f"{mark}\n")

    def commit(self, name: str) -> None:
        if (self.path(name) / ".git").exists() and not self.repository.out(
            "ls-files", "-u", at=self.path(name)
        ):
            git(self.path(name), "add", "-A")
            git(self.path(name), "commit", "-q", "--allow-empty", "-m", "work")

    def on_base(self, _: str) -> None:
        if git(self.root, "status", "--porcelain"):
            return
        mark = self._mark()
        (self.root / f"{mark}.txt").write_text(mark)
        if self.random.random() < 0.8:
            (self.root / "shared.txt").write_text(f"{mark} there\n")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", "base")

    def merge(self, name: str) -> None:
        self.commit(name)
        how = self.random.choice(("merge", "merge", "rebase", "ff"))
        done = self.ended(lambda: merging.start(self.repository, name, how))
        if isinstance(done, merging.Merged) and done.status == "conflicts":
            self.conflicts += 1
            if self.random.random() < 0.3:
                self.ended(lambda: merging.abort(self.repository, name))
                return
            for _ in range(10):
                assert done.conflicts
                for one in done.conflicts:
                    (self.path(name) / one["path"]).write_text(f"{self._mark()} resolved\n")
                    (self.path(name) / f"m{self.count}.txt").write_text(f"m{self.count}")
                git(self.path(name), "add", "-A")
                done = self.ended(lambda: merging.proceed(self.repository, name, how))
                if not isinstance(done, merging.Merged) or done.status != "conflicts":
                    break

    def update(self, name: str) -> None:
        """What the base gained; with conflicts, nothing has changed."""
        self.commit(name)
        before = self.repository.commit_of(f"refs/heads/preread/{name}")
        done = self.ended(lambda: merging.update(self.repository, name))
        if isinstance(done, merging.Merged) and done.conflicts:
            assert self.repository.commit_of(f"refs/heads/preread/{name}") == before
            assert git(self.path(name), "status", "--porcelain") == ""

    def remove(self, name: str) -> None:
        force = self.random.random() < 0.5
        self.ended(lambda: removal.remove(self.repository, name, force=force))

    def delete(self, name: str) -> None:
        """Somebody deletes the folder: uncommitted work is lost, by them."""
        if self.random.random() > 0.3 or not self.path(name).exists():
            return
        self.marks -= {path.stem for path in self.path(name).glob("m*.txt")}
        subprocess.run(["rm", "-rf", str(self.path(name))], check=True)
        self.marks |= self.committed() & {f"m{number}" for number in range(self.count + 1)}
        repair.repair(self.repository)

    # -- how they end

    def ended(self, act: Callable[[], object]) -> object:
        """The act's result or its expected error; every fifth is killed at a random moment."""
        if self.random.random() < 0.8:
            try:
                return act()
            except PrereadError as error:
                if error.code != "E_WORKTREE":
                    raise
                return error
        self.kill(act)
        return None

    def kill(self, act: Callable[[], object]) -> None:
        self.kills += 1
        self.left = self.random.randrange(1, 14)
        pid = os.fork()
        if not pid:
            try:
                act()
            finally:
                os._exit(0)
        self.left = 0
        os.waitpid(pid, 0)
        self._wait_for_git()
        for lock in self.root.joinpath(".git").rglob("*.lock"):
            os.utime(lock, (1, 1))  # as if a minute had passed
        repair.repair(self.repository)
        self.check()

    def _wait_for_git(self) -> None:
        """Until a git that outlived its parent has ended: it holds the lock."""
        for path in self.repository.layout.lock("x").parent.glob("_worktree-*.lock"):
            until = time.monotonic() + 10
            while self.repository.is_held(path):
                assert time.monotonic() < until
                time.sleep(0.01)

    # -- the oracle

    def _mark(self) -> str:
        self.count += 1
        self.marks.add(f"m{self.count}")
        return f"m{self.count}"

    def committed(self) -> set[str]:
        """All marks in the trees of the commits that refs reach."""
        names: set[str] = set()
        for line in git(self.root, "log", "--all", "-m", "--name-only", "--format=").split("\n"):
            if line.startswith("m") and line.endswith(".txt"):
                names.add(line[:-4])
        return names

    def check(self) -> None:
        folders = [self.root, *(self.root / ".worktrees").glob("*/")]
        on_disk = {path.stem for folder in folders for path in folder.glob("m*.txt")}
        assert not (lost := self.marks - self.committed() - on_disk), f"lost: {lost}"
        said = subprocess.run(
            ["git", "fsck", "--strict", "--no-dangling", "--no-progress"],
            cwd=self.root, capture_output=True, text=True,
        )  # fmt: skip
        assert (said.returncode, said.stdout, said.stderr) == (0, "", "")
        known = set(records.all_records(Layout(self.root)))
        lines = git(self.root, "worktree", "list", "--porcelain").split("\n")
        listed = {Path(line[9:]).name for line in lines if line.startswith("worktree ")}
        assert listed - {self.root.name} == known
        assert {path.name for path in (self.root / ".worktrees").glob("*/")} == known
        rows = {row.name: row for row in listing.all_worktrees(self.repository) if row.name}
        assert set(rows) == known
        for row in rows.values():
            assert row.state == "ready"
            counted = git(self.root, "rev-list", "--count", f"main..{row.branch}")
            assert row.ahead == int(counted)
            status = git(Path(row.path), "status", "--porcelain")
            assert bool(row.dirty) == bool(status)


def main(count: int, first: int, folder: Path) -> None:
    kills = conflicts = 0
    for seed in range(first, first + count):
        sequence = Sequence(folder / f"s{seed}", seed)
        try:
            sequence.play()
        except BaseException:
            sys.stderr.write(f"sequence {seed}\n")
            raise
        kills, conflicts = kills + sequence.kills, conflicts + sequence.conflicts
        subprocess.run(["rm", "-rf", str(sequence.root)], check=True)
    print(f"{count} sequences, {kills} kills, {conflicts} conflicts: nothing lost")  # noqa: T201


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory(prefix="agents-seq-") as folder:
        main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(folder))
