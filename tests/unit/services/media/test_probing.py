"""Hints are right for good media, absent for bad ones, and never cost more than a glance."""

import struct
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from app.services.media.media_checks import probe_media, probe_stored_media
from app.stores.blobs.filesystem import FilesystemBlobStore
from app.stores.blobs.store import StoredBlob
from pagefault_dialects.media.headers import read_image_hints
from pagefault_dialects.model.media import CHUNK_BYTES, InMemoryMedia
from pagefault_dialects.model.resource import MediaHints
from tests.kit import media
from tests.kit.images import picture, saved

NO_HINTS = MediaHints()
MIB = 1024 * 1024


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class HugeMedia:
    """A handle on a large file: some first bytes, then zeros; refuses to be read as a whole."""

    declared_mime_type = None

    def __init__(self, beginning: bytes, size_bytes: int) -> None:
        self._beginning = beginning
        self.size_bytes = size_bytes

    def head(self, size_bytes: int) -> bytes:
        assert size_bytes <= 8 * MIB
        size = min(size_bytes, self.size_bytes)
        return self._beginning[:size] + bytes(max(0, size - len(self._beginning)))

    def read(self, start: int, size_bytes: int) -> bytes:
        return self.head(start + size_bytes)[start:]

    def chunks(self) -> Iterator[bytes]:
        raise AssertionError("a probe must not read everything")


def probe(data: bytes, mime_type: str, *, head_bytes: int = 4096) -> MediaHints:
    return probe_media(data[:head_bytes], InMemoryMedia(data), mime_type)


@pytest.mark.parametrize(
    ("mime_type", "file_format"),
    [
        ("image/png", "PNG"),
        ("image/jpeg", "JPEG"),
        ("image/gif", "GIF"),
        ("image/webp", "WEBP"),
        ("image/bmp", "BMP"),
        ("image/tiff", "TIFF"),
        ("image/avif", "AVIF"),
    ],
)
def test_the_pixels_of_an_image_are_known(mime_type: str, file_format: str) -> None:
    data = media.image(file_format, 320, 200)
    assert probe(data, mime_type) == MediaHints(width=320, height=200)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mime_type", "file_format", "options"),
    [
        ("image/webp", "WEBP", {}),
        ("image/webp", "WEBP", {"lossless": True}),
        ("image/webp", "WEBP", {"icc_profile": b"any"}),
        ("image/avif", "AVIF", {}),
    ],
    ids=["lossy", "lossless", "extended", "avif"],
)
def test_pixels_of_a_long_image_are_known_by_its_beginning(
    mime_type: str, file_format: str, options: dict[str, object]
) -> None:
    data = saved(picture(1_300, 1_100), file_format, **options)
    assert read_image_hints(data[:1_000], mime_type) == MediaHints(width=1_300, height=1_100)


def test_a_photograph_on_its_side_is_measured_as_displayed() -> None:
    assert probe(media.jpeg_on_its_side(64, 48), "image/jpeg") == MediaHints(width=48, height=64)


def test_a_header_beyond_the_head_at_hand_is_looked_up() -> None:
    # An application segment of the largest size pushes the dimensions behind it.
    segment = b"\xff\xed" + struct.pack(">H", 65535) + bytes(65533)
    data = media.jpeg(64, 48)
    data = data[:2] + segment * 4 + data[2:]
    assert probe(data, "image/jpeg") == MediaHints(width=64, height=48)


@pytest.mark.parametrize(
    ("mime_type", "make", "seconds"),
    [
        ("audio/wav", media.wav, 2.5),
        ("audio/flac", media.flac, 2.5),
        ("audio/ogg", media.ogg, 2.5),
        ("audio/mp4", media.m4a, 2.5),
        ("video/mp4", media.mp4, 2.5),
        ("video/mp4", partial(media.mp4, header_first=True), 2.5),
        ("video/webm", media.webm, 2.5),
        ("video/x-matroska", media.webm, 2.5),
    ],
)
def test_the_duration_of_audio_and_video_is_known(
    mime_type: str, make: partial[bytes], seconds: float
) -> None:
    assert probe(make(seconds), mime_type) == MediaHints(duration_seconds=seconds)


def test_the_duration_of_an_mp3_counts_whole_frames() -> None:
    found = probe(media.mp3(2.5), "audio/mpeg").duration_seconds
    assert found == pytest.approx(2.5, abs=0.06)


@pytest.mark.parametrize("mime_type", ["application/pdf", "text/plain", "image/svg+xml"])
def test_other_types_have_no_hints(mime_type: str) -> None:
    assert probe(media.png(), mime_type) == NO_HINTS


