"""Files that ship with the package: next to it in a checkout, inside it in a wheel."""

from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parents[1]
# Jinja's options for TOML, gate rules and prompts.
PLAIN_TEXT: dict[str, Any] = {
    "autoescape": False,
    "keep_trailing_newline": True,
    "trim_blocks": True,
    "lstrip_blocks": True,
}


def folder(name: str) -> Path:
    """The folder of assets called `name`, like `prompts`. Raises LookupError."""
    for place in (PACKAGE / "data" / name, PACKAGE.parents[1] / name):
        if place.is_dir():
            return place
    # No OSError, which would be reported as a file of the project that cannot be read.
    raise LookupError(f"the package's folder {name!r} is missing; reinstall preread")


def text(path: Path) -> str:
    """The text of a file that is installed, here or with another package. Raises OSError."""
    return path.read_text(encoding="utf-8")


def render(template: str, values: dict[str, object]) -> str:
    """Render the template at this path below `prompts/`; an undefined variable is an error."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - no HTML
        loader=FileSystemLoader(folder("prompts")),
        undefined=StrictUndefined,
        **PLAIN_TEXT,
    )
    return environment.get_template(template).render(values)
