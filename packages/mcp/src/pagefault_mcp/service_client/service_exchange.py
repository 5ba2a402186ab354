"""What the service that keeps a proxy's results is asked, and what is made of its answers.

`pagefault_mcp.service_client.service_store` asks it.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from itertools import islice
from typing import Any, NoReturn

from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.model.render_options import McpRevision, RenderOptions
from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import (
    Line,
    LinePiece,
    Looked,
    Message,
    locate_piece_members,
    look_into,
    read_text,
)
from pagefault_mcp.messages.message_values import parse_member
from pagefault_mcp.messages.passing_requests import PendingCall

_SERVER = "pagefault/server"
"""Under which name a call and its result say in `_meta` which server they went to."""

_LIMITS = frozenset(
    {"evicted", "too-many-bytes", "too-many-pixels", "too-many-media", "request-too-large"}
)
"""What a rendering says in its account of the loss where the limits of a host have changed it."""

NO_JSON = "the service answered something else than JSON objects. Is it a Pagefault?"


class NoAnswerError(Exception):
    """A service cannot be reached, or refuses what it is asked; the words say which, and why."""


class ServiceRefusedError(NoAnswerError):
    """A service refuses what it is asked, and has done nothing."""


def message_of(call: PendingCall) -> JsonValue:
    """Return a call as the message of an assistant.

    The tool has the name that the model knows it by. Which server's it is stands beside that.
    """
    function = {"name": call.name, "arguments": call.written}
    calls = [{"id": call.call_id, "type": "function", "function": function}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    return message if call.server is None else {**message, "_meta": {_SERVER: call.server}}


def build_own_call(call: PendingCall, revision: McpRevision, options: RenderOptions) -> JsonValue:
    """Return a call of one of our tools, as it is asked to be run."""
    asked: dict[str, JsonValue] = {
        "target": "mcp",
        "id": call.call_id,
        "name": call.own_name,
        "arguments": call.arguments,
        "protocolVersion": revision,
        # The host is given the message alone.
        "countTokens": False,
    }
    limits = {"maxImagePixels": options.max_image_pixels, "maxTokens": options.max_tokens}
    return asked | {name: most for name, most in limits.items() if most is not None}


def refusal_of(call: PendingCall, session_id: str, text: str) -> JsonValue:
    """Return a call that was not passed on as a result that failed, with the call."""
    return {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": False,
        "callMessage": message_of(call),
        "result": {"content": [{"type": "text", "text": text}], "isError": True},
    }


async def result_body(
    call: PendingCall,
    session_id: str,
    line: Message,
    answer: Span,
    *,
    success: bool,
    has_call: bool = False,
) -> AsyncIterator[bytes]:
    """Yield the body of the request that stores what a call was answered with.

    The arguments are those of `ServiceStore.keep`, and the session.
    """
    head = {
        "toolName": call.name,
        "toolCallId": call.call_id,
        "sessionId": session_id,
        "success": success,
        **({"callMessage": message_of(call)} if has_call else {}),
    }
    yield json_bytes(head)[:-1] + b',"result":'
    for span in _add_server(call, line, answer):
        for piece in [span] if isinstance(span, bytes) else line.pieces(span):
            yield piece
    yield b"}"


def _add_server(call: PendingCall, line: Message, answer: Span) -> list[bytes | Span]:
    """Return a result with the server's name in its `_meta`, if it is one of MCP and has room."""
    if call.server is None:
        return [answer]
    found = locate_piece_members(line, answer)
    members = {str(parse_member(line, key)): value for key, value in found.members}
    # Some SDKs write `meta`, which is read as `_meta` where there is no such member.
    if not found.is_whole or "content" not in members or "meta" in members:
        return [answer]
    named: JsonValue = {_SERVER: call.server}
    meta = members.get("_meta")
    holder = found if meta is None else locate_piece_members(line, meta)
    written = json_bytes({"_meta": named} if meta is None else named)
    if not holder.is_whole:
        return [answer]
    if meta is not None and not holder.members:
        return [Span(answer.start, meta.start), written, Span(meta.end, answer.end)]
    at = holder.members[0].key.start
    return [Span(answer.start, at), written[1:-1] + b",", Span(at, answer.end)]


async def read_answer(pieces: AsyncIterator[bytes], look: Callable[[Line], Looked]) -> Looked:
    """Return what is found in the JSON text that answers a request; whoever takes it closes that.

    Args:
        pieces: The text.
        look: Looks into it.

    Raises:
        NoAnswerError: It is not UTF-8, or does not have what is looked for.
    """
    try:
        text = await read_text(pieces)
    except UnicodeDecodeError as exc:
        raise NoAnswerError(NO_JSON) from exc
    try:
        return await look_into(text, look)
    except BaseException as exc:
        text.close()
        if isinstance(exc, ValueError | KeyError | TypeError | AttributeError | RecursionError):
            raise NoAnswerError(NO_JSON) from exc
        raise


def rendered_message(text: Line) -> LinePiece:
    """Return the message of a rendering, whose content is a list.

    A short one is JSON. Of a long one no more is known than where its members are: whoever is asked
    for it is trusted to write nothing else.

    Raises:
        ValueError, KeyError, RecursionError: There is none.
    """
    if not text.is_long:
        strict_json(text.read())
    (message,) = islice(LinePiece(text, text.members["messages"]).items(), 1)
    begins = islice(text.pieces(message.members["content"]), 1)
    if not any(piece.lstrip()[:1] == b"[" for piece in begins):
        raise ValueError
    return message


def strict_json(text: bytes) -> JsonValue:
    """Return the value of a JSON text.

    Raises:
        ValueError, RecursionError: It is none, or has numbers that JSON has not.
    """

    def refuse(constant: str) -> NoReturn:
        raise ValueError(constant)

    return json.loads(text, parse_constant=refuse)


def limited_message(text: Line) -> LinePiece | None:
    """Return the message of a rendering; `None`, and closes it, if no limit has changed it.

    Raises:
        ValueError, KeyError, RecursionError: As for `rendered_message`.
    """
    message = rendered_message(text)
    if any(parse_member(each, each.members["code"]) in _LIMITS for each in _items(text, "loss")):
        return message
    text.close()
    return None


def is_changed(record: LinePiece, options: RenderOptions) -> bool:
    """Tell whether a host gets something else than the server's own answer, whatever it takes.

    Args:
        record: The normalized result, of which one part at a time is held.
        options: What the host takes.

    Raises:
        KeyError, ValueError: It is no record.
    """
    most_chars = options.max_text or PREVIEW_LIMIT_CHARS
    has_resources = next(_items(record, "resources"), None) is not None
    return has_resources or any(len(part.get("text", "")) > most_chars for part in _parts(record))


def may_be_limited(record: LinePiece, options: RenderOptions) -> bool:
    """Tell whether an answer that is not changed otherwise may be more than a host takes.

    The arguments, and what is raised, are those of `is_changed`.
    """
    of_images = (options.max_images, options.max_bytes, options.max_image_pixels)
    # Images of a few bytes are part of the record, and may be many, or have many pixels.
    has_limits = any(limit is not None for limit in of_images)
    return options.max_tokens is not None or (
        has_limits and any(part["type"] == "image" for part in _parts(record))
    )


def _items(held: Message, name: str) -> Iterator[LinePiece]:
    line = held.line if isinstance(held, LinePiece) else held
    return LinePiece(line, held.members[name]).items()


def _parts(record: LinePiece) -> Iterator[Any]:
    # Numbers may have more digits than Python makes integers of.
    return (json.loads(each.read(), parse_int=str) for each in _items(record, "parts"))
