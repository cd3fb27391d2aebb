"""Builders: who turns a request and its evidence into drafted files. One row a level that can be built."""

import hashlib
from pathlib import Path
from typing import Protocol

from preread import settings
from preread.builders.static import RULES_VERSION, StaticBuilder
from preread.models import Evidence, Request
from preread.services import Services
from preread.settings import Level


class Builder(Protocol):
    """Writes drafts, as dossier files, into a staging folder."""

    name: str

    async def build(self, services: Services, request: Request, evidence: Evidence, staging: Path) -> None: ...


STATIC = StaticBuilder()
BUILDERS: dict[Level, Builder] = {"light": STATIC}


def recipe(services: Services, level: Level) -> str:
    """Digest of what shapes a dossier besides its inputs: the rules' version and the settings that change content."""
    text = (
        f"{level if level in BUILDERS else 'light'}\n{RULES_VERSION}\n{settings.content_key(services.settings, level)}"
    )
    return hashlib.sha256(text.encode()).hexdigest()[:16]
