"""Builds under way in this process: one per feature, joined by callers, detached from those who leave."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

Tell = Callable[[str, float, float], Awaitable[None]]


@dataclass(frozen=True)
class Caller:
    """Who waits: how long before `building` is the reply (None: to the end), and where progress goes."""

    wait: float | None
    tell: Tell
