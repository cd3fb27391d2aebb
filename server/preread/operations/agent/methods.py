"""`agents.<kind>.execute`: a method for each kind of agent, as JSON-RPC clients call them."""

import re
from collections.abc import Mapping
from typing import Any

from preread.errors import PrereadError

METHOD = re.compile(r"agents\.([a-z][a-z0-9-]{0,59})\.execute")
EXECUTE = "agent.execute"
CONFIG = ("concurrency", "timeout_seconds", "max_usd", "model")
HINT = 'Like {"issue_number": 270, "config": {"concurrency": 3, "timeout_seconds": 3600}}.'


def name(method: str) -> str:
    """`agent.execute` for a method of an agent's kind; any other method unchanged."""
    return EXECUTE if METHOD.fullmatch(method) else method


def params(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The params of `agent.execute` for a method of an agent's kind; any others unchanged.

    Raises E_USAGE.
    """
    match = METHOD.fullmatch(method)
    if match is None:
        return dict(given)
    found = dict(given)
    config = found.pop("config", None) or {}
    if not isinstance(config, dict) or not set(config) <= set(CONFIG):
        known = ", ".join(CONFIG)
        raise PrereadError("E_USAGE", f"`config` is an object with: {known}.", HINT)
    if "issue_number" in found:
        found["issue"] = found.pop("issue_number")
    if twice := {"kind", *config} & set(found):
        raise PrereadError("E_USAGE", f"`{min(twice)}` is given twice.", HINT)
    return {**found, **config, "kind": match[1]}
