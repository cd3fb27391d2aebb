"""Cited lines are found again when they move, and never mistaken for a copy."""

import hashlib
import random
from typing import NamedTuple

import pytest

from _files_project import git, repository, services, write
from preread.dossier import drafted_fences, markdown, relocation, source_tracking, sources
from preread.gates import freshness
from preread.gates.spans import MAX_BYTES
from preread.models import Manifest

RATES = 'RATES = {"parcel": 4, "pallet": 90, "letter": 1}'
SHOP = f"""\
import os

{RATES}


class Cart:
    def __init__(self, lines):
        self.lines = lines

    def total(self):
        if not self.lines:
            return None
        return sum(line.price for line in self.lines)

    def weight(self):
        if not self.lines:
            return None
        return max(line.weight for line in self.lines)


HELP = '''
one line
another one
'''
"""
TOTAL = "        return sum(line.price for line in self.lines)\n"
NOTED = f"{TOTAL.rstrip()}  # noqa: X1\n"


def cited(root, source):
    """The source as a manifest records it: its reference, digest and mark."""
    tree = services(root).tree
    ref = sources.parse(source)
    return ref, sources.resolve(ref, tree).digest, relocation.Relocator(tree).mark(ref)


def digest(line):
    return hashlib.sha256("".join(line.split()).encode()).hexdigest()[:12]


def test_a_mark_is_as_manifests_of_earlier_releases_have_it(root):
    _, _, mark = cited(root, "shop/cart.py:11-12")
    text = "if not self.lines: return None"
    assert (mark.size, mark.digest) == (len(text.replace(" ", "")), digest(text))
    assert mark.before == digest("def total(self):")
    assert mark.after == digest(TOTAL)
    assert mark.symbol == "Cart.total"
    assert (mark.ordinal, mark.copies, mark.lines) == (1, 2, 2)


def test_the_first_line_has_no_line_before_and_no_symbol(root):
    _, _, mark = cited(root, "shop/cart.py:1")
    assert (mark.before, mark.symbol) == (digest(""), "")


@pytest.mark.parametrize(("above", "symbol"), [("x = 1\n# why", "f"), ("# why\nx = 1", "")])
def test_only_a_comment_right_above_a_definition_belongs_to_it(root, above, symbol):
    write(root, {"shop/one.py": f"{above}\ndef f():\n    return 1\n"})
    assert cited(root, "shop/one.py:2")[2].symbol == symbol


@pytest.mark.parametrize("closing", ["}", "})", ");"])
def test_a_comma_before_a_closing_bracket_at_the_start_of_a_line_does_not_count(root, closing):
    write(root, {"shop/one.py": f"x = (\n    1,\n{closing}\ny = 2,\nz\n"})
    assert cited(root, "shop/one.py:1-3")[2].digest == digest(f"x = (1{closing}")
    assert cited(root, "shop/one.py:4-5")[2].digest == digest("y = 2,z")


@pytest.mark.parametrize(
    ("cited_lines", "symbol"),
    [("3-6", "clock"), ("2-6", "clock"), ("3-8", ""), ("1-6", "")],
)
def test_a_decorator_belongs_to_its_definition(root, cited_lines, symbol):
    text = "import pytest\n# no waits\n@pytest.fixture\ndef clock():\n    x = 1\n    return x\n\ny = 2\n"
    write(root, {"shop/one.py": text})
    assert cited(root, f"shop/one.py:{cited_lines}")[2].symbol == symbol


def test_a_decorated_definition_is_found_in_another_file(root):
    body = "@cached\ndef clock():\n    return 1\n"
    write(root, {"shop/one.py": f"import time\n\n\n{body}\nx = 2\n"})
    record = cited(root, "shop/one.py:4-6")
    write(root, {"shop/one.py": "import time\n\nx = 2\n", "shop/two.py": f"y = 1\n\n\n{body}"})
    assert relocated(root, record) == "shop/two.py:4-6"


def relocated(root, record):
    found = relocation.Relocator(services(root).tree).relocate(*record)
    return str(found) if found is not None else None


@pytest.fixture
def root(tmp_path):
    return repository(tmp_path / "shop", {"shop/cart.py": SHOP, "shop/other.py": "x = 1\n"})


def changed(text):
    return {"shop/cart.py": text}


