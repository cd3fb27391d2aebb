"""Whether a call means a definition of the project, as far as names and imports show."""

import re

from preread.evidence.files import Definition, FileView
from preread.evidence.view import View
from preread.syntax import Call, Symbol

MAX_HOMES = 5  # files that define a name: of more, a call may mean any
DISTINCTIVE = re.compile(r"_|[a-z][A-Z]|.{7}")  # a name that is unlikely to be a plain word
RECEIVER = re.compile(r"([A-Za-z]\w*)(?:\.|::)\w+$")  # a call of something with one dot
TYPE = re.compile(r"\b([A-Z]\w*)(?:::<[^()]*>)?::\w+$")
WORDS = re.compile(r"[\w-]+")
SELF = frozenset({"self", "cls", "this"})
# Where functions of other files have to be imported.
IMPORTING = (".py", ".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte")

NO_IMPLICIT_THIS = (*IMPORTING, ".go", ".rs", ".php")  # where a method needs an object


def is_name(text: str) -> bool:
    return text.rstrip("?!").isidentifier()  # the last letter of some methods of Ruby


def called_name(call: Call) -> str:
    """The last part of a callee; the class that `Order.new` makes."""
    made = re.sub(r"(?<=\w)\.new$", "", call.callee)
    return re.split(r"[.:>]", made)[-1].removeprefix("new ").strip()


def is_ours(view: View, one: Definition, call: Call, name: str) -> bool:
    """Whether a call in a definition means a function of the project."""
    named = _object(one, call.callee)
    if "." in named[1] or is_foreign(view, one.file, call.callee):
        return False  # of another module's type, as in `set *flag.FlagSet`
    is_telling = DISTINCTIVE.search(name) is not None
    here = [symbol for symbol in one.file.outline.symbols if symbol.name == name]
    homes = view.defining(name) if is_telling and not here else []
    if len(homes) > MAX_HOMES:
        homes = []
    if call.callee.removeprefix("new ") == name:
        return _is_free(one, here) or (bool(homes) and _is_in_reach(one.file, name))
    if here:
        owners = SELF | {s.container.rpartition(".")[2] for s in here if s.container}
        return is_telling or not owners.isdisjoint(named)
    found = (s for path in homes for s in view.any_file(path).outline.symbols if s.name == name)
    return any(is_known(one.file, symbol) for symbol in found)


def _is_free(one: Definition, here: list[Symbol]) -> bool:
    """Whether a call without an object may mean one of these symbols of its file.

    It does not mean a method of another class, and in some languages no method at all.
    """
    inside = "" if one.file.path.endswith(NO_IMPLICIT_THIS) else f"{one.full_name}."
    return any(s.kind != "method" or inside.startswith(f"{s.container}.") for s in here)


def _object(one: Definition, callee: str) -> tuple[str, str]:
    """What a method is called on, and the type that the caller's signature gives it."""
    named = RECEIVER.match(callee)
    typed = named and re.search(rf"\b{named[1]}\s*:?[\s*&]+(\w[\w.]*)", one.symbol.signature)
    return (named[1] if named else "", typed[1] if typed else "")


def _is_in_reach(file: FileView, name: str) -> bool:
    """Whether a file imports a name, where it has to."""
    imported = {each for one in file.outline.imports for each in one.names}
    return not file.path.endswith(IMPORTING) or not imported.isdisjoint((name, "*"))


def is_known(file: FileView, symbol: Symbol) -> bool:
    """Whether a file mentions the class of a method, so that it may have such an object."""
    owner = symbol.container.rpartition(".")[2]
    return not owner or re.search(rf"(?<!\w){re.escape(owner)}(?!\w)", file.text) is not None


def is_foreign(view: View, file: FileView, callee: str) -> bool:
    """Whether a call names another project's module or class: `JSON.stringify`, `json.dumps`."""
    if path := TYPE.search(callee):  # `Vec::new` in Rust
        return path[1] != "Self" and not view.defining(path[1])
    match = RECEIVER.match(callee)
    if match is None or view.defining(match[1]):
        return False
    receiver = match[1]
    modules = [
        one.module
        for one in file.outline.imports
        if receiver in one.names or receiver == re.split(r"[./]", one.module)[-1]
    ]
    if modules:
        return all(view.once(_path_words).isdisjoint(WORDS.findall(one)) for one in modules)
    # A parameter, a variable or an alias also appears without a dot after it.
    return receiver[0].isupper() and not re.search(rf"\b{receiver}\b(?!\s*[?!]?\.)", file.text)


def _path_words(view: View) -> frozenset[str]:
    """The words in the paths of all sources; an import with one of them may be of the project."""
    return frozenset(WORDS.findall("\n".join(view.paths_of("source", "test", "support"))))
