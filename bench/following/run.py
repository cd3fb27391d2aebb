"""Refresh dossiers commit by commit, and compare where each fact went with git's own line maps.

    PYTHONPATH=server python bench/following/run.py --split working --clones DIR
    PYTHONPATH=server python bench/following/run.py --repo rack/rack --steps 5

`--from /some/mirror/{slug}/repo` takes the clones from there. It prints the figures, and writes every
row and every difference into bench/results/, a file for each repository. A run that was cut goes on
with `--continue`; several may run at once, each with other repositories. Figures: ../README.md.
"""

import argparse
import asyncio
import json
import os
import random
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

from oracle import Change, Place

from preread.builders import static
from preread.builds import pipeline
from preread.builds.build import draft_and_publish
from preread.builds.build_plan import Plan
from preread.builds.jobs import Caller, Jobs
from preread.builds.reply_cache import ReplyCache
from preread.dossier import fact_text, markdown, published, sources
from preread.evidence.collect import collect
from preread.infra import db
from preread.models import Draft
from preread.operations import REGISTRY
from preread.operations.registry import Context, services_of

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
CODE = (".py", ".go", ".ts", ".tsx", ".js", ".rb", ".rs", ".java", ".php")
FEATURES, MODEL, PERSON = 3, 20, 3
COLD = 5  # every how many steps the tree to compare with loses its index
MODEL_FILES = ("patterns.md", "existing-tests.md")
ENVIRON = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull, "PREREAD_CLAUDE": "/nonexistent/claude",
    # The runs that a model would have are counted here; a stand-in would only replace its facts.
    "PREREAD_REBUILD_AFTER": "1", "PREREAD_TIMEOUT": "3600", "PREREAD_MAX_TOKENS": "6000", "PREREAD_MAX_FACTS": "120",
}  # fmt: skip
Row = dict[str, Any]
SAID = re.compile(r"^(sample|person) (\d+) says")


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "core.hooksPath=/dev/null", *arguments],
        cwd=root, check=True, capture_output=True,
    ).stdout.decode("utf-8", "replace")  # fmt: skip


def code_paths(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.endswith(CODE)]


class Project:
    """One repository: a work tree that is followed, and one that is built anew at each step."""

    def __init__(self, row: Row, given: argparse.Namespace) -> None:
        self.name = row["url"].removeprefix("https://github.com/")
        slug = self.name.replace("/", "+")
        self.place = RESULTS / f"following-{slug}.json"
        can_continue = given.continues and self.place.exists()
        self.before: Row | None = json.loads(self.place.read_text()) if can_continue else None
        self.tree, self.fresh = given.clones / slug, given.clones / f"{slug}.fresh"
        if self.before is None:
            source = given.source.format(slug=slug) if given.source else row["url"]
            for tree in (self.tree, self.fresh):
                shutil.rmtree(tree, ignore_errors=True)
                subprocess.run(["git", "clone", "-q", "--local", source, str(tree)], check=True)
        steps = given.steps or row.get("steps", given.default)
        log = git(self.tree, "log", "--first-parent", "--format=%H", row["commit"]).split()
        touching = list(islice(filter(self.code_changed, log), steps))
        self.commits = [f"{touching[-1]}~1", *reversed(touching)]
        self.commits[0] = git(self.tree, "rev-parse", self.commits[0]).strip()
        self.done = self.before["steps"] if self.before else 0
        self.rng = random.Random(f"preread following 1 {self.name}")
        self.checkout(self.done)
        changed = Counter(path for one in touching for path in self.code_changed(one))
        listed = set(code_paths(git(self.tree, "ls-files")))
        self.touched = [path for path, _ in changed.most_common() if path in listed]
        self.untouched = sorted(listed - set(self.touched))
        names = dict.fromkeys(
            re.sub(r"[^a-z0-9]+", "-", Path(path).stem.lower().removeprefix("test_")).strip("-")
            for path in self.touched
        )
        self.features = [name for name in names if len(name) > 2][:FEATURES]
        if self.before:
            self.features = [one["feature"] for one in self.before["dossiers"]]

    def code_changed(self, commit: str) -> list[str]:
        shown = git(self.tree, "diff", "--name-only", "-M", f"{commit}~1", commit)
        return code_paths(shown)

    def checkout(self, step: int) -> None:
        for tree in (self.tree, self.fresh):
            git(tree, "checkout", "-q", "--force", "--detach", self.commits[step])

    def quotable(self, path: str) -> list[tuple[int, int, str]]:
        """Lines of a file that a fact could cite, with a text of theirs that it could quote."""
        found = []
        lines = (self.tree / path).read_text("utf-8", "replace").split("\n")
        for number, line in enumerate(lines, 1):
            text = line.strip()
            if not 10 <= len(text) <= 110 or not text.isascii() or set("`#<>\"'=$@") & set(text):
                continue
            if not re.search(r"[A-Za-z]{4}", text):
                continue
            calls = re.findall(r"[A-Za-z_.]{6,}\(", text)
            end = min(number + self.rng.choice([0, 0, 0, 2, 5]), len(lines))
            while not lines[end - 1].strip():
                end -= 1
            found.append((number, end, self.rng.choice([text, *calls])))
        return found

    def facts(self, kind: str, count: int) -> list[str]:
        """Bullets that cite a random line each: of files that will change, and of others."""
        found: list[str] = []
        while len(found) < count:
            pool = self.touched[:12] if self.rng.random() < 0.7 else self.untouched
            path = self.rng.choice(pool or self.touched)
            choices = self.quotable(path)
            if not choices:
                continue
            start, end, quote = self.rng.choice(choices)
            place = Place(path, start, end)
            found.append(f"- {kind} {len(found) + 1} says `{quote}` ({place})")
        return found


