"""The tests of a feature by file and line, grouped as a reader finds them."""

from pathlib import Path

import pytest
from _own import make_thin, own, texts

from _evidence_project import write

SOURCE = {"src/login.py": "def login(name):\n    return name\n"}


def write_tests(root: Path, tests: dict[str, str]) -> Path:
    return write(root, SOURCE | {f"tests/{name}.py": text for name, text in tests.items()})


def listed(root: Path, **tests: str) -> list[str]:
    """What is told of test files in Python."""
    return texts(write_tests(root, tests), "tests")


def functions(*names: str, body: str = "assert login(1)") -> str:
    return "\n\n".join(f"def {name}():\n    {body}\n" for name in names)


def test_tests_are_listed_in_the_order_of_their_file_under_its_path(tmp_path: Path) -> None:
    text = functions("test_login_fails", "test_login")
    root = write(tmp_path, {**SOURCE, "tests/test_all.py": text})
    (finding,) = own(root, "tests")
    assert finding.text == "`test_login_fails` :1, `test_login` :5"
    assert (finding.file, finding.section) == ("existing-tests.md", "tests/test_all.py")


def test_all_tests_of_a_file_named_after_the_feature_are_its_tests(tmp_path: Path) -> None:
    title = "Stable pointers"
    text = functions("test_stable_pointers", body="stable(pointers)")
    text += "\n\n" + functions(*(f"test_{name}" for name in "abc"), body="go()")
    write_tests(tmp_path, {"test_login": text})
    assert [one.text for one in own(tmp_path, "tests", "login", title)] == [
        "`test_stable_pointers` :1, `test_a` :5, `test_b` :9, `test_c` :13"
    ]


def test_methods_are_grouped_by_their_class(tmp_path: Path) -> None:
    text = (
        "class TestLogin:\n    def test_works(self):\n        assert login('a')\n\n"
        "    def test_fails(self):\n        assert login('b')\n\n\n" + functions("test_alone")
    )
    assert listed(tmp_path, test_login=text) == [
        "`TestLogin`: `test_works` :2, `test_fails` :5; `test_alone` :9"
    ]


def test_tests_that_share_a_helper_are_labelled_by_it(tmp_path: Path) -> None:
    helper = "def signed(name):\n    return login(name)\n\n\n"
    shared = functions("test_a", "test_b", "test_c", body="assert signed(1)")
    text = helper + shared + "\n\n" + functions("test_apart")
    assert listed(tmp_path, test_login=text) == [
        "helper `signed` :1 in `test_a` :5, `test_b` :9, `test_c` :13; `test_apart` :17"
    ]


def test_a_helper_of_two_tests_labels_nothing(tmp_path: Path) -> None:
    text = "def signed(name):\n    return login(name)\n\n\n" + functions(
        "test_a", "test_b", body="assert signed(1)"
    )
    assert listed(tmp_path, test_login=text) == ["`test_a` :5, `test_b` :9"]


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        pytest.param(
            "web/login.test.ts",
            """describe('login', () => {
  it('opens a session', () => {
    expect(login(1)).toBe(1);
  });

  it("says why it doesn't", () => {
    expect(login(2)).toBe(2);
  });
});
""",
            "`login`: `opens a session` :2, `says why it doesn't` :6",
            id="titles in words",
        ),
        pytest.param(
            "tests/login.rs",
            """rgtest!(login_works, |dir: Dir| {
    login(1);
});

rgtest!(login_fails, |dir: Dir| {
    login(2);
});
""",
            "`login_works` :1, `login_fails` :5",
            id="macros that define tests",
        ),
        pytest.param(
            "src/login.rs",
            """pub fn login(n: u8) -> u8 {
    n
}

#[cfg(test)]
mod tests {
    #[test]
    fn login_works() {
        assert_eq!(login(1), 1);
    }

    #[tokio::test]
    async fn login_waits() {
        assert_eq!(login(2), 2);
    }
}
""",
            "`tests`: `login_works` :8, `login_waits` :13",
            id="tests beside the code",
        ),
        pytest.param(
            "login_test.go",
            """package a

func TestLogin(t *testing.T) {
\tt.Run("works", func(t *testing.T) {
\t\tLogin(1)
\t})
}
""",
            "`TestLogin` :3: `works` :4",
            id="subtests",
        ),
    ],
)
def test_tests_of_other_languages_are_listed_by_their_names_and_titles(
    tmp_path: Path, path: str, code: str, said: str
) -> None:
    assert texts(write(tmp_path, {**SOURCE, path: code}), "tests") == [said]


