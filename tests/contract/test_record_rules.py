"""The rules of the canonical record, held to what a caller gets."""

import base64
import socket
from typing import Any

import httpx
import pytest

from tests.kit import media

pytestmark = pytest.mark.engines("embedded")

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


def sanitized(client: httpx.Client, result: object) -> dict[str, Any]:
    """The canonical record of a result."""
    request = {"toolName": "tool", "toolCallId": "call-1", "result": result}
    answer = client.post("/api/tool-results", json=request)
    assert answer.status_code == 201
    record: dict[str, Any] = answer.json()["sanitized"]
    return record


def content(client: httpx.Client, resource: dict[str, Any]) -> bytes:
    return client.get(f"/api/resources/{resource['uri']}/content").raise_for_status().content


def block(data: bytes, mime_type: str, kind: str = "image") -> dict[str, str]:
    """An MCP block."""
    return {"type": kind, "data": base64.b64encode(data).decode(), "mimeType": mime_type}


def embedded(data: bytes, mime_type: str) -> dict[str, Any]:
    """An MCP embedded resource."""
    blob = base64.b64encode(data).decode()
    return {"type": "resource", "resource": {"uri": "f:///x", "mimeType": mime_type, "blob": blob}}


@pytest.mark.requirement("002-parts")
@pytest.mark.requirement("002-meta")
@pytest.mark.parametrize("result", ["hello", ["hello"], {"content": ["hello"]}])
def test_a_bare_string_becomes_a_text_part(result: object, client: httpx.Client) -> None:
    assert sanitized(client, result) == {
        "parts": [{"type": "text", "text": "hello"}],
        "resources": [],
        "meta": {"toolName": "tool", "toolCallId": "call-1", "success": True},
    }


@pytest.mark.requirement("design-at-least-one-part")
@pytest.mark.parametrize("result", ["", [], {"content": []}])
def test_a_result_of_nothing_is_an_empty_text(result: object, client: httpx.Client) -> None:
    parts = sanitized(client, result)["parts"]
    assert [part["type"] for part in parts] == ["text"]


@pytest.mark.requirement("design-inline-limit")
@pytest.mark.requirement("002-persistence")
def test_an_image_is_stored_from_1024_decoded_bytes_on(client: httpx.Client) -> None:
    smallest = media.png(2, 2)
    inline, stored = (smallest + b"\0" * (size - len(smallest)) for size in (1023, 1024))
    blocks = [block(inline, "image/png"), block(stored, "image/png")]
    record = sanitized(client, {"content": blocks})
    (resource,) = record["resources"]
    assert [part["image"] for part in record["parts"]] == [
        base64.b64encode(inline).decode(),
        f"@{resource['uri']}",
    ]
    assert content(client, resource) == stored


@pytest.mark.requirement("002-media-kind")
@pytest.mark.requirement("design-audio-and-video-stored")
@pytest.mark.parametrize(
    ("data", "mime_type", "kind"),
    [
        (media.wav(0.01), "audio/wav", "audio"),
        (b"\0\0\0\x18ftypisom\0\0\2\0isommp42", "video/mp4", "video"),
        (media.pdf(), "application/pdf", "binary"),
    ],
)
def test_other_media_are_files_that_say_their_kind(
    data: bytes, mime_type: str, kind: str, client: httpx.Client
) -> None:
    record = sanitized(client, {"content": [embedded(data, mime_type)]})
    (part,), (resource,) = record["parts"], record["resources"]
    assert (part["type"], part["mimeType"], part["mediaKind"], part["data"]) == (
        *("file", mime_type),
        *(kind, f"@{resource['uri']}"),
    )
    assert (resource["kind"], resource["mediaKind"], resource["size"]) == (kind, kind, len(data))
    assert content(client, resource) == data


