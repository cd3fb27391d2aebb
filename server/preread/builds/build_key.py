"""The build key: a digest of what affects a dossier besides its inputs."""

import hashlib

from preread import prompt, settings
from preread.builders.static import MAP_VERSION
from preread.services import Services
from preread.settings import Level


def build_key(services: Services, level: Level) -> str:
    """The digest of rules, settings and template. A dossier with another key covers no request."""
    parts = [level, MAP_VERSION, settings.content_key(services.settings, level)]
    if level != "light":
        parts.append(prompt.template_digest(services))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