def test_tests_with_the_requests_words_share_no_line_with_others(tmp_path: Path) -> None:
    paint = functions("test_paint", "test_paint_again", body="assert 1")
    login = functions("test_login", "test_login_again")
    told = listed(tmp_path, test_all=f"{paint}\n\n{login}")
    assert told == [
        "`test_login` :9, `test_login_again` :13",
        "`test_paint` :1, `test_paint_again` :5",
    ]


def test_of_a_file_with_few_tests_of_the_feature_the_others_are_left_out(tmp_path: Path) -> None:
    paint = functions(*(f"test_paint_{n}" for n in range(9)), body="assert 1")
    told = listed(tmp_path, test_all=paint + "\n\n" + functions("test_login"))
    assert told == ["`test_login` :37"]


def test_a_test_file_of_the_feature_comes_before_others(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        SOURCE
        | {
            "tests/test_a.py": functions("test_a") + "\n\n" + functions("test_b", body="pass"),
            "tests/test_login.py": functions("test_login_works", "test_login_fails"),
        },
    )
    assert own(root, "tests")[0].section == "tests/test_login.py"


def test_a_feature_that_the_project_does_not_know_gets_two_tests_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_thin(monkeypatch)
    text = functions(*(f"test_login_{n}" for n in range(5)))
    assert listed(tmp_path, test_login=text) == ["`test_login_0` :1, `test_login_1` :5"]


def test_a_project_without_tests_has_none_listed(tmp_path: Path) -> None:
    assert listed(tmp_path) == []


@pytest.mark.parametrize(
    "title", ["login `a` (b.ts:1)", "login ``` x", "login ü «b»:3", "login, (web/a.ts:1-2)"]
)
def test_hostile_titles_check_out_or_are_left_out(tmp_path: Path, title: str) -> None:
    code = f'test("{title}", () => {{\n  login(1);\n}});\n\ntest("login ok", () => login(2));\n'
    root = write(tmp_path, {**SOURCE, "web/login.test.ts": code})
    assert "`login ok` :5" in "".join(texts(root, "tests"))


def test_tests_of_other_subjects_fill_one_line_of_a_file(tmp_path: Path) -> None:
    paint = functions(*(f"test_paint_{n}" for n in range(40)), body="assert 1")
    test = functions("test_login_1", "test_login_2") + paint
    root = write(tmp_path, {**SOURCE, "tests/test_all.py": test})
    lines = texts(root, "tests")
    assert "test_login_1" in lines[0]
    assert sum("paint" in line and "login" not in line for line in lines) <= 1


def test_after_three_files_those_with_tests_of_other_subjects_are_only_named(
    tmp_path: Path,
) -> None:
    related = {f"test_login_{n}": functions(f"test_login_{n}") for n in range(4)}
    others = {
        f"test_{name}": "from src.login import login\n\n\n"
        + functions(f"test_{name}", body="assert 1")
        for name in ("colour", "paint")
    }
    *detailed, named = own(write_tests(tmp_path, related | others), "tests")
    assert {one.section for one in detailed} == {f"tests/{name}.py" for name in related}
    assert (named.section, named.text) == ("More files", "more test files, the likeliest first")
    assert set(named.sources[-2:]) == {f"tests/{name}.py" for name in others}


def test_files_whose_tests_the_budget_may_cut_are_named_and_listed(tmp_path: Path) -> None:
    many = functions(*(f"test_login_{n}" for n in range(60)))
    others = {
        f"test_{name}": "from src.login import login\n\n\n"
        + functions(f"test_{name}", body="login(1)")
        for name in ("colour", "paint")
    }
    *detailed, named = own(write_tests(tmp_path, {"test_login": many} | others), "tests")
    paths = {f"tests/{name}.py" for name in others}
    assert {one.section for one in detailed} == {"tests/test_login.py"} | paths
    assert (named.text, {*named.sources}) == ("more test files, the likeliest first", paths)
    doubtful = [one.score for one in detailed if one.section in paths]
    assert max(doubtful) < named.score < detailed[0].score


