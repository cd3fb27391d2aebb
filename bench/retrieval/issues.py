"""Issue texts as questions: what people reported → the sources that the fix changed, in the tree
before it.

    python bench/retrieval/issues.py --split tuning [--show]   how many cases, and their digests
    python bench/retrieval/run.py --issues --split tuning      what is found for them

The texts belong to their authors: they are read at run time from two public collections that
issues.toml names by URL, commit and path, and none is committed. Which cases there are, and what
they leave out: ISSUES.md.
"""

import argparse
import hashlib
import json
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cases import MOST_FILES, MOST_SOURCES, Case, digest_of
from kinds import SOURCE, TEST, kind_of
from repositories import Clone, Entry, Manifest

ISSUES = Path(__file__).with_name("issues.toml")
FEWEST_WORDS = 40  # of an issue that SWE-bench Lite would take
OLD = re.compile(r"^--- a/(.+)$", re.MULTILINE)
NEW = re.compile(r"^--- /dev/null\n\+\+\+ b/(.+)$", re.MULTILINE)
_CODE = re.compile(r"<denchmark-code>.*?</denchmark-code>", re.DOTALL)
_MARK = re.compile(r"</?denchmark[^>]*>")
_LOST = re.compile(r"\w  \w")  # where that collection lost a piece of code out of a sentence


class Report(NamedTuple):
    """One issue: its text, and its fix as a tree and a commit, or as a tree and the paths that a
    patch changed.
    """

    key: str
    title: str
    body: str
    parent: str = ""
    commit: str = ""
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


class Plan(NamedTuple):
    """The manifest of issues: where texts are, and the repositories that they are about."""

    manifest: Manifest
    collections: dict[str, Entry]
    paths: dict[str, str]  # collection → the file or the folder that its texts are in
    of: dict[str, str]  # repository → its collection

    def collection(self, entry: Entry) -> Entry:
        return self.collections[self.of[entry.name]]


def plan_of_issues() -> Plan:
    data = tomllib.loads(ISSUES.read_text(encoding="utf-8"))
    collections, paths, of, entries = {}, {}, {}, []
    for row in data["collection"]:
        name = row["url"].removeprefix("https://github.com/")
        collections[row["name"]] = Entry(name, row["url"], row["commit"], "", "", "")
        paths[row["name"]] = row["path"]
    for row in data["repository"]:
        name = row["url"].removeprefix("https://github.com/")
        entries.append(
            Entry(
                name, row["url"], row["commit"], row["language"], row["split"], row.get("cases", "")
            )
        )
        of[name] = row["texts"]
    return Plan(
        Manifest(data["seed"], data["most_cases"], 0, tuple(entries)), collections, paths, of
    )


def _of_loc_bench(collection: Clone, path: str, name: str) -> Iterator[Report]:
    """A file of lines: title and description, the commit before the fix, the fix without its tests
    as a patch.
    """
    for line in collection.git("show", f"{collection.entry.commit}:{path}").splitlines():
        row = json.loads(line)
        if row["repo"] == name:
            title, _, body = row["problem_statement"].partition("\n")
            old, new = tuple(OLD.findall(row["patch"])), tuple(NEW.findall(row["patch"]))
            yield Report(
                row["instance_id"], title, body, row["base_commit"], changed=old, added=new
            )


def _of_denchmark(collection: Clone, path: str, name: str) -> Iterator[Report]:
    """A file an issue: summary and description as a page showed them, and the commit that fixed
    it.
    """
    folder = f"{collection.entry.commit}:{path}/{name.replace('/', '+').lower()}"
    for file in collection.git("ls-tree", "--name-only", folder).split():
        row = json.loads(collection.git("show", f"{folder}/{file}"))
        words = row["BR"]["BR_text"]
        body = words["BRdescription"] or ""
        if not _LOST.search(_MARK.sub("", _CODE.sub("", body))):
            text = "\n".join(line.strip() for line in _MARK.sub("", body).splitlines())
            yield Report(
                file.removesuffix(".json"),
                words["BRsummary"],
                text.strip(),
                commit=row["commit"]["commit_id"],
            )


READERS = {"loc-bench": _of_loc_bench, "denchmark": _of_denchmark}


