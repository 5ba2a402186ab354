"""Base classes of the pydantic models of requests and responses: frozen and strict.

`freeze_json` and `thaw_json` convert JSON values into immutable types and back. `faults_of`
converts errors of pydantic into `Fault`s, which do not repeat the input.
"""

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cache
from itertools import pairwise
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema

from pagefault_dialects.errors import Fault
from pagefault_dialects.json.numbers import LARGEST_COUNT
from pagefault_dialects.json.pointers import json_pointer
from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN
from pagefault_dialects.model.timestamps import format_timestamp

MAX_ERRORS = 10_000
"""The most errors of one value that are listed. If there are more, only the number is reported."""
Count: TypeAlias = Annotated[int, Field(ge=0, le=LARGEST_COUNT)]
JsonCount: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=LARGEST_COUNT)]
"""A count as a member of JSON: strings, `true` and `1.0` are rejected."""
ClientId: TypeAlias = Annotated[str, Field(pattern=CLIENT_ID_PATTERN)]
"""An id that a client chose, as a member of JSON or a parameter."""
# Packages whose classes have no docstrings below their fields.
_WITHOUT_DOCSTRINGS = frozenset({"builtins", "msgspec", "pydantic", "typing"})
JsonData: TypeAlias = Any
"""JSON in dicts and lists, or in the immutable types that `freeze_json` returns."""


def freeze_json(value: JsonData) -> JsonData:
    """Return a JSON value with read-only mappings for objects, tuples for arrays, at any depth."""
    return _convert_containers(value, MappingProxyType, tuple)


def thaw_json(value: JsonData) -> JsonData:
    """Return a JSON value with dicts for objects and lists for arrays, at any depth."""
    return _convert_containers(value, dict, list)


def _convert_containers(
    value: JsonData,
    make_object: Callable[[dict[str, JsonData]], JsonData],
    make_array: Callable[[list[JsonData]], JsonData],
) -> JsonData:
    # Without recursion, since a value may be nested a thousand levels deep.
    root: list[JsonData] = [value]
    # Each value to convert, by its container and its key or index in it.
    stack: list[tuple[Any, Any]] = [(root, 0)]
    copied: list[tuple[Any, Any]] = []
    while stack:
        container, key = stack.pop()
        node = container[key]
        if isinstance(node, Mapping):
            copy: Any = dict(node)
            stack.extend((copy, name) for name in copy)
        elif isinstance(node, list | tuple):
            copy = list(node)
            stack.extend((copy, index) for index in range(len(copy)))
        else:
            continue
        container[key] = copy
        copied.append((container, key))
    # Containers were copied before their children, so the reverse order converts children first.
    for container, key in reversed(copied):
        make = make_object if isinstance(container[key], dict) else make_array
        container[key] = make(container[key])
    return root[0]


class FrozenModel(BaseModel):
    """A frozen model whose keys in JSON are the names of its fields, in snake_case.

    Unknown keys are rejected, so that a misspelt option is an error and not a silent default.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    shown_when_null: ClassVar[frozenset[str]] = frozenset()
    """Optional fields that are dumped as null rather than left out."""

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """Describe each field with the docstring below it."""
        aliases = {name: field.alias or name for name, field in cls.model_fields.items()}
        return add_docstrings(cls, aliases, handler(schema), handler)

    def dump(self) -> dict[str, JsonData]:
        """Return the model as a JSON object, without optional fields that are `None`.

        A `datetime` is RFC 3339 text: with `Z` for UTC, with any other offset unchanged, and with a
        fraction only if it is not zero.

        Source: spec 001, "JSON Serialization".
        """
        return {
            name: _dump_plain(value)
            for name in type(self).model_fields
            if (value := getattr(self, name)) is not None or name in self.shown_when_null
        }


class WireModel(FrozenModel):
    """A frozen model whose keys in JSON are in camelCase, as in tool results and events."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)

    nullable: ClassVar[frozenset[str]] = frozenset()
    """Fields for which null is a value: they are omitted only if they were never set."""

    def wire(self) -> dict[str, object]:
        """Return the model as a JSON object, without optional fields that are `None`.

        JSON values inside (`structuredContent`, `annotations`) are returned as they are, since they
        may be nested deeper than the recursion limit of a serializer.
        """
        members: dict[str, object] = {}
        for name, alias in _aliases(type(self)):
            value = getattr(self, name)
            if value is not None or (name in self.nullable and name in self.model_fields_set):
                members[alias] = _dump_wire(value)
        return members


