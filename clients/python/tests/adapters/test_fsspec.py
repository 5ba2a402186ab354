"""Resources as a file system of fsspec."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from PIL import Image

from clients.python.tests.servers import Reply, Request, ScriptedService
from pagefault_client import DigestMismatchError, Pagefault

STORED = (b"Ten sheep." * 100_000 + b"\n") * 11


def damaging(request: Request) -> Reply:
    """Answer with other bytes than were stored: the last one."""
    if not request.path.endswith("/content"):
        digest = f"sha-256:{hashlib.sha256(STORED).hexdigest()}"
        named = {"uri": "blob:" + "0" * 32, "size": len(STORED), "digest": digest}
        return Reply(200, {**named, "mimeType": "text/plain", "createdAt": "2026-01-01T00:00:00Z"})
    damaged = STORED[:-1] + b"!"
    first, _, last = request.headers["Range"].removeprefix("bytes=").partition("-")
    return Reply(206, damaged[int(first) : int(last) + 1])


def test_damaged_bytes_are_an_error_wherever_all_are_read(
    scripted: Callable[..., ScriptedService], tmp_path: Path
) -> None:
    options = {"base_url": scripted(damaging).url, "skip_instance_cache": True}
    files = fsspec.filesystem("pagefault", **options)
    identity, target = "0" * 32, tmp_path / "sheep.txt"
    for read in (
        lambda: files.open(identity).read(),
        lambda: list(files.open(identity)),
        lambda: files.cat(identity),
        lambda: files.cat_file(identity, 0, len(STORED)),
        lambda: files.get(identity, str(target)),
    ):
        with pytest.raises(DigestMismatchError):
            read()
    assert not target.exists()
    with files.open(identity) as file:
        file.seek(-1, 2)
        assert file.read() == b"!"


def test_resources_are_files(pf: Pagefault, png: bytes, big: bytes) -> None:
    stored = pf.resources.upload(png, filename="shop.png", alias="shop-fs")
    identity = stored["uri"].removeprefix("blob:")
    options = {"base_url": pf.base_url}
    files = fsspec.filesystem("pagefault", **options)
    info = files.info(identity)
    assert (info["size"], info["filename"], info["mimetype"]) == (
        *(len(png), "shop.png"),
        "image/png",
    )
    assert files.info("shop-fs") == info
    assert identity in files.ls("", detail=False)
    assert files.cat(identity) == png
    assert files.cat_file(f"@blob:{identity}", -5, None) == png[-5:]
    with fsspec.open(f"pagefault://{identity}", **options) as file:
        assert Image.open(file).size == (300, 200)
    large = pf.resources.upload(big)["uri"]
    with fsspec.open(f"pagefault://{large}", **options) as file:
        file.seek(10_000_000)
        assert file.read(100) == big[10_000_000:10_000_100]
    assert not files.exists("nothing-here")
    assert not files.exists("no/folders")
    with pytest.raises(FileNotFoundError):
        files.cat("0" * 32)
    with pytest.raises(NotImplementedError):
        files.open(identity, "wb")
