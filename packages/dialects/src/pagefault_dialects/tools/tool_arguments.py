"""The arguments of the tools, checked when a model calls one.

Several forms are accepted. Arguments are an object or JSON text, levels a number or a name, and
null is the default: strict schemas make every property required.

The definitions are in `tool_catalogue`. Source: `agents`, "Tools for models".
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
# Each unknown argument is an error of its own.
_MOST_ARGUMENTS = 100

# Some models put a code fence around JSON.
_FENCED = re.compile(r"\s*+```[a-zA-Z]*+\s*+(\{.*\})\s*+```\s*+", re.DOTALL)


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
    limit: Annotated[int, Field(ge=1, le=_MOST_HITS)] = 5


class ReadTextArguments(ToolArguments):
    """The arguments of `read_text`: one of the last three, or a place in characters."""

    ref: str
    offset: Count = 0
    limit: Annotated[int, Field(ge=1)] = MOST_TEXT_CHARS
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
    names = (name, *(name.rpartition(each)[2] for each in (".", "__", "/", ":")))
    tool = next((each for each in names if each in TOOLS), None)
    if tool is None:
        raise WrongArgumentsError(f"There is no such tool. There are {', '.join(TOOLS)}.")
    accepted = f"{tool} takes {', '.join(TOOLS[tool].model_fields)}."
    value = _as_value(arguments, accepted)
    if not isinstance(value, dict):
        raise WrongArgumentsError(f"The call was not run: its arguments are no object. {accepted}")
    if len(value) > _MOST_ARGUMENTS:
        raise WrongArgumentsError(
            f"The call was not run: it has {len(value)} arguments. {accepted}"
        )
    try:
        return TOOLS[tool].model_validate(value)
    except ValidationError as exc:
        wrong = wrong_arguments(tool, TOOLS[tool], exc)
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
            text.encode("utf-8", "replace"), max_depth=_DEEPEST, max_nodes=_MOST_VALUES
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
