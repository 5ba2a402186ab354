"""Values of members of messages, parsed one at a time."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias, TypeGuard

from pagefault_dialects.json.values import JsonValue
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Message, locate_members

MOST_PARSED_BYTES = 8 * 1024 * 1024
"""The longest value that is parsed."""
_MOST_ID_BYTES = 1024 * 1024

RequestId: TypeAlias = str | float


def parse_member(line: Message, span: Span) -> JsonValue:
    """Return the value of a span; `None` if it is not JSON."""
    try:
        value: JsonValue = json.loads(line.read(span))
    except (ValueError, RecursionError):
        return None
    return value


def member_value(
    line: Message, members: Mapping[str, Span], name: str, *, most_bytes: int = MOST_PARSED_BYTES
) -> JsonValue:
    """Return the value of a member of an object; `None` if it is missing or too long."""
    span = members.get(name)
    if span is None or span.end - span.start > most_bytes:
        return None
    return parse_member(line, span)


def value_of(line: Message, name: str) -> JsonValue:
    """Return the value of a member of a message; `None` if it is missing."""
    return member_value(line, line.members, name)


def members_of(line: Message, name: str) -> Mapping[str, Span]:
    """Return the spans of the values of an object in a message, by name."""
    span = line.members.get(name)
    return {} if span is None else locate_members(line, span)


def id_of(line: Message) -> RequestId | None:
    """Return the id of a message; `None` if it is missing or invalid."""
    value = member_value(line, line.members, "id", most_bytes=_MOST_ID_BYTES)
    return value if is_id(value) else None


def member(value: JsonValue, *path: str) -> JsonValue:
    """Return the member at a path of names; `None` if it is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_id(value: object) -> TypeGuard[RequestId]:
    """Return whether a value is a valid id of a request: a string or a finite number."""
    if isinstance(value, float):
        return math.isfinite(value)
    # `True` is an instance of int, but not a valid id.
    return isinstance(value, str | int) and not isinstance(value, bool)


def answered_ids(messages: Sequence[Message]) -> Iterator[RequestId]:
    """Yield the ids of the requests that messages answer."""
    for message in messages:
        span = message.members.get("id")
        value = None if span is None or "method" in message.members else parse_member(message, span)
        if is_id(value):
            yield value
