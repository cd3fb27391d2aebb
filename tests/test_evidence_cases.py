"""Tests of which tests of a project are taken for the feature's."""

from pathlib import Path

from _evidence_project import found, write


def texts(root: Path, rule: str, feature: str, description: str = "") -> str:
    return "\n".join(finding.text for finding in found(root, rule, feature, description))


def test_tests_among_the_lines_of_a_source_count(tmp_path: Path) -> None:
    source = "pub fn fill_basket() {}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n"
    source += "    fn an_egg_stays_whole() {\n        fill_basket();\n    }\n}\n"
    write(tmp_path, {"src/basket.rs": source, "src/lib.rs": "pub mod basket;\n"})
    assert texts(tmp_path, "groups", "basket") == "1 test: `an_egg_stays_whole`"  # `tests` tells nothing


def test_a_file_with_many_tests_leaves_room_for_the_others(tmp_path: Path) -> None:
    many = "".join(f"def test_basket_{n}_opens(capsys):\n    open_basket()\n\n\n" for n in range(80))
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
    tests += "".join(f"func Test{name}(t *testing.T) {{\n\tmade()\n}}\n\n" for name in ("Pays", "Sends", "Waits"))
    tests += "func TestAlone(t *testing.T) {\n\tother()\n}\n"
    source = "package shop\n\ntype OpenGiftBasket struct {\n\tEggs int\n}\n"
    write(tmp_path, {"shop/till.go": source, "shop/paying_test.go": tests, "shop/rain_test.go": "package shop\n"})
    said = texts(tmp_path, "groups", "gift-basket")
    assert "`TestPays`, `TestSends`, `TestWaits`" in said
    assert "TestAlone" not in said


def test_tests_named_like_the_first_source_are_the_feature_s_where_few_name_it(tmp_path: Path) -> None:
    source = "package shop\n\n// Chooses the gift basket.\ntype GiftBasket struct{}\n\nfunc Pick() {}\n"
    tests = "package shop\n\n" + "".join(f"func TestPicks{n}(t *testing.T) {{\n\tPick()\n}}\n\n" for n in "ABC")
    write(tmp_path, {"shop/policies.go": source, "shop/policies_test.go": tests})
    assert "`TestPicksA`" in texts(tmp_path, "groups", "gift-basket")
    more = "".join(f"func TestGiftBasket{n}(t *testing.T) {{\n\tPick()\n}}\n\n" for n in "ABC")
    write(tmp_path, {"shop/policies_test.go": tests + more})
    said = texts(tmp_path, "groups", "gift-basket")
    assert "`TestGiftBasketA`" in said
    assert "TestPicksA" not in said  # where some do, the others are of something else
