"""Media that are to be shown are judged wherever they are, and read no more often than needed."""

from pathlib import Path

import pytest

from app.errors import StoreUnavailableError
from app.models.identity import utc_now
from app.services.media.media_checks import MediaChecks
from app.services.media.media_keeper import MediaKeeper
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import StoredBlob
from pagefault_dialects.model.conversation import (
    Address,
    InlineBytes,
    Medium,
    MediumSource,
    StoredBytes,
)
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.normalized import NormalizedMedia
from pagefault_dialects.model.resource import Damage
from tests.kit import media

PNG = media.png(400, 300, noise=True)
DAMAGE = Damage("damaged-media", "The image/png is damaged: it ends inside of its IDAT chunk.")

pytestmark = pytest.mark.anyio


def medium(source: MediumSource, size_bytes: int | None) -> Medium:
    return Medium("/parts/0", source, "image", "image/png", None, size_bytes)


@pytest.mark.parametrize(("size", "damage"), [(len(PNG), None), (len(PNG) - 50, DAMAGE)])
async def test_a_medium_is_judged_where_it_is_and_read_once(
    tmp_path: Path, size: int, damage: Damage | None
) -> None:
    data = PNG[:size]
    blobs = FilesystemBlobStore(tmp_path)
    checks = MediaChecks(blobs)
    blob: StoredBlob = await blobs.put("p", InMemoryMedia(data), limit_bytes=len(data))
    stored = medium(StoredBytes("a" * 32, blob.digest), len(data))
    assert await checks.check_medium("p", stored) == damage
    await blobs.delete("p", blob.digest)
    assert await checks.check_medium("p", stored) == damage
    assert await checks.check_medium("p", medium(InlineBytes(data), len(data))) == damage


async def test_bytes_that_a_store_has_lost_are_not_judged(tmp_path: Path) -> None:
    blobs = FilesystemBlobStore(tmp_path)
    checks = MediaChecks(blobs)
    part = PNG[: len(PNG) // 2]
    blob: StoredBlob = await blobs.put("p", InMemoryMedia(part), limit_bytes=len(part))
    stored = medium(StoredBytes("a" * 32, blob.digest), len(PNG))
    for _ in range(2):
        with pytest.raises(StoreUnavailableError):
            await checks.check_medium("p", stored)


async def test_what_is_kept_is_judged_for_all_who_show_it(tmp_path: Path) -> None:
    blobs = FilesystemBlobStore(tmp_path)
    checks = MediaChecks(blobs)
    keeper = MediaKeeper(blobs, "p", limit_bytes=len(PNG), now=utc_now(), checks=checks)
    cut = NormalizedMedia(InMemoryMedia(PNG[:-50]), must_be_stored=True)
    (kept,) = await keeper.process_all([cut])
    assert kept.resource is not None
    await blobs.delete("p", kept.resource.digest)
    stored = medium(StoredBytes("a" * 32, kept.resource.digest), len(PNG) - 50)
    assert await checks.check_medium("p", stored) == kept.damage == DAMAGE


@pytest.mark.parametrize("data", [b"", b"x", b"\x89PNG\r\n\x1a\n"])
async def test_a_small_medium_in_a_record_is_judged(tmp_path: Path, data: bytes) -> None:
    checks = MediaChecks(FilesystemBlobStore(tmp_path))
    assert await checks.check_medium("p", medium(InlineBytes(data), len(data))) is not None


async def test_nothing_is_known_of_what_is_elsewhere(tmp_path: Path) -> None:
    checks = MediaChecks(FilesystemBlobStore(tmp_path))
    assert await checks.check_medium("p", medium(Address("https://a.example/b.png"), None)) is None
