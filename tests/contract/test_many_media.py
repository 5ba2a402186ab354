"""Results with many media, the same and different ones."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from app.models.limits import Limits
from tests.kit.media import png
from tests.kit.servers import Backends, Engine, serving

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/tool-results"


def call(session_id: str, result: object) -> dict[str, object]:
    return {
        "toolName": "camera",
        "toolCallId": "call-1",
        "sessionId": session_id,
        "result": result,
    }


def images(count: int) -> list[str]:
    """Different images, each in base64."""
    return [base64.b64encode(png(8 + n, 8)).decode() for n in range(count)]


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
def test_results_that_share_media_in_different_orders_do_not_block_each_other(
    client: httpx.Client,
) -> None:
    shared = images(6)

    def post(number: int) -> int:
        ordered = shared if number % 2 else shared[::-1]
        return client.post(ROUTE, json=call(f"s{number}", {"l": ordered})).status_code

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(post, range(40))) == [201] * 40


@pytest.mark.engines("embedded", "server")
def test_medium_repeated_in_one_result_is_one_resource(client: httpx.Client) -> None:
    image = images(1)[0]
    record = client.post(ROUTE, json=call("s", {"l": [image] * 1_000})).json()["sanitized"]
    assert [part["type"] for part in record["parts"]] == ["text", "image"]
    assert record["parts"][0]["text"].count(record["parts"][1]["image"]) > 1
    assert len(client.get("/api/resources").json()["items"]) <= 2


@pytest.mark.engines("embedded", "server")
def test_result_with_too_many_media_is_refused_and_leaves_nothing(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    limits = Limits(media_per_result=3)
    with (
        serving(backends.settings(engine, tmp_path / "data", limits=limits)) as service,
        service.client() as client,
    ):
        accepted = client.post(ROUTE, json=call("few", {"l": images(3)}))
        refused = client.post(ROUTE, json=call("many", {"l": images(4)}))
        kept = client.get("/api/resources").json()["items"]
    assert accepted.status_code == 201
    assert (refused.status_code, refused.json()["code"]) == (413, "too-many-media")
    assert len(kept) == 3


def test_long_annotations_of_a_part_are_stored_and_referred_to(client: httpx.Client) -> None:
    block = {"type": "text", "text": "x", "annotations": {"a": "z" * 70_000}, "_meta": {"b": 1}}
    record = client.post(ROUTE, json=call("s", {"content": [block]})).json()["sanitized"]
    (resource,) = record["resources"]
    assert record["parts"] == [
        {
            "type": "text",
            "text": "x",
            "annotations": {"stored": f"@{resource['uri']}"},
            "_meta": {"b": 1},
        }
    ]
    content = client.get(f"/api/resources/{resource['uri']}/content")
    assert content.json() == block["annotations"]
