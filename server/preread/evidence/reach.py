"""Which definition a test means by a name: that of another file, or of a class."""

import re

from preread.evidence.view import FileView
from preread.syntax import Symbol
from preread.syntax.languages import language_of

UNIMPORTED = frozenset(
    ("Go", "Java", "Kotlin", "Swift", "C#", "Ruby", "PHP")
)  # one package sees its files without a word
PACKAGE = re.compile(r"^[ \t]*package[ \t]+([\w.]+\.\w+)", re.MULTILINE)  # of Java, Kotlin, Scala


def reaches(test: FileView, file: FileView, name: str) -> bool:
    """Whether a test file can mean the definition of this name in another file."""
    if test.path == file.path:
        return True
    if any(symbol.name == name for symbol in test.outline.symbols):
        return False  # it has its own
    stem = file.path.rpartition("/")[2].partition(".")[0]
    package = (
        PACKAGE.search(file.text) if language_of(file.path) == language_of(test.path) else None
    )
    for item in test.outline.imports:
        if (
            package
            and item.names == (name,)
            and not re.fullmatch(rf"{package[1]}(?:\.[A-Z]\w*)*", item.module)
        ):
            continue  # of the same name, in another package
        ends = re.split(r"[./]", item.module)[-2:]
        # What stands among tests is imported from there; of support another file may hand it on.
        if (stem in ends or not file.outline.tests) and (
            name in item.names or (stem in ends and not item.names)
        ):
            return True
        if stem in ends and item.names == ("*",):
            return True
    language = language_of(file.path)
    same = test.path.rpartition("/")[0] == file.path.rpartition("/")[0]
    return same and language is not None and language.name in UNIMPORTED


def family(file: FileView, symbol: Symbol) -> set[str] | None:
    """The classes of a file in which a method's name means this one; None for what is no method."""
    if symbol.kind != "method":
        return None
    classes = {s.name: s for s in file.outline.symbols if s.kind == "class"}
    heads = {
        name: " ".join(file.lines[s.start - 1 : s.start + 3]).partition(":")[0]
        for name, s in classes.items()
    }
    above = {
        name: set(re.findall(r"\w+", head.partition("{")[0])) & classes.keys()
        for name, head in heads.items()
    }
    for _ in range(3):  # of a class whose class has it
        above = {
            name: found.union(*(above[other] for other in found)) for name, found in above.items()
        }
    others = {s.container for s in file.outline.symbols if s.name == symbol.name} - {
        symbol.container
    }
    heirs = [found | {name} for name, found in above.items() if symbol.container in found | {name}]
    return {symbol.container}.union(*(found for found in heirs if not found & others))
