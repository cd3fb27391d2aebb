"""Split Vue and Svelte components into script and markup, keeping line numbers."""

import re

_SCRIPT = re.compile(r"(<script\b[^>]*>)(.*?)(</script\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_INK = re.compile(r"[^\n]")


def split_script(text: str) -> tuple[str, str]:
    """The scripts and the markup of a component, each with everything else blanked out."""
    script: list[str] = []
    markup: list[str] = []
    at = 0
    for found in _SCRIPT.finditer(text):
        inside, behind = found.span(2)
        script += [_blank(text[at:inside]), text[inside:behind]]
        markup += [text[at:inside], _blank(text[inside:behind])]
        at = behind
    script.append(_blank(text[at:]))
    markup.append(text[at:])
    return "".join(script), "".join(markup)


def _blank(text: str) -> str:
    return _INK.sub(" ", text)
