"""Shapes of tools for models: their definitions, and a call to be run."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.call_ids import CallId
from app.wire.renders import HandlesMember, RenderFields, Target
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import WireModel

_EXAMPLE: JsonDict = {
    "target": "anthropic",
    "tools": [
        {
            "name": "search_pages",
            "description": "Search memory pages by words. Returns ids for page_fault.",
            "input_schema": {"type": "object"},
        }
    ],
}
_EXAMPLE_CALL: JsonDict = {
    "target": "openai-chat",
    "id": "call_1",
    "name": "page_fault",
    "arguments": '{"page_id": "img_001", "target_level": 0}',
}


ToolScope = TypeAliasType("ToolScope", Literal["session", "project"])


class ToolDefinitions(WireModel):
    """The tools of the memory, in the dialect of one target."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    target: Target
    tools: tuple[JsonObject, ...]
    """The definitions for the provider's request."""


class ToolCall(WireModel):
    """A call that a model made of one of the tools."""

    id: CallId
    """The provider's id of the call."""
    name: Annotated[str, Field(min_length=1, max_length=512)]
    arguments: Any = None
    """An object, or the JSON text that Chat Completions sends."""
    scope: ToolScope = "session"
    """The reach of handles: the media of this session, or of the project."""


class ToolCallRequest(ToolCall, RenderFields):
    """A call that a model made of one of the tools, and the options for its answer."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_CALL]})

    handles: HandlesMember = True
