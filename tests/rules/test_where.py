"""Where a feature is, in one line for code and one for tests; what the project does not mention."""

from pathlib import Path

from _evidence_project import assert_holds, evidence, found, write
from preread.models import Finding

CART = """\
class Cart:
    def add(self, item):
        self.cart_items.append(item)

    def total_of_cart(self):
        return sum(self.cart_items)


def cart_of(user):
    return Cart()
"""
TEST = """\
from shop.cart import Cart


def test_cart_adds():
    Cart().add(1)


def test_other():
    pass
"""
SHOP = {
    "shop/cart.py": CART,
    "shop/cart_view.py": "# the cart\nVALUE = 1\n",
    "shop/mail.py": "def send(to):\n    return to\n",
    "tests/test_cart.py": TEST,
    "tests/test_mail.py": "def test_send():\n    pass\n",
}


def texts(findings: list[Finding]) -> list[str]:
    return [finding.text for finding in findings]


def test_a_class_that_only_its_file_names_gives_way_to_its_method(tmp_path: Path) -> None:
    body = "".join(f"  int m{n}() {{\n    return login + limit;\n  }}\n" for n in range(9))
    code = f"class Config {{\n{body}  void setLogin(int login) {{\n    use(login);\n  }}\n}}\n"
    root = write(tmp_path, {"src/Config.java": code})
    told = texts(found(root, "where", "login-limit"))
    assert told[0] == "code: `Config.setLogin` src/Config.java:29"


def test_a_type_stands_for_its_methods_though_they_are_outside_of_it(tmp_path: Path) -> None:
    code = (
        "package a\n\ntype Login struct{ name string }\n\n"
        "func (l *Login) OpenLogin(login string) string {\n\treturn l.login(login)\n}\n\n"
        "func (l *Login) CloseLogin(login string) string {\n\treturn l.login(login)\n}\n"
    )
    root = write(tmp_path, {"a.go": code})
    assert texts(found(root, "where", "login"))[0] == "code: `Login` a.go:3"


def test_with_long_paths_fewer_definitions_are_named_rather_than_none(tmp_path: Path) -> None:
    folder = "/".join(["a_folder_with_a_long_name"] * 7)
    code = "def cart_{0}(item):\n    return item\n\n\ndef cart_of_{0}(user):\n    return user\n"
    files = {f"{folder}/cart_{n}.py": code.format(n) for n in range(4)}
    root = write(tmp_path, files)
    [finding] = [one for one in found(root, "where", "cart") if one.text.startswith("code:")]
    assert_holds(root, [finding])
    assert 2 <= finding.text.count(folder) < 8


def test_code_is_named_by_its_best_definitions_with_path_and_line(tmp_path: Path) -> None:
    [code, tests] = texts(found(write(tmp_path, SHOP), "where", "cart"))
    assert "`Cart` shop/cart.py:1" in code
    assert "`cart_of` shop/cart.py:9" in code
    assert "send" not in code
    assert tests == "tests: `test_cart_adds` tests/test_cart.py:4"


def test_a_class_stands_for_its_methods(tmp_path: Path) -> None:
    [code, _] = texts(found(write(tmp_path, SHOP), "where", "cart"))
    assert "total_of_cart" not in code


def test_a_method_is_named_with_its_class(tmp_path: Path) -> None:
    python = "class Shop:\n    def __init__(self, cart): self.cart = cart_of(cart)\n"
    script = "export class Till {\n  constructor(cart) { this.cart = cart.open(); }\n}\n"
    files = {"src/shop.py": python, "src/till.js": script}
    [code, *_] = texts(found(write(tmp_path, files), "where", "cart"))
    assert "`Shop.__init__` src/shop.py:2" in code
    assert "`Till.constructor` src/till.js:2" in code


def test_a_source_without_a_definition_about_it_is_named_by_its_file(tmp_path: Path) -> None:
    files = {**SHOP, "shop/cart_view.py": "# cart\n\n\ncart = 1\n" + "cart\n" * 9}
    files["shop/cart.py"] = "# cart cart cart\nprint('cart')\n"
    [code, *_] = found(write(tmp_path, files), "where", "cart")
    assert code.text == "code: files"
    assert set(code.sources) == {"shop/cart.py", "shop/cart_view.py"}


def test_files_are_named_once_after_the_definitions(tmp_path: Path) -> None:
    files = {**SHOP, "cart/cart.py": "# cart cart cart\nprint('cart')\n"}
    [code, *_] = found(write(tmp_path, files), "where", "cart")
    assert code.text.startswith("code: `Cart` shop/cart.py:1")
    assert code.text.endswith("; also")
    assert "cart/cart.py" in code.sources
    assert "cart/cart.py" not in code.text


def test_a_thin_feature_is_told_as_absent_first_and_then_what_is_nearest(tmp_path: Path) -> None:
    findings = found(write(tmp_path, SHOP), "where", "kubernetes-cart-sharding")
    assert [one.section for one in findings] == ["Hardly mentioned", "Hardly mentioned"]
    assert findings[0].text == "the project does not mention `kubernetes`, `sharding`"
    assert findings[0].sources == ('absent:**~"kubernetes"', 'absent:**~"sharding"')
    assert findings[1].text.startswith("nearest names: `Cart` shop/cart.py:1")


def test_a_thin_feature_may_be_in_a_submodule(tmp_path: Path) -> None:
    modules = (
        '[submodule "lib"]\n\tpath = libs/lib\n\turl = ../lib\n'
        '[submodule "two"]\n\tpath = "libs/`x`"\n[submodule "three"]\n\tpath=three\n'
    )
    root = write(tmp_path, {**SHOP, ".gitmodules": modules})
    findings = texts(found(root, "where", "kubernetes"))
    assert findings[1] == (
        "not searched, because submodules have dossiers of their own: "
        "`libs/lib` .gitmodules:2, `` libs/`x` `` :5, `three` :7"
    )
    assert not any("submodule" in one for one in texts(found(root, "where", "cart")))


