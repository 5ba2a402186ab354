"""The JSON of events: what is said, the stored bytes, the place, in this order."""

import json
from datetime import UTC, datetime

import pytest

from app.models.event import CONTENT_OF, Event, EventType, LoggedEvent
from app.models.stored_interaction import StoredInteraction
from app.wire.events import add_raw_result, encode_event
from tests.kit.event_shapes import DATA_OF

NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
PLACE = '"sessionId":"s","seq":7,"id":"x","createdAt":"2026-01-02T03:04:05.678901Z"}'
# No JSON of ours would be spelled like this: whoever parsed it would not get it back.
ODD = b'{"b" :1.10,"a":[123456789012345678901234567890 , "\\u00e9\xc3\xa9\xe2\x80\xa8"] }'


def logged(
    event_type: EventType, members: bytes = b"{}", content: bytes | StoredInteraction | None = None
) -> LoggedEvent:
    return LoggedEvent(9, event_type, "x", "s", 7, NOW, members, content)


@pytest.mark.parametrize(
    ("event_type", "member"),
    [
        ("llmservice:toolResult", "sanitized"),
        ("message:created", "message"),
        ("interaction:answered", "output"),
    ],
)
def test_stored_bytes_stand_between_what_is_said_and_where(
    event_type: EventType, member: str
) -> None:
    made = encode_event(logged(event_type, b'{"said":1}', ODD))
    data = f'{{"said":1,"{member}":{ODD.decode()},{PLACE}'.encode()
    assert made == Event(9, event_type, "x", "s", 7, data)


def test_interaction_is_shown_as_it_was_before_its_answer() -> None:
    answered = StoredInteraction(
        interaction_id="x",
        session_id="s",
        seq=7,
        input_kind="dict",
        timestamp="2023-10-27T10:00:00Z",
        created_at=NOW,
        input=ODD,
        output=b'{"role":"assistant"}',
        answer_seq=8,
        answered_at=NOW,
    )
    made = encode_event(logged("interaction:created", b'{"inputKind":"dict"}', answered))
    text = f'{{"input":{ODD.decode()},"output":null,"timestamp":"2023-10-27T10:00:00Z"}}'
    assert made.data.decode() == f'{{"inputKind":"dict","interaction":{text},{PLACE}'


@pytest.mark.parametrize("members", [b"{}", b'{"deleted":{"pages":1}}'])
def test_event_without_a_record_says_what_it_says_and_where(members: bytes) -> None:
    data = encode_event(logged("session:deleted", members)).data
    assert data.decode() == "{" + (members[1:-1].decode() + "," if members != b"{}" else "") + PLACE


def test_event_outside_any_session_has_no_place_in_one() -> None:
    made = encode_event(LoggedEvent(1, "page:deleted", "p", None, None, NOW, b"{}", None))
    assert json.loads(made.data) == {
        "sessionId": None,
        "seq": None,
        "id": "p",
        "createdAt": "2026-01-02T03:04:05.678901Z",
    }


@pytest.mark.parametrize("raw", [b"null", b'"}"', b'{"a":[]}', ODD])
def test_raw_result_is_the_last_member(raw: bytes) -> None:
    data = encode_event(logged("llmservice:toolResult", b'{"said":1}', ODD)).data
    assert add_raw_result(data, raw) == data[:-1] + b',"rawResult":' + raw + b"}"
    json.loads(add_raw_result(data, raw))


def test_every_member_that_shows_a_record_is_documented() -> None:
    documented = {name: set(model.__struct_encode_fields__) for name, model in DATA_OF.items()}
    assert [name for name, member in CONTENT_OF.items() if member not in documented[name]] == []
