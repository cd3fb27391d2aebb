"""The table of source kinds: the form of each, what it resolves to, and how it fails."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM, commit, services, write
from conftest import git
from preread.dossier import cited_commits, source_paths, sources
from preread.dossier.sources import ROWS, Ref, SourceError, Span
from preread.errors import PrereadError
from preread.gates.spans import MAX_CITED

GOOD = {
    "lines": ["a.py:1", "src/a b.py:10-12", "Makefile:3", "app/(auth)/[slug].tsx:9999999",
        "<a,b:c(d.py>:1",
    "<two words>:2"],
    "path": ["a.py", "docs/x.md", "Makefile", "deep/Dockerfile", "src/a b.py",
        "<any thing at all>", "<.env>"],
    "test": ["a.py::test_x", "a.spec.ts::pays > with a card", "<a,b.py>::TestX::test_y"],
    "commit": ["commit:0123abc", "commit:" + "a" * 40],
    "run": ["run:r1", "run:2026-01-05T12.00_x"],
    "ticket": ["ticket:SHOP-142", "ticket:7"],
    "said": ["said:ada@2026-11-22", "said:Ada-L.@2026-01-01", "said:José@2026-01-01"],
    "doc": ["doc:docs/guide.md#p3", "doc:<a,b.pdf>#p10"],
    "absent": ['absent:**/*.py~"name"', 'absent:t/{a,b}/**~"a "b" c"', 'absent:x~"f(x, y"'],
    "external": ["quoth://doc/abc123", "https://example.org/a?b=c", "a+b.c-d://x"],
}  # fmt: skip
BAD = [
    "", " ", "a", "two words", "a.py:", "a.py:0", "a.py:01", "a.py:1-", "a.py:-1", "a.py:1-0x",
    "a.py:12345678",
    "two words:1",
    "a.py :1", " a.py:1", "<>:1", "<a>b>:1", "a,b.py:1", "a:b.py:1", "a`.py:1", "commit:012345",
    "commit:ABCDEF0",
    "commit:HEAD",
    "commit:" + "a" * 41, "commit:0123abc^", "run:", "run:-x", "run:a b", "run:" + "a" * 65,
    "ticket:",
    "ticket:../x", "ticket:a--b",
    "ticket:con", "ticket:" + "A" * 65, "doc:a.md", "doc:a.md#p0", "doc:a.md#3", "absent:**",
    'absent:~"x"',
    'absent:a~""',
    "absent:a~x", "://x", "Http://x", "a://", "a:// b", "::test", "a.py::", "a.unknown-suffix",
    "said:", "said:@2026-11-22", "said:ada", "said:ada@today", "said:a b@2026-11-22",
    "said:-x@2026-11-22",
    "because of that",
]  # fmt: skip


def resolve(root: Path, text: str) -> Span:
    ref = sources.parse(text)
    assert ref is not None, text
    return sources.resolve(ref, services(root).tree)


def fails(root: Path, text: str) -> str:
    with pytest.raises(SourceError) as caught:
        resolve(root, text)
    assert str(caught.value)
    return caught.value.code


# -- grammar


def test_every_kind_of_the_table_has_an_example() -> None:
    assert GOOD.keys() == ROWS.keys()


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind, texts in GOOD.items() for text in texts]
)
def test_a_well_formed_source_is_of_its_kind_and_its_own_canonical_form(
    kind: str, text: str
) -> None:
    ref = sources.parse(text)
    assert ref is not None
    assert (ref.kind, str(ref)) == (kind, text)


def test_malformed_text_is_not_a_source() -> None:
    assert [text for text in BAD if sources.parse(text) is not None] == []


@CALM
@given(st.text(alphabet='ab.py:/<>()[]"`~,#-0123 commitrunabsentdoc', max_size=30))
def test_any_source_s_canonical_form_parses_to_the_same_source(text: str) -> None:
    ref = sources.parse(text)
    if ref is not None:
        assert sources.parse(str(ref)) == ref


def test_the_glob_of_an_absence_may_have_any_number_of_wildcards() -> None:
    for glob in ("**/tests/**/x/**/test_*_*.*", "*a" * 40 + "b", "**/*" * 8 + "/x"):
        assert sources.parse(f'absent:{glob}~"x"') == Ref("absent", glob, name="x")


def test_one_line_and_a_range_of_one_line_are_the_same_source() -> None:
    assert str(sources.parse("a.py:7-7")) == "a.py:7"
    assert str(sources.parse("<src/plain.py>:7")) == "src/plain.py:7"


# -- lines of files


def test_a_line_range_includes_both_ends(tmp_path: Path) -> None:
    write(tmp_path, {"src/a b.py": "one\ntwo\nthree\n"})
    assert resolve(tmp_path, "src/a b.py:2").lines == ("two",)
    assert resolve(tmp_path, "src/a b.py:1-3").lines == ("one", "two", "three")
    assert resolve(tmp_path, "src/a b.py").lines == ("one", "two", "three")


def test_a_basename_that_no_path_explains_is_answered_with_whole_paths(tmp_path: Path) -> None:
    write(tmp_path, {"src/a/x.py": "one\n", "src/b/x.py": "one\n", "y.py": "one\n"})
    for text in ("x.py:1", "x.py", "x.py::test_one"):
        with pytest.raises(SourceError, match=r"write the whole path: src/a/x\.py, src/b/x\.py"):
            resolve(tmp_path, text)
    with pytest.raises(SourceError, match=r"of the project$"):
        resolve(tmp_path, "src/x.py:1")


def test_a_path_with_special_characters_resolves_in_angle_brackets(tmp_path: Path) -> None:
    names = ["a,b.py", "ab:c.py", "a(b.py", "no suffix", "x`y"]
    write(tmp_path, dict.fromkeys(names, "text\n"))
    for name in names:
        assert resolve(tmp_path, f"<{name}>:1").lines == ("text",)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a.py:4", "E_SOURCE_LINES"),
        ("a.py:2-4", "E_SOURCE_LINES"),
        ("a.py:3-2", "E_SOURCE_LINES"),
        ("empty.py:1", "E_SOURCE_LINES"),
        ("b.py:1", "E_SOURCE_FILE"),
        ("b.py", "E_SOURCE_FILE"),
        ("src.py:1", "E_SOURCE_FILE"),
        ("src.py", "E_SOURCE_FILE"),
        ("b.py::test_x", "E_SOURCE_FILE"),
        ("image.svg:1", "E_SOURCE_UNREADABLE"),
        ("large.txt:1", "E_SOURCE_UNREADABLE"),
        ("a.py::test_nothing", "E_SOURCE_TEST"),
        ("doc:a.py#p2", "E_SOURCE_UNREADABLE"),
        ("doc:one-page.txt#p2", "E_SOURCE_LINES"),
        ("doc:b.md#p1", "E_SOURCE_FILE"),
        ("commit:0123abc", "E_SOURCE_COMMIT"),
        ("run:r9", "E_SOURCE_RUN"),
        ("ticket:A-9", "E_SOURCE_TICKET"),
        ('absent:**/*.rb~"x"', "E_SOURCE_GLOB"),
        ('absent:**/*.py~"two"', "E_SOURCE_PRESENT"),
        ("quoth://doc/abc", "E_SOURCE_EXTERNAL"),
    ],
)
def test_each_way_to_be_invalid_has_its_code(tmp_path: Path, text: str, code: str) -> None:
    write(
        tmp_path,
        {
            "a.py": "one\ntwo\nthree",
            "empty.py": "",
            "one-page.txt": "one",
            "src.py/x": "",
            "image.svg": "\0\1",
            "large.txt": "x\n" * 5_000_001,
        },
    )
    assert fails(tmp_path, text) == code


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "/etc/hostname",
        "a/../../secret.txt",
        "out/secret.txt",
        "link.txt",
        "a\0.txt",
    ],
)
def test_no_source_reads_a_file_outside_the_project(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    write(tmp_path, {"secret.txt": "secret\f\n", "root/a/x.txt": ""})
    (root / "out").symlink_to(tmp_path)
    (root / "link.txt").symlink_to(tmp_path / "secret.txt")
    for text in (f"<{path}>:1", f"<{path}>", f"<{path}>::secret", f"doc:<{path}>#p1"):
        assert fails(root, text) == "E_SOURCE_FILE"


def test_a_link_inside_the_project_is_followed(tmp_path: Path) -> None:
    write(tmp_path, {"real/a.txt": "text\n"})
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert resolve(tmp_path, "link/a.txt:1").lines == ("text",)


def test_a_file_at_the_size_limit_is_read_and_one_byte_more_is_not(tmp_path: Path) -> None:
    write(tmp_path, {"just.txt": "x" * MAX_CITED, "more.txt": "x" * (MAX_CITED + 1)})
    assert len(resolve(tmp_path, "just.txt:1").lines[0]) == MAX_CITED
    assert fails(tmp_path, "more.txt:1") == "E_SOURCE_UNREADABLE"


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one\ftwo\x0b\u2028\x85three\rfour\r\nfive\n"})
    assert resolve(tmp_path, "a.txt:1-2").lines == ("one\ftwo\x0b\u2028\x85three\rfour", "five")


def test_the_digest_ignores_a_carriage_return_before_a_line_feed_and_nothing_else(
    tmp_path: Path,
) -> None:
    digests = {}
    for name, text in {
        "lf": "a\nb\n",
        "crlf": "a\r\nb\r\n",
        "other": "a\r\nc\n",
        "blank": "a \nb\n",
        "in": "a\r\rb\n",
    }.items():
        write(tmp_path, {f"{name}.txt": text})
        digests[name] = resolve(tmp_path, f"{name}.txt").digest
    assert digests["lf"] == digests["crlf"]
    assert len(set(digests.values())) == 4
    assert all(len(digest) == 16 for digest in digests.values())


def test_the_digest_of_a_span_ignores_changes_elsewhere_in_the_file(tmp_path: Path) -> None:
    write(tmp_path, {"a.txt": "one\ntwo\nthree\n"})
    before = resolve(tmp_path, "a.txt:2").digest
    write(tmp_path, {"a.txt": "changed\ntwo\n"})
    assert resolve(tmp_path, "a.txt:2").digest == before


def test_a_span_knows_the_names_of_the_symbols_in_and_around_it(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "shop/cart.py": "class Basket:\n    def total(self):\n        x = 1\n        return x\n"
            "\n    def empty(self): ...\n",
            "shop/cart.spec.ts": 'describe("cart", () => {\n  it("adds up", () => {\n'
            "    x();\n  });\n});\n",
        },
    )
    inner = {"Basket", "total", "Basket.total", "cart.Basket.total", "shop.Basket.total"}
    names = resolve(tmp_path, "shop/cart.py:3-4").names
    assert inner < names
    assert not any("empty" in name for name in names)
    assert "Basket.empty" in resolve(tmp_path, "shop/cart.py").names
    assert "cart > adds up" in resolve(tmp_path, "shop/cart.spec.ts:3").names


# -- tests


def test_a_test_is_found_by_its_name_alone_or_with_its_group(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "t/test_a.py": "def test_one():\n    assert 1\n\nclass TestB:\n"
            "    def test_two(self):\n        assert 2\n",
            "t/a.spec.ts": 'test.describe("cart", () => {\n  test("adds up", () => {\n    x();\n'
            "  });\n});\n",
        },
    )
    assert resolve(tmp_path, "t/test_a.py::test_one").lines == ("def test_one():", "    assert 1")
    assert (
        resolve(tmp_path, "t/test_a.py::TestB::test_two").lines[0].strip() == "def test_two(self):"
    )
    assert resolve(tmp_path, "t/test_a.py::test_two").lines[-1].strip() == "assert 2"
    assert (
        resolve(tmp_path, "t/a.spec.ts::adds up").lines
        == resolve(tmp_path, "t/a.spec.ts::cart > adds up").lines
    )
    assert fails(tmp_path, "t/test_a.py::TestC::test_two") == "E_SOURCE_TEST"


# -- commits


def test_a_commit_resolves_to_its_message_and_changed_lines_without_diff_marks(
    tmp_path: Path,
) -> None:
    commit(tmp_path, {"a.py": "timeout = 30\n"}, "begin")
    sha = commit(tmp_path, {"a.py": "timeout = 10\n"}, "Wait less\n\nThe gateway gives up first.")
    lines = resolve(tmp_path, f"commit:{sha[:9]}").lines
    assert {"Wait less", "The gateway gives up first.", "timeout = 30", "timeout = 10"} <= set(
        lines
    )
    assert (
        resolve(tmp_path, f"commit:{sha}").digest == resolve(tmp_path, f"commit:{sha[:7]}").digest
    )


def test_a_commit_of_another_repository_or_another_git_object_is_invalid(
    tmp_path: Path,
) -> None:
    commit(tmp_path / "one", {"a.py": "x\n"}, "begin")
    other = commit(tmp_path / "two", {"b.py": "y\n"}, "elsewhere")
    blob = git(tmp_path / "one", "rev-parse", "HEAD:a.py").strip()
    assert fails(tmp_path / "one", f"commit:{other}") == "E_SOURCE_COMMIT"
    assert fails(tmp_path / "one", f"commit:{blob}") == "E_SOURCE_COMMIT"


def test_commits_read_together_are_what_each_is_by_itself(tmp_path: Path) -> None:
    shas = [
        commit(tmp_path, {"a.py": "timeout = 30\n"}, "begin"),
        commit(tmp_path, {}, "Nothing changed\n\ncommit 0123456\n\n"),
        commit(tmp_path, {"a.py": "timeout = 10\r\nlast"}, "Wait less"),
    ]
    alone = [resolve(tmp_path, f"commit:{sha}").lines for sha in shas]
    tree = services(tmp_path).tree
    cited_commits.read([shas[0], "0123abc"], tree)
    assert not tree.commits, "one that does not exist must not hide the others"
    cited_commits.read(shas, tree)
    assert [tree.commits[sha] for sha in shas] == alone


# -- runs, tickets, documents


def test_a_run_resolves_to_its_record_and_truncated_lines_are_skipped(tmp_path: Path) -> None:
    record = json.dumps({"id": "r2", "command": "pytest tests", "failed": ["test_x"]})
    write(tmp_path, {".project/.state/results.jsonl": f'{{"id": "r1", "comm\n[1]\n{record}\n'})
    span = resolve(tmp_path, "run:r2")
    assert span.lines[0] == record
    assert "pytest tests" in span.lines
    assert fails(tmp_path, "run:r1") == "E_SOURCE_RUN"


def test_a_ticket_resolves_to_the_text_of_its_file(tmp_path: Path) -> None:
    write(tmp_path, {".project/tickets/SHOP-1.md": "# Pay\n\n- AC1: it pays\n"})
    assert resolve(tmp_path, "ticket:SHOP-1").lines == ("# Pay", "", "- AC1: it pays")


def test_a_document_is_cited_by_page(tmp_path: Path) -> None:
    write(tmp_path, {"docs/guide.txt": "first\r\npage\fsecond\npage"})
    assert resolve(tmp_path, "doc:docs/guide.txt#p1").lines == ("first", "page")
    assert resolve(tmp_path, "doc:docs/guide.txt#p2").lines == ("second", "page")


# -- absence


def test_an_absence_is_valid_while_no_matching_file_contains_the_text(tmp_path: Path) -> None:
    write(tmp_path, {"code/a.py": "alpha(\n", "code/deep/b.py": "beta", "src/c.py": "gamma"})
    for text in (
        'absent:code/**~"gamma"',
        'absent:code/**~"alpha)"',
        'absent:code/*.py~"beta"',
        'absent:**/*.py~"ALPHA("',
    ):
        assert resolve(tmp_path, text).digest
    for text in (
        'absent:**~"gamma"',
        'absent:code/**~"alpha("',
        'absent:**/b.py~"beta"',
        'absent:code/?.py~"lph"',
    ):
        assert fails(tmp_path, text) == "E_SOURCE_PRESENT"


def test_an_absence_in_tests_is_one_in_all_tests(tmp_path: Path) -> None:
    files = {
        "tests/test_a.py": "alpha",
        "tests/a.json": "",
        "src/a_test.go": "beta",
        "a.py": "gamma",
    }
    write(tmp_path, files)
    for glob in ("tests/**", "tests/*.py", "**/test_a.py"):
        assert fails(tmp_path, f'absent:{glob}~"beta"') == "E_SOURCE_PRESENT"
        assert resolve(tmp_path, f'absent:{glob}~"gamma"').digest
    for glob in ("tests/*.json", "**/*a.py"):  # no test, and not only tests
        assert resolve(tmp_path, f'absent:{glob}~"beta"').digest


def test_an_absence_is_exact_in_a_file_too_large_to_be_read_whole(tmp_path: Path) -> None:
    chunk = 1 << 20
    write(
        tmp_path,
        {
            "t/large.txt": "x" * (chunk - 3) + "needle" + "x" * chunk,
            "t/end.txt": "y" * (2 * chunk) + "thread",
        },
    )
    assert fails(tmp_path, 'absent:t/**~"needle"') == "E_SOURCE_PRESENT"
    assert fails(tmp_path, 'absent:t/**~"thread"') == "E_SOURCE_PRESENT"
    assert resolve(tmp_path, 'absent:t/**~"needles"').digest


def test_an_absence_searches_bytes_so_binary_files_count_too(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"\0\0name\xff")
    assert fails(tmp_path, 'absent:**~"name"') == "E_SOURCE_PRESENT"


def test_an_absence_ignores_files_that_git_ignores(tmp_path: Path) -> None:
    commit(tmp_path, {".gitignore": "out/\n", "a.py": "alpha\n"}, "begin")
    write(tmp_path, {"out/b.py": "beta\n"})
    assert resolve(tmp_path, 'absent:**/*.py~"beta"').digest
    assert fails(tmp_path, 'absent:out/**~"beta"') == "E_SOURCE_GLOB"


def test_a_ticket_name_that_cannot_be_a_file_name_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(PrereadError):
        sources.resolve(Ref("ticket", name="../x"), services(tmp_path).tree)


@pytest.mark.parametrize(
    ("path", "own"),
    [
        (".project/context/login/patterns.md", True),
        (".project/.cache/staging/login~x/patterns.md", True),
        (".project/.state/results.jsonl", True), (".PROJECT/Context/login/patterns.md", True),
        (".git/config", True),
        ("src/../.project/context/x.md", False), (".project/context", True),
        ("link/login/patterns.md", True),
        (".project/knowledge.md", False), (".project/tickets/SHOP-1.md", False),
        (".gitignore", False),
        ("project/context/a.md", False), ("src/.project/context/a.md", False),
        ("/etc/passwd", False), ("", False),
        ("a\0b", False), ("a/" * 5000, False),
    ],
)  # fmt: skip
def test_files_that_preread_writes_are_distinguished_from_the_project_s(
    tmp_path: Path, path: str, own: bool
) -> None:
    root = write(tmp_path, {".project/context/login/patterns.md": "", "src/a.py": ""})
    (root / "link").symlink_to(root / ".project" / "context")
    assert source_paths.is_own(path, services(root).tree) is own


def test_the_digest_of_an_external_reference_is_its_own_and_stays() -> None:
    one, same, other = (
        sources.external_span(Ref("external", name=name)).digest
        for name in ("quoth://a", "quoth://a", "quoth://b")
    )
    assert one == same != other
