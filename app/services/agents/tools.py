"""The interface of the memory tools that models call: the context of a call, and its result.

`prepared_calls.py` runs calls through `Tools`, and `memory_tools.py` implements it.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal, Protocol, Self

from app.models.message import StoredHistoryMessage
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.token_cuts import MAX_RESULT_TOKENS
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.tools.tool_arguments import ToolArguments

Scope = Literal["session", "project"]


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The session of a tool call, and the limits of its result."""

    project_id: str
    session_id: str
    call_id: str
    scope: Scope = "session"
    """Where handles of media are looked up: in the session, or in the whole project."""
    max_tokens: int = MAX_RESULT_TOKENS
    """The maximum number of tokens of the result."""


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """The result of a tool call."""

    content: Sequence[JsonValue]
    """The content blocks of the result, as in a tool result that a client sends."""
    resources: Mapping[str, Resource] = field(default_factory=dict)
    """The resources to which the blocks refer, by id."""
    is_error: bool = False


def build_text_result(text: str, *, is_error: bool = False) -> ToolCallResult:
    """Return a result that consists of one text."""
    return ToolCallResult([{"type": "text", "text": text}], is_error=is_error)


async def encode_body(value: JsonValue) -> AsyncIterator[bytes]:
    """Yield a JSON value as bytes, for a service method that reads the body of a request."""
    yield json_bytes(value)


class PreparedEntry(Protocol):
    """An answer to a call that is ready to be appended to the history, such as a page fault."""

    def find_existing(self, unit: UnitOfWork) -> StoredHistoryMessage | None:
        """Return the stored answer of the call, if it equals this answer.

        Raises:
            ConflictError: The call has another answer.
        """

    def mark_as_list_item(self) -> Self:
        """Return a copy that is marked as one of several entries that are appended together.

        Renderings keep the order of such entries.
        """

    def append(self, unit: UnitOfWork) -> tuple[StoredHistoryMessage, bool]:
        """Append the answer. Return the entry, and True if it was not stored already."""


class Tools(Protocol):
    """The tools that models call. Implemented by `MemoryTools`."""

    async def run(
        self, context: ToolContext, arguments: ToolArguments
    ) -> ToolCallResult | PreparedEntry:
        """Run a call, and return its result. The caller appends the result to the history.

        Raises:
            WrongArgumentsError: The arguments are wrong. The text of the error is for the model.
            PagefaultError: The call failed for another reason; see `describe_error`.
        """


def describe_error(error: PagefaultError) -> str:
    """Return the text for the model about a call that failed, although its arguments are valid."""
    return _ERROR_TEXTS.get(error.problem_code) or f"The call failed. {error.detail}"


_ERROR_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "not-json": "The text is not JSON. Use lines or grep.",
        "json-too-large": "The JSON is too large to be taken apart. Use lines or grep.",
        "idempotency-key-reused": "Another page was saved by a call of this id. Make a new call.",
        "no-such-value": "The JSON has nothing at this pointer. Ask for a shorter one.",
    }
)
