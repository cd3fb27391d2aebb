"""A manifest that git merged says what both sides say, whatever each of them changed."""

import random
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from _processes import LOGIN
from conftest import git
from preread.dossier import published
from preread.infra import merged_json
from preread.models import Manifest
from test_hand_edits import share
from test_peoples_fences import Dossier, dossier  # noqa: F401 - a fixture

FOLDER = ".project/context/login"


def replaced(name: str, pattern: str, new: str) -> Callable[[Path], None]:
    """An edit: in a file of the dossier, replace the first match."""

    def edit(root: Path) -> None:
        path = root / FOLDER / name
        text, count = re.subn(pattern, new, path.read_text(), count=1, flags=re.MULTILINE)
        assert count == 1
        path.write_text(text)

    return edit


def added(name: str, more: str) -> Callable[[Path], None]:
    """An edit: at the end of a file of the dossier, add lines."""
    return replaced(name, r"\Z", more)


def a_line_above(root: Path) -> None:
    (root / "login.py").write_text(f"#\n{LOGIN}")


def edits(who: str) -> list[tuple[str, Callable[[Path], None]]]:
    """What a person does to a dossier, with a name for each kind."""
    fence = f"\n## Code of {who}\nSource: login.py:21-23\n```python\ndef logout\n# {who}\n```\n"
    return [
        ("reworded", replaced("codebase.md", r"^- `login_again` .* \(", f"- {who}: again and again (")),
        ("reworded badly", replaced("codebase.md", "^- `login_reset` .* ", f"- {who} `nowhere` ")),
        ("reworded summary", replaced("summary.md", "^- code: .*", f"- {who} code: login.py:11")),
        ("sources", replaced("codebase.md", r"\(:26-28\)", f"(:{25 + len(who)}-28)")),
        ("a fact", added("codebase.md", f"- {who}: `ATTEMPTS = 5` (login.py:3)\n")),
        ("an untrue fact", added("summary.md", f"- {who}: `nothing` (login.py:3)\n")),
        ("edited code", replaced("patterns.md", "(    again = login.*)", rf"\1  # {who}")),
        ("more code", added("patterns.md", fence)),
        ("deleted code", replaced("patterns.md", r"(?s)^## Example.*?\n```python.*?\n```\n", "")),
        ("a heading", replaced("codebase.md", "^## Values", f"## Values of {who}")),
        ("prose", added("summary.md", f"\n{who} says: ask me.\n")),
        ("a deleted fact", replaced("codebase.md", "^- class .*\n", "")),
        ("moved lines", a_line_above),
    ]  # fmt: skip


def branch(dossier: Dossier, name: str, edit: Callable[[Path], None]) -> str:  # noqa: F811
    """A branch with an edit that a load has seen; returns its name."""
    git(dossier.root, "checkout", "-q", "-b", name, "begin")
    edit(dossier.root)
    dossier.load()
    git(dossier.root, "commit", "-qam", name)
    return name


def manifest(root: Path, tree: str) -> Manifest:
    data = git(root, "show", f"{tree}:{FOLDER}/manifest.json")
    found = published.parse_manifest(data.encode(), "login")
    assert found is not None, data
    return found


def entries(found: Manifest, name: str) -> set[tuple[object, object]]:
    """The entries of a list or an object, with their keys; of files only these."""
    value = getattr(found, name) or ()
    if isinstance(value, dict):
        return {(key, name == "files" or repr(one)) for key, one in value.items()}
    return {(None, repr(one)) for one in value}


def test_what_both_sides_say_is_in_their_merge(dossier: Dossier) -> None:  # noqa: F811
    root = dossier.root
    share(root)
    git(root, "branch", "begin")
    before = manifest(root, "begin")
    branches = [
        {branch(dossier, f"{who}-{i}", edit): kind for i, (kind, edit) in enumerate(edits(who))}
        for who in ("ann", "robert")
    ]
    for ours, theirs in product(*branches):
        tree = git(root, "merge-tree", "--write-tree", ours, theirs).strip()
        sides, merged = (manifest(root, ours), manifest(root, theirs)), manifest(root, tree)
        for name in published.SECTIONS:
            one, other = (entries(side, name) for side in sides)
            unclear = {key for key, _ in one ^ other if key in dict(one) and key in dict(other)}
            said = (one & other) | ((one | other) - entries(before, name))
            now = entries(merged, name)
            kinds = branches[0][ours], branches[1][theirs], name
            assert {
                entry for entry in said if entry[0] is None or entry[0] not in unclear
            } <= now, kinds
            assert now - one - other <= {(key, "''") for key, _ in one | other}, kinds


