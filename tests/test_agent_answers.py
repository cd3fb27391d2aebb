"""Answers of agents that a program reads: checked JSON, whatever a model writes."""

import json

import pytest

from preread.agents import answers
from preread.agents.answers import Plan, Report, Verdict


def plan(*tasks: dict[str, object]) -> str:
    return json.dumps({"tasks": tasks})


def one(name: str = "one", *needs: str, **more: object) -> dict[str, object]:
    return {"id": name, "task": "do it", "needs": needs, **more}


def test_a_graph_of_tasks_is_read_also_from_a_fence() -> None:
    text = plan(one(), one("two", "one"), one("three", "one", "two"))
    for written in (text, f"```json\n{text}\n```", f"\n```\n{text}\n```\n"):
        found = answers.read(Plan, written)
        assert [task.needs for task in found.tasks] == [(), ("one",), ("one", "two")]
        assert list(found.order().static_order()) == ["one", "two", "three"]
        assert answers.complaint(Plan, written) == ""


BAD = {
    "prose": ("Here is the plan: first the parser.", "not JSON"),
    "prose around it": (f"Sure!\n{plan(one())}", "not JSON"),
    "nothing": ("", "not JSON"),
    "no object": ("[]", "valid dictionary"),
    "no tasks": (plan(), "at least 1 item"),
    "too many tasks": (plan(*(one(f"t{n}") for n in range(9))), "at most 8 items"),
    "the same id": (plan(one(), one()), "the same id"),
    "a circle": (plan(one("a", "b"), one("b", "a")), "need each other"),
    "itself": (plan(one("a", "a")), "need each other"),
    "an unknown need": (plan(one("a", "b")), "'b', which is not a task"),
    "another key": (plan(one(run="rm -rf /")), "Extra inputs"),
    "an empty task": (plan(one(task="")), "at least 1 character"),
    "a long task": (plan(one(task="x" * 4001)), "at most 4000 characters"),
    "an id that is a number": (plan(one(id=7)), "valid string"),
    "half a character": ('{"tasks": [{"id": "a", "task": "\\ud800"}]}', "Unicode"),
    "deep nesting": ("[" * 100_000, "not JSON"),
    **{
        f"the id {name!r}": (plan(one(name)), "is not an id")
        for name in (
            "", "../up", "a/b", "A", "a b", "a--b", "-a", "con", "_project", "a\n", "a\0", "é", "x" * 25,
            "$(touch x)", "--force", ".git",
        )
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "why"), BAD.values(), ids=BAD)
def test_what_is_no_plan_is_sent_back_with_the_reason_and_the_form(text: str, why: str) -> None:
    with pytest.raises(ValueError) as error:
        answers.read(Plan, text)
    assert why in str(error.value)
    said = answers.complaint(Plan, text)
    assert why in said
    assert answers.FORMS[Plan] in said
    assert len(said) < 1000


def test_verdicts_and_reports_are_checked_too() -> None:
    assert answers.read(Verdict, '{"verdict": "approve"}').findings == ()
    for text in ("approve", '{"verdict": "maybe"}', '{"verdict": "reject", "findings": [""]}'):
        assert answers.FORMS[Verdict] in answers.complaint(Verdict, text)
    assert answers.read(Report, '{"summary": "Done.", "decided": ["x"]}').decided == ("x",)
    assert "summary" in answers.complaint(Report, '{"decided": ["x"]}')
