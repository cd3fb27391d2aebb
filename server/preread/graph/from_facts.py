"""Nodes and edges from facts: their dossiers, what they cite, what they replace."""

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

from preread.dossier import fact_notes, fact_text, markdown, sources
from preread.dossier.sources import Ref
from preread.graph.writer import Key, Writer, file_node, node_of_test
from preread.services import Services

if TYPE_CHECKING:
    from preread.graph.model import NodeKind

PREFIX, CODE = "facts:", "code:"
KNOWLEDGE = "knowledge.md"
DECISIONS = "decisions"  # the collection that `decide` adds to


def update(services: Services, writer: Writer) -> None:
    """Bring the nodes of facts up to date with the index of facts."""
    connection = writer.connection
    known = writer.digests(PREFIX)
    current = dict(connection.execute("SELECT path, digest FROM sources_of_facts"))
    for path in known.keys() - current.keys():
        writer.forget(PREFIX + path)
    say = services.progress.say

    def write(path: str) -> None:
        before = _cited_files(writer, path)
        with writer.origin(PREFIX + path, current[path]):
            after = _file(services, writer, path)
            writer.outdate(CODE + one for one in before | after)

    changed = [path for path in current if known.get(path) != current[path]]
    writer.each(changed, write, lambda share: say("reading what facts cite", share, 1))
    _tickets(writer)


def _cited_files(writer: Writer, path: str) -> set[str]:
    """The files that a file's facts cited when it was last read."""
    sql = """SELECT DISTINCT n.path FROM origins o JOIN edges e ON e.origin = o.id
        JOIN nodes n ON n.id = e.target WHERE o.name = ? AND e.kind = 'cites'"""
    return {cited for (cited,) in writer.connection.execute(sql, (PREFIX + path,))}


def _file(services: Services, writer: Writer, path: str) -> set[str]:
    """Write the facts of a file; returns the files that they cite."""
    found: set[str] = set()
    is_knowledge = path.endswith(f"/{KNOWLEDGE}")
    sql = """SELECT id, feature, line, section, text, sources, state, confidence FROM facts
        WHERE path = ?"""
    for id_, feature, line, section, text, cited, state, confidence in writer.connection.execute(
        sql, (path,)
    ).fetchall():
        kind = _kind(section) if is_knowledge else "fact"
        key = Key(f"fact:{id_}", kind, text, path, line, state, confidence)
        node = writer.node(key, known_best=True)
        whole = Key(f"feature:{feature}", "feature", feature) if feature else file_node(path)
        writer.edge(node, "belongs-to", writer.node(whole), f"{path}:{line}")
        for key, quotes in _cited(writer, json.loads(cited)).items():
            found.add(key.path)
            writer.edge(node, "cites", writer.node(key), ", ".join(quotes), state, confidence)
    if is_knowledge:
        _superseded(services, writer, path)
    return found


def _kind(section: str) -> "NodeKind":
    """The kind of a fact of the project's knowledge, by its collection."""
    return "decision" if section.casefold() == DECISIONS else "fact"


def _cited(writer: Writer, texts: list[str]) -> dict[Key, list[str]]:
    """The nodes that a fact cites, each with the sources that cite it."""
    found: dict[Key, list[str]] = {}
    for text in texts:
        ref = sources.parse(text)
        if ref is not None and (key := _key(writer, ref)) is not None:
            found.setdefault(key, []).append(text)
    return found


def _key(writer: Writer, ref: Ref) -> Key | None:
    """The node of a source; `said:` and `absent:` sources have none."""
    if ref.kind == "commit":
        return commit_node(_whole_sha(writer, ref.name))
    make = NODES.get(ref.kind)
    return make(ref) if make is not None else None


# The node of each kind of source; a commit's needs the index.
NODES: dict[str, Callable[[Ref], Key]] = {
    "lines": lambda ref: file_node(ref.path),
    "path": lambda ref: file_node(ref.path),
    "test": lambda ref: node_of_test(ref.path, ref.name),
    "run": lambda ref: Key(f"failure:{ref.name}", "failure", ref.name),
    "ticket": lambda ref: Key(f"ticket:{ref.name}", "ticket", ref.name),
    "doc": lambda ref: Key(f"document:{ref.path}", "document", ref.path, ref.path),
    "external": lambda ref: Key(
        f"document:{ref.name}", "document", ref.name, state="external", confidence=0.7
    ),
}


def commit_node(sha: str, subject: str = "") -> Key:
    return Key(f"commit:{sha[:12]}", "commit", subject or sha[:12])


def _whole_sha(writer: Writer, prefix: str) -> str:
    sql = "SELECT sha FROM commits WHERE sha >= ? AND sha < ? LIMIT 1"
    row = writer.connection.execute(sql, (prefix, f"{prefix}g")).fetchone()
    return str(row[0]) if row else prefix


def _superseded(services: Services, writer: Writer, path: str) -> None:
    """Add the facts that were replaced by others."""
    text = services.tree.read(path) or ""
    lines = text.split("\n")
    draft = markdown.parse(KNOWLEDGE, "", text, retired=True)[0]
    kinds = {fact.line: _kind(one.heading) for _, one, fact in markdown.all_facts([draft])}
    facts = draft.facts
    notes = [fact_notes.read(fact_notes.at(lines, fact.line)[1]) for fact in facts]
    remembered = [
        fact_notes.Line(fact.line, fact.text, note) for fact, note in zip(facts, notes, strict=True)
    ]
    latest = {id_: same[0] for id_, same in fact_notes.entries(remembered).items()}
    ids = {id_: fact_text.fact_id(KNOWLEDGE, line.text) for id_, line in latest.items()}
    for own, (line, said, note) in latest.items():
        newer = ids.get(note.get("replaced-by", ""))
        if newer is not None:
            old = Key(f"fact:{ids[own]}", kinds[line], said, path, line, "retired", 0.0)
            after = writer.node(Key(f"fact:{newer}", "fact", ""))
            cited = f"{path}:{line}"
            writer.edge(after, "supersedes", writer.node(old, known_best=True), cited)


def _tickets(writer: Writer) -> None:
    """Add the ticket that each dossier was built for."""
    rows = writer.connection.execute(
        "SELECT feature, ticket FROM fact_folders WHERE ticket != '' ORDER BY feature"
    ).fetchall()
    digest = hashlib.sha256(repr(rows).encode()).hexdigest()
    if writer.digests("tickets").get("") == digest:
        return
    with writer.origin("tickets", digest):
        for feature, ticket in rows:
            node = writer.node(Key(f"ticket:{ticket}", "ticket", ticket))
            whole = writer.node(Key(f"feature:{feature}", "feature", feature))
            cited = f".project/context/{feature}/manifest.json"
            writer.edge(node, "belongs-to", whole, cited)
