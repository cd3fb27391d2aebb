"""A file of remembered facts: each change touches its own lines and nothing else."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM, services, write
from conftest import git
from preread.dossier import fact_notes, fact_text, markdown
from preread.errors import PrereadError
from preread.layout import Layout
from preread.memory import files
from preread.memory.book import Book, similar

OURS = (
    "# Knowledge\n\n## Money\n"
    "- whole cents everywhere (src/money.py:1)\n"
    "<!-- ask Bob about this one -->\n"
    "- round once (src/money.py:2) <!-- from the review -->\n\n"
    "## Tests\n- never sleep (said:bob@2026-01-05)\n\nfree prose of a person\n"
)
SAID = ("said:ada@2026-11-22",)
NOTE = {"by": "ada", "at": "2026-11-22T11:40:02Z", "tags": "money", "topic": ""}


def ids(book: Book) -> list[str]:
    return [entry.id for entry in book.entries]


def texts(text: str) -> list[str]:
    """The facts that everything else reads."""
    return [fact.text for fact in markdown.parse("knowledge.md", "", text)[0].facts]


def added(text: str | None, *facts: str, collection: str = "Money") -> Book:
    book = Book(text)
    for fact in facts:
        book.add(collection, fact, SAID, NOTE)
    return book


# -- notes


def test_a_note_is_read_back_as_it_was_written_whatever_its_values_say() -> None:
    values = {"id": "3f9a01bc", "by": "a;b --> c", "tags": "x, y", "forgotten": "2026 by ada: why"}
    comments = fact_notes.written("<!-- mine -->", values)
    assert comments.startswith("<!-- mine --> <!-- id: 3f9a01bc; ")
    read = fact_notes.read(comments)
    assert read == values | {"by": "a b c"}
    again = fact_notes.written(comments, read | {"tags": ""})
    assert fact_notes.read(again) == {key: read[key] for key in ("id", "by", "forgotten")}
    assert again.startswith("<!-- mine --> <!-- id:")


@CALM
@given(st.text(alphabet="ab <>!-`;:\r", max_size=40))
def test_splitting_a_line_loses_nothing_and_ends(text: str) -> None:
    fact, comments = fact_notes.split(text)
    assert text.startswith(fact)
    assert not fact.endswith("-->") or "<!--" not in fact
    assert (fact + comments).replace(" ", "") == text.replace(" ", "").replace(
        "\r", ""
    ) or "\r" in text


# -- what others read


def test_comments_at_the_end_of_a_line_are_not_part_of_its_fact() -> None:
    assert texts(OURS) == ["whole cents everywhere", "round once", "never sleep"]
    inside = (
        "# Knowledge\n\n## X\n- templates use `<!-- x -->` there (a.html:1) <!-- id: 0123abcd -->\n"
    )
    assert texts(inside) == ["templates use `<!-- x -->` there"]


def test_in_a_dossier_a_comment_at_the_end_of_a_line_is_not_a_source() -> None:
    text = "# Patterns: a\n\n## X\n- y (a.py:1) <!-- id: 0123abcd -->\n"
    problems = markdown.parse("patterns.md", "a", text)[1]
    assert [problem.code for problem in problems] == ["E_FACT_SOURCE"]


@pytest.mark.parametrize("mark", fact_notes.RETIRED)
def test_a_retired_fact_is_left_out_and_its_path_still_counts(mark: str) -> None:
    text = (
        "# Knowledge\n\n## X\n"
        f"- old (src/deep/a.py:1) <!-- id: 0123abcd; {mark}: 89abcdef -->\n- new (a.py:2)\n"
    )
    (fact,) = markdown.parse("knowledge.md", "", text)[0].facts
    assert (fact.text, fact.sources) == ("new", ("src/deep/a.py:2",))
    every = markdown.parse("knowledge.md", "", text, retired=True)[0].facts
    assert [fact.text for fact in every] == ["old", "new"]


# -- adding


def test_a_new_fact_goes_to_the_end_of_its_collection_and_every_other_byte_stays() -> None:
    text = added(OURS, "gift cards are never discounted").text
    lines = text.split("\n")
    (new,) = [line for line in lines if "gift" in line]
    assert new == (
        f"- gift cards are never discounted ({SAID[0]}) "
        f"<!-- id: {fact_text.fact_id('knowledge.md', 'gift cards are never discounted')}; by: ada; "
        "at: 2026-11-22T11:40:02Z; tags: money -->"
    )
    assert lines.index(new) == 6
    lines.remove(new)
    assert "\n".join(lines) == OURS


def test_a_new_collection_goes_to_the_end_of_the_file() -> None:
    text = added(OURS, "wait for the address", collection="Lessons").text
    assert text.startswith(OURS)
    assert text.endswith("(said:ada@2026-11-22) " + text.rpartition(") ")[2])
    assert "\n\n## Lessons\n- wait" in text


@pytest.mark.parametrize("text", [None, "", "# Knowledge\n", "# Knowledge"])
def test_a_file_begins_with_its_title(text: str | None) -> None:
    book = added(text, "a fact")
    assert book.text.startswith("# Knowledge\n\n## Money\n- a fact (")
    assert book.text.endswith("-->\n")


def test_windows_line_endings_and_bytes_that_are_not_text_stay(tmp_path: Path) -> None:
    root = write(tmp_path, {"src/money.py": "a\nb\n"})
    path = root / ".project" / "knowledge.md"
    path.parent.mkdir()
    before = OURS.replace("\n", "\r\n").encode() + b"\xff odd\r\n"
    path.write_bytes(before)
    layout = Layout(root)
    files.edit(layout, lambda book: book.add("Money", "new", SAID, NOTE), personal=False)
    lines = path.read_bytes().split(b"\r\n")
    (new,) = [line for line in lines if line.startswith(b"- new")]
    lines.remove(new)
    assert b"\r\n".join(lines) == before


def test_a_short_path_keeps_its_meaning_when_a_new_line_makes_it_ambiguous() -> None:
    text = "# Knowledge\n\n## A\n- one (src/a.py:1)\n\n## B\n- two (a.py:2)\n- three (a.py:3)\n"
    book = Book(text)
    book.add("A", "new", ("lib/a.py:9",), NOTE)
    found = {
        fact.text: fact.sources for fact in markdown.parse("knowledge.md", "", book.text)[0].facts
    }
    assert found == {
        "one": ("src/a.py:1",), "new": ("lib/a.py:9",), "two": ("src/a.py:2",),
        "three": ("src/a.py:3",),
    }  # fmt: skip
    book = Book("# Knowledge\n\n## A\n- one (src/a.py:1)\n")
    book.add("A", "of the root", ("a.py:9",), NOTE)
    assert book.find("of the root").sources == ("a.py:9",)


def test_a_new_fact_after_an_unclosed_code_block_is_refused() -> None:
    with pytest.raises(PrereadError) as caught:
        added("# Knowledge\n\n## A\nSource: a.py\n```\nx\n", "new")
    assert caught.value.code == "E_REMEMBER"


# -- facts that an editor wrapped

WRAPPED = (
    "# Knowledge\n\n## Money\n"
    "- the gateway answers within 12 s\n  when healthy (src/a.py:1,\n\tsrc/b.py:2) <!-- id: 0123abcd;\n"
    "  by: ada; topic: wait -->\n"
    "  - a list below it\n"
    "- no sources yet\n  on two lines\n"
    "- ends here (src/a.py:3)\n  not this\n"
    "- goes on (src/a.py:4)\n  to the end (src/a.py:5)\n"
)


def test_indented_lines_belong_to_a_fact_as_far_as_its_sources_and_comments() -> None:
    assert [(entry.text, entry.sources) for entry in Book(WRAPPED).entries] == [
        ("the gateway answers within 12 s when healthy", ("src/a.py:1", "src/b.py:2")),
        ("no sources yet on two lines", ()),
        ("ends here", ("src/a.py:3",)),
        ("goes on (src/a.py:4) to the end", ("src/a.py:5",)),
    ]
    assert Book(WRAPPED).entries[0].note == {"id": "0123abcd", "by": "ada", "topic": "wait"}
    _, problems = markdown.parse("knowledge.md", "", WRAPPED)
    assert [(one.line, one.code) for one in problems] == [
        (8, "E_PROSE"), (9, "E_FACT_SOURCE"), (12, "E_PROSE"),
    ]  # fmt: skip


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("cut", [3, 8, 10, 12, 14])
def test_a_new_fact_is_never_inserted_between_the_lines_of_another(cut: int, ending: str) -> None:
    text = ending.join((*WRAPPED.split("\n")[:cut], ""))
    assert added(text, "new").text.startswith(text + "- new (" if cut > 3 else text)


def test_a_change_makes_a_wrapped_fact_one_line_and_leaves_the_others() -> None:
    book = Book(WRAPPED)
    for entry in reversed(book.entries):
        book.retire(entry, "forgotten", "2026-11-22 by ada", NOTE["at"])
    assert texts(book.text) == []
    lines = book.text.split("\n")
    assert len(lines) == len(WRAPPED.split("\n")) - 5
    assert lines[3] == (
        "- the gateway answers within 12 s when healthy (src/a.py:1, src/b.py:2) "
        "<!-- id: 0123abcd; by: ada; topic: wait; forgotten: 2026-11-22 by ada; "
        "retired-at: 2026-11-22T11:40:02Z -->"
    )
    assert lines[4] == "  - a list below it"
    assert "  not this" in lines


def test_a_forgotten_fact_stays_forgotten_when_an_editor_wraps_it() -> None:
    fact = "the gateway answers within 12 s when healthy"
    book = added(OURS, fact, "another")
    book.retire(book.find(fact), "forgotten", "2026-11-22 by ada", NOTE["at"])
    for place in (" when healthy", " (said", " <!--", " 2026-11-22 by ada"):
        text = book.text.replace(place, f"\n {place}", 1)
        assert texts(text) == texts(book.text)
        assert "another" in texts(text)
        assert Book(text).find(fact).is_retired


def test_a_wrapped_fact_is_moved_with_what_is_below_it() -> None:
    book = Book(f"{WRAPPED}\n## Tests\n- one (src/a.py:9)\n")
    book.move(book.find("0123abcd"), "Tests")
    assert book.text.endswith(
        "- one (src/a.py:9)\n"
        "- the gateway answers within 12 s when healthy (src/a.py:1, src/b.py:2) "
        "<!-- id: 0123abcd; by: ada; topic: wait -->\n  - a list below it\n"
    )
    assert book.text.startswith("# Knowledge\n\n## Money\n- no sources yet\n  on two lines\n")


def test_lines_of_a_merge_become_one_even_if_they_are_wrapped() -> None:
    line = "- a long fact (said:{}@2026-11-22) <!-- id: 0123abcd; by: ada; tags: {} -->\n"
    text = "# Knowledge\n\n## X\n" + line.format("ada", "a") + line.format("eve", "b")
    wrapped = text.replace("a long fact", "a long\n  fact").replace("; by", ";\n  by")
    books = [Book(one + "- last\n  of all (src/a.py:1)\n") for one in (text, wrapped)]
    for book in books:
        book.heal()
    assert books[0].text == books[1].text
    assert books[1].text.endswith(
        "- a long fact (said:ada@2026-11-22, said:eve@2026-11-22) "
        "<!-- id: 0123abcd; by: ada; tags: a, b -->\n- last\n  of all (src/a.py:1)\n"
    )


# -- duplicates


def test_equal_words_become_one_fact_with_both_sources_and_tags() -> None:
    book = Book(OURS)
    done = book.add("Elsewhere", "Whole  cents EVERYWHERE.", ("said:eve@2026-02-02",), NOTE)
    assert done.state == "merged"
    (line,) = [line for line in book.text.split("\n") if "cents" in line]
    assert line.startswith(
        "- whole cents everywhere (src/money.py:1, said:eve@2026-02-02) <!-- id: "
    )
    assert book.find(done.id).tags == ("money",)
    before = book.text
    assert book.add("Money", "whole cents everywhere", ("src/money.py:1",), NOTE).state == "known"
    assert book.text == before


def test_a_source_of_the_section_becomes_one_of_the_fact_s_own_when_another_is_added() -> None:
    book = Book("# Knowledge\n\n## A\nSource: src/a.py:1\n- one\n")
    book.add("A", "one", SAID, NOTE)
    assert book.find("one").sources == ("src/a.py:1", *SAID)


def test_facts_with_most_words_in_common_are_similar_and_others_are_not() -> None:
    book = added(None, "the gateway answers within twelve seconds", "rugs are sold once")
    found = similar(book, "the gateway always answers within twelve seconds")
    assert [(share > 0.8, entry.text) for share, entry in found] == [
        (True, "the gateway answers within twelve seconds")
    ]
    assert similar(book, "the gateway answers within twelve seconds") == []


# -- changing


def test_a_moved_fact_keeps_its_words_sources_and_comments() -> None:
    book = Book(OURS)
    book.move(book.find("round once"), "Tests")
    entry = book.find("round once")
    assert (entry.collection, entry.sources) == ("Tests", ("src/money.py:2",))
    assert "- round once (src/money.py:2) <!-- from the review -->\n" in book.text
    assert book.text.count("round once") == 1


def test_a_person_s_own_line_gets_a_note_when_it_is_marked_and_loses_nothing() -> None:
    book = Book(OURS)
    entry = book.find("round once")
    book.set_note(entry, {**entry.note, "forgotten": "2026-11-22 by ada"})
    assert (
        f"- round once (src/money.py:2) <!-- from the review --> <!-- id: {entry.id}; "
        "forgotten: 2026-11-22 by ada -->\n"
    ) in book.text
    assert "round once" not in texts(book.text)
    assert book.find("round once").is_retired


def test_what_was_forgotten_and_is_remembered_again_is_in_use_again() -> None:
    book = added(OURS, "a fact")
    entry = book.find("a fact")
    book.set_note(entry, {**entry.note, "forgotten": "2026-11-22 by ada"})
    assert book.add("Money", "a fact", SAID, NOTE | {"by": "eve"}).state == "revived"
    assert "a fact" in texts(book.text)
    assert book.find("a fact").note["by"] == "eve"


def test_a_line_that_a_person_corrected_and_its_old_words_are_two_facts() -> None:
    book = added(OURS, "the timeout is 10 s")
    edited = book.text.replace("is 10 s", "is 20 s")
    (alone,) = (one for one in Book(edited).live if "timeout" in one.text)
    assert alone.id == book.find("the timeout is 10 s").id
    book = Book(edited)
    new = book.add("Money", "the timeout is 10 s", SAID, NOTE)
    assert new.state == "added"
    assert len(set(ids(book))) == len(ids(book))
    assert book.find(new.id).text == "the timeout is 10 s"
    entry = book.find("the timeout is 10 s")
    book.set_note(entry, {**entry.note, "forgotten": "2026-11-22 by ada"})
    assert [text for text in texts(book.text) if "timeout" in text] == ["the timeout is 20 s"]
    assert [one.text for one in book.live if "timeout" in one.text] == ["the timeout is 20 s"]


def test_of_two_lines_with_the_same_note_and_other_words_the_first_keeps_the_id() -> None:
    line = "- the timeout is {} s (said:ada@2026-11-22) <!-- id: 0123abcd; by: ada{} -->\n"
    text = "# Knowledge\n\n## X\n" + line.format(20, "") + line.format(30, "; forgotten: x")
    book = Book(text)
    first, second = book.entries
    assert (first.id, first.is_retired) == ("0123abcd", False)
    assert (second.id, second.is_retired) == (
        fact_text.fact_id("knowledge.md", "the timeout is 30 s"), True,
    )  # fmt: skip
    assert texts(text) == ["the timeout is 20 s"]


# -- branches


def branches(tmp_path: Path, ours: Book, theirs: Book, base: str) -> str:
    """The file after a merge of two branches by git's `merge=union`."""
    for name, text in (("base", base), ("ours", ours.text), ("theirs", theirs.text)):
        (tmp_path / name).write_text(text)
    command = ["git", "merge-file", "-p", "--union", "ours", "base", "theirs"]
    return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout


