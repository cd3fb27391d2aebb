"""Background tasks: one that fails is logged and does not end the others."""

import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from anyio.abc import TaskGroup

Work = Callable[..., Awaitable[Any]]


class Background:
    """Starts tasks in a group that survives a bug in one of them."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def start_soon(self, work: Work, *arguments: object) -> None:
        self._tasks.start_soon(_logged, work, *arguments)

    async def start(self, work: Work, *arguments: object) -> None:
        """Start a task that reports by `task_status` when it is ready, and wait for that."""
        await self._tasks.start(partial(_logged, work, *arguments))


async def _logged(work: Work, *arguments: object, **status: object) -> None:
    """Run a task, and write the traceback of its error, if any, to standard error."""
    try:
        await work(*arguments, **status)
    except Exception as error:
        traceback.print_exception(error)
