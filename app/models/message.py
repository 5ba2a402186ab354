"""Entries of the history of a session, in the order of `seq`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from typing_extensions import TypeAliasType

from app.models.stored_interaction import StoredAnswer, StoredInteraction
from pagefault_dialects.json.values import JsonObject


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A tool result in a session's history, as it is stored."""

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str
    tool_name: str
    sanitized: bytes
    answer_number: int = 1
    """The number of this answer among the answers to calls with this id in the session, from 1."""
    is_apart: bool | None = None
    """False for a result that was stored in one request with others, whose order renderings keep;
    `None` for a result that was stored alone."""


MessageRole = TypeAliasType(
    "MessageRole",
    Literal["system", "developer", "user", "assistant", "model", "tool", "function"],
)
MessageBlocks = TypeAliasType("MessageBlocks", list[JsonObject])
"""Blocks of any dialect."""
MessageContent = TypeAliasType("MessageContent", str | MessageBlocks)
"""The content of a message: a text, or blocks of any dialect."""


CommonRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""The role of a message, the same in all dialects; `tool` if it has only answers to calls."""


@dataclass(frozen=True, slots=True)
class StoredHistoryMessage:
    """A message in the dialect of a model (spec 000, HistoryMessage), as it is stored."""

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str | None
    request_digest: str
    """Identifies the request, so that the same request again returns this entry."""
    message: bytes
    """JSON text, which is never serialised again. If `role` is `None`, it is the message itself:
    `{role, content, tool_call_id …}`. Otherwise it is the object `{dialect, role, message}` of
    `wrap_message`, which earlier versions read as a message with a role."""
    inline_form: str | None = None
    """The original form of media that were replaced by references, by pointers into `message`."""
    is_page_fault: bool = False
    page_fault: str | None = None
    """The `PageFaultCall` of a page fault, as JSON; `None` in rows of earlier versions."""
    dialect: str | None = None
    """The dialect by which the message was read; `None` in rows of earlier versions, and in page
    faults, which the service itself writes."""
    reading: int | None = None
    """The version of the reader of the dialect; `None` if `dialect` is."""
    role: CommonRole | None = None
    answer_number: int = 1
    """The number of this result among the results of calls with the same id, from 1."""
    is_apart: bool | None = None
    """True for a result that was stored alone. `None` for a result that was stored in one request
    with others, whose order renderings keep, and in rows of earlier versions."""
    failures: int = 0
    """The number of tool results in the message that are errors; 0 in page faults."""

    @property
    def is_wrapped(self) -> bool:
        """Return whether `message` is an object of `wrap_message`."""
        return self.role is not None

    @property
    def sent(self) -> bytes:
        """Return the JSON of the message as the client sent it, with references to its media."""
        return sent_message(self.message, dialect=self.dialect, role=self.role)


def wrap_message(message: bytes, *, dialect: str, role: CommonRole) -> bytes:
    """Return the stored form of a message of a dialect other than OpenAI Chat.

    Args:
        message: The JSON of the message.
        dialect: The name of its dialect, which needs no escapes.
        role: The role of the message.
    """
    return b"%s%s}" % (_head(dialect, role), message)


def sent_message(stored: bytes, *, dialect: str | None, role: str | None) -> bytes:
    """Return the JSON of a message from its stored form, the reverse of `wrap_message`."""
    return stored if role is None else stored[len(_head(dialect, role)) : -1]


def _head(dialect: str | None, role: str) -> bytes:
    return f'{{"dialect":"{dialect}","role":"{role}","message":'.encode()


StoredEntry: TypeAlias = StoredMessage | StoredHistoryMessage | StoredInteraction | StoredAnswer
"""One entry of a session's history."""
