"""Media that were cut, over HTTP: kept as they came, warned of, and handed to no model."""

import json
import struct

import httpx
import pytest

from tests.contract.page_requests import data_uri, put, read
from tests.contract.render_cases import audio_block, file_block, image_block
from tests.contract.render_requests import (
    SESSION_RENDER,
    Json,
    all_words,
    rendering,
    shows,
    steps,
)
from tests.contract.session_requests import append, ask, call_tool, rich, upload
from tests.kit import media
from tests.kit.media import b64

pytestmark = pytest.mark.engines("embedded")

PNG = media.png(noise=True)
CUT = PNG[: len(PNG) // 2]
SENTENCE = "The image/png is damaged: it ends inside of its IDAT chunk."
LOGO = PNG[:33] + struct.pack(">I", 4) + b"iCCPsRGB" + bytes(4) + PNG[33:]
MENDED = "The checksum of its iCCP chunk is wrong; the picture itself is whole."
TARGETS_OF_TYPES = [
    ("anthropic", "image/png", PNG),
    ("openai-responses", "image/jpeg", media.jpeg(noise=True)),
    ("openai-chat", "image/gif", media.image("GIF", noise=True)),
    ("vercel", "image/webp", media.image("WEBP", noise=True)),
    ("gemini", "audio/wav", media.wav()),
    ("gemini", "audio/mpeg", media.mp3()),
    ("gemini", "video/webm", media.webm()),
    ("bedrock", "video/mp4", media.mp4()),
    ("anthropic", "application/pdf", media.pdf() + b"\n"),
    ("mcp", "image/png", PNG),
    ("langchain", "image/png", PNG),
]


def block(content: bytes, mime_type: str) -> Json:
    """A medium as MCP has it."""
    if mime_type.startswith("image/"):
        return image_block(content, mime_type)
    if mime_type.startswith("audio/"):
        return audio_block(content, mime_type)
    return file_block("file", content, mime_type)


def stored(client: httpx.Client, *blocks: Json) -> Json:
    record = call_tool(client, "call_1", {"content": list(blocks)}, session_id=None)
    assert isinstance(record, dict)
    return record


def path_of(record: Json) -> str:
    return f"/api/tool-results/{record['id']}/render"


@pytest.mark.promise(
    "security.md#decoders",
    "A truncated medium is sent to no model",
    kept_by="packages/dialects/src/pagefault_dialects/media/soundness/checks.py",
    tried="11 types and targets",
)
@pytest.mark.parametrize(("target", "mime_type", "data"), TARGETS_OF_TYPES)
def test_a_medium_that_was_cut_is_kept_and_not_shown(
    client: httpx.Client, target: str, mime_type: str, data: bytes
) -> None:
    whole, cut = stored(client, block(data, mime_type)), data[: len(data) * 9 // 10]
    assert "warnings" not in whole["sanitized"]["meta"]
    assert rendering(client, path_of(whole), target)["loss"] == []
    record = stored(client, block(cut, mime_type))["sanitized"]
    assert [part["mimeType"] for part in record["parts"]] == [mime_type]
    (warning,) = record["meta"]["warnings"]
    assert (warning["code"], warning["pointer"][:10]) == ("damaged-media", "/content/0")
    (resource,) = record["resources"]
    assert client.get(f"/api/resources/{resource['uri']}/content").content == cut
    shown = rendering(client, path_of(stored(client, block(cut, mime_type))), target)
    assert not shows(shown, cut)
    (lost,) = shown["loss"]
    assert (lost["to"], lost["code"]) == ("placeholder", "unreadable")


def test_what_is_damaged_beside_a_picture_is_left_out(client: httpx.Client) -> None:
    record = stored(client, image_block(LOGO))
    assert record["sanitized"]["meta"]["warnings"] == [
        {"code": "damaged-media", "pointer": "/content/0/data", "detail": MENDED}
    ]
    (resource,) = record["sanitized"]["resources"]
    assert (resource["width"], resource["height"], resource["size"]) == (64, 48, len(LOGO))
    shown = rendering(client, path_of(record), "anthropic")
    assert shows(shown, PNG)
    assert steps(shown) == [("/sanitized/parts/0", "original", "repaired", "damaged-media")]
    assert rendering(client, path_of(record), "anthropic") == shown


def test_a_fragment_of_base64_in_a_terminal_is_no_image_for_a_model(client: httpx.Client) -> None:
    output = f"$ base64 shot.png | head -c 4000\n{b64(PNG)[:4_000]}"
    record = call_tool(client, "call_1", output, session_id=None)
    assert isinstance(record, dict)
    shown = rendering(client, path_of(record), "anthropic")
    assert ("image" in str(shown["messages"]), "$ base64" in all_words(shown)) == (True, True)
    assert [lost["reason"] for lost in shown["loss"]] == [SENTENCE]


def test_no_entry_of_a_session_shows_what_was_cut(client: httpx.Client) -> None:
    cut = upload(client, CUT, filename="shot.png")
    ask(client, rich(cut["uri"]))
    call_tool(client, "call_1", {"content": [image_block(CUT)]})
    uri = {"type": "image_url", "image_url": {"url": data_uri(CUT, "image/png")}}
    assert append(client, content=[uri]).status_code == 201
    for target in ("anthropic", "openai-chat", "openai-responses"):
        record = rendering(client, SESSION_RENDER, target)
        assert not shows(record, CUT)
        reasons = {item["reason"] for item in record["loss"] if item["code"] == "unreadable"}
        assert reasons == {SENTENCE}
        assert len([item for item in record["loss"] if item["code"] == "unreadable"]) == 3


def test_a_page_whose_image_was_cut_is_told_in_words(client: httpx.Client) -> None:
    put(client, modality="image", content=data_uri(CUT, "image/png"), caption="A form.")
    record = rendering(client, "/api/pages/p/render", "openai-chat", level=0)
    assert not shows(record, CUT)
    assert [lost["reason"] for lost in record["loss"]] == [SENTENCE]
    blocks = read(client, "p/blocks", level=0)["content"]
    assert [item["type"] for item in blocks] == ["text", "text"]
    assert blocks[1]["text"] == f"[image not shown: {SENTENCE}]"
    body = {"target_level": 0, "session_id": "s", "tool_call_id": "call_1"}
    fault = client.post("/api/pages/p/fault", json=body).json()
    assert fault["content"] == blocks
    assert "A form." in blocks[0]["text"]


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("caption", [None, "A form."])
def test_a_fuller_level_with_an_image_that_was_cut_is_not_promised(
    client: httpx.Client, level: int, caption: str | None
) -> None:
    put(client, modality="image", content=data_uri(CUT, "image/png"), caption=caption)
    head = "Page p (image, FULL — caption only):" if caption else "Page p (image, FULL):"
    facts = "[no image available: image/png, 64x48]"
    words = "\n".join([head, f"  {facts}", *([f'  "{caption}"'] if caption else [])])
    fault = client.post("/api/pages/p/fault", json={"target_level": level}).json()
    assert fault["content"] == [
        {"type": "text", "text": words},
        {"type": "text", "text": f"[image not shown: {SENTENCE}]"},
    ]
    record = rendering(client, "/api/pages/p/render", "openai-chat", level=level)
    assert [lost["reason"] for lost in record["loss"]] == [SENTENCE]
    assert "compressed summary" not in all_words(record)


def test_a_page_whose_image_was_cut_says_so_in_json(client: httpx.Client) -> None:
    page = put(client, modality="image", content=data_uri(CUT, "image/png"))
    body = {"target_level": 2, "form": "json"}
    fault = client.post("/api/pages/p/fault", json=body).json()
    told_by_blocks = read(client, "p/blocks", level=2, form="json")
    assert fault["content"] == told_by_blocks["content"]
    assert json.loads(fault["content"]) == {
        "success": True,
        "page_id": "p",
        "content": {"type": "image", "caption": None, "url": page["content"]},
        "modality": "image",
        "compression": "FULL",
        "requested_level": "ABSTRACT",
        "source_tier": "stored",
        "was_compressed": False,
        "truncated": False,
        "damage": SENTENCE,
    }


def test_a_page_whose_image_is_damaged_beside_the_picture_is_repaired(
    client: httpx.Client,
) -> None:
    put(client, modality="image", content=data_uri(LOGO, "image/png"))
    body = {"target_level": 0, "session_id": "s", "tool_call_id": "call_1"}
    for fault in [client.post("/api/pages/p/fault", json=body).json() for _ in range(2)]:
        assert fault["content"][1]["image_url"]["url"] == data_uri(PNG, "image/png")
    _, image = read(client, "p/blocks", level=0)["content"]
    assert image["image_url"]["url"] == data_uri(PNG, "image/png")
    assert client.get("/api/pages/p/download").content == LOGO


def test_a_page_whose_data_uri_cannot_be_decoded_says_so(client: httpx.Client) -> None:
    put(client, modality="image", content="data:image/png;base64,abc123!")
    blocks = read(client, "p/blocks", level=0)["content"]
    assert [item["type"] for item in blocks] == ["text", "text"]


def test_of_many_damaged_media_the_first_are_warned_of_and_the_others_counted(
    client: httpx.Client,
) -> None:
    cut = [media.png(8 + number, 8)[:50] for number in range(60)]
    warnings = stored(client, *map(image_block, cut))["sanitized"]["meta"]["warnings"]
    assert [warning["pointer"] for warning in warnings[:-1]] == [
        f"/content/{n}/data" for n in range(50)
    ]
    assert warnings[-1] == {
        "code": "more-warnings",
        "pointer": "",
        "detail": "There were 10 more warnings like these.",
    }
