"""The JSON of events, put around stored bytes without parsing them."""

from app.models.event import CONTENT_OF, Event, LoggedEvent
from app.models.identity import rfc3339
from app.models.interaction import StoredInteraction
from app.models.json_value import json_text
from app.rendering.envelopes import interaction_json


def event_of(logged: LoggedEvent) -> Event:
    """The event with its JSON: what it says, the record it shows, where it stands.

    `{toolName, callId, success, sanitized, sessionId, seq, id, createdAt}` for a tool result, and
    the others alike.

    Source: spec 002, "Event Flow & Consumers".
    """
    said = logged.members[1:-1]
    place = json_text(
        {
            "sessionId": logged.session_id,
            "seq": logged.seq,
            "id": logged.subject_id,
            "createdAt": rfc3339(logged.created_at),
        }
    ).encode()[1:-1]
    data = b"{%s}" % b",".join(piece for piece in (said, _shown(logged), place) if piece)
    return Event(
        number=logged.number,
        type=logged.type,
        subject_id=logged.subject_id,
        session_id=logged.session_id,
        seq=logged.seq,
        data=data,
    )


def _shown(logged: LoggedEvent) -> bytes:
    """The member that holds what was written, in the bytes it is stored in."""
    content = logged.content
    if content is None:
        return b""
    if isinstance(content, StoredInteraction):
        content = interaction_json(content, content.first_output)
    return b'"%s":%s' % (CONTENT_OF[logged.type].encode(), content)


def with_raw_result(data: bytes, raw_result: bytes) -> bytes:
    """An event's JSON with what the tool returned, as it came."""
    return b'%s,"rawResult":%s}' % (data[:-1], raw_result)
