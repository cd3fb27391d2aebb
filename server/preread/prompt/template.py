"""The prompt's template: Preread's own, or the one that a project has in its place."""

import hashlib
import os
from typing import TYPE_CHECKING

from preread.errors import PrereadError
from preread.infra import assets

if TYPE_CHECKING:
    from preread.services import Services

NAME = "context-builder.md.j2"
OVERRIDE, DEFAULT = f".project/prompts/{NAME}", f"default/{NAME}"
MAX_TEMPLATE = 100_000  # bytes


def template_digest(services: "Services") -> str:
    """Digest of the template in use.

    A template that cannot be read has a digest, too: the build that needs it reports the error.
    """
    try:
        own = override(services) or ""
    except PrereadError as error:
        own = f"{error}"
    return hashlib.sha256(f"{own}\0{default()}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def default() -> str:
    return assets.text(assets.folder("prompts") / NAME)


def override(services: "Services") -> str | None:
    """The project's own template, None if it has none. Raises E_PROMPT if it cannot be used."""
    path = services.layout.inside(OVERRIDE)
    if not os.path.lexists(path):
        return None
    try:
        services.layout.real(path)
    except PrereadError as error:
        raise PrereadError("E_PROMPT", error.message, error.hint) from error
    data = services.tree.data(OVERRIDE)
    if data is None or len(data) > MAX_TEMPLATE:
        raise PrereadError(
            "E_PROMPT",
            f"{OVERRIDE} is not a readable file of at most {MAX_TEMPLATE:,} bytes.",
            "Fix it, or remove it to use Preread's own template.",
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PrereadError(
            "E_PROMPT", f"{OVERRIDE} is not UTF-8: {error}.", "Save it as UTF-8."
        ) from error
