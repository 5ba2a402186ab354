"""Reads and checks the arguments of a call when a model calls a tool of the memory.

Arguments may be an object or the JSON text of one, and levels a number or a name. `null` means the
default, because strict schemas make every argument required. Error messages have the name of the
argument, its allowed values, and its description in the definition. Pydantic's own messages have
patterns and Python types, which small models do not understand.

The definitions are in `tool_catalogue`. Source: design document `agents.md`, "Tools for models".
"""

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json
from pagefault_dialects.model.base import ClientId, Count
from pagefault_dialects.model.client_ids import CLIENT_ID_PATTERN, CLIENT_ID_RULE
from pagefault_dialects.model.page import Level, LevelInput, Modality, PageType
from pagefault_dialects.model.resource import ResourceKind
from pagefault_dialects.pages.line_formats import quote_short
from pagefault_dialects.tools.tool_catalogue import MAX_TEXT_CHARS, list_definitions

_MAX_HITS = 20
_MAX_DEPTH, _MAX_VALUES = 64, 10_000
# Each unknown argument is an error of its own, so the number of arguments is limited.
_MAX_ARGUMENTS = 100

# Some models put a code fence around JSON.
_CODE_FENCE = re.compile(r"\s*+```[a-zA-Z]*+\s*+(\{.*\})\s*+```\s*+", re.DOTALL)

_MAX_SHOWN_ERRORS = 3
_MAX_NAME_CHARS = 64
# Larger limits are technical, and not in the messages for a model.
_UNLIMITED = 2**53
_TYPE_PHRASES = {"integer": "a whole number", "boolean": "true or false", "string": "a text"}


class WrongArgumentsError(Exception):
    """The call cannot be run. The message is for the model, and names the accepted arguments."""


def _parse_level(value: object) -> object:
    """Return a level as pydantic reads it: a text without white space, and `2.0` as `2`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value


_Level = Annotated[LevelInput, BeforeValidator(_parse_level), WithJsonSchema({"type": "integer"})]


class ToolArguments(BaseModel):
    """The arguments of a tool. Null as a value means the default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _remove_nulls(cls, value: Any) -> Any:  # noqa: ANN401 - raw input
        if not isinstance(value, dict):
            return value
        return {name: member for name, member in value.items() if member is not None}


class PageFaultArguments(ToolArguments):
    """The arguments of `page_fault` (spec 000)."""

    page_id: str
    target_level: _Level = Level.ABSTRACT


class SearchPagesArguments(ToolArguments):
    """The arguments of `search_pages`."""

    query: Annotated[str, Field(min_length=1, max_length=1_000)]
    modality: Modality | None = None
    limit: Annotated[int, Field(ge=1, le=_MAX_HITS)] = 5


class ReadTextArguments(ToolArguments):
    """The arguments of `read_text`: a range of characters, or lines, words or a JSON pointer."""

    ref: str
    offset: Count = 0
    limit: Annotated[int, Field(ge=1)] = MAX_TEXT_CHARS
    lines: str | None = None
    grep: str | None = None
    pointer: str | None = None


class ViewMediaArguments(ToolArguments):
    """The arguments of `view_media`."""

    ref: str
    level: _Level = Level.FULL


class SavePageArguments(ToolArguments):
    """The arguments of `save_page`."""

    content: Annotated[str | None, Field(min_length=1)] = None
    ref: str | None = None
    caption: str | None = None
    page_type: PageType | None = None
    pinned: bool = False


class ListMediaArguments(ToolArguments):
    """The arguments of `list_media`."""

    session: ClientId | None = None
    kind: ResourceKind | None = None


TOOLS: Mapping[str, type[ToolArguments]] = MappingProxyType(
    {
        "page_fault": PageFaultArguments,
        "search_pages": SearchPagesArguments,
        "read_text": ReadTextArguments,
        "view_media": ViewMediaArguments,
        "save_page": SavePageArguments,
        "list_media": ListMediaArguments,
    }
)
"""All tools by name, in the order of the definitions."""


def read_call(name: str, arguments: JsonValue) -> ToolArguments:
    """Return the arguments of a call. The class of the returned object identifies the tool.

    Args:
        name: The tool.
        arguments: An object, the JSON text of one, or nothing.

    Raises:
        WrongArgumentsError: The tool is unknown, or the arguments are invalid.
    """
    # A host may add a prefix to the name of the tool.
    names = (name, *(name.rpartition(separator)[2] for separator in (".", "__", "/", ":")))
    tool = next((candidate for candidate in names if candidate in TOOLS), None)
    if tool is None:
        raise WrongArgumentsError(f"There is no such tool. There are {', '.join(TOOLS)}.")
    accepted = f"{tool} takes {', '.join(TOOLS[tool].model_fields)}."
    value = _parse_arguments(arguments, accepted)
    if not isinstance(value, dict):
        raise WrongArgumentsError(f"The call was not run: its arguments are no object. {accepted}")
    if len(value) > _MAX_ARGUMENTS:
        raise WrongArgumentsError(
            f"The call was not run: it has {len(value)} arguments. {accepted}"
        )
    try:
        return TOOLS[tool].model_validate(value)
    except ValidationError as exc:
        errors = _describe_errors(tool, TOOLS[tool], exc)
        raise WrongArgumentsError(f"The call was not run: {errors}. {accepted}") from exc


