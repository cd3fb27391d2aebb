"""The definitions of a feature's files: the main ones in detail, the others by name."""

from pathlib import Path

import pytest
from _own import make_thin, own, texts

from _evidence_project import commit, evidence, write

LOGIN = "def login_user(name):\n    return name\n"


def detail(root: Path, name: str) -> str:
    """What is told of the definition with this name, which has to be one fact."""
    (found,) = [text for text in texts(root, "definitions") if text.startswith(f"`{name}`")]
    return found


# -- one definition in detail


def test_a_main_definition_has_parameters_calls_callers_and_tests(tmp_path: Path) -> None:
    code = (
        "def login_user(name, password='x', *args, **more):\n    check_name(name)\n"
        "    return token_for(name)\n\n\ndef check_name(name):\n    return name\n\n\n"
        "def token_for(name):\n    return name\n"
    )
    web = "from auth import login_user\n\n\ndef sign_in(form):\n    return login_user(form)\n"
    tests = (
        "def test_one():\n    assert login_user('a')\n\n\ndef test_two():\n    login_user('b')\n\n\n"
        "def test_other():\n    assert my_login_user_name\n"
    )
    root = write(tmp_path, {"src/auth.py": code, "src/web.py": web, "tests/test_auth.py": tests})
    (finding,) = [one for one in own(root, "definitions") if "login_user" in one.text]
    assert finding.text == (
        "`login_user` (name, password, args, more) → `check_name` :2, `token_for` :3 "
        "← `sign_in` src/web.py:5; 2 tests name it"
    )
    assert (finding.section, finding.sources) == ("src/auth.py", ("src/auth.py:1-3",))


SIGNATURES = {
    "login.go": """package a

func LoginUser(ctx context.Context, name, mail string, o ...Option) {
}
""",
    "login.ts": """export function loginUser(name: string, opts: { a: number, b: string } = {},
    done?: (x: number) => void): string {
  return name;
}
""",
    "login.rs": """impl A {
    pub fn login_user(&self, name: &str, mut count: usize) -> u8 {
        1
    }
}
""",
    "Login.java": """class Login {
  String loginUser(final String name, int count) {
    return name;
  }
}
""",
    "login.py": """class Login:
    def login_user(self, name: dict[str, int], *, mail=(1, 2)):
        return 1
""",
    "Login.cs": """class Login
{
    public void LoginUser(string? name, TimeProvider? time = null, int tries = 3) { }
}
""",
    "Login.php": """<?php
class Login
{
    public function loginUser(?Name $name, Token|string $token, array &$all = []): void {}
}
""",
    "login.cpp": """std::string login_user(const std::string &name, std::map<int, int> all = {}, Kind::Of o) {
    return name;
}
""",
}


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("login.go", "`LoginUser` (ctx, name, mail, o)"),
        ("login.ts", "`loginUser` (name, opts, done)"),
        ("login.rs", "`A.login_user` (name, count)"),
        ("Login.java", "`loginUser` (name, count)"),
        ("login.py", "`Login.login_user` (name, mail)"),
        ("Login.cs", "`LoginUser` (name, time, tries)"),
        ("Login.php", "`loginUser` (name, token, all)"),
        ("login.cpp", "`login_user` (name, all, o)"),
    ],
)
def test_parameters_are_told_by_their_names(tmp_path: Path, path: str, said: str) -> None:
    assert said in texts(write(tmp_path, {f"src/{path}": SIGNATURES[path]}), "definitions")


def test_of_many_parameters_the_first_eight_are_told(tmp_path: Path) -> None:
    code = f"def login({', '.join(f'p{n}' for n in range(12))}):\n    return 1\n"
    root = write(tmp_path, {"src/login.py": code})
    assert texts(root, "definitions") == ["`login` (p0, p1, p2, p3, p4, p5, p6, p7, …)"]


def test_overloads_are_told_once_by_their_implementation(tmp_path: Path) -> None:
    code = (
        "from typing import overload\n\n\n@overload\ndef login(name: str) -> str: ...\n@overload\n"
        "def login(name: int) -> int: ...\ndef login(name, retries=3):\n    if name:\n"
        "        return name\n    return name\n"
    )
    (finding,) = own(write(tmp_path, {"src/login.py": code}), "definitions")
    assert (finding.text, finding.sources) == ("`login` (name, retries)", ("src/login.py:8-11",))


