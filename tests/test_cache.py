"""A dossier covers a request while everything it cites and was made from is unchanged."""

import os
import shutil
import sys
import time

import pytest

from _files_project import (
    BASIC,
    disk,
    fastest,
    git,
    make_read_only,
    put,
    repository,
    services,
    snapshot,
    spans,
    write,
)
from preread import cache, inputs, publish
from preread.dossier import build_records, published, wrong_marks
from preread.dossier.build_records import BuildRecord
from preread.dossier.wrong_marks import Wrong
from preread.infra import db, subprocesses
from preread.models import Fault, Request, Wording

FILES = {
    ".gitignore": ".project/.cache/\n.project/.state/\n.project/context/\nreports/\n",
    "src/login.py": "def login(name):\n    return check(name)\n\n\ndef check(name):\n"
    "    return bool(name)\n",
    "tests/test_login.py": "from login import login\n\n\ndef test_login_works():\n"
    "    assert login('ann')\n",
    "docs/guide.md": "# Guide\nfirst part\n\n# More\nsecond part\nends here\n",
    ".project/knowledge.md": "# Knowledge\n",
    ".project/tickets/SHOP-1.md": "# SHOP-1\n",
}
LOGIN = Request(feature="login")
ABSENT = 'absent:src/**/*.py~"logout"'
OLD = time.time() - 60


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path / "project", FILES)


def build(root, *refs, feature="login", **manifest):
    """Publish a dossier that cites `refs` and was made from what is there."""
    work = services(root)
    asked = Request(feature=feature, ticket=manifest.get("ticket", ""))
    given = {"used": inputs.digests(work, asked), "spans": spans(work, *refs), "recipe": "r"}
    return put(work, "one", feature=feature, **(given | manifest))


def look(root, request=LOGIN, recipe="r", run=subprocesses.run, **settings):
    return cache.lookup(services(root, run=run, **settings), request, recipe)


def why(root, request=LOGIN, recipe="r", **settings):
    found = look(root, request, recipe, **settings)
    assert found.covers == (not found.why)
    return found.why


def test_there_is_nothing_to_cover_a_first_request(root):
    assert look(root) == (False, "no dossier", None, "build", "")


def test_a_dossier_covers_the_same_request_and_is_returned(root):
    build(root, "src/login.py:1-2")
    found = look(root)
    assert (found.covers, found.why) == (True, "")
    assert found.published == published.read(services(root).layout, "login")


def test_force_never_covers(root):
    build(root)
    found = look(root, LOGIN.model_copy(update={"force": True}))
    assert (found.covers, found.why) == (False, "a rebuild was asked for")
    assert found.published is not None


@pytest.mark.parametrize("name", BASIC)
@pytest.mark.parametrize("text", [None, "", " \n"])
def test_a_required_file_must_be_there_and_say_something(root, name, text):
    build(root)
    path = services(root).layout.dossier("login") / name
    path.unlink() if text is None else path.write_text(text)
    assert why(root) == f"{name} is missing or empty"


def test_a_manifest_that_cannot_be_read_does_not_cover(root):
    build(root)
    (services(root).layout.dossier("login") / "manifest.json").write_text("<<<<<<<")
    assert why(root) == "its manifest is missing, unreadable or of another version"


def test_a_dossier_that_a_person_edited_still_covers(root):
    build(root)
    (services(root).layout.dossier("login") / "patterns.md").write_text(
        "# Patterns: login\n\n- edited\n"
    )
    found = look(root)
    assert found.covers
    assert found.published.edited == ("patterns.md",)


def test_a_deeper_level_covers_a_lighter_one_and_not_the_other_way(root):
    build(root, level="standard")
    assert why(root, Request(feature="login", level="light")) == ""
    assert why(root, Request(feature="login", level="standard")) == ""
    assert (
        why(root, Request(feature="login", level="full"))
        == "it was built at level standard, not full"
    )


def test_another_ticket_is_not_covered_and_no_ticket_matches_any(root):
    build(root, ticket="SHOP-1")
    assert why(root, Request(feature="login", ticket="SHOP-1")) == ""
    assert why(root) == ""
    assert why(root, Request(feature="login", ticket="SHOP-2")) == "it was built for ticket SHOP-1"
    build(root)
    assert why(root, Request(feature="login", ticket="SHOP-1")) == "it was built for no ticket"


def test_another_description_is_not_covered_and_white_space_does_not_count(root):
    build(root, description="log in  with\n a password")
    assert why(root) == ""
    assert why(root, Request(feature="login", description=" log in with a password ")) == ""
    assert (
        why(root, Request(feature="login", description="log out"))
        == "it was built for another description"
    )
    build(root)
    assert (
        why(root, Request(feature="login", description="log out"))
        == "it was built without a description"
    )
    build(root, wordings=(Wording(digest=cache.wording("log  out")),))
    assert why(root, Request(feature="login", description="log out")) == ""


