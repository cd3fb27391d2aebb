"""The tables of the documents, made from the code; `python tests/_documents.py` updates them."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

if TYPE_CHECKING:
    from preread.models import Evidence

ROOT = Path(__file__).resolve().parents[1]


GROUPS = {
    "context": "dossiers", "builds": "running builds", "knowledge": "facts", "memory": "memory",
    "documents": "documents", "graph": "documents", "integrity": "repair and backups", "history": "history of facts",
    "workflow": "workflows", "worktree": "worktrees", "agent": "agents", "attention": "working memory", "session": "other sessions",
    "audit": "log of calls", "config": "setup",
}  # fmt: skip


def _commands() -> list[tuple[str, str, str]]:
    """Category, words and doc of each command."""
    from preread.cli.builds import tail
    from preread.cli.commands import mcp, watch
    from preread.cli.daemon import serve, token
    from preread.operations import REGISTRY

    rows = [
        (op.category, " ".join((op.command, *(name.upper() for name in op.positional))), op.doc)
        for op in REGISTRY.values()
        if op.command
    ]
    others = (
        ("builds", "builds tail", tail), ("history", "watch", watch), ("config", "mcp", mcp),
        ("config", "serve", serve), ("config", "token", token),
    )  # fmt: skip
    return [
        *rows,
        *((group, word, (it.help or "").partition("\n")[0]) for group, word, it in others),
    ]


def groups() -> str:
    """The commands by what they are about."""
    found: dict[str, list[str]] = {}
    for category, words, _ in _commands():
        found.setdefault(GROUPS[category], []).append(f"`{words}`")
    lines = [f"| {group} | {', '.join(words)} |" for group, words in found.items()]
    return "\n".join(["| about | `preread …` |", "| --- | --- |", *lines])


def commands() -> str:
    lines = [f"| `preread {words}` | {doc} |" for _, words, doc in _commands()]
    return "\n".join(["| command | what it does |", "| --- | --- |", *lines])


def conditions() -> str:
    from preread.operations.workflow.definitions import CONDITIONS

    rows = [f"| `{name}` | {meaning} |" for name, meaning in CONDITIONS.items()]
    return "\n".join(["| condition | is met when |", "| --- | --- |", *rows])


def operations() -> str:
    from preread.operations import REGISTRY
    from preread.operations.arguments import signature

    rows = [
        f"| `{op.name}` | {signature(op.request)} | {op.effect}{', people' * op.people_only} | {op.doc} |"
        for op in REGISTRY.values()
    ]
    return "\n".join(
        ["| operation | params | effect | what it does |", "| --- | --- | --- | --- |", *rows]
    )


# What README shows; docs/settings.md has them all.
MAIN_SETTINGS = (
    "level", "timeout", "model", "max_usd", "deepen", "mcp", "exclude", "share", "allow"
)  # fmt: skip


def main_settings() -> str:
    return settings(MAIN_SETTINGS)


def settings(only: tuple[str, ...] = ()) -> str:
    from preread.settings import Settings

    lines = []
    for key, field in Settings.model_fields.items():
        if only and key not in only:
            continue
        default = field.get_default(call_default_factory=True)
        shown = "none" if default in ("", []) else f"`{default}`"
        if isinstance(default, list) and default:
            shown = ", ".join(f"`{value}`" for value in default)
        lines.append(f"| `{key}` | {shown} | {field.description} |")
    return "\n".join(["| key | default | meaning |", "| --- | --- | --- |", *lines])


def errors() -> str:
    from preread.errors import CODES

    lines = [
        f"| `{name}` | {code.exit} | {code.jsonrpc} | {code.meaning} |"
        for name, code in CODES.items()
    ]
    return "\n".join(
        ["| code | exit status | JSON-RPC | means |", "| --- | --- | --- | --- |", *lines]
    )


def variables() -> str:
    from preread.prompt.variables import VARIABLES

    lines = [f"| `{row.name}` | {row.type} | {row.meaning} |" for row in VARIABLES]
    return "\n".join(["| variable | type | meaning |", "| --- | --- | --- |", *lines])


def rules() -> str:
    from preread.evidence.rules import RULES

    rows = [f"| `{r.name}` | {r.file} | {r.heading} | {r.example} |" for r in RULES]
    return "\n".join(["| rule | file | heading | like |", "| --- | --- | --- | --- |", *rows])


def reply() -> "Evidence":
    """What evidence says of the example project's checkout."""
    from preread.models import Evidence

    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "shop"
        shutil.copytree(ROOT / "examples" / "shop", project)
        command = [
            sys.executable,
            "-m",
            "preread",
            "evidence",
            "checkout",
            "--limit",
            "1000",
            "--json",
        ]
        environ = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
        done = subprocess.run(command, cwd=project, env=environ, capture_output=True, check=True)
    return Evidence.model_validate_json(done.stdout)


def evidence() -> str:
    """What a terminal of 100 columns shows of it."""
    from preread.cli import views

    found = reply()
    shown = found.model_copy(
        update={name: getattr(found, name)[:3] for name in ("files", "tests", "docs", "findings")}
    )
    with mock.patch.dict(os.environ, {"NO_COLOR": "1", "COLUMNS": "100"}):
        text = views.render("context.evidence", shown, terminal=True)
    return "\n".join(["```", *(line.rstrip() for line in text.split("\n")), "```"])


TABLES = {
    "README.md": {"commands": groups, "settings": main_settings},
    "docs/commands.md": {"commands": commands},
    "docs/settings.md": {"settings": settings},
    "docs/errors.md": {"errors": errors},
    "docs/operations.md": {"operations": operations},
    "docs/workflows.md": {"conditions": conditions},
    "docs/prompt.md": {"variables": variables},
    "docs/evidence.md": {"rules": rules},
}
EXAMPLES = {
    "docs/evidence.md": {"evidence": evidence}
}  # their order and scores may be those of another day


def written(path: str, *, examples: bool = False) -> str:
    """The document with its tables, and its examples if asked for, as the code has them now."""
    text = (ROOT / path).read_text(encoding="utf-8")
    shown = TABLES.get(path, {}) | (EXAMPLES.get(path, {}) if examples else {})
    for name, table in shown.items():
        marked = re.compile(rf"(<!-- {name} -->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
        found = marked.search(text)
        if found is None:
            raise LookupError(f"{path} has no place for the table {name}")
        text = f"{text[: found.end(1)]}{table()}{text[found.start(2) :]}"
    return text


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "server"))
    for document in TABLES | EXAMPLES:
        text = written(document, examples=True)
        (ROOT / document).write_text(text, encoding="utf-8")
