"""How the replies of `init`, `doctor` and `gates` look to a person."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from preread.cli.terminal import Block, Marked, Table
from preread.infra.plural import counted

if TYPE_CHECKING:
    from preread.operations.doctor import DoctorReply
    from preread.operations.gates import GatesReply
    from preread.operations.hooks import DossierFound, Explained
    from preread.operations.init import InitReply
    from preread.operations.install_client import InstallReply

DECIDED = {"block": "blocked", "remark": "remarked", "failure": "let through", "pass": "passed"}


def init(reply: "InitReply") -> Iterator[Block]:
    yield f"Project: {reply.root}"
    yield from (
        f"found {f.framework}, {counted(f.files, 'file')}: {', '.join(f.rules)}"
        for f in reply.found
    )
    yield from (f"reports: {glob}" for glob in reply.reports)
    yield from (f"wrote {path}" for path in reply.written)
    yield from (f"removed {path}" for path in reply.removed)
    existed = "" if reply.removed else ", which existed already"
    yield from (f"kept {path}{existed}" for path in reply.kept)
    yield from (f"note: {note}" for note in reply.notes)
    yield reply.next


def install_client(reply: "InstallReply") -> Iterator[Block]:
    would = "would be " if reply.diff else ""  # only a dry run has a diff
    yield f"{would}{reply.state}: {reply.path}"
    yield from (reply.diff,) if reply.diff else ()
    yield from (reply.next,) if reply.next else ()


def doctor(reply: "DoctorReply") -> Iterator[Block]:
    for check in reply.looks:
        padding = " " * (6 - len(check.state))
        yield Marked(check.state, f"{padding}{check.name:<9}  {check.found}")
        if check.hint:
            yield f"{'':17}{check.hint}"


def gates(reply: "GatesReply") -> Iterator[Block]:
    if reply.action == "test":
        rows = [
            (DECIDED[path.decision], path.target, path.served_by or "-", _by(path))
            for path in reply.paths
        ]
        yield Table(("would be", "path", "feature", "by"), rows)
        yield from () if reply.mode == "block" else reply.says
        return
    for path in reply.paths:
        yield f"{path.target} would be {DECIDED[path.decision]}."
        yield from (f"  {label:<9} {text}" for label, text in _explained(path) if text)
    yield from () if reply.paths else reply.says


def _by(path: "Explained") -> str:
    if path.broken is not None:
        return f"the gates file is broken, line {path.broken.line}"
    if path.own:
        return "the project's own file"
    return f"line {path.line}: {path.rule}" if path.rule is not None else "no rule"


def _dossier(found: "DossierFound") -> str:
    marks = ["is complete" if found.stands else "is incomplete"]
    marks += ["being built"] if found.building else []
    marks += ["stale"] if found.stale else []
    files = ", ".join(f"{name} {state}" for name, state in found.files.items())
    return f"{'; '.join(marks)} in {found.project}: {files}"


def _explained(path: "Explained") -> Iterator[tuple[str, str]]:
    """Why this would happen to a path, in the order in which a person would look it up."""
    if path.broken is None:
        yield "project", path.project or "none: no folder above it contains .project or .git"
    yield "by", f"{_by(path)}" if path.gates or path.broken else "no gates file: nothing is gated"
    if path.broken is not None:
        yield "broken", f"it {path.broken.why}"
    if path.mode is not None:
        yield "mode", f"{path.mode} ({path.mode_from})"
    if path.feature is not None:
        alias = f", an alias of {path.served_by}" if path.served_by != path.feature else ""
        renamed = path.captured and path.captured != path.feature
        origin = f", from {path.captured!r}" if renamed else ""
        yield "feature", f"{path.feature}{origin}{alias}"
        yield "file", "exists: a write only gets a remark" if path.exists else "is new"
    yield from (("dossier", _dossier(found)) for found in path.dossiers)
    yield "near", ", ".join(path.near)
    yield from (("ignored", note) for note in path.notes)
    yield "model", path.text
    yield "person", path.person
