"""What shapes a dossier besides its inputs: the rules, the template, the relevant settings."""

import hashlib

from preread import prompt, settings
from preread.builders.static import MAP_VERSION
from preread.services import Services
from preread.settings import Level


def build_key(services: Services, level: Level) -> str:
    """Their digest. A dossier that was built with another one does not cover a request."""
    parts = [level, MAP_VERSION, settings.content_key(services.settings, level)]
    if level != "light":
        parts.append(prompt.template_digest(services))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
