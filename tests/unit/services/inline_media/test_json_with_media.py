"""The bytes of a rendering, read from a store of files while they are sent."""

import hashlib
from pathlib import Path

import pybase64
import pytest

from app.errors import StoreUnavailableError
from app.services.inline_media.json_with_media import RenderedBody
from app.stores.blobs.filesystem import FilesystemBlobStore
from pagefault_dialects.model.conversation import MediaItem, Medium, StoredBytes
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import MediaHints
from pagefault_dialects.targets.base64_leaves import Base64Leaf, json_pieces
from tests.kit.media import noise_bytes

pytestmark = pytest.mark.anyio
PROJECT = "p"
LARGE = noise_bytes(1_000_001)


async def body(
    directory: Path, *media: bytes, claimed_bytes: int = 0, is_kept: bool = True
) -> RenderedBody:
    """A list of media, each `claimed_bytes` longer than it is."""
    blobs = FilesystemBlobStore(directory)
    leaves = []
    for data in media:
        if is_kept:
            await blobs.put(PROJECT, InMemoryMedia(data), limit_bytes=2**24)
        source = StoredBytes("ab" * 16, hashlib.sha256(data).hexdigest())
        size = len(data) + claimed_bytes
        medium = Medium("", source, "image", "image/png", None, size)
        attachment = MediaItem(medium, source, "image", "image/png", size, MediaHints())
        leaves.append(Base64Leaf(attachment))
    return RenderedBody(blobs, PROJECT, json_pieces([*leaves, "end"]))


async def sent(rendered: RenderedBody) -> bytes:
    return b"".join([chunk async for chunk in rendered.chunks()])


@pytest.mark.parametrize(
    "media", [(), (b"",), (b"a",), (b"ab",), (b"abc",), (b"abcd",), (LARGE,), (LARGE, b"a", LARGE)]
)
async def test_it_is_as_long_as_it_says_and_holds_the_bytes(
    media: tuple[bytes, ...], tmp_path: Path
) -> None:
    rendered = await body(tmp_path, *media)
    whole = await sent(rendered)
    encoded = [f'"{pybase64.b64encode(data).decode()}"' for data in media]
    expected = ",".join([*encoded, '"end"'])
    assert whole.decode() == f"[{expected}]"
    assert rendered.rendering.size_bytes == len(whole)


async def test_what_is_lost_is_never_sent_as_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError):
        await sent(await body(tmp_path, b"abc", is_kept=False))


@pytest.mark.parametrize("claimed_bytes", [1, -1])
async def test_a_medium_of_another_length_never_passes_for_whole(
    claimed_bytes: int, tmp_path: Path
) -> None:
    rendered = await body(tmp_path, LARGE, claimed_bytes=claimed_bytes)
    with pytest.raises(StoreUnavailableError):
        await sent(rendered)
