"""Rules about what the feature's tests leave out, have at hand and do by habit, each on a tiny real project."""

from pathlib import Path

from _evidence_project import commit, found, write
from preread.evidence import worth
from preread.evidence.collect import RULES
from preread.models import Finding

CLIENT = '''\
"""The line to the room."""


class Basket:
    """Goods of several people."""

    def basket_open(self, room):
        self.socket.on("room-opened", self.basket_join)
        self.socket.emit("join-room", room)
        room["X-Basket"] = "utf-8"
        if self.state == codes.GONE_AWAY:
            raise BasketError("the basket has gone away")

    def basket_join(self, name, strict=False):
        self._check_version(name)
        if strict:
            raise BasketError("bad basket name, expect letters")
        raise BasketError("bad basket name, expect a word")

    def basket_close(self): ...

    def _check_version(self, name): ...


def basket_open(room):
    return _basket.basket_open(room)


def basket_join(name):
    return _basket.basket_join(name)


def basket_close():
    return _basket.basket_close()
'''
TESTS = """\
import pytest
from shop.basket import Basket
from helpers import fill

CASES = [("a", 1)]


def answer(request):
    if request == 1:
        return "one"
    if request == 2:
        return "two"
    if request == 3:
        return "three"
    if request == 4:
        return "four"


@pytest.fixture
def calm(monkeypatch):
    monkeypatch.setattr("shop.basket.Basket._check_version", lambda self, name: True)


@pytest.mark.parametrize(("name", "n"), CASES)
def test_basket_rows(name, n, calm):
    fill(run(Basket(answer), deep=True))


def test_basket_opens():
    # The room must not be open yet, otherwise the socket would wait for ever
    fill(run(Basket(answer), deep=True))
    # only a basket that is new and empty has no name
    with pytest.raises(BasketError, match="bad basket name"):
        fill(Basket(answer).basket_open(1))
"""
PROJECT = {
    "shop/basket.py": CLIENT,
    "shop/codes.py": "GONE_AWAY = 410\nHERE = 200\n",
    "tests/test_basket.py": TESTS,
    "tests/helpers.py": "def fill(basket):\n    return basket.fill()\n",
    "tests/test_rain.py": "from shop.rain import Umbrella\n\n\ndef test_rain():\n    assert 1\n",
}


def texts(findings: list[Finding]) -> str:
    return "\n".join(finding.text for finding in findings)


def sources(findings: list[Finding]) -> set[str]:
    return {source for finding in findings for source in finding.sources}


def test_unmentioned_texts_are_names_of_events_that_no_test_of_the_feature_holds(
    tmp_path: Path,
) -> None:
    write(tmp_path, PROJECT)
    findings = found(tmp_path, "unmentioned_texts", "basket")
    assert texts(findings) == "no test holds `room-opened`, `join-room`, `X-Basket`"
    assert {"shop/basket.py:8", 'absent:tests/**~"join-room"'} <= sources(findings)
    write(
        tmp_path, {"tests/test_basket.py": TESTS + '    assert "room-opened join-room x-basket"\n'}
    )
    assert found(tmp_path, "unmentioned_texts", "basket") == []  # whatever letters a header has
    write(tmp_path, {"tests/test_basket.py": TESTS + '    assert "room-opened join-room"\n'})
    write(
        tmp_path, {"tests/data/sent.yaml": "headers: [X-Basket]\n"}
    )  # what tests read counts, too
    assert found(tmp_path, "unmentioned_texts", "basket") == []


def test_unmentioned_codes_are_values_that_tests_have_neither_by_name_nor_by_value(
    tmp_path: Path,
) -> None:
    write(tmp_path, PROJECT)
    findings = found(tmp_path, "unmentioned_codes", "basket")
    assert texts(findings) == "410 in no test: `GONE_AWAY` of `basket_open`"
    write(tmp_path, {"tests/test_rain.py": "def test_rain():\n    assert 410\n"})
    assert found(tmp_path, "unmentioned_codes", "basket") == []


