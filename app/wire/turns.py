"""Shapes of turns: all that one step of an agent appends, and what comes back."""

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
    """How the session is to be rendered once the turn is appended."""

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
    """All that one step of an agent appends to a session, in order, and the rendering it wants."""

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
    """The call's."""
    seq: Annotated[int, Field(examples=[7])]
    """The entry that answers it; the rendering has it."""


class TurnReceipt(Shape, kw_only=True):
    """What a turn appended, and the session as it is now."""

    seqs: Annotated[tuple[int, ...], Field(examples=[[5, 6]])]
    """One for each entry, in order: of a tool call, that of its answer."""
    rendering: Annotated[object, ShownAs(RenderedRecord | None)]
    """Null where none was asked for, or where it failed."""
    problem: str | None = None
    """Why there is no rendering although one was asked for; all is stored."""
    warnings: tuple[BodyWarning, ...] = ()
    """What of the body was not taken as it stands: a key that an object has more than once."""
    refused: tuple[RefusedCall, ...] = ()
    """Calls in the messages of the turn that are answered already, and must not be run."""
