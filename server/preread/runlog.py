"""The run log of one piece of work on a feature's tests: read into stages, and held to docs/run-log.md."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from preread import dossier, published, sources
from preread.layout import REQUIRED, Layout
from preread.models import Problem
from preread.reports import results
from preread.services import Services
from preread.sources import SourceError

STAGES = ("ANALYZE", "RESEARCH", "PLAN", "WRITE", "RUN", "FIX", "LEARN")
MOST_ROUNDS = 25
MOST_LINES = 5_000
RUN = re.compile(
    r"run:(?P<id>[A-Za-z0-9][A-Za-z0-9._-]{0,63})(?:\s+(?P<outcome>passed|failed|error)\b)?(?P<rest>.*)"
)
FACT = re.compile(r"fact\s+`?([0-9a-f]{8})`?")
NOTHING = re.compile(r"(?i)(nothing learned|none)\b")


class Bullet(NamedTuple):
    """One bullet of a stage, and its line."""

    line: int
    text: str


@dataclass
class Stage:
    """One `## STAGE` as it stands in the log."""

    name: str
    line: int
    bullets: list[Bullet] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    """What was found in a run log: how far it is, whether that is the end, and what is wrong so far."""

    path: str
    stage: str
    finished: bool
    rounds: int
    runs: int
    problems: tuple[Problem, ...]


def check(services: Services, feature: str) -> Checked | None:
    """The run log of a feature, checked as far as it goes; None where there is none."""
    path = services.layout.relative(services.layout.run_log(feature))
    text = services.tree.text(path)
    return None if text is None else _Checker(services, feature, path).checked(text)


def _stages(text: str) -> tuple[str, list[Stage]]:
    """The first line, and the stages in their order; comments and code fences are passed over."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    found: list[Stage] = []
    until = ""  # what ends the fence or comment that is open
    for number, line in enumerate(lines[:MOST_LINES], 1):
        stripped = line.strip()
        if until:
            until = "" if until in stripped else until
        elif stripped.startswith(("```", "~~~")):
            until = stripped[:3]
        elif stripped.startswith("<!--"):
            until = "" if "-->" in stripped else "-->"
        elif line.startswith("## "):
            found.append(Stage(stripped[3:].strip(), number))
        elif found and line.startswith("- ") and stripped != "-":
            found[-1].bullets.append(Bullet(number, line[2:].strip()))
    return lines[0].strip(), found


