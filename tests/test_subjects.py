"""A build's fact is known again by what it is about."""

from preread.dossier import fact_text, subjects
from preread.models import Finding

LOGIN = Finding(
    rule="definitions",
    file="codebase.md",
    section="login.py",
    text="`login` (name) → `check` :14",
    sources=("login.py:11-18",),
    score=1.0,
    about="login.py login",
)


def of(*findings: Finding) -> list[str]:
    """What each finding is about; empty if that is not known."""
    found = subjects.of_findings(findings)
    return [found.get(fact_text.fact_id(one.file, one.text), "") for one in findings]


def test_a_finding_with_other_details_is_about_the_same() -> None:
    update = {"text": "`login` (name, mail) → `ask` :15", "sources": ("login.py:12-30",)}
    assert of(LOGIN) == of(LOGIN.model_copy(update={**update, "score": 0.5})) != [""]


def test_another_rule_file_or_name_is_about_something_else() -> None:
    updates = ({"rule": "calls"}, {"file": "patterns.md"}, {"about": "admin.py login"})
    others = [
        LOGIN.model_copy(update={**one, "text": f"fact {n}"}) for n, one in enumerate(updates)
    ]
    assert len({*of(LOGIN, *others)} - {""}) == 4


def test_overloads_and_equal_words_cannot_be_told_apart() -> None:
    overload = LOGIN.model_copy(update={"text": "`login` (mail)"})
    twin = LOGIN.model_copy(update={"about": "admin.py login"})
    assert of(LOGIN, overload) == ["", ""]
    assert of(LOGIN, twin) == ["", ""]
    assert of(LOGIN, LOGIN.model_copy(update={"about": ""})) != ["", ""]
