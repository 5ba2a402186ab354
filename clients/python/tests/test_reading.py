"""Content, as bytes, as pieces, as a file."""

import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.python.tests.servers import CuttingProxy, Reply, Request, ScriptedService
from pagefault_client import (
    APIConnectionError,
    AsyncPagefault,
    DigestMismatchError,
    NotFoundError,
    Pagefault,
    retries,
)


@pytest.fixture(autouse=True)
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retries, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture(scope="module")
def uri(pf: Pagefault, big: bytes) -> str:
    return pf.resources.upload(big, filename="content.bin")["uri"]


def test_content_is_a_file_that_can_be_read_from_anywhere(
    pf: Pagefault, uri: str, big: bytes
) -> None:
    with pf.resources.open(uri) as file:
        assert (file.readable(), file.seekable(), file.name) == (True, True, "content.bin")
        assert file.read(10) == big[:10]
        assert file.seek(-7, io.SEEK_END) == len(big) - 7
        assert (file.read(), file.read(1), file.tell()) == (big[-7:], b"", len(big))
        file.seek(1_000_000)
        assert file.read(3_000_000) == big[1_000_000:4_000_000]
        file.seek(len(big) + 5)
        assert file.read() == b""
        file.seek(0)
        assert file.read() == big
    with pytest.raises(ValueError, match="closed"):
        file.read()


def test_what_reads_files_reads_content(pf: Pagefault) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a.txt", "Ten sheep.")
        archive.writestr("b.txt", "x" * 100_000)
    stored = pf.resources.upload(made.getvalue(), filename="a.zip")
    with zipfile.ZipFile(pf.resources.open(stored["uri"])) as archive:
        assert archive.read("a.txt") == b"Ten sheep."
    short = pf.resources.upload(b"Ten sheep.", filename="b.zip")
    with pytest.raises(zipfile.BadZipFile):
        zipfile.ZipFile(pf.resources.open(short["uri"]))
    text = pf.resources.upload("zwölf\n1\n".encode(), filename="a.csv")
    assert list(io.TextIOWrapper(pf.resources.open(text["uri"]), "utf-8")) == ["zwölf\n", "1\n"]


def test_reading_in_order_asks_for_ever_more(pf: Pagefault, uri: str, big: bytes) -> None:
    ranges: list[str] = []
    with Pagefault(pf.base_url) as client:
        client._transport.http.event_hooks = {
            "request": [lambda sent: ranges.append(sent.headers.get("range", ""))]
        }
        with client.resources.open(uri) as file:
            while file.read(10_000):
                pass
    sizes = [
        int(last) - int(first) + 1
        for first, last in (
            byte_range.removeprefix("bytes=").split("-") for byte_range in ranges if byte_range
        )
    ]
    assert sizes[:4] == [131_072, 262_144, 524_288, 1_048_576]
    assert (max(sizes), sum(sizes)) == (4 * 1024 * 1024, len(big))


def test_cut_content_goes_on(proxy: CuttingProxy, uri: str, big: bytes, tmp_path: Path) -> None:
    proxy.cuts = [-3_000_000, -7_000_000]
    with Pagefault(proxy.url) as client:
        saved = client.resources.save(uri, tmp_path)
    assert (saved.name, saved.read_bytes() == big, proxy.cuts) == ("content.bin", True, [])
    assert list(tmp_path.iterdir()) == [saved]


def test_other_bytes_than_were_stored_are_an_error(
    scripted: Callable[..., ScriptedService], tmp_path: Path
) -> None:
    found = {"uri": "blob:" + "0" * 32, "size": 5, "digest": "sha-256:" + "0" * 64}

    def answer(request: Request) -> Reply:
        return Reply(206, b"wrong") if "content" in request.path else Reply(200, found)

    client = Pagefault(scripted(answer).url)
    with pytest.raises(DigestMismatchError):
        client.resources.bytes("0" * 32)
    with client.resources.open("0" * 32) as file, pytest.raises(DigestMismatchError):
        file.read()
    with pytest.raises(DigestMismatchError):
        client.resources.save("0" * 32, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def test_content_that_never_comes_is_an_error(scripted: Callable[..., ScriptedService]) -> None:
    found = {"uri": "blob:" + "0" * 32, "size": 5, "digest": "sha-256:" + "0" * 64}

    def answer(request: Request) -> Reply:
        return Reply(206, b"") if "content" in request.path else Reply(200, found)

    with pytest.raises(APIConnectionError):
        Pagefault(scripted(answer).url).resources.bytes("0" * 32)
    with pytest.raises(NotFoundError):
        Pagefault(scripted(Reply(404)).url).resources.open("0" * 32)


@pytest.mark.anyio
async def test_awaited_content_seeks_too(url: str, uri: str, big: bytes) -> None:
    async with AsyncPagefault(url) as client:
        content = await client.resources.open(uri, read_ahead=1000)
        content.seek(500)
        assert await content.read(2000) == big[500:2500]
        assert (await content.read_at(0, 5), content.tell()) == (big[:5], 2500)
