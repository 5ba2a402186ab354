"""Types for the tables of a dialect: forms of messages, of blocks, and of bodies with messages.

The functions in a form get objects without members that are `null`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pagefault_dialects.dialects.foreign_message import Dialect as Target
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.json.values import JsonObject, JsonValue


class InnerReader(Protocol):
    """Reads values inside a message, which may be of any dialect, since hosts mix dialects."""

    def read_message(self, value: JsonValue, pointer: str) -> list[ForeignMessage]:
        """Return the messages in a value.

        For a value without messages, return one `ForeignMessage` without a `message`.
        """
        ...

    def read_role_message(
        self, value: JsonObject, pointer: str, dialect: Target | None = None
    ) -> ForeignMessage:
        """Return a message with a `role`, and with blocks under `content` or `parts`."""
        ...

    def read_blocks(self, content: JsonValue, pointer: str) -> Iterable[tuple[str, JsonValue]]:
        """Yield the blocks of a content in common form, each with its pointer.

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
    """The form of a message, or of an object that contains one or several messages."""

    marks: tuple[Mark, ...]
    """The members, or values of members, by which the object is found."""
    read: Callable[[JsonObject, str, InnerReader], Iterable[ForeignMessage]]
    """Returns the messages of an object, given its pointer; nothing if it is of another dialect."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Returns whether an object has the members that the dialect requires."""
    overrides_dialect: bool = False
    """True if messages in the object count as messages of this dialect, even if their own form is
    that of another dialect."""
    determines_dialect: bool = True
    """True if only this dialect has such messages."""


@dataclass(frozen=True, slots=True)
class MessageBlock:
    """The form of a block of a message."""

    marks: tuple[Mark, ...]
    """The members, or values of members, by which the block is found."""
    read: Callable[[JsonObject], Sequence[JsonValue] | None] | None = None
    """Converts a block to blocks in common form; returns `None` for a block of another dialect.
    Without a function, the block is in common form."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Returns whether a block has the members that the dialect requires."""
    determines_dialect: bool = True
    """True if only this dialect has such blocks."""


@dataclass(frozen=True, slots=True)
class ConversationForm:
    """The form of a body that contains messages."""

    marks: tuple[Mark, ...]
    """The members, or values of members, by which the body is found: those of an object, or of the
    first object in a list."""
    read: Callable[[JsonValue], Iterable[tuple[str, JsonValue]]]
    """Returns the messages, each with its pointer in the body."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Returns whether a body has this form, given the body or the first object of a list."""
    is_list: bool = False
    """True if the body is a list."""
    is_response: bool = False
    """True if the messages continue a conversation, and are not the whole of it."""
    is_skipped: Callable[[JsonObject], bool] | None = None
    """Returns whether an item of the list is no message; such items are only counted."""
    prompt: Callable[[JsonValue], JsonObject] | None = None
    """Returns system prompt, tools and model by their names in requests, if the body has others."""
    message_dialect: str | None = None
    """The dialect of the messages, if it is not that of the body."""
