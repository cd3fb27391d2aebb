"""Each rule on a tiny real project: what it has to find, and what looks like it and must not be claimed.

`found` holds everything that any rule finds in these projects to the check: sources resolve, quotes stand.
"""

import json
import re
from pathlib import Path

import pytest

from _evidence_project import commit, evidence, found, write
from conftest import git
from preread.evidence.collect import RULES
from preread.models import Finding

BASKET = '''\
"""What a shopper wants to buy."""

LIMIT = 20
OTHER = other


class BasketError(Exception):
    """The basket cannot hold this."""


class Basket:
    """Goods and how many of each."""

    def add(self, name: str, count: int = 1) -> None:
        if count > LIMIT:
            raise BasketError("too many of one article")
        self.lines[name] = count

    def basket_total(self) -> int:
        return sum(self.lines.values())
'''
TEST_BASKET = """\
from shop.basket import Basket


def test_basket_adds():
    basket = Basket()
    basket.add("mug")
    assert basket.basket_total() == 1


def test_basket_is_empty_at_first():
    basket = Basket()
    assert basket.basket_total() == 0
"""
JAVA_TEST = "class BasketTest {\n  @Test\n  void basketAdds() {\n    new Basket();\n  }\n}\n"
SHOP = {
    "shop/basket.py": BASKET,
    "tests/test_basket.py": TEST_BASKET,
    "shop/weather.py": "RAIN = 3\n\n\ndef rain(): ...\n",
}


def texts(findings: list[Finding]) -> str:
    return "\n".join(finding.text for finding in findings)


def cited(findings: list[Finding]) -> set[str]:
    return {source for finding in findings for source in finding.sources}


def rule(root: Path, name: str, feature: str = "basket", **more: str) -> list[Finding]:
    return found(root, name, feature, **more)


def test_every_rule_has_a_test_here() -> None:
    files = Path(__file__).parent.glob("test_evidence_*.py")
    here = [
        name
        for file in files
        for name in re.findall(r"^def (test_\w+)", file.read_text(), re.MULTILINE)
    ]
    assert [r.__name__ for r in RULES if not any(f"_{r.__name__}_" in name for name in here)] == []


# -- shape


def test_symbols_are_the_definitions_that_the_feature_names(tmp_path: Path) -> None:
    write(tmp_path, SHOP)
    findings = rule(tmp_path, "symbols")
    assert "`class Basket`: Goods and how many of each" in texts(findings)
    assert "basket_total" in texts(findings)
    assert any(source.startswith("shop/basket.py:11-") for source in cited(findings))
    assert "rain" not in texts(findings)


def test_symbols_of_much_code_are_those_of_which_more_is_said_than_their_names(
    tmp_path: Path,
) -> None:
    said = {
        "fill(goods, count, colour)": "",
        "clear()": "",
        "shake(self, goods, count)": "",
        "list(one)": "Gives a list of lists, listed.",
        "_sort(goods, count)": "",
        "size(one)": "Returns the size of a basket.",
        "weigh(one)": "Reads the scales twice and takes the mean.",
        "drain(one)": "Reads the scales of `rx` twice and takes the mean.",
    }
    code = "".join(
        f'def basket_{head}:\n    """{doc}"""\n    return one\n\n\n' for head, doc in said.items()
    )
    code = code.replace("basket__", "_basket_") + "x = 1\n" * 600
    two = "type Basket struct{}\n\n// Sort puts what is heavy below all others.\n"
    two += "func (b *Basket) SortBasket(n int, m int) {\n\tx(n)\n\ty(n)\n\tz(m)\n}\n\n"
    two += "// SortBasket puts what is heavy below all others.\nfunc SortBasket(n int, m int) { b.SortBasket(n, m) }\n"
    write(tmp_path, {"shop/basket.py": code, "shop/basket.go": two})
    findings = rule(tmp_path, "symbols")
    assert sorted(finding.text for finding in findings) == [
        "`def basket_fill(goods, count, colour)`",
        "`def basket_weigh(one)`: Reads the scales twice and takes the mean",
        "`func (b *Basket) SortBasket(n int, m int)`: Sort puts what is heavy below all others",
    ]


def test_symbols_are_told_with_what_their_names_do_not_say_and_called_by_their_own(
    tmp_path: Path,
) -> None:
    code = "/// Contains Basket options.\nopen class BasketOptions: @unchecked Sendable, Goods {\n"
    code += "    /// Specifies basket logic for a row. The block gets the row and gives true to keep it.\n"
    code += "    func keepBasket(block: (Row) -> Bool) {}\n}\n\n"
    code += "/// Weighs all the goods twice (see the\n///\n/// scale).\n"
    code += "open class BasketScale: @unchecked Sendable, Goods {\n    let a = 1\n}\n"
    write(tmp_path, {"Sources/Basket.swift": code})
    assert {finding.text for finding in rule(tmp_path, "symbols")} == {
        "`class BasketScale`: Weighs all the goods twice",
        "`func keepBasket(block: (Row) -> Bool)` of `BasketOptions`: The block gets the row and gives true to keep it",
    }


def test_mains_are_a_type_and_the_longest_functions_of_files_called_as_the_feature_and_of_the_first(
    tmp_path: Path,
) -> None:
    def method(name: str, lines: int) -> str:
        return f"    def {name}(self, basket):\n" + "        basket.goods += 1\n" * lines + "\n"

    shop = (
        "class Parts:\n    pass\n\n\nclass RealBasket:\n"
        + method("__init__", 20)
        + method("colour", 1)
    )
    shop += (
        method("fill_basket", 9)
        + method("_drain_basket", 9)
        + "".join(method("get", 9) for _ in range(4))
    )
    far = "class Till:\n" + method("pay_basket", 9)  # not the first, and called something else
    twin = shop.replace("RealBasket", "RainBasket")
    write(
        tmp_path,
        {
            "shop/basket.py": shop,
            "shop/till.py": far,
            "shop/basket.js": "function fillBasket(basket) {}\n",
        },
    )
    write(tmp_path, {"shop/rain_basket.py": twin})
    [only] = rule(tmp_path, "mains")
    assert only.text == "`RealBasket`, `fill_basket`, `_drain_basket`"
    assert only.sources[0] == "shop/basket.py:5"


def test_inside_says_what_functions_decide_do_and_remark(tmp_path: Path) -> None:
    python = "def basket_check(name, count):\n    if (\n        count > 3\n    ):\n        raise ValueError('too many')\n"
    python += "    if not name:\n        return None\n    # Printers choke on such names, so never let one through.\n"
    python += '    name = name.strip("-_")\n    if count == 3 and name:\n        name.pop()\n        name.clear()\n'
    python += "    print('checked')\n    if name == 'log':\n        logger.debug('logged')\n"
    long = "'no basket of that name', " + ", ".join(f"argument_{n}" for n in range(14))
    python += f"    if count == 4:\n        raise ValueError({long})\n    if count == 5:\n        basket_far({long})\n"
    python += "    # So it was before.\n    return name\n"
    script = "// Gifts have no row, since they are not paid.\nexport function basketRow(row) {\n"
    script += "  if (row.kind === 'gift') return null;\n  return row.price;\n}\n"
    script += (
        "/** What a basket is given.\n * @see never.example\n * @example\n * never = 1;\n */\n"
    )
    script += "export interface BasketOptions {\n"
    script += "  /** Its colour. Must not be red, printers have none. */\n  colour?: string\n}\n"
    rust = "fn basket_full(b: &Basket) -> bool {\n    if !b\n        .lines_fit(3)\n    {\n"
    rust += "        return true;\n    }\n    false\n}\n\n/// How a basket is shown to people.\nfn basket_shown() {\n}\n"
    write(
        tmp_path,
        {
            "web/basket.rs": rust,
            "shop/basket.py": python,
            "web/basket.ts": script,
            "shop/weather.py": "def rain():\n    raise E('x')\n",
        },
    )
    said = texts(rule(tmp_path, "inside"))
    assert (
        "if `( count > 3 )`: `raise ValueError('too many')`" in said
        or "if `count > 3`: `raise ValueError(" in said
    )
    assert "if `count == 3 and name`: `name.pop()`, `name.clear()`" in said
    assert (
        '`Printers choke on such names, so never let one through`; `name = name.strip("-_")`'
        in said
    )
    assert (
        "`basketRow`: `Gifts have no row, since they are not paid`; if `row.kind === 'gift'`: `return null`"
        in said
    )
    assert (
        "`colour`: `Must not be red, printers have none`" in said
    )  # a field's, and not its example
    assert "if `!b .lines_fit(3)`: `return true`" in said
    assert "`raise ValueError('no basket of that name'`" in said  # up to its message
    for dull in (
        "checked",
        "rain",
        "never.example",
        "never = 1",
        "basket_shown",
        "logged",
        "basket_far",
        "if `not name`",
    ):
        assert dull not in said


def test_inside_tells_what_things_hang_on_and_no_fragments(tmp_path: Path) -> None:
    python = "def basket_price(row, rows):\n    if row.kind == 'gift':\n        if row.count > 7:\n"
    python += "            raise ValueError('greedy')\n    total = (\n        rows[7:]\n        if len(rows) > 7\n"
    python += "        else rows\n    )\n    if row.mode == 'torn':\n        try:\n            row.mend('glue')\n"
    python += "        finally:\n            row.close()\n"
    python += "    return (\n        total == 7\n        and row.weight > 7\n    )\n"
    script = (
        "export function basketShow(row) {\n  if (row.kind === 'open') {\n    row.show('open');\n"
    )
    script += "    const shown = asBrand<\n      Shown\n    >(row);\n  }\n"
    script += "  if (row.kind === 'list') {\n    row.rows\n      .sort('name');\n  }\n"
    script += "  if (row.kind === 'shut') {\n  row.fold('once');\n  } else if (row.wide) {\n  row.fold('twice');\n  }\n}\n"
    python += "\n\ndef basket_pair(row, rows):\n    if (row.name, row.mark) in rows:\n        @wraps(row)\n"
    python += "        def basket_rows():\n            return 'all rows'\n    if row.price == 77:\n"
    python += "        row.price = \\\n            rows.cheapest(77)\n"
    python += "    if logger.isEnabledFor(7):\n        row.tell('level')\n"
    python += "    # Note that the above example never says which row is meant.\n"
    python += "    try:\n        row.lift(7)\n    except (KeyError, 'row'):\n        row.drop(7)\n"
    ruby = "def basket_load(row)\n  unless row.kind == :gift\n    raise 'no gift'\n  end\nend\n"
    java = "class Basket {\n  void basketClear(Row row) {\n    if (row.size() == 7) { // as many as fit\n"
    java += "      row.clear(7);\n    }\n  }\n}\n"
    go = "package shop\n\nfunc basketSend(row Row) {\n\tif row.count == 7 &&\n\t\trow.full() {\n\t\tbox := row.box()\n"
    go += "\t\tbox.send(7)\n\t}\n\tif row.mode == 7 {\n\t\trow.post(row.address, glue(\n"
    go += f"{'row.count, ' * 12}\n\t\t))\n\t}}\n}}\n"
    write(tmp_path, {"shop/basket.rb": ruby, "shop/Basket.java": java, "shop/basket.go": go})
    write(tmp_path, {"shop/basket.py": python, "web/basket.ts": script})
    said = texts(rule(tmp_path, "inside"))
    assert (
        "if `(row.name, row.mark) in rows`: `def basket_rows()`" in said
    )  # a pair, and not its decorator
    assert "if `row.price == 77`: `row.price = \\ rows.cheapest(77)`" in said
    assert "unless `row.kind == :gift`: `raise 'no gift'`" in said
    assert "if `row.size() == 7`: `row.clear(7)`" in said  # without the remark behind it
    assert (
        "if `row.count == 7 && row.full()`: `box.send(7)`" in said
    )  # not what only names something
    assert (
        "if `row.mode == 7`: `row.post`" in said
    )  # what does not fit, up to where its call begins
    assert "if `row.kind == 'gift'` and `row.count > 7`: `raise ValueError('greedy')`" in said
    assert "if `row.mode == 'torn'`: `row.mend('glue')`" in said
    assert "`return ( total == 7 and row.weight > 7 )`" in said
    assert "if `row.kind === 'open'`: `row.show('open')`;" in said
    assert "if `row.kind === 'list'`: `row.rows .sort('name')`" in said
    assert (
        "if `row.kind === 'shut'`: `row.fold('once')`; if `row.wide`: `row.fold('twice')`" in said
    )
    for fragment in (
        "isEnabledFor",
        "KeyError",
        "above example",
        "`and row",
        "else rows",
        "len(rows)",
        "asBrand",
        "} else",
    ):
        assert fragment not in said


