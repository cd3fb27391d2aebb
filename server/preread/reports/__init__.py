"""Test reports: read files of several formats, and keep the history of each test."""

import json

from preread.reports.outcomes import Lines, Report

WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # the start of XML in UTF-16
LOG = '"$report_type"'
MARKS = ('"testResults"', '"suites"', '"collectors"', '"exitcode"')


def read(data: bytes) -> Report:
    """Read a report; its content tells its format. Raises nothing: errors are in its `problem`.

    A file without the marks of any format is not a report: it is not parsed, and the result is
    empty.
    """
    if data[:4000].lstrip(b"\xef\xbb\xbf \t\r\n").startswith((b"<", *WIDE)) and not _is_json(data):
        if b"<testcase" not in data and not data.startswith(WIDE):
            return Report()
        from preread.reports import junit

        return junit.read(data)
    text = data.decode(json.detect_encoding(data), "replace").removeprefix("\ufeff")
    try:
        if LOG in text[:4000].partition("\n")[0]:
            from preread.reports import pytests

            return pytests.read_log(text.split("\n"))
        if not any(mark in text for mark in MARKS):
            return Report()
        return _json(json.loads(text), Lines(text))
    except (ValueError, RecursionError) as error:
        return Report(problem=f"it is not valid JSON: {error}")


def _is_json(data: bytes) -> bool:
    """Whether the data is JSON in UTF-16, which starts like XML in UTF-16."""
    return data.lstrip(b"\xff\xfe\0 \t\r\n")[:1] in {b"{", b"["}


def _json(value: object, lines: Lines) -> Report:
    from preread.reports import javascript, pytests

    if not isinstance(value, dict):
        return Report()
    if isinstance(value.get("suites"), list) and ("config" in value or "stats" in value):
        return javascript.read_playwright(value, lines)
    if isinstance(value.get("testResults"), list):
        return javascript.read_jest(value, lines)
    if isinstance(value.get("tests"), list) and ("exitcode" in value or "collectors" in value):
        return pytests.read_json(value, lines)
    return Report()
