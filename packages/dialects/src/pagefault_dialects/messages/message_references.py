"""Which stored files a message refers to, and which handles in it are somebody's words.

What a message refers to belongs to its session, so a handle of it works there. A client refers to
its own files where a message has its media, or what people say. What a model or a tool writes is no
reference: with one call, a model would open to itself the file of another session.
"""

from typing import Any, NamedTuple

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.embedded_data_uris import strings_in
from pagefault_dialects.model.resource import parse_resource_id

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


class _Way(NamedTuple):
    """What is known of a value by the keys that lead to it."""

    key: str | int = ""
    name: str = ""
    contents: int = 0
    is_answer: bool = False
    is_data: bool = False

    def to(self, key: str | int) -> "_Way":
        """Return the way to what is held under a key."""
        if isinstance(key, int):
            return self._replace(key=key)
        contents = self.contents + (key == "content")
        return _Way(
            key,
            key,
            contents,
            # The blocks of an answer stand in the content of the answer, which stands in the
            # message's.
            is_answer=self.is_answer or contents > 1 or key in _ANSWERS,
            is_data=self.is_data or (self.key in _RETURNED and key not in _CONTENTS),
        )


def referred_by_message(message: dict[str, Any]) -> set[str]:
    """Return the ids of the resources that a message refers to."""
    is_of_people = message.get("role") in _PEOPLE
    found: set[str] = set()
    left: list[tuple[JsonValue, _Way]] = [(message, _Way())]
    while left:
        node, way = left.pop()
        if isinstance(node, dict):
            left += [(node[key], way.to(key)) for key in node.keys() - _written_in(node)]
        elif isinstance(node, list):
            left += [(each, way.to(index)) for index, each in enumerate(node)]
        elif isinstance(node, str) and (resource_id := _named_by(node)) is not None:
            is_said = is_of_people and not way.is_answer
            if is_said or not (way.is_data or way.name in _WORDS):
                found.add(resource_id)
    return found


def references_in(value: JsonValue) -> set[str]:
    """Return the ids of the resources that strings in a value are the references or URIs of."""
    return {found for _, text in strings_in(value) if (found := _named_by(text)) is not None}


def _written_in(holder: dict[str, JsonValue]) -> frozenset[str]:
    """Return under which keys of an object stands what a model or a tool wrote, whatever it is."""
    is_json = holder.get("type") in ("json", "error-json")
    return _WRITTEN | {"value"} if is_json else _WRITTEN


def _named_by(text: str) -> str | None:
    """Return the id of the resource that a text is the reference or the URI of."""
    is_one = len(text) <= _LONGEST_REFERENCE_CHARS and text.startswith(("@blob:", "blob:"))
    return parse_resource_id(text) if is_one else None
