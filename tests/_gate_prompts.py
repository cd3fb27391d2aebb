"""The feature of a prompt by docs/gates-reference.md; shares no code with the gates."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOUNS = (
    "flow|page|feature|screen|form|dialog|module|endpoint|api|component|view|wizard|journey|story"
)
WORD = r"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*"
NAME = rf"({WORD}(?:\s+{WORD}){{0,2}})"
VALUE = re.compile(
    r"""(?<!\w)["'`]?feature["'`]?[ \t*]*[:=][ \t*]*(?:(["'`])([^"'`\n]+)\1|([A-Za-z0-9_.-]+))""",
    re.IGNORECASE,
)
QUOTED = re.compile(r"""(?<!\w)(["'`])([^"'`\n]+)\1(?!\w)""")
THE_NAME = re.compile(rf"\bthe\s+{NAME}\s+(?:{NOUNS})\b", re.IGNORECASE)
FOR_NAME = re.compile(
    rf"\btests?(?:\s+(?:plan|cases))?\s+for\s+(?:the\s+)?{NAME}\s*(?:[.,;:!?()\[\]{{}}\n]|$)",
    re.IGNORECASE,
)


def stop_words() -> frozenset[str]:
    """The list as the contract prints it."""
    text = (ROOT / "docs" / "gates-reference.md").read_text()
    return frozenset(
        text.partition("The stop words, all of them:\n\n```\n")[2].partition("```")[0].split()
    )


STOP = stop_words()


def explicit(prompt: str, slug: Callable[[str], str]) -> Iterable[str]:
    for found in VALUE.finditer(prompt):
        quoted, bare = found.group(2), found.group(3)
        name = "_project" if (quoted or bare) == "_project" else slug(quoted or bare)
        if name and (quoted or name not in STOP):
            yield name


def quoted(prompt: str) -> list[str]:
    return [found.group(2) for found in QUOTED.finditer(prompt)]


def paths(prompt: str) -> Iterable[str]:
    for text in (*quoted(prompt), *prompt.split()):
        path = re.sub(r":\d+(:\d+)?$", "", text.lstrip("\"'`()<>,;:!?*").rstrip("\"'`()<>,;:!?*."))
        if "/" in path or re.search(r"\.[A-Za-z0-9]+$", path):
            yield path


def mentioned(prompt: str, known: Iterable[str]) -> Iterable[str]:
    """Known names as whole words; a longer one hides the shorter ones in it."""
    names = sorted(
        (name for name in known if name not in STOP), key=lambda name: (-len(name), name)
    )
    if not names:
        return
    forms = "|".join("[ _-]".join(map(re.escape, name.split("-"))) for name in names)
    for found in re.finditer(rf"(?<![\w-])(?:{forms})(?![\w-])", prompt, re.IGNORECASE):
        yield re.sub(r"(?<=.)[ _-]", "-", found.group().lower())


def described(prompt: str, slug: Callable[[str], str]) -> Iterable[str]:
    for pattern in (THE_NAME, FOR_NAME):
        for found in pattern.finditer(prompt):
            words = found.group(1).split()
            if not any(word.lower() in STOP for word in words) and slug(found.group(1)):
                yield slug(found.group(1))
