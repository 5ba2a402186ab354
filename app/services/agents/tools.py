"""The contract of tools: the place of a call, the arguments, and the answer."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, Self

from app.models.message import StoredHistoryMessage
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.token_cuts import ANSWER_TOKENS
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.tools.tool_arguments import ToolArguments

Scope = Literal["session", "project"]


@dataclass(frozen=True, slots=True)
class ToolPlace:
    """Whose call it is: the project, the session, the call's id, and how far handles lead.

    `max_tokens` is the most that its answer has.
    """

    project_id: str
    session_id: str
    call_id: str
    scope: Scope = "session"
    max_tokens: int = ANSWER_TOKENS


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """The answer of a tool: blocks of content, and the resources among them, by id."""

    content: Sequence[JsonValue]
    shown: Mapping[str, Resource] = field(default_factory=dict)
    is_error: bool = False


def write_answer(text: str, *, is_error: bool = False) -> ToolAnswer:
    """Return an answer that is words alone."""
    return ToolAnswer([{"type": "text", "text": text}], is_error=is_error)


async def body_of(value: JsonValue) -> AsyncIterator[bytes]:
    """Yield a value as the body of a request; a lone surrogate goes on as the escape it was."""
    yield json_bytes(value)


class PreparedEntry(Protocol):
    """An answer that is an entry of the history itself, ready to be appended."""

    def existing(self, unit: UnitOfWork) -> StoredHistoryMessage | None:
        """Return the answer that the call has, if it is this one.

        Raises:
            ConflictError: The call was answered with something else.
        """

    def join_list(self) -> Self:
        """Return the same answer as one of a list, which keeps the order that it was sent in."""

    def append(self, unit: UnitOfWork) -> tuple[StoredHistoryMessage, bool]:
        """Append it; return it, and whether it is new."""


class Tools(Protocol):
    """Tools that models call. See `MemoryTools`."""

    async def run(self, place: ToolPlace, called: ToolArguments) -> ToolAnswer | PreparedEntry:
        """Run a call with these arguments; nothing of it is in the history yet.

        Raises:
            WrongArgumentsError: It leads nowhere; the words are for the model.
            PagefaultError: It cannot be run.
        """


def describe_error(error: PagefaultError) -> str:
    """Return words for the model about an error that its arguments did not cause."""
    return _WORDS.get(error.problem_code) or f"The call failed. {error.detail}"


_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "not-json": "The text is not JSON. Use lines or grep.",
        "json-too-large": "The JSON is too large to be taken apart. Use lines or grep.",
        "idempotency-key-reused": "Another page was saved by a call of this id. Make a new call.",
        "no-such-value": "The JSON has nothing at this pointer. Ask for a shorter one.",
    }
)