def test_a_new_description_alone_is_distinguished_from_what_needs_a_build(root):
    build(root, "src/login.py:1-2")
    asked = Request(feature="login", description="log out")
    assert look(root, asked).needs == "widen"
    assert look(root).needs == "nothing"
    assert look(root, asked.model_copy(update={"force": True})).needs == "build"
    assert look(root, asked.model_copy(update={"level": "full"})).needs == "build"
    (root / "src" / "login.py").write_text("def login(name):\n    return None\n")
    assert look(root, asked).needs == "refresh"


def test_changed_settings_and_templates_are_not_covered(root):
    build(root)
    assert why(root, recipe="other") == "the settings, the template or the rules changed"


def test_the_recipe_is_that_of_the_level_at_which_the_dossier_was_built(root):
    build(root, level="full", recipe="recipe of full")
    assert why(root, recipe=lambda level: f"recipe of {level}") == ""
    assert why(root, recipe=lambda level: f"another of {level}") != ""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({".project/knowledge.md": "# Learned\n"}, "knowledge changed"),
        ({".project/tickets/SHOP-1.md": "# Other\n"}, "ticket SHOP-1 changed"),
        (
            {"reports/a.xml": "<testsuite><testcase name='x'><failure/></testcase></testsuite>"},
            "failures is new",
        ),
        ({".project/tickets/SHOP-1.md": "# SHOP-1\r\n", "src/new.py": "x = 1\n"}, ""),
    ],
)
def test_changed_inputs_are_not_covered(root, change, expected):
    build(root, ticket="SHOP-1")
    write(root, change)
    assert why(root) == expected
    assert why(root, Request(feature="login", ticket="SHOP-1")) == expected


def test_an_input_that_is_gone_is_not_covered(root):
    build(root)
    (root / ".project/knowledge.md").unlink()
    assert why(root) == "knowledge is gone"


def test_a_degraded_dossier_covers_for_a_while_after_it_was_built(root):
    build(root, status="degraded", fault=Fault(code="E_LOGIN", reason="no login"))
    layout = services(root).layout
    tried = "it is degraded (no login), and it is time to try again"
    assert why(root) == tried
    for age, expected in ((1, ""), (590, ""), (610, tried), (-100, tried)):
        build_records.write(layout, "login", BuildRecord(finished=time.time() - age))
        assert why(root) == expected, age
    assert why(root, degraded_for=1000) == tried
    build_records.write(layout, "login", BuildRecord(finished=time.time() - 610))
    assert why(root, degraded_for=1000) == ""


def test_a_partial_dossier_covers(root):
    build(root, status="partial", fault=Fault(code="E_TURNS", reason="no requirements"))
    assert why(root) == ""


def cite_all(root):
    refs = [
        "src/login.py:1-2",
        "tests/test_login.py::test_login_works",
        "doc:docs/guide.md#p2",
        ABSENT,
    ]
    refs += [f"commit:{git(root, 'rev-parse', '--short', 'HEAD')}", "ticket:SHOP-1"]
    build(root, *refs)
    return refs


def test_a_change_elsewhere_in_cited_files_does_not_matter(root):
    cite_all(root)
    before = snapshot(services(root).layout.dossier("login"))
    write(
        root,
        {
            "src/login.py": FILES["src/login.py"] + "\n\ndef more():\n    pass\n",
            "tests/test_login.py": "import os\n" + FILES["tests/test_login.py"] + "\n\nprint(os)\n",
            "docs/guide.md": "# Changed\n\n# More\nsecond part\nends here\n",
        },
    )
    assert why(root) == ""
    assert snapshot(services(root).layout.dossier("login")) == before


def test_line_ends_that_git_made_leave_the_dossier_fresh(root):
    cite_all(root)
    for pattern in ("*/*.py", "*/*.md", ".project/**/*.md", ".project/context/*/*.json"):
        for path in root.glob(pattern):
            path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"))
    assert why(root) == ""
    assert look(root).published.edited == ()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            {"src/login.py": "def login(user):\n    return check(user)\n"},
            "what it cites changed or moved: src/login.py:1-2",
        ),
        (
            {"tests/test_login.py": "def test_login_works():\n    assert True\n"},
            "what it cites changed or moved: tests/test_login.py::test_login_works",
        ),
        (
            {"docs/guide.md": "# Guide\n\n# More\nanother part\n"},
            "what it cites changed or moved: doc:docs/guide.md#p2",
        ),
        (
            {"src/login.py": "x\n"},
            "what it cites is no longer there: src/login.py:1-2 (`src/login.py` has 1 lines, not 1-2)",
        ),
        (
            {"docs/guide.md": "# Guide\n"},
            "what it cites is no longer there: doc:docs/guide.md#p2 (`docs/guide.md` has 1 parts, not 2)",
        ),
        (
            {"src/new.py": "logout()\n"},
            f'what it cites is no longer there: {ABSENT} (`src/new.py` contains "logout")',
        ),
    ],
)
@pytest.mark.parametrize("remembered", [False, True])
def test_a_cited_span_that_changed_is_named(root, change, expected, remembered):
    cite_all(root)
    age(root)
    if remembered:
        assert why(root) == ""
    write(root, change)
    assert why(root) == expected
    assert why(root) == expected


