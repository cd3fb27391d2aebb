"""What a build may cost and an agent may do is the person's to say: a project only lowers it.

The file may have come with a repository, and the person pays.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

LIMITS = ("max_usd", "max_turns", "max_builds", "max_waiting")
MODELS = ("model", "fallback_model")
# The families of the two models that are the defaults, under any version. What another model costs
# nobody can tell from its name.
MODEST = re.compile(r"(?:(?:claude-)?(?:\d[\d.]*-)*(?:haiku|sonnet)(?:-\d[\d.]*)*)?")


def excesses(chosen: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a project that only the person may make, each with the default instead."""
    limits = [key for key in LIMITS if chosen[key] > defaults[key]]
    models = [key for key in MODELS if not MODEST.fullmatch(chosen[key])]
    lowered = {key: defaults[key] for key in (*limits, *models)}
    if not set(chosen["allow"]) <= set(defaults["allow"]):
        lowered["allow"] = [effect for effect in chosen["allow"] if effect in defaults["allow"]]
    return lowered


def warnings(wanted: Mapping[str, Any], used: Mapping[str, Any]) -> Iterable[str]:
    for key, value in wanted.items():
        yield (
            f".project/config.toml asks for {key} = {str(value)[:60]}, and {used[key]} is used: "
            f"a project cannot raise that. To allow it, set PREREAD_{key.upper()} in your "
            "environment."
        )
