"""What a host has sent to a server at an address, and which answers to it are still to come."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from pagefault_mcp.messages.message_values import is_id, member

CANCELLED: Final = "notifications/cancelled"


@dataclass(slots=True)
class SentLine:
    """A line that was sent, and the ids of its requests that are not answered."""

    line: bytes
    message: dict[str, Any]
    waiting: set[object] = field(default_factory=set)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    """That of the exchange with the server."""
    is_cancelled_by_its_end: bool = False
    """In revisions that have no other way; in the others the server is told."""
    is_cancelled: bool = False
    """Nobody waits for its end."""
    is_writing_answer: bool = False
    """A line of its answer is being given to the host, and is not to be cut."""

    @property
    def method(self) -> object:
        """The method of the message, if it is one alone."""
        return self.message.get("method")


def parse_sent_line(line: bytes) -> SentLine:
    """Return what a line asks for; nothing, if it is no JSON."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        said = {}
    messages = said if isinstance(said, list) else [said]
    ids = {
        each["id"]
        for each in messages
        if isinstance(each, dict) and "method" in each and is_id(each.get("id"))
    }
    return SentLine(line, said if isinstance(said, dict) else {}, ids)


def cancelled_id(message: Mapping[str, Any]) -> object:
    """Return the id of the request that a notification cancels, `None` if it names none."""
    named = member(message, "params", "requestId")
    return named if is_id(named) else None
