"""The fact index: full-text search of all dossiers, the project's knowledge and a person's own."""

from preread.facts.indexing import folders, forget, index, index_on, mismatched
from preread.facts.searching import FoundFact, Wanted, search

__all__ = [
    "FoundFact", "Wanted", "folders", "forget", "index", "index_on", "mismatched", "search",
]  # fmt: skip
