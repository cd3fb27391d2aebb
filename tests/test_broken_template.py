"""A project's template that cannot be rendered: a warning says what to fix, and nobody is locked out."""

import json
from pathlib import Path

import pytest

from _flow import Flow, call_in
from _headless import STANDARD, writing
from _headless_scene import Scene
from _messages_api import Answer, Block, MessagesAPI, Request, text

NAME = ".project/prompts/context-builder.md.j2"
SYNTAX = "# Ours\n{% if feature %}\n"
UNKNOWN = "# Ours\n\nOutput directory: {{ output_directory }}\n{{ featur }}\n"
ENDLESS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = a %}{% endfor %}{% endfor %}"
)
HELP = "docs/prompt.md lists the variables and the blocks."
INSTEAD = "Preread's own template was used instead."


def put(project: Path, template: str) -> None:
    place = project / NAME
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(template)


@pytest.mark.parametrize(
    ("template", "words"),
    [
        (UNKNOWN, f"Unknown variable `featur` in {NAME} line 4; did you mean `feature`? {HELP}"),
        (
            ENDLESS,
            f"{NAME}: it was not rendered within 4 seconds. Fix the template. {HELP}",
        ),
    ],
    ids=["unknown variable", "endless loop"],
)
def test_our_own_template_is_used_instead(
    claude: Path, api: MessagesAPI, tmp_path: Path, template: str, words: str
) -> None:
    scene = Scene(claude, api, tmp_path).make()
    put(scene.project, template)
    api.play(writing(STANDARD))
    reply = scene.load(timeout=16)
    assert reply["warnings"] == [f"{words} {INSTEAD}"]
    assert (reply["status"], reply["builder"]) == ("ok", "claude")
    assert "Ours" not in api.requests[0].prompt


def test_the_gate_opens(claude: Path, api: MessagesAPI, tmp_path: Path) -> None:
    flow = Flow(claude, api, tmp_path)
    put(flow.project, SYNTAX)
    first, again = flow.spec("tests/login.spec.ts"), flow.spec("tests/login.spec.ts")
    calls: list[Block] = []

    def script(request: Request) -> Answer:
        if request.turn == 1:
            calls.append(call_in(request.results[-1].text))
        return [[first], calls, [again], [text("Done.")]][request.turn]

    seen = flow.session(script)
    assert seen.told(first)[1]
    reply = json.loads(seen.told(calls[0])[0])
    (warning,) = reply["warnings"]
    assert warning.startswith(f"{NAME} line 2: Unexpected end of template.")
    assert warning.endswith(f"Fix the template. {HELP} {INSTEAD}")
    assert (reply["status"], reply["builder"]) == ("ok", "claude")
    assert not seen.told(again)[1]
    assert flow.there("tests/login.spec.ts")
