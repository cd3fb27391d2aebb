"""How much of a long test runs: a sample, or with `PREREAD_TEST_WHOLE=1` all of it."""

import os
from typing import TypeVar

T = TypeVar("T")
IS_WHOLE = bool(os.environ.get("PREREAD_TEST_WHOLE"))


def sized(sample: T, whole: T) -> T:
    """The sample, unless all is to run."""
    return whole if IS_WHOLE else sample
