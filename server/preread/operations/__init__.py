"""The registry: every capability once, typed, for every face; one module per operation."""

from importlib import import_module

from preread.operations.registry import Operation

# The commands, in the order in which faces list them. Each is the name of the module that holds its
# operation. A module is imported only when its operation is wanted: a command line needs one of
# them, and has to start in a fraction of a second.
COMMANDS = (
    "load", "extend", "show", "status", "evidence", "failures", "facts", "check", "wrong", "init",
    "doctor", "gates",
)  # fmt: skip


def operation(command: str) -> Operation:
    """The operation that a command runs."""
    found: Operation = import_module(f"preread.operations.{command}").OPERATION
    return found


def every() -> tuple[Operation, ...]:
    """All operations, in the order of their commands."""
    return tuple(map(operation, COMMANDS))
