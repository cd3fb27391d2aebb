"""The versions of a dossier that git has."""

from collections.abc import Iterator, Sequence

from preread.dossier import published
from preread.dossier.published import Published
from preread.layout import FILES, MANIFEST
from preread.services import Services

MAX_VERSIONS = 8


class Committed:
    """Reads a dossier's files from commits."""

    def __init__(self, services: Services, feature: str) -> None:
        self.tree, self.layout, self.feature = services.tree, services.layout, feature
        self.folder = services.layout.relative(services.layout.dossier(feature))

    def versions(self) -> Iterator[Published]:
        """The latest ones as builds published them, latest first."""
        path = f"{self.folder}/{MANIFEST}"
        command = ("log", "-n", str(MAX_VERSIONS), "--format=%H", "--", path)
        names = [row.name for row in FILES]
        for commit in self.tree.git(*command).out.decode().split():
            *files, data = self.contents(commit, [*names, MANIFEST])
            manifest = published.parse_manifest(data, self.feature)
            texts = dict(zip(names, map(published.text_of, files), strict=True))
            if manifest is not None and all(manifest.files.values()):
                yield Published(manifest, {name: text for name, text in texts.items() if text}, ())

    def at(self, commit: str) -> Published:
        """The files of a commit, whether a person had edited them or not."""
        names = [row.name for row in FILES]
        *files, data = self.contents(commit, [*names, MANIFEST])
        found = {name: text for name, text in zip(names, files, strict=True) if text}
        return published.of_files(self.layout, self.feature, found, data)

    def contents(self, commit: str, names: Sequence[str]) -> list[bytes]:
        """What these files contain in a commit; nothing for those that it lacks.

        Nothing for all of them if git cannot read one.
        """
        wanted = "".join(f"{commit}:./{self.folder}/{name}\n" for name in names)
        done = self.tree.git("cat-file", "--batch", feed=wanted.encode())
        if done.status:
            return [b""] * len(names)
        found, rest = [], done.out
        for _ in names:
            head, _, rest = rest.partition(b"\n")
            is_there = head.split(b" ")[1:2] == [b"blob"]
            size = int(head.split(b" ")[2]) if is_there else 0
            found.append(rest[:size].replace(b"\r\n", b"\n"))  # autocrlf adds them
            rest = rest[size + 1 :] if is_there else rest
        return found
