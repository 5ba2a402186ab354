"""The arguments of the tools, checked when a model calls one.

Several forms are accepted. Arguments are an object or JSON text, levels a number or a name, and
null is the default: strict schemas make every property required. Errors name the argument and its
allowed values, as the schema has them, with the description in the definition: pydantic's messages
have patterns and Python types, which small models do not understand.

The definitions are in `tool_catalogue`. Source: `agents`, "Tools for models".
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
from pagefault_dialects.pages.one_line import quote_short
from pagefault_dialects.tools.tool_catalogue import MAX_TEXT_CHARS, definitions

_MAX_HITS = 20
_DEEPEST, _MAX_VALUES = 64, 10_000
# Each unknown argument is an error of its own.
_MAX_ARGUMENTS = 100

# Some models put a code fence around JSON.
_FENCED = re.compile(r"\s*+```[a-zA-Z]*+\s*+(\{.*\})\s*+```\s*+", re.DOTALL)

_SHOWN_FAULTS = 3
_LONGEST_NAME_CHARS = 64
# A limit of this size is only for machines.
_LARGEST = 2**53
_KINDS = {"integer": "a whole number", "boolean": "true or false", "string": "a text"}


class WrongArgumentsError(Exception):
    """The call cannot be run; the message tells the model the accepted arguments."""


def _named_level(value: object) -> object:
    """Return the level of `2`, `"2"`, `2.0` or `"Abstract"`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value


_Level = Annotated[LevelInput, BeforeValidator(_named_level), WithJsonSchema({"type": "integer"})]


class ToolArguments(BaseModel):
    """The arguments of a tool; null is the default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:  # noqa: ANN401 - raw input
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
    """The arguments of `read_text`: one of the last three, or a place in characters."""

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
    """Return the arguments of a call; their class identifies the tool.

    Args:
        name: The tool.
        arguments: An object, the JSON text of one, or nothing.

    Raises:
        WrongArgumentsError: The tool is unknown, or the arguments are invalid.
    """
    # A host may add a prefix.
    names = (name, *(name.rpartition(word)[2] for word in (".", "__", "/", ":")))
    tool = next((item for item in names if item in TOOLS), None)
    if tool is None:
        raise WrongArgumentsError(f"There is no such tool. There are {', '.join(TOOLS)}.")
    accepted = f"{tool} takes {', '.join(TOOLS[tool].model_fields)}."
    value = _as_value(arguments, accepted)
    if not isinstance(value, dict):
        raise WrongArgumentsError(f"The call was not run: its arguments are no object. {accepted}")
    if len(value) > _MAX_ARGUMENTS:
        raise WrongArgumentsError(
            f"The call was not run: it has {len(value)} arguments. {accepted}"
        )
    try:
        return TOOLS[tool].model_validate(value)
    except ValidationError as exc:
        wrong = _wrong_arguments(tool, TOOLS[tool], exc)
        raise WrongArgumentsError(f"The call was not run: {wrong}. {accepted}") from exc


def read_arguments(arguments: JsonValue) -> JsonValue:
    """Return the arguments of a call in a comparable form: text as its JSON, if it is JSON."""
    try:
        return _as_value(arguments, "")
    except WrongArgumentsError:
        return arguments


def _as_value(arguments: JsonValue, accepted: str) -> JsonValue:
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    if not isinstance(arguments, str):
        return arguments
    fenced = _FENCED.fullmatch(arguments)
    text = fenced.group(1) if fenced else arguments
    try:
        return parse_repaired_json(
            text.encode("utf-8", "replace"), max_depth=_DEEPEST, max_nodes=_MAX_VALUES
        )
    except PayloadTooLargeError as exc:
        raise WrongArgumentsError(
            f"The call was not run: its arguments are nested too deep, or too many. {accepted}"
        ) from exc
    except InvalidJsonError as exc:
        raise WrongArgumentsError(f"The call was not run: {_why_no_json(text)} {accepted}") from exc


def _why_no_json(text: str) -> str:
    if text.lstrip().startswith("{") and not text.rstrip().endswith("}"):
        return "its arguments are no JSON object, they were cut off. Send them again, whole."
    return (
        "its arguments are no JSON object. Send one and nothing else, with names and texts in "
        'double quotes, as in {"query": "red sunset", "limit": 5}.'
    )


def _wrong_arguments(tool: str, takes: type[BaseModel], error: ValidationError) -> str:
    """Return the errors in the arguments of a call: `limit has to be a whole number …; …`."""
    schema = takes.model_json_schema()
    faults: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=False):
        name = str(item["loc"][0]) if item["loc"] else ""
        faults.setdefault(name, _fault(tool, name, item["type"], schema))
    listed = list(faults.values())[:_SHOWN_FAULTS]
    more = len(faults) - len(listed)
    return "; ".join(listed) + (f"; and {more} more" if more else "")


def _fault(tool: str, name: str, kind: str, schema: Mapping[str, Any]) -> str:
    argument = schema["properties"].get(name)
    if argument is None:
        return f"{quote_short(name, _LONGEST_NAME_CHARS)} is no argument of {tool}"
    allowed = " ".join([*_allowed(argument, schema.get("$defs", {})), *_description(tool, name)])
    if kind == "missing":
        return f"{name} is missing, which has to be {allowed}"
    return f"{name} has to be {allowed}"


def _allowed(argument: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[str]:
    """Yield the words for the allowed values of an argument."""
    choices = argument.get("anyOf", ())
    inner = next((choice for choice in choices if choice.get("type") != "null"), argument)
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