class Followed:
    """One dossier of a project, with what the oracle knows of its facts."""

    def __init__(self, project: Project, feature: str, jobs: Jobs) -> None:
        self.project, self.feature = project, feature
        caller = Caller(None, self.silent)
        self.context = Context(project.tree, ENVIRON, jobs, caller, ReplyCache())
        self.at: dict[str, Place] = {}  # each fact's place, by the oracle
        self.quotes: dict[str, list[str]] = {}
        self.count: Counter[str] = Counter()
        self.notes: list[str] = []
        self.seconds: list[float] = []

    async def silent(self, message: str, done: float, total: float) -> None:
        """No progress bar."""

    async def call(self, name: str, **given: object):
        operation = REGISTRY[name]
        return await operation.run(self.context, operation.request(**given))

    async def begin(self) -> None:
        services = self.context.services()
        request = pipeline.resolve(services, feature=self.feature, level="light")
        evidence = collect(services, request)
        bullets = self.project.facts("sample", MODEL)
        half = len(bullets) // 2
        drafts = []
        for name, own in zip(MODEL_FILES, (bullets[:half], bullets[half:]), strict=True):
            title = {"patterns.md": "Patterns", "existing-tests.md": "Existing tests"}[name]
            text = f"# {title}: {self.feature}\n\n## Sampled\n" + "\n".join(own) + "\n"
            drafts.append(markdown.parse(name, self.feature, text)[0])
        plan = Plan(request, (), tuple(drafts))
        await draft_and_publish(services, plan, evidence, time.time())
        path = services.layout.dossier(self.feature) / "patterns.md"
        people = "\n".join(self.project.facts("person", PERSON))
        path.write_text(f"{path.read_text()}\n## Ours\n{people}\n")
        await self.call("context.load", feature=self.feature, level="light")
        for key, (place, quotes) in self.shown().items():
            self.at[key], self.quotes[key] = place, quotes
        self.count["sampled"] = len(self.at)

    def saved(self) -> Row:
        """What a later run needs to go on from here, as JSON."""
        kept = ("feature", "at", "quotes", "count", "notes", "seconds")
        return {name: getattr(self, name) for name in kept}

    def restore(self, row: Row) -> None:
        self.at = {key: Place(*place) for key, place in row["at"].items()}
        self.quotes, self.count = row["quotes"], Counter(row["count"])
        self.notes, self.seconds = row["notes"], row["seconds"]

    def published(self):
        found = published.read(self.context.services().layout, self.feature)
        assert found is not None, "no dossier"
        return found

    def drafts(self) -> list[Draft]:
        texts = self.published().texts.items()
        return [markdown.parse(name, self.feature, text)[0] for name, text in texts]

    def shown(self) -> dict[str, tuple[Place, list[str]]]:
        """Where the sampled facts are now, by the dossier; people's that are unverified are not."""
        unverified = set(self.published().manifest.unverified)
        found = {}
        for _, _, fact in markdown.all_facts(self.drafts()):
            match = SAID.match(fact.text)
            if match and fact.text not in unverified:
                ref = sources.parse(fact.sources[0])
                key = f"{match[1]} {match[2]}"
                found[key] = (Place(ref.path, ref.start, ref.end), fact_text.quotes(fact.text))
        return found

    def note(self, what: str, text: str) -> None:
        self.count[what] += 1
        self.notes.append(f"{self.feature}: {what}: {text}")

    async def step(self, number: int, change: Change) -> None:
        commit = self.project.commits[number]
        fates = {key: change.fate(place) for key, place in self.at.items()}
        told = (await self.call("context.status", feature=self.feature)).dossiers[0]
        begun = time.perf_counter()
        reply = await self.call("context.load", feature=self.feature, level="light")
        self.seconds.append(time.perf_counter() - begun)
        self.count[f"state {reply.state}"] += 1
        if reply.state == "built":
            self.note("rebuilt", f"{commit[:9]} {reply.warnings}")
        if told.fresh and reply.state != "cached":
            self.note("fresh and changed", commit[:9])
        again = await self.call("context.load", feature=self.feature, level="light")
        if again.state != "cached":
            self.note("false stale", f"{commit[:9]} is {again.state} when loaded again")
        shown = self.shown()
        lost = 0
        for key, fate in fates.items():
            place, now = self.at.pop(key), shown.get(key, (None, []))[0]
            label = f"{commit[:9]} {key} {place} -> {now}, {fate.kind} {[*map(str, fate.places)]}"
            lost += now is None and key.startswith("sample")
            if fate.kind == "kept" and now == place:
                self.count["unmoved"] += 1
            elif now is None:
                self.lost(fate.kind, label)
            elif now in fate.places:
                self.count["followed"] += 1
            elif not self.says(key, now):
                self.note("kept without its text", label)
            elif fate.kind == "gone" and now.path == place.path:
                self.count["text changed, quote followed"] += 1
            else:
                self.note("wrong source", label)
            if now is not None:
                self.at[key] = now
        for key in shown.keys() - fates.keys():  # a person's, whose text is there again
            self.at[key] = shown[key][0]
        self.would_run(lost, fates, commit)
        self.people(commit)
        self.computed(commit)

    def lost(self, kind: str, label: str) -> None:
        if kind in {"kept", "moved"}:
            self.note("missed", label)
        else:
            self.count[f"{kind}, dropped"] += 1

    def says(self, key: str, place: Place) -> bool:
        lines = (self.project.tree / place.path).read_text("utf-8", "replace").split("\n")
        text = "".join("".join(lines[place.start - 1 : place.end]).split())
        return all("".join(quote.split()) in text for quote in self.quotes[key])

    def would_run(self, lost: int, fates, commit: str) -> None:
        """Whether a model would be asked again although enough of its facts are still true."""
        total = sum(key.startswith("sample") for key in fates)
        gone = sum(key.startswith("sample") and one.kind == "gone" for key, one in fates.items())
        if total and lost / total > 0.25:
            self.note("model run" if gone / total > 0.25 else "model run by moves", commit[:9])

    def people(self, commit: str) -> None:
        text = self.published().texts["patterns.md"]
        for number in range(1, PERSON + 1):
            if f"- person {number} says" not in text:
                self.note("person's fact lost", f"{commit[:9]} {number}")

    def computed(self, commit: str) -> None:
        """Each computed fact must also be found by a first build of this commit."""
        services = services_of(self.project.fresh, ENVIRON)
        asked = pipeline.resolve(services, feature=self.feature, level="light")
        expected = {
            (draft.name, fact.text)
            for draft, _, fact in markdown.all_facts(static.drafts(asked, collect(services, asked)))
        }
        if services.tree.troubles:  # such a build says so, and is poorer
            self.note("not compared", f"{commit[:9]} {services.tree.troubles}")
            return
        for draft, _, fact in markdown.all_facts(self.drafts()):
            if SAID.match(fact.text) or draft.name == "summary.md":
                continue
            self.count["computed"] += 1
            if (draft.name, fact.text) not in expected:
                self.note("computed and wrong", f"{commit[:9]} {draft.name} {fact.text}")


