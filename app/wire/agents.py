"""The JSON of tools for models, of turns, and of conversations that are written to a session."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, FailFast, Field
from pydantic.config import JsonDict
from typing_extensions import TypeAliasType

from app.models.call_ids import CallId
from app.wire.renders import RenderedRecord, RenderFields, SinceMember, Target
from app.wire.shape import Shape, ShownAs
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
    """A call that a model made of one of the tools."""

    id: CallId
    """The provider's id of the call."""
    name: Annotated[str, Field(min_length=1, max_length=512)]
    arguments: Any = None
    """An object, or the JSON text that Chat Completions sends."""
    scope: ToolScope = "session"
    """The media that handles may refer to: those of this session, or of the project."""
    call_follows: bool = False
    """Append only the result. The message with the call follows, as in the lists of frameworks."""


class ToolCallRequest(ToolCall, RenderFields):
    """A call that a model made of one of the tools, and the options for rendering its result."""

    model_config = ConfigDict(json_schema_extra={"examples": [_CALL_EXAMPLE]})

    handles: Handles = True


MAX_ENTRIES = 100

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
    """A call of one of the memory's tools, which is run; its message is appended too, unless the
    history has it."""


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
    rendering: Annotated[object, ShownAs(RenderedRecord | None)]
    """The rendering; null if none was requested, or if it failed."""
    problem: str | None = None
    """The reason for a missing rendering, if one was requested; all entries are stored."""
    warnings: tuple[BodyWarning, ...] = ()
    """Parts of the body that were not taken as sent: keys that an object has more than once."""
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
    """A request to any provider, as it is sent to the provider.

    A list of messages, a response, and the lines of a transcript are taken as well.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_HISTORY_EXAMPLE]})

    messages: list[JsonObject] | None = None
    """Or `input`, `contents` or `history`, as the dialect names it."""
    system: Any = None
    """Or `instructions`, `systemInstruction`. The newest is used."""


class HistoryReceipt(Shape, kw_only=True):
    """The entries that a `PUT` of a conversation appended."""

    appended: int
    """The number of entries that this request appended. The same request again returns the same."""
    last_seq: int
    """The last `seq` of the session."""
    session_id: str | None = None
    """The fork that was written to, if the history differed and `onDivergence=fork` was given."""
    system_changed: bool = False
    """True if the system prompt, the tools or the model changed. The new ones are used."""
    passed_over: int = 0
    """The number of elements that are not messages: lines of a transcript, reports, states."""
    warnings: tuple[BodyWarning, ...] = ()
    """Parts of the body that were not taken as sent: keys that an object has more than once."""
    rendering: Annotated[object, ShownAs(RenderedRecord)] = None
    """The session for a model, if `render` names a target."""
    problem: str | None = None
    """The reason for a missing rendering, if one was requested; all entries are stored."""