def test_inside_leaves_out_what_is_plain_elsewhere_told_or_said_everywhere(tmp_path: Path) -> None:
    check = "        if count > 7:\n            raise ValueError('too many')\n"
    twins = (
        "class Basket:\n    def basket_fill(self, count):\n"
        + check
        + "        self.source.read(count)\n"
    )
    twins += "\n\nclass AsyncBasket:\n    async def basket_fill(self, count):\n" + check
    twins += "        await self.source.aread(count)\n"
    plain = "\n\ndef basket_give(row, names):\n    if row is None:\n        row = names\n    if row and names:\n"
    plain += "        names.fill(row)\n    return row\n\n\ndef basket_lock(row):\n    if row.is_open:\n        row.close()\n"
    usual = "".join(
        f"\n\ndef basket_{n}(row):\n    # This must be kept for old printers.\n    return row\n"
        for n in "abc"
    )
    till = (
        "from shop.basket import Basket\n\n\ndef till(basket):\n    basket_lines = ring(basket)\n"
    )
    till += "    return basket_lines\n"
    till += "\n\ndef ring(goods):\n    if goods == 7:\n        raise ValueError('seven')\n    return goods\n"
    till += "\n\n# Where a basket is paid.\n#\n# A drawer must never be left open, it is a trap for thieves.\nclass Till:\n"
    till += "    drawer = 3\n"
    write(tmp_path, {"shop/basket.py": twins + plain + usual, "shop/till.py": till})
    everything = [*rule(tmp_path, "inside"), *rule(tmp_path, "warnings")]
    said = texts(everything)
    assert said.count("too many") == 1
    assert "`basket_fill` of Basket: if `count > 7`" in said
    assert "`basket_lock`: if `row.is_open`: `row.close()`" in said
    for beside in ("basket_give", "old printers", "seven", "drawer"):
        assert beside not in said


def test_inside_takes_long_functions_in_parts_and_what_the_feature_calls(tmp_path: Path) -> None:
    filler = "".join(f"    x{n} = {n}\n" + "\n" * (n % 10 == 9) for n in range(100))
    long = f"def basket_walk(lines):\n{filler}    if lines == 7:\n        raise ValueError('odd basket')\n"
    long += "    settle(lines)\n"
    long += "\n\ndef settle(lines):\n    if 'end' in lines:\n        lines.append('end of it')\n    return lines\n"
    long += "\n\ndef basket_lines(self):\n    self.asked = True\n    return self.lines[0]\n"  # all that its name says
    short = "def basket_{0}(n):\n    if n > 3:\n        n.{0} = 3\n"
    old, shows = (
        "shop/v1/basket.py",
        "examples/basket.py",
    )  # beside the feature, as long as it stands elsewhere
    write(
        tmp_path, {"shop/v2/basket.py": "", old: short.format("old"), shows: short.format("shown")}
    )
    write(tmp_path, {"shop/basket.py": long})
    findings = rule(tmp_path, "inside")
    (part,) = [f for f in findings if "odd basket" in f.text]
    assert part.sources == ("shop/basket.py:57-114",)
    assert "`settle`: if `'end' in lines`: `lines.append('end of it')`" in texts(findings)
    for beside in ("basket_lines", "basket_old", "basket_shown"):
        assert beside not in texts(findings)


def test_twins_are_functions_that_stand_twice_and_are_alike(tmp_path: Path) -> None:
    body = (
        "    def basket_send(self, names):\n        for name in names:\n            self.go(name)\n"
    )
    body += "            self.count += 1\n            self.weight += name.weight\n            self.told.append(name)\n"
    body += "        return {}\n\n"
    code = "class Slow:\n" + body.format(1) + "class Quick:\n" + body.format(2)
    write(tmp_path, {"shop/basket.py": code})
    findings = rule(tmp_path, "twins")
    assert "`basket_send` stands twice, in `Slow` and `Quick`" in texts(findings)
    write(tmp_path, {"shop/basket.py": code.replace("send", "call", 1)})
    assert "`basket_call` and `basket_send` have 100 % of their lines in common" in texts(
        rule(tmp_path, "twins")
    )
    write(tmp_path, {"shop/basket.py": code + "class Third:\n" + body})
    (finding,) = rule(tmp_path, "twins")
    assert finding.text.startswith("`basket_send` stands 3 times, in `Slow`, `Quick` and `Third`, ")
    assert finding.text.endswith(" % alike: change all")
    other = (
        code[: code.index("class Quick")]
        + "class Quick:\n    def basket_send(self, names):\n        a()\n        b()\n"
    )
    write(tmp_path, {"shop/basket.py": other + "        c()\n        return names\n"})
    assert rule(tmp_path, "twins") == []


def test_constants_are_named_values_and_families_near_the_feature(tmp_path: Path) -> None:
    enum = "\n\nclass BasketState(Enum):\n    OPEN = 'open'\n    PAID = 'paid'\n    GONE = 'gone'\n"
    write(tmp_path, {**SHOP, "shop/basket.py": "from enum import Enum\n\n" + BASKET + enum})
    said = texts(rule(tmp_path, "constants"))
    assert "`LIMIT = 20`" in said
    assert "`BasketState`: `OPEN`, `PAID`, `GONE`" in said
    assert "OTHER" not in said  # what another name stands for says nothing
    assert "RAIN" not in said
    java = 'class Basket {\n  @Old("x")\n  public static final int LEAST = 3;\n'
    java += "".join(f"  public static final int SIZE_{n} = {n};\n" for n in (1, 2, 3)) + "}\n"
    write(tmp_path, {"shop/basket.py": "", "shop/Basket.java": java})
    said = texts(rule(tmp_path, "constants"))
    assert "`SIZE_1 = 1`, `SIZE_2 = 2`, `SIZE_3 = 3`" in said  # those that begin alike
    assert "LEAST = 3`" in said
    assert "@Old" not in said


def test_routes_are_addresses_and_no_other_strings(tmp_path: Path) -> None:
    served = '@app.get("/basket/{id}")\ndef show_basket(id): ...\n\n\n@app.cache("/basket/tmp")\ndef basket_cache(): ...\n'
    served += '\n\ndef go_basket():\n    router.push("/basket/pay")\n    d.get("basket")\n    log.info("/basket/logged")\n'
    write(tmp_path, {**SHOP, "shop/basket_views.py": served})
    said = texts(rule(tmp_path, "routes"))
    assert "`/basket/{id}`" in said
    assert "`/basket/pay`" in said
    assert "logged" not in said
    assert "/basket/tmp" not in said


def test_selectors_are_the_attributes_that_tests_look_for(tmp_path: Path) -> None:
    form = 'export function Basket() {\n  return (\n    <form id="plain-id" data-testid="basket-form">\n'
    form += '      <input aria-label="How many" className="wide-input" data-testid={dynamic} />\n'
    form += "    </form>\n  );\n}\n"
    write(tmp_path, {"src/Basket.tsx": form})
    said = texts(rule(tmp_path, "selectors"))
    assert "`data-testid`: `basket-form`" in said
    assert "`How many`" in said
    assert "plain-id" not in said
    assert "wide-input" not in said
    assert "dynamic" not in said


def test_environment_is_what_the_feature_reads_of_it(tmp_path: Path) -> None:
    reads = 'import os\n\n\ndef basket_limit():\n    return os.environ["BASKET_LIMIT"], os.getenv("BASKET_HOST")\n'
    other = 'import os\n\nRAIN = os.environ["RAIN_HOST"]\nNAME = "BASKET_NAME"\n'
    write(tmp_path, {**SHOP, "shop/basket_env.py": reads, "shop/weather.py": other})
    findings = rule(tmp_path, "environment")
    assert "`BASKET_LIMIT`" in texts(findings)
    assert "`BASKET_HOST`" in texts(findings)
    assert "RAIN_HOST" not in texts(findings)
    assert "BASKET_NAME" not in texts(findings)


def test_callers_are_calls_from_other_files(tmp_path: Path) -> None:
    pay = (
        "from shop.pricing import basket_price\n\n\ndef pay_now():\n    # basket_price() is slow\n"
    )
    pay += "    return basket_price(1)\n"
    own = (
        "def basket_price(n):\n    return n\n\n\ndef basket_twice():\n    return basket_price(2)\n"
    )
    named = (
        "def report():\n    return 'basket_price', other_basket_price(1), x.basket_price_all()\n"
    )
    write(tmp_path, {"shop/pricing.py": own, "shop/pay.py": pay, "shop/report.py": named})
    findings = rule(tmp_path, "callers")
    assert "`basket_price` is called in `pay_now`" in texts(findings)
    assert cited(findings) == {"shop/pay.py:6"}


# -- running, scaffolding


