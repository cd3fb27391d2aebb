"""The registry: every capability once, typed, for every face."""

from preread.operations.context import LOAD
from preread.operations.registry import Operation

OPERATIONS: tuple[Operation, ...] = (LOAD,)
BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}
