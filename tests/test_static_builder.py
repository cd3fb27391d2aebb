"""The static builder on real projects: what it writes, that all of it holds, and that it writes
the same again.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import anyio
import pytest

from _evidence_project import check, evidence, request, services, shop_with_history, write
from conftest import ROOT
from preread import check as checks
from preread import dossier, pipeline, published, sources
from preread.builders import static, summary
from preread.evidence.collect import collect
from preread.layout import BY_NAME, FILES
from preread.models import Checked, Draft, Evidence, Fact, Finding, Ranked, Verdict

CHECKOUT = "say what happened when a payment times out"
FEATURES = ["checkout", "_project", "coupons", "login", "payment", "cart", "stock"]
OWN = ["dossier", "tree", "settings", "feature-name", "_project"]


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
    """Evidence, drafts and check as a build has them, with neither cut nor people's facts."""
    return checks.check(services(root), feature, drafted(root, feature, **more)[1], budget=False)


def section(result: Checked, file: str, heading: str) -> str:
    [draft] = [draft for draft in result.drafts if draft.name == file]
    return "\n".join(
        fact.text for part in draft.sections if part.heading == heading for fact in part.facts
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


# -- the shop's planted traps


def test_documents_and_code_of_the_shop_disagree_on_the_time_out(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "anti-patterns.md", "Documents and code disagree")
    assert re.search(r"`payment_timeout_s`.*30 s.*10\.0", said)
    assert "`payment_attempts` is documented and stands nowhere in the code" in said


def test_what_the_shop_tried_and_took_back_is_told(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "anti-patterns.md", "Tried, taken back")
    assert (
        "`retry declined payments automatically` was taken back the same day: It charged twice"
        in said
    )
    assert re.search(r"`payment_timeout_s`.*10\.0.*30\.0.*back", said)
    assert re.search(r"`page\.waitForTimeout\(\d+\)`.*waitForURL", said)


def test_deprecated_helpers_of_the_shop_are_named_with_their_replacement(shop: Path) -> None:
    for feature in ("stock", "_project"):
        said = section(checked(shop, feature), "anti-patterns.md", "Deprecated")
        assert re.search(r"`reserve_one` is deprecated: use `reserve`", said)


def test_tests_of_the_shop_that_are_not_trusted_are_listed_with_their_reason(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "failures.md", "Skipped, flaky, expected to fail")
    assert re.search(r"test_express_time_out_keeps_the_goods.*xfail.*#61", said)
    assert re.search(r"a payment without an answer.*fixme", said)
    whole = section(checked(shop, "_project"), "failures.md", "Skipped, flaky, expected to fail")
    assert re.search(r"test_two_shoppers_at_once_get_one_rug.*skip.*#64", whole)


def test_what_the_shop_fixed_twice_is_told(shop: Path) -> None:
    for feature in ("coupons", "_project"):
        said = section(checked(shop, feature), "failures.md", "Fixed more than once")
        assert re.search(
            r"fixed more than once( in `coupons\.py`)? \(rounding(, coupon)?\): ", said
        )
        assert "`shop: fix coupon rounding again for mixed baskets`; " in said
        assert "`shop: fix coupon rounding`" in said


def test_gaps_of_the_shop_s_tests_are_found(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "existing-tests.md", "Not covered")
    assert "`different products in one order`" in said
    assert "place_order`" not in said  # is tested


def test_failing_tests_of_the_shop_s_report_are_found(shop: Path) -> None:
    said = section(checked(shop, "checkout"), "failures.md", "Failing in the latest report")
    assert "a declined card can be replaced by another" in said
    assert "two_shoppers" not in said


def test_knowledge_and_ticket_of_the_shop_go_in(shop: Path) -> None:
    result = checked(shop, "checkout", ticket="SHOP-142")
    assert "only `reconcile` may settle the order" in section(
        result, "anti-patterns.md", "Known traps"
    )
    criteria = section(result, "requirements.md", "Ticket")
    assert all(f"AC{n}" in criteria for n in range(1, 7))


def test_the_planted_traps_survive_the_budget(shop: Path) -> None:
    texts = build(shop, "checkout")
    for trap in (
        "payment_attempts",
        "payment_timeout_s",
        "retry declined payments",
        "waitForTimeout",
        "#61",
    ):
        assert trap in "".join(texts.values()), trap


# -- all of it holds


@pytest.mark.parametrize("feature", FEATURES)
def test_every_fact_about_the_shop_holds(shop: Path, feature: str) -> None:
    result = checked(shop, feature)
    assert [str(problem) for problem in result.problems] == []
    assert (result.dropped, result.cut) == (0, 0)
    assert result.verdicts


@pytest.mark.parametrize("feature", OWN)
def test_every_fact_about_this_repository_holds(shop: Path, feature: str) -> None:
    root = shop.parents[1]
    result = checked(root, feature)
    assert [str(problem) for problem in result.problems] == []
    assert (result.dropped, result.cut) == (0, 0)
    assert len(result.verdicts) > 10


def citations(texts: dict[str, str], feature: str) -> Iterator[str]:
    for name, text in texts.items():
        draft, problems = dossier.parse(name, feature, text)
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


@pytest.mark.parametrize(
    ("max_tokens", "max_facts"), [(2000, 60), (600, 60), (2000, 9), (200, 1), (100_000, 1000)]
)
def test_a_published_dossier_keeps_to_its_budget(
    shop: Path, max_tokens: int, max_facts: int
) -> None:
    texts = build(
        shop, "checkout", "SHOP-142", CHECKOUT, max_tokens=max_tokens, max_facts=max_facts
    )
    assert sum(dossier.tokens(text) for text in texts.values()) <= max_tokens
    drafts = [dossier.parse(name, "checkout", text)[0] for name, text in texts.items()]
    assert sum(len(draft.facts) for draft in drafts) <= max_facts
    run = published.recorded(services(shop).layout, "checkout")
    assert run is not None
    assert run.stats.facts == sum(len(draft.facts) for draft in drafts)
    assert run.stats.dropped == 0
    found, _ = drafted(shop, "checkout", "SHOP-142", CHECKOUT)
    doubted = static.left_out(found, BY_NAME.keys())
    assert run.stats.cut == doubted if max_tokens == 100_000 else run.stats.cut > doubted


def test_codebase_takes_at_most_a_quarter_of_a_published_dossier(shop: Path) -> None:
    texts = build(shop, "checkout", "SHOP-142", CHECKOUT)
    assert dossier.tokens(texts["codebase.md"]) <= 2000 / 4


# -- which files there are


def test_only_files_with_facts_and_the_required_ones_are_written(shop: Path) -> None:
    found, drafts = drafted(shop, "checkout")
    empty = found.model_copy(update={"findings": ()})
    assert [draft.name for draft in static.drafts(request("checkout"), empty)] == [
        "patterns.md",
        "codebase.md",
    ]
    names = {draft.name for draft in drafts}
    assert {"patterns.md", "codebase.md", "anti-patterns.md"} <= names
    assert all(draft.facts for draft in drafts)


def test_required_files_without_facts_say_so(tmp_path: Path) -> None:
    write(tmp_path, {"src/rain.py": "def rain(): ...\n"})
    texts = build(tmp_path, "basket")
    assert texts.keys() == {"patterns.md", "codebase.md", "summary.md"}
    for name, text in texts.items():
        assert text == f"# {BY_NAME[name].title}: basket\n\nNo facts found.\n"


def test_two_builds_write_the_same_bytes(shop: Path) -> None:
    first = build(shop, "checkout", "SHOP-142", CHECKOUT)
    services(shop).layout.db.unlink()
    assert build(shop, "checkout", "SHOP-142", CHECKOUT) == first


def test_files_that_are_not_committed_yet_take_part(shop: Path) -> None:
    before = {finding.text for finding in evidence(shop, "gift-wrap").findings}
    path = shop / "api/shop/gift_wrap.py"
    path.write_text(
        '"""Wraps."""\n\n\ndef gift_wrap(order):\n    """Paper and a bow."""\n    return order\n'
    )
    try:
        after = {finding.text for finding in evidence(shop, "gift-wrap").findings}
    finally:
        path.unlink()
    assert any("gift_wrap" in text for text in after - before)


# -- where a finding goes


def test_every_kind_has_a_place_in_a_file_of_the_table() -> None:
    names = {row.name for row in FILES} - {"summary.md"}
    assert {place.file for place in static.PLACES.values()} <= names
    assert len({(place.file, place.heading) for place in static.PLACES.values()}) == len(
        static.PLACES
    )


def finding(
    text: str, kind: str, source: str = "a.py:1", score: float = 0.5, fence: tuple[str, ...] = ()
) -> Finding:
    return Finding(
        rule="r", kind=kind, text=text, sources=(source,), reason="why", score=score, fence=fence
    )


def drafts_of(*findings: Finding) -> dict[str, Draft]:
    made = static.drafts(
        request("login"), Evidence(feature="login", words=("login",), findings=findings)
    )
    return {draft.name: draft for draft in made}


def test_a_finding_goes_to_the_place_of_its_kind_once(tmp_path: Path) -> None:
    made = drafts_of(finding("same", "wait"), finding("same", "wait"), finding("gone", "gap"))
    assert [(part.heading, len(part.facts)) for part in made["patterns.md"].sections] == [
        ("Wait", 1)
    ]
    assert [part.heading for part in made["existing-tests.md"].sections] == ["Not covered"]


def said(*findings: Finding) -> str:
    return "".join(map(dossier.render, drafts_of(*findings).values()))


def test_doubtful_findings_are_told_where_little_else_is_known_and_else_counted() -> None:
    doubtful = finding("perhaps", "wait").model_copy(update={"sure": static.DOUBTFUL - 0.01})
    noise = [
        finding(f"noise {n}", "gap").model_copy(update={"sure": 0.1}) for n in range(static.FEW)
    ]
    known = [finding(f"known {n}", "known trap") for n in range(static.ENOUGH - 1)]
    few = Evidence(feature="login", words=("login",), findings=(*known, doubtful, *noise))
    assert "perhaps" in said(*few.findings)
    assert "noise" not in said(*few.findings)
    assert static.left_out(few, ["patterns.md", "existing-tests.md"]) == len(noise)
    more = few.model_copy(
        update={"findings": (*known, finding("known, too", "gap"), doubtful, *noise)}
    )
    assert "perhaps" not in said(*more.findings)
    assert static.left_out(more, ["patterns.md"]) == 1
    small = few.model_copy(update={"findings": (doubtful, *noise[1:])})
    assert "noise 1" in said(*small.findings)
    assert static.left_out(small, ["patterns.md", "existing-tests.md"]) == 0


def test_symbols_stand_under_their_file_which_gives_its_path_once() -> None:
    made = drafts_of(
        finding("one", "symbol", "src/a/x.py:1"),
        finding("two", "symbol", "src/a/x.py:2-3"),
        finding("three", "symbol", "src/b/x.py:1"),
    )
    assert dossier.render(made["codebase.md"]) == (
        "# Codebase: login\n\n## a/x.py\nSource: src/a/x.py\n- one (:1)\n- two (:2-3)\n\n"
        "## b/x.py\nSource: src/b/x.py\n- three (:1)\n"
    )


@pytest.mark.parametrize("path", ["no_suffix", "dir/no_suffix", "a, b/c.py", "x(y.py", "two words"])
def test_symbols_of_files_with_odd_names_read_back(tmp_path: Path, path: str) -> None:
    root = write(tmp_path, {path: "one\n"})
    made = drafts_of(finding("says one", "symbol", str(sources.Ref("lines", path, 1, 1))))
    text = dossier.render(made["codebase.md"])
    again, problems = dossier.parse("codebase.md", "login", text)
    assert problems == []
    assert check(root, [again]).dropped == 0


def test_an_example_is_shown_whole_under_its_source() -> None:
    lines = ('    test("a", () => {', "      `x`;", "    });")
    made = drafts_of(finding("a", "example", "web/a.spec.ts:3-5", fence=lines))
    assert (
        'Source: web/a.spec.ts:3-5\n```ts\ntest("a", () => {\n  `x`;\n});\n```\n'
        in dossier.render(made["patterns.md"])
    )


def test_an_empty_project_s_summary_says_nothing(tmp_path: Path) -> None:
    nothing = Evidence(feature="login", words=())
    assert summary.summarise(request("login"), nothing, Checked(())).sections == ()


def test_a_summary_names_the_main_definitions_and_the_blocks_of_tests_that_have_the_feature_s_name() -> (
    None
):
    def told(section: str, text: str, source: str) -> Verdict:
        return Verdict("x.md", section, Fact(text, (source,)), "computed", 1.0)

    verdicts = (
        told("Inside the functions", "`walk` of Till: `return the charge`", "shop/till.py:1-9"),
        told(
            "Not covered", "no test names `refund_charge`", "shop/till.py:70"
        ),  # stands in its own file
        told(summary.EXTEND, "on rain: `test_wet`, `test_dry`", "tests/weather.py:1-90"),
        told(summary.EXTEND, "also, elsewhere: `test_charges`", "tests/ship.py:1-5"),
        told(
            summary.EXTEND,
            "on cards: `test_a_card`, `test_two_cards`",
            "tests/test_charges.py:1-90",
        ),
        told(
            summary.EXTEND,
            "`TestRefunds`, 2 tests: `test_charging`, `test_two`",
            "tests/test_charges.py:95-140",
        ),
        told(
            summary.EXTEND, "`TestRoof`, 2 tests: `test_charges`, `test_two`", "tests/roof.py:1-40"
        ),
        told(
            summary.EXTEND,
            "`TestTill`, 2 tests: `test_open`, `test_shut`",
            "tests/till_test.py:1-40",
        ),
    )
    at = (
        "tests/weather.py",
        "tests/ship.py",
        "tests/test_charges.py",
        "tests/roof.py",
        "tests/till_test.py",
    )
    ranked = {path: Ranked(path=path, score=1.0, reasons=()) for path in ("shop/till.py", *at)}
    main = finding("`Till`, `settle_charge`", "main", "shop/till.py:3")
    found = Evidence(
        feature="charges",
        words=(),
        files=(ranked["shop/till.py"],),
        tests=tuple(ranked[path] for path in at),
        findings=(main,),
    )
    made = summary.summarise(request("charges"), found, Checked((), verdicts=verdicts))
    assert [(fact.text, fact.sources) for fact in made.facts] == [
        ("code: `Till`, `settle_charge`", ("shop/till.py:3",)),
        (
            "tests: `TestRefunds` in test_charges.py, `TestTill` in till_test.py",
            ("tests/test_charges.py:95-140", "tests/till_test.py:1-40"),
        ),
    ]
    only = summary.summarise(request("rain-charges"), found, Checked((), verdicts=verdicts[:3]))
    assert [fact.text for fact in only.facts][1:] == ["tests: `test_wet` and others in weather.py"]


def test_a_summary_says_nothing_that_no_fact_command_or_definition_says(shop: Path) -> None:
    found, _ = drafted(shop, "checkout")
    result = checked(shop, "checkout")
    made = summary.summarise(request("checkout"), found, result)
    assert {part.heading for part in made.sections} == {"Where", "Before you write", "Run"}
    known = {source for verdict in result.verdicts for source in verdict.fact.sources}
    others = {
        source for f in found.findings if f.kind in {"command", "main"} for source in f.sources
    }
    assert {source for fact in made.facts for source in fact.sources} <= known | others
    assert check(shop, [made]).dropped == 0
