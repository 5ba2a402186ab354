"""References of a message to stored files: which strings of it count."""

from typing import Any

from pagefault_dialects.messages.message_references import find_message_references

Json = Any

ID = "a1" * 16
BLOB = f"@blob:{ID}"
MEDIUM: Json = {"type": "image", "source": {"type": "base64", "data": BLOB}}
TEXT: Json = {"type": "text", "text": BLOB}


def test_only_strings_of_people_and_of_media_are_references() -> None:
    """Rows have a message, and whether its string is a reference."""
    result: Json = {"type": "tool_result", "tool_use_id": "t1"}
    rows: list[tuple[Json, bool]] = [
        *(({"role": role, "content": BLOB}, True) for role in ("user", "system", "developer")),
        *(({"role": role, "content": BLOB}, False) for role in ("assistant", "model", "tool")),
        ({"content": BLOB}, False),
        ({"role": "user", "content": f"blob:{ID}"}, True),
        ({"role": "user", "content": ID}, False),
        ({"role": "user", "content": [TEXT]}, True),
        ({"role": "assistant", "content": [TEXT]}, False),
        ({"role": "assistant", "content": [MEDIUM]}, True),
        ({"role": "assistant", "images": [BLOB]}, True),
        # Members with texts of models.
        *(
            ({"role": "assistant", name: BLOB}, False)
            for name in (
                *("text", "content", "output", "result", "value", "refusal", "thinking"),
                *("transcript", "reasoning", "reasoning_content", "id", "name", "call_id"),
                *("tool_call_id", "tool_use_id", "toolCallId", "toolName", "toolUseId", "code"),
                *("summary", "thought", "tool_plan", "title", "cited_text"),
            )
        ),
        ({"role": "assistant", "content": [BLOB]}, False),
        # Output of models and tools is never searched.
        *(
            ({"role": "user", name: {"image": BLOB}}, False)
            for name in (
                *("arguments", "input", "args", "parameters", "parsed_arguments", "action"),
                *("parsed", "response", "json", "structuredContent", "artifact"),
            )
        ),
        # A tool result: its media count, and its texts and data do not.
        ({"role": "user", "content": [{**result, "content": [MEDIUM]}]}, True),
        ({"role": "user", "content": [{**result, "content": [TEXT]}]}, False),
        ({"role": "user", "content": [{**result, "content": BLOB}]}, False),
        *(
            ({"role": "user", "content": [{name: {"content": [TEXT]}}]}, False)
            for name in ("toolResult", "functionResponse", "function_response")
        ),
        *(
            ({"role": "user", "content": [{name: {"parts": [TEXT]}}]}, False)
            for name in ("toolResult", "functionResponse", "function_response")
        ),
        ({"role": "user", "content": [{"functionResponse": {"parts": [MEDIUM]}}]}, True),
        *(({"role": "tool", name: [MEDIUM]}, True) for name in ("output", "result", "value")),
        *(({"role": "tool", name: MEDIUM}, False) for name in ("output", "result", "value")),
        ({"role": "tool", "output": {"image": BLOB}}, False),
        ({"role": "tool", "output": {"value": [MEDIUM]}}, True),
        ({"role": "tool", "output": {"content": [MEDIUM]}}, True),
        ({"role": "tool", "output": {"rows": [{"content": [MEDIUM]}]}}, False),
        # The value of JSON is data.
        *(
            ({"role": "tool", "output": {"type": kind, "value": [MEDIUM]}}, False)
            for kind in ("json", "error-json")
        ),
        ({"role": "tool", "output": {"type": "content", "value": [MEDIUM]}}, True),
    ]
    assert [find_message_references(message) for message, _ in rows] == [
        {ID} if is_reference else set() for _, is_reference in rows
    ]