def test_a_union_merge_keeps_both_branches_facts_and_notes(tmp_path: Path) -> None:
    ours, theirs = added(OURS, "one", "two"), added(OURS, "three", collection="Tests")
    theirs.add("Money", "four", SAID, NOTE | {"by": "eve"})
    merged = Book(branches(tmp_path, ours, theirs, OURS))
    found = {entry.text: entry.note.get("by") for entry in merged.live}
    assert {name: found[name] for name in ("one", "two", "three", "four")} == {
        "one": "ada", "two": "ada", "three": "ada", "four": "eve",
    }  # fmt: skip


def test_a_fact_forgotten_on_one_branch_and_tagged_on_the_other_is_forgotten(
    tmp_path: Path,
) -> None:
    base = added(OURS, "a fact").text
    ours, theirs = Book(base), Book(base)
    entry = ours.find("a fact")
    ours.set_note(entry, {**entry.note, "forgotten": "2026-11-22 by ada"})
    theirs.set_note(entry, {**entry.note, "tags": "money, tax"})
    text = branches(tmp_path, ours, theirs, base)
    assert text.count("- a fact") == 2
    assert "a fact" not in texts(text)
    merged = Book(text)
    merged.heal()
    assert merged.text.count("- a fact") == 1
    entry = merged.find("a fact")
    assert (entry.is_retired, set(entry.tags)) == (True, {"money", "tax"})


