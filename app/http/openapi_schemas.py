"""Schemas of the OpenAPI document, rewritten so that generators make the right types of them.

Without a format, an integer is one of 32 bits in Go, and a number has the precision of a float. The
titles that the schema library gives to every member become names of types. A tuple of equal items
is a word of JSON Schema that few generators know.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypeAliasType

from app.wire.shape import Shape

SCHEMA_TEMPLATE = "#/components/schemas/{model}"

_FORMATS = {"integer": "int64", "number": "double"}
_ONE = ("items", "additionalProperties", "not")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")


def reference(model: type[BaseModel | Shape] | TypeAliasType) -> dict[str, str]:
    """Return the reference to the schema of a type."""
    return {"$ref": SCHEMA_TEMPLATE.format(model=model.__name__)}


def schemas_of(models: Iterable[Any]) -> dict[str, Any]:
    """Return the schemas of types, and of all that they refer to, by name."""
    adapters = [(number, "validation", TypeAdapter(model)) for number, model in enumerate(models)]
    _, schemas = TypeAdapter.json_schemas(adapters, ref_template=SCHEMA_TEMPLATE)  # type: ignore[arg-type]
    found: dict[str, Any] = schemas.get("$defs", {})
    return found


def finish_schemas(document: Mapping[str, Any]) -> None:
    """Rewrite every schema of a document in place."""
    unions = {
        SCHEMA_TEMPLATE.format(model=name)
        for name, schema in document["components"]["schemas"].items()
        if "anyOf" in schema
    }
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _without_null(parameter["schema"])
    for schema in all_schemas(document):
        _finish(schema)
        if schema.get("$ref") in unions and "default" in schema:
            _say_default(schema)


def all_schemas(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield every schema of a document, those inside of others too."""
    for schema in document["components"]["schemas"].values():
        yield from _within(schema)
    for holder in _holders(document["paths"]):
        yield from _within(holder["schema"])


def _holders(node: object) -> Iterator[dict[str, Any]]:
    """Yield the parameters, headers and contents that have a schema, in whatever has them."""
    if isinstance(node, dict) and isinstance(node.get("schema"), dict):
        yield node
    elif isinstance(node, dict | list):
        for each in node.values() if isinstance(node, dict) else node:
            yield from _holders(each)


def _within(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    inner = [schema[word] for word in _ONE if isinstance(schema.get(word), dict)]
    for word in _SEVERAL:
        inner += schema.get(word, [])
    for each in [*inner, *schema.get("properties", {}).values()]:
        yield from _within(each)


def _finish(schema: dict[str, Any]) -> None:
    schema.pop("title", None)
    if schema.get("default", ...) is None:
        # Null and absent are the same wherever null is allowed.
        del schema["default"]
    kind = schema.get("type")
    if kind in _FORMATS:
        schema.setdefault("format", _FORMATS[kind])
    places = schema.get("prefixItems")
    if places and all(place == places[0] for place in places):
        del schema["prefixItems"]
        schema["items"] = places[0]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: it is left out, and an address has no null."""
    taken = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(taken) != 1:
        return schema
    return {**taken[0], **{word: rule for word, rule in schema.items() if word != "anyOf"}}


def _say_default(schema: dict[str, Any]) -> None:
    """Put a default into words: generators write it as a value of the union, which it is not."""
    default = f"By default {schema.pop('default')}."
    said = schema.get("description")
    schema["description"] = f"{said} {default}" if said else default
