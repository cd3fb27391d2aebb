"""The values of the template's variables for one request."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from preread import inputs
from preread.dossier import fact_text
from preread.errors import PrereadError
from preread.gates.feature_names import PROJECT
from preread.infra.sandbox import MARK
from preread.infra.secrets import Credentials
from preread.layout import BY_NAME, FILES
from preread.models import Evidence, Finding, Ranked, Request
from preread.prompt import app_access, history
from preread.prompt.outside import block, line
from preread.prompt.variables import CONTENTS, VERSION
from preread.services import Services
from preread.settings import RESERVED

# The rules whose findings are worth checking; what the code itself does not say comes first. The
# other rules summarise what the model reads anyway, or their findings are shown as commits and
# documents.
LEADS = (
    "failing", "flaky", "comments", "deprecations", "skipped", "knowledge",
    "ticket", "required", "unmentioned", "helpers", "run",
)  # fmt: skip
MAX_TEXT = 20_000  # characters of a ticket, a description, an existing file
MAX_BODY = 300  # characters of a commit's message
MAX_OF_RULE = 6  # findings of one rule
MAX_PLACES, MAX_DOCUMENTS, MAX_NOTES = 6, 4, 24  # files, and as many tests; documents; notes
MAX_SYMBOLS = 100  # characters of the names at one place
MAX_TOKENS = 3000  # of all leads together, estimated
LOOK_UPS = {"standard": 40, "full": 60}  # how many it takes to find most of what there is to find
CODEBASE_SHARE = 4  # codebase.md gets at most a quarter of the tokens


def values(
    services: Services,
    request: Request,
    evidence: Evidence,
    staging: Path,
    files: tuple[str, ...],
    existing: Mapping[str, str],
    changed: Iterable[str] = (),
) -> dict[str, object]:
    """The value of each variable, with outside text marked and made visible. Raises E_PROMPT."""
    settings, secrets = services.settings, _SecretFilter(Credentials(services.layout.root))
    ticket = inputs.ticket(services.tree, request.ticket) if request.ticket else None
    leads = _leads(services, evidence, secrets, has_ticket=bool(ticket))
    has_pages = app_access.has_pages(services, evidence)
    base_url = app_access.base_url(services, evidence) if has_pages else ""
    log_in = app_access.auth_strategy(services, evidence) if has_pages else ""
    given: dict[str, object] = {
        "version": VERSION,
        "mark": MARK,
        "feature": request.feature,
        "is_project": request.feature == PROJECT,
        "ticket": request.ticket,
        "ticket_text": block(secrets.remove(ticket or ""), MAX_TEXT),
        "description": block(secrets.remove(request.description), MAX_TEXT),
        "project_root": _path(services.layout.root),
        "output_directory": _path(staging),
        "test_folders": [line(folder) for folder in app_access.test_folders(evidence)],
        "base_url": line(secrets.remove(base_url)),
        "auth_strategy": line(secrets.remove(log_in)),
        "has_pages": has_pages,
        "evidence": leads,
        "level": request.level,
        "budget": {
            "facts": settings.max_facts,
            "tokens": settings.tokens(request.level),
            "codebase_tokens": settings.tokens(request.level) // CODEBASE_SHARE,
        },
        "files": [
            {"name": name, "title": BY_NAME[name].title, "holds": CONTENTS[name]} for name in files
        ],
        "standing": _existing(existing, secrets),
        "changed": block(secrets.remove("\n".join(changed)), MAX_TEXT),
        "servers": _servers(settings.mcp, settings.mcp_tools),
        "seconds": round((1 - RESERVED) * settings.child_seconds(request.level)),
        "max_turns": max(1, round((1 - RESERVED) * settings.max_turns)),
        "look_ups": LOOK_UPS.get(request.level, LOOK_UPS["standard"]),
    }
    leads["left_out"] = secrets.removed
    return given


class _SecretFilter:
    """Removes what must not be published from texts, and counts what it removed."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials, self.removed = credentials, 0

    def remove(self, text: str) -> str:
        """The text without lines that contain a secret; empty if one spans several lines."""
        if not self.credentials.found(text):
            return text
        every = text.split("\n")
        kept = [row for row in every if not self.credentials.found(row)]
        if self.credentials.found("\n".join(kept)):
            kept = []
        self.removed += len(every) - len(kept)
        return "\n".join(kept) or "[left out: it contains a secret]"

    def rejects(self, text: str) -> bool:
        """Whether a lead contains a secret; it is counted if so."""
        found = bool(self.credentials.found(text))
        self.removed += found
        return found


