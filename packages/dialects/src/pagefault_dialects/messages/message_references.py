"""Finds the references of a message to stored files, such as `@blob:…` in place of base64.

Files that a message refers to become files of its session, and models of that session can then open
them by their handles. A reference is a whole string: in a block with a medium, or written by a
person. Strings of models and tools do not count, since a model could otherwise open a file of
another session with a single call.
"""

from typing import Any, NamedTuple

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.embedded_data_uris import find_strings
from pagefault_dialects.model.resource import parse_resource_id

_MAX_REFERENCE_CHARS = 40
_ROLES_OF_PEOPLE = frozenset({"user", "system", "developer"})
# Members with output of models and tools: arguments of calls, also as parsed by SDKs, and data.
_OUTPUT_NAMES = frozenset(
    {
        *("arguments", "input", "args", "parameters", "parsed_arguments", "action", "parsed"),
        *("response", "json", "structuredContent", "artifact"),
    }
)
# Members of a tool result. A list under one of these names has blocks. An object has data of the
# tool, except in its members `_CONTENT_NAMES`, which may have blocks.
_RESULT_NAMES = frozenset({"output", "result", "value"})
_CONTENT_NAMES = frozenset({"content", "value"})
# Members of a block whose value is a tool result.
_RESULT_MEMBERS = frozenset({"toolResult", "functionResponse", "function_response"})
# Members with texts, which are references only if people wrote them.
_TEXT_NAMES = frozenset(
    {
        *("text", "content", "output", "result", "value", "refusal", "thinking", "transcript"),
        *("reasoning", "reasoning_content", "id", "name", "call_id", "tool_call_id", "tool_use_id"),
        *("toolCallId", "toolName", "toolUseId", "code", "summary", "thought", "tool_plan"),
        *("title", "cited_text"),
    }
)


class _PathFacts(NamedTuple):
    """Facts about a value in a message that follow from the keys on the path to it."""

    key: str | int = ""
    """The last key: the name of a member, or an index."""
    name: str = ""
    """The last name of a member."""
    content_depth: int = 0
    """The number of members `content` on the path."""
    is_in_result: bool = False
    """True in a tool result."""
    is_data: bool = False
    """True in data that a tool returned."""

    def descend(self, key: str | int) -> "_PathFacts":
        """Return the path to the value of a key."""
        if isinstance(key, int):
            return self._replace(key=key)
        content_depth = self.content_depth + (key == "content")
        return _PathFacts(
            key,
            key,
            content_depth,
            # The blocks of a tool result are in its content, which is in the message's content.
            is_in_result=self.is_in_result or content_depth > 1 or key in _RESULT_MEMBERS,
            is_data=self.is_data or (self.key in _RESULT_NAMES and key not in _CONTENT_NAMES),
        )


def find_message_references(message: dict[str, Any]) -> set[str]:
    """Return the ids of the resources to which a message refers."""
    is_by_person = message.get("role") in _ROLES_OF_PEOPLE
    found: set[str] = set()
    pending: list[tuple[JsonValue, _PathFacts]] = [(message, _PathFacts())]
    while pending:
        node, path = pending.pop()
        if isinstance(node, dict):
            keys = node.keys() - _find_output_names(node)
            pending += [(node[key], path.descend(key)) for key in keys]
        elif isinstance(node, list):
            pending += [(item, path.descend(index)) for index, item in enumerate(node)]
        elif isinstance(node, str) and (resource_id := _parse_reference(node)) is not None:
            is_text_by_person = is_by_person and not path.is_in_result
            if is_text_by_person or not (path.is_data or path.name in _TEXT_NAMES):
                found.add(resource_id)
    return found


def find_references(value: JsonValue) -> set[str]:
    """Return the ids of the resources whose reference or URI is a string in a JSON value."""
    resource_ids = (_parse_reference(text) for _, text, _ in find_strings(value))
    return {resource_id for resource_id in resource_ids if resource_id is not None}


def _find_output_names(block: dict[str, JsonValue]) -> frozenset[str]:
    """Return the names of the members in which a block has output of a model or a tool."""
    is_json = block.get("type") in ("json", "error-json")
    return _OUTPUT_NAMES | {"value"} if is_json else _OUTPUT_NAMES


def _parse_reference(text: str) -> str | None:
    """Return the id of the resource, if a text is a reference or the URI of a resource."""
    may_refer = len(text) <= _MAX_REFERENCE_CHARS and text.startswith(("@blob:", "blob:"))
    return parse_resource_id(text) if may_refer else None
