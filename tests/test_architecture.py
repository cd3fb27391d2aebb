"""The module map in docs/architecture.md is what the imports say: rows and order are read from its
table.
"""

import ast
import importlib
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from conftest import ROOT

PACKAGE = ROOT / "server" / "preread"
FILES = sorted(PACKAGE.rglob("*.py"))
# A script that removes a child's private files when nobody else is left to; `atomic` cannot be
# imported there.
SUPERVISOR = PACKAGE / "infra" / "subprocesses" / "supervisor.py"
SPAWNS, REPLACES = SUPERVISOR.parent, PACKAGE / "infra" / "atomic.py"
# The hooks start without the rest of the package, so that the gates have modules of their own for
# it.
GATES = PACKAGE / "gates"
GATES_SPAWN, GATES_REPLACE = GATES / "changes.py", GATES / "state_files.py"
SPAWNING_MODULES = {"subprocess", "multiprocessing", "pty", "asyncio.subprocess"}
SPAWNING_CALLS = re.compile(
    r"os\.(spawn\w+|exec\w+|posix_spawnp?|fork|forkpty|system|popen|startfile)"
    r"|(asyncio|anyio)\.(create_subprocess_\w+|run_process|open_process)"
)
REPLACING_CALLS = re.compile(
    r"os\.(replace|renames?|unlink|remove|rmdir|removedirs)|shutil\.(rmtree|move)|.*\.(unlink|rmdir|rename)"
)
OPENING_CALLS = re.compile(r"(?:.*\.)?(?:open|fdopen|read_text|read_bytes)")
# Those that open files of a project, and those that open others, which nobody else can prepare.
OPENS = {
    PACKAGE / "infra" / "reading.py",
    REPLACES,
    SUPERVISOR,
    PACKAGE / "infra" / "assets.py",  # what is installed
    PACKAGE / "builders" / "command.py",  # creates a file for the child in a new folder
    PACKAGE / "__main__.py",  # writes down a bug in a new file; the null device
    PACKAGE / "mcp" / "stdio.py",  # the null device
    PACKAGE / "daemon" / "metrics.py",  # what the system says of this process
    # The daemon's own files, in a folder that only the person can enter.
    *(PACKAGE / "daemon" / name for name in ("service.py", "stored.py")),
    PACKAGE / "documents" / "archives.py",  # a file within an archive
    PACKAGE / "infra" / "subprocesses" / "detached.py",  # the log of a process that stays
}


def table() -> dict[str, str]:
    """Module -> row, in the document's order."""
    rows, row = {}, ""
    text = (ROOT / "docs" / "architecture.md").read_text()
    for line in text.partition("| row | module |")[2].partition("\n\n")[0].split("\n")[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        row = cells[0] or row
        for name in re.findall(r"`([\w/]+)`", cells[1]):
            rows[name.rstrip("/")] = row
    return rows


ROWS = table()
BELOW_STEPS = ("base", "retrieval")
ORDER = {name: place for place, name in enumerate(ROWS)}


def live_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node, but for what stands under `if TYPE_CHECKING:`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            for other in child.orelse:
                yield from live_nodes(other)
        else:
            yield from live_nodes(child)


@cache
def imports(path: Path, package: Path = PACKAGE) -> set[str]:
    """The full names of the modules that a file imports, function-level imports included."""
    found = set()
    parts = (package.name, *path.relative_to(package).with_suffix("").parts)
    for node in live_nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join([*parts[: len(parts) - node.level], *filter(None, [node.module])])
                if node.level
                else node.module
            )
            names = {f"{base}.{alias.name}" for alias in node.names}
            modules = {name for name in names if is_module(package, name)}
            found |= modules | ({base} if modules != names else set())
    return found


def is_module(package: Path, name: str) -> bool:
    place = package.parent.joinpath(*name.split("."))
    return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()


