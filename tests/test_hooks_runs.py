"""What the hooks record of a test run by Bash, and how little they do otherwise."""

import json
import os
import shlex
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from _session_hooks import HOOKS, SESSION, Scene, gated
from conftest import run_cli
from preread.gates import failure_kinds, run_records, runner_output, runners, secrets, shell

OUTPUTS = Path(__file__).parent / "data" / "runs"  # what the runners really print
FAILED = (
    "FAILED tests/test_login.py::test_error - AssertionError: assert 1 == 2\n"
    "1 failed, 3 passed in 0.12s\n"
)
PASSED = "4 passed in 0.12s\n"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return gated(tmp_path / "shop")


# -- which commands run tests

RUNS = r"""
npx playwright test tests/login.spec.ts:12 | tests/login.spec.ts
TOKEN=x python3 -m pytest -q tests/test_a.py::test_b | tests/test_a.py
python3.11 -m unittest tests.test_a |
.venv/bin/pytest -k login tests/test_a.py | tests/test_a.py
uv run --with x pytest -q |
poetry run pytest tests/test_a.py | tests/test_a.py
tox -e py311 |
nox |
npm test |
npm t |
npm run test:e2e -- tests/login.spec.ts | tests/login.spec.ts
npm --prefix web test e2e/a.spec.ts | web/e2e/a.spec.ts
pnpm --filter web test |
pnpm exec playwright test |
yarn workspace web test |
yarn test-unit |
bun test |
bun run test |
bunx vitest run src/a.test.ts | src/a.test.ts
npx jest 'src/a b.test.ts' | src/a b.test.ts
npx mocha |
npx cypress run --spec cypress/e2e/login.cy.ts | cypress/e2e/login.cy.ts
node --test a.test.mjs | a.test.mjs
go test ./... |
go test ./internal/login | internal/login
cargo test |
cargo +nightly nextest run |
mvn -q -Dtest=Login verify |
./gradlew :app:test |
gradle testDebugUnitTest |
make -C api test |
make check |
rspec spec/a_spec.rb:12 | spec/a_spec.rb
bundle exec rspec |
bin/rails test test/a_test.rb | test/a_test.rb
vendor/bin/phpunit |
php artisan test |
dotnet test |
swift test |
ctest |
sudo env A=b timeout 60 pytest tests/test_a.py | tests/test_a.py
docker compose exec web pytest tests/a.py | tests/a.py
coverage run -m pytest tests/test_a.py | tests/test_a.py
xvfb-run -a npx playwright test |
cd web && npx vitest run a.test.ts | web/a.test.ts
(cd web; npm test) && echo done |
if pytest tests/test_a.py; then echo yes; fi | tests/test_a.py
pytest "$FILE" tests/test_*.py |
"""
NO_RUNS = r"""
npm install test-utils
npm i test
npm run build
bun run build
make install
vim tests/test_a.py
cat tests/test_a.py | grep pytest
git commit -m 'npm test'
echo "pytest tests"
node x.js --watch
npx jest --listTests
pytest --collect-only
npx playwright --version
npx playwright install
go build ./...
cargo build
python -m http.server
git checkout tests/
kubectl get tests
"""


@pytest.mark.parametrize("row", RUNS.strip().split("\n"), ids=lambda row: row.split("|")[0])
def test_a_run_of_tests_is_recognised_with_what_it_names(row: str) -> None:
    command, _, target = row.rpartition("|")
    (run,) = runners.runner_commands(shell.commands(command), "/p")
    assert run.targets == ([f"/p/{target.strip()}"] if target.strip() else [])


@pytest.mark.parametrize("command", NO_RUNS.strip().split("\n"))
def test_other_commands_are_not_test_runs(command: str) -> None:
    assert runners.runner_commands(shell.commands(command), "/p") == []


