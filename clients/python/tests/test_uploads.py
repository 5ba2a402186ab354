"""Uploads, whole and cut."""

import io
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest

from clients.python.tests.servers import CuttingProxy, Reply, ScriptedService
from pagefault_client import (
    AsyncPagefault,
    ConnectionFailedError,
    DigestMismatchError,
    Pagefault,
    UploadProgress,
    retrying,
)

PIECE = 8 * 1024 * 1024


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrying, "FIRST_PAUSE_SECONDS", 0.001)


def pieces(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + 999_983] for at in range(0, len(data), 999_983))


async def awaited_pieces(data: bytes) -> AsyncIterator[bytes]:
    for piece in pieces(data):
        yield piece


def test_small_files_go_in_one_request(pf: Pagefault, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"Ten sheep.\n")
    told: list[UploadProgress] = []
    from_path = pf.resources.upload(path, on_progress=told.append)
    with path.open("rb") as file:
        from_file = pf.resources.upload(file)
    assert (from_path["mimeType"], from_path.get("filename")) == ("text/plain", "notes.txt")
    assert from_file["uri"] == from_path["uri"]
    assert told == [UploadProgress(11, 11, None)]
    assert pf.resources.upload(b"", filename="empty.bin")["size"] == 0


def test_large_files_go_in_pieces_and_say_how_far_they_are(pf: Pagefault, big: bytes) -> None:
    told: list[UploadProgress] = []
    stored = pf.resources.upload(io.BytesIO(big), filename="big.bin", on_progress=told.append)
    assert [each.sent for each in told] == [PIECE, 2 * PIECE, len(big)]
    assert (stored["size"], stored.get("filename")) == (len(big), "big.bin")
    assert pf.resources.bytes(stored["uri"]) == big


def test_streams_need_no_length(pf: Pagefault, big: bytes) -> None:
    stored = pf.resources.upload(pieces(big), filename="big.bin")
    assert pf.resources.upload(pieces(big), filename="big.bin", length=len(big)) == stored
    with pytest.raises(ValueError, match="1 bytes before"):
        pf.resources.upload(pieces(big), length=len(big) + 1)
    with pytest.raises(TypeError, match="text"):
        pf.resources.upload(io.StringIO("text"))  # type: ignore[arg-type]


def test_a_cut_costs_only_what_was_not_stored(proxy: CuttingProxy, big: bytes) -> None:
    proxy.cuts = [3_000_000, 4_000_000, 1_000_000]
    with Pagefault(proxy.url) as client:
        stored = client.resources.upload(pieces(big), filename="cut.bin", length=len(big))
        assert client.resources.bytes(stored["uri"]) == big
    assert (stored["size"], proxy.cuts) == (len(big), [])


def test_another_process_goes_on_where_one_ended(
    pf: Pagefault, proxy: CuttingProxy, big: bytes
) -> None:
    told: list[UploadProgress] = []

    def end(progress: UploadProgress) -> None:
        told.append(progress)
        proxy.close()

    with Pagefault(proxy.url, retries=0) as client, pytest.raises(ConnectionFailedError) as ended:
        client.resources.upload(big, filename="resumed.bin", on_progress=end)
    upload_id = told[0].upload_id
    assert upload_id is not None
    assert upload_id in ended.value.__notes__[0]
    stored = pf.resources.upload(big, upload_id=upload_id, on_progress=told.append)
    assert [each.sent for each in told] == [PIECE, 2 * PIECE, len(big)]
    assert (stored["size"], stored.get("filename")) == (len(big), "resumed.bin")


@pytest.mark.anyio
async def test_awaited_uploads_take_awaited_streams(proxy: CuttingProxy, big: bytes) -> None:
    proxy.cuts = [9_000_000]
    async with AsyncPagefault(proxy.url) as client:
        stored = await client.resources.upload(awaited_pieces(big), length=len(big))
        assert await client.resources.upload(awaited_pieces(big)) == stored
        assert b"".join([piece async for piece in client.resources.content(stored["uri"])]) == big


def test_bytes_that_change_on_the_way_are_an_error(
    scripted: Callable[..., ScriptedService], big: bytes
) -> None:
    other = {"uri": "blob:" + "0" * 32, "digest": "sha-256:" + "0" * 64}
    service = scripted(
        Reply(201, b"", {"Location": "/api/uploads/u1"}),
        *(
            Reply(204, b"", {"Upload-Offset": str(min(at + PIECE, len(big)))})
            for at in range(0, len(big), PIECE)
        ),
        Reply(200, {"resource": other}),
    )
    with pytest.raises(DigestMismatchError):
        Pagefault(service.url).resources.upload(big)
