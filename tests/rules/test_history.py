"""The commits about a feature are told newest first, with what they changed and follow."""

from pathlib import Path

from _evidence_project import commit, found, write

CODE = "def login(name):\n    if not name:\n        raise ValueError('a name is needed')\n"
TEST = "from login import login\n\n\ndef test_login():\n    assert login('a')\n"


def start(root: Path) -> None:
    files = {"login.py": CODE, "paint.py": "RED = 1\n", "tests/test_login.py": TEST}
    commit(root, files, "Initial import", date="2025-01-01")


def change(root: Path, message: str, date: str, **files: str) -> str:
    """A commit that appends to the code, or writes the files that are given."""
    code = (root / "login.py").read_text() + f"# {message.splitlines()[0][:20]!a}\n"
    named = {name.replace("__", "/") + ".py": text for name, text in files.items()}
    return commit(root, named or {"login.py": code}, message, date=date)


def told(root: Path) -> list[str]:
    return [finding.text for finding in found(root, "history", "login")]


def test_commits_are_told_newest_first_with_their_files(tmp_path: Path) -> None:
    start(tmp_path)
    test = TEST + "\n\ndef test_login_b():\n    pass\n"
    change(
        tmp_path, "Fix login of nobody", "2025-03-01", login=CODE + "# b\n", tests__test_login=test
    )
    change(tmp_path, "Login by mail", "2025-05-01")
    assert told(tmp_path) == [
        "2025-05 `Login by mail`: login.py",
        "2025-03 `Fix login of nobody`: login.py, its test",
    ]


def test_of_a_commit_test_files_are_counted_and_not_their_tests(tmp_path: Path) -> None:
    start(tmp_path)
    first, second = (CODE + "# b\n", CODE + "# c\n")
    three = TEST + "".join(f"\n\ndef test_login_{n}():\n    pass\n" for n in "abc")
    change(tmp_path, "Fix login of nobody", "2025-03-01", login=first, tests__test_user=three)
    change(
        tmp_path,
        "Fix login of all",
        "2025-04-01",
        login=second,
        tests__test_login=three,
        tests__test_user=TEST,
    )
    assert told(tmp_path) == [
        "2025-04 `Fix login of all`: login.py, 2 test files",
        "2025-03 `Fix login of nobody`: login.py, 1 test file",
    ]


def test_commits_about_something_else_and_version_bumps_are_left_out(tmp_path: Path) -> None:
    start(tmp_path)
    change(tmp_path, "Mix the colours anew", "2025-03-01", paint="RED = 2\n")
    change(tmp_path, "Bump login-client from 1.0 to 1.1", "2025-04-01")
    change(tmp_path, "Release login 2.0", "2025-05-01")
    commit(tmp_path, {"docs/login.md": "# Login\n"}, "Login: say more", date="2025-06-01")
    assert told(tmp_path) == []


def test_a_revert_is_told_with_what_it_takes_back(tmp_path: Path) -> None:
    start(tmp_path)
    sha = change(tmp_path, "Login without a password", "2025-03-01")
    body = f'Revert "Login without a password"\n\nThis reverts commit {sha}.\n'
    change(tmp_path, body, "2025-04-01")
    (finding,) = found(tmp_path, "history", "login")
    assert finding.text == "2025-03 `Login without a password`: login.py; reverted 2025-04"
    assert finding.sources[1] == f"commit:{sha[:9]}"


def test_commits_of_one_issue_are_one_fact(tmp_path: Path) -> None:
    start(tmp_path)
    change(tmp_path, "Login keeps the name (#12)", "2025-03-01")
    change(tmp_path, "Fix the login of long names, see #12", "2025-04-01")
    (text,) = told(tmp_path)
    assert text == (
        "2025-04 `Fix the login of long names, see #12`: login.py;"
        " follows 2025-03 `Login keeps the name (#12)`"
    )


def test_an_issue_that_many_commits_share_joins_none(tmp_path: Path) -> None:
    start(tmp_path)
    for number in range(6):
        change(tmp_path, f"Login, part {number} of #12", f"2025-03-0{number + 1}")
    assert "follows" not in told(tmp_path)[0]


def test_many_commits_are_cut_to_the_best(tmp_path: Path) -> None:
    start(tmp_path)
    for number in range(14):
        change(tmp_path, f"Login, step {number}", f"2025-03-{number + 1:02}")
    change(tmp_path, "Fix login", "2025-02-01")
    texts = told(tmp_path)
    assert len(texts) == 10
    assert "2025-02 `Fix login`: login.py" in texts


def test_hostile_subjects_check_out(tmp_path: Path) -> None:
    start(tmp_path)
    subjects = (
        "Login `x` (login.py:1)", "Login ``` and `", "login: ünï «a»", "Login x) (", "login " * 40,
        "`login` :1 and `login` a.py:3-4", "Login \N{RIGHT-TO-LEFT OVERRIDE} backwards",
    )  # fmt: skip
    for number, subject in enumerate(subjects):
        change(tmp_path, subject, f"2025-03-0{number + 1}")
    assert len(told(tmp_path)) == 4


def test_a_project_without_history_has_none(tmp_path: Path) -> None:
    write(tmp_path, {"login.py": CODE})
    assert told(tmp_path) == []


def test_a_subject_with_half_the_name_counts_where_the_file_has_the_rest(tmp_path: Path) -> None:
    files = {"login_form.py": "def login_form():\n    return 1\n", "paint.py": "RED = 1\n"}
    commit(tmp_path, files, "Initial import", date="2025-01-01")
    form = {"login_form.py": "def login_form():\n    return 2\n"}
    commit(tmp_path, form, "Fix the form on small screens", date="2025-02-01")
    commit(tmp_path, {"paint.py": "RED = 2\n"}, "Another form of red", date="2025-03-01")
    assert [one.text for one in found(tmp_path, "history", "login-form")] == [
        "2025-02 `Fix the form on small screens`: login_form.py"
    ]
