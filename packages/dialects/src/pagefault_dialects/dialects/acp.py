"""The Agent Client Protocol: session updates, each with a piece of a message or of a call."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from pagefault_dialects.dialects.envelope import DialectTables, Envelope, Wrapper, by_value
from pagefault_dialects.dialects.foreign_message import (
    ForeignMessage,
    call_block,
    compose_message,
    thought_block,
)
from pagefault_dialects.dialects.message_forms import (
    ConversationForm,
    InnerReader,
    MessageForm,
)
from pagefault_dialects.dialects.shapes import (
    Check,
    Members,
    accept_any,
    is_object,
    is_object_array,
    is_string,
    one_of,
    shape,
)
from pagefault_dialects.dialects.tool_output import BlockForm, Content
from pagefault_dialects.json.values import JsonObject, JsonValue

_STATUS = one_of("pending", "in_progress", "completed", "failed")
_CALL_MEMBERS: dict[str, Check] = {
    **dict.fromkeys(("kind", "title"), is_string),
    **dict.fromkeys(("content", "locations"), is_object_array),
    **dict.fromkeys(("rawInput", "rawOutput"), accept_any),
    "status": _STATUS,
    "_meta": is_object,
}


def _choose_contents(members: Members) -> Iterable[Content]:
    """Yield the content, or the raw output if there is none."""
    if members["content"]:
        yield Content(members["content"], members.path("content"), "content")
    elif "rawOutput" in members:
        yield Content(members["rawOutput"], members.path("rawOutput"))


def _make_update_envelope(*required: str, marks: tuple[str, ...]) -> Envelope:
    """Return the envelope of an update with the result of a call.

    Args:
        required: The members that the update must have.
        marks: The members by which the update is found.
    """
    checks: dict[str, Check] = {
        "toolCallId": is_string,
        "sessionUpdate": one_of("tool_call_update", "tool_call"),
        **_CALL_MEMBERS,
    }
    optional = {
        name: check
        for name, check in checks.items()
        if name not in required and name != "sessionUpdate"
    }
    return Envelope(
        marks=marks,
        shape=shape({name: checks[name] for name in required}, optional),
        contents=(),
        call_id=("toolCallId",),
        failure=by_value("status", "failed"),
        ignored_members=frozenset({"sessionUpdate", "content"}),
        accepts=lambda members: "content" in members or "rawOutput" in members,
        choose_contents=_choose_contents,
    )


_CHUNK_ROLES = {
    "user_message_chunk": "user",
    "agent_message_chunk": "assistant",
    "agent_thought_chunk": "assistant",
}
_CALL_KINDS = ("tool_call", "tool_call_update")
_FINAL_STATUSES = ("completed", "failed")
_KIND_NAMES = ("sessionUpdate", "session_update")


def _find_kind(update: JsonObject) -> str | None:
    """Return the kind of a session update; `None` for any other object."""
    return next((update[name] for name in _KIND_NAMES if isinstance(update.get(name), str)), None)


def _find_member(update: JsonObject, name: str, snake_name: str) -> JsonValue:
    """Return the member of an update with a name in camelCase or in snake_case."""
    return update[name] if name in update else update.get(snake_name)


def _find_call_id(update: JsonObject) -> JsonValue:
    return _find_member(update, "toolCallId", "tool_call_id")


def _is_conversation_update(update: JsonObject) -> bool:
    """Return whether an update is a chunk of a message, or a call or its update."""
    kind = _find_kind(update)
    return (kind in _CHUNK_ROLES and "content" in update) or (
        kind in _CALL_KINDS and isinstance(_find_call_id(update), str)
    )


def _read_update(update: JsonObject, pointer: str, reader: InnerReader) -> Iterator[ForeignMessage]:
    """Yield the message of an update: a chunk of a text, a call or a result."""
    kind = _find_kind(update)
    if kind in _CHUNK_ROLES:
        blocks = [*reader.read_blocks(update["content"], "/content")]
        if kind == "agent_thought_chunk":
            blocks = [(source, thought_block(_find_text(block))) for source, block in blocks]
        yield compose_message(
            _CHUNK_ROLES[kind], blocks, pointer, continues_turn=_CHUNK_ROLES[kind] == "assistant"
        )
        return
    results = [*reader.read_blocks(update, "")] if update.get("status") in _FINAL_STATUSES else []
    if kind == "tool_call_update" and not results:
        # An update without content only reports progress.
        yield compose_message("assistant", (), pointer)
    elif kind == "tool_call_update":
        yield compose_message("tool", results, pointer)
    else:
        # A call does not have the name of its tool, only a title for people.
        name = update.get("title") or update.get("kind")
        arguments = _find_member(update, "rawInput", "raw_input")
        call = call_block(_find_call_id(update), name, {} if arguments is None else arguments)
        yield compose_message("assistant", [("", call), *results], pointer, continues_turn=True)


def _find_text(block: JsonValue) -> JsonValue:
    return block.get("text", "") if isinstance(block, dict) else block


def _read_notification(
    value: JsonObject, pointer: str, reader: InnerReader
) -> list[ForeignMessage]:
    return reader.read_message(value["update"], f"{pointer}/update")


def _unwrap(value: JsonObject) -> tuple[JsonObject, str]:
    """Return the update in a notification, or in the request around it, and the pointer to it."""
    pointer = ""
    for name in ("params", "update"):
        inner = value.get(name)
        if isinstance(inner, dict):
            value, pointer = inner, f"{pointer}/{name}"
    return value, pointer


def _is_outside_conversation(value: JsonObject) -> bool:
    """Return whether an update only reports plans, modes or commands of the agent."""
    update, _ = _unwrap(value)
    return _find_kind(update) is not None and not _is_conversation_update(update)


def _is_update(value: JsonObject) -> bool:
    return _find_kind(_unwrap(value)[0]) is not None


def _read_updates(updates: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """Return the messages of a list of updates, each after the pointer to its first update.

    Chunks of one message are joined, and updates of a call are merged into the call.
    """
    messages: list[tuple[str, list[JsonValue]]] = []
    calls: dict[str, list[JsonValue]] = {}
    for index, value in enumerate(updates):
        if not isinstance(value, dict) or not _is_update(value):
            messages.append((f"/{index}", [value]))
            continue
        update, pointer = _unwrap(value)
        if not _is_conversation_update(update):
            continue
        kind, call_id = _find_kind(update), _find_call_id(update)
        if kind in _CALL_KINDS and call_id in calls:
            calls[call_id].append(update)
        elif messages and _is_next_chunk(messages[-1][1][-1], update):
            messages[-1][1].append(update)
        else:
            pieces = [update]
            if kind == "tool_call":
                calls[call_id] = pieces
            messages.append((f"/{index}{pointer}", pieces))
    return (
        (pointer, pieces[0] if len(pieces) == 1 else _join_pieces(pieces))
        for pointer, pieces in messages
    )


def _join_pieces(pieces: list[JsonObject]) -> JsonObject:
    """Return one update for the chunks of a message, or for a call and its updates."""
    first, *later = pieces
    if _find_kind(first) in _CHUNK_ROLES:
        return {**first, "content": [*_join_chunks(pieces)]}
    members = [(name, value) for update in later for name, value in update.items()]
    changed = {
        name: value for name, value in members if value is not None and name not in _KIND_NAMES
    }
    return {**first, **changed}


def _join_chunks(chunks: list[JsonObject]) -> Iterator[JsonValue]:
    """Yield the blocks of all chunks, with consecutive texts joined."""
    contents = (chunk["content"] for chunk in chunks)
    blocks = (
        block
        for content in contents
        for block in (content if isinstance(content, list) else [content])
    )
    for is_text, group in groupby(blocks, _is_text):
        if is_text:
            first = next(group)
            yield {**first, "text": "".join([first["text"], *(block["text"] for block in group)])}
        else:
            yield from group


def _is_next_chunk(last: JsonValue, update: JsonObject) -> bool:
    """Return whether an update is the next chunk of the same message as the last update."""
    kind = _find_kind(update)
    if not isinstance(last, dict) or kind not in _CHUNK_ROLES or _find_kind(last) != kind:
        return False
    last_id, next_id = (_find_member(item, "messageId", "message_id") for item in (last, update))
    return last_id is None or next_id is None or bool(last_id == next_id)


def _is_text(block: JsonValue) -> bool:
    return isinstance(block, dict) and isinstance(block.get("text"), str)


DIALECT = DialectTables(
    "acp",
    (
        _make_update_envelope(
            "sessionUpdate", "toolCallId", marks=("sessionUpdate", "session_update")
        ),
        # An update without its kind has at least the status of its call.
        _make_update_envelope("toolCallId", "status", marks=("toolCallId", "tool_call_id")),
        Wrapper(
            marks=("update",),
            shape=shape({"sessionId": is_string, "update": is_object}, {"_meta": is_object}),
            inner="update",
            label="notification",
        ),
        Wrapper(
            marks=(("method", "session/update"),),
            shape=shape({"jsonrpc": is_string, "method": is_string, "params": is_object}),
            inner="params",
            label="request",
            ignored_members=frozenset({"jsonrpc", "method"}),
        ),
    ),
    (
        BlockForm((("content",),), "content", ("type", "content")),
        BlockForm((("path",), ("oldText",), ("newText",)), "text", ("type", "diff")),
        BlockForm((("path",), ("old_text",), ("new_text",)), "text", ("type", "diff")),
        BlockForm((("text",),), "text", ("type", "text")),
        BlockForm((("data",),), "media", ("type", "image"), kind="image"),
        BlockForm((("data",),), "media", ("type", "audio"), kind="audio"),
    ),
    has_closed_content=True,
    messages=(
        MessageForm(marks=_KIND_NAMES, accepts=_is_conversation_update, read=_read_update),
        MessageForm(
            marks=("update",),
            accepts=lambda value: (
                isinstance(value["update"], dict) and _is_conversation_update(value["update"])
            ),
            read=_read_notification,
        ),
    ),
    conversations=(
        ConversationForm(
            marks=(*_KIND_NAMES, "update", ("method", "session/update")),
            accepts=_is_update,
            read=_read_updates,
            is_list=True,
            is_skipped=_is_outside_conversation,
        ),
    ),
)
