"""The records of uploads in pieces, on both engines."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import anyio
import pytest

from app.errors import BlobSweptError
from app.models.upload import ResumableUpload, Segment
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.swept_blobs import SweptBlobRecords
from app.stores.records.uploads import UploadRecords
from pagefault_dialects.model.resource import MediaHints, Resource
from tests.kit.units import reading, writing

pytestmark = pytest.mark.anyio
PROJECT = "p"
NOW = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)
LATER = NOW + timedelta(seconds=1)
UPLOAD = ResumableUpload(
    upload_id="u",
    length_bytes=2**40,
    received_bytes=0,
    metadata="a AAAA",
    filename="n\x00\x1a\u20ac",
    mime_type="t\x00",
    created_at=NOW,
    expires_at=NOW,
)
FIRST = Segment(0, 2**33, "d" * 64)
SECOND = Segment(2**33, 5, "e" * 64)
RESOURCE = Resource(
    "0" * 32, FIRST.digest, "image/png", None, 2**33, "image", MediaHints(), created_at=NOW
)


@pytest.fixture
async def records(records: Records) -> Records:
    await records.write(PROJECT, lambda unit: unit[UploadRecords].add(UPLOAD))
    return records


async def found(records: Records) -> tuple[ResumableUpload | None, list[Segment]]:
    async with reading(records, PROJECT) as unit:
        return await unit[UploadRecords].find("u"), list(await unit[UploadRecords].segments("u"))


async def advance(records: Records, *segments: Segment) -> bool:
    return await records.write(
        PROJECT, lambda unit: unit[UploadRecords].advance("u", segments, expires_at=LATER)
    )


async def test_upload_is_found_as_it_was_added(records: Records) -> None:
    assert await found(records) == (UPLOAD, [])
    assert await records.read(PROJECT, lambda unit: unit[UploadRecords].find("v")) is None


async def test_segments_move_the_offset_and_the_expiry(records: Records) -> None:
    assert await advance(records, FIRST)
    moved = replace(UPLOAD, received_bytes=2**33, expires_at=LATER)
    assert await found(records) == (moved, [FIRST])
    assert await advance(records, SECOND, Segment(2**33 + 5, 1, "d" * 64))
    upload, segments = await found(records)
    assert upload == replace(moved, received_bytes=2**33 + 6)
    assert segments == [FIRST, SECOND, Segment(2**33 + 5, 1, "d" * 64)]


@pytest.mark.parametrize("segment", [SECOND, Segment(1, 1, "d" * 64)])
async def test_segment_elsewhere_does_not_count(records: Records, segment: Segment) -> None:
    assert not await advance(records, segment)
    assert await found(records) == (UPLOAD, [])


async def test_of_segments_at_one_offset_one_counts(records: Records) -> None:
    counted: list[Segment] = []

    async def race(segment: Segment) -> None:
        if await advance(records, segment):
            counted.append(segment)

    async with anyio.create_task_group() as racers:
        for number in range(8):
            racers.start_soon(race, Segment(0, number + 1, "d" * 64))
    upload = replace(UPLOAD, received_bytes=counted[0].size_bytes, expires_at=LATER)
    assert await found(records) == (upload, counted)


async def test_segment_of_a_swept_blob_does_not_count(records: Records) -> None:
    async with writing(records, PROJECT) as unit:
        claim = await unit[SweptBlobRecords].claim([FIRST.digest])
        assert claim is not None
        await unit[SweptBlobRecords].end_claim(claim, claim.digests)
    with pytest.raises(BlobSweptError):
        await advance(records, FIRST)
    assert await found(records) == (UPLOAD, [])


async def test_blob_of_a_segment_is_not_claimed_until_the_upload_is_complete(
    records: Records,
) -> None:
    await advance(records, FIRST, SECOND)
    digests = [FIRST.digest, SECOND.digest]
    async with writing(records, PROJECT) as unit:
        claim = await unit[SweptBlobRecords].claim(digests)
        assert claim is not None
        assert claim.digests == ()
        await unit[ResourceRecords].ensure(RESOURCE)
        assert await unit[UploadRecords].complete("u", RESOURCE.resource_id)
        claim = await unit[SweptBlobRecords].claim(digests)
        assert claim is not None
        assert claim.digests == (SECOND.digest,)


async def test_complete_upload_has_a_resource_and_no_segments(records: Records) -> None:
    await advance(records, FIRST)
    async with writing(records, PROJECT) as unit:
        assert await unit[UploadRecords].complete("u", "r")
        assert not await unit[UploadRecords].complete("v", "r")
    moved = replace(UPLOAD, received_bytes=2**33, expires_at=LATER, resource_id="r")
    assert await found(records) == (moved, [])


async def test_removed_upload_takes_its_segments_with_it(records: Records) -> None:
    await advance(records, FIRST)
    async with writing(records, PROJECT) as unit:
        assert await unit[UploadRecords].remove("u")
        assert not await unit[UploadRecords].remove("u")
    assert await found(records) == (None, [])
    assert not await advance(records, SECOND)


async def test_expired_uploads_are_removed_with_their_segments(records: Records) -> None:
    await advance(records, FIRST)
    async with writing(records, PROJECT) as unit:
        await unit[UploadRecords].add(replace(UPLOAD, upload_id="v", resource_id="r"))
        await unit[UploadRecords].add(replace(UPLOAD, upload_id="w"))
        assert await unit[UploadRecords].remove_expired(NOW) == 0
        assert await unit[UploadRecords].remove_expired(LATER) == 2
        assert await unit[UploadRecords].find("u") is not None
        assert await unit[UploadRecords].remove_expired(LATER + timedelta(microseconds=1)) == 1
    assert await found(records) == (None, [])


async def test_nothing_of_another_project_is_seen_or_changed(records: Records) -> None:
    await advance(records, FIRST)
    before = await found(records)
    async with writing(records, "other") as unit:
        assert await unit[UploadRecords].find("u") is None
        assert await unit[UploadRecords].segments("u") == []
        assert not await unit[UploadRecords].advance("u", [SECOND], expires_at=LATER)
        assert not await unit[UploadRecords].complete("u", "r")
        assert not await unit[UploadRecords].remove("u")
        assert await unit[UploadRecords].remove_expired(LATER + timedelta(days=1)) == 0
    assert await found(records) == before
