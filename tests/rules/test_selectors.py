"""The attributes by which tests find the feature's elements."""

from pathlib import Path

import pytest
from _own import make_thin, texts

from _evidence_project import write

FORM = (
    "export const Login = () => (\n"
    '  <form data-testid="login-form">\n'
    '    <input aria-label="Name" placeholder={name} />\n'
    '    <button data-testid="submit" />\n'
    "  </form>\n);\n"
)


def test_elements_are_grouped_by_attribute(tmp_path: Path) -> None:
    root = write(tmp_path, {"src/Login.tsx": FORM})
    assert texts(root, "selectors") == [
        "`data-testid`: `login-form` src/Login.tsx:2, `submit` :4; `aria-label`: `Name` :3"
    ]


def test_templates_are_read_as_well(tmp_path: Path) -> None:
    page = '<template>\n  <b data-cy="login-title">x</b>\n</template>\n'
    root = write(tmp_path, {"src/Login.vue": page})
    assert texts(root, "selectors") == ["`data-cy`: `login-title` src/Login.vue:2"]


def test_elements_of_other_features_are_left_out(tmp_path: Path) -> None:
    code = (
        'export const Cart = () => <b data-testid="cart" />;\n'
        'export const Login = () => <b data-testid="title" />;\n'
    )
    root = write(tmp_path, {"src/pages.tsx": code})
    assert texts(root, "selectors") == ["`data-testid`: `title` src/pages.tsx:2"]


def test_other_attributes_are_left_out(tmp_path: Path) -> None:
    code = 'export const Login = () => <b className="login" id="login" />;\n'
    assert texts(write(tmp_path, {"src/Login.tsx": code}), "selectors") == []


def test_a_feature_the_project_hardly_mentions_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_thin(monkeypatch)
    assert texts(write(tmp_path, {"src/Login.tsx": FORM}), "selectors") == []


@pytest.mark.parametrize("value", ["a (b)", "名前", "a.py:3", "x" * 200, "a`b"])
def test_hostile_values_check_out_or_are_left_out(tmp_path: Path, value: str) -> None:
    code = f'export const Login = () => <b data-testid="{value}" />;\n'
    root = write(tmp_path, {"src/Login.tsx": code})
    assert len(texts(root, "selectors")) == (value in {"a (b)", "名前", "a.py:3"})
