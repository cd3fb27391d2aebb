"""The static dossier of a case, by the command line as a user has it."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from cases import Case
from repositories import State
from texts import named_words

SERVER = Path(__file__).resolve().parents[2] / "server"
FEATURE_WORDS, MOST_DESCRIPTION = 3, 2_000
TIMEOUT = 900


class Dossier(NamedTuple):
    text: str  # of all files
    told: str  # without the titles, which repeat the feature's name: that is the question
    where: str  # the summary's section
    seconds: float


def question(case: Case) -> tuple[str, str]:
    """The feature and the description."""
    feature = "-".join(
        [word.lower() for word in named_words(case.subject) if word.isascii()][:FEATURE_WORDS]
    )
    description = f"{case.subject.rstrip('.')}. {case.body}" if case.body else case.subject
    return feature, " ".join(description.split())[:MOST_DESCRIPTION]


def built(state: State, feature: str, description: str, server: Path = SERVER) -> Dossier:
    """Nothing of earlier dossiers is left; the index is, as a user has it."""
    shutil.rmtree(state.root / ".project" / "context", ignore_errors=True)
    command = [
        sys.executable, "-m", "preread", "load", feature, "--level", "light", "--force", "--json",
        "--description", description, "--project", str(state.root),
    ]  # fmt: skip
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PREREAD_")}
    environ |= {"PYTHONPATH": str(server), "PREREAD_TIMEOUT": str(TIMEOUT - 60)}
    begun = time.perf_counter()
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, timeout=TIMEOUT, env=environ
    )
    seconds = time.perf_counter() - begun
    reply = json.loads(done.stdout or "{}")
    if not reply.get("files"):
        print(
            f"{state.commit}: no dossier of {feature}\n{done.stdout}{done.stderr}", file=sys.stderr
        )
        return Dossier("", "", "", seconds)  # which names nothing
    folder = state.root / reply["path"]
    files = {name: (folder / name).read_text(encoding="utf-8") for name in reply["files"]}
    where = re.search(
        r"^## Where\n(.*?)(?=^## |\Z)", files.get("summary.md", ""), re.MULTILINE | re.DOTALL
    )
    text, told = (
        "\n".join(files.values()),
        "\n".join(text.partition("\n")[2] for text in files.values()),
    )
    return Dossier(text, told, where[1] if where else "", seconds)
