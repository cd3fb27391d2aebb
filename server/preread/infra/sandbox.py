"""Render untrusted templates: in a sandbox, with limits, and on demand in a process of its own."""

import json
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from preread.infra.assets import PLAIN_TEXT

if TYPE_CHECKING:
    from types import TracebackType

    from jinja2.sandbox import ImmutableSandboxedEnvironment

# Characters that no text contains (`prompt.outside` ensures that): MARK represents the random
# marker of data blocks, OPEN and CLOSE delimit text from outside.
MARK, OPEN, CLOSE = "\0", "\1", "\2"
MAX_MEMORY, MAX_CPU = 1 << 30, 15  # bytes and seconds of a process that renders a template


class Template(NamedTuple):
    """A template: the path to name it by in messages, and its text."""

    shown: str
    text: str


class Fault(NamedTuple):
    """Why a template cannot be rendered, in which template and line, and any undefined name."""

    message: str
    shown: str
    line: int
    name: str = ""


class TemplateError(Exception):
    """A template that cannot be rendered."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def render_sandboxed(
    templates: Mapping[str, Template],
    name: str,
    values: Mapping[str, object],
    limit: int,
    *,
    known: bool = False,
) -> str:
    """Render the template `name` with access to nothing but `templates` and `values`.

    The result has at most `limit` characters. A `known` template was validated before. Raises
    TemplateError. Time and memory are not limited here; `run_order` limits them.
    """
    from jinja2 import TemplateSyntaxError, UndefinedError

    environment = _sandbox(templates)
    try:
        template = environment.get_template(name)
        if not known:
            _validate(environment, templates, templates[name], set(values))
        parts, size = [], 0
        for part in template.generate(values):
            size += len(part)
            if size > limit:
                message = f"its result has more than {limit:,} characters"
                raise TemplateError(Fault(message, templates[name].shown, 0))
            parts.append(part)
    except TemplateError:
        raise
    except TemplateSyntaxError as error:
        shown = error.filename or templates[name].shown
        message = error.message or "it is not a valid template"
        raise TemplateError(Fault(message, shown, error.lineno)) from error
    except Exception as error:
        found = re.search(r"'(\w+)' is undefined|has no attribute '(\w+)'", str(error))
        undefined = (found[1] or found[2]) if found and isinstance(error, UndefinedError) else ""
        message = str(error) or type(error).__name__
        shown, line = _location(error.__traceback__, templates, name)
        raise TemplateError(Fault(message, shown, line, undefined)) from error
    return "".join(parts)


def _sandbox(templates: Mapping[str, Template]) -> "ImmutableSandboxedEnvironment":
    from jinja2 import FunctionLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def source(name: str) -> tuple[str, str, None] | None:
        return (templates[name].text, templates[name].shown, None) if name in templates else None

    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(source),
        undefined=StrictUndefined,
        **PLAIN_TEXT,
    )
    # Rendering must be deterministic.
    del environment.globals["lipsum"], environment.filters["random"]
    environment.filters["data"] = _data
    return environment


def _data(content: str, name: str) -> str:
    """A block of text from outside, delimited by lines that cannot occur inside it."""
    label = re.sub(r'[\x00-\x1f"<>]', " ", str(name))
    inner = str(content).replace(OPEN, "").replace(CLOSE, "").strip("\n")
    return f'<data-{MARK} name="{label}">\n{inner}\n</data-{MARK}>\n'


def _validate(
    environment: "ImmutableSandboxedEnvironment",
    templates: Mapping[str, Template],
    template: Template,
    known: set[str],
) -> None:
    """Reject undefined names, even on branches not taken, and blocks the parent does not have."""
    from jinja2 import meta, nodes

    tree = environment.parse(template.text, filename=template.shown)
    unknown = meta.find_undeclared_variables(tree) - known - environment.globals.keys()
    for used in tree.find_all(nodes.Name):
        if used.name in unknown and used.ctx == "load":
            raise TemplateError(
                Fault(f"'{used.name}' is undefined", template.shown, used.lineno, used.name)
            )
    for extends in tree.find_all(nodes.Extends):
        parent = extends.template.value if isinstance(extends.template, nodes.Const) else ""
        if parent not in templates:
            message = f"it can extend {', '.join(f'`{name}`' for name in templates)} only"
            raise TemplateError(Fault(message, template.shown, extends.lineno))
        blocks = environment.get_template(parent).blocks
        for node in tree.body:
            if isinstance(node, nodes.Block) and node.name not in blocks:
                known_blocks = ", ".join(f"`{name}`" for name in blocks)
                message = f"{parent} has no block `{node.name}`, but {known_blocks}"
                raise TemplateError(Fault(message, template.shown, node.lineno))


def _location(
    trace: "TracebackType | None", templates: Mapping[str, Template], name: str
) -> tuple[str, int]:
    """The template and line that raised an error; line 0 when it is not known."""
    location = (templates[name].shown, 0)
    shown = {template.shown for template in templates.values()}
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in shown:
            location = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return location


def run_order(order: dict[str, Any]) -> str:
    """Call `render_sandboxed` with the order's arguments; the text or the fault, as JSON.

    Limits this process's time and memory, so the process should do nothing else.
    """
    with suppress(ImportError, ValueError, OSError):  # not every system can limit memory
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU, MAX_CPU))
        resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    templates = {name: Template(*template) for name, template in order["templates"].items()}
    try:
        text = render_sandboxed(templates, order["name"], order["values"], order["limit"])
    except TemplateError as error:
        return json.dumps({"fault": error.fault})
    return json.dumps({"text": text})


# The process inherits nothing but this one's import path.
PROGRAM = """
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    order = json.load(file)
sys.path[:] = order["path"]
from preread.infra.sandbox import run_order
print(run_order(order))
"""


def program(order: Path) -> list[str]:
    """The command line that runs the order in this JSON file."""
    return [sys.executable, "-I", "-c", PROGRAM, str(order)]
