"""Shapes of conversations that are put to a session as a whole."""

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
    """What was appended to a session, so that it has the conversation."""

    appended: int
    """The number of entries that this request appended. Sent again, it has the same answer."""
    last_seq: int
    """The number that the session has come to."""
    session_id: str | None = None
    """The fork that was written to, if the history differed and `onDivergence=fork` was given."""
    system_changed: bool = False
    """Whether the system, the tools or the model are others than before. The new ones are used."""
    passed_over: int = 0
    """How many elements of the list are no messages: lines of a transcript, reports, states."""
    warnings: tuple[BodyWarning, ...] = ()
    """What of the body was not taken as it stands: a key that an object has more than once."""
    rendering: Annotated[object, ShownAs(RenderedRecord)] = None
    """The session for a model, if `render` names a target."""
    problem: str | None = None
    """Why there is no rendering although one was wanted; all is stored."""
