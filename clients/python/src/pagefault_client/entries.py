"""The entries of a turn."""

from typing import Any, NotRequired, TypeAlias, TypedDict

from pagefault_client import models


class TurnToolResult(TypedDict):
    """The result of a tool, as `POST /api/tool-results` takes it, without `sessionId`.

    `callMessage` is the message of the model that made the call, in the dialect of any provider.
    """

    toolName: str
    toolCallId: str
    result: Any
    success: NotRequired[bool]
    callMessage: NotRequired[Any]
    newCall: NotRequired[bool]


class MessageEntry(TypedDict):
    """A message in the dialect of any provider, or an object of its SDK."""

    message: Any


class ToolResultEntry(TypedDict):
    """The result of a tool."""

    toolResult: TurnToolResult


class ToolCallEntry(TypedDict):
    """A call of a memory tool, which the service runs."""

    toolCall: models.ToolCall


TurnEntry: TypeAlias = MessageEntry | ToolResultEntry | ToolCallEntry
