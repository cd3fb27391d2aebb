"""The values of the template's variables for one request."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from preread import dossier, inputs
from preread.errors import PrereadError
from preread.gates.feature_names import PROJECT
from preread.infra.sandbox import MARK
from preread.infra.secrets import Credentials
from preread.layout import BY_NAME, FILES
from preread.models import Evidence, Finding, Ranked, Request
from preread.prompt import app_access
from preread.prompt.outside import block, line
from preread.prompt.variables import CONTENTS, VERSION
from preread.services import Services

# The files of a dossier whose findings are shown, first what the code itself does not say.
LEADS = (
    "failures.md", "anti-patterns.md", "requirements.md", "existing-tests.md", "patterns.md",
    "codebase.md",
)  # fmt: skip
MAX_TEXT = 20_000  # characters of a ticket, a description, an existing file
MAX_FENCE = 40  # lines
MAX_FINDINGS, MAX_ROWS = 90, 24
MAX_TOKENS = 3000  # of files, tests and findings together, estimated
# The fields of a row that Preread's own template prints.
PRINTED = frozenset(("path", "reasons", "lines", "section", "text", "sources", "fence"))
CODEBASE_SHARE = 4  # codebase.md gets at most a quarter of the tokens


def values(
    services: Services,
    request: Request,
    evidence: Evidence,
    staging: Path,
    files: tuple[str, ...],
    existing: Mapping[str, str],
) -> dict[str, object]:
    """The value of each variable, with outside text marked and made visible. Raises E_PROMPT."""
    settings, secrets = services.settings, _SecretFilter(Credentials(services.layout.root))
    ticket = inputs.ticket(services.tree, request.ticket) if request.ticket else None
    leads = _evidence(evidence, secrets, has_ticket=bool(ticket))
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
        "base_url": line(secrets.remove(app_access.base_url(services, evidence))),
        "auth_strategy": line(secrets.remove(app_access.auth_strategy(services, evidence))),
        "evidence": leads,
        "level": request.level,
        "budget": {
            "facts": settings.max_facts,
            "tokens": settings.max_tokens,
            "codebase_tokens": settings.max_tokens // CODEBASE_SHARE,
        },
        "files": [
            {"name": name, "title": BY_NAME[name].title, "holds": CONTENTS[name]} for name in files
        ],
        "standing": _existing(existing, secrets),
        "servers": _servers(settings.mcp, settings.mcp_tools),
        "seconds": round(settings.child_seconds(request.level)),
        "max_turns": settings.max_turns,
    }
    leads["left_out"] = secrets.removed
    return given


class _SecretFilter:
    """Removes what must not be published from texts, and counts what it removed."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials, self.removed = credentials, 0

    def remove(self, text: str) -> str:
        """The text without lines that contain a secret; all of it goes if one spans lines."""
        if not self.credentials.found(text):
            return text
        every = text.split("\n")
        kept = [row for row in every if not self.credentials.found(row)]
        if self.credentials.found("\n".join(kept)):
            kept = []
        self.removed += len(every) - len(kept)
        return "\n".join(kept) or "[left out: it contains a secret]"

    def rejects(self, finding: Finding) -> bool:
        """Whether a finding contains a secret; it is counted if so."""
        text = "\n".join((finding.text, *finding.sources, *finding.fence))
        found = bool(self.credentials.found(text))
        self.removed += found
        return found


def _existing(existing: Mapping[str, str], secrets: _SecretFilter) -> list[dict[str, str]]:
    return [
        {"name": row.name, "text": block(secrets.remove(existing[row.name]), MAX_TEXT)}
        for row in FILES
        if row.name in existing
    ]


def _evidence(evidence: Evidence, secrets: _SecretFilter, *, has_ticket: bool) -> dict[str, object]:
    files, tests = (
        _fitting(map(_ranked, rows), MAX_TOKENS // 4) for rows in (evidence.files, evidence.tests)
    )
    left = MAX_TOKENS - sum(map(_tokens, (*files, *tests)))
    return {
        "files": files,
        "tests": tests,
        "findings": _findings(evidence, secrets, left, has_ticket=has_ticket),
        "notes": [line(secrets.remove(note)) for note in evidence.notes[:MAX_ROWS]],
    }


def _fitting(rows: Iterable[dict[str, object]], left: int) -> list[dict[str, object]]:
    """The first rows, up to `left` tokens in all."""
    kept: list[dict[str, object]] = []
    for row in rows:
        left -= _tokens(row)
        if left < 0 or len(kept) == MAX_ROWS:
            break
        kept.append(row)
    return kept


def _tokens(row: Mapping[str, object]) -> int:
    """About how many tokens a row of the evidence takes in the prompt."""
    printed = [value for name, value in row.items() if name in PRINTED]
    texts = [text for value in printed for text in (value if isinstance(value, list) else [value])]
    return dossier.tokens("".join(f"{text}, " for text in texts) + "\n")


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


def _ranked(ranked: Ranked) -> dict[str, object]:
    return {
        "path": line(ranked.path),
        "score": round(ranked.score, 2),
        "reasons": [line(reason) for reason in ranked.reasons],
        "lines": [f"{start}-{end}" for start, end in ranked.lines],
    }


def _finding(finding: Finding) -> dict[str, object]:
    return {
        "section": line(finding.section),
        "text": line(finding.text),
        "sources": [line(source) for source in finding.sources],
        "score": round(finding.score, 2),
        "fence": [f for row in finding.fence[:MAX_FENCE] if (f := block(row, 200))],
    }


def _findings(
    evidence: Evidence, secrets: _SecretFilter, left: int, *, has_ticket: bool
) -> list[dict[str, object]]:
    """The best findings that fit into `left` tokens, by section.

    A ticket's criteria are left out where the prompt has the ticket itself.
    """
    skipped = "ticket" if has_ticket else ""
    found = [one for one in evidence.findings if one.file in LEADS and one.rule != skipped]
    best = sorted(found, key=lambda one: (-one.score, LEADS.index(one.file)))[:MAX_FINDINGS]
    chosen = []
    for finding in best:
        row = _finding(finding)
        if (cost := _tokens(row)) <= left and not secrets.rejects(finding):
            left -= cost
            chosen.append((LEADS.index(finding.file), found.index(finding), row))
    return [row for _, _, row in sorted(chosen, key=lambda one: one[:2])]


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
