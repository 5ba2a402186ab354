"""Large tool results: taken in while they arrive, whole or not at all, on both engines."""

import base64
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import obstore
import pytest
from obstore.store import S3Store

from app.config.settings import Settings
from app.models.limits import Limits
from tests.kit.media import mp4, noise_bytes, png, wav
from tests.kit.object_store import ACCESS_KEY_ID, REGION, SECRET_ACCESS_KEY
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/tool-results"
MIB = 1024 * 1024
MAX_BYTES = 4 * MIB


@pytest.fixture
def store_settings(backends: Backends, engine: Engine, tmp_path: Path) -> Settings:
    """Stores of its own for a service that takes media of 4 MiB at most."""
    limits = Limits(medium_bytes=MAX_BYTES, body_bytes=16 * MIB)
    return backends.settings(engine, tmp_path / "data", limits=limits)


@pytest.fixture
def small_service(store_settings: Settings) -> Iterator[LiveService]:
    with serving(store_settings) as service:
        yield service


def call(data: bytes, mime_type: str = "video/mp4", call_id: str = "call-1") -> dict[str, Any]:
    block = {"type": "video", "data": base64.b64encode(data).decode(), "mimeType": mime_type}
    return {
        "toolName": "recorder",
        "toolCallId": call_id,
        "sessionId": "s",
        "result": {"content": [block]},
    }


def kept(settings: Settings) -> list[str]:
    """All files and objects that the stores hold for blobs, finished or not."""
    folders = (settings.data_dir / "blobs", settings.data_dir / "tmp")
    files = [path.name for folder in folders for path in folder.rglob("*") if path.is_file()]
    if settings.blobs.url is None or settings.blobs.s3_endpoint is None:
        return files
    bucket = S3Store.from_url(
        settings.blobs.url,
        endpoint=settings.blobs.s3_endpoint,
        region=REGION,
        access_key_id=ACCESS_KEY_ID,
        secret_access_key=SECRET_ACCESS_KEY,
        client_options={"allow_http": True},
    )
    return files + [item["path"] for batch in obstore.list(bucket) for item in batch]


def long_clip() -> bytes:
    """A clip whose header stands behind 3 MiB that say nothing."""
    clip = mp4(2.0)
    return clip[:32] + (3 * MIB).to_bytes(4, "big") + b"free" + bytes(3 * MIB - 8) + clip[32:]


def test_large_video_is_one_resource_with_its_bytes(client: httpx.Client) -> None:
    video = long_clip()
    answer = client.post(ROUTE, json=call(video))
    assert answer.status_code == 201, answer.text
    record = answer.json()["sanitized"]
    (resource,) = record["resources"]
    assert record["parts"] == [
        {
            "type": "file",
            "data": f"@{resource['uri']}",
            "mimeType": "video/mp4",
            "mediaKind": "video",
        }
    ]
    assert resource["size"] == len(video)
    assert client.get(f"/api/resources/{resource['uri']}/content").content == video


@pytest.mark.parametrize(
    ("data", "mime_type"),
    [(long_clip(), "video/mp4"), (wav(100.0), "audio/wav")],
    ids=["video", "audio"],
)
def test_large_media_of_results_are_described_as_uploads_are(
    client: httpx.Client, data: bytes, mime_type: str
) -> None:
    streamed = client.post(ROUTE, json=call(data, mime_type)).json()["sanitized"]["resources"][0]
    headers = {"Content-Type": mime_type}
    uploaded = client.post("/api/resources", content=data, headers=headers).json()
    assert {**streamed, "createdAt": uploaded["createdAt"]} == uploaded


def test_large_result_sent_again_is_the_same_record(client: httpx.Client) -> None:
    video = noise_bytes(2 * MIB)
    first = client.post(ROUTE, json=call(video))
    # Other line breaks in the JSON make another body, other pieces of the same one do not.
    text = json.dumps(call(video), separators=(",", ":")).encode()
    pieces = (text[start : start + 99_991] for start in range(0, len(text), 99_991))
    headers = {"Content-Type": "application/json"}
    again = client.post(ROUTE, content=pieces, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.content == first.content
    other = client.post(ROUTE, json=call(video[:-3] + b"end"))
    assert (other.status_code, other.json()["code"]) == (409, "tool-call-answered")


def test_large_base64_that_is_no_medium_stays_text(client: httpx.Client) -> None:
    text = base64.b64encode(noise_bytes(2 * MIB)).decode()
    body = {"toolName": "t", "toolCallId": "c", "result": text}
    (resource,) = client.post(ROUTE, json=body).json()["sanitized"]["resources"]
    assert resource["kind"] == "text"
    assert client.get(f"/api/resources/{resource['uri']}/content").text == text


def test_text_that_turns_out_not_to_be_base64_is_kept_whole(client: httpx.Client) -> None:
    text = base64.b64encode(noise_bytes(2 * MIB)).decode() + " and so on"
    body = {"toolName": "t", "toolCallId": "c", "result": text}
    (resource,) = client.post(ROUTE, json=body).json()["sanitized"]["resources"]
    assert client.get(f"/api/resources/{resource['uri']}/content").text == text


def damaged(body: bytes) -> dict[str, bytes]:
    """A body with something wrong behind its video."""
    return {
        "cut": body[: len(body) // 2],
        "unclosed": body[:-2],
        "trailing": body + b"}",
        "another member": body[:-1] + b',"more":1}',
    }


@pytest.mark.parametrize("name", damaged(b"{}  "))
def test_damaged_large_body_leaves_nothing(
    small_service: LiveService, store_settings: Settings, name: str
) -> None:
    body = damaged(json.dumps(call(noise_bytes(3 * MIB))).encode())[name]
    with small_service.client() as client:
        answer = client.post(ROUTE, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (400, 422)
        assert client.get("/api/resources").json()["items"] == []
    assert kept(store_settings) == []


def test_medium_above_the_limit_is_refused_and_leaves_nothing(
    small_service: LiveService, store_settings: Settings
) -> None:
    with small_service.client() as client:
        answer = client.post(ROUTE, json=call(noise_bytes(MAX_BYTES + 1)))
        assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
        largest = client.post(ROUTE, json=call(noise_bytes(MAX_BYTES)))
        assert largest.status_code == 201
    assert len(kept(store_settings)) == 1


def test_body_that_breaks_off_leaves_nothing(
    small_service: LiveService, store_settings: Settings
) -> None:
    key = small_service.new_key()
    body = json.dumps(call(png() + noise_bytes(3 * MIB))).encode()
    head = (
        f"POST {ROUTE} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Authorization: Bearer {key}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", small_service.port)) as connection:
        connection.sendall(head.encode() + body[:-1])
    # The next request of the same project is answered after this one was given up.
    with small_service.client(key) as client:
        assert client.get("/api/resources").json()["items"] == []
    small_service.stop()
    assert kept(store_settings) == []
