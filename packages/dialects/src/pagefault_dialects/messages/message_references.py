"""References of messages to stored files, as opposed to handles within words.

Referenced files belong to the session, so their handles work there. Clients refer to their files in
the media of messages and in the words of people. Output of models and tools has no references:
otherwise a model could open a file of another session with a single call.
"""

from typing import Any, NamedTuple

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.embedded_data_uris import find_strings
from pagefault_dialects.model.resource import parse_resource_id

_LONGEST_REFERENCE_CHARS = 40
_PEOPLE = frozenset({"user", "system", "developer"})
# Arguments of calls, also as parsed by SDKs, and data of tools.
_WRITTEN = frozenset(
    {
        *("arguments", "input", "args", "parameters", "parsed_arguments", "action", "parsed"),
        *("response", "json", "structuredContent", "artifact"),
    }
)
# Members with data of tools as an object, or with blocks as a list.
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


class _Path(NamedTuple):
    """The facts about a value that follow from the keys that lead to it."""

    key: str | int = ""
    name: str = ""
    contents: int = 0
    is_answer: bool = False
    is_data: bool = False

    def to(self, key: str | int) -> "_Path":
        """Return the path of the value of a key."""
        if isinstance(key, int):
            return self._replace(key=key)
        contents = self.contents + (key == "content")
        return _Path(
            key,
            key,
            contents,
            # The blocks of an answer are in its content, which is in the content of the message.
            is_answer=self.is_answer or contents > 1 or key in _ANSWERS,
            is_data=self.is_data or (self.key in _RETURNED and key not in _CONTENTS),
        )


def referred_by_message(message: dict[str, Any]) -> set[str]:
    """Return the ids of the resources that a message refers to."""
    is_of_people = message.get("role") in _PEOPLE
    found: set[str] = set()
    pending: list[tuple[JsonValue, _Path]] = [(message, _Path())]
    while pending:
        node, path = pending.pop()
        if isinstance(node, dict):
            pending += [(node[key], path.to(key)) for key in node.keys() - _output_keys(node)]
        elif isinstance(node, list):
            pending += [(item, path.to(index)) for index, item in enumerate(node)]
        elif isinstance(node, str) and (resource_id := _named_by(node)) is not None:
            is_said = is_of_people and not path.is_answer
            if is_said or not (path.is_data or path.name in _WORDS):
                found.add(resource_id)
    return found


def references_in(value: JsonValue) -> set[str]:
    """Return the ids of the resources whose reference or URI is a string in a value."""
    return {found for _, text, _ in find_strings(value) if (found := _named_by(text)) is not None}


def _output_keys(holder: dict[str, JsonValue]) -> frozenset[str]:
    """Return the keys of an object with any output of a model or a tool."""
    is_json = holder.get("type") in ("json", "error-json")
    return _WRITTEN | {"value"} if is_json else _WRITTEN


def _named_by(text: str) -> str | None:
    """Return the id of the resource whose reference or URI is a text."""
    is_one = len(text) <= _LONGEST_REFERENCE_CHARS and text.startswith(("@blob:", "blob:"))
    return parse_resource_id(text) if is_one else None
