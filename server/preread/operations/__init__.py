"""The registry: every capability once, typed, for every face."""

from importlib import import_module

from preread.operations.registry import Operation

# The modules that hold the operations, by command, in the order in which faces list them. A command line needs one
# operation and starts in a fraction of a second, so each module is loaded when one of its operations is asked for.
MODULES = {
    "load": "load",
    "extend": "load",
    "show": "context",
    "status": "context",
    "evidence": "context",
    "failures": "failures",
    "facts": "knowledge",
    "check": "checking",
    "wrong": "checking",
    "init": "setup",
    "doctor": "doctor",
    "gates": "gates",
}


def operation(command: str) -> Operation:
    """The operation that a command runs."""
    found: tuple[Operation, ...] = import_module(
        f"preread.operations.{MODULES[command]}"
    ).OPERATIONS
    return next(operation for operation in found if operation.command == command)


def every() -> tuple[Operation, ...]:
    """All operations, in the order of their commands."""
    return tuple(map(operation, MODULES))
