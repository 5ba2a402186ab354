"""Media of pages and messages that are streamed into drafts: moved, and given back exactly."""

import base64
import json
import textwrap
from pathlib import Path

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.page_requests import ROUTE, data_uri, outcome, put, read, stored_bytes, supply
from tests.contract.session_requests import MESSAGES
from tests.kit.media import noise_bytes, png
from tests.kit.servers import Backends, serving

# A body is worked on while it arrives from a megabyte on.
DATA = png(noise=True) + noise_bytes(1_200_000)
# One byte more than whole groups of three, so that there is padding.
DATA = DATA[: len(DATA) // 3 * 3 - 2]
B64 = base64.b64encode(DATA).decode()
URI = data_uri(DATA, "image/png")
HEAD = "data:image/png;base64,"
OTHER = png(noise=True) + noise_bytes(100_000)

SPELLINGS = {
    "plain": URI,
    "url-safe": HEAD + B64.replace("+", "-").replace("/", "_"),
    "unpadded": HEAD + B64.rstrip("="),
    "with a name": f"data:image/png;name=a.png;base64,{B64}",
    "in lines": HEAD + "\n".join(textwrap.wrap(B64, 76)),
    "with a break at its end": URI + "\n",
    "with bits that mean nothing": HEAD + B64[:-3] + chr(ord(B64[-3]) + 1) + "==",
    "bare": B64,
}


@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_large_medium_of_a_page_is_moved_and_comes_back_however_it_is_written(
    client: httpx.Client, text: str
) -> None:
    page = put(client, modality="image", content=text)
    assert page["media"]["mime_type"] == "image/png"
    assert page["media"]["size_bytes"] == len(DATA)
    assert stored_bytes(client, page["content"]) == DATA
    assert read(client, "p", media="inline")["content"] == text


@pytest.mark.engines("embedded")
@pytest.mark.parametrize("text", SPELLINGS.values(), ids=SPELLINGS)
def test_large_medium_of_a_message_is_moved_and_comes_back_however_it_is_written(
    client: httpx.Client, text: str
) -> None:
    block = {"type": "image", "media_type": "image/png", "data": text}
    sent = {"role": "user", "content": [block, {"type": "image", "url": data_uri(OTHER, "a/b")}]}
    created = client.post(MESSAGES, json=sent)
    assert created.status_code == 201, created.text[:500]
    assert len(created.content) < 1_000
    inline = client.get(created.headers["location"], params={"media": "inline"}).json()
    assert {name: inline[name] for name in sent} == sent


@pytest.mark.engines("embedded")
def test_large_media_deep_in_data_and_in_several_pages_are_moved_and_come_back(
    client: httpx.Client,
) -> None:
    data = {"a": [URI, {"b": data_uri(OTHER, "image/png")}], "c": "words"}
    pages: list[dict[str, object]] = [
        {"page_id": "p", "modality": "structured", "content": data},
        {"page_id": "q", "modality": "text", "content": URI},
        {"page_id": "r", "modality": "text", "content": f"words {URI} words"},
    ]
    created = client.post(f"{ROUTE}/bulk", json={"pages": pages})
    assert created.status_code == 201, created.text[:500]
    for page in pages:
        path = str(page["page_id"])
        assert read(client, path, media="inline")["content"] == page["content"]


@pytest.mark.engines("embedded")
def test_large_base64_that_is_no_medium_stays_the_text_it_is(client: httpx.Client) -> None:
    words = base64.b64encode(noise_bytes(1_200_000)).decode()
    page = put(client, modality="text", content=words)
    assert page["content"] == words
    caption = base64.b64encode(noise_bytes(100_000)).decode()
    page = put(client, modality="image", content=URI, caption=caption)
    assert (page["caption"], page["media"]["size_bytes"]) == (caption, len(DATA))


@pytest.mark.engines("embedded")
def test_large_image_is_supplied_as_a_level(client: httpx.Client) -> None:
    put(client, modality="image", content=data_uri(DATA + DATA, "image/png"))
    supplied = supply(client, 1, URI)
    assert supplied.status_code == 201, supplied.text[:500]
    assert stored_bytes(client, supplied.json()["content"]) == DATA


@pytest.mark.engines("embedded")
def test_retry_of_a_large_page_and_message_gives_what_was_stored(client: httpx.Client) -> None:
    for path, body in (
        (ROUTE, {"modality": "image", "content": URI}),
        (MESSAGES, {"role": "user", "content": [{"type": "image", "url": URI}]}),
    ):
        headers = {"Idempotency-Key": f"once {path}"}
        first, again = (client.post(path, json=body, headers=headers) for _ in range(2))
        assert (first.status_code, again.status_code) == (201, 200)
        assert first.json() == again.json()
        other = json.dumps(body).replace(B64[-40:-30], B64[-30:-20])
        refused = client.post(
            path, content=other, headers={**headers, "Content-Type": "application/json"}
        )
        assert outcome(refused) == (422, "idempotency-key-reused")


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "The refusal of a text that is too long names the route for large content",
    kept_by="app/services/memory_budget/request_bodies.py",
    tried="4 routes, 413",
)
def test_text_beyond_the_limit_is_refused_and_says_where_it_goes(
    backends: Backends, tmp_path: Path
) -> None:
    limits = Limits(text_bytes=100_000)
    text = "a word or two " * 10_000
    with (
        serving(backends.settings("embedded", tmp_path / "data", limits=limits)) as service,
        service.client() as client,
    ):
        for method, path, body in (
            ("PUT", f"{ROUTE}/p", {"modality": "text", "content": text}),
            ("POST", MESSAGES, {"role": "user", "content": text}),
            ("POST", "/api/tool-results", {"toolName": "t", "toolCallId": "c", "result": text}),
            ("POST", "/api/resolve", {"sessionId": "s", "arguments": text}),
        ):
            refused = client.request(method, path, json=body)
            assert outcome(refused) == (413, "text-too-large")
            assert "POST /api/resources" in refused.json()["detail"]
