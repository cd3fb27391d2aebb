"""Whether other code can name a definition, by the rules of its language."""

import re
from collections.abc import Callable

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
    path = [name for name in symbol.container.split(".") if name]
    if any(name.startswith(("_", "#")) for name in (*path, symbol.name)):
        return False
    if not HIDDEN_MODULES.isdisjoint(path):
        return False
    outer = [one for one in file.outline.symbols if path and one.name == path[-1]]
    return all(_is_open(view, file, one) for one in (symbol, *outer[:1]))


def _is_open(view: View, file: FileView, symbol: Symbol) -> bool:
    language = language_of(file.path)
    name = language.name if language is not None else ""
    before, needed, rule = _before(file, symbol), NEEDS.get(name), RULES.get(name)
    if HIDES.search(before) or (needed is not None and not needed.search(before)):
        return False
    return rule is None or rule(view, file, symbol)


def _before(file: FileView, symbol: Symbol) -> str:
    """The text before the name, on its line and in its signature."""
    texts = (file.line(symbol.start), symbol.signature)
    return " ".join(text.partition(symbol.name)[0] for text in texts)


def _is_imported(view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether a definition in a private module is re-exported by its package."""
    parts = file.path.removesuffix(".py").split("/")
    if not any(part.startswith("_") and part != "__init__" for part in parts):
        return True
    name = symbol.container.partition(".")[0] or symbol.name
    found = view.candidates(name, ("source",))
    return any(path.endswith("/__init__.py") for path in found)


def _is_capitalized(_view: View, file: FileView, symbol: Symbol) -> bool:
    return symbol.name[0].isupper() and "internal" not in file.path.split("/")


def _is_exported(_view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether it is exported, by keyword or by an export list in the file, or is a member."""
    if symbol.container or "export" in _before(file, symbol):
        return True
    name = re.escape(symbol.name)
    listed = rf"\bexports?\b(?:\.{name}\b|[^;]{{0,2000}}?[{{,=\s]{name}\b\s*[,;}}\n])"
    return re.search(listed, file.text) is not None


def _is_not_static(_view: View, file: FileView, symbol: Symbol) -> bool:
    return STATIC.search(_before(file, symbol)) is None


def _is_not_private(_view: View, file: FileView, symbol: Symbol) -> bool:
    """Whether no bare `private` precedes it in the same body, and none names it."""
    line = file.lines[symbol.start - 1]
    indent = line[: len(line) - len(line.lstrip())]
    for above in reversed(file.lines[: symbol.start - 1]):
        if above.strip() and len(above) - len(above.lstrip()) < len(indent):
            break
        if above.rstrip() in {f"{indent}private", f"{indent}protected"}:
            return False
    name = re.escape(symbol.name)
    return re.search(rf"\bprivate\w*\b[^\n]*:{name}(?!\w)", file.text) is None


# By language, besides modifiers.
RULES: dict[str, Callable[[View, FileView, Symbol], bool]] = {
    "Python": _is_imported,
    "Go": _is_capitalized,
    "Ruby": _is_not_private,
    "C": _is_not_static,
    "C++": _is_not_static,
    **dict.fromkeys(SCRIPTS, _is_exported),
}
