"""The variables that a template is given: a documented, versioned list, and the values that fill it."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from preread import dossier, inputs
from preread.errors import PrereadError
from preread.gates.feature_names import PROJECT
from preread.infra.sandbox import MARK
from preread.infra.secrets import Credentials
from preread.layout import BY_NAME, FILES
from preread.models import Evidence, Finding, Ranked, Request
from preread.prompt import surroundings
from preread.prompt.outside import block, line
from preread.services import Services

VERSION = 1  # raised when a variable goes or changes its meaning; new ones may come without


class Variable(NamedTuple):
    """One row of the list in docs/prompt.md."""

    name: str
    type: str
    meaning: str


ROW = "each with `path`, `score`, `reasons`, `lines`"
VARIABLES: tuple[Variable, ...] = (
    Variable(
        "version", "number", "of this list; raised when a variable goes or changes its meaning"
    ),
    Variable(
        "mark",
        "text",
        "the mark of this prompt's blocks: `<data-{{ mark }}`; it stands in no outside text",
    ),
    Variable("feature", "text", "the feature's name, or `_project`"),
    Variable("is_project", "true or false", "whether it is the whole project"),
    Variable("ticket", "text", "the ticket's id; empty without one"),
    Variable("ticket_text", "outside text", "the ticket's text; empty when no file holds it"),
    Variable("description", "outside text", "what the caller said it is about to write"),
    Variable("project_root", "text", "the project's absolute real path, where the builder works"),
    Variable(
        "output_directory", "text", "the absolute real path of the folder that takes the drafts"
    ),
    Variable("test_folders", "list of outside text", "folders of the feature's tests, best first"),
    Variable(
        "base_url",
        "outside text",
        "the tests' base URL as their settings write it, with its place; or empty",
    ),
    Variable(
        "auth_strategy",
        "outside text",
        "the line that says how the tests log in, with its place; or empty",
    ),
    Variable(
        "evidence",
        "object",
        f"`files` and `tests`, {ROW}; `findings`, each with `kind`, `text`, `sources`, `reason`, `score`, `fence`; "
        "`notes`; `left_out`, how many findings and lines of text are left out because they hold secrets. Its "
        "texts are outside text",
    ),
    Variable("level", "text", "`standard` or `full`"),
    Variable(
        "budget",
        "object",
        "most `facts` and `tokens` of the dossier, `codebase_tokens` of codebase.md alone",
    ),
    Variable(
        "files",
        "list of objects",
        "what to draft, in its order: `name`, `title`, `holds` (what belongs in)",
    ),
    Variable(
        "standing",
        "list of objects",
        "files that stand already and are not to be drafted: `name`, `text`",
    ),
    Variable(
        "servers",
        "list of objects",
        "MCP servers that may be searched: `name`, `tools` as the builder names them",
    ),
    Variable("seconds", "number", "how long the builder may take"),
    Variable("max_turns", "number", "how many turns it may take"),
)
HOLDS = {
    "patterns.md": "proven ways of this feature's tests: set-up and log-in, calls, selectors, waits, stubs, asserts; "
    "from a test that passes, with the odd step that a newcomer would miss",
    "codebase.md": "the few values, routes, selectors, states and callers that a test of it depends on; "
    "interactions that no single line shows; no list of definitions",
    "anti-patterns.md": "where documents and code disagree; what was tried and taken back; traps; helpers not to use, "
    "and what replaces them",
    "existing-tests.md": "tests and page objects to extend or reuse; what no test covers: branches, options, messages",
    "failures.md": "failing reports, bugs fixed more than once, skipped and flaky tests, with their causes",
    "requirements.md": "the acceptance criteria of ticket and documents, and which of them no code or test meets",
    "summary.md": 'the index, short: "## Where" (what is where), "## Before you write" (what to know first: the worst '
    'traps and gaps), "## Run" (the command that runs these tests)',
}
# Kinds of findings; what is worth most comes first.
KINDS = tuple(
    kind.replace("_", " ")
    for kind in """
    disagreement reverted turned known_trap warning deprecated unread changed inside gap again failed reported marked
    fix known_way setup act select wait replace assert example extend helper document criterion constant route setting
    selector caller twin symbol command
    """.split()
)
MOST_TICKET, MOST_STANDING, MOST_FENCE = 20_000, 20_000, 40
MOST_FINDINGS, MOST_ROWS = 90, 24
MOST_TOKENS = 3000  # of files, tests and findings together, estimated
SHOWN = frozenset(
    ("path", "reasons", "lines", "kind", "text", "sources", "fence")
)  # what our template shows of a row
CODEBASE_SHARE = 4  # codebase.md takes a quarter at most


def values(
    services: Services,
    request: Request,
    evidence: Evidence,
    staging: Path,
    files: tuple[str, ...],
    standing: Mapping[str, str],
) -> dict[str, object]:
    """The value of each variable; outside text is marked and harmless to look at. Raises E_PROMPT."""
    settings, without = services.settings, _WithoutSecrets(Credentials(services.layout.root))
    ticket = inputs.ticket(services.tree, request.ticket) if request.ticket else None
    leads = _evidence(evidence, without, whole_ticket=bool(ticket))
    given: dict[str, object] = {
        "version": VERSION,
        "mark": MARK,
        "feature": request.feature,
        "is_project": request.feature == PROJECT,
        "ticket": request.ticket,
        "ticket_text": block(without.lines(ticket or ""), MOST_TICKET),
        "description": block(without.lines(request.description), MOST_TICKET),
        "project_root": _path(services.layout.root),
        "output_directory": _path(staging),
        "test_folders": [line(folder) for folder in surroundings.test_folders(evidence)],
        "base_url": line(without.lines(surroundings.base_url(services, evidence))),
        "auth_strategy": line(without.lines(surroundings.auth_strategy(services, evidence))),
        "evidence": leads,
        "level": request.level,
        "budget": {
            "facts": settings.max_facts,
            "tokens": settings.max_tokens,
            "codebase_tokens": settings.max_tokens // CODEBASE_SHARE,
        },
        "files": [
            {"name": name, "title": BY_NAME[name].title, "holds": HOLDS[name]} for name in files
        ],
        "standing": [
            {"name": row.name, "text": block(without.lines(standing[row.name]), MOST_STANDING)}
            for row in FILES
            if row.name in standing
        ],
        "servers": _servers(settings.mcp, settings.mcp_tools),
        "seconds": round(settings.child_seconds(request.level)),
        "max_turns": settings.max_turns,
    }
    leads["left_out"] = without.count
    return given


class _WithoutSecrets:
    """Takes out of texts what must not be published, and counts it."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials, self.count = credentials, 0

    def lines(self, text: str) -> str:
        """The text without its lines that hold a secret; nothing of it when one goes over several lines."""
        if not self.credentials.found(text):
            return text
        every = text.split("\n")
        kept = [row for row in every if not self.credentials.found(row)]
        if self.credentials.found("\n".join(kept)):
            kept = []
        self.count += len(every) - len(kept)
        return "\n".join(kept) or "[left out: it holds a secret]"

    def holds(self, finding: Finding) -> bool:
        """Whether a finding says a secret, which is counted."""
        found = bool(
            self.credentials.found("\n".join((finding.text, *finding.sources, *finding.fence)))
        )
        self.count += found
        return found


