"""Do the run commands of a dossier run? Each is given to its runner, if it can only to list tests.

    python bench/commands/run.py --split tuning
    python bench/commands/run.py --repo pallets/click

A command is right when its runner ends well, in the folder that the dossier names, and finds a
test. It prints each command with what came of it, and writes them into bench/results/.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

sys.path.extend(str(Path(__file__).parents[1] / name) for name in ("retrieval", "localisation"))

from cargo import unknown
from dossiers import SERVER, built
from repositories import Clone, Entry

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent / "results"
SECONDS = 900  # of one setup, or one command
_SECTION = re.compile(r"^## Run\n(.*?)(?=^#{1,2} |\Z)", re.MULTILINE | re.DOTALL)
_QUOTED = re.compile(r'`+([^`\n]+)`+|"((?:[^"\n\\]|\\.)+)"')
_COMMAND = re.compile(
    r"(cd \S+ && )?(\w+=\S+ )*(python3?|pytest|tox|nox|hatch|poetry|uv|make|just|go|cargo|npx|npm"
    r"|yarn|pnpm|bunx?|node|mocha|vitest|jest|mvn|gradle|bundle|rspec|rake|ruby|composer|php"
    r"|ctest|vendor/\S+|\./\w+|bin/\w+|script/\w+) "
)
_FOLDER = re.compile(r"\s*,? in `?([\w./@\-]+|<build folder>)`?")
BUILD = "build"  # where the manifest's setups build what CMake describes


class Runner(NamedTuple):
    """How a runner is known, how it is made to list only, and what shows that it found a test."""

    known: re.Pattern[str]
    replaced: str
    by: str
    proof: re.Pattern[str]


def _runner(known: str, replaced: str, by: str, proof: str) -> Runner:
    return Runner(re.compile(known), replaced, by, re.compile(proof, re.MULTILINE))


_GO = r"^(Test|Example|Benchmark|Fuzz)"
_NPX = r"^(\w+=\S+ )*((npx|yarn|pnpm( exec)?) )?"
_VITEST = r"vitest( run| watch)?"
RUNNERS = (
    _runner(r"\bpytest\b", r"$", " --collect-only -q", r"^(=+ )?\d+(/\d+)? tests? collected|^\S+::"),
    _runner(r"\bgo test\b.* -run\b", r" -run[ =]", " -list ", _GO),
    _runner(r"\bgo test\b", r"\bgo test\b", "go test -list .", _GO),
    _runner(rf"{_NPX}vitest\b.* -t\b", _VITEST, "vitest list", r" > "),
    _runner(rf"{_NPX}vitest\b", _VITEST, "vitest list --filesOnly", r"^(\[\S+\] )?[\w./@-]+\.\w+$"),
    _runner(r"\bjest\b", r"$", " --listTests", r"^/"),
    _runner(r"\bmocha\b", r"$", " --dry-run", r"^\s*[1-9]\d* passing"),
    _runner(r"^ctest\b", r"$", " -N", r"^Total Tests: [1-9]"),
    # What cannot list is run: its tests may fail, but there have to be some.
    _runner("", r"$", "", r"Tests run: [1-9]|^. tests [1-9]|--- PASS"
            r"|Tests?:? +.*[1-9]\d* (passed|failed)"
            r"|[1-9]\d* (runs|tests|examples|passing|passed)\b"),
)  # fmt: skip
_SCRIPT = re.compile(r"((?:\w+=\S+ )*)(?:npm|pnpm|yarn)(?: run)? ([\w:.\-]+)(?: --(?= |$))?(.*)")


def unwrapped(command: str, folder: Path) -> str:
    """What a script of package.json runs with what is said after its name, if it is one command."""
    said = _SCRIPT.fullmatch(command)
    package = folder / "package.json"
    if said is None or not package.is_file():
        return command
    script = json.loads(package.read_text(encoding="utf-8")).get("scripts", {}).get(said[2], "&")
    if "&" in script or script == command:
        return command
    return said[1] + unwrapped(script + said[3], folder)


class Tried(NamedTuple):
    command: str
    folder: str
    run: str
    right: bool
    end: str  # the last lines of what was printed


def commands(dossier: str) -> list[tuple[str, str]]:
    """Each with the folder that is named beside it, or where it says `cd`."""
    found: dict[tuple[str, str], None] = {}
    for quoted in _QUOTED.finditer(section := "\n".join(_SECTION.findall(dossier))):
        text = " ".join((quoted[1] or quoted[2]).replace('\\"', '"').split())
        if _COMMAND.match(f"{text} "):
            folder = _FOLDER.match(section, quoted.end())
            place = folder[1] if folder else "."
            found[text, BUILD if place.startswith("<") else place] = None
    return list(found)


def drawn(root: Path, count: int, server: Path) -> list[tuple[str, str]]:
    """The commands for so many test files; a file without one has an empty command."""
    done = subprocess.run(
        [sys.executable, HERE / "drawn.py", root, str(count)],
        env={**os.environ, "PYTHONPATH": str(server)}, check=True, stdout=subprocess.PIPE,
    )  # fmt: skip
    return [
        (run or f"# nothing for {path}", BUILD if folder.startswith("<") else folder)
        for path, run, folder in json.loads(done.stdout)
    ]


def tried(command: str, folder: str, root: Path) -> Tried:
    if command.startswith("#"):
        return Tried(command, folder, command, False, "no command")
    if re.match(r"cargo test\b", command):
        missing = unknown(command, root / folder)
        return Tried(command, folder, "cargo metadata", not missing, ", ".join(missing))
    alone = unwrapped(command, root / folder)
    runner = next(one for one in RUNNERS if one.known.search(alone))
    listing = re.sub(runner.replaced, runner.by, alone, count=1)
    status, out = shell(listing, root / folder, root)
    proven = runner.proof.search(out) is not None
    right = proven and (status == 0 or runner is RUNNERS[-1])
    return Tried(command, folder, listing, right, "\n".join(out.strip().split("\n")[-6:]))


def shell(command: str, folder: Path, root: Path) -> tuple[int, str]:
    if not folder.is_dir():
        return 127, f"no folder {folder}"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("VIRTUAL")}
    own = (root / ".venv" / "bin", folder / "node_modules" / ".bin", root / "node_modules" / ".bin")
    environ["PATH"] = ":".join((*map(str, own), environ["PATH"]))
    environ |= {"CI": "1", "NO_COLOR": "1"}
    environ["npm_config_yes"] = "false"  # what is not installed is not fetched to run it
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environ, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
        text=True, errors="replace",
    )  # fmt: skip
    try:
        out, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return 124, f"after {SECONDS} seconds"
    else:
        return process.returncode, out
    finally:  # also what a runner started and left: watchers, browsers, servers
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def entries() -> list[tuple[Entry, dict[str, str]]]:
    rows = tomllib.loads((HERE / "manifest.toml").read_text(encoding="utf-8"))["repository"]
    found = []
    for row in rows:
        name = row["url"].removeprefix("https://github.com/")
        found.append(
            (Entry(name, row["url"], row["commit"], row["language"], row["split"], ""), row)
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--split", choices=("tuning", "held-out"), default="tuning")
    parser.add_argument("--repo", action="append", help="owner/name, of either split")
    parser.add_argument(
        "--only-show", action="store_true", help="the commands, without running them"
    )
    parser.add_argument(
        "--files", type=int, default=0, help="also the commands for so many test files, drawn"
    )
    parser.add_argument("--server", type=Path, default=SERVER, help="whose dossiers: its `server`")
    parser.add_argument("--clones", type=Path, default=Path.home() / ".cache" / "preread-bench")
    parser.add_argument("--source", default="", help="instead of the URL, like /mirrors/{slug}")
    parser.add_argument("--to", type=Path, default=RESULTS, help="the folder for the JSON")
    options = parser.parse_args()
    folder = options.clones.resolve() / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "lock").open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    found: dict[str, list[Tried]] = {}
    for entry, row in entries():
        if entry.name not in options.repo if options.repo else entry.split != options.split:
            continue
        clone = Clone.of(entry, folder, options.source)
        state = clone.checkout(entry.commit)
        shutil.rmtree(clone.tree / ".project", ignore_errors=True)
        server = options.server.resolve()
        told = commands(built(state, row["feature"], row["description"], server).text)
        own = len(told)
        told += [one for one in drawn(clone.tree, options.files, server) if one not in told]
        print(f"{entry.name}: {own} commands, and {len(told) - own} for drawn files", flush=True)
        ready = clone.git_dir / "ready"  # what was set up, so that it is done once
        if (
            not options.only_show
            and told
            and (not ready.exists() or ready.read_text() != row["setup"])
        ):
            status, out = shell(row["setup"], clone.tree, clone.tree)
            if status:
                print(f"  the setup failed: {out[-800:]}")
                continue
            ready.write_text(row["setup"])
        found[entry.name] = []
        for command, place in told:
            one = (
                Tried(command, place, "", False, "")
                if options.only_show
                else tried(command, place, clone.tree)
            )
            found[entry.name].append(one)
            verdict = "right" if one.right else "WRONG" if one.run else "-----"
            print(f"  {verdict}  {command}  (in {place})", flush=True)
            if not one.right and one.run:
                print("    " + one.end.replace("\n", "\n    "), flush=True)
    every = [one for group in found.values() for one in group]
    with_one = sum(any(one.right for one in group) for group in found.values())
    right = sum(one.right for one in every)
    print(f"\n{right} of {len(every)} commands are right", end="; ")
    print(f"{with_one} of {len(found)} repositories have a right one")
    options.to.mkdir(parents=True, exist_ok=True)
    target = options.to / f"commands-{time.strftime('%Y%m%d-%H%M%S')}.json"
    data = {name: [one._asdict() for one in group] for name, group in found.items()}
    target.write_text(
        json.dumps({"arguments": sys.argv[1:], "found": data}, indent=1), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