def age(root):
    """Make every file old enough to be trusted by its time."""
    for path in root.glob("*/*"):
        if path.is_file():
            os.utime(path, (OLD, OLD))


def test_a_source_of_an_unknown_kind_is_named(root):
    build(root, spans={"whatever this is": "0"})
    assert why(root) == "a cited source cannot be parsed: whatever this is"


def test_external_references_cannot_be_looked_up_and_do_not_count(root):
    build(root, spans={"quoth://doc/abc123": "0"})
    assert why(root) == ""


def test_a_fact_that_was_called_wrong_since_does_not_cost_the_dossier(root):
    build(root, "src/login.py:1-2")
    wrong_marks.add(services(root).layout, "aaaa", Wrong(feature="login", text="a fact"))
    assert why(root) == ""


# -- what is remembered


@pytest.fixture(scope="module")
def opened():
    """A list of every file that Python opens. An audit hook cannot be removed, only silenced."""
    seen, listening = [], [True]
    sys.addaudithook(
        lambda event, args: seen.append(str(args[0])) if event == "open" and listening else None
    )
    yield seen
    listening.clear()


class Counting:
    """The real runner, with a list of what was run."""

    def __init__(self):
        self.calls = []

    def __call__(self, argv, **options):
        self.calls.append(argv)
        return subprocesses.run(argv, **options)

    def of(self, word):
        return [argv for argv in self.calls if word in argv]


def read_meanwhile(root, opened):
    opened.clear()
    assert why(root) == ""
    return {os.path.relpath(path, root) for path in opened if path.startswith(f"{root}/")}


def test_slow_sources_are_looked_up_once_while_their_files_are_unchanged(root, opened):
    build(root, ABSENT, "tests/test_login.py::test_login_works", "doc:docs/guide.md#p2")
    age(root)
    cited = {"src/login.py", "tests/test_login.py", "docs/guide.md"}
    assert cited <= read_meanwhile(root, opened)
    assert not cited & read_meanwhile(root, opened)
    os.utime(root / "src/login.py", (OLD + 1, OLD + 1))
    assert read_meanwhile(root, opened) & cited == {"src/login.py"}


def test_a_file_that_changed_just_now_is_read_again(root, opened):
    build(root, ABSENT)
    age(root)
    soon = time.time() + 60  # as young as can be, however slow this machine is
    os.utime(root / "src/login.py", (soon, soon))
    assert "src/login.py" in read_meanwhile(root, opened)
    assert "src/login.py" in read_meanwhile(root, opened)


def test_a_change_that_keeps_size_and_time_is_noticed(root):
    build(root, ABSENT)
    age(root)
    assert why(root) == ""
    text = FILES["src/login.py"].replace("return check(name)", "logout()          ")
    assert len(text) == len(FILES["src/login.py"])
    write(root, {"src/login.py": text})
    os.utime(root / "src/login.py", (OLD, OLD))
    assert 'contains "logout"' in why(root)


def test_a_passed_check_counts_only_for_the_same_digest(root):
    ref = "tests/test_login.py::test_login_works"
    build(root, ref)
    age(root)
    assert why(root) == ""
    build(root, spans={ref: "0" * 16})
    assert why(root) == f"what it cites changed or moved: {ref}"


def test_a_failed_check_is_not_stored(root):
    build(root, ABSENT)
    write(root, {"src/new.py": "logout()\n"})
    age(root)
    assert 'contains "logout"' in why(root)
    assert 'contains "logout"' in why(root)


def counted(root, changes):
    """How often commits were looked up, by a lookup after each of the changes."""
    for change in changes:
        for arguments in change:
            git(root, *arguments)
        run = Counting()
        assert look(root, run=run).covers
        yield len(run.of("rev-list"))


MORE = ("commit", "-q", "--allow-empty", "-m", "more")
PACK = ("pack-refs", "--all")


def test_commits_are_looked_up_in_one_call_and_only_when_head_changes(root):
    for n in range(3):
        git(root, "commit", "-q", "--allow-empty", "-m", f"{n}")
    shas = git(root, "rev-list", "HEAD").split()
    build(root, f"commit:{shas[0]}", f"commit:{shas[1]}", f"commit:{shas[2][:8]}")
    assert list(counted(root, [(), (), (MORE,), (PACK,), (), (MORE, PACK), ()])) == [
        1,
        0,
        1,
        1,
        0,
        1,
        0,
    ]
    build(root, f"commit:{shas[1]}", f"commit:{shas[2][:8]}")
    assert list(counted(root, [(), ()])) == [1, 0]


