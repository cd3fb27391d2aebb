"""Comments of a feature's definitions that warn or give a reason are quoted whole."""

from pathlib import Path

import pytest
from _own import make_thin

from _evidence_project import found, write

CODE = "def login(name):\n    {comment}\n    return name\n"


def told(root: Path, text: str, name: str = "login.py") -> list[str]:
    write(root, {name: text})
    return [finding.text for finding in found(root, "comments", "login")]


@pytest.mark.parametrize(
    "said",
    [
        "The name must be folded before it is looked up.",
        "Keep the order, otherwise the session has no name yet.",
        "The server sends this twice, see issue #1812.",
        "Workaround for a proxy that drops the header.",
        "Lower case because the directory has it so.",
    ],
)
def test_a_reason_or_warning_is_quoted_with_its_function(tmp_path: Path, said: str) -> None:
    assert told(tmp_path, CODE.format(comment=f"# {said}")) == [f"`login`: `{said}`"]


@pytest.mark.parametrize(
    "said",
    [
        "look up the name in the directory",  # says what the next line says
        "must be set",  # too short to tell anything
        "if name: return never_again(name) or must(name);",
        "do not - - - > = = = > [ ] { } | login",
    ],
)
def test_what_gives_no_reason_in_words_is_left_out(tmp_path: Path, said: str) -> None:
    assert told(tmp_path, CODE.format(comment=f"# {said}")) == []


def test_a_short_comment_is_quoted_whole(tmp_path: Path) -> None:
    comment = "# Look it up. Names must be folded\n    # before that happens. Then go on."
    assert told(tmp_path, CODE.format(comment=comment)) == [
        "`login`: `Look it up. Names must be folded before that happens. Then go on.`"
    ]


def test_of_a_long_comment_only_the_sentence_that_warns_is_quoted(tmp_path: Path) -> None:
    others = "The directory has the names of all users as they were typed. " * 4
    comment = f"# {others}Names must be folded\n    # before that happens. {others}"
    assert told(tmp_path, CODE.format(comment=comment)) == [
        "`login`: `Names must be folded before that happens.`"
    ]


def test_a_reference_belongs_to_the_sentence_before(tmp_path: Path) -> None:
    comment = "# Some servers send it twice. See #1812."
    assert told(tmp_path, CODE.format(comment=comment)) == [
        "`login`: `Some servers send it twice. See #1812.`"
    ]


def test_a_comment_above_a_definition_is_its_own(tmp_path: Path) -> None:
    text = "import os\n\n\n# Never call this twice for one name.\n" + CODE.format(comment="pass")
    assert told(tmp_path, text) == ["`login`: `Never call this twice for one name.`"]


def test_a_licence_is_no_warning(tmp_path: Path) -> None:
    text = "# Licensed to you; you must not remove this notice.\n" + CODE.format(comment="pass")
    assert told(tmp_path, text) == []


def test_generated_documentation_is_read_up_to_its_tags(tmp_path: Path) -> None:
    text = (
        "/**\n * The name must be folded before.\n *\n * @param name must not be empty at all\n "
        "*/\n"
        "export function login(name) {\n  return name;\n}\n"
    )
    assert told(tmp_path, text, "login.js") == ["`login`: `The name must be folded before.`"]


def test_a_comment_of_another_definition_is_left_out(tmp_path: Path) -> None:
    other = "\n\ndef paint():\n    # Red must be mixed before blue is.\n    return 1\n"
    assert told(tmp_path, CODE.format(comment="pass") + other) == []


def test_what_warns_comes_before_what_explains(tmp_path: Path) -> None:
    comment = "# It is folded so that names meet.\n    pass\n    # It must never be cut to fit.\n"
    texts = told(tmp_path, CODE.format(comment=comment))
    assert [text.split("`")[3] for text in texts] == [
        "It must never be cut to fit.",
        "It is folded so that names meet.",
    ]


def test_hostile_comments_check_out(tmp_path: Path) -> None:
    comments = (
        "This must be `ticked` in all (login.py:1)", "It must hold ``` and more of these",
        "Das muss so, because «ü» is not ASCII", "must " * 100, "You must see x) ( for it all",
        "It must be `login` :1 and never else",
    )  # fmt: skip
    body = "\n    pass\n    ".join(f"# {comment}" for comment in comments)
    assert told(tmp_path, CODE.format(comment=body))


def test_of_a_feature_that_the_project_hardly_knows_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_thin(monkeypatch)
    assert told(tmp_path, CODE.format(comment="# The name must be folded before.")) == []


def test_a_comment_above_an_attribute_is_about_the_function_below(tmp_path: Path) -> None:
    code = (
        "pub trait Login {\n    /// The name must be folded before it is looked up.\n"
        "    #[inline]\n    fn login_user(&self, name: &str) {}\n}\n"
    )
    assert told(tmp_path, code, "src/login.rs") == [
        "`login_user`: `The name must be folded before it is looked up.`"
    ]
