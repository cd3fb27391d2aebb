"""The project's files: list those that git does not ignore, and read them safely."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from preread.errors import PrereadError
from preread.gates.spans import decoded, lines_of
from preread.infra.subprocesses import Done, Runner, never
from preread.layout import Layout
from preread.project import git
from preread.project.ignores import ATTRIBUTES, IGNORE, Attributes, Ignores
from preread.project.read import contains, data_at

if TYPE_CHECKING:
    from preread.syntax import Outline

T = TypeVar("T")
MAX_CACHED = 24_000_000  # characters or bytes of files cached during one request
MAX_FILES = 200_000
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


def glob_pattern(glob: str) -> re.Pattern[str]:
    """Compile a glob as the gates define it.

    `**/` matches any folders, `*` and `?` match within one name, everything else is literal.
    """
    wild = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return re.compile("".join(wild.get(token, re.escape(token)) for token in tokens), re.DOTALL)


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
    _texts: _Cache[str] = field(default_factory=_Cache)
    _lines: _Cache[list[str]] = field(default_factory=_Cache)
    _bytes: _Cache[bytes] = field(default_factory=_Cache)

    def git(self, *arguments: str, timeout: float = git.SECONDS) -> Done:
        """Run git in the root; the repository's settings cannot make it run programs."""
        return git.run(self.run, self.layout.root, arguments, self.environ, timeout, self.check)

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
            if len(found) >= MAX_FILES:
                break
            if path.startswith(".project/") or not _is_citable(path) or ignored.ignores(path):
                continue
            try:
                info = os.lstat(f"{root}/{path}")
            except OSError:
                continue
            if stat.S_ISREG(info.st_mode) and not self._behind_link(path):
                found[path] = info
        return found

    def _ignored(self, listed: list[str]) -> Ignores:
        """The rules of the listed `.prereadignore` files; of the root's even if git ignores it."""
        ignored = Ignores()
        for path in dict.fromkeys((IGNORE, *(p for p in listed if p.endswith(f"/{IGNORE}")))):
            text = None if self._behind_link(path) else self.read(path)
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
            done = self.git(
                "ls-files", "-z", "--cached", "--others", "--exclude-standard", timeout=60
            )
            if done.status == 0:
                yield from filter(None, os.fsdecode(done.out).split("\0"))
                return
        yield from self._walked()

    def _walked(self) -> Iterator[str]:
        """Without git: every file that no .gitignore file excludes."""
        root, ignored = str(self.layout.root), Ignores()
        for folder, names, files in os.walk(root):
            self.check()
            relative = os.path.relpath(folder, root).replace(os.sep, "/")
            prefix = "" if relative == "." else f"{relative}/"
            if ".gitignore" in files:
                ignored.add(prefix, self.text(f"{prefix}.gitignore") or "")
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

    def data(self, path: str) -> bytes | None:
        """The bytes of a regular file of the project, up to MAX_BYTES; else None."""
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
        return data_at(place)

    def containing(self, needle: str, paths: Iterable[str]) -> str | None:
        """The first of these files that contains a text, or None; reads even large files."""
        wanted = needle.encode("utf-8", "surrogatepass")
        for path in paths:
            if path not in self._bytes.values:
                self.check()
                data = self.data(path)
                if data is None and self.exists(path):
                    if contains(self.layout.root / path, wanted):
                        return path
                    continue
                self._bytes.add(path, data, len(data or b""))
            if wanted in (self._bytes.values[path] or b""):
                return path
        return None

    def lines(self, path: str) -> list[str] | None:
        """The lines of a text file, without line ends; a final line end starts no further line."""
        if path not in self._lines.values:
            text = self.text(path)
            self._lines.add(path, None if text is None else lines_of(text), len(text or ""))
        return self._lines.values[path]

    def outline(self, path: str) -> "Outline":
        """The definitions and tests of a file, read once per request; empty if it is not text."""
        if path not in self.outlines:
            from preread import syntax  # a cached reply needs no outlines

            self.outlines[path] = syntax.outline(path, self.text(path) or "")
        return self.outlines[path]

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

    @property
    def root(self) -> Path:
        return self.layout.root


def _is_citable(path: str) -> bool:
    """Whether a source can write a path: printable, without angle brackets and backslashes."""
    return path.isprintable() and "<" not in path and ">" not in path and "\\" not in path
