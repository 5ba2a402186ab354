"""The arguments of the tools that a model is given, as they are checked when one is called.

A model's arguments are read with patience. They come as an object or as JSON text, levels by number
or by name, and null stands for the default: strict schemas make every property required.

What a model is told of the tools is in `tool_catalogue`. Source: `agents`, "Tools for models".
"""

import re
from collections.abc import Mapping
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
from pagefault_dialects.model.page import Level, LevelInput, Modality, PageType
from pagefault_dialects.model.resource import ResourceKind
from pagefault_dialects.tools.argument_words import wrong_arguments
from pagefault_dialects.tools.tool_catalogue import MOST_TEXT_CHARS

_MOST_HITS = 20
_DEEPEST, _MOST_VALUES = 64, 10_000
# Each that no tool takes would be an error of its own.
_MOST_ARGUMENTS = 100

# What some models put around JSON, as in a chat.
_FENCED = re.compile(r"\s*+```[a-zA-Z]*+\s*+(\{.*\})\s*+```\s*+", re.DOTALL)


class WrongArgumentsError(Exception):
    """A call cannot be run; the words say to the model what to send instead."""


def _named_level(value: object) -> object:
    """Take `2`, `"2"`, `2.0` and `"Abstract"`."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value.strip() if isinstance(value, str) else value


_Level = Annotated[LevelInput, BeforeValidator(_named_level), WithJsonSchema({"type": "integer"})]


class ToolArguments(BaseModel):
    """What a tool is called with; null stands for the default."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:  # noqa: ANN401 - raw input
        if not isinstance(value, dict):
            return value
        return {name: member for name, member in value.items() if member is not None}


class PageFaultArguments(ToolArguments):
    """What `page_fault` takes (spec 000)."""

    page_id: str
    target_level: _Level = Level.ABSTRACT


class SearchPagesArguments(ToolArguments):
    """What `search_pages` takes."""

    query: Annotated[str, Field(min_length=1, max_length=1_000)]
    modality: Modality | None = None
    limit: Annotated[int, Field(ge=1, le=_MOST_HITS)] = 5


class ReadTextArguments(ToolArguments):
    """What `read_text` takes: one of the last three, or a place in characters."""

    ref: str
    offset: Count = 0
    limit: Annotated[int, Field(ge=1)] = MOST_TEXT_CHARS
    lines: str | None = None
    grep: str | None = None
    pointer: str | None = None


class ViewMediaArguments(ToolArguments):
    """What `view_media` takes."""

    ref: str
    level: _Level = Level.FULL


class SavePageArguments(ToolArguments):
    """What `save_page` takes."""

    content: Annotated[str | None, Field(min_length=1)] = None
    ref: str | None = None
    caption: str | None = None
    page_type: PageType | None = None
    pinned: bool = False


class ListMediaArguments(ToolArguments):
    """What `list_media` takes."""

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
"""Every tool, by its name, in the order a model is told of them."""


def read_call(name: str, arguments: JsonValue) -> ToolArguments:
    """Return the arguments of a call, whose class says which tool is called.

    Args:
        name: The tool.
        arguments: An object, the JSON text of one, or nothing.

    Raises:
        WrongArgumentsError: There is no such tool, or the arguments do not fit.
    """
    # A host may have put a prefix before it.
    names = (name, *(name.rpartition(each)[2] for each in (".", "__", "/", ":")))
    tool = next((each for each in names if each in TOOLS), None)
    if tool is None:
        raise WrongArgumentsError(f"There is no such tool. There are {', '.join(TOOLS)}.")
    taken = f"{tool} takes {', '.join(TOOLS[tool].model_fields)}."
    value = _as_value(arguments, taken)
    if not isinstance(value, dict):
        raise WrongArgumentsError(f"The call was not run: its arguments are no object. {taken}")
    if len(value) > _MOST_ARGUMENTS:
        raise WrongArgumentsError(f"The call was not run: it has {len(value)} arguments. {taken}")
    try:
        return TOOLS[tool].model_validate(value)
    except ValidationError as exc:
        wrong = wrong_arguments(tool, TOOLS[tool], exc)
        raise WrongArgumentsError(f"The call was not run: {wrong}. {taken}") from exc


def read_arguments(arguments: JsonValue) -> JsonValue:
    """Return the arguments of a call as they are compared: text as its JSON, if it is JSON."""
    try:
        return _as_value(arguments, "")
    except WrongArgumentsError:
        return arguments


def _as_value(arguments: JsonValue, taken: str) -> JsonValue:
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}
    if not isinstance(arguments, str):
        return arguments
    fenced = _FENCED.fullmatch(arguments)
    text = fenced.group(1) if fenced else arguments
    try:
        return parse_repaired_json(
            text.encode("utf-8", "replace"), max_depth=_DEEPEST, max_nodes=_MOST_VALUES
        )
    except PayloadTooLargeError as exc:
        raise WrongArgumentsError(
            f"The call was not run: its arguments are nested too deep, or too many. {taken}"
        ) from exc
    except InvalidJsonError as exc:
        raise WrongArgumentsError(f"The call was not run: {_why_no_json(text)} {taken}") from exc


def _why_no_json(text: str) -> str:
    if text.lstrip().startswith("{") and not text.rstrip().endswith("}"):
        return "its arguments are no JSON object, they were cut off. Send them again, whole."
    return (
        "its arguments are no JSON object. Send one and nothing else, with names and texts in "
        'double quotes, as in {"query": "red sunset", "limit": 5}.'
    )