@pytest.mark.parametrize("first", ["mark", "revival"])
def test_of_a_mark_and_a_revival_the_newer_counts_after_a_merge(first: str, tmp_path: Path) -> None:
    base = added(OURS, "a fact")
    base.retire(base.find("a fact"), "replaced-by", "0123abcd", "2026-11-23T10:00:00Z")
    revived, marked = Book(base.text), Book(base.text)
    at = "2026-11-24T10:00:00Z" if first == "mark" else "2026-11-24T08:00:00Z"
    assert revived.add("Money", "a fact", SAID, NOTE | {"at": at}).state == "revived"
    marked.add("Money", "a fact", SAID, NOTE | {"at": "2026-11-24T07:00:00Z"})
    marked.retire(marked.find("a fact"), "forgotten", "2026-11-24 by eve", "2026-11-24T09:00:00Z")
    for one, other in ((revived, marked), (marked, revived)):
        text = branches(tmp_path, one, other, base.text)
        assert text.count("- a fact") == 2
        assert texts(text).count("a fact") == (first == "mark")
        merged = Book(text)
        merged.heal()
        assert merged.text.count("- a fact") == 1
        entry = merged.find("a fact")
        assert entry.is_retired == (first == "revival")
        assert ("replaced-by" in entry.note, entry.note["at"] > "2026-11-24") == (False, True)
        assert texts(merged.text).count("a fact") == (first == "mark")


