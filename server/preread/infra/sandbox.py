"""Templates of strangers: rendered in a sandbox, of bounded size, and on demand in a process that
is sure to end.
"""

import json
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from types import TracebackType

    from jinja2.sandbox import ImmutableSandboxedEnvironment

# Marks that no text holds, see `prompt.outside`: the mark of this rendering's blocks; where outside
# text begins, ends.
MARK, OPEN, CLOSE = "\0", "\1", "\2"
MOST_MEMORY, MOST_CPU = (
    1 << 30,
    15,
)  # bytes and seconds of a process that renders a stranger's template


class Template(NamedTuple):
    """One template that a rendering may use: the path that people know it by, and its text."""

    shown: str
    text: str


class Fault(NamedTuple):
    """Why a template cannot be rendered, where, and the name that is unknown, if that is why."""

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
    """The template called `name`, of at most `limit` characters; it reaches these templates and
    values, nothing else.

    A `known` one was looked through before. Raises TemplateError. Neither its time nor its memory
    is bounded here: see `answer`.
    """
    from jinja2 import TemplateSyntaxError, UndefinedError

    environment = _sandbox(templates)
    try:
        template = environment.get_template(name)
        if not known:
            _look_through(environment, templates, templates[name], set(values))
        parts, size = [], 0
        for part in template.generate(values):
            size += len(part)
            if size > limit:
                raise TemplateError(
                    Fault(f"it gives more than {limit:,} characters", templates[name].shown, 0)
                )
            parts.append(part)
    except TemplateError:
        raise
    except TemplateSyntaxError as error:
        shown = error.filename or templates[name].shown
        raise TemplateError(
            Fault(error.message or "it is no template", shown, error.lineno)
        ) from error
    except Exception as error:
        found = re.search(r"'(\w+)' is undefined|has no attribute '(\w+)'", str(error))
        unknown = (found[1] or found[2]) if found and isinstance(error, UndefinedError) else ""
        message = str(error) or type(error).__name__
        raise TemplateError(
            Fault(message, *_place(error.__traceback__, templates, name), unknown)
        ) from error
    return "".join(parts)


def _sandbox(templates: Mapping[str, Template]) -> "ImmutableSandboxedEnvironment":
    from jinja2 import FunctionLoader, StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def source(name: str) -> tuple[str, str, None] | None:
        return (templates[name].text, templates[name].shown, None) if name in templates else None

    environment = ImmutableSandboxedEnvironment(
        loader=FunctionLoader(source),
        undefined=StrictUndefined,
        autoescape=False,  # prompts are no HTML
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    del (
        environment.globals["lipsum"],
        environment.filters["random"],
    )  # the same input gives the same prompt
    environment.filters["data"] = _data
    return environment


def _data(content: str, name: str) -> str:
    """A block of outside text, between lines that nothing inside can hold."""
    label = re.sub(r'[\x00-\x1f"<>]', " ", str(name))
    inner = str(content).replace(OPEN, "").replace(CLOSE, "").strip("\n")
    return f'<data-{MARK} name="{label}">\n{inner}\n</data-{MARK}>\n'


def _look_through(
    environment: "ImmutableSandboxedEnvironment",
    templates: Mapping[str, Template],
    template: Template,
    known: set[str],
) -> None:
    """Refuse names that nobody gives, on branches not taken, too, and blocks that the extended
    template has not.
    """
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
                listed = ", ".join(f"`{name}`" for name in blocks)
                message = f"{parent} has no block `{node.name}`, but {listed}"
                raise TemplateError(Fault(message, template.shown, node.lineno))


def _place(
    trace: "TracebackType | None", templates: Mapping[str, Template], name: str
) -> tuple[str, int]:
    """The innermost line of a template that an error went through; line 0 when it went through
    none.
    """
    place, ours = (templates[name].shown, 0), {template.shown for template in templates.values()}
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in ours:
            place = (trace.tb_frame.f_code.co_filename, trace.tb_lineno)
        trace = trace.tb_next
    return place


def answer(order: dict[str, Any]) -> str:
    """`render_sandboxed` in a process made for it: the text or the fault, as JSON."""
    with suppress(ImportError, ValueError, OSError):  # not every system can bound memory
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (MOST_CPU, MOST_CPU))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    templates = {name: Template(*template) for name, template in order["templates"].items()}
    try:
        return json.dumps(
            {"text": render_sandboxed(templates, order["name"], order["values"], order["limit"])}
        )
    except TemplateError as error:
        return json.dumps({"fault": error.fault})


# What such a process runs: it finds packages where this one does, and inherits nothing else.
PROGRAM = """
import json, sys
with open(sys.argv[1], encoding="utf-8") as file:
    order = json.load(file)
sys.path[:] = order["path"]
from preread.infra.sandbox import answer
print(answer(order))
"""


def program(order: Path) -> list[str]:
    """The command that renders the order in this file, a JSON object like `answer` takes it."""
    return [sys.executable, "-I", "-c", PROGRAM, str(order)]