def test_unmentioned_messages_that_a_test_holds_the_beginning_of_are_told_together(
    tmp_path: Path,
) -> None:
    write(tmp_path, PROJECT)
    findings = found(tmp_path, "unmentioned_messages", "basket")
    assert "of the 2 messages that begin `bad basket name, expect` none" not in texts(
        findings
    )  # no test holds this much
    assert (
        texts(findings) == "no test shows `the basket has gone away`"
    )  # by what they begin with, one expects the others
    write(
        tmp_path,
        {"tests/test_basket.py": TESTS.replace('"bad basket name"', '"bad basket name, expect"')},
    )
    findings = found(tmp_path, "unmentioned_messages", "basket")
    assert (
        "of the 2 messages that begin `bad basket name, expect` none is asserted beyond that"
        in texts(findings)
    )
    assert "no test shows `the basket has gone away`" in texts(findings)


def test_unmentioned_messages_are_known_by_what_stays_the_same_in_them(tmp_path: Path) -> None:
    source = "function basketSave(who: string) {\n  throw new Error(`the basket of ${who} is lost at sea`);\n}\n"
    source += "function basketSend(who: string) {\n  console.error(`[basket] cannot be sent to ${who}`);\n}\n"
    spec = "test('basket', () => {\n  expect(basketSave).toThrow('the basket of Ann');\n});\n"
    write(tmp_path, {"src/basket.ts": source, "tests/basket.test.ts": spec})
    findings = found(tmp_path, "unmentioned_messages", "basket")
    assert texts(findings) == "no test shows `[basket] cannot be sent to`"
    python = "def basket_sink(n):\n    raise ValueError(\n        'a basket at sea, '\n"
    python += "        f'gone down with the whole of {n}'\n    )\n"
    write(
        tmp_path,
        {
            "src/basket.ts": "",
            "src/basket.py": python,
            "tests/test_basket.py": "def test_basket(): ...\n",
        },
    )
    assert (
        texts(found(tmp_path, "unmentioned_messages", "basket"))
        == "no test shows `a basket at sea`"
    )
    quoted = "def basket_sink(n):\n    raise ValueError(f\"basket '{n}' lies at the bottom of the sea\")\n"
    held = "def test_basket():\n    assert 'lies at the bottom of the sea' in said\n"
    write(tmp_path, {"src/basket.py": quoted, "tests/test_basket.py": held})
    assert (
        found(tmp_path, "unmentioned_messages", "basket") == []
    )  # what closes a quotation is none of it


def test_unmentioned_messages_may_stand_in_tests_of_a_format_of_the_project_s_own(
    tmp_path: Path,
) -> None:
    source = "def basket_sink(n):\n    raise ValueError('the basket has gone down')\n"
    write(tmp_path, {"src/basket.py": source, "tests/test_basket.py": "def test_basket(): ...\n"})
    assert (
        texts(found(tmp_path, "unmentioned_messages", "basket"))
        == "no test shows `the basket has gone down`"
    )
    write(tmp_path, {"tests/all.cases": "sink 3\n=> the basket has gone down\n"})
    assert found(tmp_path, "unmentioned_messages", "basket") == []


def test_unmentioned_messages_of_errors_with_a_name_are_absent_by_it_too(tmp_path: Path) -> None:
    source = 'package basket\n\nvar ErrBasketSunk = errors.New("the basket has sunk")\n'
    test = "package basket\n\nfunc TestBasket(t *testing.T) {\n\tBasket()\n}\n"
    write(
        tmp_path,
        {"basket/basket.go": source, "basket/basket_test.go": test, "go.mod": "module shop\n"},
    )
    findings = found(tmp_path, "unmentioned_messages", "basket")
    assert texts(findings) == "no test shows `the basket has sunk` (`ErrBasketSunk`)"
    write(
        tmp_path,
        {"basket/basket_test.go": test.replace("Basket()", "ErrorIs(Basket(), ErrBasketSunk)")},
    )
    assert found(tmp_path, "unmentioned_messages", "basket") == []


