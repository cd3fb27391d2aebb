"""What a model says about a submodule follows it: the real Claude Code, real git, real `preread`."""

import re
import shlex
import time
from pathlib import Path

import pytest

from _headless import STANDARD, sessions, writing
from _headless_scene import Scene
from _messages_api import MessagesAPI
from _processes import LOGIN, bytes_of
from conftest import commit, git, make_repository
from preread.client import Client
from preread.gates.freshness import Files, current_digest

LIMITS = "TRIES = 3\nPAUSE = 60\n"
FACTS = (
    "\n## Vendored\n- three tries: `TRIES = 3` (vendored/limits.py:1)\n"
    "- a pause of a minute: `PAUSE = 60` (vendored/limits.py:2)\n"
)
SUBMODULE = ("-c", "protocol.file.allow=always", "submodule", "--quiet")


@pytest.fixture
def scene(claude: Path, api: MessagesAPI, tmp_path: Path) -> Scene:
    """A project with a submodule, and a model's dossier that cites it."""
    library = tmp_path / "library"
    library.mkdir()
    (library / "limits.py").write_text(LIMITS)
    make_repository(library)
    scene = Scene(claude, api, tmp_path).make()
    git(scene.project, *SUBMODULE, "add", str(library), "vendored")
    git(scene.project, "commit", "-qm", "a submodule")
    api.play(writing({**STANDARD, "patterns.md": STANDARD["patterns.md"] + FACTS}))
    assert scene.load()["state"] == "built"
    assert "`PAUSE = 60`" in scene.texts["patterns.md"]
    return scene


def load(scene: Scene) -> tuple[str, str]:
    """How a load went, and its warnings; it may pay for no model."""
    reply = scene.load()
    assert len(sessions(scene.api)) == 1
    return str(reply["state"]), " ".join(reply["warnings"])


def forward(scene: Scene, text: str) -> None:
    """The submodule at a new commit, as after a `git pull` in it."""
    commit(scene.project / "vendored", "limits.py", text)


def back(scene: Scene) -> None:
    git(scene.project, *SUBMODULE, "update")
    assert (scene.project / "vendored" / "limits.py").read_text() == LIMITS


def test_facts_are_back_with_the_submodule(scene: Scene) -> None:
    before = bytes_of(scene.project)
    forward(scene, "# changed\nPAUSE = 60\n")
    state, warnings = load(scene)
    assert state == "refreshed"
    assert "TRIES = 3" in warnings
    assert "TRIES = 3" not in scene.texts["patterns.md"]
    assert "`PAUSE = 60`" in scene.texts["patterns.md"]
    assert load(scene) == ("cached", "")
    back(scene)
    assert load(scene) == ("refreshed", "")
    assert bytes_of(scene.project) == before
    assert load(scene) == ("cached", "")


def test_facts_are_back_with_an_edit_in_the_submodule_undone(scene: Scene) -> None:
    before, limits = bytes_of(scene.project), scene.project / "vendored" / "limits.py"
    limits.write_text("PAUSE = 60\n")
    assert load(scene)[0] == "refreshed"
    limits.write_text("#\n" + LIMITS)
    assert load(scene)[0] == "refreshed"
    limits.write_text(LIMITS)
    assert load(scene) == ("refreshed", "")
    assert bytes_of(scene.project) == before


def test_facts_that_have_moved_are_not_lost_to_an_older_dossier_without_them(scene: Scene) -> None:
    limits = scene.project / "vendored" / "limits.py"
    limits.write_text("PAUSE = 60\n")
    load(scene)
    limits.write_text(LIMITS)
    load(scene)
    limits.write_text("#\n" + LIMITS)
    assert load(scene) == ("refreshed", "")
    assert "`TRIES = 3` (vendored/limits.py:2)" in scene.texts["patterns.md"]


