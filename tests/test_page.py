"""The daemon's page in a real headless Chromium: who is let in, what each view shows and to whom."""

import hashlib
import json
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from _browser import axe, browser, context, contrast
from _claude import claude_environ, installed
from _daemon import Answer, Daemon, daemon
from _mcp_process import shop
from _messages_api import Hang, MessagesAPI, tool
from conftest import ROOT, child_environ, run_cli
from preread.daemon.logins import cookie_name
from preread.daemon.page.render import FOLDER, HEADERS
from preread.daemon.page.routes import VIEWS

OFF = {"PREREAD_CLAUDE": "off"}
HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=document.title='owned'> {{7*7}}"
)
TURNED = "pay \u202efdp.exe"
WINDOWS = {"wide": 1280, "narrow": 390}


@pytest.fixture(scope="module")
def model() -> Iterator[MessagesAPI]:
    """The scripted model of the daemon's builds."""
    with MessagesAPI() as found:
        yield found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, model: MessagesAPI) -> Iterator[Daemon]:
    home = tmp_path_factory.mktemp("d")
    env = {**claude_environ(model, home), "PREREAD_CLAUDE": str(installed() or "off")}
    with daemon(home, env=env) as found:
        yield found


@pytest.fixture(scope="module")
def root(running: Daemon, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An allowed project that means no good: facts with markup and with invisible characters."""
    found = shop(tmp_path_factory.mktemp("one") / "shop")
    for command in (("init",), ("load", "checkout")):
        assert run_cli(*command, cwd=found, env=OFF).status == 0
    written = found / ".project" / "context" / "checkout" / "patterns.md"
    written.write_text(f"{written.read_text()}\n## By hand\n- {HOSTILE}\n- {TURNED}\n")
    run = {
        "time": round(time.time(), 3),
        "cost_usd": 0.25,
        "feature": "checkout",
        "model": "m",
        "run": "r",
    }
    (found / ".project" / ".state" / "spending.jsonl").write_text(json.dumps(run) + "\n")
    for command in (("remember", f"{HOSTILE} is remembered"), ("say", f"{HOSTILE} was said")):
        assert run_cli(*command, cwd=found, env=OFF).status == 0
    running.allow(found)
    return found


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def complaints() -> list[str]:
    """What a browser complains of: errors of scripts, and what the policy stopped."""
    return []


def address(running: Daemon, *more: str) -> str:
    done = running.cli("serve", "page", *more)
    assert done.status == 0, done.err
    return done.out.strip()


def opened(
    chromium: Browser, running: Daemon, complaints: list[str], scope: str = "read", **window
):
    """A page of somebody who has logged in."""
    page = context(chromium, **window).new_page()
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address(running, "--scope", scope))
    return page


@pytest.fixture
def visitor(
    chromium: Browser, running: Daemon, root: Path, complaints: list[str]
) -> Iterator[Page]:
    page = opened(chromium, running, complaints)
    yield page
    page.context.close()
    assert complaints == []


# -- who is let in


def test_an_address_lets_in_once_and_its_cookie_stays_out_of_reach(
    chromium: Browser, running: Daemon, root: Path
) -> None:
    login = address(running)
    page = context(chromium).new_page()
    assert page.goto(running.url).status == 401
    expect(page.get_by_text("preread serve page")).to_be_visible()
    assert root.name not in page.content()
    assert axe(page) == []
    page.goto(login)
    assert page.url == f"{running.url}/"
    expect(page.get_by_role("heading", name="Dossiers")).to_be_visible()
    [cookie] = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["domain"]) == (
        True,
        "Strict",
        "127.0.0.1",
    )
    other = context(chromium).new_page()
    assert other.goto(login).status == 401
    expect(other.get_by_role("alert")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_text("preread serve page")).to_be_visible()
    assert page.context.cookies() == []
    asked = running.ask("GET", "/", Cookie=f"{cookie['name']}={cookie['value']}")
    assert asked.status == 401
    for one in (page, other):
        one.context.close()


def entered(running: Daemon, *more: str) -> dict[str, str]:
    """The header of somebody who has logged in."""
    login = urlsplit(address(running, *more))
    looked = running.ask("HEAD", f"/?{login.query}")
    assert looked.status == 401, "a look at a link does not use it up"
    answer = running.ask("GET", f"/?{login.query}")
    assert answer.status == 303
    cookie = answer.headers["set-cookie"].split(";")[0]
    assert cookie.startswith(f"{cookie_name(login.netloc)}=")
    return {"Cookie": cookie}


def test_a_cookie_is_taken_only_from_the_page_itself_and_for_its_scope(
    running: Daemon, root: Path
) -> None:
    cookie, own = entered(running), {"Origin": running.url}
    assert running.ask("GET", "/", **cookie).status == 200
    for site in ("cross-site", "same-site"):
        assert running.ask("GET", "/", **cookie, Sec_Fetch_Site=site).status == 401
    remember = {"method": "remember", "params": {"content": "tea is hot"}}
    for method in ({"method": "context.status"}, remember):
        assert running.ask("POST", "/operation", method, **cookie).status in {401, 429}
        foreign = running.ask("POST", "/operation", method, **cookie, Origin="http://evil.example")
        assert foreign.status == 403
    assert running.ask("POST", "/operation", remember, **cookie, **own).status == 403
    status = running.ask("POST", "/operation", {"method": "context.status"}, **cookie, **own)
    assert status.json["result"]["dossiers"][0]["feature"] == "checkout"
    assert running.ask("POST", "/code", b"", **cookie, **own).status == 403
    assert running.ask("POST", "/code?scope=execute", b"", over="socket").status != 200
    twice = {"Cookie": f"{cookie['Cookie']}; {cookie['Cookie']}"}
    assert running.ask("GET", "/", **twice).status == 401


def test_a_visitor_of_one_project_sees_no_other(
    running: Daemon, root: Path, tmp_path: Path
) -> None:
    other = shop(tmp_path / "other")
    running.allow(other)
    try:
        narrow, wide = entered(running, "--namespace", str(other)), entered(running)
        assert str(root) in running.ask("GET", "/", **wide).body.decode()
        assert str(other) in running.ask("GET", "/", **wide).body.decode()
        for asked in ("", f"?namespace={root}"):
            for path in ("/", "/dossier/checkout"):
                answer = running.ask("GET", f"{path}{asked}", **narrow)
                assert answer.status == (404 if asked or path != "/" else 200)
                assert "place_order" not in answer.body.decode()
                assert asked or str(root) not in answer.body.decode()
        chosen = running.ask("GET", f"/?namespace={root}", **wide).body.decode()
        assert f"/dossier/checkout?namespace={str(root).replace('/', '%2F')}" in chosen
    finally:
        assert running.cli("serve", "forbid", str(other)).status == 0


def test_what_the_page_sends_has_a_policy_and_its_libraries_are_those_of_their_packages(
    running: Daemon, root: Path
) -> None:
    cookie = entered(running)
    answers: list[Answer] = [
        running.ask("GET", "/"),
        running.ask("GET", "/", **cookie),
        running.ask("GET", "/dossier/nosuch", **cookie),
        running.ask("GET", "/static/page.css"),
    ]
    assert [answer.status for answer in answers] == [401, 200, 404, 200]
    assert "<p>Build it: <code>preread load nosuch</code></p>" in answers[2].body.decode()
    assert f'<a href="/">The dossiers of {root.name}</a>' in answers[2].body.decode()
    for answer in answers:
        assert HEADERS.items() <= {k.lower(): v for k, v in answer.headers.items()}.items()
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/", "/static/vendor"):
        assert running.ask("GET", path).status in {401, 404}
    vendor = FOLDER / "static" / "vendor"
    listed = re.findall(
        r"^\| (\S+\.\w+) \|.* (\w{64}) \|$", (vendor / "README.md").read_text(), re.MULTILINE
    )
    there = {path.name: path for path in vendor.iterdir() if path.suffix in {".js", ".css"}}
    assert {
        name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in there.items()
    } == dict(listed)


# -- what it shows


def test_a_dossier_has_each_facts_state_and_the_lines_that_it_cites(
    visitor: Page, root: Path
) -> None:
    visitor.get_by_role("link", name="checkout").click()
    expect(visitor.get_by_role("heading", level=1)).to_have_text("checkout")
    fact = visitor.locator("li.fact", has_text="checkout.place_order(ADA, cart, GOOD_CARD)").first
    expect(fact).to_contain_text("quoted")
    expect(fact).to_contain_text("% sure")
    expect(fact.locator(".lines li").first).to_have_attribute("value", "33")
    code = (root / "api" / "tests" / "test_checkout.py").read_text().split("\n")[32]
    assert fact.locator(".lines code").first.text_content() == code
    by_hand = visitor.locator("li.fact", has_text="unverified").first
    expect(by_hand).to_contain_text(HOSTILE)
    expect(visitor.locator("li.fact", has_text="⟨U+202E⟩")).to_contain_text("pay ⟨U+202E⟩fdp.exe")
    assert "\u202e" not in visitor.content()
    assert visitor.title() == "checkout · Preread"


def test_the_graph_is_a_picture_of_links_that_lead_on(visitor: Page, running: Daemon) -> None:
    visitor.goto(f"{running.url}/graph")
    visitor.get_by_role("link", name="checkout", exact=True).click()
    picture = visitor.locator("#picture")
    expect(picture.locator("a.node").nth(40)).to_be_attached()
    whole = picture.get_attribute("viewBox")
    picture.focus()
    visitor.keyboard.press("+")
    visitor.keyboard.press("ArrowLeft")
    assert picture.get_attribute("viewBox") != whole
    visitor.get_by_role("button", name="Fit").click()
    assert picture.get_attribute("viewBox") == whole
    node = picture.get_by_role("link", name="fact: <script>")
    expect(node).to_have_attribute("aria-label", f"fact: {HOSTILE}")
    node.focus()
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("heading", level=1)).to_have_text(HOSTILE)
    relation = visitor.locator(".list li", has_text=HOSTILE)
    expect(relation.get_by_role("link", name="checkout", exact=True)).to_be_visible()


def test_costs_tests_memory_and_searches_say_what_the_operations_say(
    visitor: Page, running: Daemon
) -> None:
    visitor.goto(f"{running.url}/costs")
    expect(visitor.locator("#chart canvas")).to_be_visible()
    expect(visitor.locator("tr", has_text="checkout")).to_contain_text("$0.25")
    visitor.get_by_role("link", name="checkout").click()
    expect(visitor.get_by_role("heading", level=1)).to_contain_text("checkout")
    visitor.get_by_role("link", name="Tests").click()
    failed = visitor.locator("tr", has_text="a declined card can be replaced by another")
    expect(failed).to_contain_text("failing")
    expect(failed.get_by_role("img")).to_have_attribute("aria-label", " failed")
    visitor.get_by_role("searchbox").fill("coupon rounding")
    visitor.keyboard.press("Enter")
    for found in ("api/shop/coupons.py", "test_coupons.py"):
        expect(visitor.locator(".list li", has_text=found).first).to_be_visible()
    visitor.get_by_role("searchbox").fill("script remembered said")
    visitor.keyboard.press("Enter")
    expect(visitor.locator("#found-memory li", has_text=f"{HOSTILE} is remembered")).to_be_visible()


def test_a_search_finds_nodes_of_the_graph_costs_and_the_calls_in_the_log(
    visitor: Page, running: Daemon
) -> None:
    visitor.goto(f"{running.url}/search?q=place%20order")
    visitor.locator("#found-nodes li", has_text="symbol").first.get_by_role("link").click()
    expect(visitor.get_by_role("heading", level=1)).to_contain_text(
        re.compile("place_?order", re.IGNORECASE)
    )
    visitor.goto(f"{running.url}/search?q=CHECKOUT")
    expect(visitor.locator("#found-costs li")).to_contain_text("$0.25 for 1 build")
    load = visitor.locator("#found-calls li", has_text="context.load")
    expect(load).to_contain_text("feature: checkout")
    expect(load).to_contain_text("person")
    visitor.goto(f"{running.url}/search?q=no%20such%20words")
    for kind in ("nodes", "costs", "calls"):
        expect(visitor.locator(f"#found-{kind}")).to_have_count(0)
    visitor.goto(f"{running.url}/search?q=zyxwvut")
    expect(visitor.get_by_text("Nothing was found.")).to_be_visible()


def test_gates_show_what_they_cover_and_what_was_blocked_and_why(
    visitor: Page, running: Daemon, root: Path
) -> None:
    path = root / "web" / "tests" / "refund.spec.ts"
    event = {
        "hook_event_name": "PreToolUse", "session_id": "a-session", "cwd": str(root),
        "tool_name": "Write", "tool_input": {"file_path": str(path), "content": "x"},
    }  # fmt: skip
    env = child_environ({"CLAUDE_PROJECT_DIR": str(root)})
    hook = [str(ROOT / "hooks" / "pre-spec-write")]
    done = subprocess.run(hook, input=json.dumps(event).encode(), env=env, capture_output=True)
    assert b'"deny"' in done.stdout, done
    visitor.goto(f"{running.url}/gates")
    blocked = visitor.locator("tr", has_text="web/tests/refund.spec.ts")
    expect(blocked).to_contain_text("waits for the dossier of refund")
    expect(blocked).not_to_contain_text("PREREAD_GATES")
    rows = {"web/tests/checkout.spec.ts": "ready|stale", "web/tests/cart.spec.ts": "not built"}
    for file, state in rows.items():
        expect(visitor.locator("tr", has_text=file)).to_contain_text(re.compile(state))
    expect(visitor.locator("main")).to_contain_text("The gates block")


def test_messages_appear_as_they_are_said(visitor: Page, running: Daemon, root: Path) -> None:
    with visitor.expect_response("**/stream*"):
        visitor.goto(f"{running.url}/memory")
    expect(visitor.locator("#messages li").first).to_contain_text(f"{HOSTILE} was said")
    assert run_cli("say", "<b>the kettle</b> boils \u202eyenom", cwd=root, env=OFF).status == 0
    first = visitor.locator("#messages li").first
    expect(first).to_contain_text("<b>the kettle</b> boils ⟨U+202E⟩yenom")


def test_dossiers_are_shown_as_they_change(visitor: Page, running: Daemon, root: Path) -> None:
    def following(path: str) -> None:
        with visitor.expect_response("**/stream*"):
            visitor.goto(f"{running.url}{path}")

    following("/")
    visitor.get_by_role("link", name="checkout").focus()
    visitor.evaluate("window.isSame = true")
    assert run_cli("load", "kettle", "--description", "cart", cwd=root, env=OFF).status == 0
    row = visitor.get_by_role("row", name=re.compile("^kettle"))
    expect(row).to_contain_text("fresh")
    expect(visitor.get_by_role("link", name="checkout")).to_be_focused()
    assert visitor.evaluate("window.isSame"), "the page was not loaded again"
    following("/dossier/kettle")
    summary = visitor.get_by_role("status")
    assert summary.text_content() == ""
    written = root / ".project" / "context" / "kettle" / "summary.md"
    written.write_text(f"{written.read_text()}\n## By hand\n- it whistles\n")
    expect(summary).to_contain_text("This dossier has changed.")
    expect(visitor.locator("li.fact", has_text="whistles")).to_have_count(0)
    summary.get_by_role("link").click()
    expect(visitor.locator("li.fact", has_text="whistles")).to_be_visible()
    following("/")
    assert run_cli("remove", "kettle", cwd=root, env=OFF).status == 0
    expect(row).to_have_count(0)


def test_a_build_is_followed_live_and_cancelled_by_who_may(
    chromium: Browser, running: Daemon, root: Path, model: MessagesAPI, claude: Path,
    complaints: list[str],
) -> None:  # fmt: skip
    read = tool("Read", file_path=str(root / "api" / "shop" / "cart.py"))
    model.play([[read], Hang()])
    token = running.token("write", "--namespace", str(root))
    load = {"method": "load", "params": {"feature": "cart", "level": "standard", "force": True}}
    page = opened(chromium, running, complaints, "write")
    with ThreadPoolExecutor(1) as pool:
        page.goto(f"{running.url}/builds")
        expect(page.get_by_text("No build is running")).to_be_visible()
        answer = pool.submit(running.operation, load, token)
        build = page.get_by_role("article", name="cart")
        expect(build.get_by_role("log")).to_contain_text("reads api/shop/cart.py")
        expect(build.get_by_role("progressbar")).to_be_visible()
        assert axe(page) == []
        cookie, own = entered(running), {"Origin": running.url}
        seen = running.ask("GET", "/builds", **cookie).body.decode()
        assert "reads api/shop/cart.py" in seen
        assert "<button>Cancel" not in seen
        assert running.ask("POST", "/cancel/cart", b"", **cookie, **own).status == 403
        foreign = {**entered(running, "--scope", "write"), "Origin": "http://evil.example"}
        assert running.ask("POST", "/cancel/cart", b"", **foreign).status == 403
        build.get_by_role("button", name="Cancel this build").click()
        expect(page.get_by_text("No build is running")).to_be_visible()
        assert answer.result(60)["error"]["code"] == "E_CANCELLED"
    write = entered(running, "--scope", "write")
    assert running.ask("POST", "/cancel/cart", b"", **write, **own).status == 404
    page.context.close()
    assert complaints == []


def test_a_build_that_ended_says_why(
    visitor: Page, running: Daemon, root: Path, model: MessagesAPI, claude: Path
) -> None:
    read = tool("Read", file_path=str(root / "api" / "shop" / "cart.py"))
    model.play([[read], Hang()])
    token = running.token("write", "--namespace", str(root))
    load = {"method": "load", "params": {"feature": "cart", "level": "standard", "force": True}}
    visitor.goto(f"{running.url}/builds")
    expect(visitor.get_by_text("No build is running")).to_be_visible()
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(running.operation, load, token)
        build = visitor.get_by_role("article", name="cart")
        expect(build.get_by_role("log")).to_contain_text("reads api/shop/cart.py")
        running.operation({"method": "builds.cancel", "params": {"feature": "cart"}}, token)
        assert answer.result(60)["error"]["code"] == "E_CANCELLED"
    expect(build.locator(".about")).to_have_text("failed The build was cancelled.")
    expect(build.get_by_role("progressbar")).to_have_count(0)
    assert axe(visitor) == []


@pytest.mark.parametrize("window", WINDOWS)
def test_every_view_is_accessible_and_fits_its_window(
    chromium: Browser, running: Daemon, root: Path, complaints: list[str], window: str
) -> None:
    page = opened(chromium, running, complaints, width=WINDOWS[window])
    more = ("/graph?node=checkout", "/search?q=checkout")
    for view in (*VIEWS, *more):
        page.emulate_media(color_scheme="light")
        page.goto(running.url + view.format(feature="checkout"))
        assert axe(page) == [], view
        assert contrast(page, "dark") == [], view
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
    page.context.close()
    assert complaints == []


def test_the_keyboard_reaches_the_content_first(visitor: Page) -> None:
    visitor.keyboard.press("Tab")
    skip = visitor.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    expect(skip).to_be_in_viewport()
    visitor.keyboard.press("Enter")
    expect(visitor.locator("main")).to_be_focused()
    visitor.keyboard.press("Tab")
    expect(visitor.get_by_role("link", name="checkout")).to_be_focused()


def test_the_page_can_be_used_by_keys_alone(visitor: Page) -> None:
    def reach(role: str, name: str) -> None:
        wanted = visitor.get_by_role(role, name=name, exact=True).first
        for _ in range(60):
            visitor.keyboard.press("Tab")
            if wanted.evaluate("one => one === document.activeElement"):
                expect(wanted).to_be_in_viewport()
                assert wanted.evaluate("one => getComputedStyle(one).outlineStyle") != "none"
                return
        pytest.fail(f"the Tab key does not reach {name}")

    def follow(role: str, name: str, heading: str) -> None:
        reach(role, name)
        visitor.keyboard.press("Enter")
        expect(visitor.get_by_role("heading", level=1)).to_have_text(heading)

    follow("link", "checkout", "checkout")
    legend = visitor.locator("details.legend")
    for _ in range(60):
        visitor.keyboard.press("Tab")
        if legend.locator("summary").evaluate("one => one === document.activeElement"):
            break
    visitor.keyboard.press("Enter")
    expect(legend.get_by_text("What it quotes is in the lines")).to_be_visible()
    visitor.reload()
    follow("link", "Graph", "What is known, and how it is related")
    follow("link", "checkout", "checkout")
    visitor.reload()
    reach("searchbox", "Search everything")
    visitor.keyboard.type("coupon")
    visitor.keyboard.press("Enter")
    expect(visitor.get_by_role("heading", level=1)).to_have_text("Results for “coupon”")
    reach("button", "Log out")


def test_the_readme_installs_the_browser_that_the_tests_start() -> None:
    from _browser import VERSION

    assert f"@sparticuz/chromium@{VERSION} " in (ROOT / "README.md").read_text()
