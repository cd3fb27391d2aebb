"""Every report format gives the same outcomes, and no file content raises an error."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from preread import reports
from preread.gates import failure_kinds
from preread.reports import javascript, junit, outcomes, pytests
from preread.reports.outcomes import Outcome, Report

ERROR = (
    "Error: \x1b[2mexpect(\x1b[22mreceived).toBe(expected)\n\nExpected: \x1b[32m2\x1b[39m\n"
    "Received: 1\n    at a.ts:3"
)
SAID = "Error: expect(received).toBe(expected) Expected: 2 Received: 1"
PLAYWRIGHT: dict[str, Any] = {
    "config": {"rootDir": "/home/me/shop/e2e", "version": "1.60.0"},
    "suites": [
        {
            "title": "login.spec.ts",
            "file": "login.spec.ts",
            "specs": [],
            "suites": [
                {
                    "title": "Login",
                    "specs": [
                        {
                            "title": title,
                            "file": "login.spec.ts",
                            "tests": [
                                {
                                    "projectName": "chromium",
                                    "status": status,
                                    "results": [
                                        {
                                            "status": "failed",
                                            "error": {"message": ERROR, "stack": ERROR},
                                        },
                                        {"status": "passed", "errors": []},
                                    ][skip:],
                                }
                            ],
                        }
                        for title, status, skip in (
                            ("shows an error", "unexpected", 0),
                            ("works", "expected", 1),
                            ("second time", "flaky", 0),
                            ("later", "skipped", 2),
                        )
                    ],
                }
            ],
        }
    ],
    "stats": {"startTime": "2026-11-21T09:00:48.606Z", "duration": 16000},
}
JEST: dict[str, Any] = {
    "startTime": 1795251648606,
    "testResults": [
        {
            "name": "/home/me/shop/src/login.test.js",
            "status": "failed",
            "message": "  ● Login › shows an error",
            "assertionResults": [
                {
                    "ancestorTitles": ["Login"],
                    "title": title,
                    "status": status,
                    "invocations": n,
                    "failureMessages": f,
                }
                for title, status, n, f in (
                    ("shows an error", "failed", 1, [ERROR]),
                    ("works", "passed", 1, []),
                    ("second time", "passed", 2, []),
                    ("later", "pending", 1, []),
                )
            ],
        },
        {
            "name": "/home/me/shop/src/broken.test.js",
            "status": "failed",
            "message": "  ● Test suite failed to run\n\n"
            "    Cannot find module './nothing' from 'broken.test.js'\n",
            "assertionResults": [],
        },
    ],
}
VITEST = json.loads(
    json.dumps(JEST).replace(
        '"invocations": 2, "failureMessages": []', f'"failureMessages": ["{"E"}"]'
    )
)
CRASH = {
    "path": "/home/me/shop/tests/test_login.py",
    "lineno": 6,
    "message": "AssertionError: no token\nassert 1 == 2",
}
PYTEST: dict[str, Any] = {
    "created": 1795251650.0,
    "duration": 1.5,
    "exitcode": 1,
    "root": "/home/me/shop",
    "summary": {"total": 4},
    "collectors": [],
    "tests": [
        {"nodeid": "tests/test_login.py::TestForm::test_error[a::b]", "outcome": "failed",
         "call": {"outcome": "failed", "crash": CRASH,
             "longrepr": "def x():\n>   assert\nE   AssertionError"}},
        {"nodeid": "tests/test_login.py::test_works", "outcome": "passed",
            "call": {"outcome": "passed"}},
        {"nodeid": "tests/test_login.py::test_setup", "outcome": "error",
         "setup": {"outcome": "failed", "crash": {"message": "ConnectionError: refused"},
             "longrepr": "E  Conn"}},
        {"nodeid": "tests/test_login.py::test_rerun", "outcome": "rerun",
            "call": {"outcome": "passed"}},
        {"nodeid": "tests/test_login.py::test_later", "outcome": "skipped",
            "setup": {"outcome": "skipped"}},
    ],
}  # fmt: skip


def step(node: str, when: str, outcome: str, start: float, message: str = "") -> dict[str, Any]:
    trace = {"reprentries": [{"data": {"lines": ["def test():", ">   boom", f"E   {message}"]}}]}
    longrepr = {"reprcrash": {"message": message}, "reprtraceback": trace} if message else None
    named = {
        "nodeid": f"tests/test_login.py::{node}",
        "when": when,
        "outcome": outcome,
        "start": start,
    }
    return named | {"longrepr": longrepr, "$report_type": "TestReport"}


REPORTLOG = [
    {"pytest_version": "9.2.0", "$report_type": "SessionStart"},
    {"nodeid": "", "outcome": "passed", "longrepr": None, "$report_type": "CollectReport"},
    *(
        step("TestForm::test_error[a::b]", when, "passed", 1795251648.5)
        for when in ("setup", "teardown")
    ),
    step("TestForm::test_error[a::b]", "call", "failed", 1795251648.6, "AssertionError: no token"),
    step("test_works", "call", "passed", 1795251649.0),
    step("test_setup", "setup", "failed", 1795251649.1, "ConnectionError: refused"),
    step("test_rerun", "call", "rerun", 1795251649.2, "assert 1 > 1"),
    step("test_rerun", "call", "passed", 1795251649.3),
    step("test_later", "setup", "skipped", 1795251649.4),
    {"exitstatus": 1, "$report_type": "SessionFinish"},
]
JUNIT_PLAYWRIGHT = """<testsuites id="" name="" tests="4">
<testsuite name="login.spec.ts" timestamp="2026-11-21T09:00:48.690Z" hostname="chromium" tests="4">
<testcase name="Login › shows an error" classname="login.spec.ts" time="0.036">
<failure message="login.spec.ts:3:2 shows an error" type="FAILURE"
><![CDATA[  [chromium] › login.spec.ts:3:2 › Login
    Error: expect(received).toBe(expected)

    Expected: 2
    Received: 1
    > 3 |  expect(timeout)
]]></failure>
</testcase>
<testcase name="Login › works" classname="login.spec.ts"
><system-out>Error: no</system-out></testcase>
<testcase name="Login › later" classname="login.spec.ts"><skipped></skipped></testcase>
</testsuite></testsuites>"""
JUNIT_VITEST = """<testsuites name="vitest tests"><testsuite name="src/login.spec.ts" hostname="me">
<testcase classname="src/login.spec.ts" name="Login &gt; form &gt; shows &lt;b&gt;">
<failure message="expected 1 to be 2"/></testcase>
<testcase classname="src/b.spec.ts" name="src/b.spec.ts"
><failure message="Cannot find module './x'"/></testcase>
</testsuite></testsuites>"""
JUNIT_SUREFIRE = """<testsuite name="shop.LoginTest">
<testcase classname="shop.LoginTest" name="late"
><error type="java.net.ConnectException">Connection refused</error>
</testcase>
<testcase classname="shop.LoginTest" name="flaky"
><flakyFailure message="expected: 1">x</flakyFailure></testcase>
<testcase classname="shop.LoginTest" name="twice"
><failure message="expected: 1"/><rerunFailure message="2"/></testcase>
</testsuite>"""
FORM = (
    "tests/test_login.py",
    "TestForm",
    "test_error[a::b]",
    "failed",
    "AssertionError: no token",
    "assertion",
)
SCRIPT = ("Login", "shows an error", "failed", SAID, "assertion")


def encoded(value: Any) -> bytes:
    return json.dumps(value, indent=2, ensure_ascii=False).encode()


def log(lines: list[Any]) -> bytes:
    return "".join(f"{json.dumps(line)}\n" for line in lines).encode()


def short(report: Report) -> list[tuple[Any, ...]]:
    """What is worth comparing; those that passed or were skipped by their name alone."""
    return [
        tuple(one[:6]) if one.verdict in {"failed", "flaky"} else (one.name, one.verdict)
        for one in report.outcomes
    ]


@pytest.mark.parametrize(
    ("data", "at", "told"),
    [
        (encoded(PLAYWRIGHT), 1795251648.606, [
            ("/home/me/shop/e2e/login.spec.ts", "[chromium] > Login", *SCRIPT[1:]),
            ("works", "passed"),
            ("/home/me/shop/e2e/login.spec.ts", "[chromium] > Login", "second time", "flaky",
                SAID, "assertion"),
            ("later", "skipped"),
        ]),
        (encoded(JEST), 1795251648.606, [
            ("/home/me/shop/src/login.test.js", *SCRIPT), ("works", "passed"),
            ("/home/me/shop/src/login.test.js", "Login", "second time", "flaky", "", ""),
            ("later", "skipped"),
            ("/home/me/shop/src/broken.test.js", "", "broken.test.js", "failed",
             "Cannot find module './nothing' from 'broken.test.js'", "environment"),
        ]),
        (encoded(VITEST)[:-1] + b"\n}", 1795251648.606, [
            ("/home/me/shop/src/login.test.js", *SCRIPT), ("works", "passed"),
            ("/home/me/shop/src/login.test.js", "Login", "second time", "flaky", "E", "other"),
            ("later", "skipped"),
            ("/home/me/shop/src/broken.test.js", "", "broken.test.js", "failed",
             "Cannot find module './nothing' from 'broken.test.js'", "environment"),
        ]),
        (encoded(PYTEST), 1795251648.5, [
            FORM, ("test_works", "passed"),
            ("tests/test_login.py", "", "test_setup", "failed", "ConnectionError: refused",
                "network"),
            ("tests/test_login.py", "", "test_rerun", "flaky", "", ""), ("test_later", "skipped"),
        ]),
        (log(REPORTLOG), 1795251648.5, [
            FORM, ("test_works", "passed"),
            ("tests/test_login.py", "", "test_setup", "failed", "ConnectionError: refused",
                "network"),
            ("tests/test_login.py", "", "test_rerun", "flaky", "assert 1 > 1", "assertion"),
            ("test_later", "skipped"),
        ]),
        (JUNIT_PLAYWRIGHT.encode(), 1795251648.69, [
            ("login.spec.ts", "[chromium] > Login", *SCRIPT[1:]), ("works", "passed"),
            ("later", "skipped"),
        ]),
        (JUNIT_VITEST.encode(), 0.0, [
            ("src/login.spec.ts", "Login > form", "shows <b>", "failed", "expected 1 to be 2",
                "assertion"),
            ("src/b.spec.ts", "", "b.spec.ts", "failed", "Cannot find module './x'", "environment"),
        ]),
        (JUNIT_SUREFIRE.encode(), 0.0, [
            ("", "shop.LoginTest", "late", "failed", "java.net.ConnectException", "network"),
            ("", "shop.LoginTest", "flaky", "flaky", "expected: 1", "assertion"),
            ("", "shop.LoginTest", "twice", "failed", "expected: 1", "assertion"),
        ]),
    ],
    ids=["Playwright", "Jest", "Vitest", "pytest-json-report", "pytest-reportlog",
         "JUnit of Playwright", "JUnit of Vitest", "JUnit of Surefire"],
)  # fmt: skip
def test_each_format_gives_the_same_outcomes(data: bytes, at: float, told: list[Any]) -> None:
    report = reports.read(data)
    assert (short(report), report.problem) == (told, "")
    assert report.at == pytest.approx(at, abs=0.001)
    lines = data.decode().split("\n")
    for one in report.outcomes:
        if one.verdict in {"failed", "flaky"} and one.line:
            assert one.name.partition("[")[0].rpartition(" ")[2] in lines[one.line - 1].replace(
                "&gt;", ">"
            ).replace("&lt;", "<")
    assert all(one.line for one in report.outcomes if one.verdict == "failed")


def test_what_the_real_pytest_writes_is_read(tmp_path: Path) -> None:
    (tmp_path / "test_login.py").write_text(
        "class TestForm:\n    def test_error(self):\n        assert 1 == 2, 'no token'\n\n\n"
        "def test_works(): pass\n"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--junitxml=out.xml",
        "test_login.py",
    ]
    bare = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run(command, cwd=tmp_path, env=bare, capture_output=True, timeout=60)
    report = reports.read((tmp_path / "out.xml").read_bytes())
    assert short(report) == [
        (
            "",
            "test_login.TestForm",
            "test_error",
            "failed",
            "AssertionError: no token",
            "assertion",
        ),
        ("test_works", "passed"),
    ]
    assert report.at > 1_700_000_000


# -- whatever stands in a file


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"\0\xff\xfe", b"{", b"<testsuite>", b"[" * 200_000, b"{}", b"[]", b'"x"', b"3",
     b"null", b'{"suites": "\xff"}', b'{"name": "shop", "tests": []}', b'{"suites": []}', b"<a/>",
     b"<html/>",
     b'{"testResults": {}}', b'{"status": "failed", "failedTests": ["a"]}',
     b'{"tests": [1], "exitcode": 0}'],
)  # fmt: skip
def test_a_file_that_is_not_a_report_is_ignored(data: bytes) -> None:
    assert reports.read(data) == Report()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b'{"suites": ', "it is not valid JSON"),
        (b'{"suites": ' + b"[" * 200_000, "it is not valid JSON"),
        (b'{"testResults": ' * 200_000, "it is not valid JSON"),
        (b'{"exitcode": ' + b"9" * 5000 + b"}", "it is not valid JSON"),
        (b"<testsuite><testcase", "unclosed token"),
        (b"<a>" * 200 + b"<testcase", "more than 100 deep"),
        (b'<?xml version="1.0" encoding="nonsense"?><testcase/>', "encoding"),
        (b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><testcase>&b;</testcase>', "Entit"),
        (
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><testcase>&a;</testcase>',
            "Entit",
        ),
    ],
)
def test_an_unreadable_report_has_a_problem(data: bytes, why: str) -> None:
    report = reports.read(data)
    assert (report.outcomes, why in report.problem) == ([], True), report.problem[:200]


def test_outcomes_before_an_error_count() -> None:
    cut = reports.read(JUNIT_SUREFIRE[: JUNIT_SUREFIRE.index('name="twice"')].encode())
    assert [one.name for one in cut.outcomes] == ["late", "flaky"]
    assert cut.problem
    torn = reports.read(log(REPORTLOG)[:-100] + b'{"nodeid": "tes')
    assert "test_rerun" in {one.name for one in torn.outcomes}
    assert "is not valid JSON" in torn.problem


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_json_is_read_in_the_encodings_that_shells_write_it_in(encoding: str) -> None:
    assert short(reports.read(json.dumps(JEST).encode(encoding))) == short(
        reports.read(encoded(JEST))
    )


def test_xml_in_utf_16_is_read() -> None:
    text = '<?xml version="1.0" encoding="UTF-16"?>' + JUNIT_SUREFIRE
    assert short(reports.read(text.encode("utf-16"))) == short(
        reports.read(JUNIT_SUREFIRE.encode())
    )


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to every value in JSON."""
    yield way
    for key, inner in (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    ):
        yield from places(inner, (*way, key))


