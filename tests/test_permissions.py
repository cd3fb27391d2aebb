"""The real Claude Code: the call that opens a gate is allowed in every mode, or not needed."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from _flow import LOAD, Flow, Session
from _messages_api import Block, MessagesAPI, text, tool

MODES = ("default", "acceptEdits", "dontAsk", "plan")
AT_ONCE = 3


class Obedient:
    """A model that writes, is blocked, does what it is told, and tries again.

    It makes as many calls as it takes until a missing tool counts.
    """

    def __init__(self, flow: Flow, feature: str, *flags: str) -> None:
        self.flow, self.feature, self.flags = flow, feature, flags
        self.first, self.again = (flow.spec(f"tests/{feature}.spec.ts") for _ in range(2))
        self.call, self.once_more = (tool(LOAD, feature=feature) for _ in range(2))
        done = [text("Done.")]  # also to an audit that found what another session wrote
        calls: list[list[Block]] = [[self.call], [self.once_more]]
        turns: list[list[Block]] = [[self.first], *calls, [self.again], done, done]
        flow.api.play(turns, when=f"GO {feature}.")

    def run(self) -> Session:
        flags = ("--plugin-dir", str(self.flow.plugin), *self.flags)
        return self.flow.run(*flags, prompt=f"GO {self.feature}.", allowed=("Write",))

    def written(self) -> bool:
        return self.flow.there(f"tests/{self.feature}.spec.ts")


def test_the_call_is_allowed_in_every_mode_and_where_a_rule_denies_it_the_write_passes(
    claude: Path, api: MessagesAPI, tmp_path: Path
) -> None:
    flow = Flow(claude, api, tmp_path)
    flow.environ["PREREAD_LEVEL"] = "light"
    modes = {mode: Obedient(flow, mode.lower(), "--permission-mode", mode) for mode in MODES}
    rules = {
        rule: Obedient(flow, rule, "--settings", json.dumps({"permissions": {rule: [LOAD]}}))
        for rule in ("ask", "deny")
    }
    models = {**modes, **rules, "absent": Obedient(flow, "absent", "--strict-mcp-config")}
    with ThreadPoolExecutor(AT_ONCE) as threads:
        sessions = dict(zip(models, threads.map(Obedient.run, models.values()), strict=True))

    for name, model in models.items():
        told, blocked = sessions[name].told(model.first)
        assert blocked, name
        assert f'Call {LOAD} with {{"feature": "{model.feature}"}}' in told, name
    for name, model in modes.items():
        told, failed = sessions[name].told(model.call)
        assert not failed, (name, told)
        assert json.loads(told)["status"] == "ok", name
        told, failed = sessions[name].told(model.again)
        assert (model.written(), failed) == (name != "plan", name == "plan"), (name, told)
    assert "while in plan mode" in sessions["plan"].told(modes["plan"].again)[0]

    for name, why in (
        ("ask", "granted it yet"),
        ("deny", "not among the tools"),
        ("absent", "not among"),
    ):
        model, session = models[name], sessions[name]
        assert session.told(model.call)[1], name
        told, failed = session.told(model.again)
        assert not failed, (name, told)
        assert model.written(), name
        assert f"goes on without the dossier of {name}" in session.remark(model.again), name
        assert why in session.remark(model.again), name
