"""The registry: every capability once, typed, for every face."""

from preread.operations.checking import CHECK, WRONG
from preread.operations.context import EVIDENCE, LOAD, SHOW, STATUS
from preread.operations.doctor import DOCTOR
from preread.operations.knowledge import SEARCH
from preread.operations.registry import Operation
from preread.operations.setup import INIT

OPERATIONS: tuple[Operation, ...] = (LOAD, SHOW, STATUS, EVIDENCE, SEARCH, CHECK, WRONG, INIT, DOCTOR)
BY_NAME: dict[str, Operation] = {operation.name: operation for operation in OPERATIONS}
