"""Resources as a file system of fsspec."""

import fsspec
import pytest
from PIL import Image

from pagefault_client import Pagefault


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
    with pytest.raises(FileNotFoundError):
        files.cat("0" * 32)
    with pytest.raises(NotImplementedError):
        files.open(identity, "wb")
