"""The documents say what the code does."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from _documents import ROOT, TABLES, reply, written
from conftest import Cli
from preread.check import CONFIDENCE
from preread.dossier import sources
from preread.errors import CODES
from preread.layout import FILES, MANIFEST


@pytest.mark.parametrize("document", TABLES)
def test_tables_of_commands_settings_and_errors_are_those_of_the_code(document: str) -> None:
    assert (ROOT / document).read_text(encoding="utf-8") == written(document), (
        "run: python tests/_documents.py"
    )


def test_the_example_of_evidence_is_what_is_found() -> None:
    text = (ROOT / "docs/evidence.md").read_text(encoding="utf-8").split("```")[1]
    found = reply()
    known = {
        f"{one.path}:{span}"
        for one in (*found.files, *found.tests, *found.docs)
        for span in _spans(one.lines)
    }
    rows = re.findall(r"^ \d +█\S* +(\S+?):(\d.*?)  +\S", text, re.MULTILINE)
    assert len(rows) == 9
    for path, spans in rows:
        if "…" in path + spans:
            continue  # cut to the width
        assert {f"{path}:{span}" for span in spans.split(", ")} <= known, (
            "run: python tests/_documents.py"
        )
    folded = " ".join(text.split())
    listed = [line.strip() for line in text.split("\n")]
    headings = {f"{one.file}: {one.section}" for one in found.findings}
    shown = [one for one in found.findings[:3] if " ".join(one.text.split()) in folded]
    assert len(shown) == 3, "run: python tests/_documents.py"
    assert headings & set(listed) == {f"{one.file}: {one.section}" for one in shown}
    total = len(found.findings)
    assert f"{total - 3} more findings (--limit {total} shows all)" in listed, (
        "run: python tests/_documents.py"
    )


def test_the_readme_shows_what_the_example_says(project: Path, cli: Cli) -> None:
    sample = (ROOT / "README.md").read_text(encoding="utf-8").split("```markdown\n")[1]
    lines = [line for line in sample.split("```")[0].split("\n") if line]
    assert len(lines) == 4
    dossier = cli("load", "checkout", "--level", "light", "--json", cwd=project).json["dossier"]
    assert [line for line in lines if line not in dossier.split("\n")] == []


def _spans(lines: tuple[tuple[int, int], ...]) -> list[str]:
    return [str(start) if start == end else f"{start}-{end}" for start, end in lines]


def test_every_error_code_in_the_code_is_documented() -> None:
    used = set()
    for path in (ROOT / "server").rglob("*.py"):
        used |= set(re.findall(r'"(E_[A-Z_]+)"', path.read_text(encoding="utf-8")))
    listed = "".join(
        (ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("dossier", "run-log")
    )
    of_checks = set(re.findall(r"^\| `(E_[A-Z_]+)`", listed, re.MULTILINE))
    assert used - set(CODES) == of_checks


def test_the_dossier_document_names_every_file_source_and_state() -> None:
    text = (ROOT / "docs/dossier.md").read_text(encoding="utf-8")
    for name in (*(row.name for row in FILES), MANIFEST):
        assert f"| `{name}` |" in text
    for state, confidence in CONFIDENCE.items():
        assert re.search(rf"\| `{state}` \|.*\| {confidence} \|", text)
    forms = re.findall(
        r"^\| (`.+?`) \|", text.partition("## Sources")[2].partition("## States")[0], re.MULTILINE
    )
    kinds = set()
    for form in re.findall(r"`([^`]+)`", " ".join(forms)):
        filled = (
            form.replace("<id>", "x1")
            .replace("<ID>", "X-1")
            .replace("<path>", "a.py")
            .replace("<glob>", "t/**")
            .replace("<who>@<date>", "ada@2026-11-22")
        )
        filled = (
            filled.replace("<literal>", "x")
            .replace("<scheme>://…", "docs://x")
            .replace("path", "a.py")
        )
        ref = sources.parse(filled)
        assert ref is not None, form
        kinds.add(ref.kind)
    assert kinds == set(sources.ROWS)


def test_every_dependency_says_why_it_is_there() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    wanted = [
        *project["dependencies"],
        *(d for extra in project["optional-dependencies"].values() for d in extra),
    ]
    grammars = [line for line in text.split("\n") if '"tree-sitter-' in line]
    assert any("#" in line for line in grammars)
    for name in wanted:
        line = next(line for line in text.split("\n") if f'"{name}"' in line)
        assert "#" in line or '"tree-sitter-' in line or name.startswith("preread["), line


def test_links_between_documents_lead_somewhere() -> None:
    for path in [
        ROOT / "README.md",
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "bench").glob("*.md"),
    ]:
        for target in re.findall(r"\]\(([^)#:]+?)(?:#[\w-]*)?\)", path.read_text(encoding="utf-8")):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_no_file_names_a_path_of_one_machine() -> None:
    home = re.compile(r"/(?:root|home|Users)/[\w.-]+/")
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    text_files = {".md", ".py", ".toml", ".json", ".j2", ".sh", ""}
    for name in filter(None, listed.split("\0")):
        path = Path(ROOT / name)
        if path.suffix in text_files and path.is_file() and not name.startswith("tests/"):
            assert not home.search(path.read_text(encoding="utf-8", errors="replace")), name
