"""What the output of a test run says: how many passed and failed, which, and with what message.

The work is bounded, whatever a program printed: only the beginning and the end of the output are
read, line by line, each line cut, with patterns that do not backtrack over what they have read.
"""

from __future__ import annotations

import re

from preread.gates.printable import without_controls

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Match

HEAD, TAIL = 16_000, 64_000  # characters that are read
MAX_LINE = 600
MAX_NAMES, MAX_NAME = 20, 200
MAX_MESSAGE = 300
MAX_SECTION, SECTION_LINES = 6_000, 200  # of the failure whose kind is determined

_PYTEST = "failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed"
# The summary lines of each runner; their groups are the counts. A run of several programs, crates
# or modules prints several summaries, which are added: so no line may match two patterns, and no
# summary may have two matching lines that count the same tests.
_COUNTS = tuple(
    re.compile(pattern)
    for pattern in (
        # pytest: "== 1 failed, 2 passed in 0.1s ==", quietly without the rules
        r"^=* ?(?P<pytest>(?:\d+ (?:" + _PYTEST + r")(?:, )?)+) in [\d.:]+",
        # unittest
        (
            r"^FAILED \((?P<unittest>(?:failures|errors|skipped|expected failures"
            r"|unexpected successes)=\d+[^)]*)\)$"
        ),
        r"^Ran (?P<ran>\d+) tests? in ",
        # Playwright
        r"^  (?P<failed>\d+) failed$",
        r"^  (?P<passed>\d+) passed \(",
        # Jest; Vitest
        r"^Tests: +(?P<jest>.*\d+ total)",
        r"^ +Tests  (?P<vitest>\d.*) \(\d+\)",
        # Mocha, Cypress
        r"^ +(?P<passed>\d+) passing\b",
        r"^ +(?P<failed>\d+) failing$",
        # Bun; node --test; Deno
        r"^ (?P<passed>\d+) pass$",
        r"^ (?P<failed>\d+) fail$",
        r"^(?:#|ℹ) pass (?P<passed>\d+)$",
        r"^(?:#|ℹ) fail (?P<failed>\d+)$",
        r"^(?:ok|FAILED) \| (?P<passed>\d+) passed.{0,40}? \| (?P<failed>\d+) failed",
        # go test
        r"^(?P<go_passed>ok) +\t",
        r"^ *--- (?P<go_failed>FAIL): ",
        r"^(?P<go_error>FAIL)\t.*\[(?:build|setup) failed\]$",
        # cargo test, nextest
        r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed;",
        (
            r"^ +Summary \[.*\] +\d+ tests? run: (?P<passed>\d+) passed"
            r".{0,30}?(?:, (?P<failed>\d+) failed|$)"
        ),
        # Maven; Gradle
        (
            r"^(?:\[\w+\] +)?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+)"
            r", Errors: (?P<errors>\d+), Skipped: \d+$"
        ),
        r"^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed",
        # RSpec; minitest; PHPUnit
        r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<pending>\d+) pending)?",
        (
            r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures"
            r", (?P<errors>\d+) errors"
        ),
        r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)",
        (
            r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?"
            r"(?:, Failures: (?P<failed>\d+))?"
        ),
        # dotnet test; Swift; CTest
        r"^(?:Passed|Failed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+)",
        r"^\t Executed (?P<total>\d+) tests?, with (?P<failed>\d+) failures? ",
        r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)$",
    )
)

# How a failing test is named: `name` and, when it is separate on the line, `file`.
_NAMES = tuple(
    re.compile(pattern)
    for pattern in (
        r"^(?:FAILED|ERROR) (?P<name>[^ ]+\.py(?:::.+?)?)(?: - .*)?$",
        r"^(?:FAIL|ERROR): (?P<name>\w+ \([\w.]+\))",
        r"^ +\d+\) (?:\[[^\]]*\] › )?(?P<file>[^›]+?):\d+:\d+ › (?P<name>.+?)(?: ─*)?$",
        r"^ *(?:FAIL|❯|×) +(?:\|[^|]*\| )?(?P<name>[^ ]+\.\w+ > .+)$",
        r"^ *FAIL +(?:\./)?(?P<name>[^ ]+\.[jt]sx?)(?: \(.*\))?$",
        r"^  ● (?P<name>.+ › .+)$",
        r"^ {4,}\d+\) (?P<name>[^›]+)$",
        r"^ *--- FAIL: (?P<name>[^ ]+)",
        r"^test (?P<name>[^ ]+) \.\.\. FAILED$",
        r"^ +FAIL \[[^\]]*\] (?P<name>.+)$",
        r"^\[ERROR\] +(?P<name>[A-Z]\w*\.\w+):\d+",
        r"^(?P<name>\w+ > [^ ].*) FAILED$",
        r"^rspec (?P<name>\S+_spec\.rb:\d+)",
        r"^(?:bin/)?rails test (?P<name>\S+_test\.rb:\d+)",
        r"^\d+\) (?P<name>[\w\\]+::\w+)",
        r"^  Failed (?P<name>[\w.]+)",
        r"^Test Case '(?P<name>[^']+)' failed",
        r"^\t +\d+ - (?P<name>\S+) \(Failed\)",
        r"^not ok \d+ (?:- )?(?P<name>[^#]+)",
    )
)