def test_what_has_no_name_is_not_listed(tmp_path: Path) -> None:
    code = "pub fn login() {}\n\nconst _: () = ();\n"
    assert texts(write(tmp_path, {"src/login.rs": code}), "definitions") == ["`login` :1"]


def test_calls_of_other_libraries_are_left_out(tmp_path: Path) -> None:
    code = "import json\n\n\ndef login(name):\n    json.dumps(name)\n    print(name)\n"
    root = write(tmp_path, {"src/login.py": code})
    assert texts(root, "definitions") == ["`login` (name)"]


def test_a_call_of_what_many_files_define_is_left_out(tmp_path: Path) -> None:
    code = "def login(item: A):\n    item.get_name()\n    item.get_owner()\n"
    others = {f"src/m{n}.py": "class A:\n    def get_name(self): ...\n" for n in range(6)}
    others["src/m0.py"] += "    def get_owner(self): ...\n"
    root = write(tmp_path, {"src/login.py": code, **others})
    assert detail(root, "login") == "`login` (item) → `get_owner` :3"


def test_a_call_without_an_object_is_no_method_of_another_class(tmp_path: Path) -> None:
    code = (
        "fun loginText(name: String) = buildString { appendText(name); checkName(name) }\n\n"
        "fun checkName(name: String) = name\n\n"
        "class Sink {\n    fun appendText(text: String) {}\n}\n"
    )
    root = write(tmp_path, {"src/Login.kt": code})
    assert detail(root, "loginText") == "`loginText` (name) → `checkName` :1"


def test_without_an_object_no_method_is_called_in_rust(tmp_path: Path) -> None:
    code = (
        "impl Login {\n    fn login_user(&self) {\n        drop_user(1);\n    }\n\n"
        "    fn drop_user(&self) {}\n}\n"
    )
    root = write(tmp_path, {"src/login.rs": code})
    assert texts(root, "definitions") == ["in `Login` `login_user` :2, `drop_user` :6"]


def test_a_method_with_a_plain_name_is_called_on_a_known_object_only(tmp_path: Path) -> None:
    code = (
        "def login(form, own: Form):\n    form.check()\n    own.open()\n\n\ndef check(name): ...\n\n\n"
        "class Form:\n    def open(self): ...\n"
    )
    root = write(tmp_path, {"src/login.py": code})
    assert detail(root, "login") == "`login` (form, own) → `open` :3"


def test_a_function_that_a_script_does_not_import_is_not_called(tmp_path: Path) -> None:
    code = "from names import check_name\n\n\ndef login(name):\n    check_name(name)\n"
    code += "    clean_name(name)\n"
    names = "def check_name(name): ...\n\n\ndef clean_name(name): ...\n"
    root = write(tmp_path, {"src/login.py": code, "src/names.py": names})
    assert detail(root, "login") == "`login` (name) → `check_name` :5"


def test_a_method_of_a_class_that_the_file_does_not_mention_is_not_called(tmp_path: Path) -> None:
    code = "class Login {\n  void loginUser(List<String> names) {\n    names.isEmpty();\n  }\n}\n"
    block = "class Block {\n  boolean isEmpty() {\n    return true;\n  }\n}\n"
    write(tmp_path, {"src/Login.java": code, "src/Block.java": block})
    assert detail(tmp_path, "loginUser") == "`loginUser` (names)"


def test_an_object_of_another_modules_type_has_no_method_of_this_file(tmp_path: Path) -> None:
    code = (
        "package login\n\ntype Set struct{}\n\nfunc (s *Set) AddName(n string) {\n}\n\n"
        "func (s *Set) LoginTo(other *flag.Set, own *Set) {\n\tother.AddName(1)\n"
        "\town.AddName(2)\n}\n"
    )
    more = "package login\n\nfunc (s *Set) AddMail(n string) {\n}\n"
    code = code.replace("\town", "\tother.AddMail(1)\n\town")
    root = write(tmp_path, {"login.go": code, "more.go": more})
    assert detail(root, "Set.LoginTo") == "`Set.LoginTo` (other, own) → `AddName` :11"


