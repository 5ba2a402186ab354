"""History: what happened in a session, in the order of its `seq`."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from typing_extensions import TypeAliasType

from app.models.stored_interaction import StoredAnswer, StoredInteraction
from pagefault_dialects.json.values import JsonObject


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """One entry of a session's history as the store keeps it."""

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str
    tool_name: str
    sanitized: bytes
    answer_number: int = 1
    """Which answer to calls of this id it is in its session."""
    is_apart: bool | None = None
    """Whether it was stored by itself; `None`, as in rows of an earlier version: it was."""


MessageRole = TypeAliasType(
    "MessageRole",
    Literal["system", "developer", "user", "assistant", "model", "tool", "function"],
)
MessageBlocks = TypeAliasType("MessageBlocks", list[JsonObject])
"""Blocks of any dialect."""
MessageContent = TypeAliasType("MessageContent", str | MessageBlocks)
"""What a message says: a text, or blocks of any dialect."""


SideRole: TypeAlias = Literal["system", "user", "assistant", "tool"]
"""Who says a message, in the words of no dialect; `tool` if it holds nothing but answers."""


@dataclass(frozen=True, slots=True)
class StoredHistoryMessage:
    """A message of a model's dialect (spec 000, HistoryMessage) as the store keeps it.

    `message` is its JSON text, never serialised again. It is the message itself,
    `{role, content, tool_call_id …}`, if `role` is `None`. Else the message stands in an object
    around it, `{dialect, role, message}`, as `wrap_message` makes it: versions that do not know the
    column read that as a message with a role, and show it as the entry that it is.

    `request_digest` identifies the request it answered, so that the same one again is answered
    with it. `inline_form` says how the media that were moved out of it were written, by pointers
    into the stored JSON. `dialect` and `reading` say by which reading it came in; `None` in rows of
    earlier versions and in page faults. The message of a page fault was written by the service
    itself; `page_fault` is the JSON text of the `PageFaultCall` that it answers, `None` in a row of
    an earlier version. `answer_number` says which answer to calls of its id it is in its session.
    `is_apart` says of an answer whether it was stored by itself; `None`: in a list, or long ago.
    """

    seq: int
    message_id: str
    created_at: datetime
    tool_call_id: str | None
    request_digest: str
    message: bytes
    inline_form: str | None = None
    is_page_fault: bool = False
    page_fault: str | None = None
    dialect: str | None = None
    reading: int | None = None
    role: SideRole | None = None
    answer_number: int = 1
    is_apart: bool | None = None

    @property
    def is_wrapped(self) -> bool:
        """Return whether the message stands in the member `message` of what is stored."""
        return self.role is not None

    @property
    def sent(self) -> bytes:
        """Return the JSON of the message itself, as it was sent but for moved media."""
        return sent_message(self.message, dialect=self.dialect, role=self.role)


def wrap_message(message: bytes, *, dialect: str, role: SideRole) -> bytes:
    """Return what is stored of a message that is not flat.

    Args:
        message: Its JSON.
        dialect: The name of its dialect, which needs no escapes.
        role: Who says it.
    """
    return b"%s%s}" % (_head(dialect, role), message)


def sent_message(stored: bytes, *, dialect: str | None, role: str | None) -> bytes:
    """Return the JSON of a message out of what is stored of it; without a role, that is all."""
    return stored if role is None else stored[len(_head(dialect, role)) : -1]


def _head(dialect: str | None, role: str) -> bytes:
    return f'{{"dialect":"{dialect}","role":"{role}","message":'.encode()


StoredEntry: TypeAlias = StoredMessage | StoredHistoryMessage | StoredInteraction | StoredAnswer
"""One entry of a session's history."""
