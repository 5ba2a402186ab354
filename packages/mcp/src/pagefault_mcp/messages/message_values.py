"""Values of members of messages: parsed one at a time, and no more than is needed."""

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
    """Return the value of a member; `None` if it is no JSON."""
    try:
        value: JsonValue = json.loads(line.read(span))
    except (ValueError, RecursionError):
        return None
    return value


def member_value(
    line: Message, members: Mapping[str, Span], name: str, *, most_bytes: int = MOST_PARSED_BYTES
) -> JsonValue:
    """Return the value of one of the members of an object; `None` if it has none."""
    span = members.get(name)
    if span is None or span.end - span.start > most_bytes:
        return None
    return parse_member(line, span)


def value_of(line: Message, name: str) -> JsonValue:
    """Return the value of a member of a message; `None` if it has none."""
    return member_value(line, line.members, name)


def members_of(line: Message, name: str) -> Mapping[str, Span]:
    """Return where the members of a member of a message are."""
    span = line.members.get(name)
    return {} if span is None else locate_members(line, span)


def id_of(line: Message) -> RequestId | None:
    """Return the id of a message, as its answer has it; `None` if it has none that will do."""
    value = member_value(line, line.members, "id", most_bytes=_MOST_ID_BYTES)
    return value if is_id(value) else None


def member(value: JsonValue, *path: str) -> JsonValue:
    """Return the member that a path of names leads to; `None` if there is none."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def is_id(value: object) -> TypeGuard[RequestId]:
    """Tell whether a value is the id of a request: any string, and any number."""
    if isinstance(value, float):
        return math.isfinite(value)
    # `True` is equal to 1, and is no id.
    return isinstance(value, str | int) and not isinstance(value, bool)


def answered_ids(messages: Sequence[Message]) -> Iterator[RequestId]:
    """Yield the ids of the requests that messages answer."""
    for message in messages:
        span = message.members.get("id")
        value = None if span is None or "method" in message.members else parse_member(message, span)
        if is_id(value):
            yield value
