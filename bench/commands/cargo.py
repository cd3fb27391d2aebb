"""What cargo knows of what a `cargo test` names: packages, features, targets, the filter's words.

Nothing is compiled: without the registry of crates there are no dependencies to compile with.
"""

import json
import shlex
import subprocess
from pathlib import Path

_WITH_VALUE = (
    "-p",
    "--package",
    "--features",
    "-F",
    "--test",
    "--bench",
    "--bin",
    "--example",
    "--manifest-path",
)


def unknown(command: str, folder: Path) -> list[str]:
    """What it names that is not there."""
    done = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        return [done.stderr.strip()]
    packages = json.loads(done.stdout)["packages"]
    values: dict[str, list[str]] = {}
    words = iter(shlex.split(command.partition(" -- ")[0])[2:])
    for word in words:
        option, _, value = word.partition("=")
        if option in _WITH_VALUE:
            values.setdefault(option, []).append(value or next(words, ""))
        elif not word.startswith("-"):
            values.setdefault("filter", []).append(word)
    chosen = values.get("-p", []) + values.get("--package", [])
    missing = [f"package {name}" for name in chosen if name not in {p["name"] for p in packages}]
    packages = [one for one in packages if not chosen or one["name"] in chosen]
    features = {name for one in packages for name in one["features"]}
    features |= {
        one["name"] for package in packages for one in package["dependencies"] if one["optional"]
    }
    asked = " ".join(values.get("--features", []) + values.get("-F", [])).replace(",", " ").split()
    missing += [f"feature {name}" for name in asked if name.rpartition("/")[2] not in features]
    targets = {
        (kind, one["name"]) for p in packages for one in p["targets"] for kind in one["kind"]
    }
    for kind in ("test", "bench", "bin", "example"):
        missing += [
            f"{kind} {name}" for name in values.get(f"--{kind}", []) if (kind, name) not in targets
        ]
    for word in " ".join(values.get("filter", [])).replace("::", " ").split():
        held = any(_holds(Path(one["manifest_path"]).parent, word) for one in packages)
        missing += [] if held else [f"filter {word}"]
    return missing


def _holds(folder: Path, word: str) -> bool:
    """A module or a test of this name is a file, or stands in one."""
    return any(word in path.parts or path.stem == word or word in path.read_text("utf-8", "replace")
               for path in folder.rglob("*.rs") if "target" not in path.parts)  # fmt: skip
