"""Tests of which tests of a project are taken for the feature's."""

from pathlib import Path

from _evidence_project import found, write


def texts(root: Path, rule: str, feature: str, description: str = "") -> str:
    return "\n".join(finding.text for finding in found(root, rule, feature, description))


def test_tests_among_the_lines_of_a_source_count(tmp_path: Path) -> None:
    source = (
        "pub fn fill_basket() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n"
    )
    source += "    fn an_egg_stays_whole() {\n        fill_basket();\n    }\n}\n"
    write(tmp_path, {"src/basket.rs": source, "src/lib.rs": "pub mod basket;\n"})
    assert (
        texts(tmp_path, "groups", "basket") == "1 test: `an_egg_stays_whole`"
    )  # `tests` tells nothing


def test_a_file_with_many_tests_leaves_room_for_the_others(tmp_path: Path) -> None:
    many = "".join(
        f"def test_basket_{n}_opens(capsys):\n    open_basket()\n\n\n" for n in range(80)
    )
    other = "".join(f"def test_basket_{n}_pays(capsys):\n    open_basket()\n\n\n" for n in range(5))
    write(
        tmp_path,
        {
            "shop/basket.py": "def open_basket():\n    pass\n",
            "tests/test_basket.py": many,
            "tests/test_paying.py": other,
        },
    )
    said = texts(tmp_path, "groups", "basket")
    assert "in 60 of the 60 nearest tests" in texts(tmp_path, "fixtures", "basket")
    assert "5 tests: `test_basket_0_pays`" in said
    assert "test_basket_1_opens" in said


def test_a_test_is_the_feature_s_by_what_its_helpers_use(tmp_path: Path) -> None:
    tests = "package shop\n\nfunc made() {\n\tbuilt(OpenGiftBasket{})\n}\n\n"
    tests += "".join(
        f"func Test{name}(t *testing.T) {{\n\tmade()\n}}\n\n" for name in ("Pays", "Sends", "Waits")
    )
    tests += "func TestAlone(t *testing.T) {\n\tother()\n}\n"
    source = "package shop\n\ntype OpenGiftBasket struct {\n\tEggs int\n}\n"
    write(
        tmp_path,
        {
            "shop/till.go": source,
            "shop/paying_test.go": tests,
            "shop/rain_test.go": "package shop\n",
        },
    )
    said = texts(tmp_path, "groups", "gift-basket")
    assert "`TestPays`, `TestSends`, `TestWaits`" in said
    assert "TestAlone" not in said


def test_tests_named_like_the_first_source_are_the_feature_s_where_few_name_it(
    tmp_path: Path,
) -> None:
    source = (
        "package shop\n\n// Chooses the gift basket.\ntype GiftBasket struct{}\n\nfunc Pick() {}\n"
    )
    tests = "package shop\n\n" + "".join(
        f"func TestPicks{n}(t *testing.T) {{\n\tPick()\n}}\n\n" for n in "ABC"
    )
    write(tmp_path, {"shop/policies.go": source, "shop/policies_test.go": tests})
    assert "`TestPicksA`" in texts(tmp_path, "groups", "gift-basket")
    more = "".join(f"func TestGiftBasket{n}(t *testing.T) {{\n\tPick()\n}}\n\n" for n in "ABC")
    write(tmp_path, {"shop/policies_test.go": tests + more})
    said = texts(tmp_path, "groups", "gift-basket")
    assert "`TestGiftBasketA`" in said
    assert "TestPicksA" not in said  # where some do, the others are of something else


def test_files_without_the_feature_s_words_and_definitions_are_of_something_else(
    tmp_path: Path,
) -> None:
    source = "pub fn fill_basket(n: u8) -> u8 {\n    n\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
    source += "    fn filled() -> u8 {\n        fill_basket(3)\n    }\n\n"
    source += "    #[test]\n    fn goes_well() {\n        assert_eq!(filled(), 3);\n    }\n\n"
    source += "    #[test]\n    fn an_egg_stays_whole() {\n        fill_basket(1);\n    }\n}\n"
    other = "".join(
        f"#[test]\nfn keeps_the_{word}() {{\n    route();\n}}\n\n"
        for word in ("limits", "errors", "weights")
    )
    write(
        tmp_path,
        {
            "src/shop.rs": source,
            "src/lib.rs": "pub mod shop;\n",
            "src/routes/mod.rs": "//! Where a basket goes.\npub fn route() {}\n",
            "src/routes/tests/mod.rs": other,
        },
    )
    said = texts(tmp_path, "groups", "basket", "Filling: limits, errors and weights of a basket")
    assert (
        said == "2 tests: `goes_well`, `an_egg_stays_whole`"
    )  # the first by what its helper calls