def test_subtests_are_counted_without_the_test_around_them(tmp_path: Path) -> None:
    code = "package login\n\nfunc LoginUser() {\n}\n"
    tests = "package login\n\nfunc TestLogin(t *testing.T) {\n"
    tests += "".join(
        f'\tt.Run("{name}", func(t *testing.T) {{\n\t\tLoginUser()\n\t}})\n' for name in "ab"
    )
    root = write(tmp_path, {"login.go": code, "login_test.go": tests + "}\n"})
    assert detail(root, "LoginUser") == "`LoginUser`; 2 tests name it"


def test_no_tests_are_counted_for_a_name_that_its_file_gives_to_several(tmp_path: Path) -> None:
    code = (
        "class Form:\n    def login_user(self): ...\n\n\ndef login_user(name):\n    return name\n"
    )
    tests = "def test_one():\n    Form().login_user()\n"
    root = write(tmp_path, {"src/auth.py": code, "tests/test_auth.py": tests})
    assert detail(root, "login_user") == "`login_user` (name)"


def test_no_number_is_told_of_what_more_tests_name_than_are_read(tmp_path: Path) -> None:
    files = {"src/auth.py": LOGIN}
    test = "def test_one():\n    assert login_user(1)\n"
    calls = "from auth import login_user\n\n\ndef sign_in_{n}():\n    login_user({n})\n"
    for n in range(31):
        files[f"tests/test_{n:02}.py"] = test
        files[f"src/web_{n:02}.py"] = calls.replace("{n}", str(n))
    told = detail(write(tmp_path, files), "login_user")
    assert told == (
        "`login_user` (name) ← `sign_in_0` src/web_00.py:5, `sign_in_1` src/web_01.py:5 and more"
    )


def test_of_many_calls_those_with_the_requests_words_are_told_in_their_order(
    tmp_path: Path,
) -> None:
    steps = ["first", "second", "third", "login_token", "fourth", "fifth", "login_name"]
    code = "def login_user():\n" + "".join(f"    {step}()\n" for step in steps)
    code += "".join(f"\n\ndef {step}():\n    pass\n" for step in steps)
    root = write(tmp_path, {"src/login.py": code})
    assert detail(root, "login_user") == (
        "`login_user` → `first` :2, `second` :3, `third` :4, `login_token` :5, `login_name` :8"
    )


@pytest.mark.parametrize(
    ("path", "code", "keyword"),
    [
        ("a.go", "package a\n\ntype LoginPool struct {\n\tsize int\n}\n", "struct"),
        ("a.go", "package a\n\ntype LoginPool[T any] interface {\n\tPay() T\n}\n", "interface"),
        ("a.go", "package a\n\ntype (\n\tLoginPool struct{ size int }\n)\n", "struct"),
        ("a.rs", "pub struct LoginPool<T> {\n    size: T,\n}\n", "struct"),
        ("a.rs", "pub trait LoginPool: Send {\n    fn pay(&self);\n}\n", "trait"),
        ("a.swift", "public protocol LoginPool {\n  func pay()\n}\n", "protocol"),
        ("a.cs", "public record LoginPool(int Size);\n", "record"),
        ("a.hpp", "template <class T> struct LoginPool {\n  T size;\n};\n", "struct"),
        ("a.rb", "module LoginPool\n  def self.pay\n    1\n  end\nend\n", "module"),
        ("a.ts", "export interface LoginPool {\n  pay(): void;\n}\n", "interface"),
        ("a.kt", "data class LoginPool(val size: Int) {\n  fun pay() = 1\n}\n", "class"),
        ("a.py", "class LoginPool(Struct):\n    size = 1\n", "class"),
    ],
)
def test_a_class_is_called_what_its_language_calls_it(
    path: str, code: str, keyword: str, tmp_path: Path
) -> None:
    test = "def test_pool():\n    assert 'LoginPool'\n"
    root = write(tmp_path, {f"src/{path}": code, "tests/test_pool.py": test})
    assert f"{keyword} `LoginPool`; 1 test names it" in texts(root, "definitions")


def test_a_class_is_told_with_its_constructor_and_who_makes_it(tmp_path: Path) -> None:
    code = "class LoginTask {\n  LoginTask(String name, int count) {\n    run();\n  }\n}\n"
    use = "class Pool {\n  void start() {\n    go(new LoginTask(name, 1));\n  }\n}\n"
    root = write(tmp_path, {"src/LoginTask.java": code, "src/Pool.java": use})
    (finding,) = [one for one in own(root, "definitions") if "LoginTask" in one.text]
    assert finding.text == "class `LoginTask` (name, count) ← `Pool.start` src/Pool.java:3"
    assert finding.sources == ("src/LoginTask.java:1-5",)