def _fix(clone: Clone, report: Report) -> Report | None:
    """The report with its tree and its changed paths; None where the clone has not got the commit."""
    try:
        parents = clone.git("log", "-1", "--format=%P", report.parent or report.commit).split()
    except subprocess.CalledProcessError:
        return None
    if report.parent or not parents:
        return report if report.parent else None
    names = clone.git(
        "diff-tree", "-r", "-z", "--no-renames", "--name-status", parents[0], report.commit
    ).split("\0")
    rows = list(zip(names[1::2], names[0::2], strict=False))
    old, new = (
        tuple(path for path, letter in rows if (letter == "A") is added) for added in (False, True)
    )
    return report._replace(parent=parents[0], changed=old, added=new)


def _case(clone: Clone, report: Report) -> Case | None:
    fix = _fix(clone, report)
    if fix is None or len(fix.changed) + len(fix.added) > MOST_FILES:
        return None
    there = {file.path for file in clone.files(fix.parent)}
    sources, tests = (
        tuple(p for p in fix.changed if p in there and kind_of(p) == kind)
        for kind in (SOURCE, TEST)
    )
    fresh = sum(kind_of(path) == SOURCE for path in fix.added)
    if not sources or len(sources) + fresh > MOST_SOURCES:
        return None
    return Case(
        report.key, fix.parent, report.title.strip(), report.body, sources, tests, {}, fresh
    )


def cases_of_issues(clone: Clone, plan: Plan, collection: Clone) -> list[Case]:
    """A repository's cases, each after those whose trees it could build on."""
    texts = plan.of[clone.entry.name]
    reports = {
        report.key: report
        for report in READERS[texts](collection, plan.paths[texts], clone.entry.name)
    }
    drawn = sorted(
        reports, key=lambda key: hashlib.sha256(f"{plan.manifest.seed} {key}".encode()).digest()
    )
    found: list[Case] = []
    for key in drawn:
        case = _case(clone, reports[key]) if len(found) < plan.manifest.cases else None
        if case is not None:
            found.append(case)
    if not found:
        return []
    order = clone.git(
        "rev-list", "--topo-order", "--reverse", *{case.parent for case in found}
    ).split()
    place = {commit: n for n, commit in enumerate(order)}
    return sorted(found, key=lambda case: (place[case.parent], case.commit))


def like_lite(case: Case) -> bool:
    """As SWE-bench Lite chooses: one source changed, none added, a text of 40 words or more."""
    return (
        len(case.sources) == 1
        and not case.fresh
        and len(f"{case.subject} {case.body}".split()) >= FEWEST_WORDS
    )


def names_its_file(case: Case) -> bool:
    """Whether the text has a changed source's name, or its last two names as a dotted module."""
    text = f"{case.subject}\n{case.body}".lower()
    for path in case.sources:
        folders, _, name = path.lower().rpartition("/")
        module = f"{folders.rpartition('/')[2]}.{name.rpartition('.')[0]}".removesuffix(".__init__")
        if (name in text and name != "__init__.py") or (
            "." in module.strip(".") and module in text
        ):
            return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument(
        "--source",
        default="",
        help="where clones come from instead of the URL, like /mirrors/{slug}",
    )
    parser.add_argument("--split", choices=("tuning", "held-out"))
    parser.add_argument("--repo", action="append")
    parser.add_argument(
        "--show", action="store_true", help="print what the cases are, but for their texts"
    )
    options = parser.parse_args()
    plan = plan_of_issues()
    for entry in plan.manifest.entries:
        if entry.name not in (options.repo or [entry.name]) or entry.split != (
            options.split or entry.split
        ):
            continue
        collection = Clone.of(plan.collection(entry), options.clones, options.source)
        cases = cases_of_issues(Clone.of(entry, options.clones, options.source), plan, collection)
        lite, named = sum(map(like_lite, cases)), sum(map(names_its_file, cases))
        note = (
            ""
            if digest_of(cases) == entry.digest
            else f"   the manifest has {entry.digest or 'none'}"
        )
        print(
            f"{entry.name:<36} {digest_of(cases)}  like Lite {lite}, names its file {named}{note}",
            flush=True,
        )
        for case in cases if options.show else ():
            print(f"  {case.commit} {case.parent[:10]} {case.sources} {case.tests}")


if __name__ == "__main__":
    main()
