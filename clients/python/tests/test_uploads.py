"""Uploads, whole and cut."""

import io
import random
from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from clients.python.tests.servers import CuttingProxy, Reply, ScriptedService, problem
from pagefault_client import (
    APIConnectionError,
    AsyncPagefault,
    ConflictError,
    DigestMismatchError,
    Pagefault,
    UploadProgress,
    operations,
    retries,
)

PIECE = 8 * 1024 * 1024


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.001)


def pieces(data: bytes) -> Iterator[bytes]:
    yield from (data[at : at + 999_983] for at in range(0, len(data), 999_983))


async def awaited_pieces(data: bytes) -> AsyncIterator[bytes]:
    for piece in pieces(data):
        yield piece


def test_small_files_go_in_one_request(pf: Pagefault, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"Ten sheep.\n")
    progress: list[UploadProgress] = []
    from_path = pf.resources.upload(path, on_progress=progress.append)
    with path.open("rb") as file:
        from_file = pf.resources.upload(file)
    assert (from_path["mimeType"], from_path.get("filename")) == ("text/plain", "notes.txt")
    assert from_file["uri"] == from_path["uri"]
    assert progress == [UploadProgress(11, 11, None)]
    assert pf.resources.upload(b"", filename="empty.bin")["size"] == 0


def test_large_files_go_in_pieces_and_say_how_far_they_are(pf: Pagefault, big: bytes) -> None:
    progress: list[UploadProgress] = []
    data = big[::-1]
    stored = pf.resources.upload(io.BytesIO(data), filename="big.bin", on_progress=progress.append)
    assert [item.sent for item in progress] == [PIECE, 2 * PIECE, len(big)]
    assert (stored["size"], stored.get("filename")) == (len(big), "big.bin")
    assert pf.resources.bytes(stored["uri"]) == data


@pytest.mark.parametrize(("size", "asks"), [(19_999, 0), (20_000, 1), (PIECE, 1), (PIECE + 1, 1)])
def test_bytes_that_the_project_has_are_not_sent_again(
    pf: Pagefault, tmp_path: Path, size: int, asks: int
) -> None:
    path = tmp_path / f"{size}.bin"
    path.write_bytes(b"before" + random.Random(size).randbytes(size))  # noqa: S311
    sent: list[int] = []
    stored = []
    with Pagefault(pf.base_url) as client:
        client._transport.http.event_hooks = {
            "request": [lambda request: sent.append(int(request.headers.get("Content-Length", 0)))]
        }
        for name in ("first.bin", "second.bin"):
            with path.open("rb") as file:
                file.seek(6)
                alias = f"{name}-{size}"
                stored.append(client.resources.upload(file, filename=name, alias=alias))
    assert [(item["size"], item.get("filename")) for item in stored] == [
        *((size, "first.bin"), (size, "second.bin"))
    ]
    new = [0] * asks + ([size] if size <= PIECE else [0, PIECE, 1, 0, 0])
    assert sent == new + ([0] if asks else [size])
    assert pf.aliases.get(f"second.bin-{size}")["uri"] == stored[1]["uri"]


def test_address_of_bytes_is_known_before_they_are_uploaded(pf: Pagefault, png: bytes) -> None:
    data = png + b"an address"
    address = pf.resources.address(data)
    assert httpx.get(address).status_code == 404
    pf.resources.upload(data, filename="shop.png")
    assert httpx.get(address).content == data
    read = pf.send(operations.get_blob(address.rpartition("/")[2]))
    assert read == data


def test_streams_need_no_length(pf: Pagefault, big: bytes) -> None:
    stored = pf.resources.upload(pieces(big), filename="big.bin")
    assert pf.resources.upload(pieces(big), filename="big.bin", length=len(big)) == stored
    with pytest.raises(ValueError, match="1 bytes before"):
        pf.resources.upload(pieces(big), length=len(big) + 1)
    with pytest.raises(TypeError, match="text"):
        pf.resources.upload(io.StringIO("text"))  # type: ignore[arg-type]


def test_a_cut_costs_only_what_was_not_stored(proxy: CuttingProxy, big: bytes) -> None:
    proxy.cuts = [3_000_000, 4_000_000, 1_000_000]
    # The pauses are short here, and the service may need a while to write down what came.
    with Pagefault(proxy.url, max_retries=12) as client:
        stored = client.resources.upload(pieces(big), filename="cut.bin", length=len(big))
        assert client.resources.bytes(stored["uri"]) == big
    assert (stored["size"], proxy.cuts) == (len(big), [])


