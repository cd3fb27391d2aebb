"""A signal from what names mean, by the word vectors of the optional package."""

from preread import meaning
from preread.ranking.search import Search

MAX_FILES, MAX_CHARS = 1_000, 1_000  # the likeliest files, and the text of each


def similar_names(search: Search) -> dict[str, float]:
    """How near a file's path and names are to the request; nothing without the model."""
    lookup = search.lookup
    paths = [*dict.fromkeys((*search.fused, *sorted(search.rows)))][:MAX_FILES]
    texts = (_text(path, lookup.names_of(search.rows[path])) for path in paths)
    found = meaning.similarities_to(lookup.text.strip() or " ".join(lookup.weights), texts)
    rows = zip(paths, found or (), strict=False)
    return {path: value for path, value in rows if value >= meaning.MIN_SIMILARITY}


def _text(path: str, names: frozenset[str]) -> str:
    words = f"{path} {' '.join(sorted(names))}".replace("/", " ").replace("_", " ")
    return words[:MAX_CHARS]
