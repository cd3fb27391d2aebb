"""Names and paths: valid features and tickets, and no path out of the project."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM
from preread.errors import PrereadError
from preread.gates.feature_names import DEVICES, MAX_LENGTH, is_feature, slug
from preread.layout import BY_NAME, FILES, REQUIRED, Layout
from preread.names import feature_name, ticket_name


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    root = tmp_path / "root"
    (root / ".project").mkdir(parents=True)
    return Layout(root.resolve())


def refused(code: str, call, *arguments) -> PrereadError:
    with pytest.raises(PrereadError) as caught:
        call(*arguments)
    assert caught.value.code == code
    return caught.value


# -- feature names


@pytest.mark.parametrize(
    "name", ["login", "checkout-coupon", "2fa", "a", "_project", "a" * MAX_LENGTH, "com10"]
)
def test_a_valid_feature_name_is_unchanged(name: str) -> None:
    assert feature_name(name) == name


@pytest.mark.parametrize(
    ("name", "feature"),
    [
        ("tmp_path", "tmp-path"),
        ("Checkout", "checkout"),
        ("Check Out", "check-out"),
        ("v1.2", "v1-2"),
        ("Log-In_page", "log-in-page"),
    ],
)
def test_an_identifier_or_a_heading_is_replaced_by_its_slug(name: str, feature: str) -> None:
    assert feature_name(name) == feature == slug(name)


@pytest.mark.parametrize(
    ("name", "usable"),
    [
        ("../etc/passwd", "etc-passwd"),
        ("a/b", "a-b"),
        ("a\\b", "a-b"),
        ("a--b", "a-b"),
        ("-a-", "a"),
        (" login ", "login"),
        ("login\n", "login"),
        ("login\0", "login"),
        ("$(touch pwned)", "touch-pwned"),
        ("x;rm -rf /", "x-rm-rf"),
        ("café", "cafe"),
        ("Straße_prüfen", "strasse-prufen"),
        ("_PROJECT", "project"),
        ("a" * 65, "a" * 64),
        ("a" * 63 + "_b", "a" * 63),
        ("con", ""),
        ("LPT1", ""),
        ("…", ""),
        ("", ""),
        ("\ud800", ""),
        ("日本語", ""),
    ],
)
def test_any_other_name_is_rejected_with_a_slug_to_use(name: str, usable: str) -> None:
    error = refused("E_FEATURE_NAME", feature_name, name)
    assert error.details == {"slug": usable}
    assert (error.hint == f'Use the name "{usable}".') if usable else ("Choose" in error.hint)
    str(error).encode()  # what is shown of the name can be printed anywhere


def test_no_device_of_windows_is_a_feature() -> None:
    for device in sorted(DEVICES):
        assert not is_feature(device)
        refused("E_FEATURE_NAME", feature_name, device)
        refused("E_FEATURE_NAME", feature_name, device.upper())


@CALM
@given(st.text(max_size=200))
def test_a_slug_is_a_feature_or_nothing_or_a_device_and_is_its_own_slug(name: str) -> None:
    made = slug(name)
    assert made == "" or made in DEVICES or is_feature(made)
    assert slug(made) == made
    assert len(made) <= MAX_LENGTH


@CALM
@given(st.text(max_size=100))
def test_a_name_is_accepted_or_rejected_with_a_valid_proposal(name: str) -> None:
    try:
        assert is_feature(feature_name(name))
    except PrereadError as error:
        proposal = error.details["slug"]
        assert proposal == "" or feature_name(proposal) == proposal


# -- tickets


@pytest.mark.parametrize("name", ["SHOP-142", "123", "a.b_c#4", "GH#12"])
def test_a_ticket_id_is_letters_and_digits_with_single_joints(name: str) -> None:
    assert ticket_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", "..", "../x", "a/b", "a b", "-1", "1-", "a--b", "con", "NUL", "é", "a" * 65, "a\n", "a\0"],
)
def test_a_ticket_id_must_be_a_plain_file_name(name: str) -> None:
    refused("E_TICKET_NAME", ticket_name, name)


# -- the table of files


def test_the_table_names_seven_files_and_three_of_them_are_required() -> None:
    assert len(FILES) == len(BY_NAME) == 7
    assert REQUIRED == ("patterns.md", "codebase.md", "summary.md")


# -- places


def test_every_place_of_a_project_is_inside_its_project_folder(layout: Layout) -> None:
    places = [
        layout.config,
        layout.gates,
        layout.knowledge,
        layout.context,
        layout.state,
        layout.cache,
        layout.db,
    ]
    places += [
        layout.staging,
        layout.log,
        layout.wrong,
        layout.results,
        layout.ticket("A-1"),
        layout.dossier("login"),
    ]
    places += [
        layout.lock("x"),
        layout.building("login"),
        layout.run_record("login"),
        layout.backups("login"),
    ]
    assert len(set(places)) == len(places)
    assert all(layout.project in place.parents for place in places)


def test_paths_of_a_feature_reject_invalid_names(layout: Layout) -> None:
    for place in (layout.dossier, layout.building, layout.run_record, layout.backups):
        refused("E_FEATURE_NAME", place, "../x")
    refused("E_TICKET_NAME", layout.ticket, "../x")


@pytest.mark.parametrize(
    "relative",
    ["a.py", "src/a.py", "app/(auth)/[slug]/page.tsx", "a b/ü.py", "..a/b..", "src/.env"],
)
def test_a_relative_path_is_joined_onto_the_root(layout: Layout, relative: str) -> None:
    assert layout.inside(relative) == layout.root / relative
    assert layout.relative(layout.inside(relative)) == relative


@pytest.mark.parametrize(
    "relative",
    [
        "",
        "..",
        "../a",
        "a/../../b",
        "a/..",
        "/etc/passwd",
        "//x",
        "a\0b",
        "a\\b",
        "..\\a",
        "C:/x",
        "c:x",
    ],
)
def test_a_path_that_is_absolute_or_climbs_is_outside(layout: Layout, relative: str) -> None:
    refused("E_OUTSIDE", layout.inside, relative)


@CALM
@given(st.text(alphabet="./\\ab\0:", max_size=20))
def test_no_text_at_all_leads_out_of_the_root(relative: str) -> None:
    layout = Layout(Path("/some/root"))
    try:
        place = layout.inside(relative)
    except PrereadError:
        return
    assert place == layout.root or layout.root in place.parents
    assert ".." not in place.parts


def test_links_inside_the_project_are_followed_and_links_out_are_rejected(
    layout: Layout, tmp_path: Path
) -> None:
    (layout.root / "real").mkdir()
    (tmp_path / "outside").mkdir()
    (layout.root / "in").symlink_to(layout.root / "real")
    (layout.root / "out").symlink_to(tmp_path / "outside")
    (layout.root / "sibling").symlink_to(tmp_path / "root-2")
    assert layout.real(layout.root / "in" / "x") == layout.root / "real" / "x"
    refused("E_OUTSIDE", layout.real, layout.root / "out" / "x")
    refused("E_OUTSIDE", layout.real, layout.root / "sibling")


def test_the_guard_lets_an_ordinary_project_pass(layout: Layout) -> None:
    layout.guard()
    layout.guard("login")


def test_the_guard_refuses_a_project_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / ".project").write_text("<projectDescription/>")  # Eclipse's
    error = refused("E_PROJECT_DIR", Layout(tmp_path.resolve()).guard)
    assert error.hint


@pytest.mark.parametrize(
    "name",
    (
        "|context|context/login|.cache|.cache/staging|.cache/locks|.cache/index.db|.state|.state/runs|.state/wrong.json"
        "|.state/builds|.state/backups/login|.state/results.jsonl|.state/spending.jsonl|.state/spending-agreed|config.toml|knowledge.md"
        "|tickets"
    ).split("|"),
)
def test_the_guard_refuses_each_place_of_ours_that_is_a_link_out(
    layout: Layout, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = layout.project / name
    if not name:
        layout.project.rmdir()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    refused("E_OUTSIDE", layout.guard, "login")
