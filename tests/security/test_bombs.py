"""Small files that stand for large ones: stored as they are, and never unpacked beyond bounds."""

import base64
import io
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PIL import Image

from tests import media
from tests.e2e.test_resumable_upload import Process
from tests.images import jpeg_in_three_scans, saved

pytestmark = pytest.mark.xdist_group("bombs")

MIB = 1024 * 1024
MOST_GROWTH_BYTES = 64 * MIB


def png_of(side: int) -> bytes:
    """A black and white PNG, whole and valid, of any size in next to no bytes."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    packed = zlib.compressobj(9)
    row = bytes(1 + side // 8)
    pixels = b"".join([*(packed.compress(row) for _ in range(side)), packed.flush()])
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def text_in_png(size_bytes: int) -> bytes:
    """A small PNG with a compressed text of so many bytes."""
    note = b"a\0\0" + zlib.compress(bytes(size_bytes), 9)
    chunk = (
        struct.pack(">I", len(note))
        + b"zTXt"
        + note
        + struct.pack(">I", zlib.crc32(b"zTXt" + note))
    )
    whole = media.png()
    return whole[:33] + chunk + whole[33:]


def frames(count: int) -> bytes:
    """An animation of many frames."""
    out = io.BytesIO()
    first, *others = [Image.new("L", (256, 256), number % 255) for number in range(count)]
    first.save(out, "GIF", save_all=True, append_images=others)
    return out.getvalue()


def tiff_of(side: int) -> bytes:
    """A black and white TIFF of any size, packed as fax machines do."""
    return saved(Image.new("1", (side, side)), "TIFF", compression="group4")


BOMBS: dict[str, tuple[Callable[[], bytes], str]] = {
    "png of 400 megapixels": (partial(png_of, 20_000), "image/png"),
    "png that claims 10 gigapixels": (partial(media.png_claiming, 100_000, 100_000), "image/png"),
    "png with 128 MiB of text": (partial(text_in_png, 128 * MIB), "image/png"),
    "jpeg of three scans": (partial(jpeg_in_three_scans, 8_192), "image/jpeg"),
    "tiff of 100 megapixels": (partial(tiff_of, 10_000), "image/tiff"),
    "gif of 300 frames": (partial(frames, 300), "image/gif"),
}


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """A service that has made an image smaller before, so that all it needs for that is loaded."""
    started = Process(tmp_path_factory.mktemp("bombs") / Path("data"))
    with started:
        told(started, media.png(300, 200, noise=True), "image/png", "warm")
        yield started


def told(process: Process, data: bytes, mime_type: str, place: str) -> list[int]:
    """The answers where an image is described, made smaller and rendered."""
    encoded = base64.b64encode(data).decode()
    block = {"type": "image", "data": encoded, "mimeType": mime_type}
    call = {"toolName": "t", "toolCallId": place, "result": block, "sessionId": place}
    page = {"modality": "image", "content": f"data:{mime_type};base64,{encoded}"}
    with process.client() as client:
        answers = [
            client.post("/api/resources", content=data),
            client.post("/api/tool-results", json=call),
            client.put(f"/api/pages/{place}", json=page),
            client.get(f"/api/pages/{place}/blocks?level=1"),
            client.get(f"/api/sessions/{place}/render?target=anthropic"),
            client.get(f"/api/sessions/{place}/render?target=openai-chat&detail=low"),
            client.get("/healthz"),
        ]
    return [answer.status_code for answer in answers]


@pytest.mark.parametrize("name", BOMBS)
def test_bomb_is_stored_described_and_never_unpacked(process: Process, name: str) -> None:
    make, mime_type = BOMBS[name]
    data = make()
    assert len(data) < MIB
    before = process.peak_bytes()
    answers = told(process, data, mime_type, name.replace(" ", "-"))
    grown = process.peak_bytes() - before
    print(f"{name}: {len(data)} bytes, grew by {grown // MIB} MiB")  # noqa: T201 - the measure
    assert answers == [201, 201, 201, 200, 200, 200, 200]
    assert grown < MOST_GROWTH_BYTES
