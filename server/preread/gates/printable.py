"""Text without characters that a terminal would interpret."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")


def without_controls(text: str) -> str:
    """A text without colours, control characters and lone surrogates; tabs and line ends stay."""
    return _CONTROLS.sub("", _ESCAPES.sub("", text))