def test_commands_say_how_the_feature_s_tests_run(tmp_path: Path) -> None:
    places = {
        "pyproject.toml": "[project]\nname = 'x'\n\n[tool.pytest.ini_options]\n",
        "Makefile": "build:\n\tx\ntest:\n\tpytest\n",
    }
    write(
        tmp_path,
        {
            **SHOP,
            **places,
            "package.json": '{"scripts": {\n  "test": "vitest"\n}}\n',
            "other/pytest.ini": "[pytest]\n",
        },
    )
    findings = rule(tmp_path, "commands")
    assert cited(findings) == {"pyproject.toml:4", "Makefile:3-4"}
    assert "python -m pytest tests/test_basket.py" in texts(findings)
    java = {
        "till/build.gradle.kts": "plugins {\n}\n",
        "till/src/test/java/BasketTest.java": JAVA_TEST,
    }
    write(tmp_path, {"pytest.ini": "[pytest]\n"})
    assert cited(rule(tmp_path, "commands")) == {
        "pytest.ini:1",
        "Makefile:3-4",
    }  # it overrides the other
    scripts = '{"scripts": {\n  "test": "vitest",\n  "till": "mocha basket.spec.js"\n}}\n'
    more = {
        "package.json": scripts,
        "basket.spec.js": "it('basket', f);\n",
        "till/Basket.java": "class Basket {}\n",
    }
    write(tmp_path, {**java, **more, "tests/test_basket.py": "x = 1\n"})
    findings = rule(tmp_path, "commands")
    assert '"./gradlew :till:test --tests BasketTest"' in texts(findings)
    assert '`"till": "mocha basket.spec.js"`' in texts(findings)
    scripts = '{"scripts": {\n  "test:watch": "jest --watch",\n  "test": "vitest"\n}}\n'
    rust = {"Cargo.toml": "[package]\n", "tests/basket.rs": "#[test]\nfn basket_opens() {}\n"}
    write(tmp_path, {**rust, "package.json": scripts})
    said = texts(rule(tmp_path, "commands"))
    assert '`"test": "vitest"`; once: "npx vitest run basket.spec.js"' in said
    assert '`[package]`: "cargo test --test basket"' in said
    crate = "[package]\nautotests = false\n\n[[test]]\nname = 'all'\npath = 'tests/lib.rs'\n"
    write(tmp_path, {"Cargo.toml": crate})
    assert '"cargo test --test all basket"' in texts(rule(tmp_path, "commands"))


def test_fixtures_are_cited_where_they_are_made_and_asked_for(tmp_path: Path) -> None:
    made = "import pytest\n\n\n@pytest.fixture\ndef filled():\n    return ['mug', 'rug']\n\n\n"
    made += "def helper_filled():\n    return 1\n"
    uses = "def test_basket_one(filled, tmp_path):\n    assert filled\n\n\ndef test_basket_two(filled):\n"
    uses += "    assert filled\n"
    write(
        tmp_path,
        {
            **SHOP,
            "tests/conftest.py": made,
            "tests/test_basket.py": uses,
            "tests/test_rain.py": "def test_r(wet): ...\n",
        },
    )
    findings = rule(tmp_path, "fixtures")
    assert "fixture `filled` in 2 of 2 tests: gives `['mug', 'rug']`" in texts(findings)
    assert "tests/conftest.py:5-6" in cited(findings)
    assert "helper_filled" not in texts(findings)
    assert "wet" not in texts(findings)


def test_hooks_are_what_runs_around_each_test(tmp_path: Path) -> None:
    spec = 'test.describe("basket", () => {\n  test.beforeEach(async ({ page }) => {\n'
    spec += (
        '    await page.goto("/basket");\n    await page.fill("long", { wide: "'
        + "so " * 30
        + '" });\n  });\n'
    )
    spec += '  test("basket is empty", async ({ page }) => {\n    await page.reload("/inside");\n  });\n});\n'
    write(
        tmp_path, {"tests/basket.spec.ts": spec, "src/basket.ts": "export function basket() {}\n"}
    )
    findings = rule(tmp_path, "hooks")
    assert (
        texts(findings) == 'beforeEach: `page.goto("/basket")`'
    )  # what is too long to be told whole is left out
    assert "/inside" not in texts(findings)


# -- how tests are written


def test_calls_are_those_that_this_feature_s_tests_make_more_than_others(tmp_path: Path) -> None:
    one = 'def test_basket_{n}(client):\n    client.fill_basket("mug")\n    common.prepare_all()\n'
    one += "    assert len([1]) == 1\n\n\n"
    other = "def test_rain():\n    common.prepare_all()\n    assert 1\n"
    files = {f"tests/test_other{n}.py": other for n in range(4)}
    write(
        tmp_path,
        {**SHOP, **files, "tests/test_basket.py": "".join(one.format(n=n) for n in range(4))},
    )
    findings = rule(tmp_path, "calls")
    assert '`client.fill_basket("mug")` in 4 of 4 tests here, named in no other test file' in texts(
        findings
    )
    assert "len(" not in texts(findings)
    assert "prepare_all" not in texts(findings)
    own = "def test_basket_{n}(client):\n    goods.add_one({n}, 'red')\n    Basket('mug')\n    client.take_all(goods)\n"
    write(tmp_path, {"tests/test_basket.py": "".join(own.format(n=n) for n in range(8))})
    findings = rule(
        tmp_path, "calls"
    )  # neither the class under test nor what is given nothing but names
    assert (
        texts(findings)
        == "`goods.add_one(0, 'red')` and the like in 8 of 8 tests here, named in no other test file"
    )


def test_assertions_are_the_commonest_shapes_of_checks(tmp_path: Path) -> None:
    body = "".join(
        f"def test_basket_{n}():\n    assert basket.total() == {n}\n\n\n" for n in range(4)
    )
    write(
        tmp_path,
        {
            **SHOP,
            "tests/test_basket.py": body,
            "tests/test_rain.py": "def test_r():\n    assert rain.wet() is True\n",
        },
    )
    findings = rule(tmp_path, "assertions")
    assert "`assert basket.total() == 0` and the like in 4 of 4 tests" in texts(findings)
    assert "wet" not in texts(findings)
    java = "  @Test void basketA{n}() {{\n    assertThat(total(b))\n        .isEqualTo(3);\n{more}  }}\n"
    rare = "    assertThat(b.rare()).isTrue();\n"
    java = "".join(java.format(n=n, more=rare * (n < 3)) for n in range(16))
    write(
        tmp_path,
        {
            "tests/test_basket.py": "",
            "src/test/java/BasketTest.java": f"class BasketTest {{\n{java}}}\n",
        },
    )
    assert rule(tmp_path, "assertions") == []  # one goes on below, one is rare


def test_example_is_one_short_test_shown_whole(tmp_path: Path) -> None:
    skipped = '\n\n@pytest.mark.skip(reason="not now, it is broken")\ndef test_basket_skipped():\n'
    skipped += "    x = 1\n    assert basket\n"
    long = "\n\ndef test_basket_long():\n" + "    basket.add(1)\n" * 30 + "    assert basket\n"
    write(tmp_path, {**SHOP, "tests/test_basket.py": TEST_BASKET + skipped + long})
    [finding] = rule(tmp_path, "example")
    assert finding.text in {"test_basket_adds", "test_basket_is_empty_at_first"}
    assert finding.fence[0] == f"def {finding.text}():"
    assert finding.fence[-1].startswith("    assert")


def test_example_is_rather_a_test_that_checks_something(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            **SHOP,
            "tests/test_basket.py": "def test_basket_a():\n    x = 1\n    y = 2\n\n\n"
            + TEST_BASKET,
        },
    )
    [finding] = rule(tmp_path, "example")
    assert finding.text != "test_basket_a"


# -- which tests there are


def test_groups_are_the_feature_s_tests_by_class_or_block(tmp_path: Path) -> None:
    grouped = "class TestBasket:\n    def test_adds(self):\n        assert 1\n\n"
    grouped += "    def test_empties(self):\n        assert 1\n"
    write(
        tmp_path,
        {
            **SHOP,
            "tests/test_basket.py": grouped,
            "tests/test_rain.py": "def test_rain_falls():\n    assert 1\n",
        },
    )
    findings = rule(tmp_path, "groups")
    assert "`TestBasket`, 2 tests: `test_adds`, `test_empties`" in texts(findings)
    assert "rain" not in texts(findings)
    far = {f"tests/test_{n}.py": "def test_it():\n" + "    basket()\n" * 5 for n in "abcdefghijkl"}
    far["tests/test_y.py"] = "def test_basket_ball():\n    assert play()\n"
    write(tmp_path, {**far, "tests/test_z.py": "def test_a_basket_far_away():\n    basket()\n"})
    said = texts(rule(tmp_path, "groups"))
    assert "also, elsewhere: `test_a_basket_far_away`" in said
    assert "test_basket_ball" not in said  # a thing of the same name
    rows = "package shop\n\nfunc TestBasketRows(t *testing.T) {\n\tt.Run(tc.name, func(t *testing.T) {\n\t\tbasket()\n"
    write(tmp_path, {"shop/basket_test.go": rows + "\t})\n}\n"})
    said = texts(rule(tmp_path, "groups"))
    assert "TestBasketRows" in said
    assert "tc.name" not in said


def test_groups_of_many_tests_are_parted_by_what_their_names_share(tmp_path: Path) -> None:
    names = [
        f"basket_{word}_{n}"
        for word in ("colour", "weight")
        for n in ("one", "two", "three", "four")
    ]
    tests = "import pytest\n\n\n" + "".join(
        f"def test_{name}():\n    assert 1\n\n\n" for name in names
    )
    tests += "@pytest.mark.parametrize('n', [1])\ndef test_basket_weight_rows(n):\n    assert n  # as in #12\n"
    write(tmp_path, {**SHOP, "tests/test_basket.py": tests})
    said = texts(rule(tmp_path, "groups"))
    assert "on weight: `test_basket_weight_one`" in said
    assert "rows of `test_basket_weight_rows` #12" in said
    assert "on colour: " in said


def test_helpers_are_page_objects_and_functions_that_the_tests_use(tmp_path: Path) -> None:
    page = "export class BasketPage {\n  async open() {\n    await this.page.goto('/');\n  }\n"
    page += "  async clear() {\n    x();\n  }\n}\n"
    page += "export class RainPage {\n  async pour() {}\n}\n\nexport function unusedHelper() {}\n"
    spec = 'import { BasketPage } from "./pages/BasketPage";\n\ntest("basket opens", async ({ page }) => {\n'
    spec += "  const basket = new BasketPage(page);\n  await basket.open();\n  expect(basket).toBeTruthy();\n});\n"
    write(
        tmp_path,
        {
            "tests/pages/BasketPage.ts": page,
            "tests/basket.spec.ts": spec,
            "src/basket.ts": "export const basket = 1;\n",
        },
    )
    findings = rule(tmp_path, "helpers")
    assert "`class BasketPage`: `open`" in texts(findings)
    assert "RainPage" not in texts(findings)
    assert "unusedHelper" not in texts(findings)


# -- gaps


def test_unmentioned_symbols_are_public_names_in_no_test(tmp_path: Path) -> None:
    more = (
        BASKET + "\n\ndef basket_weight():\n    return 1\n\n\ndef _basket_secret():\n    return 2\n"
    )
    more += "\n\ndef basket_sum():\n    return 3\n\n\ndef _sum():\n    return basket_sum()\n\n\ndef add():\n    _sum()\n"
    more += "\n\nclass BasketLid:\n    pass\n\n\ndef basketImpl():\n    return 4\n"
    write(tmp_path, {**SHOP, "shop/basket.py": more})
    findings = rule(tmp_path, "unmentioned_symbols")
    assert (
        texts(findings) == "no test names `basket_weight`"
    )  # tests reach the error and the sum by what they call
    screen = "export class BasketScreen {\n  basketStop() {\n    return 1;\n  }\n}\n"
    write(
        tmp_path,
        {
            "web/basket.ts": screen,
            "web/basket.test.ts": "it('basket', () => open(BasketScreen));\n",
        },
    )
    assert "basketStop" not in texts(
        rule(tmp_path, "unmentioned_symbols")
    )  # tests call no method of it
    assert 'absent:tests/**~"basket_weight"' in cited(findings)
    assert "basket_total" not in texts(findings)
    assert "_basket_secret" not in texts(findings)


