"""Arguments from a client, parsed into a request, or refused with a hint."""

import difflib
import json
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from preread.errors import PrereadError
from preread.models import Model

M = TypeVar("M", bound=Model)
ABSENT = frozenset({"", "null"})  # what models send for "nothing" where a string is expected


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that suggests the most similar known word, with a leading space; or empty."""
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean `{near[0]}`?" if near else ""


def parse(model: type[M], given: Mapping[str, Any], tool: str) -> M:
    """The request in the arguments of `tool`. Raises E_USAGE."""
    fields, takes = model.model_fields, f"Arguments: {signature(model)}."
    for name in given:
        if name not in fields:
            shown = f"`{_short(name)}`.{nearest(name, fields)}"
            raise PrereadError("E_USAGE", f"{tool} takes no argument {shown}", takes)
    try:
        return model.model_validate(
            {n: _decoded(v, fields[n]) for n, v in given.items() if not _absent(v, fields[n])}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        message = f"{tool}: `{name}`: {first['msg']}."
        if first["type"] == "missing":
            message = f"{tool} needs the argument `{name}`."
        raise PrereadError("E_USAGE", message, takes) from error


def signature(model: type[Model]) -> str:
    """The arguments of a request, like `feature, ticket?`; the question mark means optional."""
    return ", ".join(
        name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()
    )


def _short(text: str) -> str:
    return ascii(text[:60])[1:-1]


def _absent(value: object, field: FieldInfo) -> bool:
    """Whether an optional field's value stands for nothing."""
    return not field.is_required() and (
        value is None or (isinstance(value, str) and value.strip() in ABSENT)
    )


def _decoded(value: object, field: FieldInfo) -> object:
    """Decode what some clients send as text: objects and lists as JSON, booleans as words."""
    kinds = {get_origin(kind) or kind for kind in _parts(field.annotation)}
    if isinstance(value, str) and kinds & {dict, list, tuple} and str not in kinds:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    if isinstance(value, str) and bool in kinds:
        return value.strip().lower()
    return value


def _parts(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
