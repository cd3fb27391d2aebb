"""The new names of renamed files by git's rename detection, and what came with a change."""

from preread.project.tree import Tree


class Renames:
    """Finds the new names of renamed files, and new texts; each diff is read only once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._read: dict[tuple[str, ...], dict[str, str]] = {}

    def of(self, path: str) -> str:
        """The new name of a file that no longer exists; empty if unknown.

        Looks at the changes since HEAD, then at the last commit that removed the file.
        """
        if not self._tree.is_git:
            return ""
        now = self._in_diff("HEAD").get(path)
        if now is None:  # HEAD did not have it either
            commit = self._removed_in(path)
            now = self._in_diff(f"{commit}~1", commit).get(path) if commit else None
        return now if now and self._tree.exists(now) else ""

    def is_new(self, text: str, path: str, cited: str) -> bool:
        """Whether a file did not have a text before the last change to the cited file.

        White space does not count. False if git does not show it.
        """
        commit = self._before_last_change(cited)
        listed = self._tree.git("ls-tree", "--name-only", commit, "--", path) if commit else None
        if listed is None or listed.status != 0:
            return False
        before = self._tree.git("cat-file", "blob", f"{commit}:./{path}") if listed.out else None
        if before is not None and before.status != 0:
            return False
        data = before.out.decode("utf-8", "replace") if before is not None else ""
        return "".join(text.split()) not in "".join(data.split())

    def _before_last_change(self, path: str) -> str:
        """The last commit before a file was changed or removed; empty if unknown."""
        if not self._tree.is_git:
            return ""
        if self._tree.git("diff", "--quiet", "--no-ext-diff", "HEAD", "--", path).status == 1:
            return "HEAD"
        done = self._tree.git("log", "-1", "--format=%H", "--no-renames", "--", path)
        commit = done.out.decode().strip() if done.status == 0 else ""
        return f"{commit}~1" if commit else ""

    def _removed_in(self, path: str) -> str:
        options = ("-1", "--format=%H", "--no-renames", "--diff-filter=D")
        done = self._tree.git("log", *options, "--", path)
        return done.out.decode().strip() if done.status == 0 else ""

    def _in_diff(self, *commits: str) -> dict[str, str]:
        """Old names -> new names, between two commits, or between one and the work tree.

        The new name of a file that was only removed is empty.
        """
        if commits not in self._read:
            options = ("--name-status", "--relative", "--find-renames", "--diff-filter=RD", "-z")
            done = self._tree.git("diff", *options, "--no-ext-diff", *commits, "--")
            text = done.out.decode("utf-8", "surrogateescape") if done.status == 0 else ""
            fields = iter(text.split("\0")[:-1])
            self._read[commits] = {
                next(fields): next(fields) if kind.startswith("R") else "" for kind in fields
            }
        return self._read[commits]