@pytest.mark.parametrize(
    ("source", "files", "expected"),
    [
        ("shop/cart.py:13", changed(SHOP), "shop/cart.py:13"),
        ("shop/cart.py:13", changed("# new\n# lines\n" + SHOP), "shop/cart.py:15"),
        ("shop/cart.py:10-13", changed(SHOP.replace("import os\n\n", "")), "shop/cart.py:8-11"),
        # the same lines twice: the surrounding definition decides
        ("shop/cart.py:17", changed("#\n" + SHOP), "shop/cart.py:18"),
        ("shop/cart.py:12", changed("#\n" + SHOP), "shop/cart.py:13"),
        # white space, line ends and line breaks do not change what a line says
        ("shop/cart.py:13", changed(SHOP.replace("\n", "\r\n")), "shop/cart.py:13"),
        ("shop/cart.py:13", changed(SHOP.replace("    ", "\t")), "shop/cart.py:13"),
        (
            "shop/cart.py:13",
            changed(
                SHOP.replace(
                    TOTAL,
                    "        return sum(\n            line.price for line in self.lines\n        )\n",
                )
            ),
            "shop/cart.py:13-15",
        ),
        # a formatter breaks a long line, and adds a comma before the closing bracket
        (
            "shop/cart.py:3",
            changed(
                SHOP.replace(
                    RATES,
                    'RATES = {\n    "parcel": 4,\n    "pallet": 90,\n    "letter": 1,\n}',
                )
            ),
            "shop/cart.py:3-7",
        ),
        ("shop/cart.py:3", changed(SHOP.replace(RATES, f"{RATES},")), None),
        # blank lines at the end of what is cited
        ("shop/cart.py:3-4", changed("#\n" + SHOP), "shop/cart.py:4-5"),
        # blank lines at its beginning, as long as its text is the same byte for byte
        ("shop/cart.py:2-4", changed("#\n" + SHOP), "shop/cart.py:3-5"),
        ("shop/cart.py:2-3", changed("#\n\n" + SHOP), "shop/cart.py:4-5"),
        ("shop/cart.py:2-3", changed("#\n" + SHOP.replace('": ', '":  ')), "shop/cart.py:4-5"),
        ("shop/cart.py:2-3", changed("#\n" + SHOP.replace("import os\n", "")), "shop/cart.py:2-3"),
        # a comment at the end of the first line
        (
            "shop/cart.py:1",
            changed(SHOP.replace("import os", "import os  # for paths")),
            "shop/cart.py:1",
        ),
        # a definition that moved below another one
        (
            "shop/cart.py:10-13",
            changed(
                SHOP.replace(SHOP[SHOP.index("    def total") : SHOP.index("    def weight")], "")
                + "\n"
                + SHOP[SHOP.index("    def total") : SHOP.index("    def weight")]
            ),
            "shop/cart.py:21-24",
        ),
        # comments at the ends of lines do not change what the code says
        ("shop/cart.py:13", changed("#\n" + SHOP.replace(TOTAL, NOTED)), "shop/cart.py:14"),
        (
            "shop/cart.py:10-13",
            changed(SHOP.replace(TOTAL, NOTED).replace("total(self):", "total(self):  # why")),
            "shop/cart.py:10-13",
        ),
        ("shop/cart.py:3", changed(SHOP.replace(RATES, f"{RATES}  # EUR")), "shop/cart.py:3"),
        ("shop/cart.py:17", changed(SHOP.replace("None\n", "None  # x\n")), "shop/cart.py:17"),
        # what looks like a comment in a string is none; a comment does not replace code
        ("shop/cart.py:22", changed(SHOP.replace("one line", "one line # x")), None),
        ("shop/cart.py:13", changed(SHOP.replace(TOTAL, f"        pass  # {TOTAL}")), None),
        ("shop/cart.py:13", changed(SHOP.replace(TOTAL, f"        # {TOTAL}")), None),
        (
            "shop/cart.py:13",
            changed(SHOP.replace(TOTAL, TOTAL.replace("price", "cost")) + f"\n\n{NOTED.strip()}"),
            None,
        ),
        # text that is gone, also where an equal line is left
        ("shop/cart.py:13", changed(SHOP.replace(TOTAL, "")), None),
        (
            "shop/cart.py:17",
            changed(SHOP[: SHOP.index("    def weight")]),
            None,
        ),
        ("shop/cart.py:3", changed(SHOP.replace('"letter": 1', '"letter": 2')), None),
        # another copy is gone, in another definition
        (
            "shop/cart.py:11",
            changed("#\n" + SHOP[: SHOP.index("    def weight")]),
            "shop/cart.py:12",
        ),
        # moved with its file, and into another file
        ("shop/cart.py:13", {"shop/cart.py": None, "shop/basket.py": SHOP}, "shop/basket.py:13"),
        (
            "shop/cart.py:15-18",
            {
                "shop/cart.py": SHOP[: SHOP.index("    def weight")],
                "shop/scales.py": "class Cart:\n" + SHOP[SHOP.index("    def weight") :],
            },
            "shop/scales.py:2-5",
        ),
        # a definition that is still here has changed; the equal one elsewhere is its twin
        (
            "shop/cart.py:13",
            {
                "shop/cart.py": SHOP.replace("line.price for", "line.cost for"),
                "shop/twin.py": SHOP,
            },
            None,
        ),
        # outside definitions too, unless the lines around it went along
        (
            "shop/cart.py:3",
            {
                "shop/cart.py": SHOP.replace(RATES, "RATES = {}"),
                "shop/twin.py": f"import sys\n{RATES}\n",
            },
            None,
        ),
        (
            "shop/cart.py:3",
            {
                "shop/cart.py": SHOP.replace(f"import os\n\n{RATES}\n", ""),
                "shop/rates.py": SHOP[: SHOP.index("    def __init__")],
            },
            "shop/rates.py:3",
        ),
        (
            "shop/cart.py:3",
            {"shop/cart.py": None, "shop/rates.py": f"{RATES}\n"},
            "shop/rates.py:1",
        ),
    ],
)
def test_a_source_follows_its_lines(root, source, files, expected):
    record = cited(root, source)
    for path, text in files.items():
        if text is None:
            (root / path).unlink()
        else:
            write(root, {path: text})
    assert relocated(root, record) == expected


