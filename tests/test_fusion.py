"""Ranking: the files that a request is about come first, and say truly why."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM, commit, evidence, services, write
from preread.index import words
from preread.infra import db
from preread.models import Ranked, Request
from preread.ranking import search
from preread.ranking.query import OPENING, TICKET, query_of

FILLER = {f"src/filler_{n}.py": f"def unrelated_{n}():\n    return {n}\n" for n in range(8)}


def paths(ranked: tuple[Ranked, ...]) -> list[str]:
    return [item.path for item in ranked]


# -- order


def test_the_file_named_after_the_feature_comes_first(tmp_path: Path) -> None:
    mentions = "\n".join(
        f"def helper_{n}():\n    # coupon coupon coupon\n    return 'coupon'\n" for n in range(5)
    )
    write(
        tmp_path,
        {
            **FILLER,
            "src/mentions.py": mentions,
            "src/coupon.py": "def apply(code):\n    return code\n",
        },
    )
    found = evidence(tmp_path, "coupon")
    assert paths(found.files)[0] == "src/coupon.py"


def test_a_definition_beats_a_mention(tmp_path: Path) -> None:
    defines = "def refund_order(order):\n    return order\n"
    mentions = "def other(order):\n    return call(order)  # see refund_order\n"
    write(tmp_path, {**FILLER, "src/a_mention.py": mentions, "src/z_definition.py": defines})
    assert paths(evidence(tmp_path, "refund-order").files)[0] == "src/z_definition.py"


def test_tests_and_sources_are_ranked_apart(tmp_path: Path) -> None:
    files = {
        "src/coupon.py": "def coupon(): ...\n",
        "tests/test_coupon.py": "def test_coupon():\n    assert coupon()\n",
        "tests/conftest.py": "def coupon_fixture(): ...\n",
        "web/coupon.spec.ts": 'test("coupon", () => {});\n',
        "docs/coupon.md": "# The coupon\n",
        "coupon.json": '{"coupon": 1}\n',
    }
    write(tmp_path, {**FILLER, **files})
    found = evidence(tmp_path, "coupon")
    assert paths(found.files) == ["src/coupon.py"]
    assert set(paths(found.tests)) >= {"tests/test_coupon.py", "web/coupon.spec.ts"}
    assert set(paths(found.tests)) <= {
        "tests/test_coupon.py",
        "web/coupon.spec.ts",
        "tests/conftest.py",
    }


@pytest.mark.parametrize("spelling", ["tmp_path", "tmpPath", "TmpPath", "TMP_PATH", "tmppath"])
def test_a_feature_meets_every_spelling_of_its_name(tmp_path: Path, spelling: str) -> None:
    write(tmp_path, {**FILLER, "src/holder.py": f"def x():\n    return {spelling}(1)\n"})
    assert paths(evidence(tmp_path, "tmp-path").files) == ["src/holder.py"]


def test_plural_and_verb_endings_meet(tmp_path: Path) -> None:
    write(tmp_path, {**FILLER, "src/holder.py": "def x():\n    return payments_rounded(1)\n"})
    assert paths(evidence(tmp_path, "payment-rounding").files) == ["src/holder.py"]


def test_in_a_test_folder_what_contains_tests_is_a_test(tmp_path: Path) -> None:
    test = "test('coupon', () => { coupon(); });\n"
    helper = "export const couponOf = (user) => coupon(user);\n"
    fixture = {"test/fixtures/coupon.ts": test, "test/coupon-helpers.ts": helper}
    write(
        tmp_path, {**FILLER, **fixture, "test/coupon.ts": test, "IntegrationTests/coupon.ts": test}
    )
    evidence(tmp_path, "coupon")
    sql = "SELECT path FROM files WHERE role = 'test' ORDER BY path"
    tests = db.use(services(tmp_path).layout, lambda index: index.execute(sql).fetchall())
    assert tests == [("IntegrationTests/coupon.ts",), ("test/coupon.ts",)]


def test_tests_that_mention_the_best_sources_come_first(tmp_path: Path) -> None:
    sources = {"src/coupon_rules.ts": "export class CouponRules { coupon() {} }\n"}
    body = "it('works', () => { expect(new {}().get()).toBe(1); });\n"
    tests = {f"test/{n}.test.ts": body.replace("{}", f"Thing{n}", 1) for n in "abcdef"}
    tests["test/z.test.ts"] = body.replace("{}", "CouponRules", 1)
    write(tmp_path, {**FILLER, **sources, **tests})
    best = evidence(tmp_path, "coupon").tests[0]
    assert best.path == "test/z.test.ts"
    assert "it mentions a source above" in best.reasons


@pytest.mark.parametrize(
    "folder", ["db/migrate", "db/old_migrations", "shop/migrations", "alembic/versions"]
)
def test_migrations_come_after_the_code_unless_asked_for(tmp_path: Path, folder: str) -> None:
    changes = {f"{folder}/00{n}_coupon.py": "def add_coupon(): ...\n" for n in range(3)}
    write(tmp_path, {**FILLER, **changes, "shop/models.py": "class Coupon:\n    pass\n"})
    assert paths(evidence(tmp_path, "coupon").files)[0] == "shop/models.py"
    assert paths(evidence(tmp_path, "coupon-migration").files)[0].startswith(folder)


@pytest.mark.parametrize("path", ["lang/{}/coupon.php", "src/locales/{}.coupon.ts", "i18n/{}.js"])
def test_translations_come_last(tmp_path: Path, path: str) -> None:
    codes = ["en", "de", "fr", "zh_CN", "pt-BR", "de_informal"]
    write(tmp_path, {**FILLER, **{path.format(code): "// coupon coupon\n" for code in codes}})
    write(tmp_path, {"src/shop.py": "def pay():\n    return coupon\n"})
    found = paths(evidence(tmp_path, "coupon").files)
    assert set(found[:2]) == {"src/shop.py", path.format("en")}


def test_a_description_decides_between_files_of_one_feature(tmp_path: Path) -> None:
    about = {
        "address": "def checkout_address(): ...\n",
        "gateway": "def checkout_gateway(timeout): ...\n",
    }
    write(tmp_path, {**FILLER, **{f"src/checkout_{name}.py": text for name, text in about.items()}})
    for name in about:
        found = evidence(tmp_path, "checkout", description=f"what happens when the {name} is slow")
        assert paths(found.files)[0] == f"src/checkout_{name}.py"
        assert name in found.words


def test_a_ticket_s_words_count_too(tmp_path: Path) -> None:
    ticket = {".project/tickets/A-1.md": "# Receipts\n\n- AC1: the receipt_printer prints\n"}
    both = {
        "src/checkout.py": "def checkout(): ...\n",
        "src/checkout_b.py": "def checkout_b(): receipt_printer()\n",
    }
    write(tmp_path, {**FILLER, **both, **ticket})
    found = evidence(tmp_path, "checkout", ticket="A-1")
    assert "receipt_printer" in found.words
    before = {item.path: item.score for item in evidence(tmp_path, "checkout").files}
    after = {item.path: item.score for item in found.files}
    assert after["src/checkout_b.py"] > before["src/checkout_b.py"]
    assert found.used.keys() == {"ticket:A-1"}


def test_files_about_something_else_are_left_out(tmp_path: Path) -> None:
    write(tmp_path, {**FILLER, "src/coupon.py": "def coupon(): ...\n"})
    assert paths(evidence(tmp_path, "coupon").files) == ["src/coupon.py"]


def test_scores_fall_from_one_and_equal_files_keep_one_order(tmp_path: Path) -> None:
    write(tmp_path, {f"src/{name}/coupon.py": "def coupon(): ...\n" for name in "dbca"})
    found = evidence(tmp_path, "coupon")
    assert paths(found.files) == [f"src/{name}/coupon.py" for name in "abcd"]
    scores = [item.score for item in found.files]
    assert scores[0] == 1.0
    assert scores == sorted(scores, reverse=True)


def test_the_lists_are_bounded_whatever_the_project(tmp_path: Path) -> None:
    files = {f"src/coupon_{n}.py": f"def coupon_{n}(): ...\n" for n in range(120)}
    files |= {
        f"tests/test_coupon_{n}.py": f"def test_coupon_{n}(): assert coupon_{n}\n"
        for n in range(120)
    }
    write(tmp_path, files)
    for feature in ("coupon", "_project"):
        found = evidence(tmp_path, feature)
        assert 0 < len(found.files) <= 20
        assert 0 < len(found.tests) <= 20
        assert len(found.findings) <= 300
        assert all(len(item.lines) <= 12 for item in (*found.files, *found.tests))


# -- reasons


def test_reasons_are_true_of_the_file(tmp_path: Path) -> None:
    files = {
        "src/coupon.py": "def coupon_total():\n    return basket\n",
        "lib/other.py": "def unnamed():\n    return 'a coupon of the basket'\n",
    }
    write(tmp_path, {**FILLER, **files})
    found = evidence(tmp_path, "coupon", description="the basket")
    assert {item.path for item in found.files} == files.keys()
    for item in found.files:
        for reason in item.reasons:
            names = [name.lower() for name in re.findall(r"`([^`]+)`", reason)]
            assert names, reason
            where = item.path if "path" in reason else files[item.path].lower()
            assert all(name in where for name in names), reason
    reasons = {item.path: " ".join(item.reasons) for item in found.files}
    assert "path" in reasons["src/coupon.py"]
    assert "`coupon_total`" in reasons["src/coupon.py"]
    assert "path" not in reasons["lib/other.py"]


def test_the_whole_project_is_led_by_what_changes_and_defines_most(tmp_path: Path) -> None:
    busy = "".join(f"def job_{n}(): ...\n" for n in range(5))
    commit(
        tmp_path,
        {**FILLER, "src/busy.py": busy, "tests/test_a.py": "def test_a(): assert 1\n"},
        "begin",
    )
    for n in range(4):
        commit(tmp_path, {"src/busy.py": busy + f"X = {n}\n"}, f"change {n}")
    first = evidence(tmp_path, "_project").files[0]
    assert first.path == "src/busy.py"
    assert any("5 of the latest commits" in reason for reason in first.reasons)


# -- the same answer again


def test_the_same_request_has_the_same_evidence(tmp_path: Path) -> None:
    commit(tmp_path, {**FILLER, "src/coupon.py": "def coupon(): ...\n"}, "begin")
    assert evidence(tmp_path, "coupon") == evidence(tmp_path, "coupon")


@pytest.mark.parametrize(
    "feature", ["a", "the", "test", "x-y", "2fa", "null", "or", "and-not", "near", "file-the-user"]
)
def test_any_feature_name_can_be_searched_for(tmp_path: Path, feature: str) -> None:
    write(
        tmp_path,
        {
            **FILLER,
            f"src/{feature.replace('-', '_')}.py": f"def {feature.replace('-', '_')}_(): ...\n",
        },
    )
    found = evidence(tmp_path, feature)
    if not found.thin:  # the words that every project has count for nothing
        assert paths(found.files)[:1] in ([], [f"src/{feature.replace('-', '_')}.py"])


@pytest.mark.parametrize(
    "description",
    [
        '"',
        "NOT AND OR NEAR(",
        "a* b:c ^d",
        "'; DROP TABLE words; --",
        "\0 \ud800 é 日本",
        "w " * 1900,
    ],
)
def test_any_description_can_be_searched_for(tmp_path: Path, description: str) -> None:
    write(tmp_path, {**FILLER, "src/coupon.py": "def coupon(): ...\n"})
    assert paths(evidence(tmp_path, "coupon", description=description).files)[0] == "src/coupon.py"


def test_a_file_that_uses_what_the_best_one_defines_is_found_and_says_so(tmp_path: Path) -> None:
    files = {
        "src/coupon.py": "def redeem_once(): ...\n",
        "src/till.py": "redeem_once()\n",
        "src/shop.py": "x = 1\n",
    }
    write(tmp_path, {**FILLER, **files})
    found = evidence(tmp_path, "coupon").files
    assert paths(found) == ["src/coupon.py", "src/till.py"]
    assert found[1].reasons == ("it contains rare names of the best files",)


def test_an_example_stands_after_the_source_that_it_shows(tmp_path: Path) -> None:
    coupon = "def coupon(): ...\n"
    write(tmp_path, {**FILLER, "examples/coupon.py": coupon, "srcs_long/coupon.py": coupon})
    assert paths(evidence(tmp_path, "coupon").files)[:2] == [
        "srcs_long/coupon.py",
        "examples/coupon.py",
    ]


def test_the_first_line_of_a_ticket_says_more_than_its_text(tmp_path: Path) -> None:
    files = {"src/a.py": "parcel = 1\nstamp = 2\n", "src/z.py": "drawer = 1\n"}
    ticket = {".project/tickets/A-1.md": "# The drawer\n\nparcel and stamp are fine\n"}
    write(tmp_path, {**files, **ticket, **{f"src/n{n}.py": "x = 1\n" for n in range(9)}})
    assert paths(evidence(tmp_path, "loss", ticket="A-1").files)[:2] == ["src/z.py", "src/a.py"]


def test_what_every_report_says_is_no_word_of_its_title() -> None:
    found = query_of(
        Request(feature="loss", ticket="A-1"),
        "# Unexpected error: the drawer breaks\n\nA parcel.\n",
    )
    weights = found.weights
    assert weights["drawer"] == OPENING
    assert {weights[word] for word in ("unexpected", "error", "breaks", "parcel")} == {TICKET}


def test_a_report_leads_to_where_its_words_stand_together(tmp_path: Path) -> None:
    def listed(names: list[str], apart: int) -> str:
        return "".join(f"def {name}(): ..." + "\n" * apart for name in names)

    told = ["parcel", "stamp", "drawer", "ribbon", "label"]
    files = {"lib/apart.py": listed(told, 90), "web/close.py": listed(told, 1) + "\n" * 360}
    write(tmp_path, {**files, **{f"src/n{n}.py": f"def unrelated_{n}(): ...\n" for n in range(9)}})
    short = "the parcel lost its stamp, drawer, ribbon, label"
    long = f"{short}. {'It has been like this for a while. ' * 8}"
    firsts = [
        paths(evidence(tmp_path, "loss", description=text).files)[0] for text in (short, long)
    ]
    assert firsts == ["lib/apart.py", "web/close.py"]


# -- words


def test_a_query_keeps_each_word_once_in_the_part_that_says_most() -> None:
    asked = Request(feature="tmp-path", description="the tmp dir, retentionCount")
    found = query_of(asked, "dir of the ticket")
    assert found.feature == ("tmp", "path")
    assert found.whole == ("tmp_path", "tmppath")
    assert {"dir", "retention", "count", "retentioncount"} == set(found.description)
    assert found.ticket == ("ticket",)


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("placeOrder2", ("place", "order", "2")),
        ("HTTPServer", ("http", "server")),
        ("tmp_path", ("tmp", "path")),
        ("__init__", ("init",)),
        ("$store", ("store",)),
        ("X", ("x",)),
    ],
)
def test_identifiers_are_split_into_their_parts(identifier: str, parts: tuple[str, ...]) -> None:
    assert words.parts(identifier) == parts


@pytest.mark.parametrize(
    "same",
    [
        "payment payments",
        "rounding rounded round rounds",
        "box boxes",
        "entry entries",
        "time-out timeout",
        "cache caches cached caching",
    ],
)
def test_endings_do_not_keep_words_apart(same: str) -> None:
    stems = [words.stems_of(word) for word in same.split()]
    assert frozenset.intersection(*stems)


@CALM
@given(st.text(st.sampled_from("ab$_9 .AZ\n(\x1c"), max_size=200))
def test_plain_letters_have_the_same_words_as_all_others(text: str) -> None:
    assert sorted([*words.bag(text).split(), "été"]) == sorted(words.bag(f"{text} été").split())


@CALM
@given(st.text(max_size=60))
def test_a_bag_of_words_is_searchable_text(text: str) -> None:
    bag = words.bag(text)
    assert all(re.fullmatch(r"[\w$]+", token) for token in bag.split())
    assert words.bag(text) == bag


def test_a_word_repeated_many_times_says_no_more_than_often() -> None:
    assert words.bag("coupon " * 10_000).count("coupon") <= 100


def test_the_first_sentence_says_most(tmp_path: Path) -> None:
    files = {
        "src/z.py": "def checkout(): return gateway\n",
        "src/a.py": "def checkout(): return street\n",
    }
    write(tmp_path, {**FILLER, **files})
    found = evidence(
        tmp_path,
        "checkout",
        description="The gateway is slow. One sees it on the page of a street.",
    )
    assert paths(found.files) == ["src/z.py", "src/a.py"]


def test_a_word_that_too_many_files_hold_is_not_looked_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parcels = {f"src/f{n}.py": f"def f{n}(): return 'parcel'\n" for n in range(8)}
    write(tmp_path, {**parcels, "src/lamp_a.py": "def a(): ...\n"})
    assert len(evidence(tmp_path, "parcel-lamp").files) == 9
    monkeypatch.setattr(search, "MAX_HOLDERS", 7)
    assert paths(evidence(tmp_path, "parcel-lamp").files) == ["src/lamp_a.py"]


def test_words_in_camel_case_name_a_file_as_those_with_underscores_do(tmp_path: Path) -> None:
    assert words.stems(words.stem_of("a/SmartListService.php")) == {"smart", "list", "servic"}
    assert words.stems(words.stem_of("a/SmartListTest.php")) == {"smart", "list"}
    body = "<?php\nfunction run($smart, $list) { return $smart . $list; }\n"
    files = {f"app/{name}.php": body for name in ("AddListSmallerThanSmartBase", "SmartList")}
    root = write(tmp_path, files)
    assert next(one.path for one in evidence(root, "smart-list").files) == "app/SmartList.php"
