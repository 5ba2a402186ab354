"""Tables of the messages of a dialect, of their blocks, and of bodies with messages."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pagefault_dialects.dialects.foreign_message import Dialect as Target
from pagefault_dialects.dialects.foreign_message import ForeignMessage
from pagefault_dialects.dialects.mark_index import Mark
from pagefault_dialects.json.values import JsonObject, JsonValue


class InnerReader(Protocol):
    """The reader of values inside a message, in any dialect, since hosts mix them."""

    def read_message(self, value: JsonValue, pointer: str) -> list[ForeignMessage]:
        """Return the messages of a value, at least one; without `message` for other values."""
        ...

    def read_role_message(
        self, value: JsonObject, pointer: str, dialect: Target | None = None
    ) -> ForeignMessage:
        """Return a message with a `role`, and with blocks under `content` or `parts`."""
        ...

    def read_blocks(self, content: JsonValue, place: str) -> Iterable[tuple[str, JsonValue]]:
        """Yield the blocks of a content in common form, each with its pointer.

        Args:
            content: A text, a block, or a list of both.
            place: The pointer to it in its message.
        """
        ...


def accept_all(_: JsonObject) -> bool:
    """Accept any object."""
    return True


@dataclass(frozen=True, slots=True)
class MessageForm:
    """A message of a dialect, or an object with one. `null` members are removed before."""

    marks: tuple[Mark, ...]
    read: Callable[[JsonObject, str, InnerReader], Iterable[ForeignMessage]]
    """Returns the messages of the object at a pointer; empty for other dialects."""
    accepts: Callable[[JsonObject], bool] = accept_all
    """Checks the members that the dialect requires."""
    renames: bool = False
    """True if messages inside belong to this dialect, whatever theirs is."""
    shows_dialect: bool = True
    """True if such messages are unique to this dialect."""


@dataclass(frozen=True, slots=True)
class MessageBlock:
    """A block of a message."""

    marks: tuple[Mark, ...]
    read: Callable[[JsonObject], Sequence[JsonValue] | None] | None = None
    """Returns the blocks in common form of a block; `None` for other dialects. Without it, the
    block is in common form."""
    accepts: Callable[[JsonObject], bool] = accept_all
    shows_dialect: bool = True
    """True if such blocks are unique to this dialect."""


@dataclass(frozen=True, slots=True)
class ConversationForm:
    """A body with messages. A list has the marks of its first object."""

    marks: tuple[Mark, ...]
    read: Callable[[JsonValue], Iterable[tuple[str, JsonValue]]]
    """Returns the messages, each with its pointer in the body."""
    accepts: Callable[[JsonObject], bool] = accept_all
    is_list: bool = False
    is_response: bool = False
    """True if it continues a conversation, instead of being the whole."""
    passes_over: Callable[[JsonObject], bool] | None = None
    """Returns whether an element of the list is no message, and is only counted."""
    prompt: Callable[[JsonValue], JsonObject] | None = None
    """Returns system, instructions, tools and model, if they have other names here."""
    messages_in: str | None = None
    """The dialect of the messages, if it differs from that of the body."""