def test_unmentioned_messages_of_a_file_that_the_description_names_count(tmp_path: Path) -> None:
    rain = {f"shop/rain_{n}.py": "rain = 1\n" for n in range(20)}
    packing = "def pack(gift_basket):\n    guard(gift_basket)\n\n\ndef guard(eggs):\n"
    packing += "    Validate.isTrue(eggs, 'no egg is left')\n"
    tests = "def test_gift_basket():\n    gift_basket()\n"
    files = {
        "shop/gift_basket.py": "def gift_basket():\n    pass\n",
        "tests/test_gift_basket.py": tests,
    }
    write(tmp_path, {**rain, **files, "shop/packinglist.py": packing})
    findings = found(
        tmp_path, "unmentioned_messages", "gift-basket", description="by weight, packing list"
    )
    assert texts(findings) == "no test shows `no egg is left`"
    assert found(tmp_path, "unmentioned_messages", "gift-basket", description="by weight") == []


def test_unmentioned_messages_are_not_of_code_that_has_a_common_word_of_the_name(
    tmp_path: Path,
) -> None:
    rows = {f"shop/row_{n}.py": "row = 1\n" for n in range(20)}
    gift = "class GiftRow:\n    def gift_row(self, row):\n        raise ValueError('a gift row has no price')\n"
    plain = "class Rows:\n    def row_append(self, row):\n        raise ValueError('cannot append such a thing')\n"
    tests = "def test_gift_row():\n    GiftRow().gift_row(1)\n"
    write(
        tmp_path,
        {**rows, "shop/gift_row.py": gift, "shop/rows.py": plain, "tests/test_gift_row.py": tests},
    )
    findings = found(tmp_path, "unmentioned_messages", "gift-row", description="append to rows")
    assert texts(findings) == "no test shows `a gift row has no price`"


def test_unmentioned_messages_are_none_that_tests_expect_by_another_part_or_by_the_error_s_type(
    tmp_path: Path,
) -> None:
    code = "def basket_sink(n):\n    raise SunkError('the basket lies below the sea')\n\n\ndef basket_fill(n):\n"
    code += "    if n:\n        raise ValueError('An egg too many is broken')\n"
    code += "    raise ValueError('no egg is left here')\n"
    code += "\n\ndef validate_weight(basket):\n    raise TypeError('the basket weighs too much')\n"
    code += "\n\ndef basket_sort(n):\n    assert n > 2, 'a basket of two needs no order'\n"
    code += "    raise OSError('this is a bug')\n\n\ndef basket_turn(n):\n    if n:\n        return 1\n    else:\n"
    code += "        raise OSError('Unexpected turn of it')\n"
    test = "def test_basket():\n    with raises(SunkError):\n        basket_sink(1)\n    with raises(ValueError) as got:\n"
    test += "        basket_fill(2)\n    says(\n        'egg too many is broken',\n    )\n    assertIn('weight', errors)\n"
    write(tmp_path, {"src/basket.py": code, "tests/test_basket.py": test})
    findings = found(tmp_path, "unmentioned_messages", "basket")
    assert (
        texts(findings) == "no test shows `no egg is left here`, `a basket of two needs no order`"
    )
    deep = (
        "function basketSend(list: Egg[]) {\n  invariant(\n"
        + "    list.some((egg) => egg.isBroken),\n" * 7
    )
    deep += '    "a basket of eggs that are whole",\n  );\n}\n'
    write(
        tmp_path,
        {
            "src/basket.py": "",
            "src/basket.ts": deep,
            "tests/basket.test.ts": "test('basket', run);\n",
        },
    )
    findings = found(tmp_path, "unmentioned_messages", "basket")
    assert texts(findings) == "no test shows `a basket of eggs that are whole`"


def test_unmentioned_messages_of_the_first_file_that_is_called_by_the_rarer_word_count(
    tmp_path: Path,
) -> None:
    rain = {f"shop/rain_{n}.cc": "int format;\n" for n in range(9)}
    egg = 'int weigh() {\n  SHOP_THROW(egg_error("the egg is far too heavy"));\n}\n\nint egg_format() { return 1; }\n'
    write(
        tmp_path,
        {**rain, "shop/egg.cc": egg, "tests/egg-test.cc": "TEST(egg, format) { egg_format(); }\n"},
    )
    findings = found(tmp_path, "unmentioned_messages", "egg-format")
    assert texts(findings) == "no test shows `the egg is far too heavy`"


