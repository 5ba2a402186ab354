"""Pages at a level over HTTP: typed, as blocks, as one JSON string."""

import base64
import json
from typing import Any

import httpx
import pytest

from tests.contract.page_requests import ROUTE, data_uri, outcome, put, read
from tests.kit.media import pdf, png, wav

pytestmark = pytest.mark.engines("embedded")

LEVELS = ("FULL", "REDUCED", "ABSTRACT", "REFERENCE")
LARGE_PNG = png(noise=True)
PHOTO = png(1024, 768, noise=True)
TEXT = "The very first sentence. " + "Word " * 2_000
NOTE = (
    "\n\n  Note: This is a compressed summary. "
    'Use page_fault("{}", target_level=0) for full content.'
)
ROWS = {"rows": list(range(30)), "name": "x" * 200}
PAGES: dict[str, dict[str, Any]] = {
    "text": {"modality": "text", "content": TEXT},
    "image": {
        "modality": "image",
        "content": "https://example.com/a.png",
        "caption": "A sunset.",
        "metadata": {"embedding": [1, 0.5]},
    },
    "audio": {
        "modality": "audio",
        "content": "https://example.com/a.mp3",
        "transcript": "Hello. Bye.",
        "duration_seconds": 0.0,
        "metadata": {"timestamps": [0, {"end": 1.5}]},
    },
    "video": {
        "modality": "video",
        "content": "https://example.com/v.mp4",
        "transcript": "Hello.",
        "scenes": ["A door", {"summary": "A dog", "start": 5, "end": 9}],
        "duration_seconds": 342.0,
    },
    "structured": {"modality": "structured", "content": ROWS, "schema_name": "rows"},
}
BLOCKS: dict[tuple[str, int], str] = {
    ("text", 0): f"Page text (text, FULL):\n{TEXT}",
    ("text", 2): f"Page text (text, ABSTRACT):\nThe very first sentence.{NOTE.format('text')}",
    ("image", 2): "Page image (image, ABSTRACT \u2014 caption only):\n"
    f'  "A sunset."{NOTE.format("image")}',
    ("image", 3): "Page image (image, ABSTRACT \u2014 caption only):\n"
    f'  "A sunset."{NOTE.format("image")}',
    ("audio", 0): "Page audio (audio, FULL):\n  [audio, 0.0 s, audio/mpeg, transcript below]\n"
    "Hello. Bye.\n  URL: https://example.com/a.mp3",
    ("video", 0): "Page video (video, FULL):\n"
    "  [video, 5:42 (342.0 s), video/mp4, 2 scenes and transcript below]\n"
    "  - A door\n  - 0:05-0:09 A dog\nHello.\n  URL: https://example.com/v.mp4",
    ("video", 2): "Page video (video, ABSTRACT):\n"
    "  [video, 5:42 (342.0 s), video/mp4, summary below]\n"
    f"  - A door\n  - 0:05-0:09 A dog{NOTE.format('video')}",
    ("structured", 2): "Page structured (structured, ABSTRACT):\n  Schema: rows\n"
    '  {"rows":"array of 30 integers","name":"string of 200 characters"}'
    f"{NOTE.format('structured')}",
}
NO_IMAGE = {"type": "image", "url": None, "base64": None}
AUDIO = {"type": "audio", "timestamps": [0, {"end": 1.5}], "duration_seconds": 0.0}
VIDEO = {"type": "video", "duration_seconds": 342.0}
STRUCTURED = {"type": "structured", "schema_name": "rows"}
TYPED: dict[tuple[str, int], dict[str, Any]] = {
    ("text", 0): {"type": "text", "text": TEXT},
    ("text", 2): {"type": "text", "text": "The very first sentence."},
    ("text", 3): {"type": "text", "text": "[artifact] text:text"},
    ("image", 0): NO_IMAGE
    | {"caption": "A sunset.", "url": "https://example.com/a.png", "embedding": [1.0, 0.5]},
    ("image", 1): NO_IMAGE
    | {"caption": "A sunset.", "url": "https://example.com/a.png", "embedding": [1.0, 0.5]},
    ("image", 2): NO_IMAGE | {"caption": "A sunset.", "embedding": [1.0, 0.5]},
    ("image", 3): {"type": "text", "text": "A sunset."},
    ("audio", 0): AUDIO | {"transcript": "Hello. Bye."},
    ("audio", 1): AUDIO | {"transcript": "Hello. Bye."},
    ("audio", 2): AUDIO | {"transcript": "Hello. Bye."},
    ("audio", 3): {"type": "text", "text": "Hello. Bye."},
    ("video", 0): VIDEO
    | {
        "scenes": PAGES["video"]["scenes"],
        "transcript": "Hello.",
        "url": "https://example.com/v.mp4",
    },
    ("video", 2): VIDEO
    | {"scenes": None, "transcript": "  - A door\n  - 0:05-0:09 A dog", "url": None},
    ("video", 3): {"type": "text", "text": "[artifact] video:video (5:42)"},
    ("structured", 0): STRUCTURED | {"data": ROWS},
    ("structured", 2): STRUCTURED
    | {"data": {"rows": "array of 30 integers", "name": "string of 200 characters"}},
    ("structured", 3): {"type": "text", "text": "[artifact] structured:structured"},
}