ODD = (None, 1e300, "\ud800 \x1b[31m\u202e\0x" * 9, [], {"message": 3}, [None, 1, "x", {}])


@pytest.mark.parametrize(
    "value",
    [PLAYWRIGHT, JEST, PYTEST, {"lines": REPORTLOG}],
    ids=["Playwright", "Jest", "pytest", "log"],
)
def test_any_value_may_be_of_any_type(value: dict[str, Any]) -> None:
    for way in list(places(value))[1:]:
        for odd in ODD:
            changed = copy.deepcopy(value)
            inside: Any = changed
            for key in way[:-1]:
                inside = inside[key]
            inside[way[-1]] = odd
            lines = changed.get("lines") if "lines" in value else None
            report = reports.read(
                log(lines)
                if isinstance(lines, list) and len(lines) > 1
                else json.dumps(changed).encode()
            )
            for one in report.outcomes:
                assert_clean(one)


def assert_clean(one: Outcome) -> None:
    assert one.name
    for text in (one.file, one.group, one.name, one.message):
        assert text.isprintable(), text
        assert len(text) <= outcomes.MAX_NAME, text
        text.encode()
    assert one.kind in failure_kinds.KINDS | {"", failure_kinds.OTHER}


def test_names_and_messages_have_no_invisible_characters() -> None:
    name = "a \u202e b\u200b &#27;[31mc&#10;" + "x" * 1000
    report = reports.read(
        f"<testsuite><testcase "
        f'name="{name.replace("&#27;", "")}"><failure/></testcase></testsuite>'.encode()
    )
    assert report.outcomes[0].name.startswith("a b [31mc xxx")
    assert_clean(report.outcomes[0])


def test_only_so_many_tests_of_a_report_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (junit, javascript, pytests):
        monkeypatch.setattr(module, "MAX_OUTCOMES", 2)
    for data in (
        encoded(PLAYWRIGHT),
        encoded(JEST),
        encoded(PYTEST),
        log(REPORTLOG),
        JUNIT_SUREFIRE.encode(),
    ):
        report = reports.read(data)
        assert len(report.outcomes) == 2
        assert "more than 2 tests" in report.problem


def test_suites_in_suites_have_an_end() -> None:
    suite: dict[str, Any] = {"title": "x", "specs": []}
    for _ in range(200):
        suite = {"title": "x", "suites": [suite]}
    assert "deep" in reports.read(json.dumps(PLAYWRIGHT | {"suites": [suite]}).encode()).problem
