"""The table of source kinds: how each is parsed, written, resolved to lines and digested."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache, partial

from preread.dossier import cited_commits
from preread.dossier.source_paths import is_path_shaped, may_have_blanks, quoted_path
from preread.errors import PrereadError
from preread.gates import spans
from preread.names import ticket_name
from preread.project.tree import Tree
from preread.reports import results

MAX_NAMED = 3  # candidates for a basename, in an error


class SourceError(Exception):
    """Why a source is invalid: a stable code and a message."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True, slots=True)
class Ref:
    """A parsed source: its kind, and the fields of that kind. `str()` gives the canonical form."""

    kind: str
    path: str = ""
    start: int = 0
    end: int = 0
    name: str = ""  # a test's name, a commit, a run, a ticket, who said it, a literal, a URL

    def __str__(self) -> str:
        return ROWS[self.kind].form(self)


@dataclass(frozen=True, slots=True)
class Span:
    """What a source resolved to: its lines and, on demand, the names of the enclosing symbols."""

    lines: tuple[str, ...]
    around: Callable[[], frozenset[str]] = frozenset
    commit: str = ""  # the hash, if these are the lines of a commit

    @property
    def names(self) -> frozenset[str]:
        """The names of the symbols in and around the lines; this parses the file."""
        return self.around()

    @property
    def digest(self) -> str:
        """SHA-256 of the lines joined by LF, first 16 hex digits. A CR before LF is ignored.

        Of a commit only its hash: how git shows it depends on settings and on the clone.
        """
        return spans.digest((self.commit,) if self.commit else self.lines)


@dataclass(frozen=True, slots=True)
class Row:
    """One kind of source."""

    parse: Callable[[str], Ref | None]
    form: Callable[[Ref], str]
    resolve: Callable[[Ref, Tree], Span]
    local: bool = True  # whether it resolves from the project, not from another server's answer


def _no_file(tree: Tree, path: str) -> SourceError:
    """The error for a missing file, with the files that a basename may refer to."""
    named = [one for one in tree.files if one.endswith(f"/{path}")] if "/" not in path else []
    hint = f"; write the whole path: {', '.join(named[:MAX_NAMED])}" if named else ""
    return SourceError("E_SOURCE_FILE", f"`{path}` is not a text file of the project{hint}")


def _span_of(tree: Tree, path: str, start: int, end: int) -> Span:
    lines = tree.cited_lines(path)
    if lines is None and tree.exists(path):
        raise SourceError("E_SOURCE_UNREADABLE", f"`{path}` is not text, or is too large")
    if lines is None:
        raise _no_file(tree, path)
    if not 1 <= start <= end <= len(lines):
        raise SourceError("E_SOURCE_LINES", f"`{path}` has {len(lines)} lines, not {start}-{end}")
    return Span(
        tuple(lines[start - 1 : end]), cache(partial(_names_between, tree, path, start, end))
    )


def _names_between(tree: Tree, path: str, start: int, end: int) -> frozenset[str]:
    from preread import syntax  # a cached reply needs no outlines

    return syntax.names_between(tree.outline(path), path, start, end)


# -- path:line, path:start-end


def _parse_lines(text: str) -> Ref | None:
    match = spans.LINES.fullmatch(text)
    if not match:
        return None
    path, start = match[1] or match[2], int(match[3])
    if not match[1] and (path != path.strip() or (" " in path and not may_have_blanks(path))):
        return None
    return Ref("lines", path, start, int(match[4] or start))


def _form_lines(ref: Ref) -> str:
    return f"{quoted_path(ref.path)}:{ref.start}" + (f"-{ref.end}" if ref.end != ref.start else "")


def _resolve_lines(ref: Ref, tree: Tree) -> Span:
    return _span_of(tree, ref.path, ref.start, ref.end)


# -- path


def _parse_path(text: str) -> Ref | None:
    if match := re.fullmatch(r"<([^<>]+)>", text):
        return Ref("path", match[1])
    return Ref("path", text) if is_path_shaped(text) else None


def _resolve_path(ref: Ref, tree: Tree) -> Span:
    lines = tree.lines(ref.path)
    if lines is None and not tree.exists(ref.path):
        raise _no_file(tree, ref.path)
    lines = lines or []
    return Span(tuple(lines), cache(partial(_names_between, tree, ref.path, 1, len(lines))))


# -- path::test_name


def _parse_test(text: str) -> Ref | None:
    match = re.fullmatch(r"(?:<([^<>]+)>|([^<>,:`]+))::(.+)", text)
    return Ref("test", match[1] or match[2], name=match[3]) if match else None


def _resolve_test(ref: Ref, tree: Tree) -> Span:
    text = tree.text(ref.path)
    if text is None:
        raise _no_file(tree, ref.path)
    for test in tree.outline(ref.path).tests:
        if ref.name in {test.name, f"{test.group}::{test.name}", f"{test.group} > {test.name}"}:
            return _span_of(tree, ref.path, test.start, test.end)
    raise SourceError("E_SOURCE_TEST", f"`{ref.path}` has no test `{ref.name}`")


# -- commit:<sha>


def _parse_commit(text: str) -> Ref | None:
    match = re.fullmatch(r"commit:([0-9a-f]{7,40})", text)
    return Ref("commit", name=match[1]) if match else None


def _resolve_commit(ref: Ref, tree: Tree) -> Span:
    lines = cited_commits.lines_of(ref.name, tree)
    if not lines:
        raise SourceError("E_SOURCE_COMMIT", f"this repository has no commit `{ref.name}`")
    return Span(lines, commit=lines[0])


# -- run:<id>, ticket:<id>, doc:<path>#p3


