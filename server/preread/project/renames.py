"""Files that git knows to be renamed."""

from preread.project.tree import Tree


class Renames:
    """What git takes files for that are gone under their names; each difference is read once."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._read: dict[tuple[str, ...], dict[str, str]] = {}

    def of(self, path: str) -> str:
        """The name that a file has now which is gone, by git's rename detection; empty if unknown.

        Looks at what is staged, then at the last commit that removed the file.
        """
        if not self._tree.is_git:
            return ""
        now = self._in_diff("HEAD").get(path)
        if now is None:  # it was gone before
            commit = self._removed_in(path)
            now = self._in_diff(f"{commit}~1", commit).get(path) if commit else None
        return now if now and self._tree.exists(now) else ""

    def _removed_in(self, path: str) -> str:
        options = ("-1", "--format=%H", "--no-renames", "--diff-filter=D")
        done = self._tree.git("log", *options, "--", path)
        return done.out.decode().strip() if done.status == 0 else ""

    def _in_diff(self, *commits: str) -> dict[str, str]:
        """Old names -> new ones, in the difference of two commits, or of one and the work tree;
        the new name is empty where git knows none.
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
