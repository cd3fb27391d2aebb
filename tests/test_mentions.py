"""Ranking by what a text names exactly, and by what files import."""

import time
from pathlib import Path

import pytest

from _evidence_project import evidence, services, write
from preread.index import imports, indexer
from preread.infra import db

FILLER = {f"src/filler_{n}.py": f"def unrelated_{n}():\n    return 'parcel'\n" for n in range(8)}


# -- names in a text


@pytest.mark.parametrize(
    "said",
    [
        'File "/usr/lib/site-packages/shop/src/api/depot.py", line 31, in send',
        "it ends in `api\\depot.py`",
        "raised by api.depot.Sender.send(parcel)",
        "see src/api/depot",
    ],
)
def test_a_file_that_the_text_names_comes_first(tmp_path: Path, said: str) -> None:
    write(
        tmp_path,
        {
            **FILLER,
            "src/api/depot.py": "def send(): ...\n",
            "src/other/depot.py": "def send(): ...\n",
        },
    )
    found = evidence(tmp_path, "parcel", description=f"the parcel is lost: {said}").files
    assert found[0].path == "src/api/depot.py"
    assert "the text names it" in found[0].reasons


def test_a_long_text_without_spaces_takes_no_minutes(tmp_path: Path) -> None:
    write(tmp_path, {**FILLER, "src/depot.py": "def send(): ...\n"})
    begun = time.monotonic()
    found = evidence(tmp_path, "parcel", description=f"see src/depot.py {'x' * 19_000}").files
    assert found[0].path == "src/depot.py"
    assert time.monotonic() - begun < 20, "seconds; the machine may be busy"


def test_a_name_of_the_text_leads_to_the_file_that_defines_it(tmp_path: Path) -> None:
    calls = "def caller():\n    return sendParcelTwice() + sendParcelTwice() + sendParcelTwice()\n"
    files = {
        "src/a_caller.ts": calls,
        "src/z_depot.ts": "export function sendParcelTwice() { return 1; }\n",
    }
    write(tmp_path, {**FILLER, **files})
    found = evidence(tmp_path, "sending", description="`sendParcelTwice` does it once").files
    assert found[0].path == "src/z_depot.ts"
    assert "it defines a name of the text" in found[0].reasons
    assert all("it defines a name of the text" not in item.reasons for item in found[1:])


def test_a_trace_leads_to_where_it_broke_and_not_to_another_project_s_file(tmp_path: Path) -> None:
    files = {f"src/{name}.py": "def step(): ...\n" for name in ("a_outer", "m_inner", "core")}
    write(tmp_path, {**FILLER, **files})
    said = 'File "/app/src/a_outer.py", line 3, in step File "/app/src/m_inner.py", line 9, in step'
    said += ' File "/lib/site-packages/click/core.py", line 1, in main'
    found = {item.path: item.reasons for item in evidence(tmp_path, "loss", description=said).files}
    traced = [
        path
        for path, reasons in found.items()
        if "a trace of calls in the text leads there" in reasons
    ]
    assert traced == ["src/m_inner.py", "src/a_outer.py"]


def test_a_name_with_another_suffix_is_no_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {**FILLER, "src/model.py": "def model(): ...\n", "src/view.ts": "export const x = 1\n"},
    )
    found = evidence(tmp_path, "loading", description="model.keras is slow in view.js").files
    assert [item.path for item in found if "the text names it" in item.reasons] == ["src/view.ts"]


def test_what_the_text_writes_as_code_is_looked_for_in_files(tmp_path: Path) -> None:
    held = "def go(options):\n    return options['keep_going'] or options['dry']\n"
    write(
        tmp_path,
        {**FILLER, "src/steps.py": held, "src/other.py": "def keep(): ...\ndef going(): ...\n"},
    )
    found = evidence(tmp_path, "loss", description="it stops with --keep-going").files
    assert [
        item.path for item in found if "it contains what the text writes as code" in item.reasons
    ] == ["src/steps.py"]


# -- imports


@pytest.mark.parametrize(
    ("path", "line", "names"),
    [
        ("src/a/b.py", "from ..money import tax, Sum as S", ["/src/money", "/src/money/tax", "/src/money/Sum"]),
        ("src/cart/total.py", "import shop.money", ["shop/money"]),
        ("web/cart.component.ts", "import { a } from './user.component'", ["/web/user.component"]),
        ("web/cart.ts", "const a = require('../lib/index.js');", ["/lib"]),
        ("web/cart.ts", "export * from '@/lib/money'", ["lib/money"]),
        ("src/cart.rs", "use crate::money::{Sum, Tax};", ["money", "money/Sum", "money/Tax"]),
        ("a/Cart.java", "import org.shop.money.Sum;", ["org/shop/money/Sum"]),
        ("lib/cart.rb", "require_relative 'money/sum'", ["/lib/money/sum"]),
        ("src/Cart.php", "use Shop\\Money\\Sum;", ["Shop/Money/Sum", "Shop/Money"]),
        ("src/cart.c", '#include "money/sum.h"', ["money/sum"]),
        ("src/cart.py", "important = 'money'", []),
    ],
)  # fmt: skip
def test_what_a_line_imports(path: str, line: str, names: list[str]) -> None:
    assert [link.whole for link in imports.of(path, "source", line)[1:]] == names


def test_a_file_is_called_like_its_path_or_like_its_folder() -> None:
    own = [
        imports.own(path)
        for path in ("src/cart.py", "src/cart/__init__.py", "web/cart/index.ts", "web/cart.d.ts")
    ]
    assert own == ["src/cart", "src/cart", "web/cart", "web/cart"]


def test_what_the_best_file_imports_is_ranked_without_a_word_of_the_request(tmp_path: Path) -> None:
    files = {
        "src/coupon.py": "from src.basis import x\n",
        "src/basis.py": "x = 1\n",
        "src/unused.py": "y = 1\n",
    }
    write(tmp_path, {**FILLER, **files, "tests/test_all.py": "from src import coupon\n"})
    found = evidence(tmp_path, "coupon")
    assert [item.path for item in found.files] == ["src/coupon.py", "src/basis.py"]
    assert "the files above import it" in found.files[1].reasons
    assert "it imports a source above" in found.tests[0].reasons


def test_imports_follow_the_file(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"src/a.py": "from src.b import x\n", "src/b.py": "x = 1\n", "src/c.py": "x = 1\n"},
    )
    given = services(tmp_path)

    def imported() -> list[str]:
        indexer.update(services(tmp_path))
        return db.use(given.layout, _of_a)

    assert imported() == ["src/b.py"]
    write(tmp_path, {"src/a.py": "from src.c import x\n"})
    assert imported() == ["src/c.py"]
    (tmp_path / "src" / "c.py").unlink()
    assert imported() == []


def _of_a(connection) -> list[str]:  # type: ignore[no-untyped-def]
    paths = dict(connection.execute("SELECT id, path FROM files"))
    row = next(row for row, path in paths.items() if path == "src/a.py")
    return [paths[other] for other in imports.imported_by(connection, row)]