def test_unmentioned_symbols_count_a_name_in_any_test_file_even_in_a_comment(
    tmp_path: Path,
) -> None:
    more = BASKET + "\n\ndef basket_weight():\n    return 1\n"
    write(
        tmp_path,
        {
            **SHOP,
            "shop/basket.py": more,
            "tests/unit/test_else.py": "# basket_weight is easy\ndef test_x(): ...\n",
        },
    )
    assert "basket_weight" not in texts(rule(tmp_path, "unmentioned_symbols"))


def test_unmentioned_messages_are_errors_that_no_test_shows(tmp_path: Path) -> None:
    more = BASKET.replace(
        "self.lines[name] = count",
        'if not name:\n            raise BasketError("no name (given")\n',
    )
    shown = (
        TEST_BASKET
        + '\n\ndef test_basket_limit():\n    with raises(match="too many of one article"):\n        x()\n'
    )
    write(tmp_path, {**SHOP, "shop/basket.py": more, "tests/test_basket.py": shown})
    said = texts(rule(tmp_path, "unmentioned_messages"))
    assert "no test shows `no name (given`" in said
    assert "too many" not in said
    far = (
        "\n\nclass Rain:\n    def fall(self):\n"
        + "        x = 1\n" * 5
        + "        raise BasketError({0})\n"
    )
    write(tmp_path, {"shop/basket.py": more + far.format('"it never " "rains here in summer"')})
    said = texts(rule(tmp_path, "unmentioned_messages"))
    assert "`it never`" not in said


def test_unmentioned_members_are_values_of_a_family_that_tests_leave_out(tmp_path: Path) -> None:
    enum = "from enum import Enum\n\n\nclass BasketState(Enum):\n    OPENED = 'opened'\n"
    enum += "    PAYING = 'paying'\n    CLOSED = 'closed'\n"
    tests = (
        TEST_BASKET
        + "\n\ndef test_basket_state():\n    assert BasketState.OPENED\n    assert state == 'closed'\n"
    )
    write(tmp_path, {**SHOP, "shop/basket.py": enum, "tests/test_basket.py": tests})
    findings = rule(tmp_path, "unmentioned_members")
    assert texts(findings) == "no test names `BasketState.PAYING`"
    assert "OPENED" not in texts(findings)
    assert "CLOSED" not in texts(findings)  # by its value it is shown


def test_unmentioned_options_are_switches_that_no_test_passes(tmp_path: Path) -> None:
    code = "def basket_open(name, limit=3, strict=False, *, locked=None, colour='red'):\n"
    code += "    return (name, limit, strict, locked, colour)\n"
    code += "\n\ndef basket_send(name, deep=False, loud=False, wet=False):\n    return (name, deep, loud, wet)\n"
    code += "\n\ndef basket_post(name):\n    basket_send(name, wet=name.isupper())\n"
    tests = "from shop.basket import basket_open\n\n\ndef test_basket_opens():\n    basket_open('a', colour='blue')\n"
    tests += "    basket_send('a', True)\n    run('--loud')\n"
    write(tmp_path, {"shop/basket.py": code, "tests/test_basket.py": tests})
    findings = rule(tmp_path, "unmentioned_options")
    assert "no test sets `strict=True`, `locked`" in texts(findings)
    assert 'absent:tests/**~"strict=True"' in cited(findings)
    assert "limit" not in texts(findings)  # may be passed by its place
    assert "basket_send" not in texts(findings)  # set by its place, as a flag, by its caller
    assert "colour" not in texts(findings)


# -- traps


def test_warnings_are_comments_that_warn_at_the_feature_s_symbols(tmp_path: Path) -> None:
    comment = "        # NOTE: never empty the lines before the receipt is printed\n"
    plain = "        # we look at each of the lines, one after another\n        y = 1\n"
    plain += "        # noqa: never mind this long tooling comment here\n"
    more = BASKET.replace(
        "        return sum", f"{comment}\n        x = 1\n{plain}        return sum"
    )
    write(
        tmp_path,
        {
            **SHOP,
            "shop/basket.py": more,
            "shop/weather.py": "# never go out when it rains, it is dangerous to do so\n",
        },
    )
    findings = [
        *rule(tmp_path, "inside"),
        *rule(tmp_path, "warnings"),
    ]  # told once, with its passage
    assert texts(findings).count("never empty the lines") == 1
    assert "never empty the lines before the receipt is printed" in texts(findings)
    assert "one after another" not in texts(findings)
    assert "tooling" not in texts(findings)
    assert "rains" not in texts(findings)


def test_warnings_are_told_with_the_sentence_that_they_hang_on(tmp_path: Path) -> None:
    comment = "        # Safari keeps the old lines for a while. So never empty them here.\n"
    more = BASKET.replace("        return sum", f"{comment}        return sum")
    write(tmp_path, {**SHOP, "shop/basket.py": more})
    said = texts(rule(tmp_path, "inside"))
    assert (
        "`basket_total`: `Safari keeps the old lines for a while. So never empty them here`" in said
    )


def test_warnings_are_told_with_what_turns_them_round_and_not_where_too_short_to_explain(
    tmp_path: Path,
) -> None:
    turned = (
        "        # Baskets of more than ten rows are never shown whole. But the printer gets all of them, "
        + "x " * 60
    )
    turned += "row by row.\n"
    more = BASKET.replace("        return sum", f"{turned}        return sum")
    test = TEST_BASKET + "\n\n# The basket is never closed in this test nor in others\nx = 1\n"
    test += "\n\n# The basket is never shut in this one, because it is asked for later\ny = 1\n"
    write(tmp_path, {**SHOP, "shop/basket.py": more, "tests/test_basket.py": test})
    said = texts([*rule(tmp_path, "inside"), *rule(tmp_path, "warnings")])
    assert "are never shown whole. But the printer gets all of them" in said
    assert "never shut" in said
    assert "never closed" not in said


def test_warnings_stand_beside_the_feature_too_and_are_not_told_far_from_it(tmp_path: Path) -> None:
    near = "# The basket must not be imported before the shop is open, it reads its rules\n"
    far = "\n\n# Never call this twice, the sky would fall on all our heads at once\nrain = 1\n"
    write(
        tmp_path,
        {
            **SHOP,
            "shop/basket.py": "import os\n" * 12 + near + BASKET,
            "shop/weather.py": "\n" * 12 + far,
        },
    )
    said = texts(rule(tmp_path, "warnings"))
    assert "`The basket must not be imported before the shop is open, it reads its rules`" in said
    assert "twice" not in said


def test_warnings_are_of_what_counts_and_called_by_the_switch_that_they_are_about(
    tmp_path: Path,
) -> None:
    code = (
        "#include <x>\n" * 12 + "// Baskets are never emptied here, unless this is switched off.\n"
    )
    code += "#ifndef BASKET_KEEPS\n#define BASKET_KEEPS 1\n#endif\n\n"
    code += "// The basket cannot be taken when it is shut on either side\n// basketShut,\n"
    code += "int basket_code(int n) {\n  if (!(\n      // The basket cannot be opened when it is locked\n"
    code += "      n && n > 1)) {\n"
    code += "    // So that you can take a basket with you wherever you like, without being asked for it.\n"
    code += "    return 1;\n  }\n  return n;\n}\n"
    rust = "// the basket\n" + "\n" * 12
    rust += "/// A shut basket must never be sent with this status, since it fails.\npub const SHUT: u16 = 1;\n\n"
    rust += "/// An open basket must never be sent with this status, since it fails.\npub const OPEN: u16 = 2;\n\n"
    rust += "pub fn basket() -> u16 {\n    OPEN\n}\n"
    write(tmp_path, {"src/basket.cc": code, "src/basket.rs": rust})
    assert {finding.text for finding in rule(tmp_path, "warnings")} == {
        "`BASKET_KEEPS`: `Baskets are never emptied here, unless this is switched off`",
        "`OPEN`: `An open basket must never be sent with this status, since it fails`",
    }


def test_warnings_of_docstrings_are_sentences_and_no_fields(tmp_path: Path) -> None:
    code = 'def basket_size(count):\n    """How many.\n\n    This should be called after the lines are sorted.\n\n'
    code += '    :param count: never zero\n    """\n    return count\n'
    write(tmp_path, {**SHOP, "shop/basket.py": code})
    said = texts(rule(tmp_path, "warnings"))
    assert "`basket_size`: `This should be called after the lines are sorted`" in said
    assert "zero" not in said


def test_version_notes_are_what_docstrings_say_of_changes(tmp_path: Path) -> None:
    noted = 'def basket_size():\n    """How many.\n\n    .. versionchanged:: 2.1\n'
    noted += "       Counts each article once.\n\n    .. note:: of no interest\n\n"
    noted += "    .. versionchanged:: 2.2\n\n       Renamed, so that nobody takes it for the size of the basket itself,\n"
    noted += "       which is the number of its rows and has been\n       asked for by many who had to count\n"
    noted += '       them one by one. The old name stays.\n    """\n    x()\n'
    write(tmp_path, {**SHOP, "shop/basket_size.py": noted})
    findings = rule(tmp_path, "version_notes")
    assert "`basket_size`, versionchanged 2.1: `Counts each article once.`" in texts(findings)
    assert "of no interest" not in texts(findings)
    assert "who had to count them one by one. The old name stays.`" in texts(
        findings
    )  # whole, and no more


def test_deprecated_names_come_with_what_replaces_them(tmp_path: Path) -> None:
    old = 'def basket_sum():\n    """Deprecated: use basket_total instead."""\n'
    old += '    warnings.warn("use basket_total", DeprecationWarning)\n    return 1\n'
    warns = '\n\ndef basket_scan(mode):\n    if mode == "x":\n'
    warns += '        warnings.warn("mode x is deprecated", DeprecationWarning)\n    return 1\n'
    script = "/** @deprecated use newBasket */\nexport function oldBasket() {}\n\nexport function newBasket() {}\n"
    box = "class BasketBox {\n  /** @deprecated since 2.0 */\n  BasketBox(int wide, int deep,\n      int high) {\n"
    box += "    x();\n  }\n\n  BasketBox(int wide) {\n    x();\n  }\n}\n"
    bag = "class BasketBag {\n  /** @deprecated will be private */\n  BasketBag() {\n    // empty\n  }\n}\n"
    files = {"shop/basket_old.py": old + warns, "web/basket.ts": script, "web/BasketBox.java": box}
    files["web/BasketBag.java"] = bag  # says nothing of what it does
    write(tmp_path, {**SHOP, **files})
    said = texts(rule(tmp_path, "deprecated"))
    assert "`basket_sum` is deprecated: use `basket_total`" in said
    assert "`oldBasket` is deprecated: use `newBasket`" in said
    assert "`BasketBox(int wide, int deep, int high)` is deprecated" in said  # which of them it is
    assert "BasketBag" not in said
    assert "basket_scan" not in said  # one argument is, not the function
    assert "`newBasket` is" not in said


