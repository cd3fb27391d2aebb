"""The repository of a project: runs git commands that change it, and reports their errors."""

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from preread.errors import PrereadError
from preread.infra import atomic
from preread.infra.locks import FileLock
from preread.infra.reading import plain_bytes
from preread.infra.subprocesses import Done
from preread.layout import Layout
from preread.project import git
from preread.services import Progress, Services

SECONDS = 600.0  # checking out a large repository takes minutes
LOCK_SECONDS = 10.0
MIN_SPACE = 2**16  # bytes; git needs space for each index that it writes
REASONS = (
    (rb"No space left on device|File too large|Out of diskspace", "the disk is full"),
    (rb"Disk quota exceeded", "the disk quota is used up"),
    (rb"Read-only file system", "the file system is read-only"),
    (rb"Permission denied", "permission denied"),
    # Git does not always say why.
    (rb"(?i)(unable to|couldn't|could not) write", "a file cannot be written"),
)
# Repository settings that make git run programs. The person's own are trusted: Git LFS needs them.
PROGRAMS = re.compile(rb"^(filter\..+\.(?:clean|smudge|process)|merge\..+\.driver)$", re.DOTALL)
PLAIN_MERGE = "git merge-file -q --marker-size=%L %A %O %B"
QUIET = (
    "-c", "commit.gpgSign=false", "-c", "merge.autoStash=false", "-c", "rebase.autoStash=false",
    "-c", "core.editor=true", "-c", "sequence.editor=true", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false",
    "-c", "rerere.enabled=false", "-c", "submodule.recurse=false",
)  # fmt: skip
NOBODY = ("-c", "user.name=Preread", "-c", "user.email=preread@localhost")


def failed(message: str, hint: str = "", **details: object) -> PrereadError:
    """An E_WORKTREE error."""
    return PrereadError("E_WORKTREE", message, hint, details)


@dataclass(frozen=True)
class Repository:
    """Git for one project, from its main work tree."""

    services: Services
    layout: Layout  # of the project in the main work tree
    top: Path  # the main work tree
    common: Path  # its .git
    prefix: str  # the project's folder in it, empty or with a slash at its end
    options: tuple[str, ...]  # for every git command here
    inherit: tuple[int, ...] = field(default=())
    index: Path | None = None  # to use instead of the work tree's own

    def uncancelled(self) -> "Repository":
        """A copy that ignores cancellation, to undo what a cancelled call started."""
        return replace(self, services=replace(self.services, progress=Progress()))

    def run(
        self, *arguments: str, at: Path | None = None, feed: bytes = b"", must: bool = True
    ) -> Done:
        """Run git. Raises E_WORKTREE if it times out, cannot write, or fails and `must` is set."""
        services = self.services
        done = git.run(
            services.run, at or self.top, (*self.options, *arguments), services.environ,
            SECONDS, services.progress.check, feed=feed, inherit=self.inherit, index=self.index,
        )  # fmt: skip
        must = must or bool(_reason(done))
        if why := git.failure(arguments, done, SECONDS, must=must):
            raise _failure(why, done, self.common)
        if done.status == git.MISSING and not (at or self.top).is_dir():
            raise failed(f"The folder {at or self.top} is gone.", reason="gone")
        if done.status == git.MISSING:
            raise failed("git is not installed.", "Install git 2.38 or newer.")
        return done

    def out(self, *arguments: str, at: Path | None = None) -> str:
        """Git's output without the final newline; empty if it fails."""
        done = self.run(*arguments, at=at, must=False)
        return _text(done.out).rstrip("\n") if done.status == 0 else ""

    def names(self, *arguments: str, at: Path | None = None) -> list[str]:
        """Git's output with `-z`, split."""
        return [_text(name) for name in self.run(*arguments, at=at).out.split(b"\0") if name]

    def commit_of(self, name: str) -> str:
        """The commit that a name refers to; empty if there is none."""
        if not name or "\0" in name or "\n" in name:
            return ""
        found = ("rev-parse", "--verify", "-q", "--end-of-options", f"{name}^{{commit}}")
        return self.out(*found)

    def is_ancestor(self, one: str, other: str) -> bool:
        return self.run("merge-base", "--is-ancestor", one, other, must=False).status == 0

    @contextmanager
    def locked(self, name: str) -> Iterator["Repository"]:
        """Hold a worktree's lock. Git inherits it, so if we are killed, it lasts until git ends."""
        path = self.layout.lock(f"_worktree-{name}")
        atomic.make_folder(path.parent)
        lock = FileLock(path)
        try:
            lock.acquire(LOCK_SECONDS)
        except TimeoutError as error:
            message = f"Another call is changing the worktree {name}."
            raise failed(message, "Try again when it has ended.", name=name) from error
        except OSError:
            with atomic.write_errors(path):
                raise
        try:
            yield replace(self, inherit=lock.inherited)
        finally:
            lock.release()

    @contextmanager
    def at_work(self, path: Path) -> Iterator[None]:
        """Hold an agent's lock. Raises E_WORKTREE if another one has it."""
        atomic.make_folder(path.parent)
        lock = FileLock(path)
        try:
            lock.acquire(0)
        except TimeoutError as error:
            raise failed("An agent is at work in it.", "Wait for it.", reason="agent") from error
        try:
            yield
        finally:
            lock.release()

    def is_held(self, path: Path) -> bool:
        """Whether another process holds the lock at `path`."""
        if not path.exists():
            return False
        lock = FileLock(path)
        try:
            lock.acquire(0)
        except TimeoutError:
            return True
        lock.release()
        return False

    def exclude(self, patterns: list[str]) -> None:
        """Have git ignore these, in this clone only."""
        path = self.common / "info" / "exclude"
        known = (plain_bytes(path) or b"").split(b"\n")
        for pattern in patterns:
            if pattern.encode() not in known:
                atomic.append(path, pattern.encode())

    def checkouts(self) -> list[dict[str, str]]:
        """The rows of `git worktree list`: keys like `worktree`, `HEAD`, `branch`, `locked`."""
        found: list[dict[str, str]] = []
        try:
            listed = self.run("worktree", "list", "--porcelain", "-z").out
        except PrereadError as error:
            error.hint = error.hint or "If a git was killed: `preread worktree prune` repairs it."
            raise
        for line in _text(listed).split("\0"):
            key, _, value = line.partition(" ")
            if key == "worktree":
                found.append({})
            if key:
                found[-1][key] = value
        return found

    def checkout_of(self, branch: str) -> Path | None:
        """Where a branch is checked out; None if nowhere."""
        for found in self.checkouts():
            if found.get("branch") == branch and "prunable" not in found:
                return Path(found["worktree"])
        return None


