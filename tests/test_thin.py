"""A feature that the project says next to nothing about: what a caller is told, fresh and from the
cache.
"""

from pathlib import Path

import pytest

from _evidence_project import services, write
from conftest import Cli
from preread import published

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
        assert reply["next"] == "Retry the write."
    manifest = published.read(services(root).layout, feature).manifest  # type: ignore[union-attr]
    assert manifest is not None
    assert manifest.thin is thin


def test_a_thin_dossier_says_what_is_missing_and_how_tests_run_here(
    cli: Cli, tmp_path: Path
) -> None:
    dossier = str(load(cli, write(tmp_path, SHOP), "kubernetes")["dossier"])
    assert "the project does not mention `kubernetes`" in dossier
    assert '"python -m pytest tests/test_cart.py"' in dossier
    assert "test_cart_adds" in dossier
