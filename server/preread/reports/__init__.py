"""Reports of test runs: files in several formats → outcomes of tests, and the history of each test that is kept."""

import json

from preread.reports.outcomes import Lines, Report


def read(data: bytes) -> Report:
    """What a report says; its format is told by its content. Nothing is raised: what is wrong is its `problem`.

    A file that is no report of tests has no outcomes, and no problem unless it cannot be read at all.
    """
    head = data[:4000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"<") or head[:4] in {b"\xff\xfe<\0", b"\xfe\xff\0<"}:
        from preread.reports import junit

        return junit.read(data)
    try:
        text = data.decode(json.detect_encoding(data)).removeprefix("\ufeff")
        if '"$report_type"' in text[:4000].partition("\n")[0]:
            from preread.reports import pytests

            return pytests.read_log(text.split("\n"))
        return _json(json.loads(text), Lines(text))
    except (ValueError, RecursionError) as error:
        return Report(problem=f"it is neither XML nor JSON: {error}" if data.strip() else "it is empty")


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
