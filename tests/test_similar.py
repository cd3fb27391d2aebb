"""A new dossier names published ones that are nearly the same, and no others."""

from pathlib import Path

import pytest

from _processes import small
from conftest import Cli
from preread import similar
from preread.gates import near_names
from preread.layout import MANIFEST, Layout
from preread.models import Manifest

SPANS = {f"src/{name}.py:{n}": "x" for name in "abcde" for n in (1, 2)}
KINDS = {
    ("log-in", "login"): near_names.SAME_NAME,
    ("coupon", "coupons"): near_names.SIMILAR,
    ("checkout", "chekout"): near_names.SIMILAR,
    ("proxy", "proxies"): near_names.OTHER,
    ("cart", "card"): near_names.OTHER,  # short names differ by little
    ("cart-page", "cart"): near_names.CONTAINED,
    ("auth", "basic-auth-errors"): near_names.CONTAINED,
    ("basic-auth", "old-basic-auth-flow"): near_names.CONTAINED,
    ("car", "cart-page"): near_names.OTHER,
    ("a" * 64, "b" * 64): near_names.OTHER,
}


@pytest.mark.parametrize(("names", "kind"), KINDS.items(), ids=lambda value: str(value)[:40])
def test_how_near_two_names_are_does_not_depend_on_their_order(
    names: tuple[str, str], kind: int
) -> None:
    assert near_names.similarity(*names) == near_names.similarity(*reversed(names)) == kind


def published(root: Path, name: str, spans: dict[str, str]) -> Manifest:
    manifest = Manifest(feature=name, spans=spans)
    folder = Layout(root).dossier(name)
    folder.mkdir(parents=True)
    (folder / MANIFEST).write_text(manifest.model_dump_json())
    return manifest


def told(root: Path, name: str, spans: dict[str, str]) -> list[str]:
    return similar.warnings(Layout(root), Manifest(feature=name, spans=spans))


def some(count: int) -> dict[str, str]:
    return dict(list(SPANS.items())[:count])


def test_the_same_spans_under_an_unlike_name_are_reported_with_the_files(tmp_path: Path) -> None:
    published(tmp_path, "proxies", SPANS | {"src/z.py:9": "y"})
    (said,) = told(tmp_path, "socks", SPANS)
    assert said == (
        "proxies covers the same files (5 of 5); if it is the same feature, load that, or have "
        "the person add "
        "`alias socks proxies` to .project/gates."
    )


@pytest.mark.parametrize(
    ("name", "shared", "is_told"),
    [
        ("proxies", 8, True),
        ("proxies", 7, False),
        ("socks-errors", 6, True),
        ("socks-errors", 5, False),
        ("soc-ks", 0, True),
    ],
)
def test_how_much_has_to_be_shared_depends_on_the_name(
    tmp_path: Path, name: str, shared: int, is_told: bool
) -> None:
    published(tmp_path, name, some(shared))
    assert bool(told(tmp_path, "socks", SPANS)) is is_told


def test_one_file_of_many_spans_is_not_the_same_files(tmp_path: Path) -> None:
    cited = {f"src/long.py:{n}": "x" for n in range(1, 10)} | {"src/b.py:1": "x", "src/c.py:1": "x"}
    published(tmp_path, "proxies", {ref: "x" for ref in cited if "long" in ref})
    assert told(tmp_path, "socks", cited) == []


def test_nearly_the_same_name_is_reported_without_shared_files(tmp_path: Path) -> None:
    published(tmp_path, "login", {})
    (said,) = told(tmp_path, "log-in", SPANS)
    assert said.startswith("login has nearly the same name; ")


def test_at_most_two_are_reported_most_similar_first(tmp_path: Path) -> None:
    for name, count in (("one", 8), ("two", 10), ("three", 9)):
        published(tmp_path, name, some(count))
    assert [said.split()[0] for said in told(tmp_path, "socks", SPANS)] == ["two", "three"]


def test_the_whole_project_covers_everything_and_is_near_to_nothing(tmp_path: Path) -> None:
    published(tmp_path, "_project", SPANS)
    assert told(tmp_path, "socks", SPANS) == []
    published(tmp_path, "proxies", SPANS)
    assert told(tmp_path, "_project", SPANS) == []


def test_a_dossier_replaced_by_an_alias_is_not_reported(tmp_path: Path) -> None:
    published(tmp_path, "proxies", SPANS)
    (tmp_path / ".project" / "gates").write_text("alias proxies socks\n")
    assert told(tmp_path, "socks", SPANS) == []


def test_manifests_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    published(tmp_path, "proxies", SPANS)
    path = Layout(tmp_path).dossier("proxies") / MANIFEST
    for text in ("", "{", '{"spans": 1}', "<<<<<<< HEAD"):
        path.write_text(text)
        assert told(tmp_path, "socks", SPANS) == []


def test_only_the_build_of_a_new_dossier_reports_similar_ones(cli: Cli, tmp_path: Path) -> None:
    project = small(tmp_path / "p")
    first = cli("load", "login", "--json", cwd=project).json
    assert not [said for said in first["warnings"] if "alias" in said]
    new = cli("load", "log-in", "--json", cwd=project).json
    assert new["state"] == "built"
    assert "`alias log-in login`" in str(new["warnings"])
    for words in ((), ("--force",)):
        assert "alias" not in str(
            cli("load", "log-in", *words, "--json", cwd=project).json["warnings"]
        )
