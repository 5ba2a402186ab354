"""Errors of arguments for a model: the name, and the allowed values.

Pydantic's messages have patterns, validation and Python types, which small models do not
understand. The allowed values are read from the schema, and returned with the description in the
tool's definition.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN, CLIENT_ID_RULE
from pagefault_dialects.pages.one_line import quoted_short
from pagefault_dialects.tools.tool_catalogue import definitions

_SHOWN_FAULTS = 3
_LONGEST_NAME_CHARS = 64
# A limit of this size is only for machines.
_LARGEST = 2**53
_KINDS = {"integer": "a whole number", "boolean": "true or false", "string": "a text"}


def wrong_arguments(tool: str, takes: type[BaseModel], error: ValidationError) -> str:
    """Return the errors in the arguments of a call: `limit has to be a whole number …; …`."""
    schema = takes.model_json_schema()
    faults: dict[str, str] = {}
    for each in error.errors(include_url=False, include_input=False):
        name = str(each["loc"][0]) if each["loc"] else ""
        faults.setdefault(name, _fault(tool, name, each["type"], schema))
    listed = list(faults.values())[:_SHOWN_FAULTS]
    more = len(faults) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")


def _fault(tool: str, name: str, kind: str, schema: Mapping[str, Any]) -> str:
    argument = schema["properties"].get(name)
    if argument is None:
        return f"{quoted_short(name, _LONGEST_NAME_CHARS)} is no argument of {tool}"
    allowed = " ".join([*_allowed(argument, schema.get("$defs", {})), *_description(tool, name)])
    if kind == "missing":
        return f"{name} is missing, which has to be {allowed}"
    return f"{name} has to be {allowed}"


def _allowed(argument: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words for the allowed values of an argument."""
    choices = argument.get("anyOf", ())
    inner = next((each for each in choices if each.get("type") != "null"), argument)
    inner = named[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    if "enum" in inner:
        yield f"one of {', '.join(inner['enum'])}"
    elif inner.get("pattern") == CLIENT_ID_PATTERN:
        yield f"a name that {CLIENT_ID_RULE}"
    else:
        yield _KINDS[inner["type"]]
    if inner.get("maximum", _LARGEST) < _LARGEST:
        yield f"from {inner['minimum']} to {inner['maximum']}"
    elif "minimum" in inner:
        yield f"from {inner['minimum']} on"
    if "maxLength" in inner:
        yield f"of {inner['minLength']} to {inner['maxLength']} characters"
    elif "minLength" in inner:
        yield "that is not empty"


def _description(tool: str, name: str) -> Iterator[str]:
    """Yield the description of an argument in the definition, which has an example."""
    for definition in definitions([tool]):
        if description := definition.parameters["properties"][name].get("description"):
            yield f"({description})"