def test_documents_against_code_finds_two_values_and_names_that_are_nowhere(tmp_path: Path) -> None:
    code = "class BasketOptions:\n    basket_limit: int = 20\n    basket_wait_s: float = 60.0\n    before: int = 0\n"
    doc = "# The basket\n\n`basket_limit` is 30.\n`basket_wait_s` is 1 minute.\n`basket_colour` is blue.\n"
    doc += "`basket_size` too.\n\n- `basket_who`, a guest\n\nSettings:\n\n- `basket_colour` is blue\n\n"
    doc += "Empty the basket before 9 in the evening.\n"
    news = "# Changes\n\n- the basket: `basket_limit` was 99 once, `basket_gone` is gone\n"
    write(
        tmp_path,
        {
            "shop/basket.py": code,
            "docs/basket.md": doc,
            "docs/changelog.md": news,
            "tools/x.py": "basket_size = 1\n",
        },
    )
    findings = rule(tmp_path, "documents_against_code")
    assert {"docs/basket.md:3", "shop/basket.py:2"} <= cited(findings)
    assert "`basket_colour` is documented and stands nowhere in the code" in texts(findings)
    assert "basket_who" not in texts(findings)
    for harmless in ("evening", "basket_wait_s", "basket_size", "99", "basket_gone"):
        assert harmless not in texts(findings)


def test_side_by_side_are_a_sentence_of_the_documents_and_what_code_does_with_its_name(
    tmp_path: Path,
) -> None:
    code = "def basket_close(limit_days):\n    if limit_days > 30:\n        raise ValueError('too late')\n"
    doc = "# The basket\n\nA basket can always be closed, whatever `limit_days` says.\n\nIts colour is blue.\n"
    write(tmp_path, {"shop/basket.py": code, "docs/basket.md": doc})
    (finding,) = rule(tmp_path, "side_by_side")
    said = "documents: ``A basket can always be closed, whatever `limit_days` says``"
    assert (
        finding.text
        == f"{said}; `basket_close`: if `limit_days > 30`: `raise ValueError('too late')`"
    )
    assert finding.sources == ("docs/basket.md:3", "shop/basket.py:1-3")
    # A name that is a word, a sentence that restricts nothing, one that leans on another.
    doc = "# The basket\n\nA basket must keep its `limit`.\n\nA basket has `limit_days` and colours.\n\n"
    doc += "In this case the basket ignores `limit_days`.\n"
    code = code.replace("(limit_days)", "(limit_days, limit)").replace("> 30", "> limit")
    write(tmp_path, {"shop/basket.py": code, "docs/basket.md": doc})
    assert rule(tmp_path, "side_by_side") == []


def test_unread_parameters_are_those_that_a_function_s_body_never_holds(tmp_path: Path) -> None:
    code = (
        "def basket_price(count, currency):\n    return count\n\n\ndef basket_hook(event, extra):\n"
    )
    code += "    return event\n\n\nhandlers = [basket_hook]\n"
    code += "\n\nclass BasketView(View):\n    def basket_get(self, wanted):\n        return 1\n"
    code += "\n\n@decorated\ndef basket_made(given):\n    return 1\n"
    code += "\n\nclass BasketA:\n    def basket_ask(self, answer):\n        return 1\n"
    code += "\n\nclass BasketB:\n    def basket_ask(self, answer):\n        return answer\n"
    write(tmp_path, {"shop/basket.py": code})
    said = texts(rule(tmp_path, "unread_parameters"))
    assert "`currency` of `basket_price` is never read" in said
    for harmless in ("`count`", "extra", "wanted", "given", "answer"):
        assert harmless not in said


def test_formerly_tells_what_comments_and_documents_say_of_how_it_was(tmp_path: Path) -> None:
    rain = "\n\n# Rain used to be counted in buckets.\nRAIN = 3\n"
    filled = "# Formerly the basket was made of straw.\ndef fill_basket(goods):\n"
    filled += "    # The basket took no more than ten before 2.1, for want of room.\n    x = 1\n"
    filled += "    # For backwards compatibility.\n"
    filled += "    y = 1\n    # We will make the basket smaller in 3.0.\n"
    held = "\n\n# What is used to sum up the basket is kept in a list that is sorted.\ndef basket_list():\n    return []\n"
    other = '"""Goods."""\n' + "\n" * 12 + f"{filled}    return goods\n{held}"
    guide = "# Guide\n\nIn earlier versions the basket was emptied at night.\nThe weather was better previously.\n"
    guide += "\nA basket that was previously configured is emptied.\n"
    guide = f"We used a basket previously; let's take two.\n\nFormerly, a basket was made so:\n\n{guide}"
    write(
        tmp_path,
        {
            **SHOP,
            "shop/basket.py": other,
            "shop/weather.py": "\n" * 12 + rain,
            "docs/basket.md": guide,
        },
    )
    assert {finding.text: finding.sources for finding in rule(tmp_path, "formerly")} == {
        "`fill_basket`: `The basket took no more than ten before 2.1, for want of room`": (
            "shop/basket.py:16",
        ),
        "`fill_basket`: `Formerly the basket was made of straw`": ("shop/basket.py:14-15",),
        "`In earlier versions the basket was emptied at night`": ("docs/basket.md:7",),
    }


def test_changed_arguments_are_parameters_that_a_function_changes_in_place(tmp_path: Path) -> None:
    code = "def basket_fill(names, lines):\n    names.append('mug')\n    return lines\n\n\n"
    code += "def basket_size(names):\n    names.append('mug')\n    return len(names)\n\n\n"
    code += "def basket_copy(names):\n    names = list(names)\n    names.append('mug')\n    return names\n"
    code += "\n\ndef basket_kept(names):\n    def kept(counts):\n        counts.append(names)\n    return kept\n"
    rust = "fn basket_shown(mut rows: Rows, more: &mut Rows) {\n    rows.push(1);\n    more.push(1);\n}\n"
    write(tmp_path, {"shop/basket.py": code})
    findings = rule(tmp_path, "changed_arguments")
    assert [finding.text for finding in findings] == [
        "`basket_size` changes what it is given: `names.append('mug')`"
    ]
    assert cited(findings) == {"shop/basket.py:6-7"}  # the first one's name says it
    (tmp_path / "shop/basket.py").unlink()
    write(tmp_path, {"src/basket.rs": rust})
    assert (
        texts(rule(tmp_path, "changed_arguments"))
        == "`basket_shown` changes what it is given: `more.push(1)`"
    )


# -- what was taken back


def test_turned_round_is_what_was_dropped_or_switched_and_no_chore(tmp_path: Path) -> None:
    commit(tmp_path, SHOP, "begin")
    commit(tmp_path, {"shop/basket.py": BASKET + "# 1\n"}, "Drop the basket's loop detection")
    commit(tmp_path, {"shop/basket.py": BASKET + "# 2\n"}, "Remove unused imports of the basket")
    commit(tmp_path, {"shop/basket.py": BASKET + "# 3\n"}, "Make the basket faster")
    commit(tmp_path, {"shop/basket.py": BASKET + "# 4\n"}, "Disable globals")  # of what, and why?
    commit(
        tmp_path, {"shop/basket.py": BASKET}, "Drop the basket's loop detection (#4)"
    )  # once more, on another branch
    commit(
        tmp_path,
        {"tests/test_basket.py": SHOP["tests/test_basket.py"] + "\n"},
        "Stop the basket from shaking",
    )
    commit(
        tmp_path, {"shop/weather.py": "RAIN = 4\n"}, "Stop rain at the basket"
    )  # another part of the project
    commit(tmp_path, {".env": "URL=1\n"}, "Switch the basket's server")  # no code at all
    commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# 6\n"},
        "Hide the basket where onBasketClick is missing",
    )  # gone
    total = "    def basket_total(self) -> int:\n        return sum(self.lines.values())\n"
    moved = BASKET.replace(total, "").replace("    def add", f"{total}\n    def add")
    commit(
        tmp_path, {"shop/basket.py": moved + "# 6\n"}, "Switch methods of the basket round"
    )  # the same lines
    commit(
        tmp_path, {"shop/basket.py": moved + "oil = pot(1)\n"}, "Stop the basket from creaking"
    )  # gone since
    commit(
        tmp_path, {"shop/basket.py": moved + "# 9\n"}, "Swap basket/shelf order"
    )  # which way, and what of it?
    commit(
        tmp_path,
        {"shop/basket.py": moved + "# 6\n"},
        "Hide the basket's inner parts. Minor clean up",
    )
    tried = commit(tmp_path, {"shop/basket.py": moved + "# 7\n"}, "Hide the basket at night")
    commit(tmp_path, {"shop/basket.py": BASKET}, f"Show it\n\nThis reverts commit {tried}.")
    tried = commit(tmp_path, {"shop/basket.py": BASKET + "# 8\n"}, "Hide the basket by day")
    back = commit(tmp_path, {"shop/basket.py": BASKET}, f"Show it\n\nThis reverts commit {tried}.")
    commit(
        tmp_path, {"shop/basket.py": BASKET + "# 8\n"}, f"Better not\n\nThis reverts commit {back}."
    )
    findings = rule(tmp_path, "turned_round")
    assert {finding.text for finding in findings} == {
        "2026: `Drop the basket's loop detection`",
        "2026: `Hide the basket by day`",
    }
    commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# 5\n"},
        "Disable globals\n\nThey are shared between shoppers.",
    )
    assert "`Disable globals`: They are shared between shoppers" in texts(
        rule(tmp_path, "turned_round")
    )
    everywhere = {f"shop/shelf{n}.py": "SHELF = 1\n" for n in range(9)} | {"shop/basket.py": BASKET}
    commit(tmp_path, everywhere, "Stop sharing globals\n\nThey are in the way of whoever tests it.")
    assert "`Stop sharing" not in texts(
        rule(tmp_path, "turned_round")
    )  # it went through the whole project


def test_turned_round_reaches_back_beyond_a_renamed_file(tmp_path: Path) -> None:
    commit(tmp_path, {"old/all.py": "X = 1\n"}, "begin")
    commit(
        tmp_path, {"old/all.py": "X = 2\n"}, "Drop the basket's loop detection", date="2025-11-30"
    )
    commit(tmp_path, {"old/all.py": "X = 3\n"}, "Drop the basket's spinner")
    git(tmp_path, "rm", "-q", "old/all.py")
    commit(
        tmp_path,
        SHOP | {"shop/basket.py": BASKET + "# no loop detection\n"},
        "Put goods into modules of their own",
    )
    said = texts(rule(tmp_path, "turned_round"))
    assert (
        "2025: `Drop the basket's loop detection`" in said
    )  # when it was written, not when it was rebased
    assert "spinner" not in said  # nothing of it is left


