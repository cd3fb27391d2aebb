"""The MCP server: hands the protocol's requests to the tools and the resources."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.subscriptions import ListenHandler
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    EmptyResult,
    GetPromptRequestParams,
    GetPromptResult,
    InputRequiredResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    ReadResourceRequestParams,
    ReadResourceResult,
    SubscribeRequestParams,
    TextContent,
    TextResourceContents,
)

from preread import __version__
from preread.builds import feature_lock
from preread.builds.jobs import Caller, Jobs
from preread.builds.reply_cache import ReplyCache
from preread.dossier import published
from preread.errors import PrereadError
from preread.infra import assets
from preread.mcp import handshake, resources, tools
from preread.mcp.elicitation import Asker, InputRequired
from preread.mcp.runner import LocalRunner, Runner
from preread.mcp.shutdown import Shutdown
from preread.mcp.transport import connected
from preread.mcp.watch import Subscribers, watch
from preread.models import Model
from preread.operations import REGISTRY, dispatch, wording
from preread.operations.arguments import nearest
from preread.operations.registry import Context, Operation, services_of
from preread.services import Services, step
from preread.unchanged import Unchanged

T = TypeVar("T")
Call = ServerRequestContext[Any, Any]
Page = PaginatedRequestParams | None
# Clients that wait for minutes; others give up on a call after about one minute.
PATIENT = ("claude-code",)
MAX_RESULTS = 16
MIN_PROGRESS = 0.001  # the protocol wants progress to grow with every notification
PROMPT = Prompt(
    name="load",
    title="Load context",
    description="Have a feature's dossier built, and read it, before writing.",
    arguments=[
        PromptArgument(
            name="feature", description="The feature's name, like `checkout`.", required=True
        )
    ],
)


class Progress:
    """Passes a build's progress on to a client that sent a progress token."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._reported = -MIN_PROGRESS

    async def report(self, message: str, done: float, total: float) -> None:
        self._reported = max(done, round(self._reported + MIN_PROGRESS, 3))
        known_total = total if total >= self._reported else None
        await self._call.session.report_progress(self._reported, known_total, message)