# The first message: pytest marks it; otherwise the first line that looks like one.
_MARKED = re.compile(r"^(?:E  +|(?:FAILED|ERROR) \S+ - )(?P<message>\S.*)")
_MESSAGE = re.compile(
    r"^(?!=)\s*(?:\[\w+\] )?(?P<message>"
    r"(?:[A-Za-z][\w.:]{0,80})?(?:Error|Exception|Failure|Timeout|TimeoutExpired)\b.*"
    r"|(?:Test t|T)imeout .*|(?:Unable|Cannot|FATAL) .*"
    r"|expect\(.*|assert\w*\b.*|thread '.*|\w+_test\.go:\d+: .*|Failure/Error: .*"
    r"|error(?:\[\w+\])?: .*"
    r"|.{0,80}(?:not found|No tests? (?:files? )?found|no tests ran).*)"
)
# Messages that continue on the next lines.
_CONTINUED = re.compile(
    r"^(?:thread '.*panicked at|Failure/Error:|(?:Error: )?expect\(|AssertionError(?: \[\w+\])?:?$)"
)
# Where the text of one failure ends.
_SECTION_END = re.compile(
    r"={10}|_{3,} |-{20}|FAIL(?:ED|URE)?\b|ERROR\b| *--- |(?: FAIL|⎯⎯)| +\d+\) |  ● |not ok "
    r"|# Subtest|---- |  \d+ failed$"
)
_CODE = re.compile(r"^\s*(?:>?\s*\d* ?\||at )")


class Outcome:
    """What the output says."""

    def __init__(self) -> None:
        self.has_summary = False  # whether any runner counted
        self.passed = self.failed = self.errors = 0
        self.names: list[str] = []  # of failing tests
        self.files: list[str] = []  # theirs, as the runner names them; may be empty
        self.message = ""
        self.failure = ""  # the text that determines the kind


def cleaned(text: str) -> str:
    """The beginning and the end of an output, without colours and control characters."""
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" + text[-TAIL:]
    return without_controls(text.replace("\r\n", "\n").replace("\r", "\n"))


def read(text: str) -> Outcome:
    """What a cleaned output says."""
    found = Outcome()
    lines = [line[:MAX_LINE] for line in text.split("\n")]
    for line in lines:
        _count(found, line.rstrip())
        _add_name(found, line.rstrip())
    _find_message(found, lines)
    return found


def _count(found: Outcome, line: str) -> None:
    """Add the numbers of a summary line."""
    if not any(char.isdigit() for char in line) and not line.startswith(("ok", "FAIL", " ", "\t")):
        return
    match = _first_match(_COUNTS, line)
    if match is not None:
        groups = {key: value for key, value in match.groupdict().items() if value is not None}
        passed, failed, errors = _counted(groups)
        found.has_summary = True
        found.passed += passed
        found.failed += failed
        found.errors += errors


def _first_match(patterns: tuple[re.Pattern[str], ...], line: str) -> Match[str] | None:
    for pattern in patterns:
        match = pattern.search(line)
        if match is not None:
            return match
    return None


def _counted(groups: dict[str, str]) -> tuple[int, int, int]:
    """How many passed, failed, and had errors, by one summary line."""
    words = groups.get("pytest") or groups.get("jest") or groups.get("vitest")
    if words:
        counts = {name.rstrip("s"): int(n) for n, name in re.findall(r"(\d+) (\w+)", words)}
        return counts.get("passed", 0), counts.get("failed", 0), counts.get("error", 0)
    if "unittest" in groups:
        counts = {name: int(n) for name, n in re.findall(r"(\w+)=(\d+)", groups["unittest"])}
        failed, errors = counts.get("failures", 0), counts.get("errors", 0)
        return -failed - errors, failed, errors  # another line has counted them among those run
    numbers = {key: int(value) for key, value in groups.items() if value.isdigit()}
    failed = numbers.get("failed", 0) + ("go_failed" in groups)
    errors = numbers.get("errors", 0) + ("go_error" in groups)
    passed = numbers.get("passed", 0) + numbers.get("ran", 0) + ("go_passed" in groups)
    if "total" in numbers:
        passed += numbers["total"] - failed - errors - numbers.get("pending", 0)
    return passed, failed, errors


def _add_name(found: Outcome, line: str) -> None:
    """Add the failing test that a line names."""
    match = _first_match(_NAMES, line) if len(found.names) < MAX_NAMES else None
    if match is None:
        return
    groups = match.groupdict()
    name = " > ".join(part.strip(" ─") for part in groups["name"].split(" › "))
    file = groups.get("file") or ""
    if file:
        name = f"{file} > {name}"
    else:
        file = re.split(r"::| > |:\d+$", name)[0]
    is_file = "." in file or "/" in file
    if name[:MAX_NAME] not in found.names:
        found.names.append(name[:MAX_NAME])
        found.files.append(file[:MAX_NAME] if is_file else "")


def _find_message(found: Outcome, lines: list[str]) -> None:
    """Set the first message, and the text of its failure."""
    for pattern in (_MARKED, _MESSAGE):
        for number, line in enumerate(lines):
            match = pattern.match(line)
            if match:
                message = match["message"]
                if _CONTINUED.match(message):
                    message = " ".join([message, *_continuation(lines[number + 1 : number + 5])])
                found.message = " ".join(message.split())[:MAX_MESSAGE]
                found.failure = _section(lines[number : number + SECTION_LINES])
                return
    found.failure = "\n".join(lines)[-MAX_SECTION:]


def _continuation(lines: list[str]) -> list[str]:
    """The first two lines with text, without pytest's mark."""
    texts = [line[1:] if line.startswith("E ") else line for line in lines]
    return [text for text in texts if text.strip()][:2]


def _section(lines: list[str]) -> str:
    """The text of one failure, without the source code that runners show in it."""
    ends = (at for at, line in enumerate(lines) if at and _SECTION_END.match(line))
    section = lines[: next(ends, len(lines))]
    if lines[0].startswith("E "):
        shown_lines = [line for line in section if line.startswith("E ")]
    else:
        shown_lines = [line for line in section if not _CODE.match(line)]
    return "\n".join(shown_lines)[:MAX_SECTION]