class _Checker:
    """One check of one log."""

    def __init__(self, services: Services, feature: str, path: str) -> None:
        self.services, self.feature, self.path = services, feature, path
        self.problems: list[Problem] = []

    def problem(self, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(self.path, line, code, dossier.INVISIBLE.sub("?", message)))

    def checked(self, text: str) -> Checked:
        title, found = _stages(text)
        if title != f"# Run log: {self.feature}":
            self.problem(1, "E_RUN_TITLE", f"the first line is `# Run log: {self.feature}`")
        stages = self._in_order(found)
        filled = [name for name in STAGES if name in stages and stages[name].bullets]
        last = filled[-1] if filled else ""
        self._gaps(stages, last)
        for name in filled:
            LOOKS[name](self, stages[name])
        learned = stages.get("LEARN")
        if learned is not None and learned.bullets and "RUN" in stages:
            self._passed(stages["RUN"])
        return Checked(
            path=self.path,
            stage=last,
            finished=last == STAGES[-1],
            rounds=len(_rounds(stages["FIX"])) if "FIX" in stages else 0,
            runs=len(_cited(stages["RUN"])) if "RUN" in stages else 0,
            problems=tuple(sorted(self.problems, key=lambda problem: problem.line)),
        )

    def _in_order(self, found: list[Stage]) -> dict[str, Stage]:
        """The stages by name: each the first of its name."""
        stages: dict[str, Stage] = {}
        for stage in found:
            if stage.name not in STAGES:
                self.problem(
                    stage.line, "E_RUN_STAGE", f"`{stage.name[:40]}` is none of {', '.join(STAGES)}"
                )
            elif stage.name in stages:
                self.problem(stage.line, "E_RUN_STAGE", f"{stage.name} stands twice")
            else:
                later = [name for name in stages if STAGES.index(name) > STAGES.index(stage.name)]
                if later:
                    self.problem(stage.line, "E_RUN_STAGE", f"{stage.name} comes before {later[0]}")
                stages[stage.name] = stage
        return stages

    def _gaps(self, stages: dict[str, Stage], last: str) -> None:
        """What is missing or empty before the last stage that holds something."""
        for name in STAGES[: STAGES.index(last)] if last else ():
            if name not in stages:
                self.problem(stages[last].line, "E_RUN_STAGE", f"{name} is missing before {last}")
            elif not stages[name].bullets:
                self.problem(stages[name].line, "E_RUN_EMPTY", f"{name} holds no bullet")

    # -- what each stage holds

    def said(self, stage: Stage) -> None:
        """Words for people: nothing to look up."""

    def research(self, stage: Stage) -> None:
        folder = self.services.layout.relative(self.services.layout.dossier(self.feature))
        named = re.compile(rf"(?<![\w./-]){re.escape(folder)}(?![\w-])")
        if not any(named.search(bullet.text) for bullet in stage.bullets):
            self.problem(stage.line, "E_RUN_DOSSIER", f"no bullet names the dossier {folder}/")
        elif not _stands(self.services.layout, self.feature):
            self.problem(stage.line, "E_RUN_DOSSIER", f"the dossier {folder}/ does not stand")

    def plan(self, stage: Stage) -> None:
        for bullet in stage.bullets:
            _, parts = dossier.split_sources(bullet.text)
            why = [self._source(part.strip()) for part in parts]
            if not why:
                self.problem(
                    bullet.line, "E_RUN_PLAN", "ends in no source: what asks for this test?"
                )
            elif all(why):
                self.problem(bullet.line, "E_RUN_PLAN", why[0])

    def _source(self, text: str) -> str:
        """Why a source does not hold; empty when it does. What servers answered is not kept, and taken as it is."""
        ref = sources.parse(text)
        if ref is None:
            return f"`{text[:80]}` is no source"
        try:
            if sources.ROWS[ref.kind].local:
                sources.resolve(ref, self.services.tree)
        except SourceError as error:
            return str(error)
        return ""

    def write(self, stage: Stage) -> None:
        for bullet in stage.bullets:
            path = _path_in(bullet.text)
            plain = "/".join(part for part in path.split("/") if part != ".draft")
            if not any(map(self.services.tree.exists, (path, plain, f".draft/{plain}"))):
                self.problem(bullet.line, "E_RUN_FILE", f"`{path[:120]}` is no file of the project")

    def run(self, stage: Stage) -> None:
        recorded = {
            line.value["id"]: line.value.get("outcome")
            for line in results.lines(self.services.tree)
        }
        for bullet, match in _cited(stage):
            if match["id"] not in recorded:
                where = self.services.layout.relative(self.services.layout.results)
                self.problem(
                    bullet.line,
                    "E_RUN_RECORD",
                    f"run:{match['id']} is not recorded in {where} here",
                )
            elif match["outcome"] and match["outcome"] != recorded[match["id"]]:
                said = f"run:{match['id']} is recorded as {str(recorded[match['id']])[:20]}, not {match['outcome']}"
                self.problem(bullet.line, "E_RUN_RECORD", said)

    def _passed(self, stage: Stage) -> None:
        """Before anything is learned, the last run has passed by the record, whatever the log says."""
        cited = _cited(stage)
        if not cited:
            self.problem(stage.line, "E_RUN_FAILED", "no run is cited")
            return
        last, id_ = cited[-1][0], cited[-1][1]["id"]
        held = [
            line.value for line in results.lines(self.services.tree, id_) if line.value["id"] == id_
        ]
        if held and held[-1].get("outcome") != "passed":
            self.problem(last.line, "E_RUN_FAILED", f"the last run, run:{id_}, did not pass")

    def fix(self, stage: Stage) -> None:
        rounds = _rounds(stage)
        if len(rounds) > MOST_ROUNDS:
            self.problem(
                rounds[MOST_ROUNDS].line,
                "E_RUN_ROUNDS",
                f"{len(rounds)} rounds, of {MOST_ROUNDS} at most",
            )

    def learn(self, stage: Stage) -> None:
        text = (
            self.services.tree.text(self.services.layout.relative(self.services.layout.knowledge))
            or ""
        )
        facts = dossier.parse("knowledge.md", "", text)[0].facts
        known = {_words(fact.text) for fact in facts}
        ids = {dossier.fact_id("knowledge.md", fact.text) for fact in facts}
        for bullet in stage.bullets:
            named = FACT.fullmatch(bullet.text)
            said = dossier.split_sources(bullet.text)[0]
            if NOTHING.match(bullet.text) or (named and named[1] in ids):
                continue
            if _words(said) not in known and _words(bullet.text) not in known:
                self.problem(bullet.line, "E_RUN_LEARN", "is no fact of .project/knowledge.md")


LOOKS: dict[str, Callable[[_Checker, Stage], None]] = {
    "ANALYZE": _Checker.said,
    "RESEARCH": _Checker.research,
    "PLAN": _Checker.plan,
    "WRITE": _Checker.write,
    "RUN": _Checker.run,
    "FIX": _Checker.fix,
    "LEARN": _Checker.learn,
}


def _cited(stage: Stage) -> list[tuple[Bullet, re.Match[str]]]:
    """The bullets that cite a run; others are remarks."""
    return [
        (bullet, match) for bullet in stage.bullets if (match := RUN.match(bullet.text)) is not None
    ]


def _rounds(stage: Stage) -> list[Bullet]:
    return [bullet for bullet in stage.bullets if not NOTHING.match(bullet.text)]


def _stands(layout: Layout, feature: str) -> bool:
    found = published.read(layout, feature)
    return found is not None and all(found.texts.get(name, "").strip() for name in REQUIRED)


def _path_in(text: str) -> str:
    """The path that a bullet names: its first text in backticks, else its first word."""
    quoted = re.search(r"`([^`]+)`", text)
    path = quoted[1].strip() if quoted else text.split(maxsplit=1)[0].rstrip(",:;")
    return path.removeprefix("./")


def _words(text: str) -> str:
    return " ".join(text.split()).lower()
