"""The real server process over real stdio, in both protocol eras: tools, errors, resources."""

import json
from itertools import pairwise

import pytest
from mcp import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from _mcp_process import MODES, connect, shop
from preread.operations import REGISTRY

OPERATIONS = tuple(REGISTRY.values())

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def anyio_backend():
    return "asyncio"


@pytest.fixture(scope="module", params=MODES)
async def client(request, tmp_path_factory):
    """A client of one server process, whose project has the dossier of the feature `cart`."""
    project = shop(tmp_path_factory.mktemp("project") / "shop")
    async with connect(project, request.param) as client:
        await client.call_tool("load_context", {"feature": "cart"})
        yield client


async def called(client, tool="load_context", **given):
    return await client.call_tool(tool, given)


async def test_two_tools_are_listed_whatever_the_number_of_operations(client):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == ["load_context", "context_operation"]
    load = tools["load_context"]
    assert load.meta == {"anthropic/alwaysLoad": True}
    assert load.title == "Load context"
    hints = load.annotations
    assert (hints.read_only_hint, hints.destructive_hint) == (False, False)
    assert (hints.idempotent_hint, hints.open_world_hint) == (True, False)
    assert list(load.input_schema["properties"]) == [
        "feature",
        "ticket",
        "description",
        "force",
        "level",
        "scope",
    ]
    assert load.input_schema["required"] == ["feature"]
    assert all(about["description"] for about in load.input_schema["properties"].values())
    assert load.output_schema["required"] == ["status"]


async def test_tools_full_lists_each_operation_for_agents_with_its_schemas_and_effect(tmp_path):
    offered = {
        o.name: o for o in REGISTRY.values() if not o.people_only and o.name != "context.load"
    }
    async with connect(shop(tmp_path / "shop"), "legacy", {"PREREAD_TOOLS": "full"}) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        others = {name.replace(".", "_"): o for name, o in offered.items()}
        assert set(tools) == {"load_context", "context_operation", *others}
        for name, operation in others.items():
            tool, effect = tools[name], operation.effect
            assert tool.description == operation.doc
            assert set(tool.input_schema["properties"]) == set(operation.request.model_fields)
            hints = tool.annotations
            assert (hints.read_only_hint, hints.destructive_hint) == (
                effect == "read",
                effect == "execute",
            )
        reply = await client.call_tool("memory_remember", {"content": "the till opens at nine"})
        assert reply.structured_content["state"] == "added"
        told = await client.call_tool("agent_execute", {"kind": "review", "task": "Read it"})
        assert told.is_error
        assert "E_NOT_ALLOWED" in told.content[0].text


async def test_every_operation_that_an_agent_may_call_is_listed_by_one_of_them(client):
    reply = await called(client, "context_operation", method="ops", options={"limit": 1000})
    listed = {each["name"] for each in reply.structured_content["result"]["operations"]}
    assert listed == {
        operation.name
        for operation in OPERATIONS
        if operation.effect != "execute" and not operation.people_only
    }


async def test_the_server_says_who_it_is_and_what_to_do(client):
    if client.mode == "2026-07-28":
        pytest.skip("a client that is pinned to a version asks for nothing before its first call")
    assert client.server_info.name == "preread"
    assert "load_context" in client.instructions


async def test_a_build_replies_with_the_dossier_as_data_and_the_same_as_text(client):
    reply = await called(client, feature="checkout", force=True)
    data = reply.structured_content
    assert not reply.is_error
    assert (data["status"], data["state"], data["builder"]) == ("ok", "built", "static")
    assert data["dossier"].split("\n")[2] == "# Summary: checkout"  # after the rule and the mark
    assert json.loads(reply.content[0].text) == data
    assert None not in data.values()


async def test_the_second_call_is_cached(client):
    assert (await called(client, feature="cart")).structured_content["state"] == "cached"


async def test_arguments_that_arrive_as_strings_are_understood(client):
    reply = await called(
        client, feature="cart", force="false", ticket="", description="null", level=""
    )
    assert reply.structured_content["state"] == "cached"
    reply = await called(client, feature="cart", description=None, ticket=None, scope=None)
    assert reply.structured_content["state"] == "cached"
    reply = await called(client, feature="cart", force="True")
    assert reply.structured_content["state"] == "built"


