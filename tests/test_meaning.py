"""Recall by meaning: with the model of the optional package, and without it."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _trees import write
from conftest import Cli, make_repository
from preread import meaning
from preread.infra import embedding

REMEMBERED = {
    "bank": "When the card company does not answer in time, the order waits and nothing is charged",
    "stock": "Goods are reserved for ten minutes once they are in the basket",
    "key": "An API key expires after 90 days",
    "clock": "Use the fake clock in tests of expiry",
    "upload": "Uploads larger than 10 MB are refused",
}
QUERIES = {
    "the bank is slow to reply": "bank",
    "inventory held while shopping": "stock",
    "credentials validity period": "key",
    "mock time": "clock",
    "file size limit": "upload",
}


@pytest.fixture
def project(tmp_path: Path, cli: Cli) -> Path:
    root = tmp_path / "shop"
    write(root, {"a.py": "x = 1\n", ".project/config.toml": "# ours\nmax_facts = 50 # few\n"})
    make_repository(root)
    for text in REMEMBERED.values():
        assert cli("remember", text, cwd=root).status == 0
    return root


@pytest.fixture
def without_model(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without the extra, for real processes."""
    hidden = tmp_path / "hidden"
    write(hidden, {"sitecustomize.py": (
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'wordllama' else find(name, *a)\n"
    )})  # fmt: skip
    return {"PYTHONPATH": str(hidden)}


def recall(cli: Cli, project: Path, topic: str, mode: str, **environ: str) -> dict:
    done = cli("recall", topic, "--mode", mode, "--json", cwd=project, env=environ)
    assert done.status == 0, done
    return dict(done.json)


def test_other_words_for_the_same_are_found_by_meaning_only(project: Path, cli: Cli) -> None:
    for query, key in QUERIES.items():
        found = recall(cli, project, query, "meaning")
        assert found["used"] == "meaning"
        assert found["entries"][0]["text"] == REMEMBERED[key], query
    both = recall(cli, project, "the bank is slow to reply", "both")
    assert both["used"] == "both"
    assert both["entries"][0]["text"] == REMEMBERED["bank"]
    words = recall(cli, project, "inventory held while shopping", "words")
    assert words["used"] == "words"
    assert REMEMBERED["stock"] not in [one["text"] for one in words["entries"]]


def test_the_settings_change_what_recall_uses(project: Path, cli: Cli) -> None:
    state = {"method": "config.configure_semantic", "params": {"weight": 0}}
    shown = cli("call", "-", input=json.dumps(state | {"options": {"dry_run": True}}), cwd=project)
    assert "+meaning = 0" in shown.json["result"]["changes"][0]["diff"]
    assert recall(cli, project, "bank", "both")["used"] == "both"

    done = cli("call", "-", input=json.dumps(state), cwd=project).json["result"]
    assert (done["weight"], done["source"]) == (0.0, "file")
    text = (project / ".project/config.toml").read_text()
    assert text.startswith("# ours\nmax_facts = 50 # few\n")
    assert recall(cli, project, "bank", "both")["used"] == "words"
    assert recall(cli, project, "bank", "both", PREREAD_MEANING="0.5")["used"] == "both"


FILES = {
    "src/basket.py": "class Basket:\n    def put_goods(self): ...\n",
    "src/letters.py": "def send_letters(address): ...\n",
    "src/credentials.py": "def rotate_password(user): ...\n",
    "src/rates.py": "def vat_rate(country): ...\n",
}


def test_the_settings_change_which_files_are_found(
    tmp_path: Path, cli: Cli, without_model: dict[str, str]
) -> None:
    root = write(tmp_path / "shop", FILES)
    make_repository(root)

    def found(**environ: str) -> list[str]:
        words = ("letters", "--description", "letters about the shopping cart")
        done = cli("evidence", *words, "--json", cwd=root, env=environ)
        return [one["path"] for one in done.json["files"]]

    assert found() == ["src/letters.py"]
    done = cli("call", "config.configure_semantic", '{"files": 0.5}', cwd=root)
    assert (done.json["result"]["files"], done.json["result"]["weight"]) == (0.5, 0.5)
    assert found()[:2] == ["src/letters.py", "src/basket.py"]
    assert found(PREREAD_FILE_MEANING="0") == found(**without_model) == ["src/letters.py"]
    assert cli("call", "config.configure_semantic", "{}", cwd=root).status == 2


def test_a_settings_file_that_is_no_toml_is_not_overwritten(project: Path, cli: Cli) -> None:
    config = project / ".project/config.toml"
    config.write_text("max_facts = = 3\n")
    done = cli("call", "config.configure_semantic", '{"weight": 1}', cwd=project)
    assert done.status == 1
    assert "E_SETTINGS" in done.out + done.err
    assert config.read_text() == "max_facts = = 3\n"


def test_vectors_are_kept_and_computed_anew(project: Path, cli: Cli) -> None:
    recall(cli, project, "bank", "meaning")
    shown = cli("call", "config.get_semantic_config", cwd=project).json["result"]
    assert (shown["installed"], shown["vectors"], shown["weight"]) == (True, 5, 0.5)
    again = cli("call", "config.regenerate_vectors", cwd=project).json["result"]
    assert again["vectors"] == 5


def test_without_the_model_both_says_that_it_used_words(
    project: Path, cli: Cli, without_model: dict[str, str]
) -> None:
    environ = without_model
    found = recall(cli, project, "basket", "both", **environ)
    assert found["used"] == "words"
    assert "preread[meaning]" in found["warnings"][0]
    assert found["entries"][0]["text"] == REMEMBERED["stock"]
    done = cli("recall", "basket", "--mode", "meaning", cwd=project, env=environ)
    assert done.status == 2
    assert "preread[meaning]" in done.err


def test_the_package_that_brings_the_vectors_runs_none_of_its_code(project: Path, cli: Cli) -> None:
    model = embedding.model()
    assert model is not None
    model.vectors(["x"])
    assert "wordllama" not in sys.modules


@given(st.lists(st.text(st.characters(codec=None), max_size=50), max_size=5))
def test_any_text_has_a_vector(texts: list[str]) -> None:
    model = embedding.model()
    assert model is not None
    assert all(len(one) == 256 * 4 for one in model.vectors(texts))


def test_fusion_weighs_two_rankings() -> None:
    words, by_meaning = ["a", "b", "c"], ["c", "d", "a"]
    assert meaning.fused(words, by_meaning, 0.0) == words
    assert meaning.fused(words, by_meaning, 1.0) == by_meaning
    assert meaning.fused(words, by_meaning, 0.5)[0] in {"a", "c"}
    assert set(meaning.fused(words, by_meaning, 0.5)) == set("abcd")
