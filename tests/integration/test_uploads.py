"""Uploads in pieces over real stores: what counts when a piece ends early, and the completion."""

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta

import anyio
import pytest

from app.config.settings import Settings
from app.errors import ChecksumMismatchError, ConflictError, NotFoundError
from app.features import open_services
from app.models.identity import utc_now
from app.models.limits import Limits
from app.models.upload import Checksum, ResumableUpload, Segment
from app.services.access.callers import Access
from app.services.resources.resources import Resources
from app.services.uploads.segments import SEGMENT_BYTES
from app.services.uploads.uploads import UploadDraft, UploadPiece, Uploads
from app.stores.blobs.store import BlobStore, read_whole
from app.stores.records.records import Records
from app.stores.records.uploads import UploadRecords
from app.wiring.services import Services
from pagefault_dialects.model.media import InMemoryMedia
from tests.kit.units import writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
SEGMENT = 1_000
DATA = random.Random(4).randbytes(5 * SEGMENT + 17)  # noqa: S311 - only to tell slices apart
DRAFT = UploadDraft(len(DATA), None, "a.bin", None)


class BrokenConnectionError(Exception):
    """An error that ends a body early."""


@pytest.fixture
async def services(settings: Settings) -> AsyncIterator[Services]:
    async with open_services(settings) as opened:
        await opened[Access].ensure_project(PROJECT)
        yield opened


@pytest.fixture
def uploads(services: Services) -> Uploads:
    """The service, with segments of a thousand bytes."""
    return service(services)


def service(services: Services) -> Uploads:
    return Uploads(
        services[Records], services[BlobStore], limits=services[Limits], segment_bytes=SEGMENT
    )


async def body(
    data: bytes, end: Callable[[], object] = lambda: None, *, step: int = 300
) -> AsyncIterator[bytes]:
    """Bytes as they arrive, and what happens after."""
    for start in range(0, len(data), step):
        yield data[start : start + step]
    end()


def broken() -> None:
    raise BrokenConnectionError


def piece(offset: int, checksum: Checksum | None = None) -> UploadPiece:
    return UploadPiece(offset, None, checksum)


async def segments_of(services: Services, upload: ResumableUpload) -> Sequence[Segment]:
    return await services[Records].read(
        PROJECT, lambda unit: unit[UploadRecords].segments(upload.upload_id)
    )


async def content(services: Services, upload: ResumableUpload) -> bytes:
    """The bytes of what became of an upload."""
    resource = await services[Resources].get(PROJECT, upload.resource_id or "")
    return await read_whole(services[BlobStore], PROJECT, resource.digest)


async def test_long_piece_is_cut_into_segments(services: Services, uploads: Uploads) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    came = DATA[: 2 * SEGMENT + 1]
    sent = await uploads.receive(
        PROJECT, upload.upload_id, piece=piece(0), chunks=body(came, step=1_700)
    )
    cuts = [DATA[:SEGMENT], DATA[SEGMENT : 2 * SEGMENT], DATA[2 * SEGMENT : 2 * SEGMENT + 1]]
    assert await segments_of(services, upload) == [
        Segment(number * SEGMENT, len(cut), hashlib.sha256(cut).hexdigest())
        for number, cut in enumerate(cuts)
    ]
    rest = body(DATA[len(came) :])
    done = await uploads.receive(
        PROJECT, upload.upload_id, piece=piece(sent.received_bytes), chunks=rest
    )
    assert await content(services, done) == DATA
    assert await segments_of(services, upload) == []


def test_a_killed_process_loses_64_mib_of_an_upload_at_most() -> None:
    assert SEGMENT_BYTES == 64 * 1024 * 1024


@pytest.mark.parametrize("came", [0, 1, SEGMENT, SEGMENT + 1, 3 * SEGMENT + 7, len(DATA)])
async def test_what_came_before_a_body_broke_counts(
    services: Services, uploads: Uploads, came: int
) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    with pytest.raises(BrokenConnectionError):
        await uploads.receive(
            PROJECT, upload.upload_id, piece=piece(0), chunks=body(DATA[:came], broken)
        )
    assert sum(s.size_bytes for s in await segments_of(services, upload)) == came
    now = await uploads.get(PROJECT, upload.upload_id)
    assert (now.received_bytes, now.resource_id is None) == (came, came < len(DATA))
    rest = body(DATA[came:])
    done = await uploads.receive(PROJECT, upload.upload_id, piece=piece(came), chunks=rest)
    assert await content(services, done) == DATA