@pytest.mark.parametrize("command", [("merge", "-q", "-m", "merge"), ("rebase", "-q")])
@pytest.mark.parametrize("code", ["edited code", "more code"])
@pytest.mark.parametrize("words_first", [True, False])
def test_a_reworded_fact_and_code_of_the_other_side_both_count_after_a_merge(
    dossier: Dossier,  # noqa: F811
    command: tuple[str, ...],
    code: str,
    words_first: bool,
) -> None:
    share(dossier.root)
    git(dossier.root, "branch", "begin")
    branch(dossier, "words", dict(edits("ann"))["reworded"])
    branch(dossier, "code", dict(edits("robert"))[code])
    names = ("words", "code") if words_first else ("code", "words")
    git(dossier.root, "checkout", "-q", names[0])
    git(dossier.root, *command, names[1])
    for arguments in ((), ("--force",)):
        warnings = dossier.load(*arguments)
        assert not [one for one in warnings if "robert" not in one and "code block" not in one]
        text = (dossier.root / FOLDER / "codebase.md").read_text()
        assert "- ann: again and again (:26-28)" in text
        assert "- `login_again` (token)" not in text
        assert dossier.text.count("# robert") == 1
    assert dossier.cli("load", "login", "--json", cwd=dossier.root).json["state"] == "cached"


def test_lines_of_a_merge_belong_to_their_sections_whatever_is_around_them() -> None:
    names = ("ids", "names", "values")
    ours = {"ids": ["1", "2"], "names": ["1", "3"], "values": {}, "who": "ann"}
    theirs = {"ids": ["1"], "names": [], "values": {"1": 4, "5": "{"}, "who": ""}
    lines = [merged_json.to_text(one, names).split("\n")[1:-2] for one in (ours, theirs)]
    for seed in range(100):
        order = random.Random(seed)
        mixed = order.sample([*lines[0], *lines[1]], len(lines[0]) + len(lines[1]))
        found = merged_json.parse("\n".join(("{", *mixed, "}")), names)
        assert sorted(found["ids"]) == ["1", "2"]
        assert sorted(found["names"]) == ["1", "3"]
        assert found["values"] == {"1": 4, "5": "{"}
        assert found["who"] in {"ann", ""}


def test_json_that_git_merged_has_both_sides() -> None:
    text = """{
  "facts": [
    "a",
    "b"
    "c",
    "a"
  ],
  "fault": null
  "fault": {
    "code": "E_X"
  }
  "fault": null
  "files": {},
  "files": {
    "x": "1"
  }
  "level": "light",
  "names": [1],
  "names": [2]
<<<<<<< ours
  "thin": true
=======
  "thin": false
>>>>>>> theirs
}
"""
    both = {
        "facts": ["a", "b", "c"], "fault": {"code": "E_X"}, "files": {"x": "1"}, "level": "light",
        "names": [1, 2], "thin": False,
    }  # fmt: skip
    assert merged_json.parse(text) == both
    assert merged_json.parse(text.replace("\n", "\r\n")) == both


def test_what_both_sides_of_a_merge_say_differently_can_be_left_out() -> None:
    text = """{
  "spans": {
    "a:1": "x",
    "a:2": "y",
    "a:2": "z",
    "a:3": "w",
    "a:3": "w"
  },
  "a:2": 1
}"""
    assert merged_json.has_repeated_keys(text)
    assert merged_json.parse(text, (), ["spans"]) == {"spans": {"a:1": "x", "a:3": "w"}, "a:2": 1}
    assert merged_json.parse(text)["spans"] == {"a:1": "x", "a:2": "z", "a:3": "w"}
    assert not merged_json.has_repeated_keys('{"a": {"b": 1}, "b": {"a": 1}}')


@pytest.mark.parametrize(
    "text",
    [
        "", "{", '{"a"', "[" * 100, "{1 2", '{"a": }', '{\n  "a": }\n}', '{\n  "a": [\n    "b',
        '{\n  "a": [\n    "b\n}', '{\n  "a": 1,\n    "b"\n}', '{\n  "a": [\n    "b": 1\n}',
        '{\n  "a": {\n    1\n}', '{\n  "a": ' + "[" * 100_000 + "\n}", "{\n1 2\n}",
    ],
)  # fmt: skip
def test_what_is_not_json_even_then_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        merged_json.parse(text)


def test_every_list_and_object_of_a_manifest_has_its_own_indentation() -> None:
    empty = Manifest(feature="login").model_dump(mode="json")
    sections = {name for name, value in empty.items() if isinstance(value, list | dict)}
    assert sections | {"fences", "headings", "fault"} == {*published.SECTIONS}
    assert len(published.SECTIONS) == len({*published.SECTIONS})


def test_a_merged_manifest_that_is_valid_json_has_both_sides() -> None:
    ours = Manifest(feature="login", files={"summary.md": "1"}, replaced={"a": "b"})
    data = published.manifest_bytes(ours)
    merged = data.replace(b'  "schema_version"', b'  "replaced": {},\n  "schema_version"')
    found = published.parse_manifest(merged, "login")
    assert found == ours.model_copy(update={"files": {"summary.md": ""}})
    assert published.parse_manifest(data, "login") == ours
