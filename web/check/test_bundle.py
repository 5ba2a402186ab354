"""The size of the scripts that load before a session is visible."""

import gzip

from app.shipped_files import BUILT_VIEWER

MAX_BYTES = 250_000
# The explorer of the API is a page of its own; what reads texts and
# PDF is loaded where it is needed.
LATER = ("docs-", "textWorker-", "pdf-", "pdf.worker-")


def test_viewer_is_small_without_what_is_loaded_later() -> None:
    assets = [path for path in (BUILT_VIEWER / "assets").iterdir() if path.is_file()]
    later = [path for path in assets if path.name.startswith(LATER)]
    assert {path.name.split("-")[0] for path in later} >= {"docs", "textWorker", "pdf"}
    sizes = {
        path.name: len(gzip.compress(path.read_bytes())) for path in assets if path not in later
    }
    assert sum(sizes.values()) <= MAX_BYTES, sizes
