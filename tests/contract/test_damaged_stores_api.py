"""Files that were damaged or lost behind the service's back, met over HTTP on both engines."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from app.settings import Settings
from app.stores.blobs.store import blob_path, quarantine_path
from tests.contract.bundled_sessions import SESSION, make_small_session
from tests.contract.upload_requests import DATA, begin, content, offset_of, send
from tests.integration.sweep_stores import BehindTheStore, digest_of
from tests.servers import LiveService, serving

PROJECT = "p"
PIECE_BYTES = 100_000
PIECES = [DATA[start : start + PIECE_BYTES] for start in range(0, len(DATA), PIECE_BYTES)]
ATTACHED = b"attached"

Harm = Callable[[BehindTheStore, bytes], None]


@pytest.fixture
def server(settings: Settings) -> Iterator[LiveService]:
    with serving(settings) as live:
        yield live


@pytest.fixture
def client(server: LiveService) -> Iterator[httpx.Client]:
    with server.client(server.new_key(PROJECT)) as client:
        yield client


@pytest.fixture
def behind(server: LiveService) -> BehindTheStore:
    return BehindTheStore(server.settings)


def damage(behind: BehindTheStore, data: bytes) -> None:
    """Flip a bit in the middle of a file; it stays as long as it was."""
    middle = len(data) // 2
    flipped = data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    behind.write(blob_path(PROJECT, digest_of(data)), flipped)


def remove(behind: BehindTheStore, data: bytes) -> None:
    behind.remove(blob_path(PROJECT, digest_of(data)))


def quarantine(behind: BehindTheStore, data: bytes) -> None:
    """Do what a check does with a file that is damaged."""
    behind.write(quarantine_path(PROJECT, digest_of(data)), data)
    remove(behind, data)


@pytest.mark.parametrize("size", [PIECE_BYTES, len(DATA)], ids=["same pieces", "all at once"])
@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("harm", [damage, remove, quarantine])
def test_upload_goes_on_where_what_came_was_damaged(
    client: httpx.Client, behind: BehindTheStore, harm: Harm, number: int, size: int
) -> None:
    path = begin(client, len(DATA))
    for start, piece in zip((0, PIECE_BYTES), PIECES, strict=False):
        assert send(client, path, start, piece).status_code == 204
    harm(behind, PIECES[number])
    back = number * PIECE_BYTES
    last = send(client, path, 2 * PIECE_BYTES, PIECES[2])
    assert (last.status_code, last.headers["upload-offset"]) == (204, str(back))
    assert "upload-resource" not in last.headers
    assert offset_of(client, path) == back
    assert client.get("/api/resources").json()["items"] == []
    for start in range(back, len(DATA), size):
        last = send(client, path, start, DATA[start : start + size])
        assert last.status_code == 204
    assert last.headers["upload-offset"] == str(len(DATA))
    assert content(client, last.headers["upload-resource"].rpartition("/")[2]) == DATA


@pytest.mark.parametrize("harm", [damage, remove])
def test_bundle_with_a_damaged_file_breaks_off(
    client: httpx.Client, behind: BehindTheStore, harm: Harm
) -> None:
    make_small_session(client)
    harm(behind, ATTACHED)
    with pytest.raises(httpx.RemoteProtocolError):
        client.get(f"/api/sessions/{SESSION}/bundle")
    assert client.get(f"/api/sessions/{SESSION}").status_code == 200