def test_unmentioned_symbols_of_ruby_are_neither_private_nor_called_without_brackets(
    tmp_path: Path,
) -> None:
    code = "class Basket\n  def fill_basket(n)\n    basket_sum n\n  end\n\n"
    code += "  def basket_sum(n)\n    basket_add n\n  end\n\n"
    code += "  def basket_add(n)\n    n + basket_eggs\n  end\n\n  def basket_eggs\n    1\n  end\n\n"
    code += "  def basket_weight(n)\n    n\n  end\n\n  private\n\n  def basket_secret(n)\n    n\n  end\nend\n"
    spec = (
        "describe Basket do\n  it 'fills the basket' do\n    Basket.new.fill_basket 3\n  end\nend\n"
    )
    write(tmp_path, {"lib/basket.rb": code, "spec/basket_spec.rb": spec})
    assert (
        texts(found(tmp_path, "unmentioned_symbols", "basket")) == "no test names `basket_weight`"
    )


def test_unmentioned_members_are_none_that_are_only_listed_or_tested_in_another_case(
    tmp_path: Path,
) -> None:
    enum = "export enum BasketKind {\n  Plain = 0,\n  OnlyListed = 1,\n  FromNothing = 2,\n  IsUsed = 3,\n}\n"
    uses = "export const basketKinds = [\n  {\n    id: BasketKind.OnlyListed,\n  },\n];\n\nexport function basketOf() {\n"
    uses += "  return [BasketKind.FromNothing, BasketKind.IsUsed];\n}\n"
    uses += "\nexport function basketChoices() {\n  return basketKinds;\n}\n"
    tests = {"tests/basket.test.ts": "test('basket', () => basketOf(BasketKind.Plain));\n"}
    tests["tests/test_basket.py"] = "def test_basket():\n    assert basket(Kind.FROM_NOTHING)\n"
    write(tmp_path, {"src/kinds.ts": enum, "src/basket.ts": uses, **tests})
    assert (
        texts(found(tmp_path, "unmentioned_members", "basket"))
        == "no test names `IsUsed` of BasketKind"
    )
    assert found(tmp_path, "unmentioned_symbols", "basket") == []  # what only hands out a name
    source = "package basket\n\ntype BasketOptions struct {\n\tMaxWeight int\n\tMinWeight int\n"
    source += '\tIsEmpty bool `json:"is_empty,omitempty"`\n\tOnOpen func()\n\tUnread int\n}\n'
    source += "\nfunc (b *BasketOptions) Opened(f func()) {\n\tb.OnOpen = f\n}\n"
    test = "package basket\n\nfunc TestBasket(t *testing.T) {\n\tOpen(BasketOptions{MaxWeight: 3, MinWeight: 1})\n"
    test += '\tb.Opened(f)\n\tread("is_empty: true")\n}\n'
    write(
        tmp_path,
        {"go.mod": "module shop\n", "basket/basket.go": source, "basket/basket_test.go": test},
    )
    write(tmp_path, {"src/kinds.ts": "", "src/basket.ts": "", "tests/basket.test.ts": ""})
    assert (
        texts(found(tmp_path, "unmentioned_members", "basket"))
        == "no test names `Unread` of BasketOptions"
    )


def test_unmentioned_members_are_fields_of_a_type_whose_others_tests_set(tmp_path: Path) -> None:
    source = "package basket\n\ntype BasketOptions struct {\n\tMaxWeight int\n\tEmptyAtOnce bool\n\tcalm bool\n}\n"
    test = "package basket\n\nfunc TestBasket(t *testing.T) {\n\tOpen(BasketOptions{MaxWeight: 3})\n}\n"
    write(
        tmp_path,
        {"basket/basket.go": source, "basket/basket_test.go": test, "go.mod": "module shop\n"},
    )
    findings = found(tmp_path, "unmentioned_members", "basket")
    assert texts(findings) == "no test names `EmptyAtOnce` of BasketOptions"
    write(tmp_path, {"basket/basket.go": source.replace("BasketOptions", "basketOptions")})
    assert found(tmp_path, "unmentioned_members", "basket") == []  # nobody outside can name it


