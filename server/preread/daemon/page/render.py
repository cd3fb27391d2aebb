"""HTML from templates. Text from a project is escaped, and invisible characters made visible."""

import json
import re
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape
from starlette.responses import Response

from preread.dossier import fact_text
from preread.infra.plural import counted

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
SHORT = 200  # characters
UNITS = ((86400, "day"), (3600, "hour"), (60, "minute"))


def page(name: str, values: Mapping[str, object], status: int = 200) -> Response:
    """Render a page, with headers against caching."""
    text = _templates().get_template(name).render(values)
    headers = {**HEADERS, "cache-control": "no-store"}
    return Response(text, status, headers, "text/html")


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalized,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "age": age,
        "call": call,
        "clock": clock,
        "counted": counted,
        "dollars": dollars,
        "marked": marked,
        "tone": tone,
        "when": when,
    }
    return found


def _finalized(value: object) -> object:
    """Show invisible characters in every text that a template prints; Jinja escapes the rest."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def visible(text: str) -> str:
    """The text with invisible characters and direction marks written as code points."""
    return fact_text.INVISIBLE.sub(
        lambda found: found[0] if found[0] == "\n" else f"⟨U+{ord(found[0]):04X}⟩", text
    )


def marked(text: str) -> Markup:
    """A fact's text, with backticked parts as code."""
    parts, end = [], 0
    for found in CODE.finditer(text):
        parts += [escape(visible(text[end : found.start()]))]
        parts += [Markup("<code>{}</code>").format(visible(found[2].strip()))]
        end = found.end()
    return Markup("").join([*parts, escape(visible(text[end:]))])


def age(seconds: float | None) -> str:
    """A duration in the largest unit that fits."""
    if seconds is None:
        return ""
    for size, name in UNITS:
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count > 1 else ''}"
    return "moments"


def when(at: float | None) -> Markup:
    """A time as an age; the full time is its tooltip."""
    if not at:
        return Markup("")
    whole = time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
    ago = f"{age(max(0.0, time.time() - at))} ago"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)), whole, ago
    )


def call(params: Mapping[str, object]) -> str:
    """A call's params, abbreviated."""
    parts = (
        f"{name}: {one if isinstance(one, str) else json.dumps(one)}"
        for name, one in params.items()
    )
    text = "; ".join(parts)
    return text if len(text) <= SHORT else f"{text[:SHORT]}…"


def tone(state: str) -> str:
    """The colour of a fact's state: good, bad, or neither."""
    return {"quoted": "good", "computed": "good", "failed": "bad"}.get(state, "plain")


def clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))


def dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:.2f}"
