import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import anyio
import pytest
from starlette.types import Message

from app.errors import OverloadedError, StoreUnavailableError
from app.http.content_response import SMALL_PIECE_BYTES, ContentToSend, build_content_response
from app.services.memory_budget.budget import MemoryBudget
from app.services.resources.content_sources import ContentSource, ContentSources, StoreLink
from app.wiring.services import Services

LIMIT = 1 << 20
PATHSEND = "http.response.pathsend"
OFFERED: dict[str, object] = {"extensions": {PATHSEND: {}}}
PLACE = Path("/data/blobs/00/aa")


@dataclass
class Kept:
    """Zeros in pieces, a file if there is one, and a record of what was asked for."""

    size_bytes: int
    file: Path | None = PLACE
    is_lost: bool = False
    opened: list[tuple[int, int]] = field(default_factory=list)
    memory: MemoryBudget = field(default_factory=lambda: MemoryBudget(64 * LIMIT))

    async def open(self, start: int, end: int) -> AsyncIterator[bytes]:
        self.opened.append((start, end))
        return self._pieces(min(end, self.size_bytes) - start)

    async def _pieces(self, left: int) -> AsyncIterator[bytes]:
        while left > 0:
            yield bytes(min(left, LIMIT))
            left -= LIMIT

    async def path(self) -> Path | None:
        if self.is_lost:
            raise StoreUnavailableError("blob store")
        return self.file

    def sender(self, size_bytes: int) -> None:
        return None

    async def offload_location(self, *, content_type: str, disposition: str) -> StoreLink:
        raise AssertionError


def content_of(size_bytes: int) -> ContentToSend:
    return ContentToSend(
        digest=hashlib.sha256(bytes(size_bytes)).hexdigest(),
        size_bytes=size_bytes,
        mime_type="video/mp4",
        filename=None,
        disposition="inline",
        created_at=datetime(2026, 3, 1, tzinfo=UTC),
    )


async def messages_of(
    kept: Kept, content: ContentToSend, scope: dict[str, object], **headers: str
) -> list[Message]:
    messages: list[Message] = []

    async def receive() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def send(message: Message) -> None:
        messages.append(message)

    response = build_content_response(
        headers, "GET", content, open_range=kept.open, source=cast("ContentSource", kept)
    )
    services = Services(
        (), {MemoryBudget: kept.memory, ContentSources: SimpleNamespace(files=object())}
    )
    asgi = {"version": "3.0", "spec_version": "2.3"}
    base = {"type": "http", "asgi": asgi, "state": {"services": services}}
    await response({**base, **scope}, receive, send)
    return messages


@pytest.mark.anyio
@pytest.mark.parametrize("size_bytes", [0, 1, 65_536])
async def test_what_is_short_is_one_message(size_bytes: int) -> None:
    start, *body = await messages_of(Kept(size_bytes), content_of(size_bytes), OFFERED)
    assert start["status"] == 200
    assert body == [{"type": "http.response.body", "body": bytes(size_bytes), "more_body": False}]


