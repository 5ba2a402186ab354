"""Types that describe the JSON of a dialect: its messages, their blocks, and bodies with messages.

A dialect is the format of a provider or a library. Each module of a dialect lists its forms in
`DialectTables`. The functions `accepts`, and `read` of messages and blocks, get objects without the
members that are `null`. Other functions, such as `accepts_sent`, get values as they were sent.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pagefault_dialects.dialects.foreign_message import Dialect, ForeignMessage
from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.json.values import JsonObject, JsonValue


class InnerReader(Protocol):
    """Reads the values inside a message.

    A value may be of another dialect than its message, because some hosts mix dialects.
    """

    def read_message(self, value: JsonValue, pointer: str) -> list[ForeignMessage]:
        """Return the messages in a value.

        If the value is no message, return a `ForeignMessage` whose `message` is `None`.
        """
        ...

    def read_role_message(
        self, value: JsonObject, pointer: str, dialect: Dialect | None = None
    ) -> ForeignMessage:
        """Convert an object with a `role`, and with content under `content` or `parts`.

        Args:
            value: The object.
            pointer: The pointer to the object.
            dialect: The dialect of the message; `None` if its blocks determine it.
        """
        ...

    def read_blocks(self, content: JsonValue, pointer: str) -> Iterable[tuple[str, JsonValue]]:
        """Convert content to blocks in common form (see `foreign_message`).

        Yield each block after the pointer to its source.

        Args:
            content: A text, a block, or a list of both.
            pointer: The pointer to the content in the message.
        """
        ...


def accept_all(_: JsonObject) -> bool:
    """Accept any object."""
    return True


@dataclass(frozen=True, slots=True)
class MessageForm:
    """A kind of object that is a message or contains messages: how to recognize and convert it."""

    marks: tuple[Mark, ...]
    """The members, or values of members, by which such an object is recognized."""
    read: Callable[[JsonObject, str, InnerReader], Iterable[ForeignMessage]]
    """Returns the messages of an object, given its pointer; nothing if it is of another dialect."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Returns whether an object has the members that the dialect requires."""
    accepts_sent: Callable[[JsonObject], bool] = accept_all
    """Returns the same for the object as it was sent. Needed if the names of `null` members show
    what an object is."""
    overrides_dialect: bool = False
    """True if messages in the object count as messages of this dialect, even if their own form is
    that of another dialect."""
    determines_dialect: bool = True
    """True if only this dialect has such messages."""


@dataclass(frozen=True, slots=True)
class MessageBlock:
    """A kind of block in messages: how to recognize and convert it."""

    marks: tuple[Mark, ...]
    """The members, or values of members, by which such a block is recognized."""
    read: Callable[[JsonObject], Sequence[JsonValue] | None] | None = None
    """Converts a block to blocks in common form; returns `None` for a block of another dialect.
    Without a function, the block is in common form."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Returns whether a block has the members that the dialect requires."""
    determines_dialect: bool = True
    """True if only this dialect has such blocks."""


@dataclass(frozen=True, slots=True)
class ConversationForm:
    """A kind of body that contains messages: how to recognize and read it.

    A body is a request, a response, a list of messages, or the lines of a transcript.
    """

    marks: tuple[Mark, ...]
    """The members, or values of members, by which such a body is recognized: those of an object,
    or of the first object in a list."""
    read: Callable[[JsonValue], Iterable[tuple[str, JsonValue]]]
    """Returns the messages, each with its pointer in the body."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Returns whether a body has this form, given the body or the first object of a list."""
    accepts_sent: Callable[[JsonObject], bool] = accept_all
    """Returns the same for the object as it was sent."""
    is_list: bool = False
    """True if the body is a list."""
    is_response: bool = False
    """True if the messages continue a conversation, and are not the whole of it."""
    is_skipped: Callable[[JsonObject], bool] | None = None
    """Returns whether an item of the list is not a message. Such items are skipped."""
    prompt: Callable[[JsonValue], JsonObject] | None = None
    """Returns the system prompt, the tools and the model under names that members of requests have.
    Needed if the body has them in other places or under other names."""
    message_dialect: str | None = None
    """The dialect of the messages, if it is not that of the body."""
