"""What a call would change, as diffs."""

import difflib

from preread.operations.registry import Change, Preview

END = "\n\\ No newline at end of file\n"


def change(path: str, before: str | None, after: str | None) -> Change:
    """The change of a text file; None means that the file does not exist."""
    inside = path.removeprefix("/")
    lines = difflib.unified_diff(
        (before or "").splitlines(keepends=True),
        (after or "").splitlines(keepends=True),
        "/dev/null" if before is None else f"a/{inside}",
        "/dev/null" if after is None else f"b/{inside}",
    )
    return Change(path=path, diff="".join(x if x.endswith("\n") else x + END for x in lines))


def of_file(path: str, before: str | None, after: str | None) -> Preview:
    """The preview of a call that changes one text file, or nothing."""
    return Preview(changes=(change(path, before, after),) if before != after else ())
