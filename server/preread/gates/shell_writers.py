"""Which files single commands write, by options and operands. None: a word that is not literal."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Words = list[str | None]

NO_CREATE = ("-c", "--no-create")
TARGET = ("-t", "--target-directory")
NO_TARGET = ("-T", "--no-target-directory")
# cp, mv, ln and install -> their options whose value may be the next word.
_COPY = "-t --target-directory -S --suffix"
COPIERS = {
    "cp": _COPY,
    "mv": _COPY,
    "ln": _COPY,
    "install": _COPY + " -m --mode -o --owner -g --group",
}
# With one of these, the names that are written are not those of the sources.
OTHERWISE = {"cp": ("--parents",), "install": ("-d", "--directory")}
FOLDER, FILE, EITHER = "folder", "file", "either"


class Given:
    """What follows a command's name: options with their values (empty without one), operands.

    `valued`: options whose value is the rest of their word, or the next one. `attached`: letters
    that take the rest of their word only.
    """

    __slots__ = ("operands", "options")

    def __init__(self, words: Words, valued: str, attached: str = "") -> None:
        self.options: list[tuple[str, str | None]] = []
        self.operands: Words = []
        takes_next = valued.split()
        rest = iter(words)
        for word in rest:
            if word == "--":
                self.operands += rest
            elif word is None or word[:1] != "-" or word == "-":
                self.operands.append(word)
            else:
                name, value = self._split(word, takes_next, attached)
                is_next = name in takes_next and value is None
                self.options.append((name, next(rest, None) if is_next else value or ""))

    def _split(self, word: str, takes_next: list[str], attached: str) -> tuple[str, str | None]:
        """An option and the value in its word, if there is one; `-abVALUE` is several options."""
        if word.startswith("--"):
            name, sign, value = word.partition("=")
            return name, value if sign else None
        for at, letter in enumerate(word[1:-1], 2):
            if letter in attached or "-" + letter in takes_next:
                return "-" + letter, word[at:]
            self.options.append(("-" + letter, ""))
        return "-" + word[-1], None

    def values(self, *names: str) -> Words:
        return [value for name, value in self.options if name in names]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)


def written(name: str, words: Words) -> Words:
    """The files that a command of the table WRITERS writes."""
    valued, attached, paths = WRITERS[name]
    return [path for path in paths(Given(words, valued, attached)) if path != "-"]


def copied(name: str, words: Words) -> tuple[Words, str | None, str]:
    """What a command of the table COPIERS copies, to where, and whether that is a folder."""
    given = Given(words, COPIERS[name])
    sources = given.operands
    if given.has(*OTHERWISE.get(name, ())):
        return [], None, EITHER
    if given.has(*TARGET):
        return sources, given.values(*TARGET)[-1], FOLDER
    if len(sources) < 2:
        return sources, "." if name == "ln" else None, FOLDER
    target = sources.pop()
    if given.has(*NO_TARGET) or (name == "ln" and given.has("-n", "-h", "--no-dereference")):
        return sources, target, FILE
    return sources, target, FOLDER if len(sources) > 1 else EITHER


def _all(given: Given) -> Words:
    return given.operands


def _output(given: Given) -> Words:
    return given.values("-o", "--output")


def _document(given: Given) -> Words:
    return given.values("-O", "--output-document")


def _created(given: Given) -> Words:
    return [] if given.has(*NO_CREATE) else given.operands


def _edited(given: Given, *scripts: str) -> Words:
    """The files that are edited in place; the first operand is the script unless an option is."""
    if not given.has("-i", "--in-place"):
        return []
    names = [word for word in given.operands if word != ""]  # `-i ""`: no backup, on macOS
    return names if given.has(*scripts) else names[1:]


def _sed(given: Given) -> Words:
    return _edited(given, "-e", "--expression", "-f", "--file")


def _perl(given: Given) -> Words:
    return _edited(given, "-e", "-E") if given.has("-p", "-n") else []


def _patched(given: Given) -> Words:
    """The file that `patch FILE` writes; those that only the patch names are not known."""
    if given.has("--dry-run", "-C", "--check"):
        return []
    folder = ["", *given.values("-d", "--directory")][-1]
    return _below(folder, given.values("-o", "--output") or given.operands[:1])


def _downloaded(given: Given) -> Words:
    """The files of `curl -o FILE` and `curl -O URL`."""
    files = [file for file in given.values("-o", "--output") if file != "-"]
    if given.has("-O", "--remote-name") and not given.has("-J", "--remote-header-name"):
        files += [_remote_name(url) for url in given.operands]
    return _below(["", *given.values("--output-dir")][-1], files)


def _remote_name(url: str | None) -> str | None:
    """The last part of a URL's path."""
    place = (url or "").partition("://")[2].partition("?")[0].partition("#")[0]
    return os.path.basename(place) if "/" in place else None


def _below(folder: str | None, files: Words) -> Words:
    if folder is None:
        return []
    return [os.path.join(folder, file) for file in files if file]


def _dd(given: Given) -> Words:
    return [word[3:] for word in given.operands if word is not None and word.startswith("of=")]


_PATCH = """
    -B -d --directory -D --ifdef -F --fuzz -g --get -i --input -o --output -p --strip
    -r --reject-file -V --version-control -x --debug -Y -z --suffix
"""
_WGET = """
    -O --output-document -a -A -B -D -e -i -I -l -o -P -Q -R -t -T -U -w -X --header --post-data
    --user-agent --timeout --tries
"""
_CURL = """
    -o --output --output-dir -A --user-agent -b --cookie -c --cookie-jar -C --continue-at
    -d --data --data-raw --data-binary --data-urlencode --json -D --dump-header -e --referer
    -E --cert -F --form -H --header -K --config -m --max-time --connect-timeout -P -Q --quote
    -r --range --retry --retry-delay -t -T --upload-file -u --user -U --proxy-user
    -w --write-out -x --proxy -X --request -y -Y -z --time-cond --cacert --key --resolve
"""
# Name -> options whose value may be the next word, letters that take only the rest of their word,
# and the function that tells which files are written.
WRITERS: dict[str, tuple[str, str, Callable[[Given], Words]]] = {
    "tee": ("", "", _all),
    "sponge": ("", "", _all),
    "touch": ("-d --date -r --reference -t --time", "", _created),
    "truncate": ("-s --size -r --reference", "", _created),
    "dd": ("", "", _dd),
    "sed": ("-e --expression -f --file -l --line-length", "i", _sed),
    "perl": ("-e -E -I", "iMmFCDdVx", _perl),
    "sort": (
        "-o --output -k --key -t --field-separator -S --buffer-size -T --temporary-directory",
        "",
        _output,
    ),
    "patch": (_PATCH, "", _patched),
    "wget": (_WGET, "", _document),
    "curl": (_CURL, "", _downloaded),
}