@pytest.mark.parametrize("how", ["deinit", "removed folder"])
def test_a_submodule_that_is_not_checked_out_costs_no_fact(scene: Scene, how: str) -> None:
    before = bytes_of(scene.project)
    if how == "deinit":
        git(scene.project, "submodule", "--quiet", "deinit", "-f", "vendored")
    else:
        git(scene.project, "submodule", "--quiet", "deinit", "-f", "vendored")
        (scene.project / "vendored").rmdir()
    state, warnings = load(scene)
    assert state == "cached"
    assert "submodule vendored, which it cites, is not checked out" in warnings
    assert "`git submodule update --init vendored`" in warnings
    status = scene.run("status", "--json").json["dossiers"][0]
    assert "submodule vendored" in status["why"]
    assert current_digest("vendored/limits.py:1", Files(str(scene.project))) is None
    (scene.project / "login.py").write_text(LOGIN + "\n# more\n")
    assert load(scene)[0] == "cached"
    (scene.project / "login.py").write_text(LOGIN)
    git(scene.project, *SUBMODULE, "update", "--init")
    assert load(scene)[1] == ""
    assert bytes_of(scene.project) == before
    assert load(scene) == ("cached", "")


def test_a_submodule_of_a_submodule_that_is_not_checked_out(scene: Scene) -> None:
    inner = scene.tmp / "inner"
    inner.mkdir()
    (inner / "more.py").write_text("MORE = 1\n")
    make_repository(inner)
    outer = scene.project / "vendored"
    git(outer, *SUBMODULE, "add", str(inner), "lib/in ner")
    patterns = scene.layout.dossier("login") / "patterns.md"
    patterns.write_text(patterns.read_text() + "- `MORE = 1` (<vendored/lib/in ner/more.py>:1)\n")
    assert load(scene)[1] == ""
    before = bytes_of(scene.project)
    git(outer, "submodule", "--quiet", "deinit", "-f", "lib/in ner")
    state, warnings = load(scene)
    assert state == "cached"
    assert "submodule vendored/lib/in ner, which it cites, is not checked out" in warnings
    command = re.search("`git -C vendored (submodule update --init 'lib/in ner')`", warnings)
    assert command, warnings
    git(outer, *SUBMODULE[:2], *shlex.split(command[1]))
    load(scene)
    assert bytes_of(scene.project) == before


def test_facts_go_with_a_submodule_that_is_gone_for_good(scene: Scene) -> None:
    before = bytes_of(scene.project)
    git(scene.project, "rm", "-qf", "vendored")
    state, warnings = load(scene)
    assert state == "refreshed"
    assert "TRIES = 3" in warnings
    assert "vendored" not in scene.texts["patterns.md"]
    git(scene.project, "reset", "-q", "--hard")
    git(scene.project, *SUBMODULE, "update", "--init")
    assert load(scene) == ("refreshed", "")
    assert bytes_of(scene.project) == before


def test_a_process_that_stays_sees_each_of_these_states_at_once(scene: Scene) -> None:
    before, limits = bytes_of(scene.project), scene.project / "vendored" / "limits.py"
    with Client(scene.project) as client:

        def loaded() -> str:
            for _ in range(3):
                state = client.context.load("login").state
                time.sleep(0.15)  # until times are old enough to be trusted
            return f"{state} {'TRIES = 3' in scene.texts['patterns.md']}"

        assert loaded() == "cached True"
        git(scene.project, "submodule", "--quiet", "deinit", "-f", "vendored")
        assert client.context.load("login").warnings
        assert loaded() == "cached True"
        git(scene.project, *SUBMODULE, "update", "--init")
        assert client.context.load("login").warnings == ()
        assert loaded() == "cached True"
        forward(scene, "# changed\nPAUSE = 60\n")
        assert loaded() == "cached False"
        back(scene)
        assert loaded() == "cached True"
        with limits.open("r+") as file:
            file.write(LIMITS.replace("3", "4"))
        assert loaded() == "cached False"
        with limits.open("r+") as file:
            file.write(LIMITS)
        assert loaded() == "cached True"
    assert bytes_of(scene.project) == before
