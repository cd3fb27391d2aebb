"""Tests of what is said of a feature's tests: their helpers, calls, checks, remarks and marks."""

from pathlib import Path

from _evidence_project import found, write

BASKET = {"shop/basket.py": "class Basket:\n    def open(self):\n        return 1\n"}


def texts(root: Path, rule: str) -> str:
    return "\n".join(finding.text for finding in found(root, rule, "basket"))


def test_remarks_are_of_the_test_that_they_stand_in_and_of_whole_sentences(tmp_path: Path) -> None:
    before = "def test_rain_falls():\n    # The rain must not fall on a basket because nobody holds it\n    assert 1\n\n\n"
    own = "def test_basket_opens():\n    # then\n    # this is only because of what was in there\n    wait()\n"
    own += "    # smaller than a basket, should be ignored since it is not one\n    wait()\n"
    own += "    # The basket should hold an egg\n    assert Basket()\n"
    write(tmp_path, {**BASKET, "tests/test_basket.py": before + own})
    assert "test_basket_opens" not in texts(tmp_path, "said_in_tests")
    own = own.replace(
        "    # this is only", "    # @covers Basket.open\n    # A basket is only open"
    )
    write(tmp_path, {"tests/test_basket.py": before + own})
    said = texts(tmp_path, "said_in_tests")
    assert (
        "`test_basket_opens` says: `A basket is only open because of what was in there`"
        in said.split("\n")
    )


def test_helpers_are_neither_the_body_of_one_test_nor_of_another_package(tmp_path: Path) -> None:
    tests = "import com.shop.near.FakeEgg\n\nclass BasketTest {\n"
    tests += "".join(
        f"    @Test\n    fun basket{n}() {{\n        Basket(FakeEgg())\n    }}\n" for n in "ABC"
    )
    egg = "package com.shop.{name}\n\nclass FakeEgg {{\n    fun {name}Shell() = 1\n}}\n"
    go = "package shop\n\nfunc TestBasketRolls(t *testing.T) {\n\ttestBasketRolls(t, true)\n}\n\n"
    go += "func testBasketRolls(t *testing.T, far bool) {\n\tOpenBasket(far)\n}\n"
    write(
        tmp_path,
        {
            "src/main/Basket.kt": "package com.shop\n\nclass Basket(val egg: Any)\n",
            "src/test/BasketTest.kt": f"package com.shop\n\n{tests}}}\n",
            "src/test/afar/FakeEgg.kt": egg.format(name="far"),
            "src/test/util/FakeEgg.kt": egg.format(name="near"),
            "shop/basket.go": "package shop\n\nfunc OpenBasket(far bool) {}\n",
            "shop/basket_test.go": go,
        },
    )
    assert texts(tmp_path, "helpers") == "`class FakeEgg`: `nearShell`"
    swift = "extension Basket {\n    func emptied() -> Int {\n        1\n    }\n}\n\nclass BasketTests: XCTestCase {\n"
    swift += "    func told() -> Int {\n        let eggs = 1\n        return eggs\n    }\n\n"
    swift += (
        "".join(f"    func testBasket{n}() {{\n        told(Basket())\n    }}\n\n" for n in "ABCD")
        + "}\n"
    )
    write(
        tmp_path,
        {"src/test/BasketTest.kt": "", "shop/basket_test.go": "", "Tests/BasketTests.swift": swift},
    )
    assert texts(tmp_path, "helpers") == "helper `func told() -> Int` in 4 of 4 tests"
    made = "class RedEgg {}\n\nclass SkyEgg {}\n\n" + swift.replace(
        "told(Basket())", "laid(told(RedEgg(), SkyEgg()))"
    )
    made = made.replace(
        "    func told", "    func laid() -> Int {\n        return 2 + 3\n    }\n\n    func told"
    )
    write(tmp_path, {"Tests/BasketTests.swift": made})
    assert "4 tests use it: `RedEgg` [4]; `SkyEgg` [4]" in texts(tmp_path, "helpers")
    ruby = "require_relative 'helper'\n\nbasket_apart do\n  fill\nend\n\ndescribe Basket do\n"
    ruby += "".join(f'  it "fills a basket {n}" do\n    fill\n  end\n' for n in "abcd") + "end\n"
    write(tmp_path, {"Tests/BasketTests.swift": "", "test/spec_basket.rb": ruby})
    write(tmp_path, {"test/helper.rb": "# For baskets.\n\ndef self.basket_apart\n  yield\nend\n"})
    assert texts(tmp_path, "helpers") == ""  # it runs around all, and nothing is said of it


def test_a_call_is_told_once_and_none_that_all_tests_make(tmp_path: Path) -> None:
    one = "    public function testBasket{n}() {{\n        $b = new Basket('red', {n});\n"
    one += "        $b->fill('egg', 'mug');\n        verify($b)->fill('egg', 'mug', any('x'));\n"
    one += "        $this->assertTrue($b->hasEgg({n}));\n        $this->assertFalse($b->hasHoles('{n}'));\n"
    one += "        $it->fulfill();\n        listed('egg', 'two');\n    }}\n"
    tests = (
        "<?php\nclass BasketTest extends TestCase {\n"
        + "".join(one.format(n=n) for n in range(4))
        + "}\n"
    )
    rain = "<?php\nclass RainTest extends TestCase {\n    public function testRain() {\n        listed(1);\n    }\n}\n"
    write(tmp_path, {"src/Basket.php": "<?php\nclass Basket {\n    public function fill() {}\n}\n"})
    write(tmp_path, {"tests/BasketTest.php": tests, "tests/RainTest.php": rain})
    said = texts(tmp_path, "calls")
    assert "`verify($b)->fill('egg', 'mug', any('x'))`" in said
    assert "`$b->fill('egg', 'mug')`" not in said  # the same tests make the longer one of that name
    assert "listed" not in said
    assert "assert" not in said
    assert "fulfill" not in said  # it is given nothing, so that it puts nothing in a thing's place
    assert (
        texts(tmp_path, "assertions").count("and the like") == 1
    )  # one way to check, on two methods


def test_marks_come_with_the_condition_that_they_stand_under(tmp_path: Path) -> None:
    tests = 'describe("basket", () => {\n  it("opens a basket", function () {\n    const basket = make();\n'
    tests += "    if (version <= 12) {\n      this.skip();\n    }\n    open(basket);\n  });\n"
    tests += '  it("closes a basket", function () {\n'
    tests += "    this.skip();\n  });\n});\n"
    python = '@patch("shop.retry.times")\ndef test_basket_again(times):\n    assert Basket()\n'
    write(tmp_path, {**BASKET, "test/basket.spec.js": tests, "tests/test_basket.py": python})
    assert texts(tmp_path, "marked").split("\n") == [
        "`opens a basket` is marked skip where `if (version <= 12)`",
        "`closes a basket` is marked skip",
    ]