async def test_a_description_that_is_too_long_is_cut_with_a_warning(client):
    words = "word " * 5000
    for state in ("built", "cached"):
        reply = await called(client, feature="coupon", description=words)
        assert not reply.is_error
        assert reply.structured_content["state"] == state
        assert reply.structured_content["warnings"][0] == (
            "The description has 24,999 characters; the first 20,000 are used."
        )


async def test_progress_is_reported_and_always_grows(client):
    told = []

    async def tell(progress, total, message):
        told.append((progress, total, message))

    await client.call_tool(
        "load_context", {"feature": "login", "force": True}, progress_callback=tell
    )
    steps = [progress for progress, _, _ in told]
    assert steps
    assert all(before < after for before, after in pairwise(steps))
    assert all(
        message and (total is None or progress <= total) for progress, total, message in told
    )


async def test_an_expected_failure_has_a_code_what_happened_and_what_to_do(client):
    reply = await called(client, feature="../etc/passwd")
    text, data = reply.content[0].text, reply.structured_content
    assert reply.is_error
    assert text.startswith("E_FEATURE_NAME: '../etc/passwd' is not a feature name")
    assert 'Use the name "etc-passwd".' in text
    assert (data["status"], data["code"], data["details"]) == (
        "error",
        "E_FEATURE_NAME",
        {"slug": "etc-passwd"},
    )
    assert text == f"{data['code']}: {data['message']} {data['hint']}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"feature": "cart", "tiket": "SHOP-1"}, "no argument `tiket`. Did you mean `ticket`?"),
        (
            {"feature": "cart", "level": "deep"},
            "`level`: Input should be 'light', 'standard' or 'full'.",
        ),
        ({"feature": "cart", "force": "perhaps"}, "`force`: "),
        ({"feature": 404}, "`feature`: Input should be a valid string."),
        ({}, "load_context needs the argument `feature`."),
        ({"feature": "cart", "ticket": "../../x"}, "E_TICKET_NAME"),
    ],
)
async def test_arguments_that_do_not_fit_are_named(client, given, words):
    reply = await called(client, **given)
    assert reply.is_error
    assert words in reply.content[0].text


async def test_an_unknown_tool_is_an_error_that_names_the_nearest(client):
    with pytest.raises(MCPError, match="Did you mean `load_context`"):
        await called(client, "load_contxt", feature="cart")


async def test_an_operation_is_called_by_its_full_or_bare_name_and_the_state_comes_back(client):
    for method in ("context.load", "load"):
        given = {"method": method, "params": {"feature": "cart"}, "metadata": {"mine": [1, "ä"]}}
        reply = await called(client, "context_operation", **given)
        data = reply.structured_content
        assert not reply.is_error
        assert data["method"] == "context.load"
        assert data["result"]["state"] == "cached"
        assert (data["version"], data["metadata"]["mine"]) == (1, [1, "ä"])
        assert {"request_id", "timestamp", "duration_ms"} < set(data["metadata"])
        again = await called(client, "context_operation", **data)
        assert again.structured_content["result"]["dossier"] == data["result"]["dossier"]


async def test_a_failed_operation_comes_back_as_the_state_with_its_error(client):
    reply = await called(
        client, "context_operation", method="load", params={"feature": "a b!"}, metadata={"x": 1}
    )
    data = reply.structured_content
    assert reply.is_error
    assert reply.content[0].text.startswith("E_FEATURE_NAME: ")
    assert (data["error"]["code"], data["error"]["details"]) == ("E_FEATURE_NAME", {"slug": "a-b"})
    assert (data["method"], data["params"], data["metadata"]["x"]) == (
        "load",
        {"feature": "a b!"},
        1,
    )
    assert "result" not in data


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"method": "lod"}, "no operation `lod`. Did you mean `load`?"),
        ({"method": "context.lod"}, "Did you mean `context.load`?"),
        ({"method": "context.lod"}, "Similar: `context.load`, `"),
        ({"method": "facts"}, "Did you mean `knowledge.search`?"),  # its command
        ({"method": "load", "params": {"featur": "x"}}, "context.load takes no argument `featur`."),
        ({"method": "load", "params": '{"feature": '}, "`params`: "),
        ({"method": "load", "options": {"fast": True}}, "options.fast"),
        ({"method": "load", "version": 2}, "`version`: "),
        ({"methode": "load"}, "Did you mean `method`?"),
    ],
)
async def test_a_state_that_cannot_be_run_says_why(client, given, words):
    reply = await called(client, "context_operation", **given)
    assert reply.is_error
    is_unknown = given.get("method", "load") != "load"
    code = "E_METHOD" if is_unknown else "E_USAGE"
    assert reply.content[0].text.startswith(f"{code}: ")
    assert words in reply.content[0].text


