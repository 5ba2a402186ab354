"""Which stored files a message refers to, and which handles in it are somebody's words.

What a message refers to belongs to its session, so a handle of it works there. A client refers to
its own files where a message has its media, or what people say. What a model or a tool writes is no
reference: with one call, a model would open to itself the file of another session.
"""

from itertools import pairwise
from typing import Any

from app.models.resource import parse_resource_id
from app.services.requests.data_uris import Place, strings_in

_LONGEST_REFERENCE_CHARS = 40
_PEOPLE = frozenset({"user", "system", "developer"})
# What calls are made with, and what SDKs made of that, and the data that tools return.
_WRITTEN = frozenset(
    {
        *("arguments", "input", "args", "parameters", "parsed_arguments", "action", "parsed"),
        *("response", "json", "structuredContent", "artifact"),
    }
)
# Where tools return either data, in an object, or blocks, in a list.
_RETURNED = frozenset({"output", "result", "value"})
_CONTENTS = frozenset({"content", "value"})
_ANSWERS = frozenset({"toolResult", "functionResponse", "function_response"})
_WORDS = frozenset(
    {
        *("text", "content", "output", "result", "value", "refusal", "thinking", "transcript"),
        *("reasoning", "reasoning_content", "id", "name", "call_id", "tool_call_id", "tool_use_id"),
        *("toolCallId", "toolName", "toolUseId", "code", "summary", "thought", "tool_plan"),
        *("title", "cited_text"),
    }
)


def referred_by_message(message: dict[str, Any]) -> set[str]:
    """Return the ids of the resources that a message refers to."""
    is_of_people = message.get("role") in _PEOPLE
    found: set[str] = set()
    for place, text in strings_in(message):
        if len(text) <= _LONGEST_REFERENCE_CHARS and text.startswith(("@blob:", "blob:")):
            resource_id = parse_resource_id(text)
            if resource_id is not None and not _is_written(place, is_of_people=is_of_people):
                found.add(resource_id)
    return found


def _is_written(place: Place | None, *, is_of_people: bool) -> bool:
    """Tell whether a model or a tool wrote what stands at a place of a message."""
    keys: list[str | int] = []
    while place is not None:
        keys.append(place.key)
        place = place.parent
    names = [key for key in keys if isinstance(key, str)]
    if not _WRITTEN.isdisjoint(names):
        return True
    # The blocks of an answer stand in the content of the answer, which stands in the message's.
    if is_of_people and names.count("content") < 2 and _ANSWERS.isdisjoint(names):
        return False
    return names[0] in _WORDS or any(
        holder in _RETURNED and isinstance(key, str) and key not in _CONTENTS
        for key, holder in pairwise(keys)
    )
