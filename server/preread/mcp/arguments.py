"""What a client sends as arguments, made fit for a request model, or refused with the way out."""

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
ABSENT = frozenset({"", "null"})  # what models write for "nothing" where a string is expected


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that offers the known word next to this one, with a leading space, or nothing."""
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean `{near[0]}`?" if near else ""


def parse(model: type[M], given: Mapping[str, Any], tool: str) -> M:
    """The request that the arguments of `tool` make. Raises E_USAGE."""
    fields = model.model_fields
    for name in given:
        if name not in fields:
            raise PrereadError(
                "E_USAGE",
                f"{tool} takes no argument `{_short(name)}`.{nearest(name, fields)}",
                _takes(model),
            )
    try:
        return model.model_validate(
            {n: _plain(v, fields[n]) for n, v in given.items() if not _absent(v, fields[n])}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        name = ".".join(str(part) for part in first["loc"])
        if first["type"] == "missing":
            raise PrereadError(
                "E_USAGE", f"{tool} needs the argument `{name}`.", _takes(model)
            ) from error
        raise PrereadError(
            "E_USAGE", f"{tool}: `{name}`: {first['msg']}.", _takes(model)
        ) from error


def signature(model: type[Model]) -> str:
    """The arguments of a request in short: `feature, ticket?`; a question mark for what may be left out."""
    return ", ".join(
        name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()
    )


def _takes(model: type[Model]) -> str:
    return f"Arguments: {signature(model)}."


def _short(text: str) -> str:
    return ascii(text[:60])[1:-1]


def _absent(value: object, field: FieldInfo) -> bool:
    """Whether a value only says that there is none, where there need not be one."""
    return not field.is_required() and (
        value is None or (isinstance(value, str) and value.strip() in ABSENT)
    )


def _plain(value: object, field: FieldInfo) -> object:
    """Objects and lists arrive as JSON text from some clients; numbers as text pydantic understands."""
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
