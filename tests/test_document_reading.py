"""Documents: what is read of each format, what hostile ones end in, and which ones count."""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

import _papers as papers
from _faces import answer
from preread import passages
from preread.documents import child, reading
from preread.documents.kinds import KINDS
from preread.documents.model import Document, Part
from preread.documents.references import references
from preread.dossier import sources
from preread.errors import PrereadError
from preread.layout import Layout
from preread.services import Services
from preread.settings import Settings

pytest.importorskip("pypdfium2")
pytestmark = pytest.mark.anyio

REFUND = "A refund must reach the customer within 14 days."
PAGES = [
    ["Rules of the till", "doi:10.1234/till.5", "Ada Byron"],
    ["2 Refunds", REFUND],
    ["References", "[1] J. Gray and A. Reuter. Transaction Processing. Elsevier, 1993.",
     '[2] L. Lamport, "Time, Clocks, and the Ordering of Events", 1978. doi:10.1145/359545.359563'],
]  # fmt: skip
INFO = "/Title (Rules of the till) /Author (Ada Byron, Bo Li) /CreationDate (D:20240305)"
BODY = (
    papers.paragraph("Before any heading.")
    + papers.paragraph("Refunds", "Heading1")
    + papers.paragraph(REFUND)
    + "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>card</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>3 days"
    "</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
)
HTML = (
    '<html lang="en"><head><title>Rules of the till</title><meta name="author" content="Ada Byron">'
    "<script>var secret = 1;</script></head><body><p>Before.</p><h2>Refunds</h2><p>A refund <b>must</b> "
    "reach the customer\nwithin 14 days.</p><table><tr><td>card</td><td>3 days</td></tr></table></body></html>"
)
FORMATS = {
    "till.pdf": papers.pdf(PAGES, INFO, "/Lang (en-GB)"),
    "till.docx": papers.docx(BODY),
    "till.pptx": papers.pptx([["Rules of the till"], ["Refunds", REFUND]]),
    "till.epub": papers.epub({"one": "<p>Before.</p>", "two": f"<h1>Refunds</h1><p>{REFUND}</p>"}),
    "till.html": HTML.encode(),
    "till.md": f"# Rules of the till\n\n| way | time |\n|---|---|\n| card | 3 days |\n\n## Refunds\n\n{REFUND}\n".encode(),
    "till.rst": f"Rules of the till\n=================\n\nBefore.\n\nRefunds\n-------\n\n{REFUND}\n".encode(),
    "till.txt": f"Title: Rules of the till\n\fRefunds\n{REFUND}\n".encode(),
}


def services(root: Path) -> Services:
    return Services(Layout(root.resolve()), Settings(), dict(os.environ))