def _evidence(
    evidence: Evidence, without: _WithoutSecrets, *, whole_ticket: bool
) -> dict[str, object]:
    files, tests = (
        _fitting(map(_ranked, rows), MOST_TOKENS // 4) for rows in (evidence.files, evidence.tests)
    )
    left = MOST_TOKENS - sum(map(_tokens, (*files, *tests)))
    return {
        "files": files,
        "tests": tests,
        "findings": _chosen(evidence, without, left, whole_ticket=whole_ticket),
        "notes": [line(without.lines(note)) for note in evidence.notes[:MOST_ROWS]],
    }


def _fitting(rows: Iterable[dict[str, object]], left: int) -> list[dict[str, object]]:
    """The first rows, as far as they take no more tokens than these."""
    kept: list[dict[str, object]] = []
    for row in rows:
        left -= _tokens(row)
        if left < 0 or len(kept) == MOST_ROWS:
            break
        kept.append(row)
    return kept


def _tokens(row: Mapping[str, object]) -> int:
    """About how many tokens a row of the evidence takes in the prompt: an estimate, 4 characters each."""
    shown = [value for name, value in row.items() if name in SHOWN]
    texts = [text for value in shown for text in (value if isinstance(value, list) else [value])]
    return dossier.tokens("".join(f"{text}, " for text in texts) + "\n")


def _path(path: Path) -> str:
    """A path as the builder needs it, so it stands where orders do: one that could say something there is refused."""
    real = os.path.realpath(path)
    if not real.isprintable():
        raise PrereadError(
            "E_PROMPT",
            f"The path {real!a} holds characters that a prompt cannot carry.",
            "Rename the folder.",
        )
    return real


def _ranked(ranked: Ranked) -> dict[str, object]:
    return {
        "path": line(ranked.path),
        "score": round(ranked.score, 2),
        "reasons": [line(reason) for reason in ranked.reasons],
        "lines": [f"{start}-{end}" for start, end in ranked.lines],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "kind": finding.kind,
        "text": line(finding.text),
        "sources": [line(source) for source in finding.sources],
        "reason": line(finding.reason),
        "score": round(finding.score, 2),
        "fence": [f for row in finding.fence[:MOST_FENCE] if (f := block(row, 200))],
    }


def _chosen(
    evidence: Evidence, without: _WithoutSecrets, left: int, *, whole_ticket: bool
) -> list[dict[str, object]]:
    """The best findings that fit, by kind; the ticket's criteria only where the ticket itself is not shown, and no
    main definitions, whose places stand beside the files."""
    order = {kind: place for place, kind in enumerate(KINDS)}
    chosen = []
    without_kinds = {"main", "criterion"} if whole_ticket else {"main"}
    for finding in [f for f in evidence.findings if f.kind not in without_kinds][:MOST_FINDINGS]:
        row = _finding(finding)
        if (cost := _tokens(row)) <= left and not without.holds(finding):
            left -= cost
            chosen.append(
                (
                    order.get(finding.kind, len(order)),
                    finding.kind,
                    -finding.score,
                    finding.text,
                    row,
                )
            )
    return [row for *_, row in sorted(chosen, key=lambda one: one[:4])]


def _servers(names: list[str], tools: list[str]) -> list[dict[str, object]]:
    """Each configured server that has a tool to call, with its tools as Claude Code names them."""
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(names):
        own = [
            tool.removeprefix(f"{name}.")
            for tool in dict.fromkeys(tools)
            if tool.startswith(f"{name}.")
        ]
        if own:
            rows.append(
                {
                    "name": _plain(name),
                    "tools": [f"mcp__{_plain(name)}__{_plain(tool)}" for tool in own],
                }
            )
    return rows


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