def test_a_revival_in_the_second_of_its_mark_is_newer_and_a_second_mark_is_newer_still() -> None:
    book = added(OURS, "a fact")
    lines = []
    for _ in range(2):
        book.retire(book.find("a fact"), "forgotten", "2026-11-22 by ada", NOTE["at"])
        lines.append(next(line for line in book.text.split("\n") if "a fact" in line))
        book.add("Money", "a fact", SAID, NOTE)
        lines.append(next(line for line in book.text.split("\n") if "a fact" in line))
    for count in range(1, len(lines) + 1):
        for tried in (lines[:count], lines[count - 1 :: -1]):
            text = "\n".join(("# Knowledge", "", "## X", *tried, ""))
            assert ("a fact" in texts(text)) == (count % 2 == 0)


def test_a_mark_without_a_time_is_older_only_than_what_was_said_later() -> None:
    line = "- a fact (said:ada@2026-11-22) <!-- id: 0123abcd; by: ada; at: {} -->"
    marked = line.format("2026-11-22T08:00:00Z; replaced-by: 89abcdef")
    forgotten = line.format("2026-11-22T08:00:00Z; forgotten: 2026-11-23 by ada")
    for mark, at, is_live in (
        (marked, "2026-11-22T08:00:00Z", False), (marked, "2026-11-22T08:00:01Z", True),
        (forgotten, "2026-11-23T10:00:00Z", False), (forgotten, "2026-11-24T00:00:00Z", True),
    ):  # fmt: skip
        text = "\n".join(("# Knowledge", "", "## X", mark, line.format(at), ""))
        assert texts(text) == ["a fact"] * is_live


