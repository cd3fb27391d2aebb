"""`init`: set up a project with settings, gates and git rules that fit the tests it has."""

import json
import os

from pydantic import Field

from preread import git_rules, settings_loading
from preread.infra import assets, atomic
from preread.infra.reading import plain_bytes
from preread.layout import Layout
from preread.models import Model
from preread.operations.conventions import Convention, conventions, reports
from preread.operations.init_undo import IGNORES, is_of_init, undo
from preread.operations.previews import change
from preread.operations.registry import Operation, Preview, RequestModel, threaded
from preread.services import Services
from preread.settings import Settings, personal_keys

ATTRIBUTES = (
    "context/**/*.md merge=union\ncontext/**/manifest.json merge=union\nknowledge.md merge=union\n"
)


class InitRequest(RequestModel):
    """How to set the project up."""

    share: bool = Field(
        False,
        description="Commit dossiers: git does not ignore them, and merges them line by line.",
    )
    undo: bool = Field(
        False, description="Remove what init wrote; files changed since then are copied first."
    )


class Found(Model):
    """A test framework that is used here, and the gate rules for its tests."""

    framework: str
    files: int
    rules: tuple[str, ...]


class InitReply(Model):
    """What was written, and what was left alone."""

    root: str
    written: tuple[str, ...]
    removed: tuple[str, ...] = ()
    kept: tuple[str, ...] = Field(description="Files that existed already and were not touched.")
    found: tuple[Found, ...]
    reports: tuple[str, ...] = Field(
        description="Globs of test reports that exist or are configured."
    )
    notes: tuple[str, ...] = ()
    next: str


def _init(services: Services, request: InitRequest) -> InitReply:
    layout = services.layout
    # Invalid settings are an error here: what is written depends on them.
    settings_loading.load(layout, services.environ)
    share = request.share or services.settings.share
    found, globs = conventions(services), reports(services)
    texts = _texts(found, globs, share=share)
    if request.undo:
        return _undone(services, {**texts, ".gitattributes": ATTRIBUTES})
    written, kept = [], []
    for name, text in texts.items():
        path = layout.project / name
        if _is_kept(layout, name):
            kept.append(layout.relative(path))
        else:
            atomic.write(path, text.encode(), durable=True)
            written.append(layout.relative(path))
    return InitReply(
        root=str(layout.root),
        written=tuple(written),
        kept=tuple(kept),
        found=tuple(Found(framework=c.framework, files=c.count, rules=c.rules) for c in found),
        reports=tuple(globs),
        notes=tuple(_notes(services, kept, found, share=share)),
        next="Review .project/gates, then try: `preread load _project`",
    )


def _texts(found: list[Convention], globs: list[str], *, share: bool) -> dict[str, str]:
    """The files that a new project gets: name -> text."""
    texts = {
        "config.toml": _config(share=share, globs=globs),
        "gates": assets.render("init/gates.j2", {"conventions": found}),
        ".gitignore": git_rules.text(share=share),
    }
    return {**texts, ".gitattributes": ATTRIBUTES} if share else texts


def _is_kept(layout: Layout, name: str) -> bool:
    """Whether a file exists that `init` leaves alone."""
    is_provisional = name == ".gitignore" and git_rules.is_provisional(layout)
    return os.path.lexists(layout.project / name) and not is_provisional


def _preview(services: Services, request: InitRequest) -> Preview:
    layout = services.layout
    settings_loading.load(layout, services.environ)
    share = request.share or services.settings.share
    texts = _texts(conventions(services), reports(services), share=share)
    changes = []
    for name, text in ({**texts, ".gitattributes": ATTRIBUTES} if request.undo else texts).items():
        data = plain_bytes(layout.project / name)
        before = None if data is None else data.decode("utf-8", "replace")
        is_removed = request.undo and name != IGNORES and is_of_init(name, data, text)
        if is_removed or not (request.undo or _is_kept(layout, name)):
            changes.append(change(f".project/{name}", before, None if request.undo else text))
    return Preview(changes=tuple(changes), notes=() if changes else ("Nothing would change.",))


def _undone(services: Services, texts: dict[str, str]) -> InitReply:
    removed, kept, notes = undo(services.layout, texts)
    again = "Set the project up again: `preread init`"
    return InitReply(
        root=str(services.layout.root),
        written=(),
        removed=tuple(removed),
        kept=tuple(kept),
        found=(),
        reports=(),
        notes=tuple(notes),
        next=again if removed else f"There was nothing to undo. {again}",
    )


def _config(*, share: bool, globs: list[str]) -> str:
    defaults = Settings()
    chosen: dict[str, object] = {}
    if globs:
        chosen["reports"] = list(dict.fromkeys([*globs, *defaults.reports]))
    if share:
        chosen["share"] = True
    rows = []
    for key, about in Settings.model_fields.items():
        if key in personal_keys():
            continue
        value = chosen.get(key, getattr(defaults, key))
        # For these types, JSON is valid TOML.
        text = json.dumps(value, ensure_ascii=False)
        note = "The first of these were found here." if key == "reports" and globs else ""
        rows.append(
            {
                "key": key,
                "doc": about.description,
                "value": text,
                "chosen": key in chosen,
                "note": note,
            }
        )
    return assets.render("init/config.toml.j2", {"settings": rows})


def _notes(
    services: Services, kept: list[str], found: list[Convention], *, share: bool
) -> list[str]:
    notes = [] if found else ["No tests were found, so .project/gates gates nothing yet."]
    if ".project/.gitignore" in kept:
        text = plain_bytes(services.layout.project / ".gitignore") or b""
        has = text.decode("utf-8", "replace").split()
        lacking = [line for line in git_rules.ignored(share=share) if line not in has]
        notes += [f".project/.gitignore was kept; it does not list {line}" for line in lacking]
        if share and "context/" in has:
            notes.append(
                ".project/.gitignore was kept; remove `context/` from it to share dossiers."
            )
    if share and ".project/config.toml" in kept and not services.settings.share:
        notes.append(".project/config.toml was kept; set `share = true` in it.")
    if share and services.tree.is_git:
        # `check-ignore` does not support literal pathspecs.
        command = ("--no-literal-pathspecs", "check-ignore", "-v", ".project/context")
        rule = services.tree.git(*command).out.decode("utf-8", "replace").partition("\t")[0]
        if rule and not rule.startswith(".project/.gitignore:"):
            notes.append(f"Git ignores dossiers because of {rule}; remove that to share them.")
    return notes


OPERATION = Operation(
    name="config.init",
    request=InitRequest,
    reply=InitReply,
    effect="write",
    doc="Set up the project: settings, gates and git rules that fit the tests it has.",
    example="preread init --share",
    run=threaded(_init),
    preview=threaded(_preview),
    command="init",
)