def read_arguments(arguments: JsonValue) -> JsonValue:
    """Return the arguments of a call for comparisons: JSON text is parsed, if that is possible."""
    try:
        return _parse_arguments(arguments, "")
    except WrongArgumentsError:
        return arguments


def _parse_arguments(arguments: JsonValue, accepted: str) -> JsonValue:
    """Return the value of the arguments.

    Args:
        arguments: An object, the JSON text of one, or nothing.
        accepted: The end of the message of an error, with the accepted arguments.

    Raises:
        WrongArgumentsError: The text is no JSON object, or too large.
    """
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    if not isinstance(arguments, str):
        return arguments
    fence = _CODE_FENCE.fullmatch(arguments)
    text = fence.group(1) if fence else arguments
    try:
        return parse_repaired_json(
            text.encode("utf-8", "replace"), max_depth=_MAX_DEPTH, max_nodes=_MAX_VALUES
        )
    except PayloadTooLargeError as exc:
        raise WrongArgumentsError(
            f"The call was not run: its arguments are nested too deep, or too many. {accepted}"
        ) from exc
    except InvalidJsonError as exc:
        raise WrongArgumentsError(
            f"The call was not run: {_explain_no_json(text)} {accepted}"
        ) from exc


def _explain_no_json(text: str) -> str:
    """Return the reason why a text is no JSON object, and what to send instead."""
    if text.lstrip().startswith("{") and not text.rstrip().endswith("}"):
        return "its arguments are no JSON object, they were cut off. Send them again, whole."
    return (
        "its arguments are no JSON object. Send one and nothing else, with names and texts in "
        'double quotes, as in {"query": "red sunset", "limit": 5}.'
    )


def _describe_errors(tool: str, model: type[BaseModel], error: ValidationError) -> str:
    """Return the errors in the arguments of a call: `limit has to be a whole number …; …`."""
    schema = model.model_json_schema()
    descriptions: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        descriptions.setdefault(name, _describe_error(tool, name, item["type"], schema))
    shown = list(descriptions.values())[:_MAX_SHOWN_ERRORS]
    more = len(descriptions) - len(shown)
    return "; ".join(shown) + (f"; and {more} more" if more else "")


def _describe_error(tool: str, name: str, error_type: str, schema: Mapping[str, Any]) -> str:
    """Return the error in an argument of a tool.

    Args:
        tool: The tool.
        name: The name of the argument.
        error_type: Pydantic's type of the error.
        schema: The JSON schema of the arguments.
    """
    argument = schema["properties"].get(name)
    if argument is None:
        return f"{quote_short(name, _MAX_NAME_CHARS)} is no argument of {tool}"
    allowed = " ".join(
        [
            *_describe_allowed_values(argument, schema.get("$defs", {})),
            *_find_description(tool, name),
        ]
    )
    if error_type == "missing":
        return f"{name} is missing, which has to be {allowed}"
    return f"{name} has to be {allowed}"


def _describe_allowed_values(
    argument: Mapping[str, Any], definitions: Mapping[str, Any]
) -> Iterator[str]:
    """Yield phrases that describe the allowed values of an argument.

    Args:
        argument: The schema of the argument.
        definitions: The schemas to which the schema of the argument may refer, by name.
    """
    choices = argument.get("anyOf", ())
    schema = next((choice for choice in choices if choice.get("type") != "null"), argument)
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if "enum" in schema:
        yield f"one of {', '.join(schema['enum'])}"
    elif schema.get("pattern") == CLIENT_ID_PATTERN:
        yield f"a name that {CLIENT_ID_RULE}"
    else:
        yield _TYPE_PHRASES[schema["type"]]
    if schema.get("maximum", _UNLIMITED) < _UNLIMITED:
        yield f"from {schema['minimum']} to {schema['maximum']}"
    elif "minimum" in schema:
        yield f"from {schema['minimum']} on"
    if "maxLength" in schema:
        yield f"of {schema['minLength']} to {schema['maxLength']} characters"
    elif "minLength" in schema:
        yield "that is not empty"


def _find_description(tool: str, name: str) -> Iterator[str]:
    """Yield the description of an argument in parentheses, if its definition has one."""
    for definition in list_definitions([tool]):
        if description := definition.parameters["properties"][name].get("description"):
            yield f"({description})"
