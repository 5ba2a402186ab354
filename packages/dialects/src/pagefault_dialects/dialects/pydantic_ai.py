"""Pydantic AI: responses, and requests whose parts have roles of their own."""

from collections.abc import Iterator
from itertools import takewhile

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_value
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    compose_message,
    medium_block,
    medium_kind,
    result_block,
    text_block,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import ConversationForm, InnerReader, MessageForm
from pagefault_dialects.dialects.shapes import (
    accept_any,
    is_array,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm
from pagefault_dialects.json.values import JsonObject, JsonValue, json_text

_RETURN_MEMBERS = {"tool_name": is_string, "content": accept_any, "tool_call_id": is_string}
_OPTIONAL_MEMBERS = (
    "tool_kind",
    "metadata",
    "timestamp",
    "outcome",
    "retry",
    "content_file_digests",
)
_OUTCOME = by_value(
    "outcome", *("failed", "denied", "interrupted", "retried"), success=("success",)
)


def _make_return_envelope(kind: str, *more_members: str, has_content: bool = True) -> Envelope:
    """Return the envelope of a part with the result of a call.

    Args:
        kind: The kind of the part.
        more_members: The optional members that only parts of this kind have.
        has_content: Whether the part has a content.
    """
    required = {"part_kind": one_of(kind), **_RETURN_MEMBERS}
    if not has_content:
        # Dumps without unset members have no content if the tool returned nothing.
        del required["content"]
    nullable = ("content",) if has_content else ()
    return Envelope(
        marks=(("part_kind", kind),),
        shape=shape(required, (*_OPTIONAL_MEMBERS, *more_members), nullable=nullable),
        contents=(("content",),),
        call_id=("tool_call_id",),
        name=("tool_name",),
        failure=_OUTCOME,
        # The outcome is kept, since it says how the tool failed.
        ignored_members=frozenset({"part_kind"}),
    )


_RETRY_PROMPT = Envelope(
    marks=(("part_kind", "retry-prompt"),),
    shape=shape(
        {
            "part_kind": one_of("retry-prompt"),
            "content": lambda value: isinstance(value, str) or is_object_array(value),
            "tool_name": is_string,
            "tool_call_id": is_string,
        },
        ("timestamp", "retry"),
    ),
    contents=(("content",),),
    call_id=("tool_call_id",),
    name=("tool_name",),
    failure=lambda _: True,
    ignored_members=frozenset(),
)
# An object that tools may return, with further content for the model and data for the host.
_RETURN_VALUE = Envelope(
    marks=(("kind", "tool-return"),),
    shape=shape(
        {"kind": one_of("tool-return"), "return_value": accept_any},
        ("content", "metadata", "tools", "content_file_digests"),
        nullable=("return_value",),
    ),
    contents=(("return_value",), ("content",)),
    ignored_members=frozenset({"kind"}),
)
_REQUEST = Wrapper(
    marks=(("kind", "request"),),
    shape=shape(
        {"kind": one_of("request"), "parts": is_array},
        ("timestamp", "instructions", "run_id", "conversation_id", "metadata", "state"),
    ),
    inner="parts",
    label="message",
    ignored_members=frozenset({"kind"}),
)

_CALLS = ("tool-call", "builtin-tool-call")
_RETURNS = ("tool-return", "builtin-tool-return", "retry-prompt")
_PROMPT_ROLES = {
    "system-prompt": "system",
    **dict.fromkeys(("user-prompt", "retry-prompt", "retry-feedback"), "user"),
}
"""The roles of the parts of a request that have text. Other parts describe changes of the agent."""


def _is_message(value: JsonObject) -> bool:
    parts = value["parts"]
    return (
        value["kind"] in ("request", "response")
        and isinstance(parts, list)
        and all(isinstance(part, dict) and isinstance(part.get("part_kind"), str) for part in parts)
    )


def _read_message(value: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of a response, or a message for each part of a request."""
    del reader
    parts = value["parts"]
    if value["kind"] == "response":
        blocks = [(f"/parts/{index}", _convert_part(part)) for index, part in enumerate(parts)]
        yield compose_message("assistant", blocks, pointer)
        return
    for index, part in enumerate(parts):
        part_pointer, content = f"{pointer}/parts/{index}", part.get("content")
        if part["part_kind"] in _RETURNS and part.get("tool_name"):
            yield compose_message("tool", [("", _convert_return(part))], part_pointer)
            continue
        role = _PROMPT_ROLES.get(part["part_kind"])
        if role is not None:
            blocks = [*_convert_contents(content)] if isinstance(content, list) else content
            yield ForeignMessage(
                part_pointer, {"role": role, "content": blocks}, has_request_form=False
            )


def _convert_part(part: JsonObject) -> JsonValue:
    """Return a part of a response as a block in common form."""
    kind, content = part["part_kind"], part.get("content")
    if kind in _CALLS:
        call = {"id": part.get("tool_call_id"), "name": part.get("tool_name")}
        return {"type": "tool_use", **call, "input": part.get("args") or {}}
    if kind in _RETURNS:
        return _convert_return(part)
    if kind == "thinking":
        return thought_block(content)
    if kind == "speech":
        return text_block(part.get("transcript") or "")
    return _convert_content("" if content is None else content)


def _convert_contents(parts: list[JsonValue]) -> Iterator[JsonValue]:
    """Yield the blocks of a list of contents, without cache points."""
    for part in parts:
        if isinstance(part, dict) and not isinstance(part.get("kind"), str):
            # Data of a tool, which would be read as a block of a dialect in a list.
            yield text_block(json_text(part))
        elif not (isinstance(part, dict) and part["kind"] == "cache-point"):
            yield _convert_content(part)


def _convert_return(part: JsonObject) -> JsonValue:
    """Return a part with the result of a call as a block in common form."""
    content = part.get("content")
    outcome = part.get("outcome", "success")
    is_error = part["part_kind"] == "retry-prompt" or outcome != "success"
    inner = (
        [*_convert_contents(content)] if isinstance(content, list) else _convert_content(content)
    )
    return result_block(part.get("tool_call_id"), part.get("tool_name"), inner, is_error=is_error)


def _convert_content(content: JsonValue) -> JsonValue:
    """Return a content as a block in common form."""
    if isinstance(content, str):
        return {"type": "text", "text": content}
    kind = content.get("kind") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(kind, str):
        return content
    if kind == "text-content":
        return text_block(content.get("content") or "")
    return _convert_medium(content, kind)


def _convert_medium(content: JsonObject, kind: str) -> JsonValue:
    media_type = content.get("media_type")
    if kind == "binary":
        return medium_block(medium_kind(media_type), content.get("data"), media_type, None)
    if kind == "image-url":
        return {"type": "image_url", "image_url": {"url": content.get("url")}}
    if not kind.endswith("-url"):
        return content
    link = {"type": "resource_link", "uri": content.get("url"), "name": kind}
    return {**link, "mimeType": media_type} if media_type else link


def _read_all(messages: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    for index, message in enumerate(messages):
        yield f"/{index}", message


def _read_prompt(messages: list[JsonValue]) -> JsonObject:
    """Return the instructions: the system prompts, and the newest instructions of a message.

    The newest instructions apply to all messages.
    """
    instructions = (
        message.get("instructions") for message in reversed(messages) if isinstance(message, dict)
    )
    newest = next((text for text in instructions if isinstance(text, str) and text), None)
    if newest is None:
        return {}
    first = next(message for message in messages if isinstance(message, dict))
    prompts = takewhile(lambda part: part["part_kind"] == "system-prompt", first["parts"])
    texts = [part["content"] for part in prompts if isinstance(part.get("content"), str)]
    return {"instructions": "\n\n".join([*texts, newest])}


DIALECT = DialectTables(
    "pydantic-ai",
    (
        _make_return_envelope("tool-return"),
        _make_return_envelope("tool-return", has_content=False),
        _make_return_envelope("builtin-tool-return", "provider_name", "provider_details"),
        _RETRY_PROMPT,
        _RETURN_VALUE,
        _REQUEST,
    ),
    (
        BlockForm((("data",),), "media", ("kind", "binary"), name=("identifier",)),
        BlockForm((("url",),), "media", ("kind", "image-url"), kind="image"),
        BlockForm((("url",),), "media", ("kind", "audio-url"), kind="audio"),
        BlockForm((("url",),), "media", ("kind", "video-url"), kind="video"),
        BlockForm((("url",),), "media", ("kind", "document-url")),
    ),
    messages=(
        MessageForm(
            marks=(("kind", "request"), ("kind", "response")),
            accepts=lambda value: "parts" in value and _is_message(value),
            read=_read_message,
        ),
    ),
    conversations=(
        ConversationForm(
            marks=(("kind", "request"), ("kind", "response")),
            accepts=lambda value: "parts" in value and _is_message(value),
            read=_read_all,
            is_list=True,
            prompt=_read_prompt,
        ),
    ),
)