def image_url(blocks: dict[str, Any]) -> str:
    url: str = blocks["content"][1]["image_url"]["url"]
    return url


@pytest.mark.parametrize(("page_id", "level"), TYPED, ids=str)
def test_typed_content_is_what_the_level_holds(
    shared_client: httpx.Client, page_id: str, level: int
) -> None:
    put(shared_client, page_id, **PAGES[page_id])
    assert read(shared_client, f"{page_id}/content", level=level) == TYPED[page_id, level]
    by_name = read(shared_client, f"{page_id}/content", level=LEVELS[level].lower())
    assert by_name == TYPED[page_id, level]


@pytest.mark.parametrize(("page_id", "level"), BLOCKS, ids=str)
def test_blocks_annotate_the_level(shared_client: httpx.Client, page_id: str, level: int) -> None:
    put(shared_client, page_id, **PAGES[page_id])
    assert (
        read(shared_client, f"{page_id}/blocks", level=level)["content"] == BLOCKS[page_id, level]
    )


@pytest.mark.parametrize("page_id", PAGES)
def test_higher_level_is_never_longer(shared_client: httpx.Client, page_id: str) -> None:
    levels = put(shared_client, page_id, **PAGES[page_id])["levels"]
    held = [read(shared_client, f"{page_id}/representations/{level}") for level in levels]
    texts = [json.dumps(message["content"], separators=(",", ":")) for message in held]
    # An address stands for a medium, which is longer than any words about it.
    words = [len(text) for text in texts if "https://" not in text]
    assert words == sorted(words, reverse=True)
    assert [item["origin"] for item in held] == ["stored", "derived", "derived", "derived"]


def test_page_is_shown_at_the_level_it_names_unless_another_is_asked_for(
    client: httpx.Client,
) -> None:
    put(client, "p", content=TEXT, level="ABSTRACT")
    text = "The very first sentence."
    assert read(client, "p/content") == {"type": "text", "text": text}
    assert read(client, "p/content", level=0) == {"type": "text", "text": TEXT}
    assert read(client, "p")["content"] == TEXT


@pytest.mark.parametrize("level", ["4", "-1", "", "0.0", "full ", "\u0660", "x" * 17])
@pytest.mark.parametrize("what", ["content", "blocks", "download"])
def test_unknown_level_is_refused(shared_client: httpx.Client, what: str, level: str) -> None:
    put(shared_client, "p", content="one")
    answer = shared_client.get(f"{ROUTE}/p/{what}", params={"level": level})
    assert outcome(answer) == (422, "invalid-payload")
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/query/level"]


