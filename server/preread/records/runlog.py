"""Check the run log of work on a feature's tests against the rules in docs/run-log.md."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from preread.dossier import brackets, fact_text, markdown, published, sources
from preread.dossier.sources import SourceError
from preread.models import Problem
from preread.reports import results
from preread.services import Services

STAGES = ("ANALYZE", "RESEARCH", "PLAN", "WRITE", "RUN", "FIX", "LEARN")
MAX_ROUNDS = 25
MAX_LINES = 5_000
RUN = re.compile(
    r"run:(?P<id>[A-Za-z0-9][A-Za-z0-9._-]{0,63})"
    r"(?:\s+(?P<outcome>passed|failed|error)\b)?(?P<rest>.*)"
)
FACT = re.compile(r"fact\s+`?([0-9a-f]{8})`?")
NOTHING = re.compile(r"(?i)(nothing learned|none)\b")


class Bullet(NamedTuple):
    """One bullet of a stage."""

    line: int
    text: str


@dataclass
class Stage:
    """One `## STAGE` of the log."""

    name: str
    line: int
    bullets: list[Bullet] = field(default_factory=list)


@dataclass(frozen=True)
class Checked:
    """The result of a check: how far the log got, counts, and problems."""

    path: str
    stage: str
    finished: bool
    rounds: int
    runs: int
    problems: tuple[Problem, ...]
    unknown: tuple[str, ...] = ()  # lessons that are not in the project's knowledge


def check(services: Services, feature: str) -> Checked | None:
    """Check what a feature's run log contains so far; None when there is none."""
    path = services.layout.relative(services.layout.run_log(feature))
    text = services.tree.text(path)
    return None if text is None else _Checker(services, feature, path).checked(text)


