"""Texts for SVG and GraphML."""

import re

# What XML cannot contain, and characters that change how the text around them looks.
UNFIT = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    "|[\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]"
)


def clean(text: str) -> str:
    """A text without characters that XML cannot contain, or that change how other ones look."""
    return UNFIT.sub("\N{REPLACEMENT CHARACTER}", text)