def test_unmentioned_members_of_another_family_are_those_that_code_of_the_feature_has(
    tmp_path: Path,
) -> None:
    keys = "export enum Keys {\n  BASKET_ROOM = 'room',\n  BASKET_NAME = 'name',\n  OTHER_ONE = 'one',\n}\n"
    code = (
        "export function openBasket() {\n  store(Keys.BASKET_ROOM);\n}\nexport function shown() {\n"
    )
    code += "  return Keys.BASKET_NAME;\n}\n"
    test = "test('basket', () => openBasket(Keys.OTHER_ONE));\n"
    write(tmp_path, {"src/keys.ts": keys, "src/basket.ts": code, "tests/basket.test.ts": test})
    assert (
        texts(found(tmp_path, "unmentioned_members", "basket"))
        == "no test names `Keys.BASKET_ROOM`"
    )


def test_unmentioned_members_count_the_tests_that_stand_in_a_source_file(tmp_path: Path) -> None:
    source = "pub enum BasketMode {\n    Opened,\n    Paying,\n    Closed,\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n"
    source += "    fn basket_pays() {\n        pay(BasketMode::Paying);\n    }\n}\n"
    test = "#[test]\nfn basket_opens() {\n    open(BasketMode::Opened);\n}\n"
    write(
        tmp_path,
        {"src/basket.rs": source, "src/lib.rs": "pub mod basket;\n", "tests/basket.rs": test},
    )
    assert (
        texts(found(tmp_path, "unmentioned_members", "basket"))
        == "no test names `Closed` of BasketMode"
    )


def test_replaced_functions_are_the_feature_s_own_that_tests_put_others_in_place_of(
    tmp_path: Path,
) -> None:
    write(tmp_path, PROJECT)
    findings = found(tmp_path, "replaced_functions", "basket")
    assert texts(findings).startswith("the fixture `calm` replaces `Basket._check_version`")
    assert "shop/basket.py:22" in sources(findings)


def test_helpers_are_told_with_their_uses_and_handlers_as_the_place_of_a_new_case(
    tmp_path: Path,
) -> None:
    write(
        tmp_path, {**PROJECT, "tests/other.py": "def test_data(): ...\n\n\ndef run(basket): ...\n"}
    )
    findings = found(tmp_path, "helpers", "basket")
    assert "a new case is a branch in the handler `answer`" in texts(findings)
    assert "helper `def fill(basket)` in 2 of 2 tests: gives `basket.fill()`" in texts(findings)
    assert "run" not in texts(findings)  # nobody imports it
    other = "def run(basket): ...\n\n\ndef sleep(n): ...\n\n\ndef test_basket_run():\n    run(sleep(1))\n"
    mine = "from lib import run, sleep\n" + TESTS.replace("Basket(", "sleep(")
    write(
        tmp_path,
        {"tests/other.py": "", "tests/test_basket_runs.py": other, "tests/test_basket.py": mine},
    )
    said = texts(found(tmp_path, "helpers", "basket"))
    assert "def fill(basket)" in said
    assert "def run" not in said  # it is another's
    assert "sleep" not in said
    write(tmp_path, {"tests/test_basket_runs.py": "", "tests/test_basket.py": TESTS})
    findings = found(tmp_path, "helpers", "basket")
    assert "tests/test_basket.py:26" in sources(findings)


def test_helpers_are_methods_of_the_test_class_and_the_classes_beside_it_together(
    tmp_path: Path,
) -> None:
    source = "from shop.basket import Basket\n\n\nclass TestBasket:\n"
    source += "    def _filled(self, many):\n        return Basket(many)\n"
    source += "\n    def _other(self):\n        return 1\n"
    for name in "abc":
        source += f"\n    def test_basket_{name}(self):\n        assert self._filled({name.title()}nn()).basket_open(1)\n"
    source += "".join(f"\n\nclass {name}nn:\n    pass\n" for name in "ABC")
    elsewhere = (
        "\n\nclass TestBasketElsewhere(Base):\n    def _filled(self, n):\n        return n\n"
    )
    source += (
        elsewhere
        + "\n    def test_basket_d(self):\n        self._filled(self._other())\n        self._other()\n"
    )
    write(tmp_path, {**PROJECT, "tests/test_basket.py": source})
    said = texts(found(tmp_path, "helpers", "basket"))
    assert (
        "helper `def _filled(self, many)` in 3 of 4 tests: gives `Basket(many)`" in said
    )  # one class has its own
    assert "classes made for these tests, in 3 of 4 tests: Ann, Bnn, Cnn" in said
    assert "_other" not in said  # a class that has it from elsewhere calls that


