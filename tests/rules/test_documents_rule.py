"""The headings of documents that are about a feature are told with their lines."""

from pathlib import Path

from _evidence_project import found, write

CODE = {"login.py": "def login(name):\n    return name\n"}


def told(root: Path, **docs: str) -> list[str]:
    write(root, CODE | {name.replace("__", "/") + ".md": text for name, text in docs.items()})
    return [finding.text for finding in found(root, "documents", "login")]


def test_headings_with_the_feature_are_told_in_their_order(tmp_path: Path) -> None:
    guide = (
        "# Guide\n\nAll.\n\n## Login\n\nWho.\n\n## Colours\n\nRed.\n\n## After the login\n\nGo.\n"
    )
    assert told(tmp_path, docs__guide=guide) == ["`Login` docs/guide.md:5, `After the login` :13"]


def test_a_document_of_the_feature_is_told_whole(tmp_path: Path) -> None:
    assert told(tmp_path, docs__login="# Start\n\nlogin\n\n## With a token\n\nlogin\n") == [
        "`Start` docs/login.md:1, `With a token` :5"
    ]


def test_documents_about_something_else_say_nothing(tmp_path: Path) -> None:
    assert told(tmp_path, docs__paint="# Colours\n\nRed.\n") == []


def test_hostile_headings_check_out(tmp_path: Path) -> None:
    guide = "# Login `a` (login.py:1)\n\n## login ``` x) (\n\n## ünï login\n\n### Login: «b»:3\n"
    assert told(tmp_path, docs__guide=guide)
    assert told(tmp_path / "b", **{"docs__a b, c": "# Login\n\nx\n"})


def test_a_document_of_several_releases_is_told_once(tmp_path: Path) -> None:
    guide = "# Guide\n\n## Login\n\nWho.\n"
    told_of = told(tmp_path, docs__guide=guide, docs__v1__guide=guide, docs__v2__guide=guide)
    assert told_of == ["`Login` docs/guide.md:3"]