def test_the_same_fact_of_two_branches_becomes_one_with_the_sources_of_both(tmp_path: Path) -> None:
    ours, theirs = Book(OURS), Book(OURS)
    ours.add("Money", "a fact", ("said:ada@2026-11-22",), NOTE)
    theirs.add("Money", "a fact", ("said:eve@2026-11-23",), NOTE | {"by": "eve", "tags": "tax"})
    merged = Book(branches(tmp_path, ours, theirs, OURS))
    merged.heal()
    assert merged.text.count("- a fact") == 1
    entry = merged.find("a fact")
    assert entry.sources == ("said:ada@2026-11-22", "said:eve@2026-11-23")
    assert (entry.note["by"], entry.tags) == ("ada", ("money", "tax"))


# -- the file


def test_a_save_of_an_editor_during_a_change_is_not_lost(tmp_path: Path) -> None:
    layout = services(tmp_path).layout
    layout.knowledge.write_text(OURS)
    edits = iter(["- saved meanwhile (src/money.py:1)\n"])

    def change(book: Book) -> None:
        book.add("Money", "new", SAID, NOTE)
        if (line := next(edits, None)) is not None:
            layout.knowledge.write_text(OURS + line)

    files.edit(layout, change, personal=False)
    text = layout.knowledge.read_text()
    assert "- saved meanwhile" in text
    assert text.count("- new (") == 1


