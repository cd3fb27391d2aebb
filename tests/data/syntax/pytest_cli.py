import pytest
from unittest import TestCase, mock

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def runner(tmp_path):
    yield make("runner")


@pytest.mark.parametrize(("color", "code"), [("a", 0)])
@pytest.mark.xfail(reason="broken")
def test_color(runner, color, code, tmp_path):
    pytest.skip("not today")
    result = runner.invoke("--color")
    assert result.exit_code == code, "exit"


class TestGroup:
    def setup_method(self):
        self.client = build()

    @mock.patch("os.getcwd")
    async def test_nested(self, getcwd, monkeypatch):
        with pytest.raises(ValueError, match="bad"):
            self.client.post("/x")

    def helper(self, runner):
        return 1


class CartTests(TestCase):
    def setUp(self):
        self.cart = Cart()

    def test_total(self):
        self.assertEqual(self.cart.total(), 0)