def late_service(offsets: list[int | None], requests: list[str]) -> httpx.Client:
    """A service that answers with these offsets; None refuses the piece, or cuts it at first."""
    size = PIECE + 1

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/api/resources":
            return httpx.Response(404, json={"code": "not-found"})
        requests.append(f"{request.method} {request.headers.get('Upload-Offset', '')}".strip())
        if request.method == "POST":
            return httpx.Response(201, headers={"Location": "/api/uploads/u1"})
        if request.method == "GET":
            resource = {"uri": "blob:1", "digest": f"sha-256:{sha256(b'x' * size).hexdigest()}"}
            return httpx.Response(200, json={"resource": resource})
        offset = offsets.pop(0)
        if request.method == "HEAD":
            return httpx.Response(200, headers={"Upload-Offset": str(offset)})
        if offset is None and requests.count("PATCH 0") == 1:
            raise httpx.WriteError("cut", request=request)
        if offset is None:
            return httpx.Response(409, json={"code": "upload-offset"})
        return httpx.Response(204, headers={"Upload-Offset": str(offset)})

    return httpx.Client(transport=httpx.MockTransport(answer))


def test_an_offset_that_is_told_too_early_is_asked_for_again() -> None:
    requests: list[str] = []
    offsets = [None, 0, None, 0, None, 3_448_267, PIECE, PIECE + 1]
    http = late_service(offsets, requests)
    Pagefault("http://x", http_client=http).resources.upload(b"x" * (PIECE + 1))
    assert requests == [
        *("POST", "PATCH 0", "HEAD", "PATCH 0", "HEAD", "PATCH 0", "HEAD"),
        *("PATCH 3448267", f"PATCH {PIECE}", "GET", "GET"),
    ]


def test_an_offset_that_never_fits_is_an_error_in_the_end() -> None:
    requests: list[str] = []
    http = late_service([None, 0] * 9, requests)
    with pytest.raises(ConflictError) as refused:
        Pagefault("http://x", http_client=http).resources.upload(b"x" * (PIECE + 1))
    assert (refused.value.code, requests.count("PATCH 0")) == ("upload-offset", 4)


def test_another_process_goes_on_where_one_ended(
    pf: Pagefault, proxy: CuttingProxy, big: bytes
) -> None:
    reports: list[UploadProgress] = []
    data = b"resumed" + big[7:]

    def end(progress: UploadProgress) -> None:
        reports.append(progress)
        proxy.close()

    with Pagefault(proxy.url, max_retries=0) as client, pytest.raises(APIConnectionError) as ended:
        client.resources.upload(data, filename="resumed.bin", on_progress=end)
    upload_id = reports[0].upload_id
    assert upload_id is not None
    assert upload_id in ended.value.__notes__[0]
    stored = pf.resources.upload(data, upload_id=upload_id, on_progress=reports.append)
    assert [report.sent for report in reports] == [PIECE, 2 * PIECE, len(big)]
    assert (stored["size"], stored.get("filename")) == (len(big), "resumed.bin")


@pytest.mark.anyio
async def test_awaited_uploads_take_awaited_streams(proxy: CuttingProxy, big: bytes) -> None:
    proxy.cuts = [9_000_000]
    async with AsyncPagefault(proxy.url, max_retries=12) as client:
        stored = await client.resources.upload(awaited_pieces(big), length=len(big))
        assert await client.resources.upload(awaited_pieces(big)) == stored
        assert b"".join([piece async for piece in client.resources.content(stored["uri"])]) == big


def test_bytes_that_change_on_the_way_are_an_error(
    scripted: Callable[..., ScriptedService], big: bytes
) -> None:
    other = {"uri": "blob:" + "0" * 32, "digest": "sha-256:" + "0" * 64}
    service = scripted(
        problem(404, "not-found"),
        Reply(201, b"", {"Location": "/api/uploads/u1"}),
        *(
            Reply(204, b"", {"Upload-Offset": str(min(at + PIECE, len(big)))})
            for at in range(0, len(big), PIECE)
        ),
        Reply(200, {"resource": other}),
    )
    with pytest.raises(DigestMismatchError):
        Pagefault(service.url).resources.upload(big)
