"""Renders a dossier for a terminal. Imported only when needed."""

import re

from rich.text import Text

CODE = re.compile(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)")
SOURCES = re.compile(r" \([^()]*(?:\([^()]*\)[^()]*)*\)$")  # the brackets at the end of a line


def rendered(markdown: str) -> Text:
    """Headings, bullets, code and sources, styled instead of marked up."""
    text, fenced = Text(), False
    for line in markdown.split("\n"):
        is_fence = line.startswith("```")
        fenced ^= is_fence
        if is_fence:
            continue
        if fenced:
            text.append(f"    {line}", "cyan")
        elif line.startswith("#"):
            text.append(line.lstrip("# "), "bold underline" if line.startswith("# ") else "bold")
        else:
            text.append_text(_bullet(line))
        text.append("\n")
    return text


def _bullet(line: str) -> Text:
    found = SOURCES.search(line)
    words, cited = (line[: found.start()], found[0]) if found else (line, "")
    text, end = (Text("• "), 2) if words.startswith("- ") else (Text(), 0)
    for code in CODE.finditer(words):
        text.append(words[end : code.start()])
        text.append(code[2].strip(), "cyan")
        end = code.end()
    text.append(words[end:])
    return text.append(cited, "dim")
