"""`preread check --run`: each rule of docs/run-log.md, on a log that breaks only that one."""

import json
import re
from pathlib import Path

import pytest

from _evidence_project import services, write
from _processes import small
from conftest import ROOT, Cli
from preread.dossier.fact_text import fact_id
from preread.records import runlog
from preread.records.runlog import STAGES

LEARNED = "a login ends in a token: `token-`"
LOG = {
    "ANALYZE": ["asked for: tests of the login, for SHOP-1"],
    "RESEARCH": ["dossier: .project/context/login/", "five attempts, then it is locked"],
    "PLAN": [
        "a locked login is told so (login.py:1-3)",
        "a token is given (tests/test_login.py::test_login_gives_a_token)",
    ],
    "WRITE": ["`.draft/tests/test_locked.py`", "tests/test_login.py: one more case"],
    "RUN": [
        "run:r1 failed (wait): Timeout 5000ms exceeded",
        "run again after the fix:",
        "run:r2 passed",
    ],
    "FIX": ["run:r1: waited for the redirect"],
    "LEARN": [LEARNED],
}
DOSSIER = {
    f".project/context/login/{name}.md": "# x\n" for name in ("patterns", "codebase", "summary")
}
RECORD = [
    {"id": "r1", "outcome": "failed"},
    {"id": "r2", "outcome": "passed"},
    {"id": "r3", "outcome": "error"},
]
RECORDED = ".project/.state/results.jsonl"
FILES = {
    "login.py": "one\ntwo\nthree\n",
    "tests/test_login.py": "def test_login_gives_a_token():\n    pass\n",
    "tests/test_promoted.py": "",
    ".draft/tests/test_locked.py": "",
    ".project/knowledge.md": f"# Knowledge\n\n## Ways\n- {LEARNED} (login.py:2)\n",
    RECORDED: "".join(json.dumps(line) + "\n" for line in RECORD) + '{"id": "r4", "outc',
    **DOSSIER,
}


def log(changes: dict[str, list[str] | None] | None = None, title: str = "# Run log: login") -> str:
    """The log with some stages' bullets changed, or left out."""
    stages = LOG | (changes or {})
    parts = [
        f"## {name}\n" + "".join(f"- {b}\n" for b in bullets)
        for name, bullets in stages.items()
        if bullets is not None
    ]
    return f"{title}\n\n" + "\n".join(parts)


def checked(root: Path, text: str, files: dict[str, str] | None = None) -> runlog.Checked:
    own = services(write(root, {**FILES, **(files or {}), ".project/runs/login.md": text}))
    found = runlog.check(own, "login")
    assert found is not None
    return found


def codes(found: runlog.Checked) -> list[str]:
    return [problem.code for problem in found.problems]


def test_a_log_that_follows_every_rule_has_no_problems(tmp_path: Path) -> None:
    found = checked(tmp_path, log())
    assert found.problems == ()
    assert (found.stage, found.finished, found.runs, found.rounds) == ("LEARN", True, 2, 1)


def test_the_example_of_the_page_is_a_log_by_its_own_rules(tmp_path: Path) -> None:
    example = re.search(r"```markdown\n(.*?)```", (ROOT / "docs/run-log.md").read_text(), re.DOTALL)
    assert example is not None
    runs = [
        {"id": "20261121T054146-3f9c21", "outcome": "failed"},
        {"id": "20261121T054410-91ab07", "outcome": "passed"},
    ]
    files = {
        "src/login/Form.tsx": "x\n" * 60,
        "tests/login.spec.ts": 'test("shows the rate limit", async () => {});\n' + "\n" * 30,
        ".draft/tests/login.spec.ts": "",
        RECORDED: "".join(json.dumps(run) + "\n" for run in runs),
        ".project/knowledge.md": "# Knowledge\n\n## Waits\n"
        "- wait: the error appears after `networkidle` (a:3)\n",
    }
    assert checked(tmp_path, example[1], files).problems == ()


@pytest.mark.parametrize("count", range(len(STAGES)))
def test_an_unfinished_log_is_checked_as_far_as_it_goes(tmp_path: Path, count: int) -> None:
    found = checked(tmp_path, log(dict.fromkeys(STAGES[count:])))
    assert found.problems == ()
    assert (found.stage, found.finished) == (STAGES[count - 1] if count else "", False)


def test_a_run_whose_name_begins_like_another_is_another(tmp_path: Path) -> None:
    longer = json.dumps({"id": "r20", "outcome": "failed"})
    assert checked(tmp_path, log(), {RECORDED: FILES[RECORDED] + f"\n{longer}\n"}).problems == ()


def test_a_stage_that_is_begun_and_empty_is_not_yet_reached(tmp_path: Path) -> None:
    found = checked(tmp_path, log({"RUN": [], "FIX": [], "LEARN": []}))
    assert (found.stage, found.problems) == ("WRITE", ())