async def follow(projects: list[Project]) -> list[Row]:
    """Follow all of them in turn, a step each, so that a run that is cut has the same of each."""
    async with Jobs() as jobs:
        dossiers = [[Followed(one, name, jobs) for name in one.features] for one in projects]
        for project, own in zip(projects, dossiers, strict=True):
            if project.before:
                for one, row in zip(own, project.before["dossiers"], strict=True):
                    one.restore(row)
            else:
                for one in own:
                    await one.begin()
        for number in range(1, max(len(one.commits) for one in projects)):
            for project, own in zip(projects, dossiers, strict=True):
                if project.done < number < len(project.commits):
                    await _step(project, own, number)
        return [_row(*one) for one in zip(projects, dossiers, strict=True)]


async def _step(project: Project, dossiers: list[Followed], number: int) -> None:
    change = Change(project.tree, project.commits[number - 1], project.commits[number])
    project.checkout(number)
    if number % COLD == 1:
        shutil.rmtree(db.place(services_of(project.fresh, ENVIRON).layout).folder)
    for one in dossiers:
        await one.step(number, change)
    project.done = number
    part = project.place.with_suffix(".part")
    part.write_text(json.dumps(_row(project, dossiers), indent=1))
    part.replace(project.place)
    print(f"{project.name} {number}/{len(project.commits) - 1}", file=sys.stderr, flush=True)


