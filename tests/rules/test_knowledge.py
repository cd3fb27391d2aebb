"""Facts of the project's knowledge that are about the feature are told word for word."""

from pathlib import Path

from _evidence_project import evidence, found, write

FILES = {"login.py": "def login(name):\n    return name\n", "paint.py": "RED = 1\n"}


def told(root: Path, knowledge: str) -> list[tuple[str, tuple[str, ...]]]:
    write(root, {**FILES, ".project/knowledge.md": f"# Knowledge\n\n{knowledge}"})
    return [(one.text, one.sources) for one in found(root, "knowledge", "login")]


def test_a_fact_about_the_feature_is_told_with_its_sources(tmp_path: Path) -> None:
    knowledge = "## All\n- a login folds `name` first (login.py:1-2)\n- red is red (paint.py:1)\n"
    assert told(tmp_path, knowledge) == [("a login folds `name` first", ("login.py:1-2",))]


def test_a_fact_that_cites_the_features_file_is_told_whatever_its_words(tmp_path: Path) -> None:
    assert told(tmp_path, "## All\n- never empty (login.py:1)\n") == [
        ("never empty", ("login.py:1",))
    ]


def test_a_heading_with_the_feature_makes_its_facts_the_features(tmp_path: Path) -> None:
    assert told(tmp_path, "## Login\n- red is red (paint.py:1)\n") == [
        ("red is red", ("paint.py:1",))
    ]


def test_what_is_written_wrongly_is_noted(tmp_path: Path) -> None:
    assert told(tmp_path, "Some prose.\n\n## Login\n- without a source\n") == []
    assert any("knowledge.md" in note for note in evidence(tmp_path, "login").notes)


def test_without_knowledge_nothing_is_told(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    assert found(tmp_path, "knowledge", "login") == []
