"""Cached turns of entries, and the cases in which they are used."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.models.message import StoredHistoryMessage, StoredMessage
from app.services.renders.turn_cache import CachedEntry, TurnCache
from pagefault_dialects.model.conversation import ComposedTurn, TextItem, Turn
from pagefault_dialects.model.render_options import Audience
from pagefault_dialects.model.resource import MediaHints, Resource

NOW = datetime(2026, 11, 25, tzinfo=UTC)
ID = "0c8e6cc1ab1f4d34b4a5a0e21f7d6c15"
MESSAGE = StoredHistoryMessage(
    1, "m", NOW, None, "", b'{"role":"user","content":"@blob:%s"}' % ID.encode()
)
RESULT = StoredMessage(2, "r", NOW, "c1", "look", b'{"parts":[]}')
RESOURCE = Resource(ID, "a" * 64, "image/png", None, 10, "image", MediaHints(), NOW)


class Reader:
    """Reads entries, and counts how often it had to."""

    def __init__(self, known: TurnCache) -> None:
        self.known = known
        self.reads = 0

    def read(
        self,
        entry: CachedEntry,
        resources: dict[str, Resource] | None = None,
        *,
        origin: str = "/api/sessions/s/messages/1",
        audience: Audience = "assistant",
    ) -> list[ComposedTurn]:
        def read() -> list[ComposedTurn]:
            self.reads += 1
            text = repr((entry, resources, audience))
            return [Turn("user", (TextItem("", text),), origin, entry.seq)]

        turns = self.known.turns(entry, resources or {}, read, origin=origin, audience=audience)
        reads = self.reads
        assert turns == read()
        self.reads = reads
        return [*turns]


@pytest.mark.parametrize("entry", [MESSAGE, RESULT])
def test_entry_is_read_once(entry: CachedEntry) -> None:
    reader = Reader(TurnCache())
    # Not the same object: each request reads its own from the database.
    for _ in range(3):
        reader.read(replace(entry))
    assert reader.reads == 1


def test_whatever_turns_follow_from_has_them_read_anew() -> None:
    reader = Reader(TurnCache())
    reader.read(MESSAGE)
    reader.read(MESSAGE, {ID: RESOURCE})
    reader.read(MESSAGE, {ID: replace(RESOURCE, filename="a.png")})
    reader.read(MESSAGE, {ID: replace(RESOURCE, filename="a.png")}, audience="user")
    reader.read(MESSAGE, origin="/api/sessions/other/messages/1")
    reader.read(replace(MESSAGE, message=MESSAGE.message.replace(b"user", b"system")))
    reader.read(replace(MESSAGE, seq=9))
    reader.read(replace(RESULT, message_id="m"))
    assert reader.reads == 8


def test_resource_that_is_of_another_entry_changes_nothing() -> None:
    reader = Reader(TurnCache())
    reader.known.turns(MESSAGE, {}, list, origin="o", audience="assistant")
    others = {"f" * 32: replace(RESOURCE, resource_id="f" * 32)}
    assert reader.known.turns(MESSAGE, others, lambda: [], origin="o", audience="assistant") == []
    assert reader.known.referenced_ids(MESSAGE) == {ID}


def test_what_was_used_last_is_kept_within_the_limit() -> None:
    reader = Reader(TurnCache(max_bytes=30_000))
    entries = [replace(RESULT, message_id=str(n), sanitized=b"x" * 1_000) for n in range(8)]
    for entry in entries[:4]:
        reader.read(entry)
    reader.read(entries[0])
    assert reader.reads == 4
    for entry in entries[4:]:
        reader.read(entry)
    reader.read(entries[0])
    assert reader.reads == 8
    reader.read(entries[1])
    assert reader.reads == 9


def test_one_that_is_too_large_is_not_kept() -> None:
    reader = Reader(TurnCache())
    large = replace(RESULT, sanitized=bytes(2 * 1024 * 1024))
    reader.read(large)
    reader.read(large)
    assert reader.reads == 2


def test_entries_of_a_session_are_known_up_to_the_first_that_is_not() -> None:
    known = TurnCache()
    for item in (MESSAGE, RESULT, replace(RESULT, message_id="s", seq=4)):
        known.put("i", item)
    assert known.entries("i", after_seq=0, to_seq=9) == [MESSAGE, RESULT]
    assert known.entries("i", after_seq=1, to_seq=2) == [RESULT]
    assert known.entries("i", after_seq=2, to_seq=9) == []


def test_entry_of_another_incarnation_is_not_known() -> None:
    known = TurnCache()
    known.put("i", MESSAGE)
    assert known.entries("j", after_seq=0, to_seq=9) == []
    # A session was deleted, and imported with the ids it had.
    known.put("j", MESSAGE)
    assert known.entries("i", after_seq=0, to_seq=9) == []
    assert known.entries("j", after_seq=0, to_seq=9) == [MESSAGE]


def test_entry_that_is_not_kept_is_not_known_by_its_place() -> None:
    known = TurnCache(max_bytes=10_000)
    for seq in range(1, 8):
        known.put("i", replace(RESULT, message_id=str(seq), seq=seq, sanitized=b"x" * 1_000))
    assert known.entries("i", after_seq=0, to_seq=9) == []
    assert [entry.seq for entry in known.entries("i", after_seq=6, to_seq=9)] == [7]
