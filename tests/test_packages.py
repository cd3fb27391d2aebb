"""Packages of monorepos, workspaces that list them, and evidence of one of them alone."""

from pathlib import Path

import anyio
import pytest

from _evidence_project import evidence, services, write
from conftest import Cli
from preread import resolve
from preread.builds import pipeline
from preread.errors import PrereadError
from preread.evidence.collect import collect
from preread.models import Request
from preread.operations import doctor_project as doctor
from preread.project.packages import Package, packages, scope_of

TREES: dict[str, tuple[dict[str, str], set[Package]]] = {
    "npm": (
        {
            "package.json": '{"name": "root", "workspaces": {"packages": ["packages/*", '
            '"!packages/old"]}}',
            "packages/ui/package.json": '{"name": "@acme/ui"}',
            "packages/old/package.json": '{"name": "@acme/old"}',
            "packages/ui/node_modules/x/package.json": '{"name": "x"}',
            "apps/web/package.json": "not JSON",
        },
        {
            Package("@acme/ui", "packages/ui", "package.json"),
            Package("@acme/old", "packages/old", ""),
            Package("web", "apps/web", ""),
        },
    ),
    "pnpm": (
        {
            "pnpm-workspace.yaml": "packages:\n  - 'libs/**'  # all\n  - \"tools/cli\"\n"
            "catalog:\n  react: 19\n",
            "libs/a/b/package.json": '{"name": "b"}',
            "tools/cli/package.json": "{}",
        },
        {
            Package("b", "libs/a/b", "pnpm-workspace.yaml"),
            Package("cli", "tools/cli", "pnpm-workspace.yaml"),
        },
    ),
    "lerna": (
        {"lerna.json": '{"packages": ["modules/*"]}', "modules/m/package.json": '{"name": "m"}'},
        {Package("m", "modules/m", "lerna.json")},
    ),
    "cargo": (
        {
            "Cargo.toml": '[workspace]\nmembers = ["crates/*"]\n',
            "crates/core/Cargo.toml": '[package]\nname = "acme-core"\n',
        },
        {Package("acme-core", "crates/core", "Cargo.toml")},
    ),
    "go": (
        {
            "go.work": "go 1.22\n\nuse (\n\t./svc/api\n\t./lib\n)\n",
            "svc/api/go.mod": "module example.com/svc/api\n\ngo 1.22\n",
            "lib/go.mod": "module example.com/lib\n",
            "other/go.mod": "module example.com/other\n",
        },
        {
            Package("example.com/svc/api", "svc/api", "go.work"),
            Package("example.com/lib", "lib", "go.work"),
            Package("example.com/other", "other", ""),
        },
    ),
    "uv": (
        {
            "pyproject.toml": '[tool.uv.workspace]\nmembers = ["packages/*"]\n',
            "packages/one/pyproject.toml": '[project]\nname = "one-lib"\n',
            "packages/two/pyproject.toml": '[tool.poetry]\nname = "two-lib"\n',
        },
        {
            Package("one-lib", "packages/one", "pyproject.toml"),
            Package("two-lib", "packages/two", "pyproject.toml"),
        },
    ),
    "maven": (
        {
            "pom.xml": "<project><modules>\n<module>core</module>\n</modules></project>",
            "core/pom.xml": "<project><parent><artifactId>up</artifactId></parent>\n"
            "<artifactId>acme-core</artifactId><dependencies><artifactId>x</artifactId></dependencies></project>",
        },
        {Package("acme-core", "core", "pom.xml")},
    ),
    "gradle": (
        {
            "settings.gradle.kts": 'rootProject.name = "x"\ninclude(":app", ":lib:net")\n',
            "app/build.gradle.kts": "plugins {}\n",
            "lib/net/build.gradle": "\n",
        },
        {
            Package("app", "app", "settings.gradle.kts"),
            Package("net", "lib/net", "settings.gradle.kts"),
        },
    ),
}


@pytest.mark.parametrize("kind", TREES)
def test_packages_are_found_with_the_workspace_that_lists_them(tmp_path: Path, kind: str) -> None:
    files, expected = TREES[kind]
    assert set(packages(services(write(tmp_path, files)).tree)) == expected


