"""Reversals: commits taken back, values changed and changed back, sleeps replaced."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from preread.dossier import code
from preread.evidence import phrases
from preread.evidence.history import Patch  # noqa: TC001 - read at run time by nobody, by people always
from preread.evidence.view import View
from preread.models import Finding

ASSIGN = re.compile(
    r"^\s*(?:export\s+)?(?:(?:const|let|var|static|final|public|private|readonly)\s+)*([A-Za-z_][\w.]*)\??\s*"
    r"(?::\s*[\w\[\]| .<>]+?)?\s*[=:]\s*([\"']?[\w.+-]+[\"']?)\s*[,;]?\s*(?:#.*|//.*)?$"
)
SLEEP = re.compile(r"(\w+\.)*(waitForTimeout|sleep|setTimeout)\([^)]*\)")


def reverts(view: View) -> Iterator[Finding]:
    """What was tried and taken back, with the reason if one was given."""
    n = 0
    for commit in view.commits:
        if not commit.is_revert or n >= 5:
            continue
        about = view.relevance(commit.subject, commit.body)
        home = sum(view.relevance(path) >= 1 for path in commit.files)
        if about < 0.5 and not (len(commit.files) <= 8 and 2 * home >= len(commit.files) > 0):
            continue
        n += 1
        original = re.search(r"reverts commit ([0-9a-f]{7,40})", commit.body)
        body = re.sub(r"This reverts commit [0-9a-f]+[.,]?", "", commit.body).strip()
        why = (
            phrases.plain(phrases.clip(body, 150))
            if len(body) > 20 and not re.match(r"(?i)co-authored|signed-off|closes|https?:", body)
            else ""
        )
        title = phrases.subject(commit.subject)
        cites = [f"commit:{commit.sha[:9]}"]
        if original and view.services.tree.git("cat-file", "-e", f"{original[1]}^{{commit}}").status == 0:
            cites.append(f"commit:{original[1][:9]}")
        yield Finding(
            rule="reverts",
            kind="reverted",
            text=f"{phrases.quote(title, 100)} was taken back" + (f": {why}" if why else ""),
            sources=tuple(cites),
            reason="a revert that touched the feature's files",
            score=0.8 + 0.15 * min(1.0, about),
        )


def back_and_forth(view: View) -> Iterator[Finding]:
    """Values that were changed and changed back: A → B → A."""
    history: dict[tuple[str, str], list[tuple[str, str, Patch]]] = defaultdict(list)
    for patch in view.patches:  # newest first
        removed, added = _assignments(patch.removed), _assignments(patch.added)
        for name in removed.keys() & added.keys():
            if removed[name] != added[name]:
                history[patch.path, name].append((removed[name], added[name], patch))
    n = 0
    for (path, name), steps in history.items():
        later = next(
            (i for i in range(len(steps) - 1) if steps[i][1] == steps[i + 1][0] and steps[i][0] == steps[i + 1][1]),
            None,
        )
        current = _assigned(view.services.tree.lines(path) or (), name)
        if later is None or n >= 4 or current > 1 or not (view.relevance(name) or view.relevance(path) >= 1):
            continue
        n += 1
        (before, now, latest), (_, _, earlier) = steps[later], steps[later + 1]
        yield Finding(
            rule="back_and_forth",
            kind="reverted",
            text=f"{code(name)} went from {now} to {before} and back: "
            + phrases.quote(phrases.subject(latest.commit.subject), 90),
            sources=(f"commit:{latest.commit.sha[:9]}", f"commit:{earlier.commit.sha[:9]}"),
            reason="a value changed and changed back",
            score=0.9,
        )


def _assigned(lines: Iterable[str], name: str) -> int:
    """How often a name is given a value in a file: when more than once, its history is not one value's."""
    return sum(1 for line in lines if (match := ASSIGN.match(line)) and match[1] == name)


def _assignments(lines: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for line in lines:
        match = ASSIGN.match(line) if len(line) < 200 and ("=" in line or ":" in line) else None
        if match and len(match[1]) >= 4 and re.search(r"\d|true|false|True|False|[\"']", match[2]):
            found[match[1]] = match[2]
    return found


def replaced_sleeps(view: View) -> Iterator[Finding]:
    """Sleeps that a commit took out of the feature's tests, with the wait that it put there."""
    n = 0
    for patch in view.patches:
        if not any(file.path == patch.path and file.role != "source" for file in view.tests):
            continue
        gone = next((m[0] for line in patch.removed if (m := SLEEP.search(line))), "")
        new = next(
            (
                line.strip()
                for line in patch.added
                if re.search(r"(?i)wait|poll|until|expect\(|toBe|clock|freeze|timers", line)
            ),
            "",
        )
        if not gone or any(SLEEP.search(line) for line in patch.added) or n >= 3:
            continue
        n += 1
        yield Finding(
            rule="replaced_sleeps",
            kind="reverted",
            text=f"do not wait by {phrases.quote(gone, 60)}"
            + (f": replaced by {phrases.quote(new.rstrip(';'), 80)}" if new else ": taken out"),
            sources=(f"commit:{patch.commit.sha[:9]}",),
            reason="a sleep that was replaced",
            score=0.85,
        )
