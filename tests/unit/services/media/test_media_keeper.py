"""The media of one request are kept together, each once, and looked at while they are stored."""

import base64
import hashlib
from pathlib import Path

import anyio.to_thread
import pytest

from app.models.identity import utc_now
from app.models.resource_descriptor import derive_resource_id
from app.services.media.media_keeper import MediaKeeper, ProcessedMedium
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.filesystem import FilesystemBlobStore
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.normalized import NormalizedMedia
from pagefault_dialects.model.resource import Damage, MediaHints, Resource
from tests.kit.media import noise_bytes, png

pytestmark = pytest.mark.anyio

PROJECT = "p"
NOW = utc_now()
ICON, PICTURE = png(2, 2), png(40, 30)
LONG = png(8, 6) + noise_bytes(200_000)
CUT = PICTURE[:-20]
DAMAGE = Damage("damaged-media", "The image/png is damaged: it ends inside of its IDAT chunk.")


def keeper(blobs: FilesystemBlobStore) -> MediaKeeper:
    return MediaKeeper(blobs, PROJECT, limit_bytes=2**20, now=NOW)


def resource(data: bytes, size: tuple[int, int], filename: str | None = None) -> Resource:
    digest = hashlib.sha256(data).hexdigest()
    return Resource(
        resource_id=derive_resource_id(PROJECT, digest, "image/png", filename),
        digest=digest,
        mime_type="image/png",
        filename=filename,
        size_bytes=len(data),
        kind="image",
        hints=MediaHints(*size),
        created_at=NOW,
    )


async def test_media_are_kept_in_their_order_and_small_images_stay_inline(tmp_path: Path) -> None:
    blobs = FilesystemBlobStore(tmp_path)
    draft = blobs.draft(PROJECT, limit_bytes=2**20)
    await anyio.to_thread.run_sync(draft.append, LONG)
    kept = await keeper(blobs).process_all(
        [
            NormalizedMedia(InMemoryMedia(ICON)),
            NormalizedMedia(InMemoryMedia(PICTURE), must_be_stored=True),
            NormalizedMedia(DraftMedia(draft), filename="long.png"),
            NormalizedMedia(InMemoryMedia(CUT), must_be_stored=True),
            NormalizedMedia(InMemoryMedia(ICON)),
        ]
    )
    await draft.discard()
    icon = ProcessedMedium("image/png", None, None, base64.b64encode(ICON).decode())
    assert kept == [
        icon,
        ProcessedMedium("image/png", None, resource(PICTURE, (40, 30))),
        ProcessedMedium("image/png", "long.png", resource(LONG, (8, 6), "long.png")),
        ProcessedMedium("image/png", None, resource(CUT, (40, 30)), damage=DAMAGE),
        icon,
    ]
    digests = {item.resource.digest for item in kept if item.resource}
    assert {blob.digest async for blob in blobs.list_blobs(PROJECT)} == digests


async def test_medium_is_kept_once_however_often_it_comes(tmp_path: Path) -> None:
    keeping = keeper(FilesystemBlobStore(tmp_path))
    long = InMemoryMedia(LONG)
    media = [
        NormalizedMedia(source, must_be_stored=True)
        for source in (InMemoryMedia(ICON), long, InMemoryMedia(ICON), long)
    ]
    first = await keeping.process_all(media)
    again = await keeping.process_all(media)
    assert {id(item) for item in again} == {id(item) for item in first[:2]}
    assert again == first == [*first[:2], *first[:2]]
