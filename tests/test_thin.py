"""A feature that the project says next to nothing about: what a caller is told, fresh and from the
cache.
"""

from pathlib import Path

import pytest

from _evidence_project import services, write
from conftest import Cli
from preread.dossier import published
from preread.evidence.collect import collect
from preread.models import Request

SHOP = {
    "shop/cart.py": "class Cart:\n    def add(self, item):\n        return item\n",
    "tests/test_cart.py": "import pytest\n\n\ndef test_cart_adds():\n    assert True\n",
}


def load(cli: Cli, root: Path, feature: str) -> dict[str, object]:
    reply: dict[str, object] = cli("load", feature, "--json", cwd=root).json
    return reply


@pytest.mark.parametrize(("feature", "thin"), [("kubernetes", True), ("cart", False)])
def test_the_reply_says_whether_the_project_knows_the_feature(
    cli: Cli, tmp_path: Path, feature: str, thin: bool
) -> None:
    root = write(tmp_path, SHOP)
    for state in ("built", "cached"):
        reply = load(cli, root, feature)
        warned = any("next to nothing" in str(one) for one in reply["warnings"])  # type: ignore[attr-defined]
        assert (reply["state"], reply["thin"], warned) == (state, thin, thin)
        assert str(reply["next"]).startswith("Go on. If a gate refused")
    manifest = published.read(services(root).layout, feature).manifest  # type: ignore[union-attr]
    assert manifest is not None
    assert manifest.thin is thin


REMARK = {
    **SHOP,
    "shop/coupons.py": 'def redeem(coupon):\n    """Half a cent goes up, as on every receipt."""\n'
    "    if not coupon:\n        raise ValueError('no coupon given')\n    return coupon\n",
    "tests/test_coupons.py": "def test_a_coupon_is_redeemed():\n    assert redeem('x')\n",
}


@pytest.mark.parametrize("feature", ["receipts", "receipt"])
def test_one_remark_in_passing_does_not_fill_a_dossier_and_opens_the_gate(
    cli: Cli, tmp_path: Path, feature: str
) -> None:
    root = write(tmp_path, {**REMARK, ".project/gates": "tests/**/test_{feature}.py\n"})
    gated = ("gates", "test", f"tests/test_{feature}.py", "--json")
    assert cli(*gated, cwd=root).status == 1
    reply = cli("load", feature, "--json", cwd=root).json
    assert reply["thin"] is True
    assert "Half a cent goes up, as on every receipt." in reply["dossier"]
    assert "shop/coupons.py:2" in reply["dossier"] or "coupons.py:2" in reply["dossier"]
    assert "no coupon given" not in reply["dossier"]
    assert "## shop/coupons.py" not in reply["dossier"]
    assert cli(*gated, cwd=root).status == 0
    # What the project does define keeps its dossier.
    assert cli("load", "coupon", "--json", cwd=root).json["thin"] is False


def test_a_thin_dossier_says_what_is_missing_and_how_tests_run_here(
    cli: Cli, tmp_path: Path
) -> None:
    dossier = str(load(cli, write(tmp_path, SHOP), "kubernetes")["dossier"])
    assert "the project does not mention `kubernetes`" in dossier
    assert '"python -m pytest tests/test_cart.py"' in dossier
    assert "test_cart_adds" in dossier


# The one line that the project has about `login`, by its file.
DEFINED = {
    "src/app.js": "app.get('/login', (req, res) => res.render('in'));",
    "app.py": "@app.route('/login')\ndef sign_in():\n    return 'x'",
    "main.go": 'func main() {\n\thttp.HandleFunc("/login", signIn)\n}',
    "config/routes.rb": "post '/login', to: 'sessions#create'",
    "src/A.java": 'class A {\n  @PostMapping("/login")\n  String in() { return "x"; }\n}',
    "src/main.rs": 'fn main() { Router::new().route("/login", post(sign_in)); }',
    "routes/web.php": "<?php\nRoute::post('/login', [AuthController::class, 'store']);",
    "Program.cs": 'app.MapPost("/login", SignIn);',
    "conf.py": "TRIES = int(os.environ['LOGIN_LIMIT'])",
    "conf.js": "export const tries = process.env.LOGIN_LIMIT;",
    "conf.go": 'package main\n\nvar tries = os.Getenv("LOGIN_LIMIT")',
    "keys.py": "SETTINGS = {'login_limit': 3}",
    "tests/shop.spec.ts": "test('login with a wrong password is refused', async () => {});",
    "tests/test_shop.py": "def test_login_is_refused():\n    assert True",
    "auth.py": "def login(name):\n    return name",
}
MENTIONED = {
    "auth.py": "def enter(name):\n    # as before, a login is not needed here\n    return name",
    "auth.js": "// after the login, '/cart' is kept\nfunction enter() {}",
    "auth.go": "package a\n\n// enter is not a login.\nfunc enter() {}",
    "auth.rb": "def enter\n  raise 'see the login page'\nend",
    "doc.py": '"""Enter.\n\nLike a login, but without a name.\n"""',
    "README.md": "# Shop\n\nSome text that speaks of a login.",
}
ONE_LINE = [(*one, False) for one in DEFINED.items()] + [(*one, True) for one in MENTIONED.items()]


@pytest.mark.parametrize(("path", "text", "thin"), ONE_LINE)
def test_one_route_setting_or_test_is_enough_and_one_remark_is_not(
    tmp_path: Path, path: str, text: str, thin: bool
) -> None:
    root = write(tmp_path, {**SHOP, path: f"{text}\n"})
    assert collect(services(root), Request(feature="login")).thin is thin
