"""Lines that were sent to a server at an address, with their unanswered requests."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from pagefault_mcp.messages.message_values import is_id, member

CANCELLED: Final = "notifications/cancelled"


@dataclass(slots=True)
class SentLine:
    """A sent line, and the ids of its unanswered requests."""

    line: bytes
    message: dict[str, Any]
    waiting: set[object] = field(default_factory=set)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """The scope of the exchange with the server."""
    is_cancelled_by_its_end: bool = False
    """Closing the stream cancels the request, in revisions without a notification for that."""
    is_cancelled: bool = False
    """The host has cancelled it."""
    is_writing_answer: bool = False
    """A line of its answer is being written to the host, and must not be cut."""

    @property
    def method(self) -> object:
        """The method of a single message."""
        return self.message.get("method")


def parse_sent_line(line: bytes) -> SentLine:
    """Return a line with the ids of its requests; none if it is not JSON."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = {}
    messages = value if isinstance(value, list) else [value]
    ids = {
        each["id"]
        for each in messages
        if isinstance(each, dict) and "method" in each and is_id(each.get("id"))
    }
    return SentLine(line, value if isinstance(value, dict) else {}, ids)


def cancelled_id(message: Mapping[str, Any]) -> object:
    """Return the id of the request that a notification cancels, or `None`."""
    request_id = member(message, "params", "requestId")
    return request_id if is_id(request_id) else None
