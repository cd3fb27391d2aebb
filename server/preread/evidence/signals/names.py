"""What names say: a file is called by the request's words, a test like its source."""

import re

from preread.evidence import words
from preread.evidence.search import Search

MARKS = re.compile(r"^tests?_|_tests?$|[._-](test|tests|spec|e2e|cy|fixture)$|Tests?$|Spec$")
IDLE = frozenset({"test", "spec", "index", "page", "main", "init", "mod", "util", "type"})


def stem_of(path: str) -> str:
    """A file's name without its endings and what marks it as a test."""
    name = path.rpartition("/")[2]
    name = name.rpartition(".")[0] or name
    return MARKS.sub("", name).removeprefix("_").lower()


def named_after_sources(search: Search) -> dict[str, float]:
    """Tests that are called like one of the best sources."""
    found: dict[str, float] = {}
    stems = {path: words.stems(stem_of(path)) for path in search.rows}
    for n, source in enumerate(search.sources[:10]):
        name = words.stems(stem_of(source))
        if not name - IDLE:
            name = words.stems(source.rpartition("/")[0].rpartition("/")[2]) or name
        near = source.rpartition("/")[0]
        for path, stem in stems.items():
            if name and name <= stem:
                home = 1.5 if path.startswith(near) else 1.0
                found[path] = found.get(path, 0.0) + home / (1 + len(stem - name)) / (3 + n)
    return found


def own_name(search: Search) -> dict[str, float]:
    """Files whose own name is made of the request's words."""
    wanted = {words.stem(word) for word in search.asked.weights}
    stems = {path: words.stems(stem_of(path)) - IDLE for path in search.rows}
    return {path: float(len(stem)) for path, stem in stems.items() if stem and stem <= wanted}