# -- callers


def test_of_many_callers_two_are_named_and_the_others_counted(tmp_path: Path) -> None:
    uses = {f"src/u{n}.py": f"def use_{n}():\n    return login_user({n})\n" for n in range(5)}
    root = write(tmp_path, {"src/login.py": LOGIN} | uses)
    assert detail(root, "login_user") == (
        "`login_user` (name) ← `use_0` src/u0.py:2, `use_1` src/u1.py:2 and 3 more"
    )


def test_a_method_that_two_classes_have_is_called_by_its_own_class_only(tmp_path: Path) -> None:
    code = "".join(
        f"class Login{name}:\n    def login_open(self, name):\n        return name\n\n"
        f"    def login_{name.lower()}(self):\n        return self.login_open(1)\n\n\n"
        for name in "AB"
    )
    other = "def go(one):\n    return one.login_open('x')\n"  # of which class is unknown
    root = write(tmp_path, {"src/login.py": code, "src/other.py": other})
    for name, line in (("A", 6), ("B", 14)):
        said = detail(root, f"Login{name}.login_open")
        assert said == f"`Login{name}.login_open` (name) ← `login_{name.lower()}` :{line}"


def test_a_name_that_two_files_define_has_no_callers(tmp_path: Path) -> None:
    code = {f"src/{name}.py": LOGIN for name in "ab"}
    use = {"src/use.py": "def use():\n    return login_user(1)\n"}
    root = write(tmp_path, code | use)
    assert not any("←" in text for text in texts(root, "definitions"))


def test_a_function_that_calls_itself_is_no_caller_from_elsewhere(tmp_path: Path) -> None:
    code = "def login_user(name):\n    return login_user(name[1:]) if name else name\n"
    assert texts(write(tmp_path, {"src/login.py": code}), "definitions") == ["`login_user` (name)"]


def test_plain_words_are_neither_looked_for_in_code_nor_in_tests(tmp_path: Path) -> None:
    files = {
        "src/login.py": "def login(name):\n    return name\n",
        "src/use.py": "def use():\n    return login(1)\n",
        "tests/test_login.py": "def test_it():\n    assert login(1)\n",
    }
    assert detail(write(tmp_path, files), "login") == "`login` (name)"


# -- the outline of the others


def test_other_names_of_a_file_are_listed_twelve_in_a_fact_members_behind_their_class(
    tmp_path: Path,
) -> None:
    others = "".join(f"\n\ndef paint_{n}(x):\n    return x\n" for n in range(13))
    paint = "\n\nclass Paint:\n    def red(self):\n        return 1\n"
    root = write(tmp_path, {"src/login.py": LOGIN + others + paint})
    first, second, third = texts(root, "definitions")
    assert first == "`login_user` (name)"
    assert second == ", ".join(f"`paint_{n}` :{5 + 4 * n}" for n in range(12))
    assert third == "`paint_12` :53, `Paint` :57; in `Paint` `red` :58"


def test_what_is_inside_a_function_is_left_out(tmp_path: Path) -> None:
    code = "def login_user(name):\n    def inner(x):\n        return x\n\n    return inner(name)\n"
    root = write(tmp_path, {"src/login.py": code})
    assert not any("`inner` :2" in text for text in texts(root, "definitions"))


def test_what_a_long_function_is_made_of_is_listed(tmp_path: Path) -> None:
    """As of a composable or a page's `setup`: what it returns is what others call."""
    filler = "  // …\n" * 50
    code = (
        f"export function useLogin() {{\n  const open = () => 1;\n{filler}"
        f"  function loginAgain() {{\n    return open();\n  }}\n{filler}  return loginAgain;\n}}\n"
    )
    said = texts(write(tmp_path, {"src/use-login.ts": code}), "definitions")
    assert any("loginAgain" in text for text in said)
    write(tmp_path, {"src/use-login.ts": code.replace(filler, "", 1)})
    assert not any("loginAgain" in text for text in texts(tmp_path, "definitions"))


