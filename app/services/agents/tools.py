"""The interface of the tools that models call: the context of a call, and its result."""

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
    """The context of a tool call."""

    project_id: str
    session_id: str
    call_id: str
    scope: Scope = "session"
    """The scope in which the handles in the arguments are found."""
    max_tokens: int = MAX_RESULT_TOKENS
    """The maximum number of tokens of the result."""


@dataclass(frozen=True, slots=True)
class ToolCallResult:
    """The result of a tool call."""

    content: Sequence[JsonValue]
    """The content blocks."""
    resources: Mapping[str, Resource] = field(default_factory=dict)
    """The resources in the blocks, by id."""
    is_error: bool = False


def build_text_result(text: str, *, is_error: bool = False) -> ToolCallResult:
    """Return a result with one text."""
    return ToolCallResult([{"type": "text", "text": text}], is_error=is_error)


async def encode_body(value: JsonValue) -> AsyncIterator[bytes]:
    """Yield a JSON value as the body of a request, for a service that reads bodies."""
    yield json_bytes(value)


class PreparedEntry(Protocol):
    """An answer to a call that is ready to be appended to the history as an entry."""

    def find_existing(self, unit: UnitOfWork) -> StoredHistoryMessage | None:
        """Return the stored answer of the call, if it equals this answer.

        Raises:
            ConflictError: The call has another answer.
        """

    def mark_as_list_item(self) -> Self:
        """Return the answer marked as one of a list. Renderings keep the order of a list."""

    def append(self, unit: UnitOfWork) -> tuple[StoredHistoryMessage, bool]:
        """Append the answer; return it, and True if it is new."""


class Tools(Protocol):
    """The tools that models call. Implemented by `MemoryTools`."""

    async def run(
        self, context: ToolContext, arguments: ToolArguments
    ) -> ToolCallResult | PreparedEntry:
        """Run a call, and return its result, which is not in the history yet.

        Raises:
            WrongArgumentsError: The arguments are wrong. The text is for the model.
            PagefaultError: The call failed.
        """


def describe_error(error: PagefaultError) -> str:
    """Return a text for the model about an error of a call with valid arguments."""
    return _ERROR_TEXTS.get(error.problem_code) or f"The call failed. {error.detail}"


_ERROR_TEXTS: Mapping[str, str] = MappingProxyType(
    {
        "not-json": "The text is not JSON. Use lines or grep.",
        "json-too-large": "The JSON is too large to be taken apart. Use lines or grep.",
        "idempotency-key-reused": "Another page was saved by a call of this id. Make a new call.",
        "no-such-value": "The JSON has nothing at this pointer. Ask for a shorter one.",
    }
)