def test_reverts_name_what_was_tried_and_why_it_was_taken_back(tmp_path: Path) -> None:
    commit(tmp_path, SHOP, "begin")
    tried = commit(
        tmp_path, {"shop/basket.py": BASKET + "\n# cached\n"}, "Cache the basket between visits"
    )
    body = f'Revert "Cache the basket between visits"\n\nThis reverts commit {tried}.\n\n'
    body += "Two shoppers saw each other's goods."
    back = commit(tmp_path, {"shop/basket.py": BASKET}, body)
    commit(
        tmp_path,
        {"shop/basket.py": BASKET + "\n"},
        "Let a shopper revert the basket to yesterday's",
    )
    crowd = {f"shop/other{n}.py": "basket = 1\n" for n in range(4)} | {
        "shop/basket.py": BASKET + "\n\n"
    }
    commit(
        tmp_path, crowd, 'Revert "Count the weather"\n\nThis reverts commit 1234567.'
    )  # mostly elsewhere
    tried_again = 'Revert "Wrap the basket (#5)" (#6)'
    commit(tmp_path, {"shop/basket.py": BASKET}, tried_again)
    commit(
        tmp_path, {"shop/basket.py": BASKET + "\n"}, f'Revert "{tried_again}"'
    )  # and is there again
    flat = commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# flat\n"},
        "Let the basket be flat wherever it stands",
    )
    body = f'Revert "Let the basket be … (#7)"\n\nThis reverts commit {flat}.'
    cut = commit(tmp_path, {"shop/basket.py": BASKET}, body)
    goods = "\n\ndef basket_goods(basket):\n    return basket.lines\n\n\ndef basket_sum(basket):\n    return 0\n"
    away = 'Revert "Shelve goods"\n\nThis reverts commit 1234567.\n\nThe shelves were of glass and too many broke.'
    commit(tmp_path, {"shop/goods.py": goods}, "Goods")
    commit(tmp_path, {"shop/goods.py": f"SHELF = 0\n{goods}"}, away)
    squashed = (
        "Make the basket round\n\n* Try a square one\n* Revert\n\nThis reverts commit 1234567."
    )
    commit(tmp_path, {"shop/basket.py": BASKET}, squashed)
    findings = rule(tmp_path, "reverts")
    soon = "2026-01 `Cache the basket between visits` was taken back the same day: Two shoppers saw"
    assert soon in texts(findings)
    assert "`Let the basket be flat wherever it stands` was taken back" in texts(
        findings
    )  # its whole title
    assert cited(findings) == {f"commit:{sha[:9]}" for sha in (back, tried, cut, flat)}
    merged = "Merge pull request #8 from ann/basket\n\nLet the basket glow"
    glow = commit(tmp_path, {"shop/basket.py": BASKET + "# 9\n"}, merged)
    body = f'Revert "{merged.splitlines()[0]}"\n\nThis reverts commit {glow}, reversing\nchanges made to 1234567.'
    dark = commit(tmp_path, {"shop/basket.py": BASKET}, body, date="2026-03-05")
    anew = commit(
        tmp_path, {"shop/basket.py": BASKET + "# 9\n"}, "Glow of the basket", date="2026-05-01"
    )
    (finding,) = (one for one in rule(tmp_path, "reverts") if "glow" in one.text)
    told = (
        "2026-01 `Let the basket glow` was taken back 59 days later; 2026-05 `Glow of the basket`"
    )
    assert (finding.text, cited([finding])) == (
        told,
        {f"commit:{sha[:9]}" for sha in (glow, dark, anew)},
    )


def test_back_and_forth_values_are_found_and_values_that_only_moved_on_are_not(
    tmp_path: Path,
) -> None:
    shas = []
    for limit, size in ((10, 1), (30, 2), (10, 3)):
        text = f"basket_limit = {limit}\nbasket_size = {size}\n"
        shas.append(commit(tmp_path, {"shop/basket.py": text}, f"The basket holds {limit}"))
    findings = rule(tmp_path, "back_and_forth")
    assert len(findings) == 1
    assert "`basket_limit` went from 10 to 30 and back" in texts(findings)
    assert cited(findings) == {f"commit:{shas[2][:9]}", f"commit:{shas[1][:9]}"}


def test_reworked_lines_are_followed_from_commit_to_commit_whatever_the_subjects_say(
    tmp_path: Path,
) -> None:
    basket = "def basket_total(goods):\n    {}\n    return sum(prices)\n\n\nLIMIT = {}\n"
    basket += "\n\ndef basket_mass(goods):\n    return sum({} for good in goods)\n"
    plain, guard = (
        "prices = [{0}.price for {0} in goods]",
        "if goods is None:\n        return 0\n    ",
    )
    guarded, light = guard + plain.format("it"), "good.mass"
    shas = [
        commit(
            tmp_path,
            {"shop/basket.py": basket.format(*rest), f"shop/rain{n}.py": f"RAIN = {n}\n"},
            subject,
            date=at,
        )
        for n, (at, subject, *rest) in enumerate(
            (
                ("2024-01-05T22:00:00Z", "Sum the basket up", plain.format("good"), 10, light),
                ("2024-01-06T03:00:00Z", "Fix a crash", guard + plain.format("one"), 10, light),
                ("2024-01-06", "Fix spelling of names", guarded, 10, light),  # no change of its own
                ("2024-01-07", "Hold no longer ten", guarded, 20, light),
                ("2024-01-08", "Hold forty again", guarded, 40, light),
                (
                    "2026-01-01",
                    "Fix overflow",
                    guarded,
                    40,
                    "good.mass or 0",
                ),  # so late it is another thing's
                (
                    "2026-01-31",
                    "Weigh the basket by shelf",
                    guarded,
                    40,
                    "good.mass or shelf.mass",
                ),  # no repair
                (
                    "2026-01-09",
                    "Fix rain on the basket",
                    guarded,
                    40,
                    "good.mass or shelf.mass or 1",
                ),  # and earlier
            )
        )
    ]
    put, fixed, _, twice, thrice, *_ = (f"commit:{sha[:9]}" for sha in shas)
    assert {finding.text: finding.sources for finding in rule(tmp_path, "reworked")} == {
        "2024-01 `Sum the basket up`; its lines fixed hours later: `Fix a crash`, by `if goods is None`": (
            put,
            fixed,
        ),
        "the same lines 2024-01 `Sum the basket up`; 2024-01 `Hold no longer ten`; 2024-01 `Hold forty again`:"
        " `LIMIT = 40`, before that 20, 10": (put, twice, thrice),
    }


def test_fixed_functions_are_those_whose_lines_of_today_came_by_several_fixes(
    tmp_path: Path,
) -> None:
    lines = ["def basket_total(goods):", "    return sum(goods)"]
    fixes = (
        "    goods = goods or []",
        "    goods = [one for one in goods if one]",
        "    goods = list(goods)",
    )
    shas = []
    for n, subject in enumerate(
        ("Begin", "Fix empty goods", "Fix goods of no price", "Fix typos in comments")
    ):
        lines[1:1] = fixes[n - 1 : n]
        shas.append(commit(tmp_path, {"shop/basket.py": "\n".join(lines)}, subject))
    (finding,) = rule(tmp_path, "fixed_functions")
    assert (
        finding.text
        == "`basket_total` was fixed more than once: 2026 `Fix empty goods`; 2026 `Fix goods of no price`"
    )
    assert finding.sources == (
        f"commit:{shas[1][:9]}",
        f"commit:{shas[2][:9]}",
        "shop/basket.py:1-5",
    )
    ran = "\n".join(lines).replace("(goods)", "(goods) + 0")
    commit(tmp_path, {"shop/basket.py": ran}, "Run go fix ./...")
    assert "go fix" not in texts(rule(tmp_path, "fixed_functions"))
    lines += ["", "", "def basket_rest(goods):", *fixes[:2], "    return goods"]
    commit(tmp_path, {"shop/basket.py": "\n".join(lines)}, "Rest")
    assert (
        rule(tmp_path, "fixed_functions") == []
    )  # of lines that stand twice nobody knows which was fixed


def test_replaced_sleeps_are_found_with_the_wait_that_replaced_them(tmp_path: Path) -> None:
    spec = 'test("basket pays", async ({{ page }}) => {{\n{}  await page.click("basket");\n  {}\n}});\n'
    moved = 'test("basket moves", async () => {{\n  await {};\n}});\n'
    files = {"src/basket.ts": "export const basket = 1;\n"}
    files["tests/basket.spec.ts"] = spec.format("", "await page.waitForTimeout(3000);")
    commit(tmp_path, {**files, "tests/basket.move.spec.ts": moved.format("sleep(10)")}, "begin")
    longer = spec.format("", "await page.waitForTimeout(5000);")
    helper = "export const basketRests = () => sleep(10);\n"
    files = {
        "tests/basket.move.spec.ts": moved.format("basketRests().until(1)"),
        "tests/basket.help.spec.ts": helper,
    }
    commit(
        tmp_path, {"tests/basket.spec.ts": longer, **files}, "wait longer"
    )  # one of them from elsewhere
    seen = spec.format("  await expect(page).toBeVisible();\n", 'await page.waitForURL("/paid");')
    sha = commit(tmp_path, {"tests/basket.spec.ts": seen}, "wait for the address")
    slow = moved.format("basketRests().until(1)").replace("  await", "  sleep(77);\n  await")
    commit(tmp_path, {"tests/basket.move.spec.ts": slow}, "rest")
    commit(
        tmp_path, {"tests/basket.move.spec.ts": moved.format("basketRests().until(1)")}, "no rest"
    )
    findings = rule(tmp_path, "replaced_sleeps")
    assert len(findings) == 1
    assert "`page.waitForTimeout(5000)`" in texts(findings)
    assert "waitForURL" in texts(findings)
    assert cited(findings) == {f"commit:{sha[:9]}"}


# -- failures

REPORT = """\
<?xml version="1.0"?>
<testsuite>
  <testcase classname="tests.test_basket" name="test_basket_adds">
    <failure message="assert 2 == 1">trace</failure>
  </testcase>
  <testcase classname="tests.test_basket" name="test_basket_is_empty_at_first"/>
  <testcase classname="tests.test_rain" name="test_rain"><failure message="wet"/></testcase>
</testsuite>
"""


def test_failed_tests_of_a_report_are_those_of_the_feature(tmp_path: Path) -> None:
    """More of them in test_report_history.py."""
    write(tmp_path, {**SHOP, "reports/junit.xml": REPORT})
    (finding,) = rule(tmp_path, "failed")
    assert finding.text.startswith("`test_basket_adds` failed on 2023-11-")
    assert finding.text.endswith(", with `assertion`: assert 2 == 1")
    assert [source[:10] for source in finding.sources] == ["run:202311"]
    assert finding.kind == "reported"