def test_groups_with_the_name_of_a_module_or_method_are_listed(tmp_path: Path) -> None:
    spec = (
        "RSpec.describe Shop::Login do\n  describe '#login' do\n    context 'with a name' do\n"
        "      it { expect(login('a')).to eq('a') }\n    end\n  end\nend\n"
    )
    source = "module Shop\n  class Login\n    def login(name)\n      name\n    end\n  end\nend\n"
    root = write(tmp_path, {"lib/shop/login.rb": source, "spec/shop/login_spec.rb": spec})
    assert texts(root, "tests") == [
        "`Shop::Login > #login > with a name`: `it { expect(login('a')).to eq('a') }` :4"
    ]


def test_a_title_that_is_a_variable_names_no_test(tmp_path: Path) -> None:
    source = "package shop\n\nfunc Login(name string) string {\n\treturn name\n}\n"
    test = (
        'package shop\n\nimport "testing"\n\nfunc TestLogin(t *testing.T) {\n'
        '\tfor _, login := range []struct{ name string }{{name: "a short login"}} {\n'
        "\t\tt.Run(login.name, func(t *testing.T) {\n\t\t\tLogin(login.name)\n\t\t})\n\t}\n"
        '\tt.Run("login twice", func(t *testing.T) {\n\t\tLogin("a")\n\t})\n}\n'
    )
    script = (
        "for (const login of ['a', 'b']) {\n  it(login, () => {\n    signLogin(login);\n  });\n}\n"
        "it('login', () => {\n  signLogin('c');\n});\n"
    )
    files = {"login.go": source, "login_test.go": test, "tests/login.test.js": script}
    told = " ".join(texts(write(tmp_path, files), "tests"))
    assert "`login.name`" not in told
    assert "`login` :2" not in told
    for title in ("`TestLogin` :5", "`a short login` :6", "`login twice` :11", "`login` :6"):
        assert title in told


def test_a_title_that_is_a_call_or_empty_names_no_test(tmp_path: Path) -> None:
    source = "package shop\n\nfunc Login(name string) string {\n\treturn name\n}\n"
    test = (
        'package shop\n\nimport "testing"\n\nfunc TestLogin(t *testing.T) {\n'
        "\tt.Run(login.title(1), func(t *testing.T) {\n\t\tLogin(login.name)\n\t})\n"
        '\tt.Run("", func(t *testing.T) {\n\t\tLogin("a")\n\t})\n}\n'
    )
    root = write(tmp_path, {"login.go": source, "login_test.go": test})
    assert texts(root, "tests") == ["`TestLogin` :5"]


def test_the_tests_inside_the_best_source_come_before_other_files(tmp_path: Path) -> None:
    inside = "".join(
        f"    #[test]\n    fn login_{n}() {{\n        login({n});\n    }}\n" for n in range(3)
    )
    source = f"pub fn login(a: u8) {{}}\n\n#[cfg(test)]\nmod tests {{\n{inside}}}\n"
    others = {
        f"tests/other{n}.rs": f"// login\n#[test]\nfn other_{n}() {{\n    run();\n}}\n"
        for n in range(12)
    }
    root = write(tmp_path, {"Cargo.toml": "[package]\n", "src/login.rs": source} | others)
    assert own(root, "tests")[0].section == "src/login.rs"


def test_what_has_neither_tests_nor_helpers_is_not_named(tmp_path: Path) -> None:
    tests = {f"test_login_{n}": functions(f"test_login_{n}") for n in range(4)}
    root = write_tests(tmp_path, tests)
    write(root, {"tests/login_page.html": "<p>login</p>\n", "tests/login/__init__.py": "# login\n"})
    named = [source for one in own(root, "tests") for source in one.sources]
    assert not any("login_page" in source or "__init__" in source for source in named)