def test_names_that_are_spelled_nearly_the_same_are_the_nearest(tmp_path: Path) -> None:
    [_, near] = texts(found(write(tmp_path, SHOP), "where", "carrt"))
    assert "`Cart` shop/cart.py:1" in near


def test_what_is_mentioned_in_another_case_is_not_called_absent(tmp_path: Path) -> None:
    files = {**SHOP, "deploy.yaml": "uses: x/KUBERNETES\n"}
    findings = found(write(tmp_path, files), "where", "kubernetes")
    assert not any("does not mention" in one.text for one in findings)


def test_hostile_names_make_facts_that_check_out(tmp_path: Path) -> None:
    files = {
        "src/cart (old), `x`.js": "export function cart$() {}\nexport const cartÄ = 1;\n"
        + "cart;" * 900,
        "src/cart.test.js": (
            'describe("cart `of` (a) [b]", () => {\n'
            f'  it("cart \\"quotes\\" {"long " * 80}", () => {{}});\n'
            "  it(`cart ${1} :12 src/a.py:3`, () => {});\n});\n"
        ),
    }
    assert texts(found(write(tmp_path, files), "where", "cart"))


def test_a_feature_that_the_project_has_is_not_thin(tmp_path: Path) -> None:
    root = write(tmp_path, SHOP)
    assert not evidence(root, "cart").thin
    assert not evidence(root, "basket", "total_of_cart() counts twice").thin
    assert not evidence(root, "_project").thin


def test_a_feature_whose_words_are_far_apart_is_thin(tmp_path: Path) -> None:
    words = "invoice\n" + "other\n" * 200 + "printing\n"
    root = write(tmp_path, {**SHOP, "shop/words.py": f'"""\n{words}"""\n'})
    assert evidence(root, "invoice-printing").thin
    near = "invoice\nprinting\n" + "other\n" * 200
    root = write(tmp_path, {**SHOP, "shop/words.py": f'"""\n{near}"""\n'})
    assert not evidence(root, "invoice-printing").thin


def test_a_description_in_the_project_s_own_words_is_enough(tmp_path: Path) -> None:
    root = write(tmp_path, SHOP)
    assert evidence(root, "zorro").thin
    assert not evidence(root, "zorro", "send mail for each cart that a user adds").thin


def test_code_comes_before_its_type_declarations(tmp_path: Path) -> None:
    files = {
        "index.d.ts": "export interface CartOptions { cart: string; cartItems: string[] }\n",
        "src/store.js": "export function openCart(cart) {\n  return cart.items;\n}\n",
    }
    [code, *_] = texts(found(write(tmp_path / "both", files), "where", "cart"))
    assert code == "code: `openCart` src/store.js:1"
    del files["src/store.js"]
    [code, *_] = texts(found(write(tmp_path / "types", files), "where", "cart"))
    assert "index.d.ts:1" in code


def test_four_sources_are_named_and_a_fifth_that_is_nearly_as_good(tmp_path: Path) -> None:
    same = {f"src/cart_{n}.js": f"export function cart_{n}() {{}}\n" for n in range(6)}
    [code, *_] = texts(found(write(tmp_path / "alike", same), "where", "cart"))
    assert code.count("src/") == 5
    far = {path: text * 3 for path, text in list(same.items())[:4]}
    others = {f"src/{name}.js": "// of the cart\n" + "x();\n" * 90 for name in "uvw"}
    [code, *_] = texts(found(write(tmp_path / "apart", {**far, **others}), "where", "cart"))
    assert code.count("src/") == 4


USED_IN_PASSING = {
    "shop/cart.py": "def add(item):\n    return item\n",
    "shop/mail.py": "def send(to):\n    return to\n",
    "tests/test_cart.py": (
        "import pytest\n\nfrom shop.cart import add\n\n\n"
        "@pytest.fixture\ndef item():\n    return 1\n\n\n"
        "def test_add(item):\n    assert add(item)\n\n\n"
        "@pytest.fixture\ndef other():\n    return 2\n"
    ),
}


def test_where_only_tests_use_the_word_no_file_is_named_without_a_reason(tmp_path: Path) -> None:
    root = write(tmp_path, USED_IN_PASSING)
    [code, *_] = found(root, "where", "fixture")
    assert code.text == "code: no definition named after it was found; it is mentioned here"
    assert code.sources == ("tests/test_cart.py:6",)
    write(root, {"shop/mail.py": "# each fixture is sent\n\n\ndef send(to):\n    return to\n"})
    [code, *_] = found(root, "where", "fixture")
    assert code.sources == ("shop/mail.py:1", "tests/test_cart.py:6")


def test_a_thin_feature_whose_words_are_only_in_data_says_so(tmp_path: Path) -> None:
    files = {"src/shop.py": "def sell(item):\n    return item\n", "data/names.json": '["basket"]\n'}
    files["tests/test_shop.py"] = "def test_sell():\n    assert sell(1)\n"
    told = texts(found(write(tmp_path, files), "where", "basket"))
    assert told == ["the project hardly mentions it: `basket` data/names.json:1"]


def test_the_file_with_the_best_definition_comes_first(tmp_path: Path) -> None:
    files = {
        "src/message.py": "def format_message(one):\n    # one message to get, of many messages\n"
        "    return one  # get the message\n",
        "src/inbox.py": "def get_one_message(box):\n    return box.pop()\n",
    }
    (code,) = found(write(tmp_path, files), "where", "get-one-message")
    assert code.text.startswith("code: `get_one_message` src/inbox.py:1, `format_message`")
