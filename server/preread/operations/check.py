"""`check`: every rule and every source of published dossiers, or the rules of a run log."""

import errno
import os
from collections.abc import Iterable, Iterator

from pydantic import Field

from preread import aliases
from preread.builds import staleness
from preread.check import check_published
from preread.dossier import published
from preread.errors import MORE_FILES, PrereadError
from preread.layout import REQUIRED
from preread.models import Model, Problem, Verdict
from preread.operations.integrity import check as integrity
from preread.operations.published_dossier import find_serving
from preread.operations.registry import (
    FEATURE,
    Operation,
    RequestModel,
    threaded,
)
from preread.records import runlog
from preread.services import Services

# Problems with sources that only git can look up: commits, and the files that a glob matches.
BY_GIT = frozenset({"E_SOURCE_COMMIT", "E_SOURCE_GLOB"})


class CheckRequest(RequestModel):
    """Which dossier to check."""

    feature: str | None = Field(None, description=FEATURE)
    all: bool = Field(
        False, description="Check every dossier, and whether all stored data is consistent."
    )
    run: bool = Field(False, description="Check its run log instead, even an unfinished one.")


class ProblemFound(Model):
    """One broken rule on one line."""

    path: str
    line: int
    code: str
    message: str
    fix: str = Field("", description="What `repair` does about it.")


class RunLog(Model):
    """How far along a run log is."""

    path: str
    stage: str = Field(description="The last stage with content; empty before the first.")
    finished: bool
    runs: int
    rounds: int = Field(description="Rounds of fixes.")


class CheckReply(Model):
    """The problems of a published dossier or a run log; `ok` if there are none."""

    feature: str = Field(description="Empty for all of them.")
    ok: bool
    facts: int | None = Field(None, description="Facts of the dossier that check out.")
    run: RunLog | None = Field(None, description="How far along the run log is.")
    problems: tuple[ProblemFound, ...]
    warnings: tuple[str, ...] = ()


def _check(services: Services, request: CheckRequest) -> CheckReply:
    if request.all and not request.feature and not request.run:
        return _check_all(services)
    if not request.feature or request.all:
        message = "Name one feature, or check them with `all`."
        raise PrereadError(
            "E_USAGE", message, "Like: `preread check checkout`, `preread check --all`"
        )
    if request.run:
        return _check_run(services, request.feature)
    return _check_one(services, request.feature)


def _check_all(services: Services) -> CheckReply:
    """Check every dossier, then the consistency of all stored data."""
    replies = [_check_one(services, name) for name in published.features(services.layout)]
    stored = integrity.look(services)
    problems = [problem for reply in replies for problem in reply.problems]
    notes = [f"{reply.feature}: {note}" for reply in replies for note in reply.warnings]
    problems += [
        ProblemFound(path=one.path, line=1, code=one.code, message=one.message, fix=one.fix)
        for one in stored.problems
    ]
    return CheckReply(
        feature="",
        ok=not problems,
        facts=sum(reply.facts or 0 for reply in replies),
        problems=tuple(problems),
        warnings=(*notes, *(f"{name} is being built: not checked" for name in stored.busy)),
    )


def _check_one(services: Services, feature: str) -> CheckReply:
    found = find_serving(services, feature)
    drafts, format_problems = found.parsed()
    checked = check_published(services, found.manifest, drafts, format_problems)
    unverified = [one for one in checked.verdicts if one.state == "unverified"]
    problems = [*checked.problems, *_unexplained(unverified, checked.problems)]
    problems.sort(key=lambda problem: (problem.path, problem.line))
    problems += [
        Problem(name, 1, "E_FILE_MISSING", "every dossier needs this file")
        for name in REQUIRED
        if not found.texts.get(name, "").strip()
    ]
    _require_git(services, problems)
    if problems:  # tell the gates if the next load would rebuild it
        staleness.hint(services, found.feature, found.manifest)
    return CheckReply(
        feature=found.feature,
        ok=not problems,
        facts=len(checked.verdicts) - len(unverified),
        problems=tuple(_problem_found(problem, found.path) for problem in problems),
        warnings=(*found.warnings, *published.unknown_files(services.layout, found.feature)),
    )


def _require_git(services: Services, problems: Iterable[Problem]) -> None:
    """Raise E_READ if problems may come from a git that did not answer."""
    failed = "; ".join(services.tree.failed)
    if not failed or not any(problem.code in BY_GIT for problem in problems):
        return
    is_limit = os.strerror(errno.EMFILE) in failed
    hint = MORE_FILES if is_limit else "See whether `git status` works in the project"
    message = f"The sources cannot be checked: {failed}."
    raise PrereadError("E_READ", message, f"{hint}, then check again.")


def _unexplained(unverified: Iterable[Verdict], problems: Iterable[Problem]) -> Iterator[Problem]:
    """The problem of each fact whose sources exist and that quotes nothing they could lack."""
    explained = {(one.path, one.line) for one in problems}
    message = "its lines are not those that a person wrote it about, and it quotes nothing of them"
    for file, line in ((one.file, one.fact.line) for one in unverified):
        if (file, line) not in explained:
            yield Problem(file, line, "E_SOURCE_CHANGED", message)


def _problem_found(problem: Problem, folder: str = "") -> ProblemFound:
    return ProblemFound(
        path=f"{folder}{problem.path}",
        line=problem.line,
        code=problem.code,
        message=problem.message,
    )


def _check_run(services: Services, name: str) -> CheckReply:
    served = aliases.resolve(services.layout, name)
    services.layout.guard(served.feature)
    found = runlog.check(services, served.feature)
    if found is None:
        path = services.layout.relative(services.layout.run_log(served.feature))
        raise PrereadError(
            "E_NOT_FOUND",
            f"There is no run log {path}.",
            f"`preread workflow {served.feature}` says what comes next, and where it is written.",
        )
    about = RunLog(
        path=found.path,
        stage=found.stage,
        finished=found.finished,
        runs=found.runs,
        rounds=found.rounds,
    )
    return CheckReply(
        feature=served.feature,
        ok=not found.problems,
        run=about,
        problems=tuple(map(_problem_found, found.problems)),
        warnings=served.warnings,
    )


OPERATION = Operation(
    name="context.check",
    request=CheckRequest,
    reply=CheckReply,
    effect="read",
    doc="Check a published dossier, even one written by hand: every format rule, every source. "
    "With `--run`, its run log; with `--all`, everything that is stored.",
    example="preread check checkout",
    run=threaded(_check),
    command="check",
    positional=("feature",),
)