@pytest.fixture
def root(tmp_path: Path) -> Path:
    code = "export function renderCoupon() { return 1; }\n"
    return write(
        tmp_path / "mono",
        {
            "packages/ui/package.json": '{"name": "@acme/ui"}',
            "packages/ui/src/coupon.ts": code,
            "packages/ui/src/coupon.test.ts": 'test("coupon", () => {});\n',
            "packages/uikit/package.json": '{"name": "@acme/uikit"}',
            "packages/uikit/src/coupon.ts": code,
            "services/api/package.json": '{"name": "twin"}',
            "services/job/package.json": '{"name": "twin"}',
            "README.md": "# Coupons\n",
        },
    )


@pytest.mark.parametrize("asked", ["packages/ui", "./packages/ui/", "@acme/ui"])
def test_a_scope_is_a_folder_or_a_package(root: Path, asked: str) -> None:
    assert scope_of(services(root).tree, asked) == "packages/ui"
    assert scope_of(services(root).tree, f"{root}/packages/ui") == "packages/ui"
    assert {scope_of(services(root).tree, whole) for whole in (".", "", "./", str(root))} == {""}


@pytest.mark.parametrize(
    ("asked", "near"),
    [
        ("@acme/iu", ["packages/ui", "packages/uikit"]),
        ("twin", ["services/api", "services/job"]),
        ("../mono/packages/ui", ["packages/ui", "packages/uikit"]),
        ("/etc", []),
        ("packages/ui/src/coupon.ts", ["packages/ui", "packages/uikit"]),
    ],
)
def test_an_unknown_scope_is_rejected_with_similar_packages(
    root: Path, asked: str, near: list[str]
) -> None:
    with pytest.raises(PrereadError) as caught:
        scope_of(services(root).tree, asked)
    assert caught.value.code == "E_SCOPE"
    assert set(near) <= set(caught.value.details["packages"])
    assert all(path in caught.value.hint for path in near)


@pytest.mark.parametrize("feature", ["coupon", "_project"])
def test_only_files_of_the_scope_are_ranked(root: Path, feature: str) -> None:
    asked = resolve.resolve(services(root), feature=feature, scope="@acme/ui")
    found = collect(services(root), asked)
    ranked = [file.path for file in (*found.files, *found.tests)]
    assert ranked
    assert all(path.startswith("packages/ui/") for path in ranked)
    assert found.notes == ("only files in packages/ui are ranked",)
    assert "packages/uikit/src/coupon.ts" in [file.path for file in evidence(root, "coupon").files]


def test_a_dossier_covers_only_requests_of_its_scope(root: Path) -> None:
    def asked(scope: str, **more: object) -> Request:
        return resolve.resolve(services(root), feature="coupon", level="light", scope=scope, **more)

    def is_covered(scope: str) -> bool:
        return pipeline.cached_reply(services(root), asked(scope)) is not None

    anyio.run(pipeline.build, services(root), asked("@acme/ui"))
    assert [is_covered(scope) for scope in ("packages/ui", "", "packages/uikit")] == [
        True,
        True,
        False,
    ]
    write(root, {"packages/ui/src/coupon.ts": "export function drawCoupon() { return 2; }\n"})
    assert not is_covered("")
    anyio.run(pipeline.build, services(root), asked(""))
    assert is_covered("packages/ui"), "a build that leaves the scope open keeps it"
    anyio.run(pipeline.build, services(root), asked("", force=True))
    assert not is_covered("packages/ui")


def test_exclusions_and_scopes_can_be_given_on_the_command_line(root: Path, cli: Cli) -> None:
    write(root, {"vendor/x/coupon.py": "def coupon(): ...\n"})
    options = ("--include", "vendored", "--include", "lock", "--scope", "vendor")
    found = cli("evidence", "coupon", *options, "--json", cwd=root).json
    assert [file["path"] for file in found["files"]] == ["vendor/x/coupon.py"]
    done = cli("evidence", "coupon", "--scope", "nowhere", "--json", cwd=root)
    assert (done.status, done.json["code"]) == (2, "E_SCOPE")


def test_the_doctor_names_the_packages(root: Path) -> None:
    write(root, {"package.json": '{"workspaces": ["packages/*"]}'})
    [look] = doctor._monorepo(services(root))
    assert "4 packages: @acme/ui (packages/ui), " in look.found
    assert "listed in package.json" in look.found
    (root / "package.json").unlink()
    assert not list(
        doctor._monorepo(
            services(write(root.parent / "single", {"package.json": "{}", "a.py": ""}))
        )
    )
