"""The project's files: list those that git does not ignore, and read them safely."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from preread.errors import PrereadError, Unreadable
from preread.gates import submodules
from preread.gates.spans import MAX_BYTES, MAX_CITED, decoded, lines_of
from preread.infra.reading import ABSENT
from preread.infra.subprocesses import Done, Runner, never
from preread.layout import Layout
from preread.project import git
from preread.project.globs import glob_pattern
from preread.project.ignores import ATTRIBUTES, IGNORE, Attributes, Ignores
from preread.project.read import contains, data_at

if TYPE_CHECKING:
    from preread.syntax import Outline

T = TypeVar("T")
MAX_CACHED = 24_000_000  # characters or bytes of files cached during one request
MAX_FILES = 200_000
LIST_SECONDS = 10.0  # for git to list the files
MAX_NAME = 255  # characters of one name, like on every usual file system
MAX_SHOWN = 3  # files that cannot be read, by name
MAX_COMMIT = 1_000_000  # bytes of `git show`
WALK_SKIPS = frozenset(
    {".git", ".hg", ".svn", ".project", "node_modules", "__pycache__", ".venv", ".tox"}
)
# How long ago a file must have changed for its time stamp to be trusted, in nanoseconds: with whole
# seconds only, and with finer ones (local file systems have 0.01 s or better).
TRUST_SECONDS, TRUST_FINE = 2_000_000_000, 100_000_000


def is_young(changed: int, now: int) -> bool:
    """Whether a file changed so recently that it may change again with the same time stamp.

    Both are in nanoseconds since the epoch.
    """
    return changed > now - (TRUST_FINE if changed % 1_000_000_000 else TRUST_SECONDS)


@dataclass(slots=True)
class _Cache(Generic[T]):
    """Files that one request has read; emptied when it gets too large."""

    values: dict[str, T | None] = field(default_factory=dict)
    size: int = 0

    def add(self, path: str, value: T | None, size: int) -> None:
        self.size += size
        if self.size > MAX_CACHED:
            self.values.clear()
            self.size = size
        self.values[path] = value


@dataclass
class Tree:
    """One project's files, during one request."""

    layout: Layout
    run: Runner
    environ: dict[str, str]
    check: Callable[[], None] = never
    commits: dict[str, tuple[str, ...]] = field(default_factory=dict)  # sha -> lines, if read
    outlines: "dict[str, Outline]" = field(default_factory=dict)  # path -> outline, if read
    # Globs of test results -> the files that they match, if looked for.
    reports: dict[tuple[str, ...], list[str]] = field(default_factory=dict)
    # What could not be read: files, path -> why; then git and folders, whose files are unknown.
    unreadable: dict[str, str] = field(default_factory=dict)
    failed: dict[str, None] = field(default_factory=dict)
    _real: dict[str, Path] = field(default_factory=dict)
    _texts: _Cache[str] = field(default_factory=_Cache)
    _lines: _Cache[list[str]] = field(default_factory=_Cache)
    _large: _Cache[list[str]] = field(default_factory=_Cache)
    _bytes: _Cache[bytes] = field(default_factory=_Cache)

    def git(
        self,
        *arguments: str,
        timeout: float = git.SECONDS,
        must: bool = False,
        feed: bytes = b"",
    ) -> Done:
        """Run git in the root; the repository's settings cannot make it run programs.

        If it does not answer, that is noted in `failed`; with `must`, also if it fails.
        """
        done = git.run(
            self.run, self.layout.root, arguments, self.environ, timeout, self.check, feed
        )
        if why := git.failure(arguments, done, timeout, must=must):
            self.failed[why] = None
        return done

    @cached_property
    def is_git(self) -> bool:
        """Whether the root is in a git work tree that does not ignore it."""
        if (self.layout.root / ".git" / "HEAD").is_file():
            return True  # starting git would take longer than a cached load
        if self.git("rev-parse", "--is-inside-work-tree").out.strip() != b"true":
            return False
        if (self.layout.root / ".git").exists():
            return True
        # `check-ignore` does not support literal pathspecs.
        return self.git("--no-literal-pathspecs", "check-ignore", "-q", ".").status != 0

    @cached_property
    def files(self) -> dict[str, os.stat_result]:
        """Every regular file that is not ignored: path -> stat, sorted.

        Links, files behind links and names that cannot be cited are left out.
        """
        found: dict[str, os.stat_result] = {}
        listed = sorted(set(self._listed()))
        ignored = self._ignored(listed)
        root = str(self.layout.root)
        for path in listed:
            self.check()
            if len(found) >= MAX_FILES:
                break
            if path.startswith(".project/") or not _is_citable(path) or ignored.ignores(path):
                continue
            try:
                info = os.lstat(f"{root}/{path}")
            except OSError as error:
                self._note(path, error)
                continue
            if stat.S_ISREG(info.st_mode) and not self._behind_link(path):
                found[path] = info
        return found

    def _ignored(self, listed: list[str]) -> Ignores:
        """The rules of the listed `.prereadignore` files, and the root's even if git ignores it."""
        ignored = Ignores()
        for path in dict.fromkeys((IGNORE, *(p for p in listed if p.endswith(f"/{IGNORE}")))):
            text = None if self._behind_link(path) else decoded(self.required(path))
            if text:
                ignored.add(path.removesuffix(IGNORE), text)
        return ignored

    @cached_property
    def attributes(self) -> Attributes:
        """The rules of the project's `.gitattributes` files."""
        found = Attributes()
        for path in self.files:
            if path.rpartition("/")[2] == ATTRIBUTES:
                found.add(path.removesuffix(ATTRIBUTES), self.read(path) or "")
        return found

    def _behind_link(self, path: str) -> bool:
        """Whether a folder of the path is a link; the tree may have changed since it was listed."""
        folder, unknown = path.rpartition("/")[0], []
        while folder not in self._linked:
            unknown.append(folder)
            folder = folder.rpartition("/")[0]
        is_linked = self._linked[folder]
        for folder in reversed(unknown):
            place = f"{self.layout.root}/{folder}"  # pathlib is too slow for thousands of folders
            is_linked = self._linked[folder] = is_linked or os.path.islink(place)  # noqa: PTH114
        return is_linked

    @cached_property
    def _linked(self) -> dict[str, bool]:
        """Folder -> whether it is a link or below one."""
        return {"": False}

    def _listed(self) -> Iterator[str]:
        if self.is_git:
            yield from self.names
        else:
            yield from self._walked()

    @cached_property
    def names(self) -> list[str]:
        """What git lists: tracked files and others that it does not ignore, including links."""
        command = ("ls-files", "-z", "--cached")
        listing = (*command, "--others", "--exclude-standard")
        done = git.run(self.run, self.layout.root, listing, self.environ, LIST_SECONDS, self.check)
        others: Iterable[str] = ()
        if done.status != 0:
            # A pattern in a .gitignore file can keep git busy for years; tracked files need none.
            done = self.git(*command, timeout=LIST_SECONDS, must=True)
            others = self._walked()
        found = os.fsdecode(done.out).split("\0") if done.status == 0 else ()
        return list(dict.fromkeys(filter(None, (*found, *others))))

    @cached_property
    def in_submodules(self) -> list[str]:
        """The tracked files of the submodules that are checked out; they are not in `files`."""
        if not self.is_git or submodules.NAME not in self.names:
            return []
        done = self.git("ls-files", "-z", "--recurse-submodules", timeout=LIST_SECONDS)
        found = os.fsdecode(done.out).split("\0") if done.status == 0 else ()
        return sorted({*filter(None, found)} - {*self.names})

    def _walked(self) -> Iterator[str]:
        """Without git: every file that no .gitignore file excludes."""
        root, ignored = str(self.layout.root), Ignores()
        for folder, names, files in os.walk(root, onerror=self.note_folder):
            self.check()
            relative = os.path.relpath(folder, root).replace(os.sep, "/")
            prefix = "" if relative == "." else f"{relative}/"
            if ".gitignore" in files:
                ignored.add(prefix, decoded(self.required(f"{prefix}.gitignore")) or "")
            names[:] = sorted(
                n for n in names if n not in WALK_SKIPS and not ignored.matches(f"{prefix}{n}/")
            )
            yield from (f"{prefix}{n}" for n in files if not ignored.matches(f"{prefix}{n}"))

    def text(self, path: str) -> str | None:
        """The text of a file of the project, cached; None if it is not text or over MAX_BYTES."""
        if path not in self._texts.values:
            text = self.read(path)
            self._texts.add(path, text, len(text or ""))
        return self._texts.values[path]

    def read(self, path: str) -> str | None:
        """`text` without the cache, for a pass over many files."""
        return decoded(self.data(path))

    def data(self, path: str, limit: int = MAX_BYTES) -> bytes | None:
        """The bytes of a regular file of the project, up to the limit; else None.

        A file that cannot be read is noted in `unreadable`.
        """
        try:
            return self.required(path, limit)
        except Unreadable as error:
            self.unreadable[path] = error.why
            return None

    def required(self, path: str, limit: int = MAX_BYTES) -> bytes | None:
        """Like `data`, but raises Unreadable for a file that cannot be read."""
        try:
            # Listed files were already checked, and pathlib is too slow for thousands of them.
            is_listed = path in self.__dict__.get("files", ())
            place = (
                f"{self.layout.root}/{path}"
                if is_listed
                else str(self.layout.real(self.layout.inside(path)))
            )
        except (OSError, ValueError, PrereadError):
            return None
        return data_at(place, limit)

    def containing(self, needle: str, paths: Iterable[str]) -> str | None:
        """The first of these files that contains a text, or None; reads even large files."""
        wanted = needle.encode("utf-8", "surrogatepass")
        for path in paths:
            if path not in self._bytes.values:
                self.check()
                data = self.data(path)
                if data is None and self.exists(path):
                    if self._large_file_contains(path, wanted):
                        return path
                    continue
                self._bytes.add(path, data, len(data or b""))
            if wanted in (self._bytes.values[path] or b""):
                return path
        return None

    def _large_file_contains(self, path: str, wanted: bytes) -> bool:
        try:
            return contains(self.layout.root / path, wanted)
        except Unreadable as error:
            self.unreadable[path] = error.why
            return False

    def note_folder(self, error: OSError) -> None:
        """Note that a folder cannot be listed."""
        if error.errno not in ABSENT:
            self.failed[str(Unreadable(error.filename, error)).partition(": ")[2]] = None

    def _note(self, path: str, error: OSError) -> None:
        if error.errno not in ABSENT:
            self.unreadable[path] = Unreadable(path, error).why

    @property
    def troubles(self) -> str:
        """What could not be read, in words for people; empty if everything could."""
        shown = [f"{path} cannot be read: {why}" for path, why in self.unreadable.items()]
        more = f"and {len(shown) - MAX_SHOWN} more" if len(shown) > MAX_SHOWN else ""
        return "; ".join(filter(None, (*self.failed, *shown[:MAX_SHOWN], more)))

    def lines(self, path: str) -> list[str] | None:
        """The lines of a text file, without line ends; a final line end starts no further line."""
        if path not in self._lines.values:
            text = self.text(path)
            self._lines.add(path, None if text is None else lines_of(text), len(text or ""))
        return self._lines.values[path]

    def cited_lines(self, path: str) -> list[str] | None:
        """`lines` for sources, which may name those of a larger file, up to MAX_CITED bytes."""
        found = self.lines(path)
        if found is not None or path in self.unreadable or path in self._large.values:
            return found if found is not None else self._large.values.get(path)
        text = decoded(self.data(path, MAX_CITED))
        self._large.add(path, None if text is None else lines_of(text), len(text or ""))
        return self._large.values[path]

    def outline(self, path: str) -> "Outline":
        """The definitions and tests of a file, read once per request; empty if it is not text."""
        if path not in self.outlines:
            from preread import syntax  # a cached reply needs no outlines

            self.outlines[path] = syntax.outline(path, self.text(path) or "")
        return self.outlines[path]

    def real(self, path: str) -> Path:
        """Where a path leads, looked up once per request; raises as `Layout.real` does."""
        if path not in self._real:
            self._real[path] = self.layout.real(self.layout.inside(path))
        return self._real[path]

    def exists(self, path: str) -> bool:
        """Whether a path is a file inside the project."""
        try:
            return self.layout.real(self.layout.inside(path)).is_file()
        except (OSError, ValueError, PrereadError):
            return False

    def matching(self, glob: str) -> list[str]:
        """The listed files that match a glob, sorted."""
        if glob not in self._matching:
            pattern = glob_pattern(glob)
            self._matching[glob] = [path for path in self.files if pattern.fullmatch(path)]
        return self._matching[glob]

    @cached_property
    def _matching(self) -> dict[str, list[str]]:
        return {}

    def searched(self, glob: str) -> list[str]:
        """The files that an `absent:` source with this glob is about; see `with_all_tests`."""
        if glob not in self._searched:
            from preread.roles import with_all_tests  # most look-ups do not need it

            self._searched[glob] = with_all_tests(self.matching(glob), self.files)
        return self._searched[glob]

    @cached_property
    def _searched(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def cut(self) -> str:
        """What this work tree leaves out; see `git.cut`."""
        return git.cut(self.layout.root)

    @property
    def root(self) -> Path:
        return self.layout.root


def _is_citable(path: str) -> bool:
    """Whether a source can write a path: printable, without angle brackets and backslashes.

    Git's index can list names that no file system takes; each would be matched with every glob.
    """
    if len(path) > MAX_NAME and max(map(len, path.split("/"))) > MAX_NAME:
        return False
    return path.isprintable() and "<" not in path and ">" not in path and "\\" not in path
