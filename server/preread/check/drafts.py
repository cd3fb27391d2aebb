"""The drafts to check: what a builder wrote into its staging folder."""

import os
import stat
from pathlib import Path

from preread.dossier import markdown
from preread.layout import BY_NAME
from preread.models import Draft, Problem
from preread.services import Services

MAX_BYTES = 250_000  # of one draft: thirty times the default budget of a whole dossier
MAX_PROBLEMS = 100  # reported per file, and at most this many unexpected files


def read_staged(
    services: Services, feature: str, staging: Path
) -> tuple[tuple[Draft, ...], tuple[Problem, ...]]:
    """Read the drafts in a staging folder; any file that is not a dossier file is a problem."""
    drafts: list[Draft] = []
    problems: list[Problem] = []
    unexpected = sorted(path.name for path in staging.iterdir() if path.name not in BY_NAME)
    expected = [name for name in BY_NAME if os.path.lexists(staging / name)]
    for path in sorted(staging / name for name in (*unexpected[:MAX_PROBLEMS], *expected)):
        found = _text_or_problem(services, path)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            draft, more = markdown.parse(path.name, feature, found)
            drafts.append(draft)
            problems += more[:MAX_PROBLEMS]
    return tuple(drafts), tuple(problems)


def _text_or_problem(services: Services, path: Path) -> str | Problem:
    """The text of a staged file, or why it is not a draft."""
    if path.name not in BY_NAME or not _is_plain_file(path):
        shown = ascii(path.name)[1:-1]
        return Problem(shown, 1, "E_FILE_NAME", "is not a plain file of a dossier")
    is_large = path.lstat().st_size > MAX_BYTES
    text = None if is_large else services.tree.read(services.layout.relative(path))
    message = f"is not text, or is larger than {MAX_BYTES:,} bytes"
    return Problem(path.name, 1, "E_FILE_TEXT", message) if text is None else text


def _is_plain_file(path: Path) -> bool:
    """Whether `path` is a regular file without links: no symlink, hard link, folder or device."""
    info = path.lstat()
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1
