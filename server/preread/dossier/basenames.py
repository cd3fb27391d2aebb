"""Cited paths in full and as basenames: a file is cited in full once, then by its basename."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from preread.dossier import sources
from preread.dossier.sources import Ref

FILE_KINDS = frozenset({"lines", "path", "test"})


class Paths:
    """The paths that a file has cited in full so far, to expand basenames and to shorten paths."""

    def __init__(
        self, shared: Container[str] = (), lost: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.by_basename: dict[str, dict[str, None]] = {}
        self.shared = shared  # basenames that are never written alone
        self.lost = lost  # basename -> path, where the file does not say which one any more

    def expand(self, ref: Ref, written: str) -> Ref:
        """The full source for `written`. A path in angle brackets is always a full path."""
        if ref.kind not in FILE_KINDS:
            return ref
        known = self.by_basename.get(ref.path, {})  # empty for a path with folders
        if len(known) == 1 and not written.startswith("<"):
            return replace(ref, path=next(iter(known)))
        if ref.path in self.lost and not written.startswith("<"):
            ref = replace(ref, path=self.lost[ref.path])
        self.add(ref.path)
        return ref

    def add(self, path: str) -> None:
        self.by_basename.setdefault(path.rsplit("/", 1)[-1], {})[path] = None

    def shorten(self, ref: Ref) -> str:
        """The shortest form that is read back as `ref`, whose path counts as cited from now on."""
        if ref.kind not in FILE_KINDS:
            return str(ref)
        basename = ref.path.rsplit("/", 1)[-1]
        known = self.by_basename.get(basename, {})
        short, full = replace(ref, path=basename), str(ref)
        is_plain = not str(short).startswith("<") and sources.parse(str(short)) == short
        if is_plain and len(known) == 1 and ref.path in known and basename not in self.shared:
            return str(short)
        self.add(ref.path)
        if basename == ref.path and known and not full.startswith("<"):
            # Without brackets it would read back as the file of that name cited before.
            return f"<{basename}>{full[len(basename) :]}"
        return full


def by_basename(cited: Iterable[str]) -> dict[str, str]:
    """Basename -> path of the files in folders that these sources cite; each names only one."""
    refs = [ref for one in cited if (ref := sources.parse(one)) and ref.kind in FILE_KINDS]
    found: dict[str, set[str]] = {}
    for ref in refs:
        found.setdefault(ref.path.rsplit("/", 1)[-1], set()).add(ref.path)
    only = {name: next(iter(paths)) for name, paths in found.items() if len(paths) == 1}
    return {name: path for name, path in only.items() if name != path}