@pytest.mark.requirement("002-resources")
@pytest.mark.requirement("design-resource-once")
def test_a_resource_is_listed_once_in_order_of_first_use(client: httpx.Client) -> None:
    first, second = media.png(noise=True), media.jpeg(noise=True)
    blocks = [
        block(first, "image/png"),
        block(second, "image/jpeg"),
        block(first, "image/png"),
    ]
    record = sanitized(client, {"content": blocks})
    listed = [resource["uri"] for resource in record["resources"]]
    used = [part["image"].removeprefix("@") for part in record["parts"]]
    assert used == [listed[0], listed[1], listed[0]]
    assert [content(client, resource) for resource in record["resources"]] == [first, second]


@pytest.mark.requirement("design-bytes-decide")
def test_a_claim_the_bytes_do_not_bear_out_is_noted(client: httpx.Client) -> None:
    record = sanitized(client, {"content": [block(media.jpeg(noise=True), "image/png")]})
    assert (record["parts"][0]["mimeType"], record["meta"]["declaredMimeType"]) == (
        "image/jpeg",
        {"/parts/0": "image/png"},
    )


@pytest.mark.requirement("design-long-text")
def test_text_of_8000_characters_stays_whole(client: httpx.Client) -> None:
    record = sanitized(client, "x" * 8_000)
    assert record["parts"] == [{"type": "text", "text": "x" * 8_000}]
    assert record["resources"] == []


@pytest.mark.requirement("design-long-text")
def test_longer_text_is_previewed_and_kept_whole(client: httpx.Client) -> None:
    text = "".join(chr(ord("a") + index % 26) for index in range(9_001))
    record = sanitized(client, text)
    (part,), (resource,) = record["parts"], record["resources"]
    middle = part["text"].removeprefix(text[:4_000]).removesuffix(text[-1_000:])
    assert len(middle) == len(part["text"]) - 5_000
    assert ("4,001" in middle or "4001" in middle, resource["uri"] in middle) == (True, True)
    assert content(client, resource) == text.encode()


@pytest.mark.requirement("design-no-split-grapheme")
@pytest.mark.parametrize("shift", range(6))
def test_no_cut_splits_a_grapheme(shift: int, client: httpx.Client) -> None:
    text = "x" * shift + FAMILY * 2_000
    record = sanitized(client, text)
    shown = record["parts"][0]["text"]
    head, tail = shown.split("\n", 1)[0], shown.rsplit("\n", 1)[1]
    assert head.removeprefix("x" * shift).replace(FAMILY, "") == ""
    assert (tail.replace(FAMILY, ""), text.startswith(head), text.endswith(tail)) == (
        "",
        True,
        True,
    )
    assert content(client, record["resources"][0]) == text.encode()


@pytest.mark.requirement("design-urls-never-fetched")
def test_no_url_in_a_result_is_ever_opened(client: httpx.Client) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.setblocking(False)
        url = f"http://127.0.0.1:{canary.getsockname()[1]}/picture.png"
        link = {"type": "resource_link", "uri": url, "name": "p", "mimeType": "image/png"}
        openai = {"type": "image_url", "image_url": {"url": url}}
        record = sanitized(client, {"content": [link, openai, {"type": "text", "text": url}]})
        with pytest.raises(BlockingIOError):
            canary.accept()
    assert (url in str(record["parts"]), record["resources"]) == (True, [])


@pytest.mark.requirement("design-urls-never-fetched")
@pytest.mark.parametrize("url", ["javascript:alert(1)//a.png", "file:///etc/passwd.png"])
def test_other_urls_are_not_media(url: str, client: httpx.Client) -> None:
    record = sanitized(client, {"content": [{"type": "image_url", "image_url": {"url": url}}]})
    assert {part["type"] for part in record["parts"]} == {"text"}


@pytest.mark.requirement("design-additions-absent-when-empty")
def test_what_a_block_says_besides_is_kept_and_nothing_else_is_added(client: httpx.Client) -> None:
    annotations = {"audience": ["user"], "priority": 0.5}
    said = {"annotations": annotations, "_meta": {"example.com/a": 1}}
    plain = {"type": "text", "text": "plain"}
    record = sanitized(client, {"content": [{"type": "text", "text": "noted", **said}, plain]})
    assert record["parts"] == [{"type": "text", "text": "noted", **said}, plain]