LENGTH = """\
// Length of the body, if known.
//
// It is not known if:
//
// - the response was compressed.
func Length() int { return 1 }
"""
AGAIN = LENGTH.replace("// - the response was compressed.", "// - it has no body.")


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # the comment was written anew here; the equal one of a twin has nothing to do with it
        ({"async.go": AGAIN, "wasm/async.go": LENGTH}, None),
        # it went along with its function
        ({"async.go": "package a\n", "body.go": f"package a\n\n{LENGTH}"}, "body.go:7"),
        ({"async.go": f"package a\n\n{LENGTH}"}, "async.go:7"),
    ],
)
def test_a_comment_belongs_to_the_function_below_it(root, files, expected):
    write(root, {"async.go": LENGTH})
    record = cited(root, "async.go:5")
    write(root, files)
    assert relocated(root, record) == expected


def test_lines_of_a_large_file_are_followed_too(root):
    data = "".join(f"row {number} of the table of rates\n" for number in range(60_000))
    write(root, {"rates.txt": data})
    assert len(data) > MAX_BYTES
    record = cited(root, "rates.txt:50000-50001")
    write(root, {"rates.txt": "rates\n" + data})
    assert relocated(root, record) == "rates.txt:50001-50002"
    write(root, {"rates.txt": data.replace("row 49999 ", "row ")})
    assert relocated(root, record) is None
    files = freshness.Files(str(root))
    assert freshness.current_digest("rates.txt:50001", files) == cited(root, "rates.txt:50001")[1]


def test_a_copy_in_a_function_of_another_name_is_not_taken_for_one_whose_class_was_renamed(root):
    body = "        start()\n        total = self.rates.of(first, second)\n        end()\n\n"
    text = f"class Cart:\n    def buy(self):\n{body}    def sell(self):\n{body}"
    write(root, {"shop/cart.py": text})
    record = cited(root, "shop/cart.py:4")
    text = text.replace("class Cart", "class Basket").replace("end()", "finish()", 1)
    write(root, {"shop/cart.py": "\n" + text})
    assert relocated(root, record) == "shop/cart.py:5"