def test_steps_are_the_usual_statements_as_the_first_short_test_has_them(tmp_path: Path) -> None:
    body = "def test_basket_{0}():\n    basket = open_basket({0})\n    basket.fill(3)\n"
    body += "    assert basket.weight() == {0}\n\n\n"
    write(tmp_path, {**PROJECT, "tests/test_basket.py": "".join(map(body.format, (1, 2, 3)))})
    findings = found(tmp_path, "steps", "basket")
    shown = "`basket = open_basket(1)`, `basket.fill(3)`, `assert basket.weight() == 1`"
    assert texts(findings) == f"3 of 3 tests here go much like this: {shown}"
    assert sources(findings) == {"tests/test_basket.py:1-4"}
    short = "def test_basket_{0}():\n    basket.fill(1)\n    basket.weight()\n\n\n"
    many = "".join(map(body.format, (1, 2, 3))) + "".join(map(short.format, (4, 5, 6, 7)))
    write(tmp_path, {"tests/test_basket.py": many})
    assert found(tmp_path, "steps", "basket") == []  # most go another way
    one = "def test_basket_{0}():\n    basket = open_basket({0})\n    assert {0} == basket\n\n\n"
    write(tmp_path, {"tests/test_basket.py": "".join(map(one.format, (1, 2, 3)))})
    assert found(tmp_path, "steps", "basket") == []  # one call is no way to go


