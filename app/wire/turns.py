"""Shapes of turns: the entries of one step of an agent, and the answer."""

from typing import Annotated

from pydantic import ConfigDict, FailFast, Field
from pydantic.config import JsonDict

from app.wire.body_warnings import BodyWarning
from app.wire.renders import HandlesMember, RenderedRecord, RenderFields, SinceMember
from app.wire.shape import Shape, ShownAs
from app.wire.tools import ToolCall
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import JsonCount, WireModel

MOST_ENTRIES = 100

_EXAMPLE: JsonDict = {
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

    handles: HandlesMember = True
    since: SinceMember = 0


class TurnEntry(WireModel):
    """An entry of a history: exactly one of its members."""

    message: JsonObject | None = None
    """As `POST /api/sessions/{session_id}/messages` takes it."""
    tool_result: JsonObject | None = None
    """As `POST /api/tool-results` takes it, without `sessionId`."""
    tool_call: ToolCall | None = None
    """A call of one of the memory's tools, which is run; its message is appended too, unless the
    history has it."""


class TurnRequest(WireModel):
    """The entries of one step of an agent, in order, and the options of a rendering."""

    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    entries: Annotated[
        tuple[TurnEntry, ...], Field(min_length=1, max_length=MOST_ENTRIES), FailFast()
    ]
    expected_seq: JsonCount | None = None
    """The last `seq` you know of; another one is a 409."""
    render: TurnRender | None = None


class RefusedCall(Shape, kw_only=True):
    """A call that must not be run: an argument was cut in an old call, and copied from there."""

    call_id: Annotated[str, Field(examples=["call_9"])]
    """The id of the call."""
    seq: Annotated[int, Field(examples=[7])]
    """The entry that answers it, which is part of the rendering."""


class TurnReceipt(Shape, kw_only=True):
    """The entries that a turn appended, and the rendering of the session."""

    seqs: Annotated[tuple[int, ...], Field(examples=[[5, 6]])]
    """One for each entry, in order; for a tool call, the number of its answer."""
    rendering: Annotated[object, ShownAs(RenderedRecord | None)]
    """Null if none was requested, or if it failed."""
    problem: str | None = None
    """The reason for a missing rendering, if one was requested; all entries are stored."""
    warnings: tuple[BodyWarning, ...] = ()
    """Parts of the body that were not taken as sent: keys that an object has more than once."""
    refused: tuple[RefusedCall, ...] = ()
    """Calls in the messages of the turn that are answered already, and must not be run."""
