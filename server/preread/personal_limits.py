"""Limits on cost and permissions: only the person can raise them, a project can only lower them.

The project's settings may have come with a repository, and the person pays.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

LIMITS = ("max_usd", "max_turns", "max_builds", "max_waiting")
MODELS = ("model", "fallback_model")
# The model families of the two defaults, in any version. The cost of other models cannot be known
# from their names.
MODEST = re.compile(r"(?:(?:claude-)?(?:\d[\d.]*-)*(?:haiku|sonnet)(?:-\d[\d.]*)*)?")


def excesses(chosen: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen settings that only the person may choose, each with the value to use instead."""
    limits = [key for key in LIMITS if chosen[key] > defaults[key]]
    models = [key for key in MODELS if not MODEST.fullmatch(chosen[key])]
    lowered = {key: defaults[key] for key in (*limits, *models)}
    if not set(chosen["allow"]) <= set(defaults["allow"]):
        lowered["allow"] = [effect for effect in chosen["allow"] if effect in defaults["allow"]]
    return lowered


def warnings(wanted: Mapping[str, Any], used: Mapping[str, Any]) -> Iterable[str]:
    """A warning for each of the `wanted` settings of a project that was not used."""
    for key, value in wanted.items():
        yield (
            f".project/config.toml asks for {key} = {str(value)[:60]}, and {used[key]} is used: "
            f"a project cannot raise that. To allow it, set PREREAD_{key.upper()} in your "
            "environment."
        )
