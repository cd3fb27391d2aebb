"""What is deprecated of a feature is told as its decorator, documentation or warning has it."""

from pathlib import Path

from _evidence_project import found, write


def told(root: Path, text: str, name: str = "login.py") -> list[str]:
    write(root, {name: text})
    return [finding.text for finding in found(root, "deprecations", "login")]


def test_a_docstring_says_what_replaces_a_function(tmp_path: Path) -> None:
    text = (
        'def login(name):\n    """Log in.\n\n    .. deprecated:: 2.1\n'
        '        Use :func:`sign_in` instead.\n\n    :param name: who\n    """\n    return name\n'
    )
    assert told(tmp_path, text) == ["`login`: ``.. deprecated:: 2.1 Use :func:`sign_in` instead.``"]


def test_a_decorator_is_quoted_as_written(tmp_path: Path) -> None:
    text = '@deprecated("use sign_in")\ndef login(name):\n    return name\n'
    assert told(tmp_path, text) == ['`login`: `@deprecated("use sign_in")`']


def test_an_annotation_that_only_mentions_it_is_none(tmp_path: Path) -> None:
    text = (
        'class Login {\n  @SuppressWarnings("deprecation")\n  void login(String name) {\n'
        "    open(name);\n  }\n}\n"
    )
    assert told(tmp_path, text, "Login.java") == []


def test_the_tag_of_a_comment_above_is_quoted_up_to_the_next_tag(tmp_path: Path) -> None:
    text = (
        "/**\n * Log in.\n * @deprecated use signIn,\n * which takes a token\n * @param name who\n"
        " */\nexport function login(name) {\n  return name;\n}\n"
    )
    assert told(tmp_path, text, "login.js") == [
        "`login`: `@deprecated use signIn, which takes a token`"
    ]


def test_the_tag_of_a_member_is_not_its_classs(tmp_path: Path) -> None:
    text = (
        "export class Login {\n  /** @deprecated use signIn instead */\n  login(name) {\n"
        "    return name;\n  }\n}\n"
    )
    assert told(tmp_path, text, "login.js") == ["`login`: `@deprecated use signIn instead`"]


def test_a_warning_is_quoted_by_its_words(tmp_path: Path) -> None:
    text = (
        "import warnings\n\n\ndef login(name):\n    warnings.warn(\n"
        '        "login is deprecated,"\n        " use sign_in",\n        DeprecationWarning,\n'
        "    )\n"
    )
    assert told(tmp_path, text) == ["`login`: `login is deprecated,` `use sign_in`"]


def test_other_warnings_and_words_say_nothing(tmp_path: Path) -> None:
    text = (
        "import warnings\n\n\ndef login(name, deprecated=()):\n"
        '    warnings.warn("the name is empty")\n    return drop(name, "deprecated one")\n'
    )
    assert told(tmp_path, text) == []


def test_hostile_words_check_out(tmp_path: Path) -> None:
    text = (
        '@deprecated("`x` (login.py:1) ``` «ü»")\ndef login(name):\n    return name\n\n\n'
        f'@deprecated("{"long " * 90}")\ndef login_long(name):\n    return name\n'
    )
    first, second = told(tmp_path, text)
    assert "```" in first
    assert second == "`login_long`: `@deprecated`"
