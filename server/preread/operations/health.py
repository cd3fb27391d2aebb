"""One thing that the doctor checked."""

from typing import Literal

from preread.models import Model


class HealthCheck(Model):
    """What was checked, what was found, and how to fix it."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    hint: str = ""


def ok(name: str, found: str, hint: str = "") -> HealthCheck:
    return HealthCheck(name=name, state="ok", found=found, hint=hint)


def warn(name: str, found: str, hint: str) -> HealthCheck:
    return HealthCheck(name=name, state="warn", found=found, hint=hint)


def fail(name: str, found: str, hint: str) -> HealthCheck:
    return HealthCheck(name=name, state="fail", found=found, hint=hint)