def test_passed_commits_are_stored_in_a_worktree_and_with_a_detached_head(root, tmp_path):
    tree = tmp_path / "tree"
    git(root, "worktree", "add", "-q", "--detach", str(tree))
    build(tree, f"commit:{git(root, 'rev-parse', 'HEAD')}")
    switch = ("switch", "-q", "-c", "side")
    assert list(counted(tree, [(), (), (MORE,), (switch,), ()])) == [1, 0, 1, 1, 0]


def test_a_commit_that_the_repository_lost_is_named(root):
    git(root, "switch", "-q", "-c", "side")
    git(root, "commit", "-q", "--allow-empty", "-m", "lost")
    sha = git(root, "rev-parse", "--short", "HEAD")
    build(root, f"commit:{git(root, 'rev-parse', '--short', 'main')}", f"commit:{sha}")
    assert why(root) == ""
    git(root, "switch", "-q", "main")
    git(root, "branch", "-q", "-D", "side")
    assert why(root) == ""
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "prune", "--expire=now")
    git(root, "commit", "-q", "--allow-empty", "-m", "more")
    assert why(root) == f"a cited commit is gone: {sha}"


def test_commits_are_gone_where_there_is_no_repository(root):
    build(root, f"commit:{git(root, 'rev-parse', 'HEAD')}")
    shutil.rmtree(root / ".git")
    assert why(root).startswith("a cited commit is gone")


@pytest.mark.parametrize("damage", ["folder", "garbage", "gone"])
def test_a_database_that_cannot_be_used_only_costs_time(root, damage):
    cite_all(root)
    age(root)
    assert why(root) == ""
    layout = services(root).layout
    layout.db.unlink()
    if damage == "folder":
        layout.db.mkdir()
    if damage == "garbage":
        layout.db.write_bytes(b"garbage" * 999)
    assert why(root) == ""
    write(root, {"src/new.py": "logout()\n"})
    assert 'contains "logout"' in why(root)


def test_a_shared_dossier_covers_on_a_read_only_disk_without_a_cache(tmp_path):
    with disk(tmp_path / "disk", "4m") as place:
        root = repository(place / "project", FILES)
        cite_all(root)
        shutil.rmtree(root / ".project/.cache")
        make_read_only(place)
        assert why(root) == ""


def test_a_lookup_writes_only_to_the_cache(root):
    cite_all(root)
    before = snapshot(root)
    assert why(root) == ""
    after = snapshot(root)
    assert {
        name for name in after if after[name] != before.get(name) and "/.cache/" not in name
    } == set()
    assert before.keys() - after.keys() == set()


def test_a_dossier_whose_publisher_was_killed_covers_before_anybody_recovers_it(root):
    build(root, "src/login.py:1-2")
    work = services(root)
    folder = work.layout.dossier("login")
    staging = publish.stage(work, "login")
    for path in list(folder.iterdir()):
        (staging / path.name).write_bytes(path.read_bytes())
    manifest = published.read(work.layout, "login").manifest
    (staging / "ready.json").write_text(
        published.Ready(order=1, manifest=manifest, before={}).model_dump_json()
    )
    staging.rename(staging.with_name(staging.name + published.READY))
    for path in folder.iterdir():
        path.write_text("torn")
    assert why(root) == ""


def test_a_cached_dossier_of_sixty_spans_is_looked_up_fast(tmp_path):
    files = {
        f"src/m{n}.py": "".join(f"def f{k}(x):\n    return x + {k}\n" for k in range(200))
        for n in range(20)
    }
    files |= {f"tests/test_{n}.py": f"def test_it_{n}():\n    assert {n} + 1\n" for n in range(200)}
    root = repository(tmp_path / "project", FILES | files)
    refs = [f"src/m{n % 20}.py:{1 + n}-{3 + n}" for n in range(40)]
    refs += [f"tests/test_{n}.py::test_it_{n}" for n in range(10)]
    refs += [f'absent:src/**/*.py~"nothing {n}"' for n in range(5)]
    for n in range(5):
        git(root, "commit", "-q", "--allow-empty", "-m", f"{n}")
    refs += [f"commit:{sha}" for sha in git(root, "rev-list", "-n", "5", "HEAD").split()]
    assert len(refs) == 60
    build(root, *refs)
    age(root)
    assert why(root) == ""
    assert fastest(lambda: look(root), lambda found: found.covers) < 0.050
    assert (
        db.use(
            services(root).layout,
            lambda c: c.execute("SELECT count(*) FROM passed_checks").fetchone()[0],
        )
        == 16
    )
