"""`workflow.agents`: what can be dispatched. A workflow's agents are offered only as a whole."""

import re

from pydantic import Field

from preread.infra import assets
from preread.infra.reading import listed, plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.operations.registry import (
    NothingRequest,
    Operation,
    threaded,
)
from preread.operations.workflow import definitions
from preread.services import Services

DESCRIPTION = re.compile(r"^description:\s*(.+)$", re.MULTILINE)
OWN = (".claude/agents", ".project/agents")  # where a project keeps its own
MAX_AGENTS, MAX_BYTES = 100, 200_000


class Agent(Model):
    """An agent that can be dispatched by itself."""

    name: str
    description: str
    path: str


class OfWorkflow(Model):
    """A workflow, dispatched as a whole: it dispatches its agents itself."""

    workflow: str
    doc: str
    start: str
    agents: int = Field(description="How many agents it dispatches itself.")


class AgentsReply(Model):
    """What can be dispatched: whole workflows, and agents that belong to none."""

    workflows: tuple[OfWorkflow, ...]
    agents: tuple[Agent, ...]


def _agents(services: Services, _: NothingRequest) -> AgentsReply:
    workflows = definitions.all_workflows(services.layout).values()
    taken = {name for workflow in workflows for name in workflow.agents}
    found = {agent.name: agent for agent in (*_shipped(), *_own(services.layout))}
    return AgentsReply(
        workflows=tuple(
            OfWorkflow(workflow=w.name, doc=w.doc, start=w.start, agents=len(w.agents))
            for w in workflows
        ),
        agents=tuple(agent for name, agent in sorted(found.items()) if name not in taken),
    )


def _shipped() -> list[Agent]:
    files = sorted(assets.folder("agents").glob("*.md"))
    return [_agent(path.stem, assets.text(path), f"agents/{path.name}") for path in files]


def _own(layout: Layout) -> list[Agent]:
    folders = [layout.real(layout.inside(folder)) for folder in OWN]
    paths = [path for folder in folders for path in listed(folder, ".md")]
    return [
        _agent(
            path.stem,
            (plain_bytes(path, MAX_BYTES) or b"").decode("utf-8", "replace"),
            layout.relative(path),
        )
        for path in paths[:MAX_AGENTS]
    ]


def _agent(name: str, text: str, path: str) -> Agent:
    match = DESCRIPTION.search(text)
    return Agent(name=name[:60], description=match[1].strip()[:300] if match else "", path=path)


OPERATION = Operation(
    name="workflow.agents",
    request=NothingRequest,
    reply=AgentsReply,
    effect="read",
    doc="List what can be dispatched: workflows as a whole, and agents that belong to none.",
    example="preread call workflow.agents",
    run=threaded(_agents),
    pages="agents",
)