WRONG: dict[str, tuple[dict[str, list[str] | None], str, str]] = {
    "a stage is missing": ({"PLAN": None}, "E_RUN_STAGE", "PLAN is missing before LEARN"),
    "a stage is empty": ({"WRITE": []}, "E_RUN_EMPTY", "WRITE has no bullet"),
    "a stage of another name": ({"NOTES": ["x"]}, "E_RUN_STAGE", "`NOTES` is not one of ANALYZE"),
    "no dossier is named": ({"RESEARCH": ["I read it"]}, "E_RUN_DOSSIER", "no bullet names"),
    "another dossier is named": (
        {"RESEARCH": [".project/context/login-errors/"]},
        "E_RUN_DOSSIER",
        "no bullet names",
    ),
    "a test without a source": ({"PLAN": ["it works"]}, "E_RUN_PLAN", "does not end with a source"),
    "a test with words for a source": (
        {"PLAN": ["it works (I think)"]},
        "E_RUN_PLAN",
        "`I think` is not a source",
    ),
    "a source that does not hold": (
        {"PLAN": ["it works (login.py:9)"]},
        "E_RUN_PLAN",
        "has 3 lines",
    ),
    "a test that is not there": (
        {"PLAN": ["it (tests/test_login.py::test_x)"]},
        "E_RUN_PLAN",
        "has no test",
    ),
    "a file that is not there": (
        {"WRITE": ["tests/test_other.py"]},
        "E_RUN_FILE",
        "`tests/test_other.py` is not a file",
    ),
    "a file outside": (
        {"WRITE": ["../../etc/passwd"]},
        "E_RUN_FILE",
        "is not a file of the project",
    ),
    "an absolute path": (
        {"WRITE": ["`/etc/passwd`"]},
        "E_RUN_FILE",
        "is not a file of the project",
    ),
    "a run that is not recorded": (
        {"RUN": ["run:r9 passed", "run:r2"]},
        "E_RUN_RECORD",
        "run:r9 is not recorded",
    ),
    "a run cut in the making": (
        {"RUN": ["run:r4 passed", "run:r2"]},
        "E_RUN_RECORD",
        "run:r4 is not recorded",
    ),
    "another outcome": (
        {"RUN": ["run:r1 passed", "run:r2"]},
        "E_RUN_RECORD",
        "run:r1 is recorded as failed",
    ),
    "the last run failed": (
        {"RUN": ["run:r2 passed", "run:r1 failed"]},
        "E_RUN_FAILED",
        "run:r1, did not pass",
    ),
    "the last run broke off": (
        {"RUN": ["run:r2 passed", "run:r3"]},
        "E_RUN_FAILED",
        "run:r3, did not pass",
    ),
    "nothing was run": ({"RUN": ["all green, promised"]}, "E_RUN_FAILED", "no run is cited"),
    "too many rounds": ({"FIX": [f"round {n}" for n in range(26)]}, "E_RUN_ROUNDS", "26 rounds"),
    "nothing that is known": (
        {"LEARN": ["never trust it (login.py:1)"]},
        "E_RUN_LEARN",
        "is not a fact",
    ),
    "a fact by a wrong id": ({"LEARN": ["fact 00000000"]}, "E_RUN_LEARN", "is not a fact"),
}


@pytest.mark.parametrize(("changes", "code", "words"), WRONG.values(), ids=WRONG)
def test_each_rule_has_its_problem_on_its_line(
    tmp_path: Path, changes: dict[str, list[str] | None], code: str, words: str
) -> None:
    text = log(changes)
    found = checked(tmp_path, text)
    assert codes(found) == [code], found.problems
    problem = found.problems[0]
    assert words in problem.message
    line = text.split("\n")[problem.line - 1]
    assert line.startswith(("## ", "- "))
    assert problem.path == ".project/runs/login.md"


RIGHT: dict[str, dict[str, list[str] | None]] = {
    "a first run that passed": {"RUN": ["run:r2 passed"], "FIX": ["none"]},
    "25 rounds": {"FIX": [f"round {n}" for n in range(25)]},
    "nothing learned": {"LEARN": ["nothing learned: it is all known"]},
    "a fact by its id": {"LEARN": [f"fact `{fact_id('knowledge.md', LEARNED)}`"]},
    "a fact with its sources, in other case": {"LEARN": [f"{LEARNED.upper()} (login.py:2)"]},
    "a draft that was promoted": {"WRITE": [".draft/tests/test_promoted.py"]},
    "a file that is still a draft": {"WRITE": ["tests/test_locked.py"]},
    "one source of several": {"PLAN": ["it works (login.py:9, login.py:1)"]},
    "a fact of the dossier": {"PLAN": ["it works (.project/context/login/patterns.md:1)"]},
    "what a server said": {"PLAN": ["it works (tracker://SHOP/1)"]},
    "the dossier within a sentence": {
        "RESEARCH": ["read `.project/context/login/summary.md` whole"]
    },
}