def test_tables_are_the_lists_that_rows_come_from(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    findings = found(tmp_path, "tables", "basket")
    assert texts(findings) == "a new row goes into `CASES`: rows of `test_basket_rows`"


def test_inputs_are_files_of_one_folder_told_together(tmp_path: Path) -> None:
    inputs = {f"tests/data/basket_{n}.py": f"# flags: --basket={n}\nx = 1\n" for n in "abc"}
    write(tmp_path, {**PROJECT, **inputs})
    findings = found(tmp_path, "inputs", "basket")
    assert (
        texts(findings)
        == "input for tests: 3 files named basket_… in tests/data; each begins `# flags: --basket=`"
    )
    more = {
        "tests/basket_data/one.cjs": "module.exports = 1;\n",
        "tests/basket_data/two.cjs": "module.exports = 2;\n",
    }
    write(
        tmp_path,
        {**dict.fromkeys(inputs, ""), **more, "tests/basket_parts/a.xml": "<some-basket/>\n"},
    )
    findings = found(tmp_path, "inputs", "basket")
    assert texts(findings) == "input for tests: one.cjs, two.cjs in tests/basket_data"


def test_keywords_are_options_that_these_tests_pass(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    assert (
        texts(found(tmp_path, "keywords", "basket"))
        == "passed to the calls: `deep=True` in 2 of 2 tests"
    )


def test_avoided_is_what_most_other_tests_call_and_these_do_not(tmp_path: Path) -> None:
    mine = "".join(
        f"def test_basket_{n}():\n    assert build_basket(kind={n})\n\n\n" for n in "abcdef"
    )
    other = "".join(f"def test_{n}():\n    assert shop.build({n})\n\n\n" for n in "abcd")
    others = {
        f"tests/test_{name}.py": f"from shop import basket, {name}\n" + other
        for name in ("rain", "sun", "hail")
    }
    write(tmp_path, {"shop/basket.py": CLIENT, "tests/test_basket.py": mine, **others})
    findings = found(tmp_path, "avoided", "basket")
    assert (
        texts(findings)
        == "`build_basket(kind=a)`, seldom `shop.build`, which 3 of 3 other test files call"
    )
    write(
        tmp_path,
        {"tests/test_basket.py": mine + "def test_basket_z():\n    assert till.build(1)\n"},
    )
    assert found(tmp_path, "avoided", "basket") == []  # on another object
    for path, text in others.items():
        write(tmp_path, {path: text.replace("shop.build", "shop.command")})
    write(tmp_path, {"tests/test_basket.py": mine})
    assert found(tmp_path, "avoided", "basket") == []  # no other way to do the same


def test_modules_are_those_that_a_test_file_replaces_as_a_whole(tmp_path: Path) -> None:
    spec = 'vi.mock("../data/firebase.ts", () => ({}));\nvi.mock("socket.io-client");\n\n'
    spec += 'test("basket opens", () => {\n  openBasket();\n});\n'
    write(
        tmp_path,
        {"tests/basket.test.ts": spec, "src/basket.ts": "export function openBasket() {}\n"},
    )
    findings = found(tmp_path, "modules", "basket")
    assert texts(findings) == "mocked by module: `../data/firebase.ts`, `socket.io-client`"


def test_said_in_tests_are_comments_that_explain(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    said = texts(found(tmp_path, "said_in_tests", "basket"))
    assert said == (
        "`test_basket_opens` says: `The room must not be open yet, otherwise the socket would wait for ever`;"
        " `only a basket that is new and empty has no name`"
    )


def test_facades_are_functions_that_only_call_the_method_of_their_name(tmp_path: Path) -> None:
    write(tmp_path, PROJECT)
    said = texts(found(tmp_path, "facades", "basket"))
    assert "`basket_open` and 2 other methods each have a twin in the package" in said


def test_listed_again_is_where_the_members_of_a_family_stand_too(tmp_path: Path) -> None:
    options = "export interface BasketOptions {\n  maxWeight: number;\n  emptyAtOnce: boolean;\n  shown: string;\n}\n"
    picks = "type Root = Pick<\n  BasketOptions,\n  'maxWeight' | 'emptyAtOnce'\n>;\n"
    write(
        tmp_path,
        {
            "src/basket.ts": options,
            "src/root.ts": picks,
            "tests/basket.test.ts": "test('basket', f);\n",
        },
    )
    findings = found(tmp_path, "listed_again", "basket")
    assert (
        texts(findings)
        == "a new option of `BasketOptions` goes into root.ts too, where the others stand"
    )
    assert "src/root.ts:3" in sources(findings)


def test_companions_are_documents_that_commits_to_the_code_change_too(tmp_path: Path) -> None:
    for n in range(4):
        commit(
            tmp_path, {"shop/basket.py": f"basket = {n}\n", "CHANGES.md": f"{n}\n"}, f"Basket {n}"
        )
    findings = found(tmp_path, "companions", "basket")
    assert texts(findings) == "4 of the last 4 commits to its code change `CHANGES.md` too"


def test_checks_are_what_ci_adds_and_the_bar_to_keep(tmp_path: Path) -> None:
    ci = 'jobs:\n  test:\n    matrix:\n      tags: ["", "deep"]\n    steps:\n'
    ci += '      - run: pytest -m "${{ matrix.tags }}" -x\n      - run: pytest -m bench -x -q --strict --slow\n'
    more = {".github/workflows/ci.yml": ci, "scripts/cover": "coverage report --fail-under=100\n"}
    write(tmp_path, {**PROJECT, **more})
    findings = found(tmp_path, "checks", "basket")
    assert "coverage has to stay: `--fail-under=100`" in texts(findings)
    assert '`pytest -m "${{ matrix.tags }}" -x`, with `tags: ["", "deep"]`' in texts(findings)


def finding(rule: str, text: str, score: float = 0.5) -> Finding:
    return Finding(
        rule=rule, kind="gap", text=text, sources=("shop/basket.py:1",), reason="r", score=score
    )


def test_worth_is_by_rule_then_by_place_and_little_for_what_is_told_already() -> None:
    told = "the basket is `closed for good when nobody is there`"
    found_ = [
        finding("assertions", "checks", 0.9),
        finding("inside", f"{told} and more", 0.9),
        finding("warnings", told, 0.9),
        finding("warnings", "another", 0.5),
        finding("inside", "second", 0.4),
        finding("knowledge", "people say so", 0.1),
        finding("knowledge", "and this", 0.1),
    ]
    texts_ = [one.text for one in worth.weighed(found_)]
    assert texts_ == [
        "people say so",
        "and this",
        f"{told} and more",
        "second",
        "another",
        told,
        "checks",
    ]


def test_worth_rates_only_rules_that_there_are() -> None:
    assert worth.RATES.keys() - {rule.__name__ for rule in RULES} == set()
