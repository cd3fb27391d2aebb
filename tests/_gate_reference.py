# Paths are text here, as the contract has it.
# ruff: noqa: PTH110, PTH113, PTH118
"""What the gates decide by docs/gates-reference.md, in plain slow Python, for comparison.

Nothing here is imported from the hooks or from the package, and nothing is written.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import _gate_prompts as prompts
import _gate_shell as shell
from _gate_project import (
    BrokenGatesError,
    Rules,
    candidates,
    complete,
    dossier_problem,
    feature_of_text,
    is_feature,
    is_path,
    located,
    near,
    project_of_folder,
    read_rules,
    slug,
    switched_off,
    time_in,
)  # fmt: skip

CALL = "mcp__plugin_preread_preread__load_context"
FIND = "(if it is not among your tools yet, wait a few seconds and search them for load_context)"
PATHS = {
    "Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path"
}  # fmt: skip
OWN_FILES = {".project/gates", ".project/config.toml"}
OWN_FOLDERS = (".project/.state", ".project/context", ".project/.cache")
SEVERITY = ("block", "remark", "failure", "pass")


class InvalidEventError(Exception):
    """An invalid event."""


class Decision(NamedTuple):
    """A decision, the text for the model, and fragments of the text for the person."""

    kind: str
    text: str = ""
    person: tuple[str, ...] = ()


PASS = Decision("pass")


def failure(*fragments: str) -> Decision:
    return Decision("failure", "", ("preread: ", *fragments, "; nothing was blocked"))


def shown(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)[:200]


def call(feature: str, **more: Any) -> str:
    return f"{CALL} with {json.dumps({'feature': feature, **more})}"


@dataclass
class Gate:
    """One call to decide."""

    event: dict[str, Any]
    environ: Mapping[str, str]
    tool: str
    notes: list[str] = field(default_factory=list)

    @property
    def session_root(self) -> str | None:
        return project_of_folder(self.environ.get("CLAUDE_PROJECT_DIR")) or project_of_folder(
            self.event.get("cwd")
        )

    def roots(self, root: str) -> list[str]:
        return list(dict.fromkeys(filter(None, [root, self.session_root])))

    def mode(self, rules: Rules, root: str) -> str:
        switch = self.environ.get("PREREAD_GATES", "")
        if switch in {"off", "warn", "block"}:
            return switch
        if switch:
            self.notes += ["preread: ", "PREREAD_GATES"]
        for each in self.roots(root):
            path = os.path.join(each, ".project", ".state", "gates-off")
            if not os.path.lexists(path):
                continue
            until = switched_off(path)
            if until is None:
                self.notes += ["preread: ", "gates-off"]
            elif until > time.time():
                return "off"
        if rules.mode == "off":
            return "off"
        if self.environ.get("CI", "").lower() not in {"", "0", "false"}:
            return "warn"
        if rules.mode in {"", "block"} and (why := self.unready()) is not None:
            self.notes += ["preread: ", "only warn", why]
            return "warn"
        return rules.mode or "block"

    def unready(self) -> str | None:
        """Why the server cannot start, where the launcher has left word of it."""
        data = self.environ.get("CLAUDE_PLUGIN_DATA", "")
        path = os.path.join(data, "unready")
        return shown(Path(path).read_text().strip()) if data and os.path.isfile(path) else None

    def blocked(self, text: str, rules: Rules, root: str) -> Decision:
        mode = self.mode(rules, root)
        if mode == "off":
            return PASS
        if mode == "warn":
            return Decision("remark", text, tuple(self.notes))
        return Decision(
            "block",
            text,
            (*self.notes, "preread gates off --for 2h", "PREREAD_GATES=off", "mode off"),
        )

    def remarked(self, text: str, rules: Rules, root: str) -> Decision:
        return (
            PASS if self.mode(rules, root) == "off" else Decision("remark", text, tuple(self.notes))
        )

    # -- the dossier of a feature

    def stale(self, feature: str, root: str) -> bool:
        stands = next(each for each in self.roots(root) if dossier_problem(each, feature) == "")
        return os.path.exists(os.path.join(stands, ".project", ".cache", "stale", feature))

    def building(self, feature: str, root: str) -> bool:
        hints = (
            os.path.join(each, ".project", ".cache", "building", feature)
            for each in self.roots(root)
        )
        return any((time_in(hint) or 0) > time.time() for hint in hints)

    def reason(self, feature: str, rules: Rules, root: str) -> str:
        """Why the dossier cannot be used; empty when it can."""
        problems = [dossier_problem(each, feature) for each in self.roots(root)]
        if "" in problems:
            return ""
        for problem in problems:
            if problem != "none":
                return f"the dossier of {feature} is incomplete ({problem})"
        return f"there is no dossier for {feature} yet{near(feature, rules, self.roots(root))}"

    def demanded(self, feature: str, root: str, then: str, why: str) -> str:
        if self.building(feature, root):
            return (
                f"Call {call(feature)} again: its dossier is being built, "
                "and the call joins that build; "
                f"then {then}. Why: {why}"
            )
        return f"Call {call(feature)} {FIND}, then {then}. Why: {why}"

    # -- files

    def write(self, path: str) -> Decision:
        return self.own_file(path, removes=False) or self.gated_file(path)

    def own_file(self, path: str, *, removes: bool) -> Decision | None:
        data = self.environ.get("CLAUDE_PLUGIN_DATA", "").rstrip("/")
        session = self.session_root
        if data and f"{path}/".startswith(f"{data}/") and session is not None:
            found = self.owned(session, shown(path), path, removes=removes)
            if found is not None:
                return found
        for each in dict.fromkeys((path, os.path.realpath(path))):
            for root, relative in below_dot_project(each):
                lower = relative.lower()
                own = lower in OWN_FILES or any(
                    f"{lower}/".startswith(f"{folder}/") for folder in OWN_FOLDERS
                )
                if own or (removes and lower == ".project"):
                    name = shown(next((place for _, place in located(path)), ""))
                    if (found := self.owned(root, name, relative, removes=removes)) is not None:
                        return found
        return None

    def owned(self, root: str, name: str, relative: str, *, removes: bool) -> Decision | None:
        """The decision on an own file, where that project has a gates file."""
        try:
            rules = read_rules(root)
        except BrokenGatesError as broken:
            return failure(str(broken))
        return rules and self.blocked(own_text(name, relative, removes=removes), rules, root)

    def gated_file(self, path: str) -> Decision:
        places = candidates(path)
        for root, relative in places:
            try:
                rules = read_rules(root)
            except BrokenGatesError as broken:
                return failure(str(broken))
            feature = rules and rules.feature_of(relative)
            if rules and feature:
                return self.file(path, shown(places[0][1]), feature, rules, root)
        return PASS

    def file(self, path: str, name: str, feature: str, rules: Rules, root: str) -> Decision:
        tool = "command" if self.tool == "Bash" else self.tool
        reason = self.reason(feature, rules, root)
        if not reason and not self.stale(feature, root):
            return PASS
        if not reason:
            why = f"{name} is gated, and what its dossier cites or counts has changed."
            text = (
                f"The dossier of {feature} is stale: call {call(feature)} to refresh it. Why: {why}"
            )
            return self.remarked(text, rules, root)
        if os.path.exists(path):
            why = f"{name} is gated, and {reason}."
            if self.building(feature, root):
                return self.remarked(
                    self.demanded(feature, root, f"go on with this {tool}", why), rules, root
                )
            return self.remarked(
                f"Call {call(feature)} before you go on with this {tool}. Why: {why}", rules, root
            )
        why = (
            f"{name} is a new file for the feature {feature}, and {reason}: "
            "the feature's proven patterns, traps and helpers have to be read before the file is "
            "written."
        )
        return self.blocked(self.demanded(feature, root, f"retry this {tool}", why), rules, root)

    def bash(self, command: str) -> Decision:
        cwd = self.event.get("cwd")
        folder = (
            shell.absolute(cwd, "/")
            if isinstance(cwd, str) and cwd.startswith("/") and is_path(cwd)
            else None
        )
        found = [self.action(action) for action in shell.actions(command, folder)]
        return min(found, key=lambda decision: SEVERITY.index(decision.kind), default=PASS)

    def action(self, action: shell.Action) -> Decision:
        self.notes = []
        if action.what == "switch":
            return self.switch(action.path)
        if not is_path(action.path):
            return PASS
        if action.what == "remove":
            return self.own_file(action.path, removes=True) or PASS
        return self.write(action.path)

    def switch(self, folder: str) -> Decision:
        for root in dict.fromkeys(filter(None, [project_of_folder(folder), self.session_root])):
            try:
                rules = read_rules(root)
            except BrokenGatesError as broken:
                return failure(str(broken))
            if rules is not None:
                why = "only the person decides whether the gates are on."
                text = f"Do not run preread gates off yourself: {TELL}. Why: {why}"
                return self.blocked(text, rules, root)
        return PASS

    # -- agents

    def dispatch(self, name: str, prompt: str, asked: set[tuple[str, str]]) -> Decision:
        root = self.session_root
        if root is None:
            return PASS
        try:
            rules = read_rules(root)
        except BrokenGatesError as broken:
            return failure(str(broken))
        if rules is None or not rules.gates_agent(name):
            return PASS
        feature = named_feature(prompt, rules, root)
        if feature is None:
            return self.unknown(name, rules, root, asked)
        reason = self.reason(feature, rules, root)
        if reason:
            why = (
                f"{shown(name)} works on the feature {feature}, and {reason}: "
                "the feature's proven patterns, traps and helpers have to be read before the agent "
                "starts."
            )
            return self.blocked(
                self.demanded(feature, root, "retry this dispatch", why), rules, root
            )
        if not self.stale(feature, root):
            return PASS
        why = f"{shown(name)} works from it, and what it cites or counts has changed."
        text = f"The dossier of {feature} is stale: call {call(feature)} to refresh it. Why: {why}"
        return self.remarked(text, rules, root)

    def unknown(self, name: str, rules: Rules, root: str, asked: set[tuple[str, str]]) -> Decision:
        names = complete([root])[:5]
        listed = f" (there are dossiers of {', '.join(names)})" if names else ""
        why = "the prompt does not name one feature, so it is not known which dossier"
        why += f" {shown(name)} needs."
        text = f"Say feature: <name> in the prompt of this agent{listed}, then retry this dispatch."
        text += f" Why: {why}"
        session = self.event.get("session_id")
        if not isinstance(session, str) or not session or (root, session) in asked:
            return self.remarked(text, rules, root)
        decision = self.blocked(text, rules, root)
        if decision.kind == "block":
            asked.add((root, session))
        return decision


def below_dot_project(path: str) -> Iterable[tuple[str, str]]:
    """(folder, path from `.project` on) for each folder of that name, the innermost first."""
    parts = path.split("/")
    for place in range(len(parts) - 1, 0, -1):
        if parts[place].lower() == ".project":
            yield "/".join(parts[:place]) or "/", "/".join(parts[place:])


TELL = "tell the person what you would change and let them do it, then go on"


def own_text(name: str, relative: str, *, removes: bool) -> str:
    parts = relative.split("/")
    if relative.lower().startswith(".project/context/") and (
        is_feature(parts[2]) or parts[2] == "_project"
    ):
        again = call(parts[2], force=True)
        why = "a dossier is checked when it is built, and changes made by hand are not."
        verb = "remove" if removes else "edit"
        return (
            f"Do not {verb} {name}: call {again} to have it built again, "
            "or mcp__plugin_preread_preread__context_operation with "
            '{"method": "context.wrong", "params": {"fact": "ID or text"}} '
            f"for a fact that is wrong. Why: {why}"
        )
    why = "it belongs to the person and to Preread, and the gates rely on it."
    return f"Do not {'remove' if removes else 'write'} {name} yourself: {TELL}. Why: {why}"


def named_feature(prompt: str, rules: Rules, root: str) -> str | None:
    """The feature of a prompt: the first step that names any decides, if it names one."""
    known = {*complete([root]), *rules.aliases}

    def gated() -> Iterable[str]:
        for text in filter(is_path, prompts.paths(prompt)):
            for place, relative in candidates(shell.absolute(text, root)):
                if place == root and (feature := rules.feature_of(relative)):
                    yield feature
                    break

    steps: list[Callable[[], Iterable[str]]] = [
        lambda: prompts.explicit(prompt, slug),
        lambda: (word for word in prompts.quoted(prompt) if word in known),
        gated,
        lambda: prompts.mentioned(prompt, known),
        lambda: (
            word for word in prompts.quoted(prompt) if is_feature(word) and word not in prompts.STOP
        ),
        lambda: prompts.described(prompt, slug),
    ]
    for step in steps:
        names = {
            rules.served_by(name if name == "_project" else feature_of_text(name))
            for name in step()
        }
        if names:
            return names.pop() if len(names) == 1 else None
    return None


# -- events


def parse(data: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise InvalidEventError(constant)

    try:
        event = json.loads(data.replace(b"\0", b"").decode("utf-8"), parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise InvalidEventError(str(error)) from None
    if not isinstance(event, dict) or not isinstance(event.get("tool_name"), str):
        raise InvalidEventError("no event")
    return event


def argument(event: dict[str, Any], key: str) -> str:
    given = event.get("tool_input")
    value = given.get(key) if isinstance(given, dict) else None
    if not isinstance(value, str) or not value:
        raise InvalidEventError(key)
    return value


def written_path(event: dict[str, Any], key: str) -> str:
    path, cwd = argument(event, key), event.get("cwd")
    if not is_path(path):
        raise InvalidEventError("no path")
    if path.startswith("/"):
        return shell.absolute(path, "/")
    if not isinstance(cwd, str) or not cwd.startswith("/") or not is_path(cwd):
        raise InvalidEventError("no folder")
    return shell.absolute(path, cwd)


def decide(
    hook: str, data: bytes, environ: Mapping[str, str], asked: set[tuple[str, str]] | None = None
) -> Decision:
    """What `pre-spec-write` or `pre-task-gate` decides; `asked` is its memory of sessions."""
    if environ.get("PREREAD_CHILD") or environ.get("PREREAD_GATES") == "off":
        return PASS
    try:
        event = parse(data)
        gate = Gate(event, environ, event["tool_name"])
        if hook == "pre-spec-write" and gate.tool in PATHS:
            return gate.write(written_path(event, PATHS[gate.tool]))
        if hook == "pre-spec-write" and gate.tool == "Bash":
            return gate.bash(argument(event, "command"))
        if hook == "pre-task-gate" and gate.tool in {"Agent", "Task"}:
            given = event.get("tool_input")
            if not isinstance(given, dict):
                raise InvalidEventError("tool_input")
            name, prompt = given.get("subagent_type"), given.get("prompt")
            if isinstance(name, str) and name:
                return gate.dispatch(
                    name,
                    prompt if isinstance(prompt, str) else "",
                    set() if asked is None else asked,
                )
    except InvalidEventError:
        return failure()
    return PASS