def test_a_word_of_the_feature_s_name_alone_is_no_use_of_it(tmp_path: Path) -> None:
    source = "def cookies(box):\n    return box.sign()\n"
    other = "class TestParsing:\n    def test_plain_cookies(self):\n        cookies = parse()\n        assert signed\n"
    own = "".join(
        f"    def test_signed_cookies_{n}(self):\n        Shelf().signed_cookies()\n\n"
        for n in "abcd"
    )
    own = f"class TestSigned:\n{own}    def test_of_old(self):\n        assert legacy()\n"
    write(
        tmp_path,
        {"shop/cookie.py": source, "tests/test_shelf.py": own, "tests/test_parsing.py": other},
    )
    said = texts(tmp_path, "groups", "signed-cookies")
    assert "`test_of_old`" in said  # most of its class are the feature's
    assert "test_plain_cookies" not in said


def test_what_other_tests_call_is_their_helper(tmp_path: Path) -> None:
    tests = "".join(f"TEST(basket, case_{n}) {{\n  test_basket(n);\n}}\n\n" for n in "ab")
    tests = (
        "template <typename T> void test_basket(T t) {\n  EXPECT_EQ(fill_basket(t), 1);\n}\n\n"
        + tests
    )
    write(
        tmp_path,
        {
            "src/basket.cc": "int fill_basket(int n) {\n  return n;\n}\n",
            "test/basket-test.cc": tests,
        },
    )
    assert texts(tmp_path, "groups", "basket") == "`basket`, 2 tests: `case_a`, `case_b`"


def test_groups_tell_whose_tests_they_are_and_leave_out_what_only_looks_for_types(
    tmp_path: Path,
) -> None:
    few = 'test("basket is there", () => {\n  expect(typeof shop.basket).toBe("object");\n});\n'
    own = "".join(
        f'test("fills {word}", () => {{\n  openBasket();\n}});\n'
        for word in ("rows", "one SHOP-1204")
    )
    own += 'test("SHOP-1202 fills two", () => {\n  openBasket();\n});\n'
    own += 'test("rains", () => {\n  fall();\n});\n'
    other = 'test("fills a basket from afar", () => {\n  openBasket();\n});\n'
    write(
        tmp_path,
        {
            "src/shop.ts": "export function openBasket() {}\n",
            "tests/shop.spec.ts": own,
            "tests/types.spec.ts": few,
            "tests/more.spec.ts": other,
        },
    )
    said = texts(tmp_path, "groups", "basket")
    assert "3 of 4 tests in shop.spec.ts: " in said
    assert "also, elsewhere: `fills a basket from afar`" in said
    assert "basket is there" not in said
    names = [f"TestShop{n}" if n > 3 else f"TestBasket{'ABCD'[n]}" for n in range(8)]
    rows = "".join(f"func {name}1204(t *testing.T) {{\n\tOpenBasket()\n}}\n\n" for name in names)
    rows += "func TestBasketRows(t *testing.T) {\n\tfor _, row := range rows {\n\t\tt.Run(row.name, func(t *testing.T) {\n"
    rows += "\t\t\tOpenBasket()\n\t\t})\n\t}\n}\n"
    source = "package shop\n\nfunc OpenBasket() {}\n"
    write(tmp_path, {"shop/basket.go": source, "shop/basket_test.go": f"package shop\n\n{rows}"})
    said = texts(tmp_path, "groups", "basket")
    assert "on shop:" not in said  # the name before the number of an issue
    assert "9 tests: " in said  # what one runs for each row is no other
