"""Lines: of a chosen file, the few that a request is about, each with what it is called."""

import itertools
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from _evidence_project import CALM, evidence, write
from preread import syntax
from preread.models import Request
from preread.ranking import lines, parts
from preread.ranking.lines import Span
from preread.ranking.query import query_of


def spans(path: str, text: str, feature: str, description: str = "") -> list[Span]:
    request = Request(feature=feature, description=description)
    finder = lines.SpanFinder(query_of(request, ""), description)
    return finder.spans(path, text, syntax.outline(path, text))


def filler(name: str, count: int, indent: str = "") -> str:
    body = "".join(f"{indent}    total_{n} = {n}\n" for n in range(count))
    return f"{indent}def {name}():\n{body}\n\n"


def at(text: str, needle: str) -> int:
    return text[: text.index(needle)].count("\n") + 1


def held(found: list[Span], line: int) -> bool:
    return any(span.start <= line <= span.end for span in found)


def test_the_function_that_is_asked_for_is_cited_and_named_and_its_neighbours_are_not() -> None:
    text = (
        filler("first", 10) + "def refund(order):\n    return order.paid\n\n\n" + filler("last", 10)
    )
    assert spans("shop.py", text, "refund") == [Span(14, 15, ("refund",))]


def test_a_word_that_does_not_begin_with_its_own_stem_is_found() -> None:
    text = (
        filler("first", 10) + "def later(call):\n    return retry(call)\n\n\n" + filler("last", 10)
    )
    assert spans("shop.py", text, "retry") == [Span(14, 15, ("later",))]


def test_a_class_is_narrowed_to_the_methods_that_matter() -> None:
    methods = [filler(f"method_{n}", 20, "    ") for n in range(6)]
    text = (
        "class Cart:\n"
        + "".join(methods[:3])
        + "    def refund(self):\n        pass\n\n"
        + "".join(methods[3:])
    )
    assert [span.symbols for span in spans("cart.py", text, "refund")] == [("Cart.refund",)]


def test_what_stands_above_a_definition_belongs_to_it() -> None:
    text = (
        filler("first", 9)
        + "# Money goes back by the gateway.\n@retried\ndef settle():\n    pass\n"
    )
    assert spans("shop.py", text, "gateway") == [Span(13, 16, ("settle",))]


def test_a_word_that_every_part_holds_decides_nothing() -> None:
    parts = [f"def cart_{n}(cart):\n    cart.step_{n}()\n    return cart\n\n\n" for n in range(60)]
    parts[40] = "def cart_40(cart):\n    cart.coupon()\n    return cart\n\n\n"
    found = spans("cart.py", "".join(parts), "cart", "a coupon counts twice")
    assert held(found, at("".join(parts), "coupon"))
    assert sum(span.end - span.start + 1 for span in found) < 12


def test_of_a_long_function_the_piece_that_matters_is_cited() -> None:
    text = (
        filler("run", 200).rstrip()
        + "\n    refund = 1\n"
        + "".join(f"    more_{n} = {n}\n" for n in range(200))
    )
    found = spans("run.py", text, "refund")
    assert held(found, at(text, "refund"))
    assert found[0].symbols == ("run",)
    assert found[0].end - found[0].start < 1.5 * parts.PART


def test_a_file_that_is_about_it_everywhere_is_not_cited_whole() -> None:
    text = "".join(
        f"def refund_{n}():\n" + "    refund(1)\n" * (n % 30) + "    pass\n\n\n" for n in range(100)
    )
    found = spans("shop.py", text, "refund")
    assert 1 < len(found) <= lines.MAX_SPANS
    assert (
        sum(span.end - span.start + 1 for span in found)
        <= lines.MAX_LINES + lines.GAP * lines.MAX_PARTS
    )


def test_a_quoted_message_and_a_place_in_a_trace_are_found() -> None:
    functions = [f"def step_{n}():\n    raise Failed('no {n} left')\n\n\n" for n in range(40)]
    text = "".join(functions)
    assert held(
        spans("api/steps.py", text, "stock", 'it says "no 17 left" at once'), at(text, "no 17 left")
    )
    line = at(text, "no 23 left")
    for trace in (
        f"api/steps.py:{line}",
        f'File "/srv/api/steps.py", line {line}',
        f"steps.py#L{line}",
    ):
        assert spans("api/steps.py", text, "stock", f"see {trace} please") == [
            Span(line - 1, line, ("step_23",))
        ]
    assert not held(
        spans("api/other_steps.py", text, "stock", f"see api/steps.py:{line} please"), line
    )


def test_tests_are_cited_by_their_own_names() -> None:
    tests = "".join(f'  test("step {n}", () => {{\n    go({n});\n  }});\n\n' for n in range(20))
    text = f'describe("cart", () => {{\n{tests}  test("refund is paid", () => {{\n    go();\n  }});\n}});\n'
    assert [span.symbols for span in spans("cart.spec.ts", text, "refund")] == [("refund is paid",)]


def test_a_language_without_a_grammar_is_cited_in_pieces() -> None:
    text = (
        "".join(f"line {n}\n\n" for n in range(100))
        + "the refund\n"
        + "".join(f"more {n}\n" for n in range(100))
    )
    found = spans("notes.zig", text, "refund")
    assert held(found, at(text, "refund"))
    assert found[0].end - found[0].start < 1.5 * parts.PART


def test_a_request_of_one_endless_word_is_no_work() -> None:
    begun = time.process_time()
    endless = "a./-" * 50_000 + "".join(f" 'of {n}'" for n in range(50_000))
    assert spans("a.py", "def refund(): ...\n" * 200, "refund", endless)
    assert time.process_time() - begun < 2


@CALM
@given(
    st.lists(
        st.sampled_from(
            ["", "def refund():", "    refund(1)", "x = 1", "class A:", "    def b(self):"]
        )
    )
)
def test_spans_are_in_order_apart_and_inside_the_file(parts: list[str]) -> None:
    text = "\n".join(parts)
    found = spans("a.py", text, "refund")
    places = [place for span in found for place in (span.start, span.end)]
    assert places == sorted(places)
    assert all(one.end < other.start for one, other in itertools.pairwise(found))
    assert not found or 1 <= places[0] <= places[-1] <= len(parts)


def test_evidence_names_each_range_and_so_for_the_whole_project(tmp_path: Path) -> None:
    text = (
        filler("first", 10) + "def refund(order):\n    return order.paid\n\n\n" + filler("last", 10)
    )
    write(tmp_path, {"shop.py": text, "test_shop.py": "def test_refund():\n    assert refund(1)\n"})
    found = evidence(tmp_path, "refund")
    assert [(file.lines, file.symbols) for file in found.files] == [(((14, 15),), ("refund",))]
    assert [(file.lines, file.symbols) for file in found.tests] == [(((1, 2),), ("test_refund",))]
    whole = evidence(tmp_path, "_project")
    assert set(whole.files[0].symbols) <= {"first", "refund", "last"}
    assert len(whole.files[0].lines) == len(whole.files[0].symbols) > 0
    assert whole.tests[0].symbols == ("test_refund",)