@pytest.mark.parametrize("came", [0, 1, 3 * SEGMENT + 7, len(DATA)])
async def test_of_a_broken_body_with_a_checksum_nothing_counts(
    services: Services, uploads: Uploads, came: int
) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    checksum = Checksum("sha256", hashlib.sha256(DATA[:came]).digest())
    with pytest.raises(BrokenConnectionError):
        await uploads.receive(
            PROJECT, upload.upload_id, piece=piece(0, checksum), chunks=body(DATA[:came], broken)
        )
    assert await uploads.get(PROJECT, upload.upload_id) == upload
    assert await segments_of(services, upload) == []


@pytest.mark.promise(
    "security.md#quotas-and-a-full-disk",
    "A piece of an upload with a wrong checksum gives its bytes back at once",
    kept_by="app/services/uploads/segments.py",
    tried="4 sizes, damaged and broken off, 0 blobs left",
)
@pytest.mark.parametrize("end", [broken, lambda: None], ids=["broken", "damaged"])
@pytest.mark.parametrize("came", [7, SEGMENT, 3 * SEGMENT + 7, len(DATA)])
async def test_of_a_piece_with_another_checksum_no_bytes_are_left(
    services: Services, uploads: Uploads, came: int, end: Callable[[], object]
) -> None:
    """But for those of a segment that something else needs as well."""
    kept = await uploads.create(PROJECT, DRAFT)
    await uploads.receive(PROJECT, kept.upload_id, piece=piece(0), chunks=body(DATA[:SEGMENT]))
    upload = await uploads.create(PROJECT, DRAFT)
    with pytest.raises((BrokenConnectionError, ChecksumMismatchError)):
        await uploads.receive(
            PROJECT,
            upload.upload_id,
            piece=piece(0, Checksum("sha256", hashlib.sha256(b"other").digest())),
            chunks=body(DATA[:came], end),
        )
    (segment,) = await segments_of(services, kept)
    assert [blob.digest async for blob in services[BlobStore].list_blobs(PROJECT)] == [
        segment.digest
    ]


async def test_body_with_a_checksum_counts_all_at_once(
    services: Services, uploads: Uploads
) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    checksum = Checksum("sha1", hashlib.sha1(DATA, usedforsecurity=False).digest())
    done = await uploads.receive(
        PROJECT, upload.upload_id, piece=piece(0, checksum), chunks=body(DATA)
    )
    assert (done.received_bytes, await content(services, done)) == (len(DATA), DATA)


@pytest.mark.parametrize("size", [700, 2_000_000, 9_000_000], ids=["read", "file", "part"])
async def test_what_came_before_a_request_was_cancelled_counts(
    services: Services, size: int
) -> None:
    uploads = services[Uploads]
    data = random.Random(5).randbytes(size)  # noqa: S311 - only to tell slices apart
    upload = await uploads.create(PROJECT, UploadDraft(2 * size, None, None, None))

    async def chunks() -> AsyncIterator[bytes]:
        # It takes effect where the request waits next: while the store is writing, if it does.
        request.cancel()
        yield data
        await asyncio.Event().wait()

    request = asyncio.ensure_future(
        uploads.receive(PROJECT, upload.upload_id, piece=piece(0), chunks=chunks())
    )
    with pytest.raises(asyncio.CancelledError):
        await request
    assert (await uploads.get(PROJECT, upload.upload_id)).received_bytes == size


async def test_what_came_before_a_scope_was_cancelled_counts(uploads: Uploads) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    with anyio.CancelScope() as scope:
        chunks = body(DATA[: SEGMENT + 300], scope.cancel)
        await uploads.receive(PROJECT, upload.upload_id, piece=piece(0), chunks=chunks)
    # The body had come to its end when the scope was cancelled, and was kept before that showed.
    assert (await uploads.get(PROJECT, upload.upload_id)).received_bytes == SEGMENT + 300


@pytest.mark.parametrize("is_checked", [False, True])
async def test_who_comes_back_ends_the_request_that_hangs(
    uploads: Uploads, is_checked: bool
) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    hanging = anyio.Event()
    checksum = Checksum("sha256", bytes(32)) if is_checked else None

    async def chunks() -> AsyncIterator[bytes]:
        yield DATA[: SEGMENT + 10]
        hanging.set()
        await anyio.sleep_forever()

    async def send() -> None:
        with pytest.raises(ConflictError) as ended:
            await uploads.receive(
                PROJECT, upload.upload_id, piece=piece(0, checksum), chunks=chunks()
            )
        assert ended.value.problem_code == "upload-superseded"

    async with anyio.create_task_group() as requests:
        requests.start_soon(send)
        await hanging.wait()
        assert (await uploads.get(PROJECT, upload.upload_id)).received_bytes <= SEGMENT
        resumed = await uploads.resume(PROJECT, upload.upload_id)
    assert resumed.received_bytes == (0 if is_checked else SEGMENT + 10)