def _reason(done: Done) -> str:
    """Why git could not write; empty if it failed for another reason, or not at all."""
    return next((reason for pattern, reason in REASONS if re.search(pattern, done.err)), "")


def _failure(why: str, done: Done, place: Path) -> PrereadError:
    # Git may fail for lack of space and report something else: that a file "is not uptodate".
    full = "the disk is full" if shutil.disk_usage(place).free < MIN_SPACE else ""
    if reason := _reason(done) or full:
        hint = "Free some disk space or fix the permissions, then call again."
        return failed(f"{why}: {reason}.", hint, because="write")
    lines = [line for line in _text(done.err).strip().split("\n") if line]
    return failed(f"{why}.", "", git=[line[:300] for line in lines[-20:]])


def _text(data: bytes) -> str:
    return os.fsdecode(data)


def open_repository(services: Services, *, committed: bool = True) -> Repository:
    """The repository around a project or one of its worktrees.

    Raises E_WORKTREE if there is no work tree or, with `committed`, no commit.
    """
    root = services.layout.root

    def ask(*arguments: str) -> Done:
        return git.run(
            services.run, root, arguments, services.environ, git.SECONDS, services.progress.check
        )

    done = ask("rev-parse", "--path-format=absolute", "--git-common-dir", "--show-prefix")
    if done.status == git.MISSING:
        raise failed("git is not installed.", "Install git 2.38 or newer.")
    if done.status != 0:
        raise failed(f"{root} is not in a git repository.", "`git init`, and commit something.")
    common, prefix = _text(done.out).split("\n")[:2]
    top = _main_tree(ask("worktree", "list", "--porcelain", "-z"), Path(common))
    programs = ask("config", "--local", "--includes", "-z", "--name-only", "--list").out
    options = list(QUIET)
    if not ask("var", "GIT_COMMITTER_IDENT").out.strip():
        options += NOBODY
    layout = Layout(top / prefix)
    layout.guard()
    repository = Repository(
        services, layout, top, Path(common), prefix, (*options, *_harmless(programs))
    )
    if committed and not repository.commit_of("HEAD"):
        raise failed(
            f"{top} has no commit yet, and a worktree starts from one.",
            "Commit something: `git add -A && git commit`.",
        )
    return repository


def _main_tree(listed: Done, common: Path) -> Path:
    """The main work tree, which git lists first. Raises E_WORKTREE."""
    first = _text(listed.out).split("\0\0")[0].split("\0")
    if "bare" in first:
        raise failed(f"{common} is a bare repository.", "Call from a clone that has files.")
    if first[0]:
        return Path(first[0].removeprefix("worktree ")).resolve()
    if common.name == ".git":  # a half-created worktree keeps git from listing any
        return common.resolve().parent
    raise _failure("git worktree list failed", listed, common)


def _harmless(keys: bytes) -> Iterator[str]:
    """Options that keep the repository's own settings from running programs."""
    for key in {key for key in keys.split(b"\0") if PROGRAMS.match(key)}:
        name = _text(key)
        if "=" in name or "\n" in name:  # `-c` would parse another name
            raise failed(f"The repository's git setting {name!r} names a program.", "Remove it.")
        yield from ("-c", f"{name}={PLAIN_MERGE if name.startswith('merge.') else ''}")
        if name.startswith("filter."):
            yield from ("-c", f"{name.rpartition('.')[0]}.required=false")


def conflicts(repository: Repository, at: Path) -> list[dict[str, str]]:
    """Unmerged paths of a work tree, each with what both sides did."""
    stages: dict[str, set[str]] = {}
    for line in repository.names("ls-files", "-u", "-z", at=at):
        about, _, path = line.partition("\t")
        stages.setdefault(path, set()).add(about.split()[2])
    return [{"path": path, "kind": _kind(found)} for path, found in sorted(stages.items())]


def _kind(stages: set[str]) -> str:
    base, ours, theirs = ("1" in stages), ("2" in stages), ("3" in stages)
    if ours and theirs:
        return "both changed it" if base else "both added it"
    if ours or theirs:
        here, there = ("changed", "deleted") if ours else ("deleted", "changed")
        return f"{here} here, {there} there" if base else "added under another name"
    return "both renamed it"