@pytest.mark.parametrize(
    "report",
    [
        "<testsuite>",
        "",
        "\0",
        "<a/>",
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testsuite>&b;</testsuite>',
    ],
)
def test_failed_says_nothing_of_a_report_that_cannot_be_read(tmp_path: Path, report: str) -> None:
    write(tmp_path, {**SHOP, "reports/junit.xml": report})
    assert rule(tmp_path, "failed") == []


def test_failed_tests_of_recorded_runs_are_those_of_the_feature(tmp_path: Path) -> None:
    """More of them in test_results.py."""
    runs = [
        {
            "id": f"r-{name}",
            "at": 0,
            "outcome": "failed",
            "failed": [f"tests/{name}.py::{name}"],
            "message": "wet",
        }
        for name in ("test_basket_adds", "test_rain")
    ]
    write(tmp_path, {**SHOP, ".project/.state/results.jsonl": "\n".join(map(json.dumps, runs))})
    findings = rule(tmp_path, "failed")
    assert [finding.text for finding in findings] == [
        "`tests/test_basket_adds.py::test_basket_adds` failed on 1970-01-01: wet"
    ]
    assert cited(findings) == {"run:r-test_basket_adds"}


def test_repeated_fixes_are_fixes_of_one_thing(tmp_path: Path) -> None:
    commit(tmp_path, SHOP, "begin")
    whole = "Fix rounding of the basket total where goods are sold by weight"
    first = commit(
        tmp_path, {"shop/basket.py": BASKET + "# 1\n"}, f"{whole} (#3)", date="2025-11-05"
    )
    commit(tmp_path, {"shop/basket.py": BASKET + "# 2\n"}, "Fix colour of the basket icon")
    second = commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# 3\n"},
        "Fix rounding of the basket total again (#9)",
    )
    commit(tmp_path, {"shop/basket.py": BASKET + "# 4\n"}, "Document rounding of the basket total")
    rain = "Fix rounding of the basket total in rain"
    commit(tmp_path, {"shop/weather.py": "RAIN = 4\n"}, rain)  # another part of the project
    commit(
        tmp_path,
        {"tests/test_basket.py": TEST_BASKET + "# 1\n"},
        "Fix rounding in tests of the basket total",
    )
    for n in range(2):
        commit(
            tmp_path,
            {"shop/basket.py": BASKET + f"# 1{n}\n"},
            f"Drop straps of the basket, part {n}",
        )  # one piece
    for year in ("2014", "2015"):  # too long ago to tell, and no fix
        commit(
            tmp_path,
            {"shop/basket.py": BASKET + f"# {year}\n"},
            f"Hide pockets of the basket {year}",
            date=f"{year}-01-01",
        )
    for n in range(2):  # of something else, whose name holds the feature's
        commit(
            tmp_path,
            {"shop/basket.py": BASKET + f"# 2{n}\n"},
            f"Fix shaking of night_shop_basket in wind {n}",
        )
    for year in ("2024", "2025"):
        wobble = f"Let the basket wobble on wheels of {year}"  # two things more, none of them worked on again
        commit(tmp_path, {"shop/basket.py": BASKET + f"# {year}\n"}, wobble, date=f"{year}-02-01")
    findings = rule(tmp_path, "repeated_fixes")
    assert len(findings) == 1
    assert "fixed more than once in `basket.py` (rounding, total): 2026 `Fix" in texts(findings)
    assert f"`{whole}`" in texts(findings)
    assert cited(findings) == {f"commit:{first[:9]}", f"commit:{second[:9]}"}


def test_repeated_fixes_take_in_what_shares_a_rare_word_and_leave_out_what_does_not(
    tmp_path: Path,
) -> None:
    commit(tmp_path, SHOP, "begin")
    subjects = (
        "Fix the receipt of the basket",
        "Drop the receipt of the basket",
        "Neater receipt lines",
        "Show more colours",
    )
    shas = [
        commit(tmp_path, {"shop/basket.py": BASKET + f"# {n}\n"}, subject, date=f"2026-0{n + 1}-01")
        for n, subject in enumerate(subjects)
    ]
    (finding,) = rule(tmp_path, "repeated_fixes")
    assert set(finding.sources) == {f"commit:{sha[:9]}" for sha in shas[:3]}
    head = "changed more than once in `basket.py` (receipt): 2026 `Neater receipt lines`; 2026 `Drop the receipt of"
    assert finding.text.startswith(head)
    for n, whose in enumerate(("handler", "handler", "of Ann", "of Ben", "of Eve")):
        subject = f"Fix straw of the basket {whose}, part {n}"
        commit(
            tmp_path, {"shop/basket.py": BASKET + f"# 2{n}\n"}, subject, date=f"2025-0{n + 1}-01"
        )
    assert (
        rule(tmp_path, "repeated_fixes", "basket-handler") == []
    )  # most of them are of another thing


def test_repeated_fixes_of_files_that_the_description_spells_out_need_not_name_the_feature(
    tmp_path: Path,
) -> None:
    text = "from shop.basket import Basket\n\n\ndef shelve(basket: Basket) -> int:\n    return {}\n"
    commit(tmp_path, SHOP, "begin")
    for n in range(3):
        changed = {"shop/nightshelf.py": text.format(n)}
        commit(tmp_path, changed, f"Fix shelf creaking in wind {n}", date=f"2025-0{n + 1}-01")
    more = "its lids, straps, wheels, colours, prices and receipts"
    (finding,) = rule(
        tmp_path, "repeated_fixes", description=f"The basket on its night shelf, {more}"
    )
    assert finding.text.startswith(
        "fixed more than once in `nightshelf.py` (creaking, shelf): 2025 `Fix"
    )
    assert rule(tmp_path, "repeated_fixes", description=f"The basket on its shelf, {more}") == []


def test_repeated_fixes_are_in_one_file_of_several_issues_and_something_of_them_is_left(
    tmp_path: Path,
) -> None:
    commit(tmp_path, SHOP, "begin")
    for name in ("lid", "handle"):  # one word, but nothing that both changed
        commit(
            tmp_path,
            {f"shop/{name}.py": f"basket_{name} = 1\n"},
            f"Fix straps of the basket at its {name}",
        )
    for n, when in enumerate(("in winter", "when hot")):  # all gone since
        commit(
            tmp_path,
            {"shop/basket.py": f"{BASKET}glue = pot({n})\n"},
            f"Fix glue of the basket {when}",
        )
    for n, when in enumerate(("on stairs", "on stairs anew")):  # one issue
        commit(
            tmp_path,
            {"shop/basket.py": BASKET + f"# {n}\n"},
            f"SHOP-7 Fix wheels of the basket {when}",
        )
    for n, goods in enumerate(
        ("ZIndex of goods", "lines by IndexOf", "endIndex")
    ):  # different names with one word
        commit(tmp_path, {"shop/basket.py": BASKET + f"# {n + 2}\n"}, f"Fix basket {goods} at {n}")
    assert texts(rule(tmp_path, "repeated_fixes")) == ""
    for n, at in enumerate(("noon", "night")):  # one name in several files
        commit(
            tmp_path,
            {f"shop/hour{n}.py": f"oldHours = basket({n})\n"},
            f"Fix oldHours of the basket at {at}",
        )
    assert texts(rule(tmp_path, "repeated_fixes")).startswith(
        "fixed more than once (oldHours): 2026 `Fix oldHours"
    )


def test_fixes_are_told_with_their_cause_and_other_commits_are_not(tmp_path: Path) -> None:
    commit(tmp_path, SHOP, "begin")
    commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# 1\n"},
        "Fix the basket total\n\nEmpty lines were counted as one article each.",
    )
    commit(tmp_path, {"shop/basket.py": BASKET + "# 2\n"}, "Prefix the basket with a name")
    commit(tmp_path, {"shop/basket.py": BASKET + "# 3\n"}, "Correct the colour of icons, fixes #3")
    commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# 4\n"},
        "Mend a leak (bug 7)\n\nSigned-off-by: Somebody Else <a@b.c>",
    )
    commit(tmp_path, {"shop/weather.py": "RAIN = 4\n"}, "Fix the weather")
    listed = "Fix the basket's pockets, that were sewn up (issue: #4)\n\nThere were two of them to be opened:\n\n- left"
    commit(tmp_path, {"shop/basket.py": BASKET + "# 8\n"}, listed)
    commit(tmp_path, {"shop/basket.py": BASKET + "# 5\n"}, "Fix basket behaviour")  # which?
    commit(
        tmp_path,
        {"shop/basket.py": BASKET + "# 7\n"},
        "Fix mutants of basket\n\nThe basket's tests let some live.",
    )
    commit(
        tmp_path, {"shop/basket.py": BASKET + "# 6\n"}, "chore(shop): fix exports of basket names"
    )
    said = texts(rule(tmp_path, "fixes"))
    assert "`Fix the basket total`: Empty lines were counted as one article each" in said
    for harmless in ("Prefix", "weather", "behaviour", "exports", "mutants"):
        assert harmless not in said
    pockets = "2026 `Fix the basket's pockets, that were sewn up`; "  # no list is begun, no bracket left open
    assert (
        pockets + "2026 `Mend a leak (bug 7)`; 2026 `Correct the colour of icons`" in said
    )  # without a cause, on one line


def test_marked_tests_come_with_their_mark_and_its_reason(tmp_path: Path) -> None:
    marked = '\n\n@pytest.mark.xfail(reason="#61: rounding is off by one")\ndef test_basket_rounds():\n    assert 0\n'
    marked += '\n\n@pytest.mark.parametrize("retry", [1])\ndef test_basket_plain(retry):\n    assert retry\n'
    write(tmp_path, {**SHOP, "tests/test_basket.py": "import pytest\n" + TEST_BASKET + marked})
    findings = rule(tmp_path, "marked")
    assert [finding.text for finding in findings] == [
        "`test_basket_rounds` is marked xfail: #61: rounding is off by one"
    ]


def test_changelog_tells_of_fixes_of_the_feature_by_its_words_and_by_what_changed_it(
    tmp_path: Path,
) -> None:
    commit(tmp_path, SHOP, "begin")
    summed = BASKET.replace(
        "sum(self.lines.values())", "sum(n for n in self.lines.values() if n > 0)"
    )
    commit(tmp_path, {"shop/basket.py": summed}, "Fix prices, fixes #77")
    news = "# Changes\n\n[2.1.0](https://example.org/releases/tag/2.1.0) - 2026-01-02\n---\n"
    news += "- fix(shop): the basket: totals of\n  many lines were cut when it rained"
    news += " ([#5](https://github.com/a/b/pull/5) by [Ann]("
    news += "https://github.com/ann))\n- docs: fixed the basket's page at last\n"
    news += "- Fixed what the basket wants of its tests\n"
    news += "- Added a basket icon\n- Fixed the weather\n\n## 2.0\n\n#77: Fixed what was asked\n  for in vain\n"
    news += "#78: Fixed what nobody asked for\n#79: Fixed what was asked everywhere\n"
    shelves = {f"shop/shelf{n}.py": "SHELF = 1\n" for n in range(5)}
    spared = summed.replace("n > 0", "n >= 1")
    commit(tmp_path, shelves | {"shop/basket.py": spared}, "Tidy numbers up, fixes #79")
    write(tmp_path, {"release-notes/NEWS": news, "docs/other.md": "- Fixed the basket elsewhere\n"})
    findings = rule(tmp_path, "changelog")
    assert [(finding.text, *finding.sources) for finding in findings] == [
        (
            "2.1.0, fixed: `the basket: totals of many lines were cut when it rained`",
            "release-notes/NEWS:5-6",
        ),
        ("2.0: `Fixed what was asked for in vain`", "release-notes/NEWS:14-15"),
    ]