class Handlers:
    """The handlers of the protocol's requests, and what they share: project, builds, tools."""

    def __init__(
        self,
        start: Path,
        environ: Mapping[str, str],
        runner: Runner,
        operations: Mapping[str, Operation] = REGISTRY,
        admit: Callable[[Any, tools.Arguments], None] = lambda _request, _arguments: None,
    ) -> None:
        """`admit` raises an error if an HTTP request's tool call may not run."""
        self.start, self.environ, self.runner, self.admit = start, environ, runner, admit
        self._operations = operations
        self._rows: dict[str, tools.ToolRow] = {}
        self.reply_cache: ReplyCache[Any] = ReplyCache()
        self.fresh: ReplyCache[bool] = ReplyCache()  # features
        self.unchanged = Unchanged()
        self.subscribers = Subscribers()
        # By the identity of the reply, which the entry keeps alive.
        self.results: dict[int, tuple[Model, CallToolResult]] = {}

    async def rows(self) -> dict[str, tools.ToolRow]:
        """The tools by name, according to the settings at the first request that needs them."""

        async def lists_every_operation(_jobs: Jobs) -> bool:
            return services_of(self.start, self.environ).settings.tools == "full"

        if not self._rows:
            try:
                full = await self.runner.run(lists_every_operation)
            except PrereadError:  # calls will report the error
                return tools.rows(self._operations)
            self._rows = tools.rows(self._operations, full=full)
        return self._rows

    def server(self) -> Server[Any]:
        server: Server[Any] = Server(
            "preread",
            version=__version__,
            title="Preread",
            instructions=assets.text(assets.folder("prompts") / "instructions.md"),
            on_list_tools=self.list_tools,
            on_call_tool=self.call_tool,
            on_list_resources=self.list_resources,
            on_list_resource_templates=self.list_templates,
            on_read_resource=self.read_resource,
            on_list_prompts=self.list_prompts,
            on_get_prompt=self.get_prompt,
            on_completion=self.complete,
            on_subscribe_resource=self.subscribe,
            on_unsubscribe_resource=self.subscribers.unsubscribe,
            on_subscriptions_listen=ListenHandler(self.subscribers.bus),
        )
        return server

    def caller(self, call: Call, params: CallToolRequestParams) -> Caller:
        client = call.session.client_params
        patient = client is not None and client.client_info.name.startswith(PATIENT)
        asker = Asker(call, params)
        return Caller(
            None,
            self.runner.callback(Progress(call).report),
            times_out=not patient,
            ask=self.runner.callback(asker.ask) if asker.is_supported else None,
            takes_early_reply=True,
        )

    async def list_tools(self, _call: Call, _page: Page) -> ListToolsResult:
        return ListToolsResult(tools=[row.tool for row in (await self.rows()).values()])

    async def call_tool(
        self, call: Call, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        rows = await self.rows()
        row = rows.get(params.name)
        if row is None:
            raise MCPError(
                INVALID_PARAMS, f"There is no tool `{params.name}`.{nearest(params.name, rows)}"
            )
        client = call.session.client_params
        by = client.client_info.name if client is not None else "mcp"
        arguments = params.arguments or {}
        work = partial(self._reply, row, self.caller(call, params), by, arguments)
        try:
            self.admit(call.request, arguments)
            return self.result(await self.runner.run(work))
        except InputRequired as needed:
            return needed.result
        except PrereadError as error:
            return tools.failed(error)

    async def _reply(
        self, row: tools.ToolRow, caller: Caller, by: str, arguments: tools.Arguments, jobs: Jobs
    ) -> Model:
        """The reply of a tool. Raises PrereadError for every failure, and InputRequired."""
        context = Context(
            self.start, self.environ, jobs, caller, self.reply_cache, self.unchanged, f"mcp:{by}"
        )
        try:
            return await row.run(context, arguments)
        except InputRequired:
            raise
        except Exception as error:
            raise dispatch.expected(self.start, "mcp", error) from error

    def result(self, reply: Model) -> CallToolResult:
        """The result for a reply. A cached reply is the same object, and so is its result."""
        entry = self.results.get(id(reply))
        if entry is None or entry[0] is not reply:
            if len(self.results) > MAX_RESULTS:
                self.results.clear()
            entry = self.results[id(reply)] = (reply, tools.succeeded(reply))
        return entry[1]

    async def list_resources(self, call: Call, _page: Page) -> ListResourcesResult:
        self.subscribers.heard_from(call)
        return ListResourcesResult(resources=await self.of_dossiers(resources.listed))

    async def list_templates(self, _call: Call, _page: Page) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=[resources.template()])

    async def read_resource(
        self, _call: Call, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return ReadResourceResult(contents=[await self.of_dossiers(self._resource, params.uri)])

    def _resource(self, services: Services, uri: str) -> TextResourceContents:
        is_root = services.layout.root == self.start  # otherwise another root might be found later
        return resources.read(services, uri, self.fresh if is_root else None)

    async def subscribe(self, call: Call, params: SubscribeRequestParams) -> EmptyResult:
        """Subscribe to a dossier's file, published or not.

        Another scheme's URI is accepted too, as MCP's conformance suite has it: nothing changes it.
        """
        if params.uri.startswith(resources.SCHEME):
            try:
                resources.parsed(params.uri)
            except PrereadError as error:
                raise _in_protocol(error) from error
        return self.subscribers.subscribe(call, params)

    async def list_prompts(self, _call: Call, _page: Page) -> ListPromptsResult:
        return ListPromptsResult(prompts=[PROMPT])

    async def get_prompt(self, _call: Call, params: GetPromptRequestParams) -> GetPromptResult:
        feature = (params.arguments or {}).get("feature")
        if params.name != PROMPT.name or not feature:
            raise MCPError(
                INVALID_PARAMS, "The only prompt is `load`, with the argument `feature`."
            )
        text = (
            f"Call the tool load_context with feature={feature!r} and read its dossier "
            "before you write."
        )
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=PROMPT.description, messages=[message])

    async def complete(self, _call: Call, params: CompleteRequestParams) -> CompleteResult:
        known = (params.context.arguments if params.context else None) or {}
        name, start = params.argument.name, params.argument.value
        found = await self.of_dossiers(resources.completed, name, start, known.get("feature", ""))
        return CompleteResult(completion=found)

    async def of_dossiers(self, read: Callable[..., T], *arguments: str) -> T:
        """Call `read` in a worker thread; a PrereadError becomes an error of the protocol."""

        async def work(_jobs: Jobs) -> T:
            services = services_of(self.start, self.environ, unchanged=self.unchanged)
            return await anyio.to_thread.run_sync(read, services, *arguments)

        try:
            return await self.runner.run(work)
        except PrereadError as error:
            raise _in_protocol(error) from error


def _in_protocol(error: PrereadError) -> MCPError:
    data = {"code": error.code, **error.details}
    return MCPError(INVALID_PARAMS, wording.in_words_of("tools", str(error)), data)


async def serve(
    start: Path, environ: Mapping[str, str], wire: tuple[int, int], shutdown: Shutdown
) -> None:
    """Serve one client on a pair of descriptors until it is gone or `shutdown` begins."""
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        async with Jobs() as jobs:

            def clean() -> None:
                jobs.stop()
                if shutdown.status:  # after a signal, nobody waits for replies
                    scope.cancel()

            shutdown.set_cleanup(partial(loop.call_soon_threadsafe, clean))
            handlers = Handlers(start, environ, LocalRunner(jobs))
            async with (
                connected(wire, shutdown.on_end_of_input) as streams,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(recover, start, environ)
                tasks.start_soon(watch, start, environ, handlers.subscribers)
                await handshake.run(handlers.server(), streams)
                tasks.cancel_scope.cancel()


async def recover(start: Path, environ: Mapping[str, str]) -> None:
    """Finish publishing what killed builds left. If that fails, calls will report the error."""
    with suppress(PrereadError):
        services = services_of(start, environ)
        if published.unfinished(services.layout):
            await step(feature_lock.recover_all, services)