def _row(project: Project, dossiers: list[Followed]) -> Row:
    count = sum((one.count for one in dossiers), Counter())
    seconds = sorted(second for one in dossiers for second in one.seconds)
    return {
        "repository": project.name,
        "steps": project.done,
        "features": project.features,
        "count": dict(sorted(count.items())),
        "seconds": {"median": seconds[len(seconds) // 2], "most": seconds[-1]},
        "notes": [note for one in dossiers for note in one.notes],
        "dossiers": [one.saved() for one in dossiers],
    }


def figures(rows: list[Row]) -> dict[str, object]:
    count = sum((Counter(row["count"]) for row in rows), Counter())
    right = count["unmoved"] + count["followed"] + count["text changed, quote followed"]
    wrong = count["wrong source"] + count["kept without its text"]
    saved = count["unmoved"] + count["followed"]
    return {
        "steps": sum(row["steps"] for row in rows),
        "sources correct": right / max(1, right + wrong),
        "kept though gone": count["kept without its text"],
        "computed facts seen": count["computed"],
        "computed and wrong": count["computed and wrong"],
        "false stale": count["false stale"] + count["rebuilt"],
        "of a perfect relocator": saved / max(1, saved + count["missed"]),
        "of those that moved": count["followed"] / max(1, count["followed"] + count["missed"]),
        "model runs by moves": count["model run by moves"],
        "person's facts lost": count["person's fact lost"],
        "count": dict(sorted(count.items())),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", choices=("working", "held-out", "long"))
    parser.add_argument("--repo", help="a regular expression")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--clones", type=Path, default=RESULTS / "following-clones")
    parser.add_argument("--from", dest="source", default="")
    parser.add_argument("--continue", dest="continues", action="store_true")
    given = parser.parse_args()
    data = tomllib.loads((HERE / "manifest.toml").read_text())
    given.default = data["steps"]
    given.clones.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    projects = [
        Project(row, given)
        for row in data["repository"]
        if given.split in {None, row["split"]} and re.search(given.repo or "", row["url"])
    ]
    if not projects:
        parser.error("manifest.toml has no such repository; its `url` must match --repo")
    rows = asyncio.run(follow(projects))
    print(json.dumps(figures(rows), indent=1))


if __name__ == "__main__":
    main()
