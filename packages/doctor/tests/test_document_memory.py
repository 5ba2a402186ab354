"""Sessions with many media are exported as documents within a bounded memory."""

import re
from pathlib import Path

import httpx
import pytest

from tests.contract.render_cases import file_block
from tests.e2e.test_resumable_upload import Process
from tests.kit import media

pytestmark = [pytest.mark.xdist_group("heavy"), pytest.mark.timeout(600)]

MIB = 1024 * 1024
URL = "/api/sessions/demo/document"
# A few pieces of the document are in memory at a time.
MAX_GROWTH_BYTES = 12 * MIB


def serving(folder: Path, files: int) -> Process:
    """Return a server with a session of recordings of 6 MiB, started again since they came."""
    with Process(folder) as writer, writer.client() as client:
        append_file(client, "small", bytes(2_000))
        for number in range(files):
            append_file(client, "demo", media.noise_bytes(6 * MIB - 1) + bytes([number]))
    return Process(folder)


def append_file(client: httpx.Client, session_id: str, data: bytes) -> None:
    """Store a result with a recording, which has a third more bytes in a document."""
    result = {"content": [file_block("x", data, "audio/mpeg")]}
    call_id = f"c{data[-1]}"
    body = {"toolName": "record", "toolCallId": call_id, "sessionId": session_id, "result": result}
    answer = client.post("/api/tool-results", json=body)
    assert answer.status_code == 201, answer.text[:500]


def open_files(server: Process) -> list[str]:
    """Return the files that a process has open, also those that have no name any more."""
    links = (link.readlink() for link in Path(f"/proc/{server.pid}/fd").iterdir())
    return sorted(str(link) for link in links if link.is_absolute())


def written_bytes(server: Process) -> int:
    """Return the number of bytes that a process has written to files so far."""
    found = re.search(r"wchar: (\d+)", Path(f"/proc/{server.pid}/io").read_text())
    assert found
    return int(found[1])


def test_document_of_36_mib_of_media_is_sent_within_a_bounded_memory(tmp_path: Path) -> None:
    server = serving(tmp_path / "data", files=6)
    with server, server.client() as client:
        assert client.get("/api/sessions/small/document").status_code == 200
        before = server.peak_bytes()
        with client.stream("GET", URL) as answer:
            assert answer.status_code == 200
            size = sum(map(len, answer.iter_raw()))
        assert size == int(answer.headers["content-length"]) > 48 * MIB
        assert server.peak_bytes() - before < MAX_GROWTH_BYTES


def test_document_above_the_limit_is_refused_before_anything_of_it_is_written(
    tmp_path: Path,
) -> None:
    server = serving(tmp_path / "data", files=7)
    with server, server.client() as client:
        assert client.get("/api/sessions/small/document").status_code == 200
        peak, files, written = server.peak_bytes(), open_files(server), written_bytes(server)
        answer = client.get(URL)
        assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
        assert answer.headers["content-type"] == "application/problem+json"
        assert open_files(server) == files
        assert written_bytes(server) - written < MIB
        assert server.peak_bytes() - peak < MAX_GROWTH_BYTES
