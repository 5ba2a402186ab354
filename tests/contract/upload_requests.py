"""Requests about uploads in pieces, as a client of tus 1.0.0 sends them."""

import hashlib
import random

import httpx

from tests.kit.media import b64

ROUTE = "/api/uploads"
TUS = {"Tus-Resumable": "1.0.0"}
PIECE = {**TUS, "Content-Type": "application/offset+octet-stream"}
ABSENT = "01900000-0000-7000-8000-000000000000"
DATA = random.Random(3).randbytes(300_000)  # noqa: S311 - only to tell slices apart


def pair(key: str, value: bytes) -> str:
    """A pair of Upload-Metadata."""
    return f"{key} {b64(value)}"


def checksum(algorithm: str, data: bytes) -> str:
    return f"{algorithm} {b64(hashlib.new(algorithm, data).digest())}"


def begin(client: httpx.Client, size: int, metadata: str | None = None) -> str:
    """The path of a new upload."""
    headers = {**TUS, "Upload-Length": str(size)}
    if metadata is not None:
        headers["Upload-Metadata"] = metadata
    created = client.post(ROUTE, headers=headers).raise_for_status()
    return str(created.headers["location"])


def send(
    client: httpx.Client,
    path: str,
    offset: object,
    data: bytes,
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    """The answer to a piece."""
    return client.patch(
        path, content=data, headers={**PIECE, "Upload-Offset": str(offset), **(headers or {})}
    )


def offset_of(client: httpx.Client, path: str) -> int:
    return int(client.head(path, headers=TUS).headers["upload-offset"])


def content(client: httpx.Client, uri: str) -> bytes:
    return client.get(f"/api/resources/{uri}/content").raise_for_status().content


def own_headers(answer: httpx.Response) -> dict[str, str]:
    """Return the headers of the protocol, except the time."""
    return {
        name: value
        for name, value in answer.headers.items()
        if name.startswith(("upload-", "tus-", "cache-")) and name != "upload-expires"
    }