ALL_TYPES = [
    "image/png",
    "image/jpeg",
    "image/gif",
    "image/webp",
    "image/bmp",
    "image/tiff",
    "image/avif",
    "audio/mpeg",
    "audio/wav",
    "audio/ogg",
    "audio/flac",
    "video/mp4",
    "video/webm",
]
HOSTILE = {
    "empty": b"",
    "one byte": b"\xff",
    "zeros": bytes(2 * MIB),
    "sync words": b"\xff\xfb\x00\x00" * MIB,
    "noise": media.noise_bytes(MIB),
    "half a png": media.png()[:20],
    "half an mp4": media.mp4()[:-30],
    "half a webm": media.webm()[:60],
    "half an ogg": media.ogg()[:40],
    "endless matroska": bytes.fromhex("1a45dfa3ff 18538067 01ffffffffffffff 1549a966 ff"),
    "elements of nothing": bytes.fromhex("1853806701ffffffffffffff") + b"\xec\x80" * 5_000_000,
    "atom of size zero": bytes.fromhex("00000000") + b"ftyp" + bytes(100),
    "atoms of nothing": b"\0\0\0\x08free" * 100_000,
}


@pytest.mark.promise(
    "security.md#decoders",
    "Hostile bytes cost at most a missing hint (dimensions or duration)",
    kept_by="app/services/media/media_checks.py",
    tried="13 files as 13 types",
)
@pytest.mark.parametrize("mime_type", ALL_TYPES)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_bytes_cost_a_hint_and_nothing_else(name: str, mime_type: str) -> None:
    assert isinstance(probe(HOSTILE[name], mime_type), MediaHints)


@pytest.mark.parametrize("size", [(2**31 - 1, 2**31 - 1), (40_000, 40_000), (0, 5)])
def test_absurd_pixels_are_no_hint(size: tuple[int, int]) -> None:
    assert probe(media.png_claiming(*size), "image/png") == NO_HINTS


def test_a_pixel_bomb_is_measured_without_a_warning() -> None:
    hints = probe(media.png_claiming(20_000, 20_000), "image/png")
    assert hints == MediaHints(width=20_000, height=20_000)


@pytest.mark.promise(
    "security.md#decoders",
    "An absurd duration is not stored as a hint",
    kept_by="app/services/media/media_checks.py",
    tried="5 durations",
)
@pytest.mark.parametrize(
    "ticks", [float("nan"), float("inf"), -1.0, 0.0, 4e11], ids=["nan", "inf", "-1", "0", "years"]
)
def test_absurd_durations_are_no_hint(ticks: float) -> None:
    info = b"\x44\x89\x88" + struct.pack(">d", ticks)
    segment = b"\x15\x49\xa9\x66" + bytes([0x80 | len(info)]) + info
    data = b"\x1a\x45\xdf\xa3\x80\x18\x53\x80\x67" + bytes([0x80 | len(segment)]) + segment
    assert probe(data, "video/webm") == NO_HINTS


@pytest.mark.promise(
    "security.md#decoders",
    "A huge recording is measured by its header alone",
    kept_by="app/services/media/media_checks.py",
    tried="10 GiB",
)
def test_a_huge_recording_is_measured_by_its_header() -> None:
    size = 10 * 1024 * MIB
    header = bytearray(media.wav(1.0)[:44])
    header[40:44] = struct.pack("<I", 160_000_000)
    hints = probe_media(bytes(header), HugeMedia(bytes(header), size), "audio/wav")
    assert hints == MediaHints(duration_seconds=10_000.0)


def test_a_part_of_an_ogg_stream_does_not_tell_its_duration() -> None:
    source = HugeMedia(media.ogg(1.0)[:300], 100 * MIB)
    assert probe_media(source.head(4096), source, "audio/ogg") == NO_HINTS


@pytest.fixture
def store(tmp_path: Path) -> FilesystemBlobStore:
    return FilesystemBlobStore(tmp_path)


async def keep(store: FilesystemBlobStore, data: bytes) -> StoredBlob:
    return await store.put("project", InMemoryMedia(data), limit_bytes=100 * MIB)


def padded_mp4() -> bytes:
    """An MP4 of 20 MiB with its header at the very end."""
    data = media.mp4(2.5)
    filler = struct.pack(">I", 20 * MIB) + b"free" + bytes(20 * MIB - 8)
    position = data.index(b"mdat") - 4
    return data[:position] + filler + data[position:]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("data", "mime_type", "hints"),
    [
        (media.png(320, 200), "image/png", MediaHints(width=320, height=200)),
        (media.wav(2.5), "audio/wav", MediaHints(duration_seconds=2.5)),
        (padded_mp4(), "video/mp4", MediaHints(duration_seconds=2.5)),
        (bytes(20 * MIB), "video/mp4", NO_HINTS),
        (b"", "video/mp4", NO_HINTS),
        (media.pdf(), "application/pdf", NO_HINTS),
    ],
    ids=["png", "wav", "header last", "zeros", "empty", "pdf"],
)
async def test_a_stored_blob_is_probed_by_its_ends(
    store: FilesystemBlobStore, data: bytes, mime_type: str, hints: MediaHints
) -> None:
    blob = await keep(store, data)
    assert await probe_stored_media(store, "project", blob, mime_type) == hints


@pytest.mark.anyio
async def test_a_store_that_does_not_answer_costs_the_hints(store: FilesystemBlobStore) -> None:
    missing = StoredBlob("0" * 64, CHUNK_BYTES)
    assert await probe_stored_media(store, "project", missing, "image/png") == NO_HINTS
