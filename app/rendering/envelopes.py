"""Envelopes: the JSON around stored bytes, put there without parsing them.

What is read all the time is written member by member, a string as `json.dumps` writes it: a page of
a history has hundreds of them.
"""

from collections.abc import Sequence
from json.encoder import encode_basestring as _string

from app.models.identity import rfc3339
from app.models.interaction import StoredAnswer, StoredInteraction
from app.models.json_value import JsonValue, json_text
from app.models.message import HistoryEntry, StoredHistoryMessage, StoredMessage
from app.models.page import StoredPage
from app.models.rendering import JsonPiece, joined_pieces


def history_entry(entry: HistoryEntry) -> bytes:
    """An entry of a session's history, each kind in its own spelling."""
    match entry:
        case StoredMessage():
            return tool_message(entry)
        case StoredHistoryMessage():
            return history_message(entry)
        case StoredInteraction():
            return interaction_entry(entry)
        case StoredAnswer():
            return answer_entry(entry)


def tool_message(message: StoredMessage) -> bytes:
    """The history's `{seq, id, role, toolCallId, name, createdAt, sanitized}`."""
    head = (
        f'{{"seq":{message.seq},"id":"{message.message_id}","role":"tool",'
        f'"toolCallId":{_string(message.tool_call_id)},"name":{_string(message.tool_name)},'
        f'"createdAt":"{rfc3339(message.created_at)}"'
    )
    return _with_sanitized(head, message.sanitized)


def _with_sanitized(head: str, sanitized: bytes) -> bytes:
    return b'%s,"sanitized":%s}' % (head.encode(), sanitized)


def page_summary(stored: StoredPage) -> bytes:
    """A page without its content: the descriptor, and the counters behind it."""
    return b"%s,%s}" % (stored.open_descriptor, _counters(stored))


def page_record(stored: StoredPage) -> bytes:
    """A page: the descriptor, the content, the counters."""
    content = stored.content or b"null"
    return b'%s,"content":%s,%s}' % (stored.open_descriptor, content, _counters(stored))


def page_record_pieces(stored: StoredPage, content: Sequence[JsonPiece]) -> Sequence[JsonPiece]:
    """A page with another content, which is made of pieces."""
    head, tail = b'%s,"content":' % stored.open_descriptor, b",%s}" % _counters(stored)
    return joined_pieces([head, *content, tail])


def search_hit(stored: StoredPage, snippet: str | None) -> bytes:
    """A page that was found, and the passage it was found by."""
    return b'%s,"snippet":%s}' % (page_summary(stored)[:-1], json_text(snippet).encode())


def history_message(message: StoredHistoryMessage) -> bytes:
    """The history's `{seq, id, created_at, role, content, …}`: the message as it was written."""
    return _message_head(message) + message.message[1:]


def history_message_pieces(
    message: StoredHistoryMessage, pieces: Sequence[JsonPiece]
) -> Sequence[JsonPiece]:
    """Return the entry of a message that is made of pieces, the first of which is text."""
    first = pieces[0] if isinstance(pieces[0], bytes) else b""
    return [_message_head(message) + first[1:], *pieces[1:]]


def _message_head(message: StoredHistoryMessage) -> bytes:
    created_at = rfc3339(message.created_at)
    head = f'{{"seq":{message.seq},"id":"{message.message_id}","created_at":"{created_at}",'
    return head.encode()


def interaction_entry(entry: StoredInteraction) -> bytes:
    """The history's `{seq, id, created_at, input_kind, interaction}`, before its answer.

    `bound` comes before the last, where attachments are bound to what their ids do not say.
    """
    members: dict[str, JsonValue] = {
        "seq": entry.seq,
        "id": entry.interaction_id,
        "created_at": rfc3339(entry.created_at),
        "input_kind": entry.input_kind,
    }
    if entry.bindings:
        members["bound"] = {
            attached_id: None if resource_id is None else f"blob:{resource_id}"
            for attached_id, resource_id in entry.bindings.items()
        }
    head = json_text(members)
    return b'%s,"interaction":%s}' % (
        head[:-1].encode(),
        interaction_json(entry, entry.first_output),
    )


def answer_entry(entry: StoredAnswer) -> bytes:
    """The history's `{seq, id, created_at, interaction_id, output}`; its id is made of both."""
    head = json_text(
        {
            "seq": entry.seq,
            "id": f"{entry.interaction_id}.output",
            "created_at": rfc3339(entry.created_at),
            "interaction_id": entry.interaction_id,
        }
    )
    return b'%s,"output":%s}' % (head[:-1].encode(), entry.output)


def interaction_json(stored: StoredInteraction, output: bytes | None) -> bytes:
    """`{input, output, timestamp}`, its members' bytes as they are stored.

    Source: spec 001, "JSON Serialization".
    """
    timestamp = json_text(stored.timestamp).encode()
    return b'{"input":%s,"output":%s,"timestamp":%s}' % (
        stored.input,
        output or b"null",
        timestamp,
    )


def _counters(stored: StoredPage) -> bytes:
    at = stored.last_accessed
    last = "null" if at is None else f'"{rfc3339(at)}"'
    return f'"last_accessed":{last},"access_count":{stored.access_count}'.encode()