def test_a_link_is_neither_followed_nor_replaced(tmp_path: Path) -> None:
    layout = services(tmp_path).layout
    target = tmp_path / "elsewhere.md"
    target.write_text(OURS)
    layout.knowledge.symlink_to(target)
    with pytest.raises(PrereadError) as caught:
        files.edit(layout, lambda book: book.add("Money", "new", SAID, NOTE), personal=False)
    assert caught.value.code == "E_OUTSIDE"
    assert (target.read_text(), layout.knowledge.is_symlink()) == (OURS, True)


def test_an_edit_without_a_change_writes_nothing(tmp_path: Path) -> None:
    layout = services(tmp_path).layout
    files.edit(layout, lambda book: book.find("x"), personal=False)
    assert not layout.knowledge.exists()
    layout.knowledge.write_text(OURS)
    os.utime(layout.knowledge, (1, 1))
    files.edit(layout, lambda book: book.find("x"), personal=False)
    assert layout.knowledge.stat().st_mtime == 1


def test_git_merges_the_shared_file_line_by_line_as_init_sets_it_up(project: Path) -> None:
    layout = Layout(project)
    (project / ".gitattributes").write_text(".project/knowledge.md merge=union\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Attributes")
    for branch, fact in (("one", "of one"), ("two", "of two")):
        git(project, "checkout", "-q", "-b", branch, "main")
        files.edit(layout, lambda book, f=fact: book.add("Money", f, SAID, NOTE), personal=False)
        git(project, "commit", "-q", "-am", branch)
    git(project, "merge", "-q", "one", "-m", "Merge")
    assert {"of one", "of two"} <= set(texts(layout.knowledge.read_text()))
