"""Bodies of one piece: in memory with all that is in them, and quick ones without a thread."""

import base64
import hashlib
import json
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from app.services.concurrency.large_work import LargeWork, is_quick
from app.services.memory_budget.budget import MemoryBudget
from app.services.memory_budget.request_bodies import BodyBudget
from app.services.requests.streamed_bodies import InMemoryDraft, ReceivedBody, StreamedBodies
from app.services.tool_results.tool_result_requests import (
    NormalizedRequest,
    ParsedToolResult,
    load_whole_request,
    normalize_streamed,
    read_tool_result_request,
)
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import StoredBlob
from pagefault_dialects.streams.placeholders import PlaceholderMarks
from tests.kit.media import noise_bytes, png
from tests.unit.services.requests.received import LIMITS, PROJECT, files_in

pytestmark = pytest.mark.anyio
MEDIUM = png(200, 200, noise=True)
SCREENSHOT = {
    "content": [
        {"type": "text", "text": "Opened the page."},
        {"type": "image", "data": base64.b64encode(MEDIUM).decode(), "mimeType": "image/png"},
    ]
}


def call(result: object) -> bytes:
    return json.dumps({"toolName": "t", "toolCallId": "c", "result": result}).encode()


def read(body: bytes) -> ParsedToolResult:
    return read_tool_result_request(body, max_depth=LIMITS.json_depth, max_nodes=LIMITS.json_nodes)


def bodies(folder: Path) -> StreamedBodies:
    budget = BodyBudget(MemoryBudget(LIMITS.memory_bytes), text_limit_bytes=LIMITS.text_bytes)
    store = FilesystemBlobStore(folder)
    return StreamedBodies(store, LargeWork(LIMITS), budget, limit_bytes=LIMITS.medium_bytes)


async def pieces_of(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 10_000):
        yield body[start : start + 10_000]


def normalized(body: ReceivedBody) -> NormalizedRequest:
    return normalize_streamed(body.finish(), read, body.reserve_text)


def workers() -> set[int | None]:
    """Return the threads that work for event loops, those of other tests included."""
    return {thread.ident for thread in threading.enumerate() if "worker thread" in thread.name}


@pytest.mark.parametrize("size_bytes", [1, 2_000, 16_000])
async def test_quick_body_is_received_and_normalized_without_a_thread(
    size_bytes: int, tmp_path: Path
) -> None:
    text = ("word " * size_bytes)[:size_bytes]
    before = workers()
    async with bodies(tmp_path).receive(PROJECT, pieces_of(call(text))) as body:
        assert body.is_quick
        assert normalized(body).request.result == text
    assert workers() <= before


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Text that is long or may have many values is worked on in a thread, not in the event loop",
    kept_by="app/services/concurrency/large_work.py",
    tried="more than 16 KiB, or 256 values; what is less takes 20 ms of processor time at worst",
)
@pytest.mark.parametrize(
    "result", ["word " * 3_500, [0] * 300, {str(number): {} for number in range(150)}, "," * 300]
)
async def test_text_that_is_long_or_may_have_many_values_is_not_quick(
    result: object, tmp_path: Path
) -> None:
    async with bodies(tmp_path).receive(PROJECT, pieces_of(call(result))) as body:
        assert not body.is_quick


async def test_medium_of_one_piece_is_never_in_a_file_before_it_is_stored(tmp_path: Path) -> None:
    async with bodies(tmp_path).receive(PROJECT, pieces_of(call(SCREENSHOT))) as body:
        assert not body.is_quick
        json_stream = body.finish()
        found = normalize_streamed(json_stream, read, body.reserve_text)
        (medium,) = found.normalized.media
        assert isinstance(medium.source, DraftMedia)
        assert b"".join(medium.source.chunks()) == MEDIUM
        assert files_in(tmp_path) == frozenset()
        digest = hashlib.sha256(MEDIUM).hexdigest()
        for _ in range(2):
            assert await medium.source.draft.commit() == StoredBlob(digest, len(MEDIUM))
        assert is_quick(*json_stream.texts)
        assert found.request.result != SCREENSHOT
        assert load_whole_request(json_stream, found.request, read).result == SCREENSHOT
    assert [Path(path).name for path in files_in(tmp_path)] == [digest]


async def test_medium_in_many_pieces_is_in_a_file_at_once(tmp_path: Path) -> None:
    large = base64.b64encode(noise_bytes(2_000_000)).decode()
    async with bodies(tmp_path).receive(PROJECT, pieces_of(call(large))):
        assert len(files_in(tmp_path)) == 1
    assert files_in(tmp_path) == frozenset()


async def test_held_draft_reads_what_was_appended(tmp_path: Path) -> None:
    draft = InMemoryDraft(FilesystemBlobStore(tmp_path), PROJECT, limit_bytes=10)
    for piece in (b"ab", b"", b"cde"):
        draft.append(piece)
    draft.release()
    assert (draft.size_bytes, draft.read(1, 3), draft.read(3, 9)) == (5, b"bcd", b"de")
    assert draft.digest() == hashlib.sha256(b"abcde").hexdigest()
    await draft.discard()
    assert files_in(tmp_path) == frozenset()


def test_marks_are_found_as_they_are_and_in_base64() -> None:
    marks = PlaceholderMarks()
    one, other = marks.make_mark(3), marks.make_mark(700)
    assert marks.make_mark(5, first=3) == one
    encoded = base64.b64encode(other).decode()
    assert marks.find_numbers(f"a {one.decode()} b") == {3, 5}
    assert marks.find_numbers(f"{encoded}{encoded}") == {700}
    assert marks.find_numbers(f"{one.decode()}{one.decode()}-{encoded}=") == {3, 5, 700}
    assert marks.find_numbers(f"{one.decode()[:-1]} {encoded[:-1]}") == set()
    assert marks.find_numbers(f"{one.decode()[:-1]}x {encoded[:-1]}!") == set()
    assert PlaceholderMarks().find_numbers(one.decode()) == set()
