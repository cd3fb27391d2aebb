"""Whether every hand-written fact holds at its commit: its sources resolve, and its backticked texts stand in them.

    PYTHONPATH=server python bench/claims/verify.py CLONES [NAME …]

CLONES is a folder with a clone of each repository, named like it, checked out at the manifest's commit. Exits 1 and
prints what does not hold.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

from gold import Case, Gold, cases, read, tree_of

from preread import dossier, sources
from preread.project.tree import Tree
from preread.sources import SourceError, Span

MARKS = ("///", "//!", "//", "#", "*", "/*", "*/", "--", ";")  # of comments, at the start of a line


def one_line(text: str) -> str:
    return " ".join(text.split())


def readings(span: Span) -> list[str]:
    """A span on one line: as it is, without comment marks, and the names around it."""
    bare = []
    for line in span.lines:
        text = line.strip()
        mark = next((mark for mark in MARKS if text.startswith(mark)), "")
        bare.append(text[len(mark) :])
    return [one_line(" ".join(span.lines)), one_line(" ".join(bare)), span.names]


def broken(fact: Gold, tree: Tree) -> Iterator[str]:
    stand: list[str] = []
    for source in fact.sources:
        ref = sources.parse(source)
        if ref is None:
            yield f"`{source}` is no source"
            continue
        try:
            span = sources.resolve(ref, tree)
        except SourceError as error:
            yield f"{error.code} {error}"
            continue
        stand += [*readings(span), ref.name if ref.kind == "absent" else ""]
    for quote in dossier.quotes(fact.text):
        if not any(one_line(quote) in reading for reading in stand):
            yield f"`{quote}` stands in none of its sources"


def check(case: Case, clones: Path) -> Iterator[str]:
    root = clones / case.clone
    if not root.is_dir():
        yield f"{case.name}: no clone at {root}"
        return
    tree = tree_of(root)
    head = tree.git("rev-parse", "HEAD").out.decode().strip()
    if head != case.commit:
        yield f"{case.name}: {root} is at {head}, the facts are about {case.commit}"
        return
    facts, problems = read(case)
    yield from map(str, problems)
    for fact in facts:
        yield from (f"{case.name}.md:{fact.line}: {message}" for message in broken(fact, tree))


def main(arguments: list[str]) -> int:
    if not arguments:
        print(__doc__)
        return 2
    wrong = 0
    for case in cases():
        if arguments[1:] and case.name not in arguments[1:]:
            continue
        found = list(check(case, Path(arguments[0])))
        wrong += len(found)
        facts, _ = read(case)
        print(
            f"{case.name}: {len(facts)} facts, {sum(len(f.sources) for f in facts)} sources, {len(found)} wrong"
        )
        print("".join(f"  {line}\n" for line in found), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
