"""When a build cannot write, the reply has the published dossier, or one that is not saved."""

from pathlib import Path

import anyio
import pytest

from _evidence_project import request, services, write
from preread.builds import pipeline, unwritable
from preread.errors import PrereadError
from preread.models import LoadReply, Request

FULL = PrereadError("E_WRITE", "The disk is full.", "Make room.")
CODE = {
    "login.py": "def login(name):\n    return name\n",
    "test_login.py": "def test_login(): ...\n",
}


def reply(root: Path, asked: Request, error: PrereadError = FULL) -> LoadReply:
    return anyio.run(unwritable.reply, services(root), asked, error)


def built(root: Path) -> Request:
    asked = request("login")
    anyio.run(pipeline.build, services(root), asked)
    return asked


def test_without_a_dossier_the_reply_has_one_that_is_not_saved(tmp_path: Path) -> None:
    write(tmp_path, CODE)
    found = reply(tmp_path, request("login"))
    assert (found.status, found.code, found.hint) == ("degraded", "E_WRITE", "Make room.")
    assert "login.py" in found.dossier
    assert not (tmp_path / ".project" / "context" / "login").exists()


def test_a_valid_dossier_is_returned_with_a_warning(tmp_path: Path) -> None:
    write(tmp_path, CODE)
    found = reply(tmp_path, built(tmp_path))
    assert (found.status, found.state, found.code) == ("ok", "cached", None)
    assert found.warnings[-1] == (
        "It, or the record of it, could not be refreshed: The disk is full."
    )


def test_instead_of_a_stale_dossier_the_reply_has_a_new_one_that_is_not_saved(
    tmp_path: Path,
) -> None:
    write(tmp_path, CODE)
    asked = built(tmp_path)
    write(tmp_path, {"login.py": "def login_again(name):\n    return name\n"})
    found = reply(tmp_path, asked)
    assert (found.status, found.state, found.code) == ("degraded", "built", "E_WRITE")
    assert "login_again" in found.dossier
    text = (tmp_path / ".project" / "context" / "login" / "codebase.md").read_text()
    assert "login_again" not in text


@pytest.mark.parametrize("change", [{"force": True}, {"extend": ("codebase.md",)}])
def test_what_should_have_replaced_a_dossier_fails(
    tmp_path: Path, change: dict[str, object]
) -> None:
    write(tmp_path, CODE)
    asked = built(tmp_path).model_copy(update=change)
    with pytest.raises(PrereadError) as caught:
        reply(tmp_path, asked)
    assert caught.value is FULL


def test_any_other_failure_is_raised(tmp_path: Path) -> None:
    write(tmp_path, CODE)
    slow = PrereadError("E_TIMEOUT", "It took too long.")
    with pytest.raises(PrereadError) as caught:
        reply(tmp_path, request("login"), slow)
    assert caught.value is slow
