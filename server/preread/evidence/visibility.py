"""Whether other code can name a definition, by the rules of its language."""

import re

from preread.evidence.files import FileView
from preread.evidence.view import View
from preread.languages import language_of
from preread.syntax import Symbol

SCRIPTS = frozenset({"JavaScript", "TypeScript", "TSX", "Vue", "Svelte"})
NEEDS = {  # languages where definitions are private by default
    "Rust": re.compile(r"\bpub\b(?!\s*\()"),
    "Java": re.compile(r"\bpublic\b"),
    "C#": re.compile(r"\bpublic\b"),
    "Swift": re.compile(r"\b(?:public|open)\b"),
}
HIDES = re.compile(r"\b(?:private|protected|internal|fileprivate)\b|\bpub\s*\(")
HIDDEN_MODULES = frozenset({"private", "internal", "sealed", "detail"})  # by convention
STATIC = re.compile(r"\bstatic\b")  # in C, local to the file


def is_public(view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether other packages can use a definition, as far as its own file shows for certain."""
    language = language_of(file.path)
    before_name = language.name if language is not None else ""
    path = [name for name in symbol.container.split(".") if name]
    if any(name.startswith(("_", "#")) for name in (*path, symbol.name)):
        return False
    if not HIDDEN_MODULES.isdisjoint(path):
        return False
    outer = [one for one in file.outline.symbols if path and one.name == path[-1]]
    return all(_is_open(view, file, one, before_name) for one in (symbol, *outer[:1]))


def _is_open(view: View, file: FileView, symbol: Symbol, before_name: str) -> bool:
    before = _before(file, symbol)
    needed = NEEDS.get(before_name)
    if HIDES.search(before) or (needed is not None and not needed.search(before)):
        return False
    if before_name == "Python":
        return _is_imported(view, file, symbol)
    if before_name == "Go":
        return symbol.name[0].isupper() and "internal" not in file.path.split("/")
    if before_name in SCRIPTS and not symbol.container:
        return _is_exported(file, symbol, before)
    if before_name == "Ruby":
        return not _is_below_private(file, symbol)
    return before_name not in {"C", "C++"} or not STATIC.search(before)


def _before(file: FileView, symbol: Symbol) -> str:
    """The text before the name, on its line and in its signature."""
    line = file.span_text(symbol.start, symbol.start)
    return " ".join(text.partition(symbol.name)[0] for text in (line, symbol.signature))


def _is_imported(view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether a definition in a private module is re-exported by its package."""
    parts = file.path.removesuffix(".py").split("/")
    if not any(part.startswith("_") and part != "__init__" for part in parts):
        return True
    name = symbol.container.partition(".")[0] or symbol.name
    found = view.candidates(name, ("source",))
    return any(path.endswith("/__init__.py") for path in found)


def _is_exported(file: FileView, symbol: Symbol, before: str) -> bool:
    """Whether it is exported, by keyword or by an export list in the file."""
    name = re.escape(symbol.name)
    listed = rf"\bexports?\b(?:\.{name}\b|[^;]{{0,2000}}?[{{,=\s]{name}\b\s*[,;}}\n])"
    return "export" in before or re.search(listed, file.text) is not None


def _is_below_private(file: FileView, symbol: Symbol) -> bool:
    """Whether a bare `private` precedes it in the same body, or it is made private by name."""
    line = file.lines[symbol.start - 1]
    indent = line[: len(line) - len(line.lstrip())]
    for above in reversed(file.lines[: symbol.start - 1]):
        if above.strip() and len(above) - len(above.lstrip()) < len(indent):
            break
        if above.rstrip() in {f"{indent}private", f"{indent}protected"}:
            return True
    name = re.escape(symbol.name)
    return re.search(rf"\bprivate\w*\b[^\n]*:{name}(?!\w)", file.text) is not None