async def test_params_may_be_json_text(client):
    reply = await called(client, "context_operation", method="load", params='{"feature": "cart"}')
    assert reply.structured_content["result"]["state"] == "cached"


async def test_the_files_of_a_dossier_are_resources(client):
    listed = {resource.uri: resource for resource in (await client.list_resources()).resources}
    assert {
        "dossier://cart/patterns.md",
        "dossier://cart/summary.md",
        "dossier://cart/manifest.json",
    } <= set(listed)
    for uri, kind in (
        ("dossier://cart/summary.md", "text/markdown"),
        ("dossier://cart/manifest.json", "application/json"),
    ):
        contents = (await client.read_resource(uri)).contents[0]
        assert contents.mime_type == listed[uri].mime_type == kind
        assert contents.text
    assert json.loads(contents.text)["feature"] == "cart"
    templates = (await client.list_resource_templates()).resource_templates
    assert [template.uri_template for template in templates] == ["dossier://{feature}/{file}"]


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("dossier://../../etc/passwd", "E_NOT_FOUND"),
        ("dossier://cart/../../../etc/passwd", "E_NOT_FOUND"),
        ("dossier://cart/..%2f..%2fconfig.toml", "E_NOT_FOUND"),
        ("dossier://..%2f..%2fetc/patterns.md", "E_FEATURE_NAME"),
        ("dossier://../patterns.md", "E_FEATURE_NAME"),
        ("dossier://con/patterns.md", "E_FEATURE_NAME"),
        ("dossier://CART/patterns.md", "E_FEATURE_NAME"),
        ("dossier://cart/\x00", "E_NOT_FOUND"),
        ("dossier://cart/patterns.md?x=1", "E_NOT_FOUND"),
        ("dossier://nowhere/patterns.md", "E_NOT_FOUND"),
        ("file:///etc/passwd", "E_NOT_FOUND"),
        ("", "E_NOT_FOUND"),
    ],
)
async def test_an_unknown_resource_is_a_clean_error(client, uri, code):
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    assert caught.value.error.code == -32602
    assert caught.value.error.message.startswith(f"{code}: ")


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
async def test_what_can_be_no_resource_cannot_be_subscribed_to(client):
    if client.mode != "legacy":
        pytest.skip("newer versions of the protocol have no such request")
    await client.session.subscribe_resource("dossier://not-yet-built/summary.md")
    for uri in ("dossier://cart/nothing.md", "dossier://CART/summary.md", "dossier://cart"):
        with pytest.raises(MCPError, match=f"'{uri}'") as caught:
            await client.session.subscribe_resource(uri)
        assert caught.value.error.code == -32602


async def test_features_and_files_are_completed(client):
    dossier = ResourceTemplateReference(uri="dossier://{feature}/{file}")

    async def values(reference, name, start, **known):
        found = await client.complete(reference, {"name": name, "value": start}, known or None)
        return found.completion.values

    assert await values(dossier, "feature", "ca") == ["cart"]
    assert await values(dossier, "feature", "zz") == []
    assert await values(dossier, "file", "pat", feature="cart") == ["patterns.md"]
    assert await values(dossier, "file", "", feature="nowhere") == []
    assert "summary.md" in await values(dossier, "file", "", feature="../..")
    assert await values(PromptReference(name="load"), "feature", "car") == ["cart"]


async def test_the_prompt_names_the_tool_call(client):
    assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["load"]
    prompt = await client.get_prompt("load", {"feature": "cart"})
    assert "load_context with feature='cart'" in prompt.messages[0].content.text
    with pytest.raises(MCPError):
        await client.get_prompt("lod", {"feature": "cart"})
