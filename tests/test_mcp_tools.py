"""The tools made from a registry of test operations: names, coercion, refusals, bugs."""

import json
import re
from pathlib import Path

import anyio
import pytest
from mcp import Client
from pydantic import Field

from _answers import FIRST, PLACE
from preread.builds.jobs import Jobs
from preread.errors import PrereadError
from preread.mcp import tools
from preread.mcp.runner import LocalRunner
from preread.mcp.server import Handlers
from preread.models import Model
from preread.operations import REGISTRY, arguments, dispatch
from preread.operations.load import OPERATION as LOAD
from preread.operations.registry import Operation
from preread.settings import Settings

pytestmark = pytest.mark.anyio
MAX_LISTED, CHARACTERS_PER_TOKEN = 900, 4  # tokens that every session pays for


class Asked(Model):
    """Every kind of argument that a request has."""

    name: str = Field(description="A name.")
    note: str | None = None
    often: int = 1
    loud: bool = False
    tags: list[str] = Field(default_factory=list)


class Said(Model):
    words: str
    nothing: str | None = None


async def say(context, asked):
    return Said(words=" ".join([asked.name] * asked.often))


async def fail(context, asked):
    raise ZeroDivisionError("a bug of ours")


async def wait(context, asked):
    await anyio.sleep_forever()


def operation(name, effect="read", run=say):
    return Operation(
        name=name, request=Asked, reply=Said, effect=effect, doc=f"Do {name}.",
        example=f"preread {name}",
        run=run, command=name.partition(".")[2],
    )  # fmt: skip


TOYS = {
    each.name: each
    for each in (
        operation("toys.say"),
        operation("toys.twice"),
        operation("other.twice"),
        operation("toys.launch", effect="execute"),
        operation("toys.fail", run=fail),
        operation("toys.wait", run=wait),
    )
}


def parsed(**given):
    return arguments.parse(Asked, given, "a_tool")


def refusal(**given):
    with pytest.raises(PrereadError) as caught:
        parsed(**given)
    assert caught.value.code == "E_USAGE"
    assert "name, note?, often?, loud?, tags?" in caught.value.hint
    return caught.value.message


@pytest.mark.parametrize("text", ["true", "True", " TRUE ", "1", "yes"])
def test_a_boolean_may_be_text(text):
    assert parsed(name="x", loud=text).loud is True


@pytest.mark.parametrize("text", ["false", "False", "0", "no", "", "null", " ", None])
def test_a_boolean_that_is_false_or_empty_text_is_false(text):
    assert parsed(name="x", loud=text).loud is False


@pytest.mark.parametrize("text", ["", "null", " ", None])
def test_an_optional_text_without_content_is_absent(text):
    assert parsed(name="x", note=text).note is None


def test_a_text_keeps_its_case_and_its_words():
    assert parsed(name="x", note=" The null Device ").note == " The null Device "


def test_numbers_and_lists_may_be_text():
    assert parsed(name="x", often="3", tags='["a", "b"]').model_dump(include={"often", "tags"}) == {
        "often": 3,
        "tags": ["a", "b"],
    }


def test_what_must_be_there_may_not_be_empty_for_absent():
    assert parsed(name="").name == ""
    assert refusal(note="x") == "a_tool needs the argument `name`."


def test_what_does_not_fit_is_named():
    assert refusal(name="x", lod=True) == "a_tool takes no argument `lod`. Did you mean `loud`?"
    assert refusal(name="x", zzzz=1) == "a_tool takes no argument `zzzz`."
    assert refusal(name="x", often="many").startswith("a_tool: `often`: ")
    assert refusal(name="x", tags="[").startswith("a_tool: `tags`: ")
    assert refusal(**{"name": "x", "\x1b[2J" + "y" * 1000: 1}).startswith(
        "a_tool takes no argument `\\x1b[2Jyyy"
    )


def test_a_bare_name_works_if_only_one_operation_has_it():
    assert dispatch.find(TOYS, "say").name == "toys.say"
    assert dispatch.find(TOYS, "other.twice").name == "other.twice"
    with pytest.raises(PrereadError, match="more than one operation") as caught:
        dispatch.find(TOYS, "twice")
    assert caught.value.hint == "Use `toys.twice` or `other.twice`."


def test_an_operation_that_runs_programs_is_neither_permitted_nor_offered_to_agents():
    launch = TOYS["toys.launch"]
    with pytest.raises(PrereadError, match="agents are not allowed") as caught:
        dispatch.permit(launch, Settings())
    assert caught.value.code == "E_NOT_ALLOWED"
    assert "A person can run it: `preread toys.launch` in a terminal." in caught.value.hint
    assert launch not in dispatch.offered(TOYS.values(), Settings())
    allowed = Settings(allow=["read", "execute"])
    dispatch.permit(launch, allowed)
    assert launch in dispatch.offered(TOYS.values(), allowed)
    dispatch.permit(TOYS["toys.say"], allowed)


