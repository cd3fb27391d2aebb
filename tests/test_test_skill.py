"""`/preread:test` in the real Claude Code, from a project without `init` to its last check."""

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from _flow import LOAD, Flow
from _messages_api import Answer, Block, MessagesAPI, Request, text, tool

DRAFT, PROMOTED = ".draft/tests/test_paint.py", "tests/test_paint.py"
LOG = ".project/runs/paint.md"
WRONG = (
    "from paint import paint\n\n\ndef test_paint_doubles_a_colour():\n    assert paint(3) == 9\n"
)
RIGHT = WRONG.replace("9", "6")
START = """# Run log: paint

## ANALYZE
- asked for: tests of paint

## RESEARCH
- dossier: .project/context/paint/
"""
PLAN = "\n## PLAN\n- a colour is doubled (paint.py:1-2)\n"
FACT = "`paint` doubles what it is given: `colour * 2` (paint.py:1-2)"
Step = list[Block] | Callable[[Request], list[Block]]


class Model:
    """A model, or one of its agents, that does one step after the other and remembers its calls."""

    def __init__(self, *steps: Step) -> None:
        self.steps = steps
        self.asked: list[Request] = []
        self.calls: list[list[Block]] = []

    def __call__(self, request: Request) -> Answer:
        done = len(self.calls)
        step: Step = self.steps[done] if done < len(self.steps) else [text("Done.")]
        self.asked.append(request)
        self.calls.append(step(request) if callable(step) else step)
        return self.calls[-1]


def bash(command: str) -> Block:
    return tool("Bash", command=command, description="run")


def dispatch(agent: str) -> list[Block]:
    prompt = f"{agent.upper()}: feature: paint"
    call = tool(
        "Agent", description="a stage", prompt=prompt, subagent_type=f"preread:{agent}",
        run_in_background=False,
    )  # fmt: skip
    return [call]


def texts_of(request: Request) -> list[str]:
    blocks = [
        block
        for message in request.messages
        for block in ([message] if isinstance(message["content"], str) else message["content"])
    ]
    return [str(block.get("text") or block.get("content")) for block in blocks]


def set_up(request: Request) -> list[Block]:
    """The command that the skill's page names for a project without gates."""
    page = next(words for words in texts_of(request) if "# Tests for a feature" in words)
    found = re.search(r'`("[^"`]+/bin/preread" init)`', page)
    assert found, page
    assert "`run_in_background: false`" in page  # else an agent starts before the last one ends
    return [bash(found[1])]


class Work:
    """The person's project, and what the model writes in it."""

    def __init__(self, flow: Flow) -> None:
        self.flow, self.log = flow, str(flow.project / LOG)

    def add(self, words: str) -> list[Block]:
        """Add to the end of the run log, as it is by then."""
        return [tool("Write", file_path=self.log, content=self.read() + words)]

    def read(self) -> str:
        return (self.flow.project / LOG).read_text()

    def opened(self, name: str) -> Block:
        return tool("Read", file_path=str(self.flow.project / name))

    def tests(self, path: str) -> Block:
        return bash(f"{sys.executable} -m pytest -q {path}")


def planner(work: Work) -> Sequence[Step]:
    return ([work.opened(LOG)], lambda _: work.add(PLAN))


def generator(work: Work) -> Sequence[Step]:
    draft = tool("Write", file_path=str(work.flow.project / DRAFT), content=WRONG)
    return ([work.opened(LOG), draft], lambda _: work.add(f"\n## WRITE\n- {DRAFT}\n"))


def healer(work: Work) -> Sequence[Step]:
    path = str(work.flow.project / DRAFT)
    mend = tool("Edit", file_path=path, old_string="9", new_string="6")

    def note(_: Request) -> list[Block]:
        (failed,) = re.findall(r"- (run:\S+) failed", work.read())
        return work.add(f"\n## FIX\n- {failed}: the expected value was wrong\n")

    return (
        [work.tests(DRAFT)], [work.opened(DRAFT), work.opened(LOG)], [mend], note,
        [work.tests(DRAFT)], [work.tests(DRAFT)],
    )  # fmt: skip


def learner(work: Work) -> Sequence[Step]:
    knowledge = str(work.flow.project / ".project" / "knowledge.md")

    def keep(_: Request) -> list[Block]:
        known = Path(knowledge).read_text() + f"- {FACT}\n"
        return [
            tool("Write", file_path=knowledge, content=known),
            *work.add(f"\n## LEARN\n- {FACT}\n"),
        ]

    return ([work.opened(".project/knowledge.md"), work.opened(LOG)], keep)


@pytest.fixture
def flow(claude: Path, api: MessagesAPI, tmp_path: Path) -> Flow:
    flow = Flow(claude, api, tmp_path)
    (flow.project / ".project" / "gates").unlink()
    flow.environ |= {"PREREAD_LEVEL": "light", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return flow


def test_the_skill_leads_from_a_project_without_init_to_a_check_that_passes(flow: Flow) -> None:
    work, prompt = Work(flow), "/preread:test paint GO"
    agents = {
        "test-planner": Model(*planner(work)),
        "test-generator": Model(*generator(work)),
        "test-healer": Model(*healer(work)),
        "pattern-learner": Model(*learner(work)),
    }
    main = Model(
        set_up,
        [tool("Write", file_path=work.log, content=START), tool(LOAD, feature="paint")],
        *map(dispatch, list(agents)[:3]),
        [text("May I promote .draft/tests/test_paint.py?")],
        [bash(f"mkdir -p tests && mv {DRAFT} {PROMOTED}"), work.opened(LOG)],
        [tool("Edit", file_path=work.log, old_string=f"- {DRAFT}", new_string=f"- {PROMOTED}")],
        [work.tests(PROMOTED)],
        dispatch("pattern-learner"),
        [bash("preread check --run paint")],
    )
    for name, model in agents.items():
        flow.api.play(model, when=f"{name.upper()}: ")
    first = flow.session(main, prompt=prompt)
    second = flow.run(
        "--plugin-dir", str(flow.plugin), "--resume", first.init["session_id"], prompt="yes"
    )
    calls = [call for step in main.calls for call in step if call["type"] == "tool_use"]
    told = {call["id"]: second.told(call) for call in calls}
    assert [call["name"] for call in calls if told[call["id"]][1]] == []
    assert "wrote .project/gates" in told[calls[0]["id"]][0]
    assert [len(model.calls) > len(model.steps) for model in agents.values()] == [True] * 4
    assert "# Summary: paint" in agents["test-planner"].asked[0].whole

    problems = "paint: run log finished, 4 runs, 1 round of fixes, 0 problems"
    assert told[calls[-1]["id"]][0] == problems
    outcomes = re.findall(r"^- run:[^ :]+ (\w+)", work.read(), re.MULTILINE)
    assert outcomes == ["failed", "passed", "passed", "passed"]
    recorded = (flow.project / ".project" / ".state" / "results.jsonl").read_text().splitlines()
    assert [json.loads(line)["outcome"] for line in recorded] == outcomes
    assert not flow.there(DRAFT)
    assert (flow.project / PROMOTED).read_text() == RIGHT