OPEN = '''\
def open_file(name, mode="r"):
    """Open a file, or standard input for a dash."""
    if name == "-":
        return sys.stdin
    return open(name, mode)
'''
INDENTED = "".join(f"    {line}" for line in OPEN.splitlines(keepends=True))


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        (OPEN, {"shop/files.py": f"class Files:\n{INDENTED}"}, {1: 2, 3: 4, 4: 5}),
        (f"class Files:\n{INDENTED}", {"shop/files.py": OPEN}, {2: 1, 4: 3, 5: 4}),
        # the function of another name, or another line of it, is a copy at best
        (OPEN, {"shop/files.py": f"class Files:\n{INDENTED.replace('open_file', 'read')}"}, {3: 0}),
        (OPEN, {"shop/files.py": "class Files:\n    def open_file(self):\n        return sys.stdin\n"},
         {4: 0}),
        (OPEN, dict.fromkeys(("shop/a.py", "shop/b.py"), f"class Files:\n{INDENTED}"), {3: 0}),
    ],
)  # fmt: skip
def test_a_function_that_is_a_method_of_another_file_now(root, before, after, lines):
    write(root, {"shop/open.py": before})
    records = {number: cited(root, f"shop/open.py:{number}") for number in lines}
    write(root, {"shop/open.py": "import sys\n", **after})
    for number, record in records.items():
        expected = f"shop/files.py:{lines[number]}" if lines[number] else None
        assert relocated(root, record) == expected


MOVED = f"class Files:\n{INDENTED}"
INTO = f"import sys\n\n\nclass Inputs:\n    limit = 3\n\n{INDENTED}"


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "not committed"])
@pytest.mark.parametrize(
    ("there", "lines"),
    [
        ({}, {4: 9, 3: 8, "2-6": "7-11"}),
        ({"shop/inputs.py": "class Inputs:\n    limit = 3\n"}, {4: 9, "2-6": "7-11"}),
        ({"shop/inputs.py": f"# a copy\n\n{INTO}"}, {4: None, "2-6": None}),
        ({"shop/other.py": MOVED.replace("Files", "Others")}, {4: 9}),
    ],
    ids=["new file", "new there", "already there", "a copy elsewhere"],
)
def test_a_method_that_is_in_another_class_of_another_file_now(root, there, lines, is_committed):
    write(root, {"shop/open.py": MOVED, **there})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "before")
    records = {number: cited(root, f"shop/open.py:{number}") for number in lines}
    write(root, {"shop/open.py": "class Files:\n    limit = 2\n", "shop/inputs.py": INTO})
    if is_committed:
        git(root, "add", "-A")
        git(root, "commit", "-qm", "after")
    for number, record in records.items():
        expected = f"shop/inputs.py:{lines[number]}" if lines[number] else None
        assert relocated(root, record) == expected


def test_gits_renames_tell_copies_apart(root):
    record = cited(root, "shop/cart.py:13")
    git(root, "mv", "shop/cart.py", "shop/basket.py")
    write(
        root,
        {
            "shop/basket.py": "# a basket\n" + SHOP,
            "shop/copy.py": "# copied\nfrom os import path\n" + SHOP,
        },
    )
    assert relocated(root, record) == "shop/basket.py:14", "not committed yet"
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "rename")
    write(root, {"shop/other.py": "x = 2\n"})
    git(root, "commit", "-q", "-a", "-m", "later")
    assert relocated(root, record) == "shop/basket.py:14"


RATE = """\
import os

LIMIT = {limit}


def fetch_{name}(key):
    return os.environ[key], LIMIT
"""


@pytest.mark.parametrize("is_committed", [True, False], ids=["committed", "staged"])
def test_files_of_a_folder_that_moved_and_changed_are_not_mistaken_for_each_other(
    tmp_path, is_committed
):
    """What was one file's limit is now another's, and is not its own any more."""
    names = ["cart", "order", "price"]
    before = {f"shop/{one}.py": RATE.format(name=one, limit=n) for n, one in enumerate(names)}
    root = repository(tmp_path / "p", before)
    lines = [f"shop/{one}.py:{line}" for one in names for line in (3, 6, 7)]
    records = {source: cited(root, source) for source in lines}
    git(root, "mv", "shop", "store")
    for n, one in enumerate(names):
        text = "# a licence\n" + RATE.format(name=one, limit=n + 1)
        write(root, {f"store/{one}.py": text})
    git(root, "add", "-A")
    if is_committed:
        git(root, "commit", "-qm", "move")
    for source, record in records.items():
        path, _, line = source.replace("shop/", "store/").rpartition(":")
        now = None if line == "3" else f"{path}:{int(line) + 1}"
        assert relocated(root, record) == now, source


