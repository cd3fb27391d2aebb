"""One short test of the feature, whole."""

from pathlib import Path

import pytest
from _own import make_thin, own

from _evidence_project import write

SOURCE = {"src/login.py": "def login(name): ...\n"}
SHORT = "def test_login_works():\n    name = 'ann'\n    result = login(name)\n    assert result\n"


def shown(root: Path) -> list[tuple[str, ...]]:
    return [finding.fence for finding in own(root, "example")]


def test_a_short_test_is_shown_whole(tmp_path: Path) -> None:
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": f"\n\n{SHORT}"})
    (finding,) = own(root, "example")
    assert finding.fence == tuple(SHORT.splitlines())
    assert finding.sources == ("tests/test_login.py:3-6",)


def test_long_tests_are_not_shown(tmp_path: Path) -> None:
    long = SHORT + "    assert result\n" * 20
    assert shown(write(tmp_path, {**SOURCE, "tests/test_login.py": long})) == []


@pytest.mark.parametrize("mark", ["@pytest.mark.skip", "@pytest.mark.xfail(reason='no')"])
def test_a_test_that_does_not_run_is_not_shown(tmp_path: Path, mark: str) -> None:
    marked = f"{mark}\n{SHORT}"
    assert shown(write(tmp_path, {**SOURCE, "tests/test_login.py": marked})) == []


def test_decorators_belong_to_the_test(tmp_path: Path) -> None:
    marked = f"\n@pytest.mark.slow\n{SHORT}"
    (fence,) = shown(write(tmp_path, {**SOURCE, "tests/test_login.py": marked}))
    assert fence[0] == "@pytest.mark.slow"


def test_a_decorator_of_several_lines_is_not_cut(tmp_path: Path) -> None:
    marked = f"@pytest.mark.parametrize(\n    'x', [1]\n)\n{SHORT}"
    assert shown(write(tmp_path, {**SOURCE, "tests/test_login.py": marked})) == []


def test_what_a_loop_over_a_table_runs_is_not_shown(tmp_path: Path) -> None:
    test = (
        'package a\n\nimport "testing"\n\nfunc TestLogin(t *testing.T) {\n'
        + "\tlogin()\n" * 12
        + "\tfor _, tc := range cases {\n\t\tt.Run(tc.name, func(t *testing.T) {\n"
        "\t\t\tlogin(tc.name)\n\t\t\tcheck(t)\n\t\t})\n\t}\n}\n"
    )
    code = "package a\n\nfunc login() {\n}\n"
    assert shown(write(tmp_path, {"login.go": code, "login_test.go": test})) == []


def test_the_one_most_like_the_others_is_shown(tmp_path: Path) -> None:
    odd = "def test_login_odd():\n    login(1)\n    a = odd()\n    assert a\n"
    usual = "".join(
        f"\n\ndef test_login_{n}():\n    app = make()\n    x = login(app)\n    close(app, x)\n"
        for n in range(3)
    )
    (fence,) = shown(write(tmp_path, {**SOURCE, "tests/test_login.py": odd + usual}))
    assert fence[1] == "    app = make()"


def test_a_feature_the_project_hardly_mentions_gets_a_test_of_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test = "# login\n" + SHORT.replace("login", "cart")
    root = write(tmp_path, {**SOURCE, "tests/test_cart.py": test})
    make_thin(monkeypatch)
    assert len(shown(root)) == 1


@pytest.mark.parametrize("value", ["```", "~~~", "`x`", "(a.py:1)", "名前", "x" * 200])
def test_hostile_tests_check_out_or_are_left_out(tmp_path: Path, value: str) -> None:
    test = SHORT.replace("'ann'", f"'{value}'")
    root = write(tmp_path, {**SOURCE, "tests/test_login.py": test})
    assert len(shown(root)) == (len(value) < 200)


def test_the_example_is_of_the_features_first_test_files(tmp_path: Path) -> None:
    files = {f"tests/test_login_{n}.py": SHORT for n in "abc"}
    far = "".join(
        f"def test_login_{n}():\n    app = make()\n    login(app)\n    close(app)\n\n\n"
        for n in range(6)
    )
    root = write(tmp_path, {**SOURCE, **files, "tests/test_zebra.py": far})
    (finding,) = own(root, "example")
    assert finding.sources[0].startswith("tests/test_login_")