def test_the_methods_of_a_type_are_there_though_one_has_its_name(tmp_path: Path) -> None:
    """As `Group.Group` of Go's echo, which makes a group inside of a group."""
    code = (
        "package web\n\ntype Group struct{ prefix string }\n\n"
        "func (g *Group) Group(prefix string) *Group {\n\treturn &Group{prefix}\n}\n\n"
        "func (g *Group) Handle(path string) {\n\tg.prefix = path\n}\n"
    )
    root = write(tmp_path, {"group.go": code})
    said = " ".join(texts(root, "definitions", feature="group"))
    assert "`Group.Handle` (path)" in said or "in `Group` `Handle` :9" in said
    assert "`Group.Group` (prefix)" in said


def test_names_with_the_requests_words_are_listed_first(tmp_path: Path) -> None:
    others = "".join(f"\n\ndef paint_{n}():\n    return {n}\n" for n in range(30))
    code = LOGIN + others + "\n\nLOGIN_LIMIT = 3\n"
    _, second, *_ = texts(write(tmp_path, {"src/login.py": code}), "definitions")
    assert "`LOGIN_LIMIT` :125" in second


def test_files_after_the_first_ten_are_named_and_listed_if_there_is_room(tmp_path: Path) -> None:
    root = write(tmp_path, {f"src/m{n}.py": LOGIN.replace("user", str(n)) for n in range(30)})
    *detailed, likely, others = own(root, "definitions")
    sections = list(dict.fromkeys(one.section for one in detailed))
    assert len(sections) == 16
    assert (likely.section, likely.text) == ("More files", "more files, the likeliest first")
    assert (others.section, others.text) == ("More files", "less likely files")
    assert (len(likely.sources), len(others.sources)) == (8, 10)
    named = {*likely.sources, *others.sources}
    assert {*sections} & named == {*sections[10:]}
    scores = {one.section: one.score for one in detailed}
    assert scores[sections[10]] < likely.score


def test_a_feature_that_the_project_does_not_know_has_no_definitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = write(tmp_path, {"src/login.py": LOGIN})
    assert texts(root, "definitions")
    make_thin(monkeypatch)
    assert texts(root, "definitions") == []


def test_of_the_whole_project_the_most_used_definitions_come_in_detail(tmp_path: Path) -> None:
    files = {
        "src/cart.py": "def cart_add(item):\n    return item\n\n\ndef alone():\n    return 1\n"
    }
    files |= {f"src/u{n}.py": f"def use_{n}():\n    return cart_add({n})\n" for n in range(4)}
    root = write(tmp_path, files)
    said = [text for text in texts(root, "definitions", "_project") if "`cart_add` (" in text]
    assert said == ["`cart_add` (item) ← `use_0` src/u0.py:2, `use_1` src/u1.py:2 and 2 more"]


@pytest.mark.parametrize("name", ["$login_user", "loginÜser", "login_用户"])
def test_odd_names_check_out_or_are_left_out(tmp_path: Path, name: str) -> None:
    code = f"export function {name}(名, $b, {{ c, d }}, [e]) {{\n  return {name}(1);\n}}\n"
    root = write(tmp_path, {"src/login x.js": code})
    assert texts(root, "definitions")


def test_what_a_source_has_for_its_own_tests_is_no_definition_of_the_feature(
    tmp_path: Path,
) -> None:
    code = (
        "pub fn login(name: &str) {}\n\n#[cfg(test)]\nmod tests {\n"
        "    fn login_helper() {}\n\n    #[test]\n    fn login_works() {\n"
        "        fn login_inner() {}\n        login_helper();\n    }\n}\n"
    )
    said = " ".join(texts(write(tmp_path, {"src/login.rs": code}), "definitions"))
    assert "login" in said
    assert "login_helper" not in said
    assert "login_inner" not in said


def test_names_that_only_share_a_file_fill_few_lines(tmp_path: Path) -> None:
    paint = "".join(f"\n\ndef paint_{n}():\n    return {n}\n" for n in range(60))
    files = {f"src/paint_{n}.py": LOGIN + paint for n in "abc"}
    findings = own(write(tmp_path, files), "definitions")

    def lines(*, fill: bool) -> list[int]:
        painted = [one for one in findings if "paint_" in one.text and (one.score == 0) is fill]
        return [sum(one.section == path for one in painted) for path in files]

    assert sorted(lines(fill=False)) == [1, 2, 2]
    assert sorted(lines(fill=True)) == [3, 3, 4], "60 names, 12 in a line"