async def test_piece_that_another_overtook_does_not_count(uploads: Uploads) -> None:
    upload = await uploads.create(PROJECT, DRAFT)
    other = [piece(0)]

    async def overtaken() -> AsyncIterator[bytes]:
        yield DATA[:10]
        await uploads.receive(PROJECT, upload.upload_id, piece=other.pop(), chunks=body(DATA[:500]))
        yield DATA[10:20]

    with pytest.raises(ConflictError) as refused:
        await uploads.receive(PROJECT, upload.upload_id, piece=piece(0), chunks=overtaken())
    assert (refused.value.problem_code, "offset 500." in refused.value.detail) == (
        *("upload-offset", True),
    )
    assert (await uploads.get(PROJECT, upload.upload_id)).received_bytes == 500


async def test_upload_that_is_removed_meanwhile_becomes_nothing(
    services: Services, uploads: Uploads
) -> None:
    upload = await uploads.create(PROJECT, DRAFT)

    async def removed() -> AsyncIterator[bytes]:
        yield DATA
        await uploads.remove(PROJECT, upload.upload_id)

    with pytest.raises(NotFoundError):
        await uploads.receive(PROJECT, upload.upload_id, piece=piece(0), chunks=removed())
    assert await segments_of(services, upload) == []
    assert await services[Resources].list(PROJECT, cursor=None, limit=9) == ([], None)


async def received(services: Services, *sizes: int) -> ResumableUpload:
    """An upload that has come whole, in such pieces, when the process died."""
    upload = await services[Uploads].create(PROJECT, DRAFT)
    segments, start = [], 0
    for size in sizes:
        cut = InMemoryMedia(DATA[start : start + size])
        blob = await services[BlobStore].put(PROJECT, cut, limit_bytes=size)
        segments.append(Segment(start, blob.size_bytes, blob.digest))
        start += size
    assert start == len(DATA)
    async with writing(services[Records], PROJECT) as unit:
        later = utc_now() + timedelta(days=1)
        assert await unit[UploadRecords].advance(upload.upload_id, segments, expires_at=later)
    return upload


@pytest.mark.parametrize("sizes", [(len(DATA),), (1, len(DATA) - 1), (SEGMENT,) * 5 + (17,)])
@pytest.mark.parametrize("question", ["get", "describe", "receive"])
async def test_upload_that_was_not_completed_is_by_the_next_question(
    services: Services, sizes: tuple[int, ...], question: str
) -> None:
    upload = await received(services, *sizes)
    uploads = services[Uploads]
    if question == "get":
        done = await uploads.get(PROJECT, upload.upload_id)
    elif question == "describe":
        done = (await uploads.describe(PROJECT, upload.upload_id))[0]
    else:
        end = piece(len(DATA))
        done = await uploads.receive(PROJECT, upload.upload_id, piece=end, chunks=body(b""))
    assert await content(services, done) == DATA
    assert await segments_of(services, upload) == []


async def test_completions_at_once_give_one_resource(services: Services) -> None:
    upload = await received(services, *(SEGMENT,) * 5, 17)
    # As in two processes: each service knows only its own completions.
    both = [service(services), service(services)]
    done: list[ResumableUpload] = []

    async def ask(uploads: Uploads) -> None:
        done.append(await uploads.get(PROJECT, upload.upload_id))

    async with anyio.create_task_group() as questions:
        for number in range(8):
            questions.start_soon(ask, both[number % 2])
    assert len(set(done)) == 1
    assert await content(services, done[0]) == DATA
    assert len((await services[Resources].list(PROJECT, cursor=None, limit=9))[0]) == 1


async def test_lost_segment_is_asked_for_again(services: Services) -> None:
    upload = await received(services, *(SEGMENT,) * 5, 17)
    segments = await segments_of(services, upload)
    await services[BlobStore].delete(PROJECT, segments[3].digest)
    found = await services[Uploads].get(PROJECT, upload.upload_id)
    start = segments[3].start
    assert (found.received_bytes, found.resource_id) == (start, None)
    assert await segments_of(services, upload) == segments[:3]
    assert (await services[Resources].list(PROJECT, cursor=None, limit=9))[0] == []
    done = await services[Uploads].receive(
        PROJECT, upload.upload_id, piece=piece(start), chunks=body(DATA[start:])
    )
    assert await content(services, done) == DATA


async def test_only_segment_that_was_lost_is_asked_for_again(services: Services) -> None:
    upload = await received(services, len(DATA))
    (segment,) = await segments_of(services, upload)
    await services[BlobStore].delete(PROJECT, segment.digest)
    found = await services[Uploads].get(PROJECT, upload.upload_id)
    assert (found.received_bytes, found.resource_id) == (0, None)
    assert await segments_of(services, upload) == []