def test_an_existing_file_is_a_target_even_without_looking_like_a_path(scene: Scene) -> None:
    scene.write("tests/test_cart.py")
    scene.write("api/test_x.py")
    scene.tests("python -m unittest tests.test_cart.TestCart.test_sum", PASSED)
    scene.tests("pytest api --rootdir tests", PASSED)
    assert [record["targets"] for record in scene.results] == [["tests/test_cart.py"], ["api"]]


def test_every_runner_of_the_table_gets_past_the_front(scene: Scene) -> None:
    """The front passes what contains no word of a runner, so each row has to contain one."""
    words = [[name, *(wanted[:1])] for name, wanted in runners.RUNNERS.items()]
    words += [["make", goal] for goal in runners.GOALS] + [
        [name, "check"] for name in sorted(runners.BUILDERS)
    ]
    words += [["python3", "-m", name] for name in sorted(runners.MODULE_RUNNERS)]
    words += [["npm", script] for script in runners.SCRIPTS]
    assert [row for row in words if not runners.runner_commands([row], "/p")] == []
    events = [json.dumps(_failure(scene, shlex.join(row)), separators=(",", ":")) for row in words]
    script = f". {HOOKS}/_near.sh; for event; do may_run_tests || echo $event; done"
    done = subprocess.run(["bash", "-c", script, "bash", *events], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")


def _failure(scene: Scene, command: str) -> dict[str, Any]:
    given = {"tool_name": "Bash", "tool_input": {"command": command}}
    return scene.event(
        "PostToolUseFailure", **given, error=f"Exit code 1\n{FAILED}", duration_ms=10
    )


def _run_at_once(scene: Scene, commands: list[str], width: int = 8) -> None:
    """Several hooks at a time; none may fail."""
    for start in range(0, len(commands), width):
        started = [
            scene.start("post-test-run", _failure(scene, command))
            for command in commands[start : start + width]
        ]
        assert [scene.answer(process) for process in started] == [None] * len(started)


# -- what an output says

TOLD = [
    # file, passed, failed, first name, message, kind
    (
        "playwright.txt",
        1,
        2,
        "tests/login.spec.ts > login > shows an error",
        "expect(received).toBe(expected)",
        "assertion",
    ),
    (
        "playwright-list-colour.txt",
        1,
        2,
        "tests/login.spec.ts > login > shows an error",
        "Error: expect(",
        "assertion",
    ),
    (
        "vitest.txt",
        1,
        1,
        "login.test.ts > login > shows an error",
        "expected 1 to be 2",
        "assertion",
    ),
    ("jest.txt", 1, 1, "login.test.js", "Expected: 2", "assertion"),
    ("mocha.txt", 1, 1, "shows an error", "1 == 2", "assertion"),
    ("cargo.txt", 1, 1, "tests::login", "left == right", "assertion"),
    ("node.txt", 1, 1, "bad one", "1 == 2", "assertion"),
    ("pytest.txt", 1, 2, "test_a.py::test_bad", "RuntimeError: no", "other"),
    ("pytest-quiet.txt", 1, 2, "test_a.py::test_bad", "assert 401 == 200", "auth"),
    ("unittest.txt", 1, 2, "test_c (ut_x.T.test_c)", "ValueError: boom", "other"),
    ("ctest.txt", 1, 1, "login", "", "other"),
]
# Summaries of runners that are not at hand, as their documentation shows them: passed, failed.
SUMMARIES = [
    (
        (
            "--- FAIL: TestLogin (0.00s)\n    a_test.go:12: got 1, want 2\n"
            "FAIL\nFAIL\tshop/a\t0.01s\nok  \tshop/b\t0.02s"
        ),
        1,
        1,
    ),
    ("     Summary [   0.01s] 3 tests run: 2 passed, 1 failed, 0 skipped", 2, 1),
    ("[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 0", 3, 2),
    ("5 tests completed, 2 failed", 3, 2),
    ("5 examples, 1 failure, 1 pending", 3, 1),
    ("5 runs, 9 assertions, 1 failures, 1 errors, 0 skips", 3, 2),
    ("Tests: 5, Assertions: 5, Errors: 1, Failures: 1.", 3, 2),
    ("OK (5 tests, 7 assertions)", 5, 0),
    ("Failed!  - Failed:     1, Passed:     2, Skipped:     0, Total:     3, Duration: 9 ms", 2, 1),
    ("\t Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.2) seconds", 4, 1),
    (" 3 pass\n 1 fail", 3, 1),
    ("ok | 3 passed (2 steps) | 0 failed (3ms)", 3, 0),
    ("== 1 failed, 2 passed, 3 warnings in 0.10s (0:00:00) ==\n=== 4 passed in 2s ===", 6, 1),
    ("Ran 3 tests in 0.001s\n\nOK", 3, 0),
]
SAID = [
    (("TimeoutError: locator.click: Timeout 30000ms exceeded.\nCall log:\n"
     "  - waiting for locator('#go')"), "locator"),
    ("Error: expect(locator).toBeVisible() failed\nTimeout: 5000ms\nError: element(s) not found",
    "locator"),
    ("Error: strict mode violation: getByRole('button') resolved to 2 elements", "locator"),
    (("TimeoutError: locator.click: Timeout\n - locator resolved to <button>\n"
     " - element is not enabled"), "wait"),
    ("Timeout 5000ms exceeded", "wait"),
    ("TimeoutError: page.waitForURL: Timeout 5000ms exceeded.", "wait"),
    ("Error: expect(locator).toHaveText(expected) failed\nReceived: \"b\"\nTimeout: 5000ms",
    "assertion"),
    ("AssertionError: assert 3 == 4", "assertion"),
    ("E   requests.exceptions.ConnectionError: Connection refused", "network"),
    ("Error: page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/", "network"),
    ("connect ECONNREFUSED 127.0.0.1:5432", "network"),
    ("Error: Cannot find module 'left-pad'", "environment"),
    ("E   ModuleNotFoundError: No module named 'shop'", "environment"),
    ("bash: pytest: command not found", "environment"),
    ("Error: browserType.launch: Executable doesn't exist at /x", "environment"),
    ("Error: Error reading storage state from .auth/user.json: ENOENT", "auth"),
    ("E   assert 401 == 200", "auth"),
    ("Expected: 200\nReceived: 403", "auth"),
    ("panic: context deadline exceeded", "wait"),
    ("the moon is full", "other"),
]  # fmt: skip


@pytest.mark.parametrize("told", TOLD, ids=lambda told: told[0])
def test_counts_names_message_and_kind_are_read_from_a_runners_output(
    scene: Scene, told: tuple[Any, ...]
) -> None:
    file, passed, failed, name, message, kind = told
    scene.tests("npm test", (OUTPUTS / file).read_text(), status=1)
    (record,) = scene.results
    assert record["outcome"] == "failed"
    assert (record["passed"], record["failures"], record["kind"]) == (passed, failed, kind)
    assert name in record["failed"]
    assert message in record["message"]


@pytest.mark.parametrize(("output", "passed", "failed"), SUMMARIES, ids=range(len(SUMMARIES)))
def test_a_summary_is_counted(output: str, passed: int, failed: int) -> None:
    read = runner_output.read(runner_output.cleaned(output))
    assert (read.has_summary, read.passed, read.failed + read.errors) == (True, passed, failed)


@pytest.mark.parametrize(("text", "kind"), SAID, ids=range(len(SAID)))
def test_the_most_specific_text_decides_the_kind(text: str, kind: str) -> None:
    assert failure_kinds.kind_of(text) == kind


def test_every_row_of_the_kinds_can_match() -> None:
    """Upper case would never match, nor would a row after a wider one of another kind."""
    assert all(text == text.lower() for _, texts in failure_kinds.ROWS for text in texts)
    assert all(
        failure_kinds.kind_of(" ".join(texts)) == kind
        for kind, texts in failure_kinds.ROWS
        if len(texts) == 1
    )


@pytest.mark.parametrize(
    ("command", "output", "status", "outcome"),
    [
        ("pytest", PASSED, 0, "passed"),
        ("pytest | tail -2", FAILED, 0, "failed"),  # the status is that of `tail`
        ("pytest || true", FAILED, 0, "failed"),
        ("pytest && ./deploy", PASSED, 3, "passed"),  # what came after it failed
        ("pytest --cov-fail-under=90", PASSED, 1, "failed"),
        ("pytest nofile.py", (OUTPUTS / "pytest-nothing.txt").read_text(), 4, "error"),
        ("npm test", "sh: 1: jest: not found", 127, "error"),
        ("npm test", "", 0, "passed"),
        ("npm test | tail -1", "", 0, None),  # the outcome cannot be known
        ("npm test; true", "no summary", 0, None),
    ],
)
def test_the_runners_counts_decide_the_outcome_before_its_exit_status(
    scene: Scene, command: str, output: str, status: int, outcome: str | None
) -> None:
    scene.tests(command, output, status)
    assert [record["outcome"] for record in scene.results] == ([outcome] if outcome else [])


def test_a_run_that_did_not_end_is_not_recorded(scene: Scene) -> None:
    assert scene.tests("pytest", "", run_in_background=True) is None
    given = {"tool_name": "Bash", "tool_input": {"command": "pytest"}}
    background = {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "b1"}
    scene.run("post-test-run", scene.event("PostToolUse", **given, tool_response=background))
    scene.run(
        "post-test-run",
        scene.event("PostToolUse", **given, tool_response={"stdout": PASSED, "interrupted": True}),
    )
    scene.run(
        "post-test-run",
        scene.event("PostToolUseFailure", **given, error="Exit code 1", is_interrupt=True),
    )
    scene.run(
        "post-test-run",
        scene.event("PostToolUseFailure", **given, error="Permission denied by the person"),
    )
    assert scene.results == []


# -- the record


def test_a_record_is_one_line_as_in_the_reference(scene: Scene) -> None:
    before = int(time.time())
    scene.tests(
        "cd tests && npx playwright test login.spec.ts", (OUTPUTS / "playwright.txt").read_text(), 1
    )
    (record,) = scene.results
    assert list(record) == [
        "id", "at", "session", "outcome", "kind", "features", "command", "targets", "named",
        "code", "fix", "prompt", "failed", "passed", "failures", "message", "seconds",
    ]  # fmt: skip
    assert before <= record["at"] <= time.time()
    assert record["session"] == SESSION
    assert record["features"] == ["login"]
    assert record["command"] == "npx playwright test login.spec.ts"
    assert record["targets"] == ["tests/login.spec.ts"]
    assert record["seconds"] == 4.2


@pytest.mark.parametrize(
    ("command", "features"),
    [
        ("npx playwright test tests/cart.spec.ts tests/login.spec.ts", ["cart", "login"]),
        ("npx playwright test .draft/tests/cart.spec.ts", ["cart"]),
        ("npx playwright test", ["login"]),  # of the file that failed
        (
            "npx playwright test sign-in",
            ["sign-in"],
        ),  # a filter that is the name of a dossier
        ("pytest tests/legacy/test_old.py", ["login"]),
    ],
)
def test_the_features_are_those_of_the_targets_else_of_what_failed(
    scene: Scene, command: str, features: list[str]
) -> None:
    scene.dossier("sign-in")
    scene.tests(command, (OUTPUTS / "playwright.txt").read_text(), 1)
    assert scene.results[0]["features"] == features


def test_a_run_without_a_feature_belongs_to_the_project(scene: Scene) -> None:
    scene.tests("go test ./...", "ok  \tshop\t0.01s")
    assert scene.results[0]["features"] == ["_project"]


def test_no_secret_is_recorded(scene: Scene) -> None:
    secrets = (
        "hunter2secret",
        "sk-ant-api03-abcdefghij",
        "ghp_abcdefghijklmnopqrst",
        "Tr0ub4dor&3",
        "AKIAABCDEFGHIJKLMNOP",
        "s3cr3tpass",
    )
    command = (
        f"API={secrets[0]} env PW={secrets[0]} npx playwright test "
        f"--token={secrets[3]} --api-key {secrets[3]} "
        f"--header 'Authorization: Bearer {secrets[0]}' "
        f"--url https://me:{secrets[5]}@shop.example/x "
        f"tests/login.spec.ts {secrets[1]}"
    )
    output = f"Error: password: '{secrets[5]}', {secrets[2]} {secrets[4]} "
    output += f"DB_PASSWORD={secrets[0]}\n1 failed in 2s\n"
    scene.write(".project/runs/login.md", "# Run log: login\n\n## RUN\n")
    scene.tests(command, output, 1)
    written = json.dumps(scene.results) + scene.log("login")
    assert "playwright test" in written
    assert [secret for secret in secrets if secret in written] == []


def test_ordinary_words_are_not_secrets() -> None:
    for words in (
        "AssertionError: tokens == 3",
        "tests/auth/test_tokens.py::test_refresh_token",
        "a3f5c0ffee0123456789abcdef0123456789abcd",
    ):
        assert secrets.redacted(words) == words


def test_an_enormous_hostile_output_is_read_quickly_into_one_line(scene: Scene) -> None:
    noise = ("\x1b[31m" + "═" * 500 + "\x00\x1b]0;" + "E" * 700 + "\ud800 - - - › › ›\r\n") * 4000
    assert (
        scene.tests("pytest tests/test_login.py", noise + "\n" + FAILED, 1) is None
    )  # nor was it ended after 5 s
    (record,) = scene.results
    assert (record["outcome"], record["failures"]) == ("failed", 1)
    assert len(json.dumps(record)) < 12_000


@pytest.mark.parametrize(
    "char",
    [
        " ",
        "-",
        "=",
        "›",
        "a",
        "1",
        "(",
        "E",
        "\t",
        ".",
        ":",
        "> ",
        "1 failed, ",
        "x-",
        "token",
        "a.b",
    ],
)
def test_no_line_of_one_repeated_character_is_slow_to_read(char: str) -> None:
    begun = time.monotonic()
    text = "\n".join(
        [prefix + char * 600 for prefix in ("", "FAILED ", "  1) ", " FAIL ", "E   ", "Tests: ")]
        * 20
    )
    read = runner_output.read(runner_output.cleaned(text))
    failure_kinds.kind_of(read.failure)
    secrets.redacted(char * 4000)
    assert time.monotonic() - begun < 3


def test_a_fact_can_cite_the_run(project: Path) -> None:
    """The package finds the record that the hook wrote, by its id."""
    (project / ".project/gates").write_text("**/{feature}.spec.ts\n")
    scene = Scene(project)
    scene.tests(
        "npx playwright test tests/checkout.spec.ts", (OUTPUTS / "playwright.txt").read_text(), 1
    )
    run = scene.results[0]["id"]
    folder = scene.dossier("checkout")
    (folder / "patterns.md").write_text(
        f"# Patterns: checkout\n\n## Runs\n- kind: `assertion` (run:{run})\n"
        f"- no such (run:{run}0)\n"
    )
    report = run_cli("check", "checkout", "--json", cwd=project).json
    assert run in json.dumps(report)
    assert [
        run + "0" in problem["message"]
        for problem in report["problems"]
        if "run" in problem["message"]
    ] == [True]


# -- the file of results


def test_concurrent_writers_leave_whole_lines(scene: Scene) -> None:
    _run_at_once(scene, [f"pytest tests/test_{n}.py" for n in range(16)])
    assert sorted(r["targets"][0] for r in scene.results) == sorted(
        f"tests/test_{n}.py" for n in range(16)
    )
    assert len({record["id"] for record in scene.results}) == 16


def test_half_a_line_of_a_killed_writer_damages_no_other(scene: Scene) -> None:
    scene.write(".project/.state/results.jsonl", '{"id": "old", "session": "cut he')
    scene.tests("pytest", PASSED)
    first, second = (scene.root / ".project/.state/results.jsonl").read_text().splitlines()
    assert first.endswith("cut he")
    assert json.loads(second)["outcome"] == "passed"


def test_a_large_file_is_cut_to_its_newest_lines_and_no_new_line_is_lost(scene: Scene) -> None:
    old = "".join(json.dumps({"id": f"old-{n}", "text": "x" * 300}) + "\n" for n in range(2715))
    path = scene.write(".project/.state/results.jsonl", old)
    assert path.stat().st_size < run_records.MAX_BYTES < path.stat().st_size + 20_000
    _run_at_once(scene, [f"pytest tests/test_{n}.py" for n in range(32)])
    ids = [record["id"] for record in scene.results]
    assert path.stat().st_size < run_records.MAX_BYTES
    assert "old-0" not in ids
    assert "old-2699" in ids
    assert len([name for name in ids if not name.startswith("old")]) == 32
    assert sorted(file.name for file in path.parent.iterdir()) == ["results.jsonl"]


@pytest.mark.parametrize("way", ["file", "folder", "dangling", "fifo"])
def test_nothing_is_written_through_a_link(scene: Scene, tmp_path: Path, way: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    state = scene.root / ".project/.state"
    if way == "folder":
        state.symlink_to(outside)
    else:
        state.mkdir()
        if way == "fifo":
            os.mkfifo(state / "results.jsonl")
        else:
            (outside / "f").write_text("mine\n") if way == "file" else None
            (state / "results.jsonl").symlink_to(outside / "f")
    answer = scene.tests("pytest", PASSED)
    assert list(answer) == ["systemMessage"]  # one line says so
    assert [path.read_text() for path in outside.iterdir()] == (["mine\n"] if way == "file" else [])


# -- the run log


def test_a_run_is_added_to_an_existing_run_log(scene: Scene) -> None:
    scene.write(
        ".project/runs/login.md",
        "# Run log: login\n\n## WRITE\n- a.ts\n\n## RUN\n- a remark\n\n## FIX\n- x\n",
    )
    scene.tests(
        "npx playwright test tests/login.spec.ts", "Timeout 5000ms exceeded\n  1 failed\n", 1
    )
    scene.tests("npx playwright test tests/login.spec.ts", "  1 passed (2s)\n")
    one, two = (record["id"] for record in scene.results)
    assert scene.log("login") == (
        "# Run log: login\n\n## WRITE\n- a.ts\n\n## RUN\n- a remark\n"
        f"- run:{one} failed (wait): Timeout 5000ms exceeded\n- run:{two} passed\n\n## FIX\n- x\n"
    )


@pytest.mark.parametrize(
    ("log", "tail"),
    [
        ("# Run log: login\n\n## WRITE\n- a.ts\n", "## WRITE\n- a.ts\n\n## RUN\n- run:"),
        ("# Run log: login\r\n\r\n## RUN\r\n", "## RUN\r\n- run:"),
        ("# Run log: login\n\n## RUN", "## RUN\n- run:"),
        ("# Run log: login\n\n## WRITE\n- a\n```\n## LEARN\n- no\n```\n", "```\n\n## RUN\n- run:"),
    ],
)
def test_the_bullet_is_added_at_the_end_of_its_stage(scene: Scene, log: str, tail: str) -> None:
    path = scene.write(".project/runs/login.md")
    path.write_bytes(log.encode())
    scene.tests("npx playwright test tests/login.spec.ts", "  1 passed (2s)\n")
    after = path.read_bytes().decode()
    assert after.startswith(log)
    assert tail in after
    assert after.endswith(" passed\r\n" if "\r" in log else " passed\n")


@pytest.mark.parametrize(
    "log",
    ["# Run log: login\n\n## PLAN\n- a\n", "# Run log: login\n\n## RUN\n- x\n\n## LEARN\n- y\n"],
)
def test_a_log_without_runs_yet_or_that_is_finished_stays_unchanged(scene: Scene, log: str) -> None:
    scene.write(".project/runs/login.md", log)
    scene.tests("npx playwright test tests/login.spec.ts", "  1 passed (2s)\n")
    assert scene.log("login") == log
    assert len(scene.results) == 1


def test_no_log_is_created_or_written_through_a_link(scene: Scene, tmp_path: Path) -> None:
    other = tmp_path / "other.md"
    other.write_text("## RUN\n")
    scene.tests("npx playwright test tests/login.spec.ts", "  1 passed (2s)\n")
    assert not (scene.root / ".project/runs").exists()
    (scene.root / ".project/runs").mkdir()
    (scene.root / ".project/runs/login.md").symlink_to(other)
    scene.tests("npx playwright test tests/login.spec.ts", "  1 passed (2s)\n")
    assert other.read_text() == "## RUN\n"


def test_the_log_of_an_alias_gets_the_run_as_well(tmp_path: Path) -> None:
    scene = gated(tmp_path / "shop", "**/{feature}.spec.ts\nalias sign-in login\n")
    scene.write(".project/runs/sign-in.md", "# Run log: sign-in\n\n## RUN\n")
    scene.tests("npx playwright test tests/sign-in.spec.ts", "  1 passed (2s)\n")
    assert scene.results[0]["features"] == ["login"]
    assert scene.log("sign-in").endswith(" passed\n")


def test_concurrent_bullets_are_all_added(scene: Scene) -> None:
    scene.write(".project/runs/login.md", "# Run log: login\n\n## RUN\n")
    _run_at_once(scene, ["pytest tests/test_login.py"] * 12)
    assert scene.log("login").count("- run:") == 12


# -- where nothing is to be done


def test_without_a_gates_file_nothing_is_written(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    assert scene.tests("pytest", PASSED) is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("environ", [{"PREREAD_CHILD": "1"}, {"PREREAD_GATES": "off"}])
def test_nothing_happens_in_a_build_or_with_gates_off(
    scene: Scene, environ: dict[str, str]
) -> None:
    scene.environ.update(environ)
    assert scene.tests("pytest", PASSED) is None
    assert scene.results == []


def test_a_run_is_recorded_in_the_project_of_its_folder(scene: Scene, tmp_path: Path) -> None:
    other = gated(tmp_path / "other")
    scene.tests(f"cd {other.root} && pytest tests/test_cart.py", PASSED)
    assert scene.results == []
    assert other.results[0]["features"] == ["cart"]


@pytest.mark.parametrize("hook", ["post-test-run", "pre-retry-gate"])
def test_an_ordinary_command_starts_no_python(scene: Scene, tmp_path: Path, hook: str) -> None:
    witness = tmp_path / "bin" / "python3"
    witness.parent.mkdir()
    witness.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    witness.chmod(0o755)
    scene.environ["CLAUDE_PLUGIN_DATA"] = str(tmp_path / "data")
    (tmp_path / "data").mkdir()
    (tmp_path / "data/python").symlink_to(witness)
    name = "PreToolUse" if hook == "pre-retry-gate" else "PostToolUse"

    def asked(command: str, output: str) -> bool:
        (tmp_path / "started").unlink(missing_ok=True)
        given = {"tool_name": "Bash", "tool_input": {"command": command}}
        more = (
            {}
            if name == "PreToolUse"
            else {"tool_response": {"stdout": output, "interrupted": False}}
        )
        scene.answer(scene.start(hook, scene.event(name, **given, **more)))
        return (tmp_path / "started").exists()

    assert not asked("git log -3", "")
    assert not asked("make install", "all tests passed" * 10_000)
    assert asked("npm test", "")
    (scene.root / ".project/gates").unlink()
    assert not asked("npm test", "")
