"""The share of covered lines, from the reports of common tools in their usual places."""

import json
import re
from collections.abc import Callable
from typing import Any

from preread.infra.reading import plain_bytes
from preread.layout import Layout


def _cobertura(text: str) -> float | None:
    """`<coverage line-rate="0.83" …>`: coverage.py, gcovr, Istanbul."""
    from defusedxml import ElementTree

    rate = ElementTree.fromstring(text).get("line-rate")
    return None if rate is None else float(rate) * 100


def _lcov(text: str) -> float | None:
    """The sums of `LF:` (lines found) and `LH:` (lines hit)."""
    sums = {
        key: sum(map(int, re.findall(rf"^{key}:(\d{{1,9}})\s*$", text, re.MULTILINE)))
        for key in ("LF", "LH")
    }
    return 100 * sums["LH"] / sums["LF"] if sums["LF"] else None


def _json_at(*keys: str) -> Callable[[str], float | None]:
    def read(text: str) -> float | None:
        value: Any = json.loads(text)
        for key in keys:
            value = value[key]
        return float(value)

    return read


Reader = Callable[[str], float | None]
MAX_BYTES = 50_000_000
# Where tools write them, and how to read them; the first that can be read counts.
REPORTS: tuple[tuple[str, Reader], ...] = (
    ("coverage.xml", _cobertura),
    ("coverage/cobertura-coverage.xml", _cobertura),
    ("coverage/coverage-summary.json", _json_at("total", "lines", "pct")),
    ("coverage.json", _json_at("totals", "percent_covered")),
    ("coverage/lcov.info", _lcov),
    ("lcov.info", _lcov),
)


def percent(layout: Layout) -> float | None:
    """The share of covered lines in percent; None if no report contains it."""
    for path, reader in REPORTS:
        file = layout.inside(path)
        layout.real(file)
        data = plain_bytes(file, MAX_BYTES)
        found = None if data is None else _read(reader, data.decode("utf-8", "replace"))
        if found is not None and 0 <= found <= 100:
            return round(found, 1)
    return None


def _read(reader: Reader, text: str) -> float | None:
    """The content of a report; None if it is damaged."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException

    damaged = (ValueError, LookupError, TypeError, RecursionError, ParseError)
    try:
        return reader(text)
    except (*damaged, DefusedXmlException):
        return None