def refused(root: Path, name: str, data: bytes) -> PrereadError:
    (root / name).write_bytes(data)
    with pytest.raises(PrereadError) as caught:
        reading.read(services(root).tree, name)
    return caught.value


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_gives_its_second_part_with_the_sentence_in_it(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(FORMATS[name])
    document = reading.read(services(tmp_path).tree, name).document
    assert REFUND in document.parts[1].lines
    assert document.about.get("title", "Rules of the till") == "Rules of the till"
    assert not any("secret" in line for part in document.parts for line in part.lines)
    assert set(FORMATS) >= {
        f"till{suffix}"
        for suffix in KINDS
        if suffix not in {".docm", ".htm", ".xhtml", ".markdown", ".text"}
    }


def test_metadata_tables_and_references_come_as_records(tmp_path: Path) -> None:
    for name, data in FORMATS.items():
        (tmp_path / name).write_bytes(data)
    tree = services(tmp_path).tree
    about = reading.read(tree, "till.pdf").document.about
    assert about == {
        "title": "Rules of the till", "authors": "Ada Byron, Bo Li", "date": "2024-03-05",
        "pages": "3", "language": "en-GB",
    }  # fmt: skip
    assert reading.read(tree, "till.docx").document.about["authors"] == "Ada Byron; Bo Li"
    slide = (
        '<p:sld xmlns:p="p" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:p>'
    )
    slide += "<a:t>Refunds</a:t></a:p></p:sld>"
    (tmp_path / "own.pptx").write_bytes(papers.archive({"ppt/slides/slide1.xml": slide}))
    assert reading.read(tree, "own.pptx").document.about["title"] == "Refunds"
    for name, part in {"till.docx": 2, "till.html": 2, "till.md": 1}.items():
        (table,) = reading.read(tree, name).document.tables
        assert (table.part, table.rows[-1]) == (part, ("card", "3 days"))


WORDS = {(60, 680): "way", (160, 680): "days", (60, 660): "card", (160, 660): "3",
         (60, 640): "cash at till", (160, 640): "none"}  # fmt: skip
ACROSS = [(50, y, 250, y) for y in (694, 674, 634)]
GRID = [*ACROSS, (50, 654, 250, 654), *((x, 634, x, 694) for x in (50, 150, 250))]
PROSE = {(60, y): "A refund must reach the customer in time" for y in (680, 660, 640)}


@pytest.mark.parametrize(
    ("drawn", "there"),
    [
        (papers.words(WORDS) + " " + papers.rules(*GRID), True),
        (papers.words(WORDS) + " " + papers.rules(*ACROSS), True),
        (papers.words(WORDS), False),  # columns without lines
        (papers.words(PROSE) + " " + papers.rules(*GRID), False),  # a figure behind a text
        (papers.words(PROSE) + " " + papers.rules(*ACROSS), False),
    ],
    ids=["grid", "three rules", "no rules", "text in a grid", "text between rules"],
)
def test_a_pdf_s_table_is_seen_by_its_lines(tmp_path: Path, drawn: str, there: bool) -> None:
    (tmp_path / "a.pdf").write_bytes(papers.pdf([["Fees"]], drawn=drawn))
    document = reading.read(services(tmp_path).tree, "a.pdf").document
    rows = (("way", "days"), ("card", "3"), ("cash at till", "none"))
    assert [(table.part, table.rows) for table in document.tables] == ([(1, rows)] if there else [])


RST = """Fees
====

=====  ====
way    days
=====  ====
card   3
=====  ====

Refunds
-------

+------+-------+
| way  | *who* |
+======+=======+
| card | bank  |
+------+-------+

.. csv-table::

   a, "b, c"

.. list-table::

   * - d
     - e

.. csv-table::
   :file: /etc/passwd

.. include:: /etc/passwd
"""


def test_tables_of_restructured_text_are_read_and_no_file_that_it_names(tmp_path: Path) -> None:
    pytest.importorskip("docutils")
    (tmp_path / "a.rst").write_text(RST)
    document = reading.read(services(tmp_path).tree, "a.rst").document
    assert [(table.part, table.rows) for table in document.tables] == [
        (1, (("way", "days"), ("card", "3"))), (2, (("way", "who"), ("card", "bank"))),
        (2, (("a", "b, c"),)), (2, (("d", "e"),)),
    ]  # fmt: skip
    assert "root:" not in str(document)


def test_an_encrypted_pdf_opens_without_a_user_password_and_else_says_so(tmp_path: Path) -> None:
    made = Path(__file__).parent / "data" / "documents"
    (tmp_path / "a.pdf").write_bytes((made / "owner-password.pdf").read_bytes())
    opened = reading.read(services(tmp_path).tree, "a.pdf").document
    assert opened.parts[0].lines == ("The till opens at nine.",)
    error = refused(tmp_path, "b.pdf", (made / "user-password.pdf").read_bytes())
    assert (error.code, error.details["reason"]) == ("E_DOCUMENT", "encrypted")
    assert "without a password" in error.hint


async def test_load_read_and_list_say_what_a_document_is(project: Path) -> None:
    (project / "docs" / "till.pdf").write_bytes(FORMATS["till.pdf"])
    loaded = (
        await answer(
            project, {"method": "load_pdf_document", "params": {"paths": ["docs/till.pdf"]}}
        )
    )["result"]
    (one,) = loaded["documents"]
    assert (one["parts"], one["references"], one["about"]["doi"]) == (3, 2, "10.1234/till.5")
    assert one["about"]["authors"] == ["Ada Byron", "Bo Li"]
    assert one["about"]["pages"] == 3
    read = (
        await answer(
            project,
            {
                "method": "documents.read",
                "params": {"path": "docs/till.pdf", "first": 2, "last": 2},
            },
        )
    )["result"]
    assert [(part["cite"], REFUND in part["text"]) for part in read["parts"]] == [
        ("doc:docs/till.pdf#p2", True)
    ]
    first, second = read["references"]
    assert (first["authors"], first["title"], first["year"]) == (
        "J. Gray and A. Reuter",
        "Transaction Processing",
        "1993",
    )
    assert (second["title"], second["doi"]) == (
        "Time, Clocks, and the Ordering of Events",
        "10.1145/359545.359563",
    )
    (project / "docs" / "till.pdf").write_bytes(papers.pdf([["Other rules"]]))
    listed = (await answer(project, {"method": "documents.list"}))["result"]["documents"]
    assert [(it["path"], it["is_changed"]) for it in listed] == [("docs/till.pdf", True)]


async def test_a_document_from_outside_is_copied_for_a_person_and_refused_to_an_agent(
    project: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "elsewhere" / "The Till.pdf"
    outside.parent.mkdir()
    outside.write_bytes(FORMATS["till.pdf"])
    call = {"method": "documents.load", "params": {"paths": [str(outside)]}}
    refused = await answer(project, call, by="an-agent")
    assert refused["error"]["code"] == "E_NOT_ALLOWED"
    (one,) = (await answer(project, call))["result"]["documents"]
    assert one["path"].startswith(".project/documents/the-till-")
    assert (project / one["path"]).read_bytes() == FORMATS["till.pdf"]
    assert one["digest"][:12] in one["path"]


async def test_a_folder_is_one_call_and_names_what_it_could_not_read(project: Path) -> None:
    for name, data in FORMATS.items():
        (project / "docs" / name).write_bytes(data)
    (project / "docs" / "bad.docx").write_bytes(b"PK no archive")
    for number in range(12):
        (project / "docs" / f"paper-{number}.md").write_bytes(FORMATS["till.md"])
    reply = (await answer(project, {"method": "documents.load", "params": {"paths": ["docs"]}}))[
        "result"
    ]
    assert {Path(one["path"]).name for one in reply["documents"]} >= set(FORMATS)
    assert [(it["path"], it["code"]) for it in reply["failed"]] == [("docs/bad.docx", "E_DOCUMENT")]
    assert len(reply["documents"]) >= 20
    # So is everything that follows; a folder may be named again, and one that broke since then.
    (project / "docs" / "till.pptx").write_bytes(b"PK no archive")
    for method, paths in (
        ("documents.entities", ()), ("documents.relations", ["docs"]), ("graph.build", ()),
    ):  # fmt: skip
        call = {"method": method, "params": {"paths": paths, "threshold": 0.5}}
        made = (await answer(project, call))["result"]["made"]
        bad = {"docs/till.pptx", *(["docs/bad.docx"] if paths else [])}
        assert set(made["unread"]) == bad
        assert made["unread"]["docs/till.pptx"].startswith("E_DOCUMENT: docs/till.pptx cannot be")
        assert len(made["documents"]) >= 19
    params = {"folder": "out", "paths": ["docs"]}
    saved = await answer(project, {"method": "graph.save", "params": params})
    assert set(saved["result"]["made"]["unread"]) == {"docs/till.pptx", "docs/bad.docx"}
    assert "\nNot read: E\\_DOCUMENT: docs/till.pptx " in (project / "out/report.md").read_text()
    (project / "empty").mkdir()
    none = {"method": "graph.build", "params": {"paths": ["empty"]}}
    assert (await answer(project, none))["error"]["code"] == "E_NOT_FOUND"
    only = {"method": "graph.build", "params": {"paths": ["docs/till.pptx"]}}
    assert (await answer(project, only))["error"]["code"] == "E_DOCUMENT"


async def test_a_document_that_takes_long_says_so_again_and_can_be_cancelled(
    project: Path, monkeypatch
) -> None:
    """A reader that never ends, in place of one of ours."""
    monkeypatch.setattr("preread.services.TICK", 0)
    monkeypatch.setattr(reading, "PROGRAM", "import time; time.sleep(600)")
    (project / "docs" / "a.html").write_text("<p>x</p>")
    told: list[tuple[str, float, float]] = []

    async def report(*progress: Any) -> None:
        told.append(progress)
        if len(told) == 4:
            scope.cancel()

    call = {"method": "documents.load", "params": {"paths": ["docs/a.html"]}}
    with anyio.CancelScope() as scope:
        await answer(project, call, report=report)
    assert scope.cancelled_caught
    assert told == [("reading a.html", 0, 1)] * 4


@contextmanager
def accepted_or_refused() -> Iterator[None]:
    """Nothing but a clear error may leave the block."""
    try:
        yield
    except PrereadError as error:
        if error.code not in {"E_DOCUMENT", "E_DOCUMENT_LIMIT"}:
            raise


LISTED = '<x><CipherReference URI="OPS/{}.xhtml"/></x>'


def locked(name: str) -> bytes:
    """A book in which a member is listed as encrypted."""
    encryption = {"META-INF/encryption.xml": LISTED.format(name)}
    return papers.epub({"one": "<p>Before.</p>"}, more=encryption)


ENTITIES = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
# The large ones are made when a test needs them, not in each process that collects tests.
HOSTILE: dict[str, tuple[str, bytes | Callable[[], bytes], str, str]] = {
    "too many pages": (
        "a.pdf",
        lambda: papers.pdf([[]] * 5001),
        "E_DOCUMENT_LIMIT",
        "pages",
    ),
    "no PDF at all": ("a.pdf", b"hello", "E_DOCUMENT", "damaged"),
    "an empty file": ("a.pdf", b"", "E_DOCUMENT", "damaged"),
    "a head only": ("a.pdf", FORMATS["till.pdf"][:40], "E_DOCUMENT", "damaged"),
    "an archive cut short": ("a.docx", FORMATS["till.docx"][:-40], "E_DOCUMENT", "damaged"),
    "an encrypted file": ("a.docx", b"\xd0\xcf\x11\xe0" + bytes(600), "E_DOCUMENT", "encrypted"),
    "an entity bomb": (
        "a.docx",
        papers.archive({"word/document.xml": ENTITIES + "<x>&b;</x>"}),
        "E_DOCUMENT_LIMIT",
        "size",
    ),
    "a zip bomb": (
        "a.docx",
        lambda: papers.archive({"word/document.xml": "x" * 120_000_000}),
        "E_DOCUMENT_LIMIT",
        "size",
    ),
    "a book that is locked": ("a.epub", locked("one"), "E_DOCUMENT", "encrypted"),
    "an archive without text": ("a.epub", papers.archive({"a": "b"}), "E_DOCUMENT", "damaged"),
    "no format": ("a.exe", b"MZ", "E_DOCUMENT", "format"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_documents_end_in_a_clear_error(tmp_path: Path, what: str) -> None:
    name, data, code, reason = HOSTILE[what]
    error = refused(tmp_path, name, data() if callable(data) else data)
    assert (error.code, error.details["reason"]) == (code, reason)


def test_two_thousand_pages_are_read_and_a_limit_says_itself_and_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(papers.pdf([[]] * 1999 + [["The end."]]))
    document = reading.read(services(tmp_path).tree, "a.pdf").document
    assert (len(document.parts), document.parts[1999].lines) == (2000, ("The end.",))
    error = refused(tmp_path, "b.pdf", papers.pdf([[]] * 5001))
    assert "5,001 pages, more than the 5,000" in error.message
    assert "smaller files" in error.hint


def test_a_book_is_read_by_its_spine_once_and_says_what_is_missing(
    tmp_path: Path, monkeypatch
) -> None:
    chapters = {"one": "<h1>One</h1><script>x</script>", "two": "<h1>Two</h1>"}
    spine = ["two#a", "two#b", "one", "one#c", "lost", "gone"]
    fonts = {"META-INF/encryption.xml": LISTED.format("font")}
    (tmp_path / "a.epub").write_bytes(papers.epub(chapters, spine, fonts))
    found = reading.read(services(tmp_path).tree, "a.epub").document
    assert [part.lines for part in found.parts] == [("Two",), ("One",)]
    assert found.warnings == (
        "2 of its 4 chapters are missing, first OPS/lost.xhtml",
        "it has scripts, which were not run",
    )
    monkeypatch.setattr(papers, "CORE", "")
    (tmp_path / "b.epub").write_bytes(papers.epub(chapters))
    assert reading.read(services(tmp_path).tree, "b.epub").document.about["title"] == "One"


def test_pages_that_contain_themselves_end(tmp_path: Path) -> None:
    looped = FORMATS["till.pdf"].replace(b"/Kids [4 0 R", b"/Kids [2 0 R")
    (tmp_path / "a.pdf").write_bytes(looped)
    with accepted_or_refused():
        assert len(reading.read(services(tmp_path).tree, "a.pdf").document.parts) <= 3


@pytest.mark.parametrize("seed", range(int(os.environ.get("PREREAD_CORRUPTED", "5"))))
def test_a_corrupted_document_is_read_or_refused_within_its_time(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    name = chance.choice(["till.pdf", "till.docx", "till.epub", "till.pptx", "till.html"])
    data = bytearray(FORMATS[name])
    for _ in range(chance.randint(1, 40)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    (tmp_path / name).write_bytes(data[: chance.randint(len(data) // 2, len(data))])
    with accepted_or_refused():
        assert reading.read(services(tmp_path).tree, name).document.parts


@pytest.mark.parametrize(
    ("work", "reason"),
    [("while True: pass", "time"), ("x = [bytes(10**8) for _ in range(99)]", "memory")],
)
def test_the_limits_of_the_child_are_real(
    tmp_path: Path, monkeypatch, work: str, reason: str
) -> None:
    """A reader that loops or takes all memory, in place of one of ours."""
    (tmp_path / "a.html").write_bytes(b"<p>x</p>")
    program = f"""
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from preread.documents import child, hypertext
child.SECONDS = 1
def read(data):
    {work}
hypertext.read = read
child.serve(*sys.argv[2:])
"""
    monkeypatch.setattr(reading, "PROGRAM", program)
    with pytest.raises(PrereadError) as caught:
        reading.read(services(tmp_path).tree, "a.html")
    assert (caught.value.code, caught.value.details["reason"]) == ("E_DOCUMENT_LIMIT", reason)
    assert {"time": "30 s of processor", "memory": "1.5 GB"}[reason] in caught.value.message


def test_scripts_are_named_and_not_run(tmp_path: Path) -> None:
    action = "/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>"
    (tmp_path / "a.pdf").write_bytes(papers.pdf(PAGES, catalog=action))
    document = reading.read(services(tmp_path).tree, "a.pdf").document
    assert document.warnings == ("it has scripts, which were not run",)


def test_without_its_package_a_pdf_is_refused_with_the_name_of_the_extra(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(reading.importlib.util, "find_spec", lambda name: None)
    error = refused(tmp_path, "a.pdf", FORMATS["till.pdf"])
    assert error.code == "E_EXTRA"
    assert 'pip install "preread[documents]"' in error.hint


def test_a_missing_file_is_missing_even_without_the_package_that_would_read_it(
    tmp_path: Path, monkeypatch
) -> None:
    monkeypatch.setattr(reading.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(PrereadError) as caught:
        reading.read(services(tmp_path).tree, "gone.pdf")
    assert caught.value.code == "E_NOT_FOUND"
    assert caught.value.hint


def test_a_document_is_read_once_until_it_changes(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(FORMATS["till.pdf"])
    own = services(tmp_path)
    runs = []
    own.tree.run = lambda *args, **options: runs.append(1) or own.run(*args, **options)
    reading.read(own.tree, "a.pdf")
    reading.read(own.tree, "a.pdf")
    assert len(runs) == 1
    (tmp_path / "a.pdf").write_bytes(papers.pdf([["Other"]]))
    assert reading.read(own.tree, "a.pdf").document.parts[0].lines == ("Other",)
    assert len(runs) == 2


def test_an_answer_that_the_child_could_not_finish_is_a_crash(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(reading, "PROGRAM", "import os; os.abort()")
    assert refused(tmp_path, "a.html", b"<p>x</p>").details["reason"] == "crashed"


def resolved(root: Path, source: str) -> Any:
    ref = sources.parse(source)
    assert ref is not None
    return sources.resolve(ref, services(root).tree)


def test_a_doc_source_resolves_to_its_page_and_its_digest_follows_that_page(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(FORMATS["till.pdf"])
    before = resolved(tmp_path, "doc:a.pdf#p2")
    assert REFUND in before.lines
    (tmp_path / "a.pdf").write_bytes(papers.pdf([["A new first page"], *PAGES[1:]]))
    assert resolved(tmp_path, "doc:a.pdf#p2").digest == before.digest
    (tmp_path / "a.pdf").write_bytes(papers.pdf([PAGES[0], ["Refunds take a month"]]))
    assert resolved(tmp_path, "doc:a.pdf#p2").digest != before.digest
    for source, code in {"doc:a.pdf#p3": "E_SOURCE_LINES", "doc:b.pdf#p1": "E_SOURCE_FILE"}.items():
        with pytest.raises(sources.SourceError) as caught:
            resolved(tmp_path, source)
        assert caught.value.code == code


def test_the_child_answers_for_what_is_too_long_or_too_deep() -> None:
    def deep(data: bytes) -> Any:
        return deep(data)

    assert child.answer(deep, b"")["reason"] == "damaged"


async def test_what_a_document_demands_is_in_the_dossier_until_the_document_says_otherwise(
    project: Path,
) -> None:
    place = project / "docs" / "till.pdf"
    place.write_bytes(
        papers.pdf(
            [
                ["Rules of the till"],
                ["2 Checkout", "A checkout must be refused without a signature.", "Blue is nice."],
            ]
        )
    )
    before = (await answer(project, {"method": "context.load", "params": {"feature": "checkout"}}))[
        "result"
    ]
    assert "signature" not in before["dossier"]
    await answer(project, {"method": "documents.load", "params": {"paths": ["docs/till.pdf"]}})
    reply = (await answer(project, {"method": "context.load", "params": {"feature": "checkout"}}))[
        "result"
    ]
    assert reply["state"] != "cached"
    told = (project / reply["path"] / "requirements.md").read_text()
    assert "`A checkout must be refused without a signature.` (doc:docs/till.pdf#p2)" in told
    assert "Blue" not in told
    place.write_bytes(papers.pdf([["Rules of the till"], ["Nothing"]]))
    status = (await answer(project, {"method": "context.load", "params": {"feature": "checkout"}}))[
        "result"
    ]
    assert status["state"] != "cached"
    assert "signature" not in (project / reply["path"] / "requirements.md").read_text()


def test_sentences_are_told_with_their_lines_and_without_the_heading() -> None:
    long = "It is " + "very " * 100 + "long."
    lines = (
        "Refunds",
        "A refund must reach",
        "the customer. Cash is",
        long,
        "kept. Nothing else is.",
    )
    told = list(passages.sentences(Part(lines, "Refunds")))
    assert told == [(2, "A refund must reach the customer."), (5, "Nothing else is.")]
    assert (1, "2 Refunds") in passages.sentences(Part(("2 Refunds", "Now.")))
    said = Part(("Refunds are paid.", "Now."), "Refunds are paid.")
    assert [line for line, _ in passages.sentences(said)] == [1, 2]


def test_a_word_that_a_pdf_divides_is_whole(tmp_path: Path) -> None:
    lines = ["Rules of the till", "All customers and their ob-", "jects are written in UTF-", "8."]
    (tmp_path / "a.pdf").write_bytes(papers.pdf([lines]))
    (part,) = reading.read(services(tmp_path).tree, "a.pdf").document.parts
    assert part.lines[1:] == ("All customers and their objects are written in UTF-8.",)


@pytest.mark.parametrize(
    ("entries", "titles"),
    [
        (['[1] L. Lamport, "Time, Clocks, and the Ordering of Events", 1978.'],
         ["Time, Clocks, and the Ordering of Events"]),
        (["1. J. Gray and A. Reuter. Transaction Processing. Elsevier,", "   1993."],
         ["Transaction Processing"]),
        (["Gray, J. (1993). Transaction Processing. See also [1] there."],
         ["Transaction Processing"]),
        (["Nothing was cited here."], []),
    ],
    ids=["quoted", "numbered", "named", "none"],
)  # fmt: skip
def test_a_list_of_one_reference_is_seen(entries: list[str], titles: list[str]) -> None:
    document = Document((Part(("Text.",)), Part(("References", "", *entries), "References")))
    assert [one.title for one in references(document)] == titles


async def test_recall_also_says_what_documents_say(project: Path) -> None:
    (project / "docs" / "till.pdf").write_bytes(FORMATS["till.pdf"])
    await answer(project, {"method": "documents.load", "params": {"paths": ["docs/till.pdf"]}})
    reply = (
        await answer(project, {"method": "recall", "params": {"topic": "refunds of customers"}})
    )["result"]
    assert reply["documents"][0] == {
        "text": REFUND,
        "source": "doc:docs/till.pdf#p2",
    }