@cache
def _aliases(kind: type[WireModel]) -> tuple[tuple[str, str], ...]:
    """Return the names of the fields of a model, each with its key in JSON."""
    return tuple((name, field.alias or name) for name, field in kind.model_fields.items())


def _dump_wire(value: object) -> object:
    if isinstance(value, WireModel):
        return value.wire()
    if isinstance(value, tuple):
        return [_dump_wire(item) for item in value]
    return value


def _dump_plain(value: object) -> JsonData:
    if isinstance(value, FrozenModel):
        return value.dump()
    if isinstance(value, datetime):
        return format_timestamp(value)
    if isinstance(value, tuple):
        return [_dump_plain(item) for item in value]
    return thaw_json(value)


def add_docstrings(
    kind: type, members: Mapping[str, str], schema: dict[str, Any], handler: GetJsonSchemaHandler
) -> dict[str, Any]:
    """Return the JSON schema of a class, with the docstrings of its fields as descriptions.

    Args:
        kind: The class.
        members: The keys in JSON, by the names of the fields.
        schema: The schema, or a reference to it. It is changed in place.
        handler: Resolves references.
    """
    properties = handler.resolve_ref_schema(schema)["properties"]
    for item in reversed(kind.__mro__):
        for name, docstring in _field_docstrings(item):
            if name in members:
                properties[members[name]]["description"] = docstring
    return schema


def _field_docstrings(kind: type) -> Iterator[tuple[str, str]]:
    """Yield the fields that a class defines and their docstrings, each on one line."""
    definition = _definitions(kind.__module__).get(kind.__name__)
    for field, below in pairwise(definition.body if definition else ()):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(docstring))),
            ):
                yield name, " ".join(docstring.split())


@cache
def _definitions(module: str) -> Mapping[str, ast.ClassDef]:
    """Return the classes of a module by name, parsed from its source."""
    if module.partition(".")[0] in _WITHOUT_DOCSTRINGS:
        return {}
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {field.name: field for field in tree.body if isinstance(field, ast.ClassDef)}


# Replacements for messages of pydantic that quote the input or name Python types. `{…}` is a value
# of the error's context.
_MESSAGES = {
    "dict_type": "Input should be an object",
    "model_attributes_type": "Input should be an object",
    "model_type": "Input should be an object",
    "too_long": "Input should have {max_length} or fewer items",
    "too_short": "Input should have {min_length} or more items",
    "tuple_type": "Input should be a list",
    "union_tag_invalid": "Input should be told apart by one of {expected_tags}",
    "uuid_parsing": "Input should be a valid UUID",
}


def faults_of(exc: ValidationError) -> list[Fault]:
    """Return the errors of a value, each as a JSON pointer and a sentence.

    If there are more than `MAX_ERRORS`, only their number is returned, since pydantic would block
    other threads while it lists them. Pydantic also reports a list with rejected items as too
    short; that error is left out.
    """
    count = exc.error_count()
    if count > MAX_ERRORS:
        return [Fault("", f"has {count:,} errors, which are too many to be listed")]
    errors = exc.errors(include_url=False, include_input=False)
    locations = [error["loc"] for error in errors]
    containers = {loc[:depth] for loc in locations for depth in range(len(loc))}
    return [
        fault_of(error)
        for error in errors
        if error["type"] != "too_short" or error["loc"] not in containers
    ]


def fault_of(error: Mapping[str, Any]) -> Fault:
    """Return one of pydantic's errors as a JSON pointer and a sentence that repeats no input."""
    return Fault(_find_pointer(error), _find_message(error))


def _find_pointer(error: Mapping[str, Any]) -> str:
    if error["type"] == "json_invalid":
        # Its location is a position in the text, not in a value.
        return ""
    location = tuple(error["loc"])
    return json_pointer(location[1:] if location[:1] == ("body",) else location)


def _find_message(error: Mapping[str, Any]) -> str:
    if template := _MESSAGES.get(error["type"]):
        return template.format_map(error.get("ctx", {}))
    # Pydantic adds a prefix to messages of our validators.
    return str(error["msg"]).removeprefix("Value error, ")
