"""The project's files as evidence may see them: listed by git's rules, read with care, never through a link out."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from preread.errors import PrereadError
from preread.gates.spans import MAX_BYTES, decoded, lines_of
from preread.infra.subprocesses import Done, Runner, never
from preread.layout import Layout
from preread.project.ignores import ATTRIBUTES, IGNORE, Attributes, Ignores

if TYPE_CHECKING:
    from preread.syntax import Outline

T = TypeVar("T")
MAX_KEPT = 24_000_000  # characters or bytes of files kept for one request
MAX_FILES = 200_000
CHUNK = 1 << 20
CAREFUL = getattr(os, "O_NONBLOCK", 0) | getattr(
    os, "O_NOFOLLOW", 0
)  # waits for no writer of a pipe, follows no link
# How long a file has to have rested before its time is trusted, in nanoseconds: where times have only whole seconds,
# and where they are finer, which no file system on this side of a network has coarser than a hundredth of a second.
RACY, RACY_FINE = 2_000_000_000, 100_000_000
MAX_COMMIT = 1_000_000
GIT_SECONDS = 20.0
# Nothing of a repository's own settings may run a program or reach the network.
GIT = (
    "git", "--no-pager", "--literal-pathspecs", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null",
    "-c", "log.showSignature=false", "-c", "core.quotePath=false", "-c", "protocol.allow=never",
    "-c", "core.attributesFile=/dev/null",
)  # fmt: skip
GIT_ENVIRON = {
    "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_PAGER": "cat",
    "GIT_NO_REPLACE_OBJECTS": "1", "LC_ALL": "C.UTF-8",
}  # fmt: skip
WALK_SKIPS = frozenset(
    {".git", ".hg", ".svn", ".project", "node_modules", "__pycache__", ".venv", ".tox"}
)


def is_young(changed: int, now: int) -> bool:
    """Whether what changed then may change again without its time telling; both in nanoseconds since the epoch."""
    return changed > now - (RACY_FINE if changed % 1_000_000_000 else RACY)


def glob_pattern(glob: str) -> re.Pattern[str]:
    """A glob of the gates' grammar: `**/` is any folders, `*` and `?` stay within one name, the rest is literal."""
    wild = {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    tokens = re.split(r"(\*\*/|\*\*|\*|\?)", glob)
    return re.compile("".join(wild.get(token, re.escape(token)) for token in tokens), re.DOTALL)


@dataclass(slots=True)
class _Kept(Generic[T]):
    """What was already read, so that one request reads a file once; forgotten when it grows too large."""

    kept: dict[str, T | None] = field(default_factory=dict)
    size: int = 0

    def keep(self, path: str, value: T | None, size: int) -> None:
        self.size += size
        if self.size > MAX_KEPT:
            self.kept.clear()
            self.size = size
        self.kept[path] = value


@dataclass
class Tree:
    """One project's files for the time of one request."""

    layout: Layout
    run: Runner
    environ: dict[str, str]
    check: Callable[[], None] = never
    commits: dict[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # lines of those that were read
    outlines: "dict[str, Outline]" = field(
        default_factory=dict
    )  # what is known of files; `outline` adds to it
    _texts: _Kept[str] = field(default_factory=_Kept)
    _lines: _Kept[list[str]] = field(default_factory=_Kept)
    _bytes: _Kept[bytes] = field(default_factory=_Kept)

    def git(self, *arguments: str, timeout: float = GIT_SECONDS) -> Done:
        """Run git in the root, without its right to run programs of the repository's choice."""
        environ = {k: v for k, v in self.environ.items() if not k.startswith("GIT_")} | GIT_ENVIRON
        return self.run(
            [*GIT, *arguments],
            cwd=self.layout.root,
            timeout=timeout,
            environ=environ,
            check=self.check,
        )

    @cached_property
    def is_git(self) -> bool:
        """Whether git tracks this root: not so in a folder that an outer repository ignores."""
        if (self.layout.root / ".git" / "HEAD").is_file():
            return True  # asking git would cost a cached load more than all it reads
        if self.git("rev-parse", "--is-inside-work-tree").out.strip() != b"true":
            return False
        if (self.layout.root / ".git").exists():
            return True
        return (
            self.git("--no-literal-pathspecs", "check-ignore", "-q", ".").status != 0
        )  # it refuses literal ones

    @cached_property
    def files(self) -> dict[str, os.stat_result]:
        """Every regular file that is not ignored, sorted by path, with its stat; links and odd names are left out."""
        found: dict[str, os.stat_result] = {}
        listed = sorted(set(self._listed()))
        ignored = self._ignored(listed)
        root = str(self.layout.root)
        for path in listed:
            if len(found) >= MAX_FILES:
                break
            if path.startswith(".project/") or not _is_plain(path) or ignored.hold(path):
                continue
            try:
                info = os.lstat(f"{root}/{path}")
            except OSError:
                continue
            if stat.S_ISREG(info.st_mode) and not self._behind_link(path):
                found[path] = info
        return found

    def _ignored(self, listed: list[str]) -> Ignores:
        """The rules of `.prereadignore`: the root's, also where git ignores it, and those that are listed."""
        ignored = Ignores()
        for path in dict.fromkeys((IGNORE, *(p for p in listed if p.endswith(f"/{IGNORE}")))):
            text = None if self._behind_link(path) else self.read(path)
            if text:
                ignored.add(path.removesuffix(IGNORE), text)
        return ignored

    @cached_property
    def attributes(self) -> Attributes:
        """What the project's `.gitattributes` say."""
        found = Attributes()
        for path in self.files:
            if path.rpartition("/")[2] == ATTRIBUTES:
                found.add(path.removesuffix(ATTRIBUTES), self.read(path) or "")
        return found

    def _behind_link(self, path: str) -> bool:
        """Whether a folder on the way is a link; git lists none such, but the tree may have changed since."""
        folder = path.rpartition("/")[0]
        if folder in self._folders:
            return self._folders[folder]
        waiting = []
        while folder not in self._folders:
            waiting.append(folder)
            folder = folder.rpartition("/")[0]
        behind = self._folders[folder]
        for folder in reversed(waiting):
            place = f"{self.layout.root}/{folder}"  # a Path for each of thousands would be felt
            behind = self._folders[folder] = behind or os.path.islink(place)  # noqa: PTH114
        return behind

    @cached_property
    def _folders(self) -> dict[str, bool]:
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
        """Without git: every file that no .gitignore on its way excludes."""
        root, ignored = str(self.layout.root), Ignores()
        for folder, names, files in os.walk(root):
            self.check()
            relative = os.path.relpath(folder, root).replace(os.sep, "/")
            prefix = "" if relative == "." else f"{relative}/"
            if ".gitignore" in files:
                ignored.add(prefix, self.text(f"{prefix}.gitignore") or "")
            names[:] = sorted(
                n for n in names if n not in WALK_SKIPS and not ignored.name(f"{prefix}{n}/")
            )
            yield from (f"{prefix}{n}" for n in files if not ignored.name(f"{prefix}{n}"))

    def text(self, path: str) -> str | None:
        """The text of one file; None when it is absent, binary, too large, unreadable, special or behind a link out."""
        if path not in self._texts.kept:
            text = self.read(path)
            self._texts.keep(path, text, len(text or ""))
        return self._texts.kept[path]

    def read(self, path: str) -> str | None:
        """`text` without keeping it, for a pass over many files."""
        return decoded(self.data(path))

    def data(self, path: str) -> bytes | None:
        """The bytes of one regular file of at most MAX_BYTES inside the project, or None."""
        try:
            # A listed file is a regular one with no link on its way; a Path for each of thousands would be felt.
            listed = path in self.__dict__.get("files", ())
            place = (
                f"{self.layout.root}/{path}"
                if listed
                else str(self.layout.real(self.layout.inside(path)))
            )
        except (OSError, ValueError, PrereadError):
            return None
        return data_at(place)

    def holding(self, needle: str, paths: Iterable[str]) -> str | None:
        """The first of these files that holds a literal text, or None. Exact: it reads them, large ones too."""
        wanted = needle.encode("utf-8", "surrogatepass")
        for path in paths:
            if path not in self._bytes.kept:
                self.check()
                data = self.data(path)
                if data is None and self.exists(path):
                    if _streamed(self.layout.root / path, wanted):
                        return path
                    continue
                self._bytes.keep(path, data, len(data or b""))
            if wanted in (self._bytes.kept[path] or b""):
                return path
        return None

    def lines(self, path: str) -> list[str] | None:
        """The lines of one file, without their ends; a final line end opens no further line."""
        if path not in self._lines.kept:
            text = self.text(path)
            self._lines.keep(path, None if text is None else lines_of(text), len(text or ""))
        return self._lines.kept[path]

    def outline(self, path: str) -> "Outline":
        """The definitions and tests of one file, read at most once a request; empty when it is no text."""
        if path not in self.outlines:
            from preread import syntax  # a cached reply needs no outlines

            self.outlines[path] = syntax.outline(path, self.text(path) or "")
        return self.outlines[path]

    def exists(self, path: str) -> bool:
        try:
            return self.layout.real(self.layout.inside(path)).is_file()
        except (OSError, ValueError, PrereadError):
            return False

    def matching(self, glob: str) -> list[str]:
        """The listed files that a glob names, sorted."""
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


def data_at(place: str) -> bytes | None:
    """`Tree.data` of a listed file, by its place on this machine."""
    try:
        with open(place, "rb", opener=lambda name, flags: os.open(name, flags | CAREFUL)) as file:
            info = os.fstat(file.fileno())
            return (
                file.read(MAX_BYTES + 1)
                if stat.S_ISREG(info.st_mode) and info.st_size <= MAX_BYTES
                else None
            )
    except (OSError, ValueError):
        return None


def _streamed(place: Path, wanted: bytes) -> bool:
    """Whether a file too large to keep holds some bytes."""
    try:
        with place.open("rb") as file:
            tail = b""
            while chunk := file.read(CHUNK):
                if wanted in tail + chunk:
                    return True
                tail = chunk[-len(wanted) :]
    except OSError:
        return False
    return False


def _is_plain(path: str) -> bool:
    """Whether a name can be cited: valid UTF-8, no control characters, none of a source's own brackets."""
    return path.isprintable() and "<" not in path and ">" not in path and "\\" not in path
