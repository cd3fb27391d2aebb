"""What is read in documents: which lines are prose, and what their sentences are said of.

`found` holds everything that any rule finds in these projects to the check: sources resolve, quotes stand.
"""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from _evidence_project import found, write
from preread.evidence import decisions, guards, paragraphs

SHOP = {"shop/basket.py": "class Basket:\n    def add(self, name):\n        self.lines[name] = 1\n"}


def test_limits_read_options_by_their_names_nested_items_quotes_and_directives(
    tmp_path: Path,
) -> None:
    doc = "# The basket\n\n````md\n```sh\nthe basket must be a shell\n```\n````\n\n"
    doc += "- It holds goods.\n  - Gifts of a basket are kept, but\n    must not be heavier than it is.\n\n"
    doc += "        a basket must not be code\n\n> **Warning:** the basket is lost when the\n> shop shuts at night.\n\n"
    doc += "| option | type | what for |\n| - | - | - |\n| `lidOpen` | bool | Shut only if it always fits. |\n\n"
    doc += "We must now fill the basket.\n\nA basket of two shops is not one of three.\n\n"
    doc += "> [!WARNING]\n> Coins in a basket are not counted.\n"
    more = "The basket\n==========\n\n.. attribute:: Basket.depth\n\n    Only centimetres\n    :attr:`Basket.width` is\n"
    more += "    measured in. A shallow one is refused, as is here::\n\n        Basket(depth=0)  # must not be\n\n"
    more += "    .. code-block:: python\n\n        basket.must(never=1)\n\n>>> basket.must(False)\nTrue\n"
    write(tmp_path, {**SHOP, "docs/guide.md": doc, "docs/more.rst": more})
    findings = found(tmp_path, "limits", "basket")
    shops, coins = (
        next(f.score for f in findings if word in f.text) for word in ("two shops", "Coins")
    )
    assert coins > shops  # it is warned of
    assert {finding.text: finding.sources for finding in findings} == {
        "`A basket of two shops is not one of three`": ("docs/guide.md:24",),
        "`Coins in a basket are not counted`": ("docs/guide.md:27",),
        "`Gifts of a basket are kept, but must not be heavier than it is`": (
            "docs/guide.md:10-11",
        ),
        "`**Warning:** the basket is lost when the shop shuts at night`": ("docs/guide.md:15-16",),
        "`lidOpen`: `Shut only if it always fits`": ("docs/guide.md:20",),
        "`Basket.depth`: ``Only centimetres :attr:`Basket.width` is measured in``": (
            "docs/more.rst:4",
            "docs/more.rst:6-8",
        ),
    }


PIECES = (
    ".. function:: ", ".. option:: --a", ".. code::", "(x)", "::", "- ", "* ", "1. ", "| a | b |", "|", "```", "> ",
    "~~~ md", "    ", "\t", "# h", "---", "if a: ", "if ", "(", ")", "unless x", "guard let", "{", "}", "&&", "\\",
    "else", "return x", "raise X('", "'", '"', "`", "// c", "/* c */", "const x = f()", ":param x: y", ">>> a", ":::",
    "!!! note", "a", "é", "\0",
)  # fmt: skip


@example([".. function:: (x)", "    a"])
@given(
    st.lists(st.lists(st.sampled_from(PIECES), max_size=5).map("".join), min_size=1, max_size=14)
)
def test_any_lines_are_read_as_prose_and_as_conditions(lines: list[str]) -> None:
    for path in ("a.md", "a.rst", "a.py"):
        file: Any = SimpleNamespace(path=path, lines=lines, text="\n".join(lines))
        told = [paragraph.start for paragraph in paragraphs.paragraphs(file)]
        told += [
            decision.line for decision in decisions.decisions(file, 1, len(lines), frozenset())
        ]
        told += [guards.guard(file, 1, number)[0] for number in range(1, len(lines) + 1)]
        assert all(0 <= number <= len(lines) for number in told)


def test_commands_of_csharp_name_the_project_and_settings_without_a_value_are_left_out(
    tmp_path: Path,
) -> None:
    test = "public class BasketTests\n{\n    [Fact]\n    public void Basket_adds() => new Basket();\n}\n"
    ci = "      - run: pytest --codspeed --slow -x -q\n      - run: pytest -x --color=${{ matrix.colour }}\n"
    ci += f"      - run: pytest -x -q {'--deselect tests/test_basket.py ' * 3} ${{{{ matrix.more }}}}\n"
    ci += "      - run: pytest -x -q --strict-markers\n"  # the only one that is whole
    project = '\ufeff<Project Sdk="Microsoft.NET.Sdk">\n</Project>\n'
    write(
        tmp_path,
        {
            **SHOP,
            "test/Shop.Tests/BasketTests.cs": test,
            "test/Shop.Tests/Shop.Tests.csproj": project,
        },
    )
    write(tmp_path, {"tests/test_basket.py": "def test_basket():\n    assert Basket()\n"})
    write(
        tmp_path,
        {
            "pytest.ini": "[pytest]\naddopts =\n    -x\nxfail_strict = true\n",
            ".github/workflows/ci.yml": ci,
        },
    )
    said = [finding.text for finding in found(tmp_path, "commands", "basket")]
    assert '"dotnet test test/Shop.Tests --filter FullyQualifiedName~BasketTests"' in said
    assert '"python -m pytest tests/test_basket.py"; `xfail_strict = true`' in said
    (runs,) = (finding.text for finding in found(tmp_path, "checks", "basket"))
    assert runs == "CI runs `pytest -x -q --strict-markers`"


def test_constants_that_stand_together_are_one_and_a_wide_family_is_the_features_own(
    tmp_path: Path,
) -> None:
    values = "const (\n" + "".join(
        f'\tBasketKind{name} = "{name}"\n' for name in ("Paper", "Wood", "WIRE", "Wool")
    )
    values += "\n\tBasketText = `\n1`\n)\n\nfunc basketAdds() {}\n"
    kinds = "".join(f"    Kind{n},\n" for n in range(12))
    rust = f"pub enum ShopError {{\n    BasketFull,\n{kinds}    BasketLost,\n}}\npub fn basket() {{}}\n"
    write(tmp_path, {"shop/basket.go": values, "old/basket.go": values, "shop/basket.rs": rust})
    said = [finding.text for finding in found(tmp_path, "constants", "basket")]
    assert (
        said.count(", ".join(f'`BasketKind{n} = "{n}"`' for n in ("Paper", "Wood", "WIRE", "Wool")))
        == 1
    )
    assert "`ShopError`: `BasketFull`, `BasketLost` and 12 more" in said
    assert not any("BasketText" in text for text in said)