@pytest.mark.anyio
@pytest.mark.parametrize("size_bytes", [65_537, LIMIT])
async def test_a_longer_piece_is_waited_for(size_bytes: int) -> None:
    kept = Kept(size_bytes)
    _, *body = await messages_of(kept, content_of(size_bytes), OFFERED)
    assert kept.opened == [(0, size_bytes)]
    assert body == [
        {"type": "http.response.body", "body": bytes(size_bytes), "more_body": True},
        {"type": "http.response.body", "body": b"", "more_body": False},
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("size_bytes", [1, LIMIT])
async def test_a_piece_that_is_too_short_is_a_problem_and_not_a_torn_body(size_bytes: int) -> None:
    with pytest.raises(StoreUnavailableError):
        await messages_of(Kept(size_bytes - 1), content_of(size_bytes), {})


@pytest.mark.anyio
async def test_a_server_that_offers_it_is_told_the_file() -> None:
    kept = Kept(LIMIT + 1)
    start, *body = await messages_of(kept, content_of(LIMIT + 1), OFFERED)
    assert (start["status"], dict(start["headers"])[b"content-length"]) == (200, b"1048577")
    assert body == [{"type": PATHSEND, "path": str(PLACE)}]
    assert kept.opened == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("file", "scope", "headers"),
    [
        (None, OFFERED, {}),
        (PLACE, {}, {}),
        (PLACE, {"extensions": None}, {}),
        (PLACE, {"extensions": {"http.response.push": {}}}, {}),
        (PLACE, OFFERED, {"range": "bytes=0-1048576"}),
        (PLACE, OFFERED, {"range": "bytes=0-0,5-1048576"}),
    ],
    ids=["no file", "no extensions", "none", "another extension", "one range", "two ranges"],
)
async def test_otherwise_the_service_reads(
    file: Path | None, scope: dict[str, object], headers: dict[str, str]
) -> None:
    kept = Kept(LIMIT + 1, file)
    start, *body = await messages_of(kept, content_of(LIMIT + 1), scope, **headers)
    length = int(dict(start["headers"])[b"content-length"])
    assert sum(len(message["body"]) for message in body) == length
    assert PATHSEND not in {message["type"] for message in body}


@pytest.mark.anyio
async def test_a_file_that_is_lost_is_found_out_before_any_header() -> None:
    with pytest.raises(StoreUnavailableError):
        await messages_of(Kept(LIMIT + 1, is_lost=True), content_of(LIMIT + 1), OFFERED)


@pytest.mark.anyio
@pytest.mark.parametrize("size_bytes", [LIMIT, 3 * LIMIT + 1])
@pytest.mark.parametrize(
    ("limit_bytes", "longest"), [(64 * LIMIT, LIMIT), (2 * LIMIT, SMALL_PIECE_BYTES)]
)
async def test_pieces_are_large_where_there_is_room_and_small_where_not(
    size_bytes: int, limit_bytes: int, longest: int
) -> None:
    memory = MemoryBudget(limit_bytes)
    kept = Kept(size_bytes, memory=memory)
    _, *sent = await messages_of(kept, content_of(size_bytes), {})
    lengths = [len(message["body"]) for message in sent]
    assert (max(lengths), sum(lengths), memory.held_bytes) == (longest, size_bytes, 0)


class Shrinking(Kept):
    """Bytes of a service that has got busy by the time they are read."""

    async def open(self, start: int, end: int) -> AsyncIterator[bytes]:
        if start == 0:
            self.memory.take_more(40 * LIMIT)
        return await super().open(start, end)


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Content above 64 KiB is read in large pieces while there is memory, else in small ones",
    kept_by="app/http/content_response.py",
    tried="1 MiB, then 64 KiB",
)
@pytest.mark.anyio
async def test_large_pieces_become_small_where_memory_gets_short() -> None:
    kept = Shrinking(4 * LIMIT)
    _, *sent = await messages_of(kept, content_of(kept.size_bytes), {})
    lengths = [len(message["body"]) for message in sent if message["body"]]
    assert lengths == [LIMIT] + [SMALL_PIECE_BYTES] * 48
    assert kept.memory.held_bytes == 40 * LIMIT


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Content is refused before it is read if there is no memory for it",
    kept_by="app/http/content_response.py",
    tried="0 reads, 0 bytes left",
)
@pytest.mark.anyio
async def test_nothing_is_read_for_a_reader_there_is_no_room_for() -> None:
    memory = MemoryBudget(2 * LIMIT)
    kept = Kept(3 * LIMIT, memory=memory)
    async with memory.reserving(2 * LIMIT):
        with pytest.raises(OverloadedError):
            await messages_of(kept, content_of(kept.size_bytes), {})
        small = Kept(SMALL_PIECE_BYTES, memory=memory)
        _, body = await messages_of(small, content_of(SMALL_PIECE_BYTES), {})
    assert (kept.opened, len(body["body"]), memory.held_bytes) == ([], SMALL_PIECE_BYTES, 0)
