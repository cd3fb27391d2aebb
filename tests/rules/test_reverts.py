"""What was reverted for a feature is told while it is still so."""

from pathlib import Path

from _evidence_project import commit, found

CODE = "def login(name):\n    return name\n"


def start(root: Path, subject: str = "Login by telephone") -> str:
    commit(root, {"login.py": CODE, "paint.py": "RED = 1\n"}, "Initial", date="2025-01-01")
    return commit(root, {"login.py": CODE + "# by phone\n"}, subject, date="2025-03-01")


def revert(root: Path, sha: str, subject: str, why: str = "", day: str = "2025-03-04") -> str:
    body = f'Revert "{subject}"\n\nThis reverts commit {sha}.\n\n{why}\n'
    return commit(root, {"login.py": CODE}, body, date=day)


def told(root: Path, feature: str = "login") -> list[str]:
    return [finding.text for finding in found(root, "reverts", feature)]


def test_a_revert_is_told_with_the_time_and_the_reason(tmp_path: Path) -> None:
    sha = start(tmp_path)
    why = "It called people at night. They did not like it.\n\nSigned-off-by: A <a@b.example>"
    back = revert(tmp_path, sha, "Login by telephone", why)
    (finding,) = found(tmp_path, "reverts", "login")
    assert finding.text == (
        "2025-03 `Login by telephone` was reverted 3 days later: `It called people at night.`"
    )
    assert finding.sources == (f"commit:{back[:9]}", f"commit:{sha[:9]}")


def test_without_a_reason_only_the_fact_is_told(tmp_path: Path) -> None:
    revert(tmp_path, start(tmp_path), "Login by telephone", day="2025-03-01")
    assert told(tmp_path) == ["2025-03 `Login by telephone` was reverted the same day"]


def test_what_was_put_in_again_is_not_told(tmp_path: Path) -> None:
    back = revert(tmp_path, start(tmp_path), "Login by telephone")
    body = f'Revert "Revert login by telephone"\n\nThis reverts commit {back}.'
    commit(tmp_path, {"login.py": CODE + "# by phone\n"}, body, date="2025-04-01")
    assert told(tmp_path) == []


def test_what_was_written_again_under_its_subject_is_not_told(tmp_path: Path) -> None:
    revert(tmp_path, start(tmp_path), "Login by telephone")
    again = {"login.py": CODE + "# by phone, by day\n"}
    commit(tmp_path, again, "Login by telephone (again)", date="2025-04-01")
    assert told(tmp_path) == []


def test_a_revert_of_something_else_is_not_told(tmp_path: Path) -> None:
    start(tmp_path)
    sha = commit(
        tmp_path, {"paint.py": "RED = 2  # of all colours\n"}, "Brighter colours", date="2025-03-02"
    )
    body = f'Revert "Brighter colours"\n\nThis reverts commit {sha}.'
    commit(tmp_path, {"paint.py": "RED = 1  # of all colours\n"}, body, date="2025-03-03")
    assert told(tmp_path) == []
    assert told(tmp_path, "colours")


def test_a_revert_of_a_file_named_after_it_is_told_whatever_its_subject_says(
    tmp_path: Path,
) -> None:
    subject = "Call people by telephone"
    revert(tmp_path, start(tmp_path, subject), subject)
    assert told(tmp_path) == [f"2025-03 `{subject}` was reverted 3 days later"]
    assert told(tmp_path, "paint") == []


def test_a_revert_that_changed_a_test_of_it_beside_other_code_is_not_told(tmp_path: Path) -> None:
    checks = {"test_login.py": "def test_login():\n    assert True\n"}
    commit(tmp_path, {"login.py": CODE, "paint.py": "RED = 1\n", **checks}, "Initial")
    tested = {"test_login.py": checks["test_login.py"] + "    assert 1\n"}

    def change_and_back(subject: str, change: dict[str, str], back: dict[str, str]) -> None:
        sha = commit(tmp_path, change, subject, date="2025-03-02")
        body = f'Revert "{subject}"\n\nThis reverts commit {sha}.'
        commit(tmp_path, back, body, date="2025-03-03")

    brighter = {"paint.py": "RED = 2\n", **tested}
    change_and_back("Brighter colours", brighter, {"paint.py": "RED = 1\n", **checks})
    assert told(tmp_path) == []
    change_and_back("Assert more", tested, checks)
    assert told(tmp_path) == ["2025-03 `Assert more` was reverted 1 day later"]


def test_hostile_words_check_out(tmp_path: Path) -> None:
    subject = "Login `by` (login.py:1) ``` «x»"
    revert(tmp_path, start(tmp_path, subject), subject, "A `b`) is (login.py:2) ```, «ü»")
    assert len(told(tmp_path)) == 1
