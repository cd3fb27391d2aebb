"""Issue texts: fetched once from GitHub for the cases whose commit says which issue it closes, and kept in a folder.

    GITHUB_TOKEN=… python bench/retrieval/issues.py --split tuning --issues DIR
    python bench/retrieval/run.py --split tuning --issues DIR     cases drawn among such commits, asked with it too

The texts belong to their authors and are not committed; who has the network can fetch them again. An issue may have
been edited after its fix: the file says when it was fetched, and title and description are taken, no comments.
"""

import argparse
import json
import os
import time
import urllib.error
import urllib.request
from pathlib import Path

from cases import Case, cases_of
from repositories import Clone, Entry, manifest
from systems import Task
from texts import closed_by


def tasks(folder: Path | None, entry: Entry, clone: Clone, cases: list[Case]) -> dict[str, Task]:
    """Commit → its issue's title and description as they are: people do name files there."""
    place = folder / f"{entry.slug}.json" if folder else None
    if place is None or not place.exists():
        return {}
    texts = json.loads(place.read_text(encoding="utf-8"))["issues"]
    found = {}
    for case in cases:
        issue = next((texts[n] for n in map(str, numbers(clone, case)) if texts.get(n)), None)
        if issue:
            found[case.commit] = Task(issue["title"], issue["body"])
    return found


def numbers(clone: Clone, case: Case) -> tuple[int, ...]:
    return closed_by(clone.git("log", "-1", "--format=%B", case.commit))


def fetch(api: str, name: str, number: int) -> dict[str, str] | None:
    """Title and description; None for a pull request, which is no issue, and for what is gone."""
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "preread-bench"}
    if token := os.environ.get("GITHUB_TOKEN"):
        headers["Authorization"] = f"Bearer {token}"
    try:
        request = urllib.request.Request(f"{api}/repos/{name}/issues/{number}", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as reply:
            data = json.load(reply)
    except urllib.error.HTTPError as error:
        if error.code in {404, 410}:
            return None
        raise  # a limit was met: what is there is kept, and the next run goes on
    return None if "pull_request" in data else {"title": data["title"], "body": data["body"] or ""}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", choices=("tuning", "held-out"), default="tuning")
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument("--source", default="")
    parser.add_argument("--issues", type=Path, required=True)
    parser.add_argument("--api", default="https://api.github.com")
    options = parser.parse_args()
    plan = manifest()
    options.issues.mkdir(parents=True, exist_ok=True)
    for entry in (entry for entry in plan.entries if entry.split == options.split):
        clone = Clone.of(entry, options.clones.resolve(), options.source)
        wanted = {number for case in cases_of(clone, plan, closing=True) for number in numbers(clone, case)}
        place = options.issues / f"{entry.slug}.json"
        kept = json.loads(place.read_text(encoding="utf-8"))["issues"] if place.exists() else {}
        try:
            for number in sorted(wanted - set(map(int, kept))):
                kept[str(number)] = fetch(options.api, entry.name, number)
        finally:
            data = {"fetched": time.strftime("%Y-%m-%d"), "issues": kept}
            place.write_text(json.dumps(data, indent=1), encoding="utf-8")
        print(f"{entry.name:<30} {sum(map(bool, kept.values()))} issues of {len(wanted)} numbers", flush=True)


if __name__ == "__main__":
    main()
