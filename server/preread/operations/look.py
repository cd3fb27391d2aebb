"""One thing that the doctor looked at."""

from typing import Literal

from preread.models import Model


class Look(Model):
    """What was looked at, how it is, and how to mend it."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    hint: str = ""


def ok(name: str, found: str, hint: str = "") -> Look:
    return Look(name=name, state="ok", found=found, hint=hint)


def warn(name: str, found: str, hint: str) -> Look:
    return Look(name=name, state="warn", found=found, hint=hint)


def fail(name: str, found: str, hint: str) -> Look:
    return Look(name=name, state="fail", found=found, hint=hint)
