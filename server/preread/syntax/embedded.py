"""Scripts in components of Vue and Svelte: the rest of the file blanked out, line by line."""

import re

_SCRIPT = re.compile(r"(<script\b[^>]*>)(.*?)(</script\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_INK = re.compile(r"[^\n]")


def split_script(text: str) -> tuple[str, str]:
    """The scripts of a component, and its markup; each at its place in a text of as many lines."""
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
