"""Shapes of whole conversations that are written to a session."""

from typing import Annotated, Any

from pydantic import ConfigDict
from pydantic.config import JsonDict

from app.wire.body_warnings import BodyWarning
from app.wire.renders import RenderedRecord
from app.wire.shape import Shape, ShownAs
from pagefault_dialects.json.values import JsonObject
from pagefault_dialects.model.base import FrozenModel

_EXAMPLE: JsonDict = {
    "model": "gpt-5",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is wrong with this page?"},
    ],
}


class Conversation(FrozenModel):
    """A request of any provider, as it is sent to it.

    A list of messages, a response, and the lines of a transcript are taken as well.
    """

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [_EXAMPLE]})

    messages: list[JsonObject] | None = None
    """Or `input`, `contents` or `history`, as the dialect names it."""
    system: Any = None
    """Or `instructions`, `systemInstruction`. The newest is used."""


class HistoryReceipt(Shape, kw_only=True):
    """The entries that a `PUT` of a conversation appended."""

    appended: int
    """The number of entries that this request appended. Sent again, it has the same answer."""
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
