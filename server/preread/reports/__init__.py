"""Reports of test runs: files in several formats → outcomes of tests, and the history of each test that is kept."""

import json

from preread.reports.outcomes import Lines, Report

WIDE = (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<")  # how XML in UTF-16 begins
LOG = '"$report_type"'
MARKS = ('"testResults"', '"suites"', '"collectors"', '"exitcode"')


def read(data: bytes) -> Report:
    """What a report says; its format is told by its content. Nothing is raised: what is wrong is its `problem`.

    A file that holds no mark of any format is no report: it is not parsed, and has neither outcomes nor a problem.
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
        return (
            _json(json.loads(text), Lines(text))
            if any(mark in text for mark in MARKS)
            else Report()
        )
    except (ValueError, RecursionError) as error:
        return Report(problem=f"it is no JSON: {error}")


def _is_json(data: bytes) -> bool:
    """Whether it is JSON in UTF-16, which begins as XML in UTF-16 does."""
    return data.lstrip(b"\xff\xfe\0 \t\r\n")[:1] in {b"{", b"["}


def _json(value: object, lines: Lines) -> Report:
    from preread.reports import pytests, scripts

    if not isinstance(value, dict):
        return Report()
    if isinstance(value.get("suites"), list) and ("config" in value or "stats" in value):
        return scripts.read_playwright(value, lines)
    if isinstance(value.get("testResults"), list):
        return scripts.read_jest(value, lines)
    if isinstance(value.get("tests"), list) and ("exitcode" in value or "collectors" in value):
        return pytests.read_json(value, lines)
    return Report()
