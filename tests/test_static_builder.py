"""The static builder: what it writes on real projects, that all of it checks out, and the same
again on a second build.
"""

import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import anyio
import pytest

from _evidence_project import check, evidence, request, services, shop_with_history, write
from conftest import ROOT, child_environ
from preread.builders import static
from preread.builds import pipeline
from preread.check import check as check_drafts
from preread.dossier import build_records, fact_text, markdown, published, sources
from preread.evidence.collect import collect
from preread.evidence.rules import RULES
from preread.layout import BY_NAME, FILES, REQUIRED
from preread.models import Checked, Draft, Evidence, Finding, Ranked

CHECKOUT = "say what happened when a payment times out"
FEATURES = ["checkout", "_project", "coupons", "login", "payment", "cart", "stock", "kubernetes"]
OWN = ["dossier", "tree", "settings", "feature-name", "_project"]
SMALL = {
    "src/login.py": (
        "ATTEMPTS = 5\n\n\ndef login(name):\n    if not name:\n"
        "        raise ValueError('no name was given')\n    return name\n"
    ),
    "tests/test_login.py": (
        "import pytest\n\nfrom src.login import login\n\n\ndef test_login_works():\n"
        "    assert login('ann')\n\n\n@pytest.mark.skip(reason='slow')\ndef test_login_twice():\n"
        "    assert login('ann')\n"
    ),
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\n",
    "README.md": "# App\n\n## Login\n\nHow to log in.\n",
}
WEB = {
    "web/src/login.ts": "export function login(name: string) {\n  return fetch('/api/login');\n}\n",
    "web/tests/login.spec.ts": (
        "import { test } from '@playwright/test';\n\ntest('login opens a session', async () => {\n"
        "  await login('ann');\n});\n"
    ),
    "web/package.json": (
        '{"scripts": {"test": "playwright test"}, "devDependencies": {"@playwright/test": "1"}}\n'
    ),
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (ROOT / ".git").exists() or (ROOT / ".git" / "shallow").exists():
        pytest.skip("the shop's history is this repository's, and it is not here")
    return shop_with_history(tmp_path_factory.mktemp("shop"))


@lru_cache(maxsize=32)
def drafted(
    root: Path, feature: str, ticket: str = "", description: str = ""
) -> tuple[Evidence, tuple[Draft, ...]]:
    asked = request(feature, description, ticket)
    found = collect(services(root), asked)
    return found, tuple(static.drafts(asked, found))


def checked(root: Path, feature: str, **more: str) -> Checked:
    """Evidence, drafts and check as a build has them, without a budget."""
    drafts = drafted(root, feature, **more)[1]
    return check_drafts(services(root), feature, drafts, budget=False)


def section(result: Checked, file: str, heading: str) -> str:
    """The facts of one section, a line each; empty if there is none."""
    return "\n".join(
        fact.text
        for draft in result.drafts
        if draft.name == file
        for part in draft.sections
        if part.heading == heading
        for fact in part.facts
    )


def build(
    root: Path, feature: str, ticket: str = "", description: str = "", **settings: object
) -> dict[str, str]:
    asked = request(feature, description, ticket).model_copy(update={"force": True})
    reply = anyio.run(pipeline.build, services(root, **settings), asked)
    assert reply.status == "ok", reply
    found = published.read(services(root).layout, feature)
    assert found is not None
    return found.texts


def finding(
    text: str,
    file: str = "patterns.md",
    heading: str = "Waits",
    source: str = "a.py:1",
    *,
    rule: str = "values",
    fence: tuple[str, ...] = (),
) -> Finding:
    return Finding(
        rule=rule, file=file, section=heading, text=text, sources=(source,), score=0.5, fence=fence
    )


def drafts_of(*findings: Finding, ranked: tuple[str, ...] = ()) -> dict[str, Draft]:
    files = tuple(Ranked(path=path, score=1.0, reasons=()) for path in ranked)
    found = Evidence(feature="login", words=("login",), files=files, findings=findings)
    return {draft.name: draft for draft in static.drafts(request("login"), found)}


# -- what the shop has planted


def test_deprecated_helpers_of_the_shop_are_told_with_their_replacement(shop: Path) -> None:
    said = section(checked(shop, "stock"), "anti-patterns.md", "Deprecated")
    assert said == "`reserve_one`: `Stock.reserve_one is deprecated, use Stock.reserve`"


def test_tests_of_the_shop_that_are_not_trusted_are_listed_with_their_reason(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "existing-tests.md", "Skipped or expected to fail")
    assert "#61: express checkout puts the goods back on sale" in said
    assert "`test_express_time_out_keeps_the_goods`" in said


def test_what_the_shop_fixed_twice_is_in_its_commits(shop: Path) -> None:
    headings = [row.heading for row in RULES if row.name == "history"]
    said = section(checked(shop, "coupons"), "failures.md", headings[0])
    assert "`shop: fix coupon rounding again for mixed baskets (#47)`" in said
    assert "`shop: fix coupon rounding (#31)`" in said


def test_failing_tests_of_the_shop_s_report_are_told(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "failures.md", "Failing in the latest report")
    assert "a declined card can be replaced by another" in said
    assert "two_shoppers" not in said


def test_knowledge_and_ticket_of_the_shop_go_in(shop: Path) -> None:
    result = checked(shop, "checkout", ticket="SHOP-142")
    told = "\n".join(fact.text for _, _, fact in markdown.all_facts(result.drafts))
    assert "only `reconcile` may settle the order" in told
    assert all(f"AC{n}" in told for n in range(1, 7))


@pytest.mark.parametrize("trap", ["payment_timeout_s", "#52", "a declined card can be replaced"])
def test_the_worst_planted_traps_survive_the_budget(shop: Path, trap: str) -> None:
    assert trap in "".join(built_checkout(shop).values())


def test_half_as_large_a_budget_again_holds_the_other_traps(shop: Path) -> None:
    said = "".join(build(shop, "checkout", max_tokens=3000).values())
    for trap in ("It charged twice: a bank that declines at first", "#61"):
        assert trap in said


@lru_cache(maxsize=1)
def built_checkout(shop: Path) -> dict[str, str]:
    return build(shop, "checkout")


# -- all of it checks out


@pytest.mark.parametrize("feature", FEATURES)
def test_every_fact_about_the_shop_checks_out(shop: Path, feature: str) -> None:
    result = checked(shop, feature)
    assert [str(problem) for problem in result.problems] == []
    assert (result.dropped, result.cut) == (0, 0)
    assert result.verdicts


@pytest.mark.parametrize("feature", OWN)
def test_every_fact_about_this_repository_checks_out(shop: Path, feature: str) -> None:
    result = checked(shop.parents[1], feature)
    assert [str(problem) for problem in result.problems] == []
    assert (result.dropped, result.cut) == (0, 0)
    assert len(result.verdicts) > 10


@pytest.mark.parametrize("files", [SMALL, WEB], ids=["python", "web"])
@pytest.mark.parametrize("feature", ["login", "_project", "kubernetes"])
def test_every_fact_about_a_small_project_checks_out(
    tmp_path: Path, files: dict[str, str], feature: str
) -> None:
    result = checked(write(tmp_path, files), feature)
    assert [str(problem) for problem in result.problems] == []
    assert (result.dropped, result.cut) == (0, 0)
    assert {draft.name for draft in result.drafts} >= {"summary.md"}


def citations(texts: dict[str, str], feature: str) -> Iterator[str]:
    for name, text in texts.items():
        draft, problems = markdown.parse(name, feature, text)
        assert problems == []
        for part in draft.sections:
            yield from (source for fact in part.facts for source in fact.sources)
            yield from (part.source,) if part.source else ()


@pytest.mark.parametrize("feature", ["checkout", "_project"])
def test_every_line_that_a_published_dossier_cites_exists(shop: Path, feature: str) -> None:
    seen = 0
    for source in citations(build(shop, feature), feature):
        ref = sources.parse(source)
        assert ref is not None, source
        if ref.kind == "lines":
            lines = (shop / ref.path).read_text().split("\n")
            assert 1 <= ref.start <= ref.end < len(lines) + (lines[-1] != "")
            seen += 1
    assert seen > 15


def test_every_ranked_line_exists_and_every_reason_is_given(shop: Path) -> None:
    found, _ = drafted(shop, "checkout")
    assert found.files[0].path == "api/shop/checkout.py"
    for ranked in (*found.files, *found.tests):
        length = len((shop / ranked.path).read_text().split("\n"))
        assert 0 < ranked.score <= 1
        assert ranked.reasons
        assert all(1 <= start <= end <= length for start, end in ranked.lines)


# -- its budget


@pytest.mark.parametrize(
    ("max_tokens", "max_facts"), [(2000, 60), (600, 60), (2000, 9), (200, 1), (100_000, 1000)]
)
def test_a_published_dossier_keeps_to_its_budget(
    shop: Path, max_tokens: int, max_facts: int
) -> None:
    texts = build(
        shop, "checkout", "SHOP-142", CHECKOUT, max_tokens=max_tokens, max_facts=max_facts
    )
    assert sum(fact_text.tokens(text) for text in texts.values()) <= max_tokens
    drafts = [markdown.parse(name, "checkout", text)[0] for name, text in texts.items()]
    assert sum(len(draft.facts) for draft in drafts) <= max_facts
    run = build_records.read(services(shop).layout, "checkout")
    assert run is not None
    assert run.stats.facts == sum(len(draft.facts) for draft in drafts)
    assert run.stats.dropped == 0
    assert (run.stats.cut > 0) is (max_tokens < 100_000)


@pytest.mark.parametrize(("max_tokens", "sections"), [(600, 1), (1000, 3), (20_000, 3)])
def test_a_likely_test_file_is_named_once_with_its_tests_or_without(
    tmp_path: Path, max_tokens: int, sections: int
) -> None:
    def tests(*names: str) -> str:
        calls = (f"def test_{name}():\n    assert login({name!r})\n" for name in names)
        return "from src.login import login\n\n\n" + "\n\n".join(calls)

    names = ("colour", "paint", "frame", "canvas", "brush")
    files = {f"tests/test_{name}.py": tests(name) for name in names}
    files["tests/test_login.py"] = tests(*(f"login_of_somebody_{n}" for n in range(70)))
    root = write(tmp_path, files | {"src/login.py": "def login(name):\n    return name\n"})
    told = build(root, "login", max_tokens=max_tokens)["existing-tests.md"]
    assert {path: told.count(path) for path in files} == dict.fromkeys(files, 1)
    assert told.count("## tests/") == sections


@pytest.mark.parametrize("max_tokens", [600, 1500])
def test_a_refresh_chooses_what_the_build_chose(shop: Path, max_tokens: int) -> None:
    texts = build(shop, "checkout", max_tokens=max_tokens)
    (shop / "other.txt").write_text("nothing about it\n")
    own = services(shop, max_tokens=max_tokens)
    reply = anyio.run(pipeline.build, own, request("checkout"))
    (shop / "other.txt").unlink()
    found = published.read(own.layout, "checkout")
    assert found is not None
    assert (reply.state, found.texts) == ("cached", texts)


@pytest.mark.parametrize("feature", ["login", "_project"])
def test_a_small_project_fits_the_budget_whole(tmp_path: Path, feature: str) -> None:
    root = write(tmp_path, SMALL)
    build(root, feature)
    run = build_records.read(services(root).layout, feature)
    assert run is not None
    assert (run.stats.cut, run.stats.dropped) == (0, 0)


def test_a_model_s_drafts_keep_their_place_beside_static_files(shop: Path) -> None:
    found, drafts = drafted(shop, "checkout")
    lines = (shop / "api/shop/checkout.py").read_text().split("\n")
    cited = [n for n, line in enumerate(lines, 1) if len(line.strip()) > 8][:12]
    facts = "\n".join(f"- the model says {n} (api/shop/checkout.py:{n})" for n in cited)
    text = f"# Patterns: checkout\n\n## Ways\n{facts}\n"
    model = markdown.parse("patterns.md", "checkout", text)[0]
    mixed = [model, *(draft for draft in drafts if draft.name != "patterns.md")]
    ranks = {one.text: one.score for one in found.findings}
    result = check_drafts(services(shop), "checkout", mixed, budget=True, ranks=ranks)
    kept = {draft.name: len(draft.facts) for draft in result.drafts}
    assert kept["patterns.md"] >= len(cited) / 2, "the model's best facts stay"
    assert kept.keys() >= {"codebase.md", "existing-tests.md", "summary.md"}
    assert sum(fact_text.tokens(markdown.render(draft)) for draft in result.drafts) <= 2000


# -- which files there are, and which sections


def test_only_files_with_facts_and_the_required_ones_are_written(shop: Path) -> None:
    found, drafts = drafted(shop, "checkout")
    empty = found.model_copy(update={"findings": ()})
    assert tuple(draft.name for draft in static.drafts(request("checkout"), empty)) == REQUIRED
    assert [draft.name for draft in drafts] == [
        row.name for row in FILES if row.name in {draft.name for draft in drafts}
    ]
    assert all(draft.sections for draft in drafts)


def test_required_files_without_facts_say_so(tmp_path: Path) -> None:
    texts = build(write(tmp_path, {"notes.txt": "rain\n"}), "basket")
    assert texts.keys() >= set(REQUIRED)
    for name in ("patterns.md", "codebase.md"):
        assert texts[name] == f"# {BY_NAME[name].title}: basket\n\nNo facts found.\n"


def test_every_rule_has_its_place_in_a_file_of_the_table() -> None:
    assert {row.file for row in RULES} <= BY_NAME.keys()
    for row in FILES:
        headings = [rule.heading for rule in RULES if rule.file == row.name]
        assert headings, row.name
    order = [list(BY_NAME).index(rule.file) for rule in RULES if rule.file != "summary.md"]
    firsts = list(dict.fromkeys(order))
    assert [place for first in firsts for place in order if place == first] == order


def test_sections_of_definitions_and_tests_are_headed_by_the_path_of_their_file(
    shop: Path,
) -> None:
    texts = built_checkout(shop)
    assert "## api/shop/checkout.py\n- " in texts["codebase.md"]
    assert "## api/tests/test_checkout.py\n- " in texts["existing-tests.md"]


def test_two_builds_write_the_same_bytes(shop: Path) -> None:
    first = build(shop, "checkout", "SHOP-142", CHECKOUT)
    services(shop).layout.db.unlink()
    assert build(shop, "checkout", "SHOP-142", CHECKOUT) == first


DRAFTS = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from _evidence_project import request, services
from preread.dossier import markdown
from preread.builders import static
from preread.evidence.collect import collect
asked = request("login")
found = collect(services(Path(sys.argv[1])), asked)
sys.stdout.buffer.write("".join(map(markdown.render, static.drafts(asked, found))).encode())
"""


def test_the_order_of_sets_in_a_process_changes_nothing(tmp_path: Path) -> None:
    names = [f"{word}_login" for word in ("open", "fill", "send", "close", "await", "drop")]
    helpers = "\n\n".join(f"def {name}():\n    return 1\n" for name in names)
    body = "\n    ".join(f"{name}()" for name in names)
    tests = "\n\n".join(f"def test_login_{n}():\n    {body}\n" for n in range(3))
    root = write(tmp_path, {**SMALL, "tests/test_login.py": f"{helpers}\n\n{tests}"})
    written = set()
    for seed in ("1", "2"):
        services(root).layout.db.unlink(missing_ok=True)
        written.add(
            subprocess.run(
                [sys.executable, "-c", DRAFTS, str(root), str(Path(__file__).parent)],
                env={**child_environ(), "PYTHONHASHSEED": seed},
                check=True,
                capture_output=True,
            ).stdout
        )
    [text] = written
    assert b"`open_login()`" in text


def test_files_that_are_not_committed_yet_take_part(shop: Path) -> None:
    before = {one.text for one in evidence(shop, "gift-wrap").findings}
    path = shop / "api/shop/gift_wrap.py"
    path.write_text('"""Wraps."""\n\n\ndef gift_wrap(order):\n    return order\n')
    try:
        after = {one.text for one in evidence(shop, "gift-wrap").findings}
    finally:
        path.unlink()
    assert any("`gift_wrap` (order)" in text for text in after - before)


def test_findings_of_a_section_stay_together_and_the_same_one_is_told_once() -> None:
    made = drafts_of(
        finding("one"), finding("other", heading="Stubs"), finding("two"), finding("one")
    )
    assert [
        (part.heading, [fact.text for fact in part.facts]) for part in made["patterns.md"].sections
    ] == [("Waits", ["one", "two"]), ("Stubs", ["other"])]


def test_facts_under_a_path_name_only_their_lines() -> None:
    made = drafts_of(
        finding("`one` (x)", "codebase.md", "src/a/x.py", "src/a/x.py:1"),
        finding("`two` :2, `three` :3", "codebase.md", "src/a/x.py", "src/a/x.py:2-3"),
    )
    text = markdown.render(made["codebase.md"])
    assert text.startswith("# Codebase: login\n\n## src/a/x.py\n- `one` (x)")
    assert text.count("src/a/x.py") == 1
    read, problems = markdown.parse("codebase.md", "login", text)
    assert problems == []
    assert {"src/a/x.py:1", "src/a/x.py:2", "src/a/x.py:3"} <= {
        source for fact in read.facts for source in fact.sources
    }


@pytest.mark.parametrize(
    "path", ["no_suffix", "dir/no_suffix", "a, b/c.py", "x(y.py", "two words", "a (b), c.js"]
)
def test_sections_of_files_with_odd_names_read_back(tmp_path: Path, path: str) -> None:
    root = write(tmp_path, {path: "the_one = 1\n"})
    made = drafts_of(
        finding("`the_one` :1", "codebase.md", path, str(sources.Ref("lines", path, 1, 1))),
        ranked=(path,),
    )
    again, problems = markdown.parse("codebase.md", "login", markdown.render(made["codebase.md"]))
    assert problems == []
    assert check(root, [again]).dropped == 0
    assert len(again.facts) == 1


def test_an_example_is_shown_whole_under_its_source() -> None:
    lines = ('    test("a", () => {', "      `x`;", "    });")
    made = drafts_of(finding("a", heading="Example test", source="web/a.spec.ts:3-5", fence=lines))
    assert (
        'Source: web/a.spec.ts:3-5\n```ts\ntest("a", () => {\n  `x`;\n});\n```\n'
        in markdown.render(made["patterns.md"])
    )


# -- the summary


def test_the_summary_says_where_code_and_tests_are_and_how_to_run_them(tmp_path: Path) -> None:
    texts = build(write(tmp_path, SMALL), "login")
    summary = texts["summary.md"]
    assert "## Where\n- code: `login` src/login.py:4" in summary
    assert "- tests: `test_login_works` tests/test_login.py:6" in summary
    assert '## Run\n- "python -m pytest tests/test_login.py" (' in summary


def test_the_summary_points_to_what_is_urgent_and_repeats_only_the_command(shop: Path) -> None:
    found, drafts = drafted(shop, "checkout")
    [summary] = [draft for draft in drafts if draft.name == "summary.md"]
    assert [part.heading for part in summary.sections] == ["Where", static.BEFORE, "Run"]
    pointers = [fact.text for fact in summary.sections[1].facts]
    assert pointers == [
        (
            "Failing in the latest report: `a declined card can be replaced by another`, "
            "see failures.md"
        ),
        "Reverted: `shop: retry declined payments automatically`, see anti-patterns.md",
    ]
    [command] = summary.sections[2].facts
    assert any(one.text.startswith(command.text) for one in found.findings if one.rule == "run")


def test_a_finding_without_a_quote_is_not_linked_in_the_summary() -> None:
    first = finding("says `this_name`", "failures.md", "Failing", rule="failing")
    plain = finding("says nothing", "anti-patterns.md", "Reverted", rule="reverts")
    [pointer] = drafts_of(first, plain)["summary.md"].facts
    assert pointer.text == "Failing: `this_name`, see failures.md"


def test_a_summary_has_no_command_where_none_is_known() -> None:
    assert drafts_of()["summary.md"].sections == ()


def test_a_dossier_of_an_unknown_feature_says_so(tmp_path: Path) -> None:
    texts = build(write(tmp_path, SMALL), "kubernetes")
    assert "the project does not mention `kubernetes`" in texts["summary.md"]
    assert texts["codebase.md"] == "# Codebase: kubernetes\n\nNo facts found.\n"
    assert '"python -m pytest tests/test_login.py"' in texts["patterns.md"]
    assert "code: " not in texts["summary.md"]
