"""The language of a file, from its path alone."""

import importlib.util

import pytest

from preread.languages import LANGUAGES, language_of


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b.py", "Python"),
        ("b.pyi", "Python"),
        ("x.mjs", "JavaScript"),
        ("x.jsx", "JavaScript"),
        ("x.d.ts", "TypeScript"),
        ("X.TSX", "TSX"),
        ("Rakefile", "Ruby"),
        ("page.html.j2", "Jinja"),
        ("a.b/c.hpp", "C++"),
        ("README.MD", "Markdown"),
    ],
)
def test_a_language_is_known_by_suffix_or_file_name(path: str, name: str) -> None:
    found = language_of(path)
    assert found is not None
    assert found.name == name


@pytest.mark.parametrize("path", ["", "a", "a/.py/b", "x.unknown", "dir.py/file", ".gitignore"])
def test_a_path_without_a_known_suffix_has_no_language(path: str) -> None:
    assert language_of(path) is None


def test_no_suffix_is_in_two_rows() -> None:
    suffixes = [suffix for language in LANGUAGES for suffix in language.suffixes]
    assert len(suffixes) == len(set(suffixes))


def test_every_grammar_of_the_table_is_installed_and_has_its_function() -> None:
    for language in LANGUAGES:
        if language.grammar is not None:
            module, function = language.grammar
            assert importlib.util.find_spec(module), module
            assert callable(getattr(importlib.import_module(module), function))