def test_changelog_tells_of_changes_of_mind_first_with_the_commit_that_did_it(
    tmp_path: Path,
) -> None:
    commit(tmp_path, SHOP, "begin")
    sha = commit(tmp_path, {"shop/basket.py": BASKET + "red_ink = 1\n"}, "Hide the basket (#812)")
    long = "- Fix the basket. " + "It was " + "very " * 50 + "broken. Goods fell out of it\n"
    news = f"# Changes\n\n## Unreleased\n\n{long}- Fixed basket\n- Fixed regression in colours of the basket\n"
    news += "- Fix the basket's blinking icon (#31)\n"
    news += "- An empty basket is now hidden, and shows no total. (#812)\n- Fix the colour of the basket's icon (#31)\n"
    news += "- Stop the basket unless `onCheckoutClick` is given\n- `--basket-colour` no longer implies `red_ink`\n"
    news += "- The handler of weather is now removed from the basket\n- The handler of rain is now removed, too\n"
    news += "- `BasketKey` of the basket has been renamed to `basketKey`\n- Hide the basket\n"
    news += "  - Fixed by [Ann](https://a.b/c) for the basket\n"
    news += "\n## 1.0.0-rc.1\n\n### Added\n\n- A lid that shows when the basket has been disabled\n\n### Bug fixes\n\n"
    news += "- The basket no longer working in rain ([SHOP-7](https://a.b/7)). Thanks @ann\n- The basket and rain\n"
    news += "\n### Removed\n\n- Fix the basket's blinking icon for good\n"
    write(tmp_path, {"CHANGELOG.md": news})
    first, *others = rule(tmp_path, "changelog")
    assert first.text == "Unreleased: `An empty basket is now hidden, and shows no total`"
    assert first.sources == ("CHANGELOG.md:9", f"commit:{sha[:9]}")
    assert (
        [other.text for other in others]
        == [
            "Unreleased: `The handler of weather is now removed from the basket`",
            "Unreleased: `Fix the basket's blinking icon`",  # whole sentences that say what, and each change once
            "1.0.0-rc.1, fixed: `The basket no longer working in rain`",  # what was wrong, not what is
            "1.0.0-rc.1: `Fix the basket's blinking icon for good`",
        ]
    )
    (other,) = rule(tmp_path, "changelog", "basket-handler")  # not what is another handler's
    assert other.text == "Unreleased: `The handler of weather is now removed from the basket`"
    assert rule(tmp_path, "turned_round") == []  # not again


# -- what people wrote


def test_knowledge_about_the_feature_or_its_files_is_taken(tmp_path: Path) -> None:
    known = "# Knowledge\n\n## Basket\n- never cache it: `class Basket` (shop/basket.py:11)\n\n## Else\n"
    known += "- it holds `LIMIT` (shop/basket.py:3)\n"
    known += "- rain is `RAIN = 3` (shop/weather.py:1)\n- the basket without a source\n"
    write(tmp_path, {**SHOP, ".project/knowledge.md": known})
    findings = rule(tmp_path, "knowledge")
    assert {finding.text: finding.kind for finding in findings} == {
        "never cache it: `class Basket`": "known trap",
        "it holds `LIMIT`": "known way",
    }


def test_requirements_are_the_ticket_s_criteria(tmp_path: Path) -> None:
    ticket = "# SHOP-7: Empty the basket\n\n## Background\n\n- people asked for it\n\n"
    ticket += "## Acceptance criteria\n\n- AC1: one click empties it\n"
    ticket += "1. AC2: it asks before\n\n## Out of scope\n- undo of any kind\n"
    write(tmp_path, {**SHOP, ".project/tickets/SHOP-7.md": ticket})
    findings = rule(tmp_path, "requirements", ticket="SHOP-7")
    assert cited(findings) == {"ticket:SHOP-7"}
    said = texts(findings)
    assert "`AC1: one click empties it`" in said
    assert "`AC2: it asks before`" in said
    assert "out of scope: `undo of any kind`" in said
    assert "people asked" not in said


def test_requirements_of_a_ticket_that_is_not_there_are_noted(tmp_path: Path) -> None:
    write(tmp_path, SHOP)
    everything = evidence(tmp_path, "basket", ticket="SHOP-8")
    assert any("SHOP-8" in note for note in everything.notes)
    assert not [f for f in everything.findings if f.rule == "requirements"]


def test_documents_are_sections_about_the_feature(tmp_path: Path) -> None:
    doc = "# Guide\n\n## The basket\n\nIt holds goods.\n\n## Weather\n\nIt rains.\n"
    write(tmp_path, {**SHOP, "docs/guide.md": doc})
    findings = rule(tmp_path, "documents")
    assert [finding.text for finding in findings] == ["`The basket`"]
    assert all(source.startswith("docs/guide.md:3") for source in cited(findings))
    write(tmp_path, {"docs/guide.md": "# Guide\n\nOf a basket.\n\n## Core concepts\n\nIt rains.\n"})
    assert (
        rule(tmp_path, "documents", description="Clearing old records") == []
    )  # whose initials are a word's stem


def test_limits_are_sentences_of_documents_that_restrict_the_feature(tmp_path: Path) -> None:
    doc = "---\ntitle: the basket never\n---\n# Guide\n\n## The basket\n\nIt holds goods.\nAn empty basket is *not*\n"
    doc += "saved. Instead, it is dropped.\n\n```\nthe basket cannot be code\n```\n\n"
    doc += "- gifts must be put in last of all\n\n"
    doc += (
        "> Two baskets cannot be merged.\n\n.. warning::\n   A closed basket never opens again.\n\n"
    )
    doc += "```eval_rst\n.. note::\n  A full basket is always the last one.\n```\n\n"
    doc += "In the following example the basket is always full.\n\nA basket must have:\n\n"
    doc += "You can add `--no-basket-must` to a basket.\n\n"
    doc += "A basket instead of a cart will likely be simpler.\n\n## Weather\n\nIt must not rain.\n"
    more = "# The basket\n\nNote that a basket has an option for its colour.\n\n"
    more += "If you only want one, you have the basket's own shelf.\n\nThe dropped empty basket is never saved.\n\n"
    more += "The basket's key is gone. Its number should be given instead.\n\n"
    more += "A basket has a lid. By default, it must be shut.\n"
    write(tmp_path, {**SHOP, "docs/guide.md": doc, "docs/more.md": more})
    findings = rule(tmp_path, "limits")
    assert {finding.text: finding.sources for finding in findings} == {
        "`An empty basket is *not* saved. Instead, it is dropped`": ("docs/guide.md:9-10",),
        "`gifts must be put in last of all`": ("docs/guide.md:16",),
        "`Two baskets cannot be merged`": ("docs/guide.md:18",),
        "`A basket has a lid. By default, it must be shut`": ("docs/more.md:11",),
        "`The basket's key is gone. Its number should be given instead`": ("docs/more.md:9",),
        "`A closed basket never opens again`": ("docs/guide.md:21",),
        "`A full basket is always the last one`": ("docs/guide.md:25",),
    }
    assert rule(tmp_path, "documents") == []


def test_limits_want_the_rarer_word_of_a_name_of_two(tmp_path: Path) -> None:
    lines = {f"shop/line{n}.py": f"def line_{n}():\n    pass\n" for n in range(6)}
    doc = "# Guide\n\nA line must never be longer than that.\n\nA colour of lines must be given by name.\n"
    write(
        tmp_path,
        {**lines, "shop/colour.py": "def colour(line):\n    return 'red'\n", "docs/guide.md": doc},
    )
    said = texts(
        rule(
            tmp_path, "limits", "line-colour", description="The colour of each line, by its option"
        )
    )
    assert "`A colour of lines must be given by name`" in said
    assert "longer" not in said


# -- all rules together


def test_a_project_about_something_else_yields_nothing(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/rain.py": "RAIN = 3\n\n\ndef rain():\n    raise ValueError('too much rain')\n",
            "README.md": "# Rain\n",
        },
    )
    everything = evidence(tmp_path, "basket")
    assert everything.files == everything.tests == everything.findings == ()


def test_an_empty_project_yields_nothing(tmp_path: Path) -> None:
    assert evidence(tmp_path, "basket").findings == ()
    git(tmp_path, "init", "-q")
    assert evidence(tmp_path, "_project").findings == ()


HOSTILE = (
    "`tick` ``` (shop/x.py:1) \\ \"quote\" 'single' <b> - # ## {{ }} \u2028 \x0b é 日本 ) ( ]["
)


def test_no_text_of_a_project_breaks_a_finding(tmp_path: Path) -> None:
    code = f"# never do this: {HOSTILE} and so on and on\ndef basket(a, b_c):\n"
    code += f'    """Deprecated: use {HOSTILE.replace(chr(34), "")} instead."""\n'
    code += f"    raise ValueError('basket {HOSTILE.replace(chr(39), '')}')\n\n\nbasket_limit = 3  # {HOSTILE}\n"
    test = (
        f"@pytest.mark.skip(reason='basket {HOSTILE.replace(chr(39), '')}')\ndef test_basket():\n"
    )
    test += f"    basket('{HOSTILE.replace(chr(39), '')}')\n    assert 1\n"
    spec = f"test('basket {HOSTILE.replace(chr(39), '')}', async () => {{\n  expect(basket('x`y')).toBe(1);\n}});\n"
    files = {
        "src/basket.py": code,
        "tests/test_basket.py": test,
        "tests/basket.spec.ts": spec,
        "src/basket.ts": f"// {HOSTILE}\nexport const basket = 1;\n",
    }
    files |= {
        "docs/basket.md": f"# The basket {HOSTILE}\n\n`basket_limit` is 4 {HOSTILE}\n",
        "CHANGELOG.md": f"- Fixed the basket {HOSTILE}\n",
    }
    files |= {
        ".project/tickets/A-1.md": f"# The basket {HOSTILE}\n\n## Acceptance criteria\n- AC1 {HOSTILE}\n"
    }
    files |= {"tests/a, b/test_basket (2).py": test.replace("test_basket", "test_basket_two")}
    commit(tmp_path, files, f"Fix the basket {HOSTILE}\n\nBecause of {HOSTILE} it was very wrong.")
    commit(
        tmp_path,
        {"src/basket.py": code + "\n"},
        f'Revert "the basket {HOSTILE}"\n\nIt was {HOSTILE}, all in all.',
    )
    findings = found(tmp_path, "symbols", "basket", ticket="A-1")
    assert findings
