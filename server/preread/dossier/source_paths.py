"""Paths in sources: how they are written and recognised, and which files prove nothing."""

import re
from functools import lru_cache
from pathlib import PurePosixPath

from preread.errors import PrereadError
from preread.project.tree import Tree

BARE_NAMES = frozenset(
    "Makefile Dockerfile Rakefile Gemfile Procfile Justfile LICENSE CODEOWNERS .gitmodules".split()
)
DATA_SUFFIXES = frozenset(
    """
    .txt .md .rst .ini .cfg .toml .json .jsonc .yaml .yml .xml .csv .lock .env .conf .properties
    .gradle .proto .graphql .prisma .tf .bat .ps1 .pyi .ipynb .snap .har .log
    """.split()
)
# Files in these folders prove nothing: Preread or git wrote them, drafts included.
OWN_FOLDERS = ((".project", ".cache"), (".project", ".state"), (".project", "context"), (".git",))


@lru_cache(maxsize=10_000)
def quoted_path(path: str) -> str:
    """A path as a source writes it: in angle brackets if it would otherwise be misread."""
    depth = 0
    for char in path:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if depth < 0:
            break
    odd = depth or re.search(r"[,:<>`]", path) or path != path.strip()
    return f"<{path}>" if odd or (" " in path and not may_have_blanks(path)) else path


def may_have_blanks(path: str) -> bool:
    """Whether words separated by blanks are taken for a path rather than a sentence."""
    return "/" in path or "." in path


@lru_cache(maxsize=10_000)
def is_path_shaped(text: str) -> bool:
    """Whether a text looks like a file's path: a known suffix or name, blanks only in folders."""
    # Imported here because a cached load that cites no such path need not load the table.
    from preread.languages import language_of

    pure = PurePosixPath(text)
    suffix = pure.suffix.lower()
    known = suffix in DATA_SUFFIXES or language_of(text) is not None or pure.name in BARE_NAMES
    return (
        known
        and bool(re.fullmatch(r"[^<>,:`\s]+(?: [^<>,:`\s]+)*", text))
        and (" " not in text or "/" in text)
    )


def is_own(path: str, tree: Tree) -> bool:
    """Whether Preread or git writes this file: a dossier that cites itself could prove anything."""
    try:
        real = tree.real(path)
        # Lower case, because the file system may ignore case.
        parts = tuple(part.lower() for part in real.relative_to(tree.root).parts)
    except (OSError, ValueError, PrereadError):
        return False
    return any(parts[: len(folder)] == folder for folder in OWN_FOLDERS)
