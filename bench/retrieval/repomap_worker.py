"""Aider's repository map, asked over pipes: `repomap.py` runs it with the interpreter that has
aider-chat.

One JSON object a line comes in, {"root": …, "files": […], "text": …}, one goes out: [paths, best
first], in the order in which their definitions come in the map of a text without files in the chat.
"""

import contextlib
import json
import os
import re
import sys

from aider.repomap import RepoMap


class _Quiet:
    def __getattr__(self, _name):
        return lambda *_arguments, **_options: None

    def read_text(self, name, **_options):
        with contextlib.suppress(OSError, UnicodeError), open(name, encoding="utf-8") as file:  # noqa: PTH123
            return file.read()


def ranked(maps: dict, order: dict) -> list:
    root = order["root"]
    if root not in maps:
        maps[root] = RepoMap(root=root, io=_Quiet(), main_model=None)
    files = [os.path.join(root, path) for path in order["files"]]  # noqa: PTH118
    mentioned = set(order["text"].replace("\n", " ").split()) | set(re.split(r"\W+", order["text"]))
    by_stem: dict = {}
    for path in order["files"]:
        stem = os.path.splitext(os.path.basename(path))[0].lower()  # noqa: PTH119, PTH122
        if len(stem) >= 5:
            by_stem.setdefault(stem, set()).add(path)
    named = set().union(*(by_stem.get(word.lower(), set()) for word in mentioned if len(word) >= 5))
    with contextlib.redirect_stdout(sys.stderr):
        tags = maps[root].get_ranked_tags([], files, named, mentioned)
    return list(dict.fromkeys(tag[0] for tag in tags))


def main() -> None:
    maps: dict = {}
    for line in sys.stdin:
        print(json.dumps(ranked(maps, json.loads(line))), flush=True)


main()
