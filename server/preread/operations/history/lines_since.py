"""Where the lines that a dossier cites are now, by git's diff since a commit that it is about."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Literal, NamedTuple

from preread.dossier import sources
from preread.dossier.relocation import Relocator
from preread.dossier.sources import Ref, Span
from preread.gates.spans import decoded, lines_of
from preread.project import line_map
from preread.project.line_map import LineMap
from preread.project.tree import Tree

MAX_VERSIONS = 10  # of a file, among which the one that a dossier is about is looked for


class _Since(NamedTuple):
    """What has become of a file's lines since a commit, and where the file is now."""

    commit: str  # empty: the file is as the dossier says
    lines: LineMap
    path: str


class LinesSince:
    """Finds lines whose text alone does not tell where they are: it is there twice, or not at all.

    `spans`: the digests of what the dossier cites; a commit that has them all is one that it is
    about. The one that the `revision` names is tried first.
    """

    def __init__(
        self, tree: Tree, relocator: Relocator, spans: Mapping[str, str], revision: str
    ) -> None:
        self._tree, self._relocator = tree, relocator
        self._spans, self._revision = spans, revision.partition("..")[0] or "HEAD"
        self._of_file = cache(self._since)

    def find(self, ref: Ref) -> Ref | Literal["changed", "gone"] | None:
        """Where lines are now, or what has become of them; None if git does not show it."""
        since = self._of_file(ref.path)
        if since is None:
            return None
        at = since.lines.lines(ref.start, ref.end)
        if at is not None and not since.lines.is_changed(ref.start, ref.end):
            return replace(ref, path=since.path, start=at[0], end=at[1])
        return "gone" if since.lines.is_removed(ref.start, ref.end) else "changed"

    def has_moved(self, ref: Ref, now: Ref) -> bool:
        """Whether lines may have moved to `now`; not if those were there when they were cited."""
        since = self._of_file(ref.path)
        if since is None or not since.commit or self._lines(since.commit, now.path) is None:
            return True
        if now.path == since.path:
            return since.lines.is_new(now.start)
        found = line_map.since(self._tree, since.commit, now.path, now.path)
        return found is None or found.is_new(now.start)

    def _since(self, path: str) -> _Since | None:
        cited = {
            ref: digest
            for source, digest in self._spans.items()
            if (ref := sources.parse(source)) and ref.kind == "lines" and ref.path == path
        }
        if all(self._relocator.has_digest(ref, digest) for ref, digest in cited.items()):
            return _Since("", LineMap([]), path)
        now = self._relocator.path_now(path)
        for commit in self._commits(path) if now and self._tree.is_git else ():
            lines = self._lines(commit, path)
            if lines is not None and all(
                Span(tuple(lines[ref.start - 1 : ref.end])).digest == digest
                for ref, digest in cited.items()
            ):
                found = line_map.since(self._tree, commit, path, now)
                return _Since(commit, found, now) if found is not None else None
        return None

    def _commits(self, path: str) -> Iterator[str]:
        yield self._revision
        done = self._tree.git("rev-list", f"--max-count={MAX_VERSIONS}", "HEAD", "--", path)
        yield from done.out.decode("ascii", "replace").split()

    def _lines(self, commit: str, path: str) -> list[str] | None:
        done = self._tree.git("cat-file", "blob", f"{commit}:./{path}")
        text = decoded(done.out) if done.status == 0 else None
        return lines_of(text) if text is not None else None
