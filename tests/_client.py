"""The types of the client's methods, made from the registry; `python tests/_client.py` writes them."""

import sys
import types
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "server" / "preread" / "client" / "operations.pyi"
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT / "server"))

from preread.client.operations import HOME, positional_params  # noqa: E402
from preread.operations import REGISTRY  # noqa: E402
from preread.operations.registry import Operation  # noqa: E402


def shown(annotation: Any) -> str:
    """An annotation as a caller reads it; any sequence will do for a tuple."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin in {Union, types.UnionType}:
        return " | ".join(map(shown, parts))
    if origin is Literal:
        values = ", ".join('"' + part.replace('"', '\\"') + '"' for part in parts)
        return f"Literal[{values}]"
    if origin is tuple:
        return f"Sequence[{shown(parts[0])}]"
    if get_origin(annotation) is dict:
        return "dict[str, Any]"
    return "None" if annotation is type(None) else annotation.__name__


def method(of: Operation, *, is_async: bool) -> str:
    fields = of.request.model_fields
    first = positional_params(of.name)
    named = [name for name in fields if name not in first]

    def parameter(name: str) -> str:
        default = "" if fields[name].is_required() else " = ..."
        return f"{name}: {shown(fields[name].annotation)}{default}"

    parts = ["self", *map(parameter, first), *(["*"] if named else []), *map(parameter, named)]
    kind = "async def" if is_async else "def"
    reply = f"{of.reply.__module__}.{of.reply.__qualname__}"
    return f"    {kind} {of.name.partition('.')[2]}({', '.join(parts)}) -> {reply}: ..."


def classes(operations: Iterable[Operation], prefix: str) -> list[str]:
    groups: dict[str, list[Operation]] = {}
    for one in operations:
        groups.setdefault(one.category, []).append(one)
    lines = []
    for category, group in groups.items():
        if category != HOME:
            lines += [f"class {prefix}{category.title()}:"]
            lines += [method(one, is_async=bool(prefix)) for one in group] + [""]
    lines.append(f"class {prefix}Operations:")
    lines += [
        f"    {category}: {prefix}{category.title()}" for category in groups if category != HOME
    ]
    return [*lines, *(method(one, is_async=bool(prefix)) for one in groups[HOME]), ""]


def written() -> str:
    operations = [
        one for one in REGISTRY.values() if one.name != "config.call"
    ]  # it is for a shell
    modules = sorted({one.reply.__module__ for one in operations})
    head = [
        "# Made by tests/_client.py from the registry of operations.", "# fmt: off",
        "# ruff: noqa: E501, A002", "",
        "from collections.abc import Callable, Sequence", "from typing import Any, Literal", "",
        *(f"import {module}" for module in modules), "",
        "HOME: str", "def positional_params(name: str) -> tuple[str, ...]: ...",
        "def method(name: str, call: Callable[[str, dict[str, Any]], Any]) -> Callable[..., Any]: ...",
        "",
    ]  # fmt: skip
    return (
        "\n".join([*head, *classes(operations, ""), *classes(operations, "Async")]).rstrip() + "\n"
    )


if __name__ == "__main__":
    PLACE.write_text(written())
