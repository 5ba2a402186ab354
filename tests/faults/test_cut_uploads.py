"""Requests that break off anywhere, and files with another digest than was announced."""

import base64
import hashlib
import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from random import Random

import httpx
import pytest

from app.config.settings import Settings
from app.models.limits import Limits
from tests.integration.sweep_stores import BehindTheStore
from tests.kit.media import noise_bytes, png
from tests.kit.servers import Backends, Engine, LiveService, serving

CUTS = 200
WRONG_DIGESTS = 20
LARGE_BYTES = 1_400_000
"""Long enough for a body to be worked on before its end is there."""


@pytest.fixture
def store_settings(backends: Backends, engine: Engine, tmp_path: Path) -> Settings:
    """Stores of its own."""
    return backends.settings(engine, tmp_path / "data", limits=Limits())


@pytest.fixture
def own_service(store_settings: Settings) -> Iterator[LiveService]:
    with serving(store_settings) as service:
        yield service


def bodies() -> list[tuple[str, str, bytes]]:
    """The requests: the path, the type and the bytes of an upload and of two tool results."""
    small, large = png(200, 120, noise=True), png() + noise_bytes(LARGE_BYTES)
    results = [
        json.dumps(
            {
                "toolName": "t",
                "toolCallId": f"c{len(data)}",
                "sessionId": "s",
                "result": {
                    "content": [
                        {"type": "image", "data": base64.b64encode(data).decode()},
                    ]
                },
            }
        ).encode()
        for data in (small, large)
    ]
    return [
        ("/api/resources", "application/octet-stream", large),
        *(("/api/tool-results", "application/json", result) for result in results),
    ]


def left_behind(settings: Settings) -> list[str]:
    """All files and objects that the stores hold."""
    folders = (settings.data_dir / "blobs", settings.data_dir / "tmp")
    files = [str(path) for folder in folders for path in folder.rglob("*") if path.is_file()]
    return files + BehindTheStore(settings).names()


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A request that is cut off anywhere leaves no row, no blob and no temporary file",
    kept_by="app/services/requests",
    tried="200 cuts, both engines",
)
def test_two_hundred_requests_cut_anywhere_leave_nothing(
    own_service: LiveService, store_settings: Settings
) -> None:
    random = Random(200)  # noqa: S311 - the same in every run
    key = own_service.new_key()
    sent = bodies()
    for number in range(CUTS):
        path, kind, body = sent[number % len(sent)]
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\n"
            f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        request = head.encode() + body
        with socket.create_connection(("127.0.0.1", own_service.port)) as connection:
            connection.sendall(request[: random.randrange(1, len(request))])
    with own_service.client(key) as client:
        assert client.get("/api/resources").json()["items"] == []
        assert client.get("/api/tool-results").json()["items"] == []
        # And the very same requests are taken when they come whole.
        for path, kind, body in sent[1:]:
            client.post(path, content=body, headers={"Content-Type": kind}).raise_for_status()
        kept = {item["digest"] for item in client.get("/api/resources").json()["items"]}
    own_service.stop()
    left = {os.path.basename(item) for item in left_behind(store_settings)}
    assert left == {name.removeprefix("sha-256:") for name in kept}


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A file whose digest differs from the announced one leaves nothing",
    kept_by="app/stores/blobs/blob_writers.py",
    tried="20 files, both engines",
)
def test_files_with_another_digest_than_announced_leave_nothing(
    own_service: LiveService, store_settings: Settings
) -> None:
    with own_service.client() as client:
        for number in range(WRONG_DIGESTS):
            data = noise_bytes(LARGE_BYTES if number == 0 else 1_000 + number)
            other = base64.b64encode(hashlib.sha256(data + b"?").digest()).decode()
            answer = client.post(
                "/api/resources", content=data, headers={"Repr-Digest": f"sha-256=:{other}:"}
            )
            assert_mismatch(answer)
        assert client.get("/api/resources").json()["items"] == []
    own_service.stop()
    assert left_behind(store_settings) == []


def assert_mismatch(answer: httpx.Response) -> None:
    assert (answer.status_code, answer.json()["code"]) == (400, "digest-mismatch")
