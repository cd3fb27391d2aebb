"""Arguments from a caller, parsed into a request, or refused with a hint."""

import difflib
import json
from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from preread.errors import PrereadError
from preread.models import Model

M = TypeVar("M", bound=Model)
MAX_SHOWN = 5  # problems in a message; the details have them all
ABSENT = frozenset({"", "null"})  # what models send for "nothing" where a string is expected


def nearest(word: str, known: Iterable[str]) -> str:
    """A question that suggests the most similar known word, with a leading space; or empty."""
    near = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.5)
    return f" Did you mean `{near[0]}`?" if near else ""


def parse(model: type[M], given: Mapping[str, Any], method: str) -> M:
    """The request in the arguments of `method`. Raises E_USAGE, with every problem at once."""
    fields = model.model_fields
    problems = [
        Problem((name,), f"{method} takes no argument `{_short(name)}`.{nearest(name, fields)}")
        for name in given
        if name not in fields
    ]
    known = {
        n: _decoded(v, fields[n])
        for n, v in given.items()
        if n in fields and not _absent(v, fields[n])
    }
    try:
        request = model.model_validate(known)
    except ValidationError as error:
        problems += [_problem(method, each) for each in error.errors(include_url=False)]
    if not problems:
        return request
    raise PrereadError(
        "E_USAGE",
        " ".join(problem.message for problem in problems[:MAX_SHOWN]),
        f"Arguments: {signature(model)}.",
        {
            "problems": [
                {"path": problem.pointer, "message": problem.message} for problem in problems
            ]
        },
    )


class Problem(NamedTuple):
    """What is wrong with one argument."""

    place: tuple[str | int, ...]
    message: str

    @property
    def pointer(self) -> str:
        """Where it is in the arguments: a JSON Pointer (RFC 6901)."""
        parts = (_short(str(part)).replace("~", "~0").replace("/", "~1") for part in self.place)
        return "".join(f"/{part}" for part in parts)


def _problem(method: str, error: Any) -> Problem:  # noqa: ANN401 - pydantic's dictionary
    name = ".".join(_short(str(part)) for part in error["loc"])
    said = error["msg"].replace("a valid tuple", "a list")  # JSON has no tuples
    message = f"{method}: `{name}`: {said}."
    if error["type"] == "missing":
        message = f"{method} needs the argument `{name}`."
    return Problem(error["loc"], message)


def signature(model: type[Model]) -> str:
    """The arguments of a request, like `feature, ticket?`; the question mark means optional."""
    return ", ".join(
        name if field.is_required() else f"{name}?" for name, field in model.model_fields.items()
    )


def _short(text: str) -> str:
    return ascii(text[:60])[1:-1]


def _absent(value: object, field: FieldInfo) -> bool:
    """Whether an optional field's value means that it is absent."""
    return not field.is_required() and (
        value is None or (isinstance(value, str) and value.strip() in ABSENT)
    )


def _decoded(value: object, field: FieldInfo) -> object:
    """Decode what some clients send as text: objects and lists as JSON, booleans as words."""
    if not isinstance(value, str):
        return value
    kinds = {get_origin(kind) or kind for kind in _parts(field.annotation)}
    if kinds & {dict, list, tuple} and str not in kinds:
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value.strip().lower() if bool in kinds else value


def _parts(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if get_origin(annotation) in {Union, UnionType} else (annotation,)