def test_what_fills_the_budget_ranks_below_every_other_finding(tmp_path: Path) -> None:
    paint = "".join(f"\n\ndef paint_{n}():\n    return {n}\n" for n in range(60))
    root = write(tmp_path, {"src/paint.py": LOGIN + paint})
    found = evidence(root, "login").findings
    assert [one.score for one in found].count(0) == 3
    assert all(one.rule == "definitions" for one in found if one.score == 0)


def test_a_function_of_the_same_name_in_somebody_elses_module_is_not_called(tmp_path: Path) -> None:
    code = (
        "export function stringifyLogin(name) {\n  return name + stringify(name);\n}\n\n"
        "export function stringify(name) {\n  return `${name}`;\n}\n\n"
        "export function quoteLogin(name) {\n  return JSON.stringify(name);\n}\n"
    )
    root = write(tmp_path, {"src/login.js": code})
    assert detail(root, "stringifyLogin") == "`stringifyLogin` (name) → `stringify` :2"
    assert detail(root, "quoteLogin") == "`quoteLogin` (name)"
    found = [one.text for one in own(root, "definitions", "stringify")]
    (told,) = [text for text in found if text.startswith("`stringify`")]
    assert told == "`stringify` (name) ← `stringifyLogin` :2"


def test_calls_into_imported_modules_are_told_by_whose_they_are(tmp_path: Path) -> None:
    code = (
        "import shlex\n\nfrom shop import helpers\n\n\n"
        "def login_user(name):\n    shlex.quote_all(name)\n    return helpers.check_name(name)\n"
    )
    helpers = "def check_name(name):\n    return name\n\n\ndef quote_all(name):\n    return name\n"
    root = write(tmp_path, {"shop/login.py": code, "shop/helpers.py": helpers})
    assert detail(root, "login_user") == "`login_user` (name) → `check_name` :8"


def test_code_without_a_word_of_the_request_is_no_part_of_it(tmp_path: Path) -> None:
    """Files that only the tests lead to: they would be shown as if they were the feature."""
    test = "import pytest\nfrom paint import mix\n\n\n@pytest.fixture\ndef login():\n    return 1\n"
    use = "\n\ndef test_mix(login):\n    assert mix(login)\n"
    root = write(
        tmp_path, {"paint.py": "def mix(x):\n    return x\n", "tests/test_a.py": test + use}
    )
    assert texts(root, "definitions") == []
    assert texts(root, "tests") == ["`test_mix` :10"]


def test_files_without_a_word_of_the_request_are_named_only_if_much_leads_there(
    tmp_path: Path,
) -> None:
    login = {f"src/login_{n}.py": LOGIN.replace("user", str(n)) for n in range(12)}
    commit(tmp_path, login | {"src/paint.py": "def mix(x):\n    return x\n"}, "Begin")
    commit(tmp_path, {"src/paint.py": "def mix(x, y):\n    return x\n"}, "Mix for the login")
    for n in range(3):
        commit(tmp_path, {path: text + "# x\n" * n for path, text in login.items()}, "The login")
    root = tmp_path.resolve()
    ranked = {one.path: one.score for one in evidence(root, "login").files}
    assert 0 < ranked["src/paint.py"] < 0.35
    *_, named = own(root, "definitions")
    assert named.text == "more files, the likeliest first"
    assert "src/paint.py" not in named.sources


def test_a_ruby_class_is_called_where_it_is_made(tmp_path: Path) -> None:
    made = "class LoginsController\n  def new\n    LoginRequest.new\n  end\nend\n"
    files = {"app/login_request.rb": "class LoginRequest\nend\n", "app/logins.rb": made}
    said = texts(write(tmp_path, files), "definitions", "login-request")
    assert any("`LoginRequest` ← `LoginsController.new` app/logins.rb:3" in text for text in said)
    assert not any("→ `new`" in text for text in said)


