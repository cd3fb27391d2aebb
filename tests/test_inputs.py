"""Tickets, knowledge and reports are found, and their digests change with them."""

import os
from pathlib import Path

import pytest

from _files_project import disk, fastest, git, repository, services, write
from _processes import small
from preread import inputs
from preread.errors import PrereadError
from preread.models import Request

LOGIN = Request(feature="login", ticket="SHOP-142")


@pytest.fixture
def root(tmp_path):
    return repository(
        tmp_path / "project",
        {
            ".gitignore": "reports/\ntest-results/\nbuild/\n.project/.cache/\n",
            "a.py": "x = 1\n",
            ".project/knowledge.md": "# Knowledge\n",
            ".project/tickets/SHOP-142.md": "# SHOP-142\n",
        },
    )


ANYWHERE = ["reports/**/*.xml", "**/junit*.xml", "**/TEST-*.xml"]


def paths(root, **settings):
    work = services(root, **settings)
    return inputs.report_paths(work.tree, work.settings)


def digests(root, request=LOGIN, **settings):
    return inputs.digests(services(root, **settings), request)


def test_a_ticket_is_read_from_its_file(root):
    tree = services(root).tree
    assert inputs.ticket(tree, "SHOP-142") == "# SHOP-142\n"
    assert inputs.ticket(tree, "SHOP-143") is None


def test_an_invalid_ticket_name_is_rejected(root):
    with pytest.raises(PrereadError) as caught:
        inputs.ticket(services(root).tree, "../knowledge")
    assert caught.value.code == "E_TICKET_NAME"


def test_a_ticket_that_leads_out_of_the_project_is_not_there(root, tmp_path):
    (tmp_path / "secret").write_text("secret")
    (root / ".project/tickets/X-1.md").symlink_to(tmp_path / "secret")
    assert inputs.ticket(services(root).tree, "X-1") is None
    assert "ticket:X-1" not in digests(root, Request(feature="login", ticket="X-1"))


def test_missing_inputs_have_no_digest(root):
    assert set(digests(root)) == {"knowledge", "ticket:SHOP-142"}
    assert set(digests(root, Request(feature="login"))) == {"knowledge"}
    (root / ".project/knowledge.md").unlink()
    (root / ".project/tickets/SHOP-142.md").unlink()
    assert digests(root) == {}


@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo])
def test_knowledge_that_is_not_a_file_counts_as_unreadable_and_costs_no_facts(cli, tmp_path, make):
    project = small(tmp_path / "p")
    fact = ("a token is good for one hour", "--sources", "login.py:1")
    assert cli("remember", *fact, cwd=project).status == 0
    assert cli("load", "login", "--json", cwd=project).json["warnings"] == []
    remembered = project / ".project/context/login/requirements.md"
    before = remembered.read_text()
    assert fact[0] in before
    place = project / ".project/knowledge.md"
    place.unlink()
    make(place)
    for _ in range(2):
        (warning,) = cli("load", "login", "--json", cwd=project).json["warnings"]
        assert f"{place} cannot be read: it is a " in warning
        assert remembered.read_text() == before
    for command in (["recall", "token"], ["load", "paint"], ["check", "--all"]):
        failed = cli(*command, "--json", cwd=project)
        assert failed.json["code"] == "E_READ"
        assert str(place) in failed.json["message"]
        assert "make it a regular file" in failed.json["hint"]


@pytest.mark.parametrize("name", ["knowledge.md", "tickets/SHOP-142.md"])
def test_a_changed_text_has_another_digest_and_line_ends_do_not_count(root, name):
    first = digests(root)
    path = root / ".project" / name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert digests(root) == first
    path.write_text("# Changed\n")
    second = digests(root)
    assert len(set(first.items()) ^ set(second.items())) == 2


def test_reports_are_found_on_disk_though_git_ignores_them(root):
    write(
        root,
        {
            "reports/a.xml": "1",
            "reports/deep/er/b.xml": "2",
            "test-results/c.xml": "3",
            "reports/d.txt": "4",
        },
    )
    assert paths(root) == ["reports/a.xml", "reports/deep/er/b.xml", "test-results/c.xml"]


def test_reports_at_root_level_are_found_though_git_ignores_them(root):
    write(root, {".gitignore": "*.xml\n", "junit-1.xml": "1", "TEST-a.xml": "2", "other.xml": "3"})
    assert paths(root) == ["TEST-a.xml", "junit-1.xml"]
    assert paths(root, reports=["o*.xml"]) == ["other.xml"]


