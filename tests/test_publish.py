"""A published dossier stays consistent through any kill, and edits are not lost."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from _files_project import (
    BASIC,
    disk,
    fill,
    make_read_only,
    program,
    program_environ,
    put,
    services,
    snapshot,
    text_of,
)
from _whole import sized
from preread import publish
from preread.dossier import published
from preread.dossier.published import Ready
from preread.errors import PrereadError
from preread.models import Manifest


@pytest.fixture
def work(tmp_path):
    return services(tmp_path / "project")


@pytest.fixture
def folder(work):
    return work.layout.dossier("login")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def backups(work) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(work.layout.backups("login").glob("*"))}


def test_staged_files_are_published_and_staging_is_removed(work, folder):
    put(work, "one")
    assert files(folder) == sorted([*BASIC, "manifest.json"])
    found = published.read(work.layout, "login")
    assert found.texts == {name: text_of(name, "one") for name in BASIC}
    assert found.edited == ()
    assert list(work.layout.staging.iterdir()) == []
    assert not published.pending(work.layout, "login")


def test_staging_that_cannot_be_listed_is_named(tmp_path):
    with pytest.raises(PrereadError, match="staging") as caught:
        publish.put_staged(tmp_path / "staging", {})
    assert caught.value.code == "E_WRITE"


def test_the_manifest_has_the_same_bytes_for_the_same_content(work, folder, tmp_path):
    used = {"ticket:B-2": "22", "knowledge": "11"}
    put(work, "one", used=used, description="größer")
    other = services(tmp_path / "other")
    put(other, "one", used=dict(reversed(used.items())), description="größer")
    data = (folder / "manifest.json").read_bytes()
    assert data == (other.layout.dossier("login") / "manifest.json").read_bytes()
    text = data.decode()
    canonical = json.dumps(json.loads(text), sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    without_indentation = [one.lstrip(" ") for one in text.split("\n")]
    assert without_indentation == [one.lstrip(" ") for one in canonical.split("\n")]
    assert "größer" in text


def test_publishing_the_same_again_writes_nothing(work, folder):
    put(work, "one")
    before = snapshot(folder)
    put(work, "one")
    assert snapshot(folder) == before


def test_only_files_that_say_something_else_are_written(work, folder):
    put(work, "one")
    before = snapshot(folder)
    staging = publish.stage(work, "login")
    for name in BASIC:
        (staging / name).write_text(text_of(name, "two" if name == "summary.md" else "one"))
    publish.publish(work, staging, Manifest(feature="login", recipe="one"))
    after = snapshot(folder)
    assert {name for name in after if after[name] != before[name]} == {
        "summary.md",
        "manifest.json",
    }


def test_line_ends_that_git_changed_are_not_rewritten(work, folder):
    put(work, "one")
    for path in folder.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    before = snapshot(folder)
    put(work, "one")
    assert snapshot(folder) == before
    assert backups(work) == {}


def test_files_that_the_new_dossier_lacks_go_and_files_of_people_stay(work, folder):
    put(work, "one", [*BASIC, "failures.md"])
    (folder / "notes.md").write_text("my own")
    (folder / "requirements.md").write_text("also my own")
    put(work, "two")
    assert files(folder) == sorted([*BASIC, "manifest.json", "notes.md", "requirements.md"])
    assert backups(work) == {}


def test_an_edited_file_is_backed_up_before_it_is_replaced_or_removed(work, folder):
    put(work, "one", [*BASIC, "failures.md"])
    (folder / "patterns.md").write_text("edited once")
    (folder / "failures.md").write_text("edited too")
    put(work, "two")
    (folder / "patterns.md").write_text("edited twice")
    put(work, "three")
    (folder / "patterns.md").write_text("edited once")
    put(work, "four")
    assert backups(work) == {
        "failures.md.1": "edited too",
        "patterns.md.1": "edited once",
        "patterns.md.2": "edited twice",
    }
    assert (folder / "patterns.md").read_text() == text_of("patterns.md", "four")


def test_a_user_s_file_in_the_place_of_a_new_one_is_backed_up(work, folder):
    put(work, "one")
    (folder / "failures.md").write_text("my own failures")
    put(work, "two", [*BASIC, "failures.md"])
    assert backups(work) == {"failures.md.1": "my own failures"}


def test_everything_is_backed_up_without_a_readable_manifest(work, folder):
    put(work, "one")
    (folder / "manifest.json").write_text("<<<<<<< ours\n{}\n=======\n{}\n>>>>>>> theirs\n")
    put(work, "two")
    assert backups(work) == {f"{name}.1": text_of(name, "one") for name in sorted(BASIC)}
    assert published.read(work.layout, "login").manifest.recipe == "two"


def test_a_manifest_that_came_with_a_repository_cannot_have_other_files_removed(work, folder):
    put(work, "one")
    victim = work.layout.root / "precious.py"
    victim.write_text("precious")
    data = json.loads((folder / "manifest.json").read_text())
    data["files"] |= {
        "../../../precious.py": published.digest(b"precious"),
        "notes.md": published.digest(b"n"),
    }
    (folder / "manifest.json").write_text(json.dumps(data))
    (folder / "notes.md").write_text("n")
    put(work, "two")
    assert victim.read_text() == "precious"
    assert (folder / "notes.md").read_text() == "n"


def test_a_mark_that_names_other_files_is_not_rolled_forward(work, folder):
    put(work, "one")
    victim = work.layout.root / "precious.py"
    victim.write_text("precious")
    for files, before in (({"../../../precious.py": "0"}, {}), ({}, {"../../../precious.py": "0"})):
        manifest = Manifest(feature="login", recipe="forged", files=files)
        mark = Ready(order=1, manifest=manifest, before=before).model_dump_json()
        folder = work.layout.staging / f"login.{len(files)}{published.READY}"
        folder.mkdir(parents=True)
        (folder / "ready.json").write_text(mark)
        assert published.read(work.layout, "login").manifest.recipe == "one"
        publish.recover(work, "login")
    assert victim.read_text() == "precious"
    assert list(work.layout.staging.iterdir()) == []


@pytest.mark.parametrize("name", ["ready.json", "manifest.json", "notes.md", "sub/patterns.md"])
def test_other_files_of_a_builder_are_never_published(work, folder, name):
    put(work, "one")
    staging = publish.stage(work, "login")
    (staging / name).parent.mkdir(exist_ok=True)
    (staging / name).write_text(
        '{"order": 1, "manifest": {"feature": "login", "recipe": "forged"}, "before": {}}'
    )
    assert published.read(work.layout, "login").manifest.recipe == "one"
    for file in BASIC:
        (staging / file).write_text(text_of(file, "two"))
    publish.publish(work, staging, Manifest(feature="login", recipe="two"))
    assert files(folder) == sorted([*BASIC, "manifest.json"])
    assert published.read(work.layout, "login").manifest.recipe == "two"


@pytest.mark.parametrize("kind", ["link", "dangling", "folder", "pipe", "absent", "empty", "blank"])
def test_a_staged_file_must_be_a_plain_file_and_not_empty(work, folder, kind):
    put(work, "one")
    before = snapshot(folder)
    staging = publish.stage(work, "login")
    for name in ("codebase.md", "summary.md"):
        (staging / name).write_text(text_of(name, "two"))
    secret = work.layout.root / "secret"
    secret.write_text("secret")
    odd = staging / "patterns.md"
    make = {
        "link": lambda: odd.symlink_to(secret),
        "dangling": lambda: odd.symlink_to(work.layout.root / "nowhere"),
        "folder": odd.mkdir,
        "pipe": lambda: os.mkfifo(odd),
        "absent": lambda: None,
        "empty": odd.touch,
        "blank": lambda: odd.write_text(" \n\n"),
    }
    make[kind]()
    with pytest.raises(PrereadError, match=r"patterns\.md") as caught:
        publish.publish(work, staging, Manifest(feature="login"))
    assert caught.value.code == "E_CHECK"
    assert snapshot(folder) == before
    publish.recover(work, "login")
    assert snapshot(folder) == before
    assert list(work.layout.staging.iterdir()) == []


def test_a_staging_folder_of_another_feature_is_a_mistake(work):
    staging = publish.stage(work, "cart")
    with pytest.raises(ValueError, match="not a staging folder of login"):
        publish.publish(work, staging, Manifest(feature="login"))


def test_a_link_in_the_place_of_the_dossier_is_replaced_not_followed(work, folder, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "patterns.md").write_text("precious")
    folder.parent.mkdir(parents=True)
    folder.symlink_to(outside)
    put(work, "one")
    assert not folder.is_symlink()
    assert files(folder) == sorted([*BASIC, "manifest.json"])
    assert files(outside) == ["patterns.md"]
    assert (outside / "patterns.md").read_text() == "precious"


def test_a_link_in_the_place_of_a_dossiers_file_is_replaced_not_followed(work, folder, tmp_path):
    put(work, "one", [*BASIC, "failures.md"])
    outside = tmp_path / "outside"
    outside.write_text("precious")
    for name in ("patterns.md", "failures.md", "manifest.json"):
        (folder / name).unlink()
        (folder / name).symlink_to(outside)
    put(work, "two", [*BASIC, "failures.md"])
    assert outside.read_text() == "precious"
    assert not any(path.is_symlink() for path in folder.iterdir())
    assert published.read(work.layout, "login").manifest.recipe == "two"


def test_a_context_folder_that_leads_out_of_the_project_is_rejected(work, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    work.layout.context.symlink_to(outside)
    with pytest.raises(PrereadError) as caught:
        put(work, "one")
    assert caught.value.code == "E_OUTSIDE"
    assert files(outside) == []


def test_a_folder_in_place_of_a_file_is_reported_before_anything_changes(work, folder):
    put(work, "one")
    (folder / "failures.md" / "inner").mkdir(parents=True)
    before = snapshot(folder)
    with pytest.raises(PrereadError, match=r"failures\.md is a folder") as caught:
        put(work, "two", [*BASIC, "failures.md"])
    assert caught.value.code == "E_WRITE"
    publish.recover(work, "login")
    assert snapshot(folder) == before
    assert (folder / "failures.md" / "inner").is_dir()


def test_an_interrupted_publish_is_read_consistently_and_finished_later(work, folder):
    put(work, "one")
    (folder / "manifest.json").unlink()
    (folder / "manifest.json" / "inner").mkdir(parents=True)
    staging = publish.stage(work, "login")
    for name in BASIC:
        (staging / name).write_text(text_of(name, "two"))
    with pytest.raises(PrereadError) as caught:
        publish.publish(work, staging, Manifest(feature="login", recipe="two"))
    assert caught.value.code == "E_WRITE"
    assert (
        not staging.exists()
    )  # whoever cleans up after the failure cannot take what recovery needs
    assert published.read(work.layout, "login").manifest.recipe == "two"
    (folder / "manifest.json" / "inner").rmdir()
    (folder / "manifest.json").rmdir()
    publish.recover(work, "login")
    assert published.read(work.layout, "login").manifest.recipe == "two"
    assert files(folder) == sorted([*BASIC, "manifest.json"])
    assert not published.pending(work.layout, "login")


def test_a_full_disk_is_reported_and_leaves_the_old_dossier(tmp_path):
    with disk(tmp_path / "disk", "256k") as root:
        work = services(root)
        put(work, "one")
        before = snapshot(work.layout.dossier("login"))
        filler = fill(root)
        with pytest.raises(PrereadError, match="the disk is full") as caught:
            put(work, "two")
        assert caught.value.code == "E_WRITE"
        assert snapshot(work.layout.dossier("login")) == before
        assert published.read(work.layout, "login").manifest.recipe == "one"
        filler.unlink()
        publish.recover(work, "login")
        put(work, "three")
        assert published.read(work.layout, "login").manifest.recipe == "three"


def test_a_disk_that_fills_at_any_moment_never_costs_a_whole_dossier(tmp_path):
    with disk(tmp_path / "disk", "256k") as root:
        work = services(root)
        put(work, "one", [*BASIC, "failures.md"])
        outcomes = set()
        for blocks in range(16):
            filler = fill(root)
            os.truncate(filler, max(0, filler.stat().st_size - 4096 * blocks))
            mark = f"n{blocks}"
            try:
                put(work, mark, [*BASIC, "failures.md"])
                outcomes.add("published")
            except PrereadError as error:
                outcomes.add(error.code)
            found = published.read(work.layout, "login")
            assert found.edited == ()
            assert found.texts == {
                name: text_of(name, found.manifest.recipe) for name in (*BASIC, "failures.md")
            }
            filler.unlink()
            publish.recover(work, "login")
        assert outcomes == {"published", "E_WRITE"}


def test_a_read_only_disk_is_reported_and_leaves_the_old_dossier(tmp_path):
    with disk(tmp_path / "disk") as root:
        work = services(root)
        put(work, "one")
        staging = publish.stage(work, "login")
        for name in BASIC:
            (staging / name).write_text(text_of(name, "two"))
        make_read_only(root)
        for refused in (
            lambda: publish.stage(work, "login"),
            lambda: publish.publish(work, staging, Manifest(feature="login")),
            lambda: publish.recover(work, "login"),
        ):
            with pytest.raises(PrereadError, match="read-only") as caught:
                refused()
            assert caught.value.code == "E_WRITE"
        assert published.read(work.layout, "login").texts["patterns.md"] == text_of(
            "patterns.md", "one"
        )


def ready(work, mark: str, order: int, names=BASIC, before=None) -> Path:
    """What a publisher leaves that is killed right after its mark is written."""
    staging = publish.stage(work, "login")
    texts = {name: text_of(name, mark).encode() for name in names}
    made = Manifest(
        feature="login", recipe=mark, files={n: published.digest(t) for n, t in texts.items()}
    )
    for name, data in (*texts.items(), ("manifest.json", published.manifest_bytes(made))):
        (staging / name).write_bytes(data)
    (staging / "ready.json").write_text(
        Ready(order=order, manifest=made, before=before or {}).model_dump_json()
    )
    return staging.rename(staging.with_name(staging.name + published.READY))


def test_several_that_are_ready_are_rolled_forward_in_their_order(work, folder):
    put(work, "one")
    ready(
        work,
        "three",
        3,
        [*BASIC, "requirements.md"],
        before=dict.fromkeys([*BASIC, "failures.md"], "-"),
    )
    ready(work, "two", 2, [*BASIC, "failures.md"], before=dict.fromkeys(BASIC, "-"))
    assert published.read(work.layout, "login").manifest.recipe == "three"
    publish.recover(work, "login")
    assert published.read(work.layout, "login").manifest.recipe == "three"
    assert files(folder) == sorted([*BASIC, "manifest.json", "requirements.md"])
    assert list(work.layout.staging.iterdir()) == []


def test_complete_staging_folders_are_published_before_a_new_one(work):
    ready(work, "crashed", 1)
    put(work, "next")
    publish.recover(work, "login")
    assert published.read(work.layout, "login").manifest.recipe == "next"


def test_an_edit_after_a_crash_is_backed_up_by_the_recovery(work, folder):
    put(work, "one", [*BASIC, "failures.md"])
    ready(work, "two", 1, before=published.read(work.layout, "login").manifest.files)
    (folder / "patterns.md").write_text("edited")
    (folder / "failures.md").write_text("edited too")
    publish.recover(work, "login")
    assert published.read(work.layout, "login").manifest.recipe == "two"
    assert backups(work) == {"failures.md.1": "edited too", "patterns.md.1": "edited"}


def test_recovery_leaves_other_features_alone(work):
    ready(work, "one", 1)
    other = publish.stage(work, "login-errors")
    publish.recover(work, "login")
    assert other.is_dir()
    assert published.pending(work.layout, "login-errors")


def test_drafts_of_a_killed_build_are_removed(work):
    staging = publish.stage(work, "login")
    (staging / "sub").mkdir()
    (staging / "sub" / "draft.md").touch()
    (work.layout.staging / "login.y.ready").mkdir()
    assert published.pending(work.layout, "login")
    publish.recover(work, "login")
    assert list(work.layout.staging.iterdir()) == []
    assert published.read(work.layout, "login") is None


def test_a_mark_whose_files_a_power_cut_emptied_is_not_rolled_forward(work, folder):
    put(work, "one")
    before = snapshot(folder)
    staging = ready(work, "two", 1)
    (staging / "codebase.md").write_bytes(b"")
    publish.recover(work, "login")
    assert snapshot(folder) == before
    assert not published.pending(work.layout, "login")


KILLS = sized(24, 64)  # of publishers in the storm


def run_cuts(*arguments: object) -> dict[str, object]:
    path = Path(__file__).with_name("_files_cuts.py")
    done = subprocess.run(
        program(path, *arguments),
        env=program_environ(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_a_publish_cut_before_any_of_its_steps_is_whole_and_rolled_forward_even_when_that_is_cut(
    tmp_path,
):
    with disk(tmp_path / "disk", "64m", or_folder=True) as folder:
        seen = run_cuts("steps", folder)
    assert seen["wrong"] == []
    assert seen["cuts"] > 30
    assert seen["marked"] > 6
    assert seen["cuts of recovery"] > 2 * seen["marked"]


def test_readers_never_meet_a_part_or_a_mix_while_publishers_are_killed(tmp_path):
    with disk(tmp_path / "disk", "64m", or_folder=True) as folder:
        seen = run_cuts("storm", folder, KILLS)
    assert seen["wrong"] == []
    assert seen["kills"] == seen["rounds"] >= KILLS
    assert seen["cut when ready"] > KILLS / 7
    assert seen["cut before"] > KILLS / 13
    assert seen["reads"] > 7 * KILLS