def test_properties_are_definitions_with_and_without_code(tmp_path: Path) -> None:
    code = "class Cart\n{\n    public int LoginCount => CountLogins();\n"
    code += "    public int LoginLimit { get; set; }\n    int CountLogins() { return 1; }\n}\n"
    told = texts(write(tmp_path, {"src/Login.cs": code}), "definitions")
    assert "`Cart.LoginCount` → `CountLogins` :3" in told
    assert any("`LoginLimit` :4" in text for text in told)


def test_a_bare_name_of_ruby_is_a_call_if_another_statement_follows(tmp_path: Path) -> None:
    code = (
        "class Login\n  before_save :fill_login\n\n  def start\n    check_login\n    clear_login\n"
        "  end\n\n  def check_login\n    open_login?\n  end\n\n  def clear_login\n    1\n  end\n\n"
        "  def open_login?\n    1\n  end\n\n  def fill_login\n    1\n  end\nend\n"
    )
    said = " ".join(texts(write(tmp_path, {"app/login.rb": code}), "definitions"))
    assert "`Login.fill_login` ← `Login` :2" in said
    assert "`Login.check_login` → `open_login?` :10 ← `start` :5" in said
    assert "`Login.open_login?` ← `check_login` :10" in said
    assert "`Login.clear_login` ←" not in said  # it could be a variable


def test_a_variable_of_a_test_does_not_name_the_method(tmp_path: Path) -> None:
    mailer = "class LoginMailer\n  def user_login(name)\n    mail name\n  end\nend\n"
    spec = (
        "describe LoginMailer do\n  it 'has a login' do\n    user_login = build(:user_login)\n"
        "    use user_login\n  end\n  it 'mails the login' do\n    LoginMailer.user_login('a')\n  end\nend\n"
    )
    root = write(tmp_path, {"app/login_mailer.rb": mailer, "spec/login_mailer_spec.rb": spec})
    said = texts(root, "definitions")
    assert any("`LoginMailer.user_login` (name); 1 test names it" in text for text in said)


def test_templates_take_no_places_of_sources_with_definitions(tmp_path: Path) -> None:
    files = {f"views/login/{n}.php": "<p>login login</p>\n" for n in range(20)}
    code = {f"src/m{n}.php": f"<?php\nfunction ask{n}() {{ return login(); }}\n" for n in range(4)}
    sections = {one.section for one in own(write(tmp_path, files | code), "definitions")}
    assert set(code) <= sections


def test_a_type_of_a_library_of_rust_is_not_the_projects(tmp_path: Path) -> None:
    code = (
        "pub struct Login {}\n\nimpl Login {\n  pub fn new() -> Self {\n    Login {}\n  }\n\n"
        "  pub fn check_login() {\n    let names = Vec::new();\n    Login::new();\n  }\n}\n"
    )
    said = " ".join(texts(write(tmp_path, {"src/login.rs": code}), "definitions"))
    assert "`Login.check_login` → `new` :10" in said


def test_of_a_long_file_the_names_around_its_best_definition_are_listed(tmp_path: Path) -> None:
    parts = [f"def part_{n}():\n    return {n}\n" for n in range(60)]
    parts.insert(50, "def login():\n    return part_49()\n")
    found = own(write(tmp_path, {"src/all.py": "\n\n".join(parts)}), "definitions")
    said = " ".join(one.text for one in found if one.score > 0)  # the others only fill room
    assert "`part_49`" in said
    assert "`part_1`" not in said


def test_a_list_of_parameters_that_is_cut_is_left_out(tmp_path: Path) -> None:
    rest = ", ".join(f"string name{n}OfTheOneWhoLogsIn" for n in range(6))
    code = f"class Shop\n{{\n    void Login(List<(int Row, string Word)> all, {rest}) {{ }}\n}}\n"
    assert not any("Row" in text for text in texts(write(tmp_path, {"a.cs": code}), "definitions"))


def test_nothing_is_counted_for_a_name_that_two_generic_methods_have(tmp_path: Path) -> None:
    method = "    public static T LoginAll<T>(T one)\n        where T : notnull\n    {\n    }\n"
    test = "class ATests\n{\n    [Fact]\n    public void Works() { LoginAll(1); }\n}\n"
    files = {f"src/{name}.cs": f"class {name}\n{{\n{method}}}\n" for name in "AB"}
    told = texts(write(tmp_path, {**files, "tests/ATests.cs": test}), "definitions")
    assert "`LoginAll` (one)" in told
