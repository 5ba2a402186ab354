"""The files of the build: the scripts that load before a session is visible, and their sizes."""

import gzip
import re
from pathlib import Path

from app.shipped_files import BUILT_VIEWER

MAX_BYTES = 265_000
MAX_FIRST_BYTES = 180_000
_NAMED = re.compile(r"/assets/([\w.-]+\.(?:js|css))")
_IMPORTED = re.compile(r'(?:from|import)"\./([\w.-]+)"')
LEAST_BYTES = 1024
TEXTS = (".css", ".html", ".js", ".json", ".map", ".mjs", ".svg", ".wasm")
# The explorer of the API is a page of its own; what reads texts and PDF, and the
# table of prices, are loaded where they are needed.
LATER = ("docs-", "textWorker-", "pdf-", "pdf.worker-", "PriceDialog-")


def test_viewer_is_small_without_what_is_loaded_later() -> None:
    assets = [
        path for path in (BUILT_VIEWER / "assets").iterdir() if path.suffix in (".js", ".css")
    ]
    later = [path for path in assets if path.name.startswith(LATER)]
    assert {path.name.split("-")[0] for path in later} >= {"docs", "textWorker", "pdf"}
    sizes = {
        path.name: len(gzip.compress(path.read_bytes())) for path in assets if path not in later
    }
    assert sum(sizes.values()) <= MAX_BYTES, sizes


def test_page_loads_little_before_its_first_view() -> None:
    assets = BUILT_VIEWER / "assets"
    waiting = _NAMED.findall((BUILT_VIEWER / "index.html").read_text())
    loaded: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in loaded:
            loaded.add(name)
            waiting += _IMPORTED.findall((assets / name).read_text())
    sizes = {name: len(gzip.compress((assets / name).read_bytes())) for name in loaded}
    assert sum(sizes.values()) <= MAX_FIRST_BYTES, sizes


def test_each_text_of_the_build_from_1_kib_on_is_compressed_beside_itself() -> None:
    texts = [path for path in BUILT_VIEWER.rglob("*") if path.suffix in TEXTS]
    compressed = {path for path in BUILT_VIEWER.rglob("*") if path.suffix in (".br", ".gz")}
    assert compressed == {
        Path(f"{path}{suffix}")
        for path in texts
        if path.stat().st_size >= LEAST_BYTES
        for suffix in (".br", ".gz")
    }
    for path in compressed:
        if path.suffix == ".gz":
            assert gzip.decompress(path.read_bytes()) == path.with_suffix("").read_bytes()
