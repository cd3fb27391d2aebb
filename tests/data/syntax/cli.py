"""The command line.

More."""

import enum
import os.path as osp, sys
from typing import Literal
from . import core
from .core import (
    run as go,
    stop,
)

LIMIT = 10
Mode = Literal["fast", "slow"]


class Color(enum.Enum):
    """Colors of the output. Two of them."""

    RED = "red"
    BLUE = "blue"


@dataclass
class Options:
    name: str = "x"
    count: int

    class Meta:
        ordering = ["name"]

    async def load(self, path, force: bool = False, *rest, **more):
        # why this
        # is so
        self.force = open(path)

        def inner(depth):
            return depth

        return inner

    def save(self, path):
        raise NotImplementedError


@click.command()
@click.option("--color/--no-color", "-c", help="Use colors.")
def main(color, verbose):
    """Runs it.

    For long.
    """
    if not color:
        raise click.UsageError(f"Option {color} is not known here")
    return runner.invoke(cli, ["--color", "x"], env={"A": "b"}, input="y")


if sys.version_info > (3,):

    def fallback(): ...
