"""A store that fails in the middle of a result: nothing is kept, and a retry works later."""

import base64
import hashlib
from pathlib import Path

import httpx
import pytest

from app.stores.blobs.store import blob_path
from tests.kit.media import png
from tests.kit.servers import Backends, serving

ROUTE = "/api/tool-results"
IMAGES = [png(64, 48, noise=True), png(72, 48, noise=True)]
ENCODED = [base64.b64encode(image).decode() for image in IMAGES]


def post(client: httpx.Client, call_id: str, images: list[str]) -> httpx.Response:
    blocks = [{"type": "image", "data": image, "mimeType": "image/png"} for image in images]
    body = {"toolName": "t", "toolCallId": call_id, "sessionId": "s", "result": {"content": blocks}}
    return client.post(ROUTE, json=body)


def visible(client: httpx.Client) -> list[bytes]:
    """Everything of the project that any reader sees."""
    return [client.get(path).content for path in ("/api/sessions/s/messages", "/api/resources")]


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A medium that cannot be stored leaves nothing of its result",
    kept_by="app/services/tool_results/tool_results.py",
    tried="1 of 2 media",
)
def test_second_medium_that_cannot_be_stored_leaves_nothing_of_the_result(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("embedded", tmp_path / "data")
    digest = hashlib.sha256(IMAGES[1]).hexdigest()
    obstacle = settings.data_dir / Path(blob_path("p", digest)).parent
    with serving(settings) as service, service.client(service.new_key("p")) as client:
        assert post(client, "first", ["QUJD"]).status_code == 201
        before = visible(client)
        obstacle.parent.mkdir(parents=True, exist_ok=True)
        obstacle.write_text("a file where a folder has to be")
        refused = post(client, "second", ENCODED)
        assert (refused.status_code, refused.json()["code"]) == (503, "store-unavailable")
        assert ENCODED[0][:100].encode() not in refused.content
        assert visible(client) == before
        obstacle.unlink()
        assert post(client, "second", ENCODED).json()["seq"] == 2


@pytest.mark.promise(
    "durability.md#the-stores-fail",
    "A bucket that disappears leaves nothing of a result",
    kept_by="app/stores/blobs/s3.py",
    tried="1 result",
)
def test_bucket_that_went_away_leaves_nothing_of_the_result(
    backends: Backends, tmp_path: Path
) -> None:
    settings = backends.settings("server", tmp_path / "data")
    bucket = (settings.blobs.url or "").split("/")[2]
    place = f"{backends.object_store.endpoint_url}/{bucket}"
    with serving(settings) as service, service.client() as client:
        assert post(client, "first", ["QUJD"]).status_code == 201
        before = visible(client)
        backends.object_store.remove_bucket(bucket)
        refused = post(client, "second", ENCODED)
        assert (refused.status_code, refused.json()["code"]) == (503, "store-misconfigured")
        assert visible(client) == before
        httpx.put(place).raise_for_status()
        assert post(client, "second", ENCODED).json()["seq"] == 2