def test_two_files_with_the_same_definition_are_not_a_single_match(root):
    record = cited(root, "shop/cart.py:13")
    (root / "shop/cart.py").unlink()
    write(root, {"shop/one.py": SHOP, "shop/two.py": SHOP})
    assert relocated(root, record) is None


def test_a_branch_switch_and_back_gives_the_same_source(root):
    record = cited(root, "shop/cart.py:17")
    git(root, "checkout", "-q", "-b", "feature")
    write(root, {"shop/cart.py": "# moved\n\n" + SHOP})
    git(root, "commit", "-q", "-a", "-m", "comment")
    assert relocated(root, record) == "shop/cart.py:19"
    git(root, "checkout", "-q", "main")
    assert relocated(root, record) == "shop/cart.py:17"


class Line(NamedTuple):
    """A line with an identity, so that a test knows where each went."""

    id: int
    text: str


# Few words, so that many lines are equal.
BODY = ["return None", "self.count += 1", "if self.open:", "raise ValueError(name)", ""]


PY = """\
import time


def run(call):
    for delay in (1, 2, 4):
        time.sleep(delay)
        if call(delay):
            return delay
    return None
"""
JS = """\
const MAX = 3;

export function add(cart) {
  if (cart.length > MAX) {
    return false;
  }
  return cart;
}
"""
RUST = """\
impl Queue {
    pub fn push(&mut self, item: u32) -> bool {
        if self.n >= MAX {
            return false;
        }
        true
    }
}
"""


def between(text, first, last, opener, closer):
    """The text with an opener at the end of the line before some lines, and a closer after them."""
    lines = text.split("\n")
    lines[first - 2] += opener
    return "\n".join((*lines[:last], closer, *lines[last:]))


@pytest.mark.parametrize(
    ("path", "text", "cited_lines", "opener", "closer"),
    [
        ("a.py", PY, (5, 8), '\n    """', '    """'),
        ("a.py", PY, (6, 8), " '''", "'''"),
        ("a.js", JS, (3, 8), "\n/*", "*/"),
        ("a.js", JS, (4, 6), "/*", "*/"),
        ("a.js", JS, (4, 6), "`", "`"),
        ("a.js", JS.replace("3;", '"**/a";'), (4, 6), "/*", "*/"),
        ("a.rs", RUST, (2, 7), "\n    /*", "    */"),
        ("a.rs", RUST, (3, 5), "/* /* a */", "*/"),
        ("a.rs", RUST, (3, 5), " /* slow", "*/"),
        ("a.vue", f"<script>\n{JS}</script>\n", (4, 9), "\n/*", "*/"),
    ],
)
def test_code_that_was_commented_out_is_not_the_cited_code(
    root, path, text, cited_lines, opener, closer
):
    write(root, {f"shop/{path}": text})
    first, last = cited_lines
    record = cited(root, f"shop/{path}:{first}-{last}")
    assert record[2].is_text is False
    write(root, {f"shop/{path}": between(text, first, last, opener, closer)})
    assert relocated(root, record) is None
    write(root, {f"shop/{path}": f"\n{text}"})
    assert relocated(root, record) == f"shop/{path}:{first + 1}-{last + 1}"


HELP_OF_RUN = (
    '    """Call until it works.\n\n    Waits one, two and four seconds between.\n    """\n'
)


@pytest.mark.parametrize(
    ("path", "text", "cited_line"),
    [
        ("a.py", PY.replace("    for", f"{HELP_OF_RUN}    for"), 7),
        ("a.js", f"/**\n * Adds to a cart unless it is full.\n * Returns the cart.\n */\n{JS}", 2),
        ("a.js", JS + "const HELP = `\n  add: puts one more thing into the cart\n`;\n", 10),
        ("a.rs", f"/* The queue is never\n   longer than its maximum.\n*/\n{RUST}", 2),
    ],
)
def test_a_comment_or_string_that_was_cited_is_followed(root, path, text, cited_line):
    write(root, {f"shop/{path}": text})
    record = cited(root, f"shop/{path}:{cited_line}")
    assert record[2].is_text is True
    write(root, {f"shop/{path}": f"\n\n{text}"})
    assert relocated(root, record) == f"shop/{path}:{cited_line + 2}"


