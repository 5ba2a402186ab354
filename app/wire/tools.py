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
    """To be put into the provider's request."""


class ToolCall(WireModel):
    """A call that a model made of one of the tools."""

    id: CallId
    """The call's, as the provider gave it."""
    name: Annotated[str, Field(min_length=1, max_length=512)]
    arguments: Any = None
    """An object, or the JSON text that Chat Completions sends."""
    scope: ToolScope = "session"
    """How far handles lead: to the media of this session, or of the project."""


class ToolCallRequest(ToolCall, RenderFields):
    """A call that a model made of one of the tools, and how its answer is wanted."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE_CALL]})

    handles: HandlesMember = True
