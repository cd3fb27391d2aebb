"""Operations as methods, by name; `operations.pyi`, made from the registry, has their types."""

from collections.abc import Callable
from typing import Any

Call = Callable[[str, dict[str, Any]], Any]
HOME = "context"  # the category whose operations are the client's own methods


class Category:
    """The operations of one category, like `knowledge`."""

    def __init__(self, name: str, call: Call) -> None:
        self._name, self._call = name, call

    def __getattr__(self, verb: str) -> Callable[..., Any]:
        return method(f"{self._name}.{verb}", self._call)


class Operations:
    """A client's operations: methods for those of `context`, attributes for other categories."""

    def _call(self, name: str, params: dict[str, Any]) -> Any:  # noqa: ANN401 - any reply
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - a category or a method
        from preread.operations import ROWS

        names = [row.name for row in ROWS]
        if f"{HOME}.{name}" in names:
            return method(f"{HOME}.{name}", self._call)
        if any(each.startswith(f"{name}.") for each in names):
            return Category(name, self._call)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


AsyncOperations = Operations


def method(name: str, call: Call) -> Callable[..., Any]:
    """An operation as a function; `positional_params` may be passed by position."""
    from preread.operations import REGISTRY

    if name not in REGISTRY:
        raise AttributeError(f"there is no operation {name!r}")
    first = positional_params(name)

    def run(*values: object, **params: object) -> Any:  # noqa: ANN401 - any reply
        if len(values) > len(first):
            raise TypeError(f"{name} takes {len(first)} positional arguments, not {len(values)}")
        placed = dict(zip(first, values, strict=False))
        if twice := placed.keys() & params.keys():
            raise TypeError(f"{name} got multiple values for {', '.join(sorted(twice))}")
        return call(name, placed | params)

    run.__name__ = name.rpartition(".")[2]
    return run


def positional_params(name: str) -> tuple[str, ...]:
    """The positional params of an operation: those of the command line, and required ones."""
    from preread.operations import REGISTRY

    operation = REGISTRY[name]
    fields = operation.request.model_fields
    required = (field for field, about in fields.items() if about.is_required())
    return tuple(dict.fromkeys((*operation.positional, *required)))
