"""The baseline: files in the order of BM25 with a bare outline, as many as a dossier is long."""

from collections.abc import Iterator

from definitions import definitions
from kinds import TEST, kind_of
from repositories import State
from systems import Bm25, Task, tokens

LONGEST = 400  # characters of a line; a longer one is no source that people wrote


class Outlines(Bm25):
    """BM25 over all code files in one list, or over tests and others apart, half the room each."""

    def update(self, state: State) -> None:
        super().update(state)
        self._state = state

    def one_list(self, task: Task, room: int) -> str:
        return _filled([self._order(task, list(self._files))], self._state, room)

    def two_lists(self, task: Task, room: int) -> str:
        tests = [path for path in self._files if kind_of(path) == TEST]
        others = [path for path in self._files if kind_of(path) != TEST]
        return _filled([self._order(task, paths) for paths in (others, tests)], self._state, room)

    def _order(self, task: Task, paths: list[str]) -> list[str]:
        scores = self.scores(sorted(tokens(task.text)), {path: self._files[path] for path in paths})
        found = (path for path, score in scores.items() if score > 0)
        return sorted(found, key=lambda path: (-scores[path], path))


def outline(path: str, text: str) -> Iterator[str]:
    yield path
    lines = text.split("\n")
    for number in dict.fromkeys(one.line for one in definitions(path, text)):
        line = lines[number - 1].strip()
        if len(line) <= LONGEST:
            yield f"{number}: {line}"


def _filled(orders: list[list[str]], state: State, room: int) -> str:
    """Whole lines; the list that has least goes on, file by file, till nothing more fits."""
    texts, left = ["" for _ in orders], [iter(order) for order in orders]
    going = set(range(len(orders)))
    while going:
        n = min(going, key=lambda n: len(texts[n]))
        path = next(left[n], None)
        share = (
            room // len(orders) if len(going) > 1 else room - sum(map(len, texts)) + len(texts[n])
        )
        for line in outline(path, state.text(path)) if path is not None else ():
            if len(texts[n]) + len(line) + 1 > share:
                path = None
                break
            texts[n] += f"{line}\n"
        if path is None:
            going.remove(n)
    return "".join(texts)