def unit(path: Path) -> str:
    """The module of the map that a file belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def ours(path: Path) -> set[str]:
    """The modules of the map that a file imports, besides its own."""
    named = {name.split(".")[1] for name in imports(path) if name.startswith("preread.")}
    return named - {unit(path)}


@cache
def called(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}


def shown(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def test_the_table_is_read_whole_and_in_its_order() -> None:
    assert list(dict.fromkeys(ROWS.values())) == [
        "base",
        "retrieval",
        "steps",
        "composition",
        "faces",
    ]
    assert next(iter(ROWS)) == "errors"
    assert list(ROWS)[-1] == "__main__"


def test_the_functions_on_the_path_of_a_request_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition("## The path of a request")[2].partition("\n## ")[0]
    names = re.findall(r"^\| `([\w.]+)` \|", section, re.MULTILINE)
    assert len(names) > 10
    for name in names:
        words = name.split(".")
        size = next(
            n
            for n in range(len(words) - 1, 0, -1)
            if is_module(PACKAGE, f"preread.{'.'.join(words[:n])}")
        )
        found = importlib.import_module(f"preread.{'.'.join(words[:size])}")
        for word in words[size:]:
            found = getattr(found, word)
        assert callable(found), name


PARTS = ["infra", "dossier", "records", "builds", "agents", "daemon"]


@pytest.mark.parametrize("package", PARTS)
def test_the_map_lists_the_modules_of_a_package(package: str) -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    section = text.partition(f"### `{package}/`")[2].partition("\n#")[0]
    modules = {path.stem + "/" * path.is_dir() for path in (PACKAGE / package).iterdir()}
    listed = re.findall(r"^\| `([\w/]+)` \|", section, re.MULTILINE)
    assert sorted(listed) == sorted(modules - {"__init__", "__pycache__/"})


def test_every_module_file_has_a_row_and_every_row_a_module() -> None:
    assert {unit(path) for path in FILES} - {"__init__"} == set(ROWS)


def complaints(path: Path) -> Iterator[str]:
    """What is wrong with the imports of a file, by the table of modules."""
    if unit(path) == "__init__":
        yield from (f"{shown(path)} imports {name}" for name in ours(path))
        return
    row = ROWS[unit(path)]
    for name in ours(path):
        if ORDER[name] >= ORDER[unit(path)]:
            yield f"{shown(path)} imports {name}, which stands below it"
        if row == "steps" and ROWS[name] not in BELOW_STEPS:
            yield f"the step {shown(path)} imports {name}, another step"
        if row == "faces" and ROWS[name] in {"retrieval", "steps"}:
            yield f"the face {shown(path)} imports the step {name}"


def test_a_module_imports_only_what_stands_above_it() -> None:
    assert [text for path in FILES for text in complaints(path)] == []


def test_no_files_import_each_other_in_a_circle() -> None:
    files = {
        ".".join(("preread", *path.relative_to(PACKAGE).with_suffix("").parts)): path
        for path in FILES
    }
    files = {name.removesuffix(".__init__"): path for name, path in files.items()}
    graph = {
        name: {other for other in imports(path) if other in files and other != name}
        for name, path in files.items()
    }
    try:
        list(TopologicalSorter(graph).static_order())
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def calling(pattern: re.Pattern[str], paths: Iterable[Path]) -> set[tuple[str, str]]:
    """The files with calls that match, and these calls."""
    return {
        (shown(path), call) for path in paths for call in called(path) if pattern.fullmatch(call)
    }


def test_only_subprocesses_spawns() -> None:
    others = [path for path in FILES if SPAWNS not in path.parents and path != GATES_SPAWN]
    assert [shown(path) for path in others if imports(path) & SPAWNING_MODULES] == []
    assert calling(SPAWNING_CALLS, others) == set()


def test_only_atomic_replaces_and_removes_files() -> None:
    others = [path for path in FILES if path not in {REPLACES, SUPERVISOR, GATES_REPLACE}]
    assert calling(REPLACING_CALLS, others) == set()


def test_only_reading_opens_files() -> None:
    """It never waits for a pipe, follows no link, and tells unreadable files from absent ones."""
    others = [path for path in FILES if path not in OPENS and GATES not in path.parents]
    assert calling(OPENING_CALLS, others) == set()


def test_the_supervisor_stands_alone_and_removes_nothing_but_files_and_folders() -> None:
    assert not {name for name in imports(SUPERVISOR) if name.split(".")[0] == "preread"}
    assert {call for call in called(SUPERVISOR) if REPLACING_CALLS.fullmatch(call)} == {
        "os.unlink",
        "os.rmdir",
    }


@pytest.mark.parametrize("path", sorted(GATES.glob("*.py")), ids=shown)
def test_the_gates_import_only_the_standard_library_and_each_other(path: Path) -> None:
    assert {
        name
        for name in imports(path)
        if name.split(".")[0] not in sys.stdlib_module_names
        and not name.startswith("preread.gates")
    } == set()


def test_the_package_itself_imports_nothing() -> None:
    assert imports(PACKAGE / "__init__.py") == set()


SPEAKS_MCP = PACKAGE / "client" / "transports.py"


def test_only_the_mcp_server_and_its_client_import_mcp() -> None:
    others = [path for path in FILES if unit(path) != "mcp" and path != SPEAKS_MCP]
    found = {(shown(path), name) for path in others for name in imports(path)}
    assert {pair for pair in found if pair[1].split(".")[0] in {"mcp", "mcp_types"}} == set()


def test_imports_in_functions_are_seen_and_those_for_type_checkers_are_not(tmp_path: Path) -> None:
    package = tmp_path / "sample"
    package.mkdir()
    for name in ("__init__", "one", "two", "three"):
        (package / f"{name}.py").touch()
    path = package / "four.py"
    path.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from sample import three\n"
        "from sample.one import name\n"
        "def f():\n    from . import two\n    import os.path\n"
    )
    assert imports(path, package) == {"typing", "sample.one", "sample.two", "os.path"}


def test_a_call_that_spawns_removes_or_opens_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(
        "os.posix_spawn('x')\nplace.unlink()\nos.replace(a, b)\ntext.replace('a', 'b')\n"
        "place.read_text()\nopen('x')\nread_texts()\n"
    )
    assert {call for call in called(path) if OPENING_CALLS.fullmatch(call)} == {
        "place.read_text",
        "open",
    }
    assert {call for call in called(path) if SPAWNING_CALLS.fullmatch(call)} == {"os.posix_spawn"}
    assert {call for call in called(path) if REPLACING_CALLS.fullmatch(call)} == {
        "place.unlink",
        "os.replace",
    }


IMPORT = re.compile(r"^\s*from (preread[\w.]*) import (\w[\w, ]*)$", re.MULTILINE)


def test_what_the_benchmarks_import_exists() -> None:
    """Also in the programs that they start, which are texts to a type checker."""
    imports = {
        (module, name.split(" as ")[0].strip())
        for path in (ROOT / "bench").rglob("*.py")
        for module, names in IMPORT.findall(path.read_text(encoding="utf-8"))
        for name in names.split(",")
    }
    assert len(imports) > 10
    for module, name in sorted(imports):
        if not hasattr(importlib.import_module(module), name):
            importlib.import_module(f"{module}.{name}")  # a module that nothing has imported yet
