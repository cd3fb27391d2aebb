"""What the output of a test run says: how many passed and failed, which, and with what message.

Work is bounded whatever a program printed: the beginning and the end of the output are looked at, line by line, each
line cut, by patterns that cannot go back over what they have read.
"""

from __future__ import annotations

import re

HEAD, TAIL = 16_000, 64_000  # characters looked at
MAX_LINE = 600
MAX_NAMES, MAX_NAME = 20, 200
MAX_MESSAGE = 300
SECTION = 6_000  # characters of the failure by which its kind is told

_ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ud800-\udfff]")

_PYTEST = "failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun|subtests passed"
# Each summary line of a runner: what its groups count. A run of several programs, crates or modules prints several,
# which add up; so no two patterns may fit the same line, nor two lines of one summary.
_COUNTS = tuple(
    re.compile(pattern)
    for pattern in (
        # pytest: "== 1 failed, 2 passed in 0.1s ==", quietly without the rules
        r"^=* ?(?P<pytest>(?:\d+ (?:" + _PYTEST + r")(?:, )?)+) in [\d.:]+",
        # unittest
        r"^FAILED \((?P<unittest>(?:failures|errors|skipped|expected failures|unexpected successes)=\d+[^)]*)\)$",
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
        r"^ +Summary \[.*\] +\d+ tests? run: (?P<passed>\d+) passed.{0,30}?(?:, (?P<failed>\d+) failed|$)",
        # Maven; Gradle
        r"^(?:\[\w+\] +)?Tests run: (?P<total>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+), Skipped: \d+$",
        r"^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed",
        # RSpec; minitest; PHPUnit
        r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?(?:, (?P<pending>\d+) pending)?",
        r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, (?P<errors>\d+) errors",
        r"^OK \((?P<passed>\d+) tests?, \d+ assertions?\)",
        r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?(?:, Failures: (?P<failed>\d+))?",
        # dotnet test; Swift; CTest
        r"^(?:Passed|Failed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+)",
        r"^\t Executed (?P<total>\d+) tests?, with (?P<failed>\d+) failures? ",
        r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)$",
    )
)

# How a failing test is named; `name` and, where the line has it apart, `file`.
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

# The first message: pytest marks it; else the first line that reads as one.
_MARKED = re.compile(r"^(?:E  +|(?:FAILED|ERROR) \S+ - )(?P<message>\S.*)")
_MESSAGE = re.compile(
    r"^(?!=)\s*(?:\[\w+\] )?(?P<message>"
    r"(?:[A-Za-z][\w.:]{0,80})?(?:Error|Exception|Failure|Timeout|TimeoutExpired)\b.*"
    r"|(?:Test t|T)imeout .*|(?:Unable|Cannot|FATAL) .*"
    r"|expect\(.*|assert\w*\b.*|thread '.*|\w+_test\.go:\d+: .*|Failure/Error: .*|error(?:\[\w+\])?: .*"
    r"|.{0,80}(?:not found|No tests? (?:files? )?found|no tests ran).*)"
)
_MORE = re.compile(
    r"^(?:thread '.*panicked at|Failure/Error:|(?:Error: )?expect\(|AssertionError(?: \[\w+\])?:?$)"
)
# Where the text of one failure is over.
_ANOTHER = re.compile(
    r"={10}|_{3,} |-{20}|FAIL(?:ED|URE)?\b|ERROR\b| *--- |(?: FAIL|⎯⎯)| +\d+\) |  ● |not ok |# Subtest|---- "
    r"|  \d+ failed$"
)
_CODE = re.compile(r"^\s*(?:>?\s*\d* ?\||at )")


class Outcome:
    """What was read; `summary` tells whether any runner counted."""

    def __init__(self) -> None:
        self.summary = False
        self.passed = self.failed = self.errors = 0
        self.names: list[str] = []
        self.files: list[str] = []  # the failing tests' files, as the runner names them
        self.message = ""
        self.failure = ""  # the text by which the kind is told