def _parse_run(text: str) -> Ref | None:
    match = re.fullmatch(r"run:([A-Za-z0-9][A-Za-z0-9._-]{0,63})", text)
    return Ref("run", name=match[1]) if match else None


def _resolve_run(ref: Ref, tree: Tree) -> Span:
    found = next(
        (record for record in results.lines(tree, ref.name) if record.value["id"] == ref.name), None
    )
    if found is None:
        from preread.reports import store  # only a dossier with failures needs the database

        found = store.record(tree.layout, ref.name)
    if found is None:
        raise SourceError("E_SOURCE_RUN", f"there is no recorded test run `{ref.name}`")
    parts = [
        part
        for value in found.value.values()
        for part in (value if isinstance(value, list) else (value,))
    ]
    return Span((found.line, *map(str, parts)))


def _parse_ticket(text: str) -> Ref | None:
    match = re.fullmatch(r"ticket:(\S+)", text)
    try:
        return Ref("ticket", name=ticket_name(match[1])) if match else None
    except PrereadError:
        return None


def _resolve_ticket(ref: Ref, tree: Tree) -> Span:
    lines = tree.lines(tree.layout.relative(tree.layout.ticket(ref.name)))
    if lines is None:
        raise SourceError("E_SOURCE_TICKET", f"there is no .project/tickets/{ref.name}.md")
    return Span(tuple(lines))


def _parse_doc(text: str) -> Ref | None:
    match = re.fullmatch(r"doc:(?:<([^<>]+)>|([^<>,:`]+))#p([1-9]\d{0,4})", text)
    return Ref("doc", match[1] or match[2], start=int(match[3])) if match else None


def _resolve_doc(ref: Ref, tree: Tree) -> Span:
    from preread.documents import reading  # only a dossier that cites documents needs it

    try:
        parts = reading.read(tree, ref.path).document.parts
    except PrereadError as error:
        is_there = tree.exists(ref.path)
        raise SourceError(
            "E_SOURCE_UNREADABLE" if is_there else "E_SOURCE_FILE", error.message
        ) from error
    if ref.start > len(parts):
        raise SourceError("E_SOURCE_LINES", f"`{ref.path}` has {len(parts)} parts, not {ref.start}")
    return Span(parts[ref.start - 1].lines)


# -- said:<who>@<date>


def _parse_said(text: str) -> Ref | None:
    match = re.fullmatch(r"said:(\w[\w.-]{0,63}@\d{4}-\d\d-\d\d)", text)
    return Ref("said", name=match[1]) if match else None


def _resolve_said(ref: Ref, _tree: Tree) -> Span:
    """A person's word: no file proves it, and nothing can be quoted from it."""
    return Span((str(ref),))


# -- absent:<glob>~"<literal>"


def _parse_absent(text: str) -> Ref | None:
    match = re.fullmatch(r'absent:([^~"`]+)~"(.+)"', text)
    return Ref("absent", match[1], name=match[2]) if match else None


def _resolve_absent(ref: Ref, tree: Tree) -> Span:
    if not tree.matching(ref.path):
        raise SourceError("E_SOURCE_GLOB", f"no file matches `{ref.path}`")
    paths = tree.searched(ref.path)
    if (path := tree.containing(ref.name, paths)) is not None:
        raise SourceError("E_SOURCE_PRESENT", f'`{path}` contains "{ref.name}"')
    if unread := next((path for path in paths if path in tree.unreadable), None):
        raise SourceError("E_SOURCE_UNREADABLE", f"`{unread}` cannot be read")
    return Span((f"absent {ref.path} {ref.name}",))


# -- <scheme>://…


def _parse_external(text: str) -> Ref | None:
    match = re.fullmatch(r"[a-z][a-z0-9+.-]*://\S+", text)
    return Ref("external", name=text) if match else None


def external_span(ref: Ref) -> Span:
    """The span of an external reference: the reference itself. Its server is not called again."""
    return Span((ref.name,))


def _resolve_external(ref: Ref, _tree: Tree) -> Span:
    message = f"no configured server is known to have answered with `{ref.name}`"
    raise SourceError("E_SOURCE_EXTERNAL", message)


# In the order of parsing: kinds with a prefix of their own come before paths.
ROWS: dict[str, Row] = {
    "external": Row(_parse_external, lambda r: r.name, _resolve_external, local=False),
    "absent": Row(_parse_absent, lambda r: f'absent:{r.path}~"{r.name}"', _resolve_absent),
    "commit": Row(_parse_commit, lambda r: f"commit:{r.name}", _resolve_commit),
    "run": Row(_parse_run, lambda r: f"run:{r.name}", _resolve_run),
    "ticket": Row(_parse_ticket, lambda r: f"ticket:{r.name}", _resolve_ticket),
    "said": Row(_parse_said, lambda r: f"said:{r.name}", _resolve_said),
    "doc": Row(_parse_doc, lambda r: f"doc:{quoted_path(r.path)}#p{r.start}", _resolve_doc),
    "test": Row(_parse_test, lambda r: f"{quoted_path(r.path)}::{r.name}", _resolve_test),
    "lines": Row(_parse_lines, _form_lines, _resolve_lines),
    "path": Row(
        _parse_path,
        lambda r: quoted_path(r.path) if is_path_shaped(r.path) else f"<{r.path}>",
        _resolve_path,
    ),
}


@lru_cache(maxsize=4096)  # one build parses the same few hundred sources many times
def parse(text: str) -> Ref | None:
    """Parse a source; None if it has the form of no kind."""
    for row in ROWS.values():
        if (ref := row.parse(text)) is not None:
            return ref
    return None


def resolve(ref: Ref, tree: Tree) -> Span:
    """The lines a source refers to now; raises SourceError if it is invalid."""
    return ROWS[ref.kind].resolve(ref, tree)
