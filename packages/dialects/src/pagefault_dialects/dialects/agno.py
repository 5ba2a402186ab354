"""Agno: messages in the form of OpenAI's Chat Completions with media beside them, and calls."""

from collections.abc import Iterator
from dataclasses import replace

from pagefault_dialects.dialects.envelope import Envelope, by_flag
from pagefault_dialects.dialects.foreign_message import ForeignMessage, medium_block
from pagefault_dialects.dialects.message_forms import InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import is_content, is_string, shape
from pagefault_dialects.json.pointers import child_pointer
from pagefault_dialects.json.values import JsonObject, JsonValue

TOOL_EXECUTION = Envelope(
    marks=("tool_call_error",),
    shape=shape(
        {"tool_call_id": is_string, "tool_name": is_string, "result": is_content},
        (
            *("tool_args", "tool_call_error", "metrics", "child_run_id", "stop_after_tool_call"),
            *("created_at", "requires_confirmation", "confirmed", "confirmation_note"),
            *("requires_user_input", "user_input_schema", "user_feedback_schema", "answered"),
            *("external_execution_required", "external_execution_silent", "approval_type"),
            *("approval_id", "parent_tool_call_id"),
        ),
    ),
    contents=(("result",),),
    read_as="content",
    call_id=("tool_call_id",),
    name=("tool_name",),
    failure=by_flag("tool_call_error"),
    ignored_members=frozenset({"tool_call_error"}),
)
"""The record of a call and its result."""
# The members with media, and the kind of each.
_MEDIA = {"images": "image", "files": "file", "audio": "audio", "videos": "video"}
# Members that are no part of the conversation. The arguments are those of the call.
_STATE = ("tool_args", "tool_call_error", "metrics", "add_to_agent_memory", "temporary")


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield a message with a block for each of its media.

    Each file without content and URL, such as a path, is a member, which is reported as omitted.
    """
    blocks: list[JsonValue] = []
    pointers: dict[str, str] = {}
    omitted: dict[str, JsonValue] = {}
    for name, kind in _MEDIA.items():
        media = value.get(name)
        for index, medium in enumerate(media if isinstance(media, list) else ()):
            block = _read_medium(kind, medium) if isinstance(medium, dict) else None
            if block is None and name != "images":
                omitted[f"{name}/{index}"] = medium
                pointers[child_pointer("", f"{name}/{index}")] = f"/{name}/{index}"
                continue
            pointers[f"/images/{len(blocks)}"] = f"/{name}/{index}"
            blocks.append(medium if block is None else block)
    dropped = {*_MEDIA, *_STATE}
    message = {name: member for name, member in value.items() if name not in dropped}
    if value.get("tool_call_error") is True:
        message["is_error"] = True
    if "tool_name" in message:
        message = {"name": message.pop("tool_name"), **message}
    foreign = reader.read_role_message(
        {**message, **omitted, "images": blocks}, pointer, "openai-chat"
    )
    yield replace(
        foreign,
        original_pointers={**foreign.original_pointers, **pointers},
        has_request_form=False,
    )


def _read_medium(kind: str, medium: JsonObject) -> JsonValue | None:
    """Return the block of a medium; `None` without content and URL.

    The content of a text file is its text, that of other files is base64.
    """
    content, mime_type = medium.get("content"), medium.get("mime_type")
    name = medium.get("filename") or medium.get("name")
    if isinstance(content, str) and isinstance(mime_type, str) and mime_type.startswith("text/"):
        source = {"type": "text", "media_type": mime_type, "data": content}
        return {"type": "document", "source": source, **({"title": name} if name else {})}
    data = content if isinstance(content, str) and content else medium.get("url")
    return medium_block(kind, data, mime_type, name) if isinstance(data, str) and data else None


MESSAGE = MessageForm(
    marks=("stop_after_tool_call",),
    accepts=lambda value: isinstance(value.get("role"), str),
    read=_read_message,
)