def cleaned(text: str) -> str:
    """The beginning and the end of an output, without colours and control characters."""
    if len(text) > HEAD + TAIL:
        text = text[:HEAD] + "\n" + text[-TAIL:]
    return _CONTROLS.sub("", _ESCAPES.sub("", text).replace("\r\n", "\n").replace("\r", "\n"))


def read(text: str) -> Outcome:
    """What a cleaned output says."""
    found = Outcome()
    lines = [line[:MAX_LINE] for line in text.split("\n")]
    for line in lines:
        _count(found, line.rstrip())
        _name(found, line.rstrip())
    _tell(found, lines)
    return found


def _count(found: Outcome, line: str) -> None:
    if not any(char.isdigit() for char in line) and not line.startswith(("ok", "FAIL", " ", "\t")):
        return
    for pattern in _COUNTS:
        match = pattern.search(line)
        if match:
            found.summary = True
            _add(
                found, {key: value for key, value in match.groupdict().items() if value is not None}
            )
            return


def _add(found: Outcome, groups: dict[str, str]) -> None:
    """Add one summary line's numbers."""
    words = groups.get("pytest") or groups.get("jest") or groups.get("vitest")
    if words:
        counted = {
            name.rstrip("s"): int(number) for number, name in re.findall(r"(\d+) (\w+)", words)
        }
        passed, failed, errors = (counted.get(name, 0) for name in ("passed", "failed", "error"))
    elif "unittest" in groups:
        counted = {
            name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", groups["unittest"])
        }
        failed, errors = counted.get("failures", 0), counted.get("errors", 0)
        passed = -failed - errors  # they are among those that were run
    else:
        failed = int(groups.get("failed", 0)) + ("go_failed" in groups)
        errors = int(groups.get("errors", 0)) + ("go_error" in groups)
        passed = int(groups.get("passed", 0)) + int(groups.get("ran", 0)) + ("go_passed" in groups)
        if "total" in groups:
            passed += int(groups["total"]) - failed - errors - int(groups.get("pending", 0))
    found.passed += passed
    found.failed += failed
    found.errors += errors


def _name(found: Outcome, line: str) -> None:
    if len(found.names) >= MAX_NAMES:
        return
    for pattern in _NAMES:
        match = pattern.search(line)
        if match:
            groups = match.groupdict()
            name = " > ".join(part.strip(" ─") for part in groups["name"].split(" › "))
            file = groups.get("file") or re.split(r"::| > |:\d+$", name)[0]
            name = f"{file} > {name}" if groups.get("file") else name
            file = file if "." in file or "/" in file else ""
            if name[:MAX_NAME] not in found.names:
                found.names.append(name[:MAX_NAME])
                found.files.append(file[:MAX_NAME])
            return


def _tell(found: Outcome, lines: list[str]) -> None:
    """The first message, and the text from there on."""
    for pattern in (_MARKED, _MESSAGE):
        for number, line in enumerate(lines):
            match = pattern.match(line)
            if match:
                words = match["message"]
                if _MORE.match(words):
                    said = [
                        more[1:] if more.startswith("E ") else more
                        for more in lines[number + 1 : number + 5]
                    ]
                    words = " ".join([words, *[more for more in said if more.strip()][:2]])
                found.message = " ".join(words.split())[:MAX_MESSAGE]
                found.failure = _section(lines[number : number + 200])
                return
    found.failure = "\n".join(lines)[-SECTION:]


def _section(lines: list[str]) -> str:
    """The text of one failure, without the source code that runners show in it: what a program says is no failure."""
    end = next(
        (number for number, line in enumerate(lines) if number and _ANOTHER.match(line)), len(lines)
    )
    if lines[0].startswith("E "):
        return "\n".join([line for line in lines[:end] if line.startswith("E ")])[:SECTION]
    return "\n".join([line for line in lines[:end] if not _CODE.match(line)])[:SECTION]
