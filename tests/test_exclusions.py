"""What nobody writes by hand is left out of the index, unless somebody asks for it."""

from pathlib import Path

from _evidence_project import services, write
from _index import IN, OUT, content, update
from preread.index import indexer


def roles(root: Path, *include: str) -> dict[str, str]:
    """The role of each file whose words are known, `needle` among them."""
    indexer.update(services(root, include=list(include)))
    return {path: str(row[1]) for path, row in content(root).items() if "needle" in str(row[-1])}


def test_what_nobody_writes_is_left_out_and_can_be_asked_for_by_kind_or_glob(
    tmp_path: Path,
) -> None:
    root = write(tmp_path, {**OUT, **IN})
    assert roles(root).keys() == IN.keys()
    kinds = {
        "generated": {"src/made.go", "src/client.ts", "web/api_pb2.py"},
        "vendored": {"vendor/lib/a.py", "third_party/b/test_b.py"},
        "minified": {"src/app.min.js", "src/packed.js"},
        "lock": {"yarn.lock"},
    }
    for kind, paths in kinds.items():
        assert roles(root, kind).keys() == IN.keys() | paths
    asked = roles(root, "vendor/**", "*.lock", "src/made.go")
    assert asked.keys() == IN.keys() | {"vendor/lib/a.py", "yarn.lock", "src/made.go"}
    assert asked["yarn.lock"] == "source"
    assert roles(root, "vendored")["third_party/b/test_b.py"] == "test"
    assert roles(root).keys() == IN.keys()
    assert update(root) == 0


def test_gitattributes_say_what_is_generated_and_what_is_not(tmp_path: Path) -> None:
    root = write(tmp_path, {**OUT, **IN})
    write(
        root, {".gitattributes": "src/real.py linguist-generated\nvendor/** -linguist-vendored\n"}
    )
    assert roles(root).keys() == IN.keys() - {"src/real.py"} | {"vendor/lib/a.py"}
    assert "src/real.py" in roles(root, "generated")
    (root / ".gitattributes").unlink()
    assert roles(root).keys() == IN.keys()