def test_marks_of_comments_inside_strings_and_odd_quotes_open_no_comment(root):
    text = "const FILES = 'src/**/*.ts'; // don't `quote\nconst MAX = 3 + FILES.length;\n"
    write(root, {"shop/a.js": text})
    assert cited(root, "shop/a.js:2")[2].is_text is False


CAPS = "def test_caps():\n    assert cap(9) == 6\n"
MORE_TESTS = "def test_more():\n    assert cap(1) == 1\n\n\n"


@pytest.mark.parametrize(
    ("files", "moved", "gone"),
    [
        ({"a": MORE_TESTS, "b": f"import x\n\n\n{CAPS}"}, "tests/test_b.py::test_caps", False),
        ({"a": MORE_TESTS, "b": CAPS, "c": CAPS}, None, True),
        ({"a": MORE_TESTS, "b": CAPS.replace("9", "8")}, None, True),
        ({"a": MORE_TESTS + CAPS.replace("9", "8"), "b": CAPS}, None, False),
        ({"a": f"{CAPS}\n\n{MORE_TESTS}", "b": CAPS}, None, False),
    ],
    ids=["moved", "twice", "moved and changed", "changed, and a copy", "a copy"],
)
def test_a_test_is_found_in_the_only_other_file_that_has_it(root, files, moved, gone):
    write(root, {"tests/test_a.py": MORE_TESTS + CAPS})
    source = "tests/test_a.py::test_caps"
    manifest = Manifest(feature="cart", spans={source: cited(root, source)[1]})
    write(root, {f"tests/test_{name}.py": text for name, text in files.items()})
    found = source_tracking.follow(services(root), manifest)
    assert found.moved.get(source) == moved
    assert (source in found.gone) == gone


def functions(rng):
    """Some functions whose bodies repeat each other."""
    numbers = iter(range(10_000))
    found = []
    for name in rng.sample(["open", "close", "read", "write", "seek", "flush"], 4):
        found.append(Line(next(numbers), f"def {name}(self, name):"))
        body = [f"    {rng.choice(BODY)}".rstrip() for _ in range(rng.randint(2, 6))]
        found += [Line(next(numbers), line) for line in body]
        found.append(Line(next(numbers), ""))
    return found


def edited(rng, lines):
    """The lines after a few random edits: lines inserted, removed, blocks moved."""
    lines = list(lines)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(lines))
        match rng.randrange(3):
            case 0:
                lines.insert(at, Line(-1, f"    {rng.choice(BODY)}".rstrip()))
            case 1:
                del lines[at : at + rng.randint(1, 2)]
            case 2:
                starts = [i for i, line in enumerate(lines) if line.text.startswith("def ")]
                if len(starts) > 1:
                    block = lines[starts[0] : starts[1]]
                    lines = lines[: starts[0]] + lines[starts[1] :] + block
    return lines


def text_of(lines):
    return "".join(f"{line.text}\n" for line in lines)


def function_around(lines, number):
    """The `def` line above a line, with its identity."""
    return next(line for line in reversed(lines[:number]) if line.text.startswith("def "))


ALLMAN = """\
class Cart
{
    int Total(int first,
        int second
    )
    {
        return Sum(
            first,
            second
        );
    }
}
"""
JOINED = """\
class Cart {
    int Total(int first, int second) {
        return Sum(first, second);
    }
}
"""


@pytest.mark.parametrize(
    ("cited_lines", "text", "expected"),
    [
        # a formatter joins lines: the cited ones with those right before and after them
        ("1", JOINED, "1"),
        ("3", JOINED, "2"),
        ("4", JOINED, "2"),
        ("3-4", JOINED, "2"),
        ("7", JOINED, "3"),
        ("7-8", JOINED, "3"),
        ("8", JOINED, "3"),
        ("9", f"//\n{JOINED}", "4"),
        # it adds a comma after the last of the cited lines
        ("9", ALLMAN.replace("second\n        )", "second,\n        )"), "9"),
        ("4", ALLMAN.replace("int second\n", "int second,\n"), "4"),
        # what was joined with them is another text
        ("8", JOINED.replace("Sum(first", "Max(first"), None),
        ("9", JOINED.replace("Sum(first, second)", "Sum(first, second + 1)"), None),
        ("9", JOINED.replace("Sum(first, second)", "Sum(first, a.second)"), None),
        ("1", JOINED.replace("class Cart {", "class Cart : Base {"), None),
        ("3", JOINED.replace("second) {", "int third) {"), None),
        # the equal text of another definition
        ("8", JOINED.replace("Total", "Other"), None),
    ],
)
def test_lines_that_were_joined_are_found(root, cited_lines, text, expected):
    write(root, {"Cart.cs": ALLMAN})
    record = cited(root, f"Cart.cs:{cited_lines}")
    write(root, {"Cart.cs": text})
    assert relocated(root, record) == (expected and f"Cart.cs:{expected}")


