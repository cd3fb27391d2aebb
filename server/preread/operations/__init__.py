"""The registry: every capability once, typed, for every face; one module per operation."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import NamedTuple

from preread.operations.registry import Operation


class Row(NamedTuple):
    """Where an operation is, and the command line's word for it."""

    name: str
    module: str
    command: str = ""


# In the order in which faces list them. A module is imported only when its operation is used: a
# command needs one of them, and has to start in a fraction of a second.
ROWS = (
    Row("context.load", "load", "load"),
    Row("context.extend", "extend", "extend"),
    Row("context.show", "show", "show"),
    Row("context.status", "status", "status"),
    Row("context.evidence", "evidence", "evidence"),
    Row("context.failures", "failures", "failures"),
    Row("builds.list", "builds.list", "builds list"),
    Row("builds.cancel", "builds.cancel", "builds cancel"),
    Row("knowledge.search", "facts", "facts"),
    Row("knowledge.query", "knowledge.query"),
    Row("knowledge.node", "knowledge.node"),
    Row("knowledge.stats", "knowledge.stats"),
    Row("knowledge.index", "knowledge.index"),
    Row("knowledge.graph", "knowledge.graph", "graph"),
    Row("knowledge.capture", "memory.capture", "capture"),
    Row("memory.remember", "memory.remember", "remember"),
    Row("memory.recall", "memory.recall", "recall"),
    Row("memory.recent", "memory.recent"),
    Row("memory.learn", "memory.learn"),
    Row("memory.decide", "memory.decide", "decide"),
    Row("memory.digest", "memory.digest"),
    Row("memory.forget", "memory.forget"),
    Row("memory.update_metadata", "memory.update_metadata"),
    Row("documents.load", "documents.load", "documents"),
    Row("documents.list", "documents.list"),
    Row("documents.read", "documents.read", "read"),
    Row("documents.entities", "literature.entities"),
    Row("documents.relations", "literature.relations"),
    Row("graph.build", "literature.build"),
    Row("graph.analyse", "literature.analyse"),
    Row("graph.report", "literature.report"),
    Row("graph.export", "literature.export"),
    Row("graph.save", "literature.save", "report"),
    Row("documents.workflow", "literature.workflow"),
    Row("documents.workflows", "literature.workflows"),
    Row("context.check", "check", "check"),
    Row("context.wrong", "wrong", "wrong"),
    Row("context.remove", "remove", "remove"),
    Row("integrity.check", "integrity.check"),
    Row("integrity.repair", "integrity.repair", "repair"),
    Row("integrity.backups", "integrity.backups", "backups"),
    Row("integrity.restore", "integrity.restore", "restore"),
    Row("integrity.gc", "integrity.gc", "gc"),
    Row("history.diff", "history.diff", "diff"),
    Row("history.impact", "history.impact", "impact"),
    Row("history.blame", "history.blame", "blame"),
    Row("history.trace", "history.trace", "trace"),
    Row("history.costs", "history.costs"),
    Row("workflow.state", "workflow.state", "workflow"),
    Row("workflow.suggest", "workflow.suggest"),
    Row("workflow.agents", "workflow.agents"),
    Row("workflow.readiness", "workflow.readiness", "ready"),
    Row("workflow.execute", "workflow.execute", "run"),
    Row("agent.execute", "agent.execute", "agent"),
    Row("worktree.create", "worktree.create", "worktree create"),
    Row("worktree.list", "worktree.list", "worktree list"),
    Row("worktree.diff", "worktree.diff", "worktree diff"),
    Row("worktree.merge", "worktree.merge", "worktree merge"),
    Row("worktree.remove", "worktree.remove", "worktree remove"),
    Row("worktree.prune", "worktree.prune", "worktree prune"),
    Row("attention.cognitive_status", "attention.cognitive_status", "attention"),
    Row("attention.wm_status", "attention.wm_status"),
    Row("attention.wm_add", "attention.wm_add"),
    Row("attention.wm_decay", "attention.wm_decay"),
    Row("attention.wm_consolidate", "attention.wm_consolidate", "consolidate"),
    Row("attention.detect_boundary", "attention.detect_boundary"),
    Row("attention.process_boundary", "attention.process_boundary"),
    Row("session.who_is_here", "session.who_is_here", "who"),
    Row("session.say", "session.say", "say"),
    Row("session.hear", "session.hear", "hear"),
    Row("session.messages", "session.messages"),
    Row("session.register", "session.register"),
    Row("session.status", "session.status"),
    Row("session.whoami", "session.whoami"),
    Row("audit.log", "log", "log"),
    Row("audit.replay", "replay", "replay"),
    Row("config.init", "init", "init"),
    Row("config.doctor", "doctor", "doctor"),
    Row("config.get", "settings", "settings"),
    Row("config.get_semantic_config", "semantic_config"),
    Row("config.configure_semantic", "semantic_configure"),
    Row("config.regenerate_vectors", "semantic_vectors"),
    Row("config.gates", "gates", "gates"),
    Row("config.install_client", "install_client", "mcp install"),
    Row("config.gated", "gated"),
    Row("config.ops", "ops", "ops"),
    Row("config.call", "call", "call"),
)
# Other names of operations, which callers know from other tools.
ALIASES = {
    "load": "context.load",  # not `documents.load`
    "remove": "context.remove",  # not `worktree.remove`
    "diff": "history.diff",
    "check": "context.check",  # not `integrity.check`
    "query_knowledge_graph": "knowledge.query",
    "search_knowledge": "knowledge.search",
    "get_node_details": "knowledge.node",
    "get_routing_status": "workflow.suggest",
    "suggest_workflow": "workflow.suggest",
    "check_deployment_readiness": "workflow.readiness",
    "get_workflow_state": "workflow.state",
    "check_graph_integrity": "integrity.check",
    "repair_graph": "integrity.repair",
    "list_backups": "integrity.backups",
    "load_pdf_document": "documents.load",
    "extract_entities_academic": "documents.entities",
    "build_knowledge_graph": "graph.build",
    "analyze_cross_modal": "graph.analyse",
    "academic_report": "graph.report",
}
COMMANDS = {row.command: row.name for row in ROWS if row.command}


class Registry(Mapping[str, Operation]):
    """All operations by name, in the table's order, each imported when it is used."""

    def __init__(self) -> None:
        self._modules = {row.name: row.module for row in ROWS}

    def __getitem__(self, name: str) -> Operation:
        found: Operation = import_module(f"preread.operations.{self._modules[name]}").OPERATION
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


REGISTRY = Registry()


def operation(command: str) -> Operation:
    """The operation that a command runs."""
    return REGISTRY[COMMANDS[command]]