def test_stored_image_is_base64_reference_or_data_uri(client: httpx.Client) -> None:
    sent = data_uri(LARGE_PNG, "image/png")
    reference = put(client, "p", modality="image", content=sent)["content"]
    empty = {"type": "image", "caption": None, "url": None, "base64": None, "embedding": None}
    plain = base64.b64encode(LARGE_PNG).decode()
    assert read(client, "p/content") == empty | {"base64": plain}
    assert read(client, "p/content", media="reference") == empty | {"url": reference}
    assert image_url(read(client, "p/blocks")) == sent
    assert image_url(read(client, "p/blocks", media="reference", detail="high")) == reference


@pytest.mark.parametrize(
    ("data", "mime_type"), [(pdf(), "image/png"), (pdf(), "application/pdf"), (wav(), "image/png")]
)
@pytest.mark.parametrize("padding", [0, 4_000])
def test_medium_of_another_kind_is_no_image(
    shared_client: httpx.Client, data: bytes, mime_type: str, padding: int
) -> None:
    content = data_uri(data[:900] + b"\n" * padding, mime_type)
    refused = shared_client.put(f"{ROUTE}/other", json={"modality": "image", "content": content})
    assert outcome(refused) == (422, "invalid-payload")


def test_reduced_image_is_a_smaller_image(client: httpx.Client) -> None:
    put(client, "p", modality="image", content=data_uri(PHOTO, "image/png"))
    record = read(client, "p/representations/REDUCED")
    media = record["media"]
    assert (record["origin"], record["content"]) == ("derived", media["uri"])
    assert (media["mime_type"], media["width"], media["height"]) == ("image/jpeg", 512, 384)
    content = client.get(f"/api/resources/{media['uri'].removeprefix('@blob:')}/content").content
    assert 0 < len(content) == media["size_bytes"] < len(PHOTO)
    assert image_url(read(client, "p/blocks", level=1)) == data_uri(content, "image/jpeg")


def test_large_image_costs_no_base64_in_the_record_or_the_lists(client: httpx.Client) -> None:
    put(client, "p", modality="image", content=data_uri(LARGE_PNG, "image/png"), caption="Noise")
    payload = base64.b64encode(LARGE_PNG).decode()[:60]
    answers = [
        client.get(ROUTE + path)
        for path in ("", "/p", "/search?q=noise", "/p/blocks?form=json", "/p/blocks?level=2")
    ]
    answers.append(client.get(f"{ROUTE}/p", headers={"Accept": "text/plain"}))
    assert [payload in answer.text for answer in answers] == [False] * 6


def test_text_is_stepped_through_by_offset(client: httpx.Client) -> None:
    text = "".join(f"{number} e\u0301\U0001f468\u200d\U0001f469 \r\n" for number in range(60))
    put(client, "p", content=text)
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        step = {"max_chars": 50, "offset": offset}
        blocks = read(client, "p/blocks", **step)
        form = json.loads(read(client, "p/blocks", form="json", **step)["content"])
        pieces.append(form["content"])
        offset = blocks["next_offset"]
        assert (blocks["total_chars"], form["truncated"], form["next_offset"]) == (
            len(text),
            blocks["truncated"],
            offset,
        )
    assert "".join(pieces) == text
    assert max(map(len, pieces)) <= 50


def test_json_form_is_one_string(client: httpx.Client) -> None:
    put(client, "p", **PAGES["structured"])
    answer = read(client, "p/blocks", form="json", level=2)
    assert json.loads(answer["content"]) == {
        "success": True,
        "page_id": "p",
        "content": TYPED["structured", 2]["data"],
        "modality": "structured",
        "compression": "ABSTRACT",
        "source_tier": "derived",
        "was_compressed": True,
        "truncated": False,
        "schema_name": "rows",
        "note": NOTE.format("p").partition("Note: ")[2],
    }


def test_level_that_is_not_there_says_so(client: httpx.Client) -> None:
    assert put(client, "p", modality="audio", content=None)["levels"] == [3]
    assert outcome(client.get(f"{ROUTE}/p/representations/1")) == (404, "level-missing")
    assert read(client, "p/content", level=1)["transcript"] is None
    assert "no transcript available" in read(client, "p/blocks", level=2)["content"]