def _stages(text: str) -> tuple[str, list[Stage]]:
    """The first line, and the stages in order; comments and code fences are skipped."""
    lines = [line.rstrip("\r") for line in text.split("\n")]
    found: list[Stage] = []
    until = ""  # the end marker of the open fence or comment
    for number, line in enumerate(lines[:MAX_LINES], 1):
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
    """State of one check of one log."""

    def __init__(self, services: Services, feature: str, path: str) -> None:
        self.services, self.feature, self.path = services, feature, path
        self.problems: list[Problem] = []
        self.unknown: list[str] = []

    def problem(self, line: int, code: str, message: str) -> None:
        self.problems.append(Problem(self.path, line, code, fact_text.INVISIBLE.sub("?", message)))

    def checked(self, text: str) -> Checked:
        title, found = _stages(text)
        if title != f"# Run log: {self.feature}":
            self.problem(1, "E_RUN_TITLE", f"the first line must be `# Run log: {self.feature}`")
        stages = self._by_name(found)
        filled = [name for name in STAGES if name in stages and stages[name].bullets]
        last = filled[-1] if filled else ""
        self._check_gaps(stages, last)
        for name in filled:
            CHECKS[name](self, stages[name])
        learned = stages.get("LEARN")
        if learned is not None and learned.bullets and "RUN" in stages:
            self._check_last_run(stages["RUN"])
        return Checked(
            path=self.path,
            stage=last,
            finished=last == STAGES[-1],
            rounds=len(_rounds(stages["FIX"])) if "FIX" in stages else 0,
            runs=len(_cited(stages["RUN"])) if "RUN" in stages else 0,
            problems=tuple(sorted(self.problems, key=lambda problem: problem.line)),
            unknown=tuple(self.unknown),
        )

    def _by_name(self, found: list[Stage]) -> dict[str, Stage]:
        """The first stage of each name; reports unknown, repeated and misplaced ones."""
        stages: dict[str, Stage] = {}
        for stage in found:
            if stage.name not in STAGES:
                message = f"`{stage.name[:40]}` is not one of {', '.join(STAGES)}"
                self.problem(stage.line, "E_RUN_STAGE", message)
            elif stage.name in stages:
                self.problem(stage.line, "E_RUN_STAGE", f"{stage.name} is repeated")
            else:
                later = [name for name in stages if STAGES.index(name) > STAGES.index(stage.name)]
                if later:
                    self.problem(stage.line, "E_RUN_STAGE", f"{stage.name} comes before {later[0]}")
                stages[stage.name] = stage
        return stages

    def _check_gaps(self, stages: dict[str, Stage], last: str) -> None:
        """Report stages that are missing or empty before the last one with bullets."""
        for name in STAGES[: STAGES.index(last)] if last else ():
            if name not in stages:
                self.problem(stages[last].line, "E_RUN_STAGE", f"{name} is missing before {last}")
            elif not stages[name].bullets:
                self.problem(stages[name].line, "E_RUN_EMPTY", f"{name} has no bullet")

    # -- the rules of each stage

    def analyze(self, stage: Stage) -> None:
        """Free text: there is nothing to check."""

    def research(self, stage: Stage) -> None:
        folder = self.services.layout.relative(self.services.layout.dossier(self.feature))
        named = re.compile(rf"(?<![\w./-]){re.escape(folder)}(?![\w-])")
        if not any(named.search(bullet.text) for bullet in stage.bullets):
            self.problem(stage.line, "E_RUN_DOSSIER", f"no bullet names the dossier {folder}/")
        elif not published.is_complete(self.services.layout, self.feature):
            self.problem(stage.line, "E_RUN_DOSSIER", f"the dossier {folder}/ is incomplete")

    def plan(self, stage: Stage) -> None:
        for bullet in stage.bullets:
            _, parts = brackets.split_sources(bullet.text)
            errors = [self._source_error(part.strip()) for part in parts]
            if not errors:
                message = "does not end with a source: what requires this test?"
                self.problem(bullet.line, "E_RUN_PLAN", message)
            elif all(errors):
                self.problem(bullet.line, "E_RUN_PLAN", errors[0])

    def _source_error(self, text: str) -> str:
        """Why a source is invalid; empty if it is valid. External ones cannot be checked here."""
        ref = sources.parse(text)
        if ref is None:
            return f"`{text[:80]}` is not a source"
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
                message = f"`{path[:120]}` is not a file of the project"
                self.problem(bullet.line, "E_RUN_FILE", message)

    def run(self, stage: Stage) -> None:
        layout, lines = self.services.layout, results.lines(self.services.tree)
        recorded = {line.value["id"]: line.value.get("outcome") for line in lines}
        for bullet, match in _cited(stage):
            id_, claimed = match["id"], match["outcome"]
            if id_ not in recorded:
                message = f"run:{id_} is not recorded in {layout.relative(layout.results)} here"
                self.problem(bullet.line, "E_RUN_RECORD", message)
            elif claimed and claimed != recorded[id_]:
                message = f"run:{id_} is recorded as {str(recorded[id_])[:20]}, not {claimed}"
                self.problem(bullet.line, "E_RUN_RECORD", message)

    def _check_last_run(self, stage: Stage) -> None:
        """The last run must be recorded as passed, whatever the log says."""
        cited = _cited(stage)
        if not cited:
            self.problem(stage.line, "E_RUN_FAILED", "no run is cited")
            return
        last, id_ = cited[-1][0], cited[-1][1]["id"]
        lines = results.lines(self.services.tree, id_)
        records = [line.value for line in lines if line.value["id"] == id_]
        if records and records[-1].get("outcome") != "passed":
            self.problem(last.line, "E_RUN_FAILED", f"the last run, run:{id_}, did not pass")

    def fix(self, stage: Stage) -> None:
        rounds = _rounds(stage)
        if len(rounds) > MAX_ROUNDS:
            message = f"{len(rounds)} rounds, and at most {MAX_ROUNDS} are allowed"
            self.problem(rounds[MAX_ROUNDS].line, "E_RUN_ROUNDS", message)

    def learn(self, stage: Stage) -> None:
        layout = self.services.layout
        text = self.services.tree.text(layout.relative(layout.knowledge)) or ""
        facts = markdown.parse("knowledge.md", "", text)[0].facts
        known = {_words(fact.text) for fact in facts}
        ids = {fact_text.fact_id("knowledge.md", fact.text) for fact in facts}
        for bullet in stage.bullets:
            by_id = FACT.fullmatch(bullet.text)
            without_sources = brackets.split_sources(bullet.text)[0]
            if NOTHING.match(bullet.text) or (by_id and by_id[1] in ids):
                continue
            if _words(without_sources) not in known and _words(bullet.text) not in known:
                self.unknown.append(bullet.text)
                message = "is not a fact in .project/knowledge.md"
                self.problem(bullet.line, "E_RUN_LEARN", message)


CHECKS: dict[str, Callable[[_Checker, Stage], None]] = {
    "ANALYZE": _Checker.analyze,
    "RESEARCH": _Checker.research,
    "PLAN": _Checker.plan,
    "WRITE": _Checker.write,
    "RUN": _Checker.run,
    "FIX": _Checker.fix,
    "LEARN": _Checker.learn,
}


def _cited(stage: Stage) -> list[tuple[Bullet, re.Match[str]]]:
    """The bullets that cite a run; the others are remarks."""
    return [
        (bullet, match) for bullet in stage.bullets if (match := RUN.match(bullet.text)) is not None
    ]


def _rounds(stage: Stage) -> list[Bullet]:
    return [bullet for bullet in stage.bullets if not NOTHING.match(bullet.text)]


def _path_in(text: str) -> str:
    """The path in a bullet: its first text in backticks, else its first word."""
    quoted = re.search(r"`([^`]+)`", text)
    path = quoted[1].strip() if quoted else text.split(maxsplit=1)[0].rstrip(",:;")
    return path.removeprefix("./")


def _words(text: str) -> str:
    return " ".join(text.split()).lower()
