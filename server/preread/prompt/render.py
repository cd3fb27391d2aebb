"""Renders the prompt: Preread's template in this process, a project's own in a separate one."""

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preread.errors import PrereadError
from preread.infra import sandbox
from preread.infra.sandbox import Fault, Template, TemplateError
from preread.prompt.template import DEFAULT, NAME, OVERRIDE, default, override

if TYPE_CHECKING:
    from preread.models import Evidence, Request
    from preread.services import Services

HELP = "docs/prompt.md lists the variables and the blocks."
MAX_PROMPT = 400_000  # characters
RENDER_SECONDS, RENDER_SHARE = 10.0, 0.25  # limits: seconds, and share of the model's time


def prepare(
    services: "Services",
    request: "Request",
    evidence: "Evidence",
    staging: Path,
    files: tuple[str, ...],
    existing: Mapping[str, str] | None = None,
    *,
    changed: tuple[str, ...] = (),
    own: bool = True,
) -> Callable[[], str]:
    """A function that returns the prompt for drafting `files` into `staging`.

    `existing` are the texts of files that are not to be drafted again, `changed` earlier facts
    whose lines have changed. Preread's own template is rendered when the function is called, while
    the child starts. A project's template is rendered at once, because it may be wrong; without
    `own` it is not used. Raises E_PROMPT.
    """
    from preread.prompt import values  # a cached reply needs the template's digest alone

    given = values.values(services, request, evidence, staging, files, existing or {}, changed)
    template = override(services) if own else None
    text = cache(partial(_rendered, services, given, template))
    if template is not None:
        text()
    return text


def _rendered(services: "Services", given: Mapping[str, object], own: str | None) -> str:
    from preread.prompt import outside

    templates = {DEFAULT: Template(f"prompts/{NAME}", default())}
    try:
        if own is None:
            text = sandbox.render_sandboxed(templates, DEFAULT, given, MAX_PROMPT, known=True)
        else:
            templates[OVERRIDE] = Template(OVERRIDE, own)
            text = _in_a_process(services, templates, given)
    except TemplateError as error:
        raise _explained(error.fault, given) from error
    if f"Output directory: {given['output_directory']}" not in text.split("\n"):
        raise PrereadError(
            "E_PROMPT",
            f"{OVERRIDE} does not say where to write.",
            "Put `Output directory: {{ output_directory }}` on a line of its own.",
        )
    return outside.marked(text)


def _in_a_process(
    services: "Services", templates: Mapping[str, Template], given: Mapping[str, Any]
) -> str:
    """Render the project's template in a process with limits on time and memory.

    It may have come with the repository, so it is not trusted.
    """
    import tempfile

    order = {
        "path": [place for place in sys.path if os.path.isabs(place)],  # noqa: PTH117 - texts
        "templates": templates,
        "name": OVERRIDE,
        "values": given,
        "limit": MAX_PROMPT,
    }
    seconds = services.settings.child_seconds(given["level"])
    seconds = min(RENDER_SECONDS, RENDER_SHARE * seconds)
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", prefix="preread-", suffix=".json"
        ) as file:
            json.dump(order, file)
            file.flush()
            done = services.run(
                sandbox.program(Path(file.name)),
                cwd=services.layout.root,
                timeout=seconds,
                environ={},
                check=services.progress.check,
            )
    except OSError as error:
        why = f"it needs a temporary file, which cannot be written: {error.strerror}"
        raise TemplateError(Fault(why, OVERRIDE, 0)) from error
    try:
        answer = json.loads(done.out)
        if "text" in answer:
            return str(answer["text"])
        fault = Fault(*answer["fault"])
    except ValueError:
        why = "the process that renders it ended without an answer"
        if done.timed_out:
            why = f"it was not rendered within {seconds:.0f} seconds"
        tail = done.err.decode("utf-8", "replace").strip().rpartition("\n")[2]
        fault = Fault(why + (f": {tail[:200]}" if tail else ""), OVERRIDE, 0)
    raise TemplateError(fault)


def _explained(fault: Fault, given: Mapping[str, object]) -> PrereadError:
    """The error for a person: file, line, name, and the known name that is most similar."""
    import difflib

    place = f"{fault.shown} line {fault.line}" if fault.line else fault.shown
    details = {"template": fault.shown, "line": fault.line, "variable": fault.name}
    if not fault.name:
        message = f"{place}: {fault.message.rstrip('.')}."
        return PrereadError("E_PROMPT", message, f"Fix the template. {HELP}", details)
    near = difflib.get_close_matches(fault.name, sorted(_names(given)), n=1, cutoff=0.6)
    guess = f"; did you mean `{near[0]}`?" if near else "."
    return PrereadError(
        "E_PROMPT", f"Unknown variable `{fault.name}` in {place}{guess}", HELP, details
    )


def _names(given: object) -> set[str]:
    """Every name that a template can use in these values."""
    if isinstance(given, Mapping):
        nested = {name for value in given.values() for name in _names(value)}
        return {str(name) for name in given} | nested
    return {name for value in given for name in _names(value)} if isinstance(given, list) else set()
