"""The headless builder's prompt, made from the request, the evidence and the settings."""

from preread.prompt.render import prepare
from preread.prompt.review import review_message
from preread.prompt.template import NAME, OVERRIDE, template_digest

__all__ = ["NAME", "OVERRIDE", "prepare", "review_message", "template_digest"]
