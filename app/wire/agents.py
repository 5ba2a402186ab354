"""Shapes of the tools of the memory, of turns, and of conversations written to a session."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, FailFast, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.call_ids import CallId
from app.wire.renders import RenderedRecord, RenderFields, SinceMember, Target
from app.wire.shape import DocumentedAs, Shape
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import FrozenModel, JsonCount, WireModel
from pagefault_dialects.model.normalized import BodyWarning
from pagefault_dialects.model.render_options import Handles

_TOOLS_EXAMPLE: JsonDict = {
    "target": "anthropic",
    "tools": [
        {
            "name": "search_pages",
            "description": "Search memory pages by words. Returns ids for page_fault.",
            "input_schema": {"type": "object"},
        }
    ],
}
_CALL_EXAMPLE: JsonDict = {
    "target": "openai-chat",
    "id": "call_1",
    "name": "page_fault",
    "arguments": '{"page_id": "img_001", "target_level": 0}',
}


ToolScope = TypeAliasType("ToolScope", Literal["session", "project"])


class ToolDefinitions(WireModel):
    """The tools of the memory, in the dialect of one target."""

    model_config = ConfigDict(json_schema_extra={"examples": [_TOOLS_EXAMPLE]})

    target: Target
    tools: tuple[JsonObject, ...]
    """The definitions for the provider's request."""


class ToolCall(WireModel):
    """A model's call of one of the tools."""

    id: CallId
    """The provider's id of the call."""
    name: Annotated[str, Field(min_length=1, max_length=512)]
    arguments: Any = None
    """An object, or the JSON text that Chat Completions sends."""
    scope: ToolScope = "session"
    """The media to which handles may refer: those of this session, or of the project."""
    call_follows: bool = False
    """True to append only the result, because the message with the call is appended later."""


class ToolCallRequest(ToolCall, RenderFields):
    """A model's call of one of the tools, and the options for rendering its result."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CALL_EXAMPLE]})

    handles: Handles = True


MAX_ENTRIES = 100
"""The maximum number of entries in a turn."""

_TURN_EXAMPLE: JsonDict = {
    "entries": [
        {
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_1",
                        "type": "function",
                        "function": {"name": "clock", "arguments": "{}"},
                    }
                ],
            }
        },
        {"toolResult": {"toolName": "clock", "toolCallId": "call_1", "result": "It is ten."}},
    ],
    "expectedSeq": 4,
    "render": {"target": "openai-chat"},
}


class TurnRender(RenderFields):
    """The options for the rendering after the turn is appended."""

    handles: Handles = True
    since: SinceMember = 0


class TurnEntry(WireModel):
    """An entry of a history: exactly one of its members."""

    message: JsonObject | None = None
    """A message as in `POST /api/sessions/{session_id}/messages`."""
    tool_result: JsonObject | None = None
    """A tool result as in `POST /api/tool-results`, without `sessionId`."""
    tool_call: ToolCall | None = None
    """A call of one of the memory's tools, which is run. Its message is appended too, unless it is
    already in the history."""


class TurnRequest(WireModel):
    """The entries of one step of an agent, in order, and the options of a rendering."""

    model_config = ConfigDict(json_schema_extra={"examples": [_TURN_EXAMPLE]})

    entries: Annotated[
        tuple[TurnEntry, ...], Field(min_length=1, max_length=MAX_ENTRIES), FailFast()
    ]
    expected_seq: JsonCount | None = None
    """The last `seq` that the client has; if the session has another, the response is a 409."""
    render: TurnRender | None = None


class RefusedCall(Shape, kw_only=True):
    """A call that must not be run: the model has copied an argument that was cut in an old call."""

    call_id: Annotated[str, Field(examples=["call_9"])]
    """The id of the call."""
    seq: Annotated[int, Field(examples=[7])]
    """The `seq` of the entry with the result of the call, which is part of the rendering."""


class TurnReceipt(Shape, kw_only=True):
    """The entries that a turn appended, and the rendering of the session."""

    seqs: Annotated[tuple[int, ...], Field(examples=[[5, 6]])]
    """The `seq` of each entry, in order; for a tool call, that of its result."""
    rendering: Annotated[object, DocumentedAs(RenderedRecord | None)]
    """The rendering; null if none was requested, or if it failed."""
    problem: str | None = None
    """The reason why the requested rendering failed; all entries are stored nevertheless."""
    warnings: tuple[BodyWarning, ...] = ()
    """Parts of the body that were changed: keys that occur more than once in an object."""
    refused: tuple[RefusedCall, ...] = ()
    """Calls in the messages of the turn that must not be run."""


_HISTORY_EXAMPLE: JsonDict = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is wrong with this page?"},
    ],
}


class Conversation(FrozenModel):
    """The JSON of a request to any provider.

    A list of messages, a response, and the lines of a transcript are accepted as well.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_HISTORY_EXAMPLE]})

    messages: list[JsonObject] | None = None
    """The messages. Some dialects name this member `input`, `contents` or `history`."""
    system: Any = None
    """The system prompt. Some dialects name this member `instructions` or `systemInstruction`."""


class HistoryReceipt(Shape, kw_only=True):
    """The entries that a `PUT` of a conversation appended."""

    appended: int
    """The number of entries that this request appended. The same request again returns the same."""
    last_seq: int
    """The last `seq` of the session."""
    session_id: str | None = None
    """The new fork with the entries, if the history differed and `onDivergence=fork` was sent."""
    system_changed: bool = False
    """True if the system prompt, the tools or the model changed. The new ones are used."""
    passed_over: int = 0
    """The number of elements that are not messages: lines of a transcript, reports, states."""
    warnings: tuple[BodyWarning, ...] = ()
    """Parts of the body that were changed: keys that occur more than once in an object."""
    rendering: Annotated[object, DocumentedAs(RenderedRecord)] = None
    """The rendering of the session, if `render` names a target."""
    problem: str | None = None
    """The reason why the requested rendering failed; all entries are stored nevertheless."""