def test_after_random_edits_sources_are_right_or_lost(tmp_path):
    """Against an oracle that knows each line's identity, on functions that repeat each other."""
    root = repository(tmp_path / "p", {"a.py": "\n"})
    right, missed, wrong = 0, 0, []
    for seed in range(100):
        rng = random.Random(seed)
        before = functions(rng)
        write(root, {"a.py": text_of(before)})
        numbers = [i for i, line in enumerate(before, 1) if line.text]
        records = {i: cited(root, f"a.py:{i}") for i in rng.sample(numbers, 4)}
        after = edited(rng, before)
        write(root, {"a.py": text_of(after)})
        now = {line.id: i for i, line in enumerate(after, 1)}
        relocator = relocation.Relocator(services(root).tree)
        for number, record in records.items():
            line, found = before[number - 1], relocator.relocate(*record)
            if found is None:
                missed += line.id in now
            elif found.start == now.get(line.id):
                right += 1
            elif function_around(after, found.start) != function_around(before, number):
                wrong.append((seed, number, found))
            assert found is None or after[found.start - 1].text == line.text
    assert not wrong, f"{right} right, {missed} missed, in another function: {wrong}"
    assert missed <= 0.08 * right


@pytest.mark.parametrize("is_renamed", [True, False], ids=["renamed", "definitions moved"])
def test_a_heading_follows_its_file(root, is_renamed):
    text = "# Codebase: cart\n\n## shop/cart.py\n- a `Cart` has lines (:6-8)\n"
    ref, digest_, mark = cited(root, "shop/cart.py:6-8")
    manifest = Manifest(feature="cart", spans={str(ref): digest_}, marks={str(ref): mark})
    if is_renamed:
        git(root, "mv", "shop/cart.py", "shop/basket.py")
    else:
        git(root, "rm", "-q", "shop/cart.py")
        cart = SHOP[SHOP.index("class Cart") : SHOP.index("    def total")]
        write(root, {"shop/basket.py": f"import json\n{cart}"})
    changes = source_tracking.follow(services(root), manifest)
    code = drafted_fences.Follower(services(root).tree, manifest)
    draft = markdown.parse("codebase.md", "cart", text)[0]
    now = source_tracking.updated_draft(draft, changes, code)[0]
    line = 6 if is_renamed else 2
    assert markdown.render(now) == text.replace("cart.py", "basket.py").replace(
        ":6-8", f":{line}-{line + 2}"
    )


def test_a_draft_follows_its_sources(root):
    text = (
        "# Codebase: cart\n\n## shop/cart.py\n- `total` :10-13 adds up, `weight` :15 does not\n\n"
        "## Elsewhere\n- `LIMIT` shop/cart.py:3 and `x` other.py:1 differ (shop/cart.py:3)\n"
    )
    draft, problems = markdown.parse("codebase.md", "cart", text)
    assert not problems
    moved = {
        "shop/cart.py:10-13": "shop/cart.py:20-23",
        "shop/cart.py:15": "shop/scales.py:2",
        "shop/cart.py:3": "shop/limits.py:1",
    }
    code = drafted_fences.Follower(services(root).tree, Manifest(feature="cart"))
    changes = source_tracking.SourceChanges(moved)
    now, lost = source_tracking.updated_draft(draft, changes, code)
    assert not lost
    after = markdown.render(now)
    assert "- `total` :20-23 adds up, `weight` shop/scales.py:2 does not" in after
    assert "`LIMIT` shop/limits.py:1 and `x` other.py:1 differ" in after
    again, problems = markdown.parse("codebase.md", "cart", after)
    assert not problems
    assert markdown.render(again) == after
