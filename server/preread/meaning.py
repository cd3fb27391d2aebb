"""Ranking by meaning: texts by similarity to a query, fused with a ranking by words."""

import hashlib
import sqlite3
from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

from preread.infra import db, embedding, sqlite
from preread.layout import Layout

K = TypeVar("K", bound=Hashable)
RANK_OFFSET = 60  # of reciprocal rank fusion; the higher, the less the first ranks differ
# Minimum similarity: low if a search by words found nothing, because a guess is then welcome.
MIN_SIMILARITY, MIN_BESIDE_WORDS = 0.1, 0.3


def near(
    layout: Layout, query: str, texts: Sequence[str], *, beside_words: bool = False
) -> list[int] | None:
    """The indexes of texts with a similar meaning, nearest first; None without a model."""
    model = embedding.model()
    if model is None:
        return None
    vectors = _vectors(layout, model, texts)
    similarity = model.similarities(model.vectors([query])[0], vectors)
    limit = MIN_BESIDE_WORDS if beside_words else MIN_SIMILARITY
    places = [place for place, value in enumerate(similarity) if value >= limit]
    return sorted(places, key=lambda place: -similarity[place])


def similarities_to(query: str, texts: Iterable[str]) -> list[float] | None:
    """Each text's similarity to the query, -1 to 1; None without a model. Nothing is stored."""
    model = embedding.model()
    if model is None:
        return None
    first, *others = model.vectors([query, *texts])
    return model.similarities(first, others)


def fused(by_words: Sequence[K], by_meaning: Sequence[K], weight: float) -> list[K]:
    """Reciprocal rank fusion of two rankings; `weight`, 0 to 1, is that of meaning."""
    scores: dict[K, float] = {}
    for ranking, share in ((by_words, 1 - weight), (by_meaning, weight)):
        for rank, key in enumerate(ranking if share else ()):
            scores[key] = scores.get(key, 0.0) + share / (RANK_OFFSET + rank)
    return sorted(scores, key=lambda key: -scores[key])


def regenerate(layout: Layout, texts: Sequence[str]) -> int:
    """Recompute the vectors of these texts; returns the number of vectors."""
    db.use(layout, lambda connection: connection.execute("DELETE FROM vectors"))
    model = embedding.model()
    if model is not None:
        _vectors(layout, model, texts)
    return stored(layout)


def stored(layout: Layout) -> int:
    """How many vectors are stored."""
    sql = "SELECT count(*) FROM vectors"
    return db.use(layout, lambda connection: int(connection.execute(sql).fetchone()[0]))


def _vectors(layout: Layout, model: embedding.Model, texts: Sequence[str]) -> list[bytes]:
    """The vector of each text, computed once."""

    def work(connection: sqlite3.Connection) -> list[bytes]:
        digests = [
            hashlib.sha256(f"{embedding.NAME}\0{text}".encode("utf-8", "replace")).hexdigest()[:32]
            for text in texts
        ]
        known = dict(connection.execute("SELECT digest, vector FROM vectors"))
        new = {digest: text for digest, text in zip(digests, texts, strict=True)
               if digest not in known}  # fmt: skip
        computed = dict(zip(new, model.vectors(list(new.values())), strict=True)) if new else {}
        if computed:
            with sqlite.transaction(connection):
                rows = list(computed.items())
                connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
        return [(known | computed)[digest] for digest in digests]

    return db.use(layout, work)
