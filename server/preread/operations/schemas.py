"""JSON Schemas of requests and replies, as short as possible: they take up a model's context."""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue

from preread.models import Model

NULL = {"type": "null"}


class Untitled(GenerateJsonSchema):
    """Omits titles: they repeat the names."""

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002 - pydantic's signature
        return False


class Arguments(Untitled):
    """Does not say that optional arguments may be null, though null is accepted.

    Some clients refuse every tool of a server if one has a type like ["string", "null"], or send
    such a schema to a model's service that does (Gemini's function declarations).
    """

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ANN401 - pydantic's signature
        return self.generate_inner(schema["schema"])


def of_request(model: type[Model]) -> dict[str, Any]:
    return _generated(model, "validation", Arguments)


def of_reply(model: type[Model]) -> dict[str, Any]:
    """A reply's schema: its required fields only.

    Clients validate every reply against it: with the full schema, that was most of the time that a
    cached call cost them.
    """
    full = _generated(model, "serialization", Untitled)
    named = full.get("$defs", {})
    required = full.get("required", [])
    fields = {}
    for name in required:
        field = full["properties"][name]
        field = field | named[field["$ref"].rpartition("/")[2]] if "$ref" in field else field
        fields[name] = {key: field[key] for key in ("type", "enum") if key in field}
    return {"type": "object", "properties": fields, "required": required}


def _generated(
    model: type[Model], mode: JsonSchemaMode, generator: type[GenerateJsonSchema]
) -> dict[str, Any]:
    found = model.model_json_schema(mode=mode, schema_generator=generator)
    short: dict[str, Any] = _shortened(found)
    return {key: value for key, value in short.items() if key not in {"title", "description"}}


def _shortened(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """A schema without obvious defaults, and with a type list in place of a nullable `anyOf`."""
    if isinstance(value, list):
        return [_shortened(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    kept = {key: _shortened(inner) for key, inner in value.items()}
    if "default" in kept and kept["default"] in (None, False, [], ""):
        del kept["default"]
    either = kept.get("anyOf", [])
    kinds = [kind for kind in either if kind != NULL]
    if len(kinds) == 1 and len(either) > 1 and isinstance(kinds[0].get("type"), str):
        del kept["anyOf"]
        kept = kinds[0] | kept | {"type": [kinds[0]["type"], "null"]}
    return kept