def test_the_tool_of_an_operation_is_named_after_it_and_says_whether_it_only_reads():
    row = tools.of_operation(TOYS["toys.say"])
    assert (row.tool.name, row.tool.title, row.tool.description) == (
        "toys_say",
        "Toys say",
        "Do toys.say.",
    )
    assert row.tool.annotations.read_only_hint is True
    assert tools.of_operation(LOAD).tool.annotations.read_only_hint is False


class Connected:
    """A client of a server in this process whose registry is the test's own."""

    def __init__(self, start: Path, mode: str) -> None:
        self.start, self.mode = start, mode

    async def call(self, **given):
        with anyio.fail_after(10):
            async with Jobs() as jobs:
                handlers = Handlers(self.start, {}, LocalRunner(jobs), TOYS)
                async with Client(handlers.server(), mode=self.mode) as client:
                    return await client.call_tool("context_operation", given)


@pytest.fixture(params=["legacy", "2026-07-28"])
def connected(request, tmp_path):
    return Connected(tmp_path, request.param)


async def test_an_operation_in_the_registry_needs_no_line_in_the_server(connected):
    reply = await connected.call(method="say", params={"name": "x", "often": "2"})
    result = reply.structured_content["result"]
    [(mark, words)] = re.findall(r"<data-(\w+)>(.*)</data-\1>", result["words"])
    assert words == "x x"
    assert mark in result["quoted"]


async def test_what_succeeded_before_a_failure_reaches_the_model(connected):
    """Of an error, a model reads only the text."""
    say, wait = ({"method": name, "params": {"name": "x"}} for name in ("say", "wait"))
    partial = [
        await connected.call(batch=[say, wait], options={"timeout_ms": 2000}),
        await connected.call(**say, then={"method": "say", "params": {}}),
        await connected.call(**say, then={"method": "say", "params": {"name": {"$ref": "#/no"}}}),
        await connected.call(**say, then={"method": "fail"}, options={"as": "tool_result"}),
    ]
    for reply in partial:
        assert not reply.is_error
        assert reply.structured_content["error"]["code"]
        assert '"words": ' in reply.content[0].text
    nothing = [
        await connected.call(batch=[wait, wait], options={"timeout_ms": 1}),
        await connected.call(method="say", options={"as": "tool_result"}),
    ]
    for reply in nothing:
        assert reply.is_error
        assert reply.content[0].text.startswith("E_")


async def test_a_bug_is_reported_without_a_traceback_and_logged_with_one(connected):
    (connected.start / ".project").mkdir()
    reply = await connected.call(method="fail", params={"name": "x"})
    log = connected.start / ".project" / ".cache" / "preread.log"
    text = reply.content[0].text
    assert reply.is_error
    assert (
        text
        == f"E_INTERNAL: ZeroDivisionError: a bug of ours. Please report it with the end of {log}."
    )
    assert reply.structured_content["error"]["code"] == "E_INTERNAL"
    assert "Traceback" in log.read_text()
    assert "a bug of ours" in log.read_text()


async def test_a_bug_in_a_project_without_a_log_goes_to_standard_error(connected, capsys):
    reply = await connected.call(method="fail", params={"name": "x"})
    assert reply.content[0].text.endswith(
        "Please report it with the server's standard error output."
    )
    assert "Traceback" in capsys.readouterr().err
    assert not (connected.start / ".project").exists()


def test_schemas_of_arguments_are_such_as_every_client_takes() -> None:
    """Gemini's models refuse types in lists, Gemini CLI what has no type, VS Code bare arrays."""
    schemas = [row.tool.input_schema for row in tools.rows(REGISTRY, full=True).values()]
    while schemas:
        schema = schemas.pop()
        either = schema.get("anyOf", [])
        assert either or isinstance(schema.get("type"), str), schema
        assert schema.get("type") != "null"
        assert "items" in schema or schema.get("type") != "array", schema
        assert not schema.keys() & {"$ref", "$defs", "oneOf", "allOf", "not", "const", "format"}
        schemas += [*schema.get("properties", {}).values(), *either]
        schemas += [schema["items"]] if "items" in schema else []


def test_what_is_listed_by_default_is_short_and_says_that_calling_again_is_free() -> None:
    """Names, descriptions and schemas of the tools, and the server's instructions."""
    for era, answers in json.loads(PLACE.read_text(encoding="utf-8")).items():
        if era == "versions":
            continue
        tools = answers["tools/list"]["tools"]
        shown = [
            {key: tool[key] for key in ("name", "description", "inputSchema")} for tool in tools
        ]
        text = json.dumps(shown, separators=(",", ":")) + answers[FIRST[era]]["instructions"]
        assert len(text) / CHARACTERS_PER_TOKEN <= MAX_LISTED
        (load,) = (tool for tool in tools if tool["name"] == "load_context")
        assert "Calling again with another `description` is free" in load["description"]
