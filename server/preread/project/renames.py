"""Files that git knows to be renamed."""

from preread.project.tree import Tree


def of(tree: Tree, path: str) -> str:
    """The name that a file has now which is gone, by git's rename detection; empty if unknown.

    Looks at what is staged, then at the last commit that removed the file.
    """
    if not tree.is_git:
        return ""
    if now := _in_diff(tree, path, "HEAD"):
        return now
    done = tree.git("log", "-1", "--format=%H", "--no-renames", "--diff-filter=D", "--", path)
    commit = done.out.decode().strip() if done.status == 0 else ""
    return _in_diff(tree, path, f"{commit}~1", commit) if commit else ""


def _in_diff(tree: Tree, path: str, *commits: str) -> str:
    """The new name in the difference of two commits, or of one and the work tree."""
    options = ("--name-status", "--relative", "--find-renames", "--diff-filter=R", "-z")
    done = tree.git("diff", *options, "--no-ext-diff", *commits, "--")
    fields = done.out.decode("utf-8", "surrogateescape").split("\0") if done.status == 0 else []
    now = dict(zip(fields[1::3], fields[2::3], strict=False)).get(path, "")
    return now if tree.exists(now) else ""