def _existing(existing: Mapping[str, str], secrets: _SecretFilter) -> list[dict[str, str]]:
    return [
        {"name": row.name, "text": block(secrets.remove(existing[row.name]), MAX_TEXT)}
        for row in FILES
        if row.name in existing
    ]


def _leads(
    services: Services, evidence: Evidence, secrets: _SecretFilter, *, has_ticket: bool
) -> dict[str, object]:
    """The leads, as many of each kind as fit: commits first, then documents, places, findings."""
    room = _Room(secrets)
    skipped = {"ticket"} if has_ticket else set()  # the prompt has the ticket itself
    best = sorted(
        (one for one in evidence.findings if one.rule in LEADS and one.rule not in skipped),
        key=lambda one: (LEADS.index(one.rule), -one.score),
    )
    return {
        "commits": room.fitting(map(_commit, history.commits(services, evidence))),
        "documents": room.fitting(_places(evidence.docs, MAX_DOCUMENTS)),
        "files": room.fitting(_places(evidence.files, MAX_PLACES)),
        "tests": room.fitting(_places(evidence.tests, MAX_PLACES)),
        "findings": room.fitting(map(_finding, _first_of_each(best))),
        "notes": [line(secrets.remove(note)) for note in evidence.notes[:MAX_NOTES]],
    }


def _first_of_each(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The first findings of each rule."""
    counts: dict[str, int] = {}
    for one in findings:
        counts[one.rule] = counts.get(one.rule, 0) + 1
        if counts[one.rule] <= MAX_OF_RULE:
            yield one


class _Room:
    """What is left of the leads' tokens."""

    def __init__(self, secrets: _SecretFilter) -> None:
        self.secrets, self.left = secrets, MAX_TOKENS

    def fitting(self, rows: Iterable[dict[str, object]]) -> list[dict[str, object]]:
        """The rows without secrets that fit into what is left."""
        kept: list[dict[str, object]] = []
        for row in rows:
            text = "\n".join(_texts(row))
            cost = fact_text.tokens(text) + 4
            if cost <= self.left and not self.secrets.rejects(text):
                self.left -= cost
                kept.append(row)
        return kept


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _texts(inner)


def _path(path: Path) -> str:
    """A path for the instructions themselves; refused if it could smuggle text into them."""
    real = os.path.realpath(path)
    if not real.isprintable():
        raise PrereadError(
            "E_PROMPT",
            f"The path {real!a} has characters that a prompt cannot carry.",
            "Rename the folder.",
        )
    return real


def _places(ranked: Sequence[Ranked], most: int) -> Iterator[dict[str, object]]:
    """The best files with lines that matter; if there are none, the best files."""
    exact = [one for one in ranked if one.lines]
    return map(_ranked, (exact or ranked)[:most])


def _ranked(ranked: Ranked) -> dict[str, object]:
    names = (*ranked.symbols, *("" for _ in ranked.lines[len(ranked.symbols) :]))
    places = [
        {"lines": f"{start}-{end}", "symbols": line(name, MAX_SYMBOLS)}
        for (start, end), name in zip(ranked.lines, names, strict=False)
    ]
    return {
        "path": line(ranked.path),
        "score": round(ranked.score, 2),
        "places": places,
    }


def _commit(lead: history.CommitLead) -> dict[str, object]:
    return {
        "source": lead.source,
        "date": lead.date,
        "subject": line(lead.subject),
        "body": line(lead.body, MAX_BODY),
        "path": line(lead.path),
        "removed": line(lead.removed),
        "added": line(lead.added),
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "section": line(finding.section),
        "text": line(finding.text),
        "sources": [line(source) for source in finding.sources],
        "score": round(finding.score, 2),
    }


def _servers(names: list[str], tools: list[str]) -> list[dict[str, object]]:
    """Each configured server with a tool to call, and its tools as Claude Code names them."""
    rows: list[dict[str, object]] = []
    for name in dict.fromkeys(names):
        prefix, server = f"{name}.", _tool_name_part(name)
        own = [
            tool.removeprefix(prefix) for tool in dict.fromkeys(tools) if tool.startswith(prefix)
        ]
        if own:
            calls = [f"mcp__{server}__{_tool_name_part(tool)}" for tool in own]
            rows.append({"name": server, "tools": calls})
    return rows


def _tool_name_part(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
