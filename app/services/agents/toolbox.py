"""The tools that a model is given: their names, their descriptions, what they take.

A model's arguments are read with patience. They come as an object or as JSON text, levels by number
or by name, and null stands for the default: strict schemas make every property required.

Source: `agents`, "Tools for models".
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from app.errors import InvalidJsonError, PayloadTooLargeError
from app.models.base import ClientId, Count
from app.models.json_value import JsonValue, parse_repaired_json
from app.models.page import Level, LevelInput, Modality, PageType
from app.models.resource import ResourceKind
from app.models.tool import ToolDefinition
from app.services.agents.argument_words import wrong_arguments

MOST_TEXT_CHARS = 6_000
"""What `read_text` gives at once: more would be previewed when it is stored."""
_MOST_HITS = 20
_DEEPEST, _MOST_VALUES = 64, 10_000

# What some models put around JSON, as in a chat.
_FENCED = re.compile(r"\s*+```[a-zA-Z]*+\s*+(\{.*\})\s*+```\s*+", re.DOTALL)

_REF = "A handle such as @blob:9a0e…, as you see it in brackets"


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

    description: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:  # noqa: ANN401 - raw input
        if not isinstance(value, dict):
            return value
        return {name: member for name, member in value.items() if member is not None}


class PageFaultArguments(ToolArguments):
    """What `page_fault` takes (spec 000)."""

    description = "Read a memory page: its text, and its image if it has one."

    page_id: Annotated[str, Field(description="As listed, such as img_001")]
    target_level: Annotated[
        _Level,
        Field(description="0 full, 1 reduced, 2 abstract (default), 3 reference"),
    ] = Level.ABSTRACT


class SearchPagesArguments(ToolArguments):
    """What `search_pages` takes."""

    description = "Search memory pages by words. Returns ids for page_fault."

    query: Annotated[str, Field(min_length=1, max_length=1_000, description="A few words")]
    modality: Modality | None = None
    limit: Annotated[int, Field(ge=1, le=_MOST_HITS, description="Hits, 5 by default")] = 5


class ReadTextArguments(ToolArguments):
    """What `read_text` takes: one of the last three, or a place in characters."""

    description = "Read a stored text that you saw only the beginning of, piece by piece."

    ref: Annotated[str, Field(description=_REF)]
    offset: Annotated[Count, Field(description="First character")] = 0
    limit: Annotated[int, Field(ge=1, description=f"Characters, {MOST_TEXT_CHARS} at most")] = (
        MOST_TEXT_CHARS
    )
    lines: Annotated[str | None, Field(description="Lines instead, such as 10-40 or 100-")] = None
    grep: Annotated[str | None, Field(description="Only lines with these words")] = None
    pointer: Annotated[str | None, Field(description="Of JSON: a pointer such as /items/0")] = None


class ViewMediaArguments(ToolArguments):
    """What `view_media` takes."""

    description = "Look at a stored image, or at what is known of a recording or file."

    ref: Annotated[str, Field(description=_REF)]
    level: Annotated[_Level, Field(description="0 the medium (default), 2 words only")] = Level.FULL


class SavePageArguments(ToolArguments):
    """What `save_page` takes."""

    description = "Remember a text or a stored medium as a memory page. Returns its id."

    content: Annotated[str | None, Field(min_length=1, description="The text to remember")] = None
    ref: Annotated[str | None, Field(description="Or a handle to a stored medium")] = None
    caption: Annotated[str | None, Field(description="One line to find it by")] = None
    page_type: PageType | None = None
    pinned: Annotated[bool, Field(description="Always list it first")] = False


class ListMediaArguments(ToolArguments):
    """What `list_media` takes."""

    description = "List stored images, recordings and files, newest first, with handles."

    session: Annotated[ClientId | None, Field(description="Another session's; null: this")] = None
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


def definitions(only: Sequence[str] | None = None) -> Sequence[ToolDefinition]:
    """Return the definitions of the tools, or of those named, in their order."""
    return [_definition(name) for name in TOOLS if only is None or name in only]


@cache
def _definition(name: str) -> ToolDefinition:
    arguments = TOOLS[name]
    schema = arguments.model_json_schema()
    named = schema.get("$defs", {})
    properties = {
        key: _strict(each, named, is_optional=key not in schema.get("required", ()))
        for key, each in schema["properties"].items()
    }
    parameters: dict[str, JsonValue] = {
        "type": "object",
        "properties": dict(properties),
        "required": [*properties],
        "additionalProperties": False,
    }
    return ToolDefinition(name, arguments.description, parameters)


def _strict(
    schema: dict[str, Any], named: Mapping[str, Any], *, is_optional: bool
) -> dict[str, JsonValue]:
    """Return type, enumeration and description of a property; null is taken for the default.

    Bounds are left to whoever runs the tool: strict modes take no `minimum` and no `pattern`.
    """
    said = schema.get("description")
    inner = next((each for each in schema.get("anyOf", ()) if each.get("type") != "null"), schema)
    inner = named[inner["$ref"].rpartition("/")[2]] if "$ref" in inner else inner
    strict: dict[str, JsonValue] = {"type": inner["type"]}
    if "enum" in inner:
        strict["enum"] = [*inner["enum"]]
    if is_optional:
        strict["type"] = [inner["type"], "null"]
        if "enum" in inner:
            strict["enum"] = [*inner["enum"], None]
    return strict if said is None else {**strict, "description": said}


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
    try:
        return TOOLS[tool].model_validate(value)
    except ValidationError as exc:
        wrong = wrong_arguments(tool, TOOLS[tool], exc)
        raise WrongArgumentsError(f"The call was not run: {wrong}. {taken}") from exc


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