@pytest.mark.parametrize("changes", RIGHT.values(), ids=RIGHT)
def test_what_looks_like_a_problem_may_not_be_one(
    tmp_path: Path, changes: dict[str, list[str] | None]
) -> None:
    assert checked(tmp_path, log(changes)).problems == ()


def test_stages_must_be_in_order_and_not_repeated(tmp_path: Path) -> None:
    text = log() + "\n## PLAN\n- again (login.py:1)\n"
    assert codes(checked(tmp_path, text)) == ["E_RUN_STAGE"]
    stages = {name: LOG[name] for name in ("ANALYZE", "RESEARCH", "WRITE", "PLAN")}
    text = "# Run log: login\n" + "".join(
        f"## {name}\n- {bullets[0]}\n" for name, bullets in stages.items()
    )
    (problem,) = checked(tmp_path, text).problems
    assert (problem.line, problem.code, problem.message) == (
        8,
        "E_RUN_STAGE",
        "PLAN comes before WRITE",
    )


def test_the_title_names_the_feature(tmp_path: Path) -> None:
    assert codes(checked(tmp_path, log(title="# Run log: checkout"))) == ["E_RUN_TITLE"]


def test_an_incomplete_dossier_does_not_count_as_research(tmp_path: Path) -> None:
    assert codes(checked(tmp_path, log(), {".project/context/login/summary.md": " \n"})) == [
        "E_RUN_DOSSIER"
    ]


def test_prose_fences_comments_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    extra = (
        "Some prose.\n\n```\n## LEARN\n- not this\n```\n<!--\n## FIX\n- nor this\n-->\n"
        "  - indented\n\n## RUN"
    )
    text = log().replace("## RUN", extra).replace("\n", "\r\n")
    assert checked(tmp_path, "\ufeff" + text).problems == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\0",
        "## \n- \n-\n",
        "# Run log: login\n## RUN\n- run:\n- run:" + "x" * 200,
        "- `\n" * 100,
        "```\n" + "## RUN\n",
    ],
)
def test_no_file_content_breaks_the_check(tmp_path: Path, text: str) -> None:
    own = services(write(tmp_path, {**FILES, ".project/runs/login.md": text}))
    found = runlog.check(own, "login")
    assert found is None or not found.finished


def test_hidden_characters_of_a_log_do_not_reach_the_reader(tmp_path: Path) -> None:
    found = checked(tmp_path, log({"WRITE": ["tests/\x1b]0;x\x07\u202e.py"]}))
    assert codes(found) == ["E_RUN_FILE"]
    assert "\x1b" not in found.problems[0].message
    assert "\u202e" not in found.problems[0].message


def test_every_code_of_the_page_has_its_test() -> None:
    page = (ROOT / "docs/run-log.md").read_text()
    listed = set(re.findall(r"^\| `(E_RUN_\w+)`", page, re.MULTILINE))
    assert listed == {code for _, code, _ in WRONG.values()} | {"E_RUN_TITLE"}
    assert re.findall(r"^\| `([A-Z]+)` \|", page, re.MULTILINE) == list(STAGES)


def test_the_command_prints_problems_like_other_checks_and_exits_1(
    cli: Cli, tmp_path: Path
) -> None:
    text = log({"FIX": None, "LEARN": None, "WRITE": ["nowhere.py"]})
    project = small(
        tmp_path / "p",
        {**FILES, ".project/runs/login.md": text, ".project/gates": "alias log-in login\n"},
    )
    done = cli("check", "--run", "login", cwd=project)
    line = text.split("\n").index("- nowhere.py") + 1
    assert done.out.split("\n") == [
        f".project/runs/login.md:{line}: E_RUN_FILE `nowhere.py` is not a file of the project",
        "login: run log at RUN, 2 runs, 0 rounds of fixes, 1 problem",
        "",
    ]
    assert done.status == 1
    reply = cli("check", "--run", "log-in", "--json", cwd=project).json
    about = {
        "path": ".project/runs/login.md",
        "stage": "RUN",
        "finished": False,
        "runs": 2,
        "rounds": 0,
    }
    assert (reply["feature"], reply["run"], reply["ok"]) == ("login", about, False)
    (project / ".project/runs/login.md").write_text(log())
    assert cli("check", "login", "--run", cwd=project).status == 0
    missing = cli("check", "--run", "logout", cwd=project)
    assert (missing.status, "E_NOT_FOUND" in missing.err) == (1, True)
