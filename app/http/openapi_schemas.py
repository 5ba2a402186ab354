"""Schemas of the OpenAPI document, rewritten so that generators make the right types of them.

Without a format, an integer is one of 32 bits in Go, and a number has the precision of a float. The
titles that the schema library gives to every member become names of types. A tuple of equal items
is a word of JSON Schema that few generators know, and `anyOf` one of which some make an empty type.

The shapes of answers take members that a later version adds; those of requests take none but their
own. A shape on both sides is there twice: see `_separate_sides`.
"""

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter

from app.http.openapi_operations import SCHEMA_TEMPLATE

_FORMATS = {"integer": "int64", "number": "double"}
_REQUEST = ("parameters", "requestBody")
_ONE = ("items", "additionalProperties", "not")
_SEVERAL = ("anyOf", "oneOf", "allOf", "prefixItems")


def schemas_of(models: Iterable[Any]) -> dict[str, Any]:
    """Return the schemas of types, and of all that they refer to, by name."""
    adapters = [(number, "validation", TypeAdapter(model)) for number, model in enumerate(models)]
    _, schemas = TypeAdapter.json_schemas(adapters, ref_template=SCHEMA_TEMPLATE)  # type: ignore[arg-type]
    found: dict[str, Any] = schemas.get("$defs", {})
    return found


def finish_schemas(document: dict[str, Any]) -> None:
    """Rewrite every schema of a document in place."""
    unions = {
        _reference(name)
        for name, schema in document["components"]["schemas"].items()
        if "anyOf" in schema
    }
    for item in document["paths"].values():
        for operation in item.values():
            for parameter in operation.get("parameters", ()):
                parameter["schema"] = _remove_null(parameter["schema"])
    for schema in all_schemas(document):
        _finish(schema)
        if schema.get("$ref") in unions and "default" in schema:
            _say_default(schema)
    _separate_sides(document)


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
    kinds = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(kinds) > 1:
        # Each of our unions is of kinds that exclude each other.
        schema["oneOf"] = schema.pop("anyOf")
    places = schema.get("prefixItems")
    if places and all(place == places[0] for place in places):
        del schema["prefixItems"]
        schema["items"] = places[0]


def _remove_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: it is left out, and an address has no null."""
    choices = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    if len(choices) != 1:
        return schema
    return {**choices[0], **{word: rule for word, rule in schema.items() if word != "anyOf"}}


def _say_default(schema: dict[str, Any]) -> None:
    """Put a default into words: generators write it as a value of the union, which it is not."""
    default = f"By default {schema.pop('default')}."
    description = schema.get("description")
    schema["description"] = f"{description} {default}" if description else default


def _separate_sides(document: dict[str, Any]) -> None:
    """Open the shapes of answers, and keep those of requests strict.

    Requests with an unknown member are refused, so that a misspelt option is an error. A client
    that refused such answers would break with the next version. A strict shape on both sides
    becomes two: `ChatMessage` in answers, `ChatMessageDraft` in requests.
    """
    schemas: dict[str, Any] = document["components"]["schemas"]
    operations = [each for item in document["paths"].values() for each in item.values()]
    requests = [{word: each.get(word) for word in _REQUEST} for each in operations]
    sent = _reachable(schemas, requests)
    answered = _reachable(schemas, [each["responses"] for each in operations])
    strict = {name for name, schema in schemas.items() if _is_strict(schema)}
    shared = {
        name for name in sent & answered if strict & {name, *_reachable(schemas, schemas[name])}
    }
    drafts = {_reference(name): _reference(f"{name}Draft") for name in shared}
    for name in sent - answered:
        schemas[name] = _rename(schemas[name], drafts)
    for name in shared:
        schemas[f"{name}Draft"] = _rename(copy.deepcopy(schemas[name]), drafts)
    for operation in operations:
        operation.update(
            {word: _rename(operation[word], drafts) for word in _REQUEST if word in operation}
        )
    for name in answered:
        for schema in _within(schemas[name]):
            if schema.get("additionalProperties") is False:
                del schema["additionalProperties"]
    document["components"]["schemas"] = dict(sorted(schemas.items()))


def _is_strict(schema: dict[str, Any]) -> bool:
    return any(each.get("additionalProperties") is False for each in _within(schema))


def _reachable(schemas: Mapping[str, Any], node: object) -> set[str]:
    """Return the names of the schemas that a part of the document refers to, at any depth."""
    found: set[str] = set()
    nodes = [node]
    while nodes:
        for name in _references(nodes.pop()) - found:
            found.add(name)
            nodes.append(schemas[name])
    return found


def _references(node: object) -> set[str]:
    if isinstance(node, dict):
        target = node.get("$ref")
        own = {target.rpartition("/")[2]} if isinstance(target, str) else set()
        return own.union(*map(_references, node.values()))
    return set().union(*map(_references, node)) if isinstance(node, list) else set()


def _rename(node: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401 - a part of the document
    """Return a part of the document with other references, those of a discriminator too."""
    if isinstance(node, dict):
        return {word: _rename(each, names) for word, each in node.items()}
    if isinstance(node, list):
        return [_rename(each, names) for each in node]
    return names.get(node, node) if isinstance(node, str) else node


def _reference(name: str) -> str:
    return SCHEMA_TEMPLATE.format(model=name)