def test_reports_in_any_folder_are_those_that_git_does_not_ignore(root):
    write(root, {"m/TEST-a.xml": "1", "m/build/TEST-b.xml": "2", "new/junit.xml": "3"})
    git(root, "add", "m/TEST-a.xml")
    assert paths(root) == []
    assert paths(root, reports=ANYWHERE) == ["m/TEST-a.xml", "new/junit.xml"]
    assert paths(root, reports=["m/*.xml"]) == ["m/TEST-a.xml"]
    assert paths(root, reports=["*/junit.xml"]) == ["new/junit.xml"]
    assert paths(root, reports=["m/build/TEST-b.xml"]) == ["m/build/TEST-b.xml"]


def test_reports_are_found_without_git(tmp_path):
    files = {
        "m/TEST-a.xml": "1",
        "reports/a.xml": "2",
        "node_modules/x/TEST-b.xml": "3",
        ".git_/TEST-c.xml": "4",
    }
    write(tmp_path, files)
    assert paths(tmp_path) == ["reports/a.xml"]
    assert paths(tmp_path, reports=ANYWHERE) == [
        ".git_/TEST-c.xml",
        "m/TEST-a.xml",
        "reports/a.xml",
    ]


def test_links_and_dependency_folders_are_not_searched_for_reports(root, tmp_path):
    write(tmp_path, {"outside/a.xml": "1"})
    write(
        root,
        {"reports/node_modules/a.xml": "1", "reports/.venv/a.xml": "2", "reports/real/a.xml": "3"},
    )
    (root / "reports/link").symlink_to(tmp_path / "outside")
    (root / "reports/link.xml").symlink_to(tmp_path / "outside/a.xml")
    (root / "test-results").symlink_to(tmp_path / "outside")
    (root / "junit.xml").symlink_to(tmp_path / "outside/a.xml")
    assert paths(root) == ["reports/real/a.xml"]
    assert (
        paths(root, reports=["../outside/*.xml", "/etc/*.xml", "reports/../../outside/*.xml"]) == []
    )


def test_a_search_for_reports_is_bounded(tmp_path):
    with disk(tmp_path / "disk", "64m", or_folder=True) as root:
        write(root, {"reports/zz.xml": "1", "reports/000000.a.xml": "2"})
        for n in range(inputs.MAX_ENTRIES + 10):
            (root / f"reports/{n:06}.log").touch()
        assert paths(root) == ["reports/000000.a.xml"]


def junit(**tests):
    """A report of these tests, each with what it failed with, or nothing."""
    cases = [
        f'<testcase classname="tests.a" name="{name}" time="{len(why)}">'
        + f'<failure message="{why}"/>' * bool(why)
        for name, why in tests.items()
    ]
    return f"<testsuite>{''.join(f'{case}</testcase>' for case in cases)}</testsuite>"


def test_the_digest_of_reports_depends_only_on_failures(root):
    write(root, {"reports/a.xml": junit(x="", y=""), "reports/b.json": "{}"})
    assert "failures" not in digests(root)
    write(root, {"reports/a.xml": junit(x="boom", y="")})
    seen = [digests(root)["failures"]]
    write(root, {"reports/a.xml": junit(y="", x="boom", z=""), "reports/c.xml": junit(w="")})
    (root / "reports/a.xml").rename(root / "reports/d.xml")
    assert digests(root)["failures"] == seen[0]
    for change in (junit(x="bang"), junit(y="bang"), junit(x="bang", y="bang")):
        write(root, {"reports/d.xml": change})
        seen.append(digests(root)["failures"])
    assert len(set(seen)) == 4
    write(root, {"reports/d.xml": junit(x="boom", y="")})
    assert digests(root)["failures"] == seen[0]
    (root / "reports/d.xml").unlink()
    assert "failures" not in digests(root)


def test_searching_for_reports_is_fast_without_any(tmp_path):
    with disk(tmp_path / "disk", "64m", or_folder=True) as place:
        root = repository(
            place / "project", {f"src/p{n % 40}/f{n}.py": "x = 1\n" for n in range(2000)}
        )
        assert fastest(lambda: paths(root), lambda found: found == []) < 0.030
