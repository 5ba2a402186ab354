"""Renderings of pages over HTTP: every modality, level and target."""

from collections.abc import Mapping
from types import MappingProxyType

import httpx
import pytest

from app.models.call_ids import LONGEST_CALL_ID
from pagefault_dialects.targets.table import TARGETS
from tests.contract.page_requests import data_uri, level_of, pointers, put, read, supply
from tests.contract.render_requests import (
    Json,
    all_words,
    read_rendering,
    rendering,
    shows,
    steps,
    strings,
)
from tests.contract.session_requests import upload
from tests.kit import media

pytestmark = pytest.mark.engines("embedded")

EVERY = pytest.mark.parametrize("target", TARGETS)
LEVELS = pytest.mark.parametrize("level", [0, 1, 2, 3])
PNG = media.png(noise=True)
WAV = media.wav()
PATH = "/api/pages/p/render"

PAGES: Mapping[str, Json] = MappingProxyType(
    {
        "text": {"modality": "text", "content": "A long story. " * 50, "hint": "a story"},
        "text with an image in it": {
            "modality": "text",
            "content": f"Before {data_uri(PNG, 'image/png')} and after.",
        },
        "image": {
            "modality": "image",
            "content": data_uri(PNG, "image/png"),
            "caption": "A fox.",
            "hint": "a fox",
        },
        "image without words": {"modality": "image", "content": data_uri(PNG, "image/png")},
        "image at an address": {"modality": "image", "content": "https://files.example/a.png"},
        "audio": {"modality": "audio", "content": "Hello there.", "duration_seconds": 2.5},
        "video": {"modality": "video", "content": "A fox runs.", "duration_seconds": 2.5},
        "structured": {
            "modality": "structured",
            "content": {"a": [1, {"$ref": "#/b"}], "n": 2**70},
        },
    }
)


def blocks(client: httpx.Client, level: int) -> object:
    return read(client, "p/blocks", level=level)["content"]


@LEVELS
@pytest.mark.parametrize("name", PAGES)
def test_rendering_for_openai_compat_is_the_blocks(
    client: httpx.Client, name: str, level: int
) -> None:
    put(client, **PAGES[name])
    asked: Json = {"level": level, "toolCallId": "call_1"}
    record = rendering(client, PATH, "openai-compat", **asked)
    assert record["messages"] == [
        {"role": "tool", "tool_call_id": "call_1", "content": blocks(client, level)}
    ]
    assert record["loss"] == []
    by_default = client.get(PATH, params=asked)
    assert by_default.json() == record


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("name", PAGES)
def test_page_is_taken_by_its_target_at_every_level(
    client: httpx.Client, name: str, target: str
) -> None:
    put(client, **PAGES[name])
    for level in (0, 1, 2, 3):
        record = rendering(client, PATH, target, level=level)
        assert "page p" in all_words(record).lower() or level == 3


@EVERY
def test_image_is_shown_to_whoever_sees_images(client: httpx.Client, target: str) -> None:
    put(client, **PAGES["image"])
    record = rendering(client, PATH, target, level=0)
    read_by_model = all_words(record)
    if target == "text":
        assert steps(record) == [("/content", "original", "caption", "type-not-taken")]
        assert "[Image: image/png (9.3 kB)]" in read_by_model
        assert "A fox." in read_by_model
        assert "attached below" not in read_by_model
    else:
        assert (shows(record, PNG), record["loss"]) == (True, [])
        assert "attached below" in read_by_model


@EVERY
def test_recording_is_shown_to_whoever_hears(client: httpx.Client, target: str) -> None:
    uri = upload(client, WAV, filename="a.wav")["uri"]
    put(client, modality="audio", content=f"@{uri}", transcript="Hello there.")
    record = rendering(client, PATH, target, level=0)
    rule = TARGETS[target].find_media_rule("audio")
    takes = bool(rule and rule.accepts_type("audio/wav"))
    assert shows(record, WAV) == takes
    assert steps(record) == (
        [] if takes else [("/content", "original", "transcript", "type-not-taken")]
    )
    assert ("[Audio: a.wav (16.0 kB)]" in all_words(record)) == (not takes)


def test_page_is_rendered_at_its_own_level(client: httpx.Client) -> None:
    put(client, content="The whole story.", compression_level=2)
    supply(client, 2, "The short one.")
    records = {
        level: rendering(client, PATH, "text", **({} if level is None else {"level": level}))
        for level in (None, 0, "ABSTRACT", 2)
    }
    own = read(client, "p")["compression_level"]
    assert records[None] == rendering(client, PATH, "text", level=own)
    assert records["ABSTRACT"] == records[2] != records[0]
    assert level_of(client, 2)[1] == "The short one."


def test_call_of_a_page_has_an_id_made_of_the_pages(client: httpx.Client) -> None:
    put(client, content="x")
    put(client, "q", content="x")
    ids = [
        rendering(client, f"/api/pages/{page_id}/render", "openai-chat")["messages"][0][
            "tool_call_id"
        ]
        for page_id in ("p", "q", "p")
    ]
    assert ids[0] == ids[2] != ids[1]
    assert all(call_id.startswith("call_") and len(call_id) <= 40 for call_id in ids)


def test_rendering_by_body_is_that_of_the_address(client: httpx.Client) -> None:
    put(client, **PAGES["image"])
    options: list[Json] = [
        {},
        {"level": 0},
        {"level": 1, "toolCallId": "call 1"},
        {"level": 0, "media": "reference"},
        {"level": 0, "accept": "audio/*"},
        {"level": 0, "detail": "high", "maxImages": 0},
    ]
    for requested in options:
        for target in ("openai-compat", "anthropic"):
            query = {"target": target, **requested}
            by_address = client.get(PATH, params=query)
            by_body = client.post("/api/render", json={"pageId": "p", **query})
            assert by_body.content == by_address.content
            read_rendering(by_body, target)


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("level=4", "/query/level"),
        ("level=high", "/query/level"),
        ("toolCallId=", "/query/toolCallId"),
        pytest.param(
            f"toolCallId={'x' * (LONGEST_CALL_ID + 1)}", "/query/toolCallId", id="too long an id"
        ),
        ("target=nothing", "/query/target"),
    ],
)
def test_option_that_makes_no_sense_is_refused(
    client: httpx.Client, query: str, pointer: str
) -> None:
    put(client, content="x")
    assert pointers(client.get(f"{PATH}?{query}")) == [pointer]


def test_conditions_follow_the_page(client: httpx.Client) -> None:
    put(client, content="one", level=0)
    first = client.get(PATH, params={"level": 0})
    known = {"If-None-Match": first.headers["etag"]}
    assert client.get(PATH, params={"level": 0}, headers=known).status_code == 304
    put(client, content="two", level=0)
    second = client.get(PATH, params={"level": 0}, headers=known)
    assert second.status_code == 200
    assert "two" in all_words(read_rendering(second, "openai-compat"))


def test_rendering_counts_as_reading(client: httpx.Client) -> None:
    put(client, content="x")
    before = read(client, "p")["access_count"]
    assert client.get(PATH).status_code == 200
    assert read(client, "p")["access_count"] == before + 1


def test_what_gives_a_model_nothing_is_no_reading(client: httpx.Client) -> None:
    put(client, content="x")
    etag = client.get(PATH).headers["etag"]
    asked: list[tuple[Json, int]] = [
        ({"headers": {"If-None-Match": etag}}, 304),
        ({"headers": {"If-Match": '"another"'}}, 412),
        ({"params": {"observe": "1"}}, 200),
        ({"params": {"target": "nothing"}}, 422),
        ({"params": {"target": "anthropic", "media": "signed-url"}}, 422),
    ]
    before = read(client, "p")["access_count"]
    assert [client.get(PATH, **item).status_code for item, _ in asked] == [
        status for _, status in asked
    ]
    assert read(client, "p")["access_count"] == before


def test_reference_to_the_image_of_a_page_is_its_resource(client: httpx.Client) -> None:
    put(client, **PAGES["image"])
    record = rendering(client, PATH, "openai-compat", level=0, media="reference")
    [reference] = [text for text in strings(record["messages"]) if text.startswith("@blob:")]
    found = client.get(f"/api/resources/{reference.removeprefix('@blob:')}/content")
    assert found.content == PNG


ADDRESSED: Mapping[str, tuple[Json, str]] = MappingProxyType(
    {
        "by its extension": ({"content": "https://files.example/a.webp"}, "image/webp"),
        "by the page": (
            {"content": "https://files.example/a", "mime_type": " Image/JPG; q=1"},
            "image/jpeg",
        ),
        "by the page before its extension": (
            {"content": "https://files.example/a.png", "mime_type": "image/gif"},
            "image/gif",
        ),
        "by nothing": ({"content": "https://files.example/a"}, "image/*"),
        "by a kind alone": (
            {"content": "https://files.example/a", "mime_type": "image"},
            "image/*",
        ),
        "by a range": ({"content": "https://files.example/a", "mime_type": "image/*"}, "image/*"),
        "by a type of another kind": (
            {"content": "https://files.example/a.php", "mime_type": "text/html"},
            "image/*",
        ),
        "by a type that says nothing": (
            {"content": "https://files.example/a.gif", "mime_type": "application/octet-stream"},
            "image/gif",
        ),
        "sound by its extension": (
            {"modality": "audio", "content": "https://files.example/a.wav"},
            "audio/wav",
        ),
        "sound by nothing": (
            {"modality": "audio", "content": "https://files.example/a"},
            "audio/*",
        ),
        "sound in a container": (
            {"modality": "audio", "content": "https://files.example/a", "mime_type": "video/mp4"},
            "video/mp4",
        ),
        "video by nothing": (
            {"modality": "video", "content": "https://files.example/a"},
            "video/*",
        ),
    }
)


@pytest.mark.parametrize(("fields", "mime_type"), ADDRESSED.values(), ids=ADDRESSED)
def test_medium_at_an_address_has_the_type_that_is_known_of_it(
    client: httpx.Client, fields: Json, mime_type: str
) -> None:
    put(client, **{"modality": "image", **fields})
    record = rendering(client, PATH, "vercel", level=0)
    shown = [{"type": "file-url", "url": fields["content"], "mediaType": mime_type}]
    [message] = record["messages"]
    [result] = message["content"]
    assert result["output"]["value"][1:] == shown
    assert record["loss"] == []


def test_reduced_copy_at_another_address_has_the_type_of_that(client: httpx.Client) -> None:
    page: Json = {"modality": "image", "content": "https://files.example/a.svg"}
    put(client, **page, mime_type="image/svg+xml")
    assert supply(client, 1, "https://files.example/small.webp").is_success
    record = rendering(client, PATH, "vercel", level=1)
    [result] = record["messages"][0]["content"]
    assert result["output"]["value"][1]["mediaType"] == "image/webp"


@pytest.mark.parametrize(
    ("address", "target", "code"),
    [
        ("https://files.example/a.svg", "anthropic", "type-not-taken"),
        ("https://files.example/a.svg", "gemini", "address-not-taken"),
        ("https://files.example/a", "anthropic", None),
        ("https://files.example/a", "gemini", "address-not-taken"),
        ("http://files.example/a", "anthropic", "address-not-taken"),
        ("http://files.example/a", "text", "type-not-taken"),
    ],
)
def test_image_at_an_address_steps_down_for_the_reason_there_is(
    client: httpx.Client, address: str, target: str, code: str | None
) -> None:
    put(client, modality="image", content=address)
    record = rendering(client, PATH, target, level=0)
    placed = ("/content", "original", "placeholder", code)
    assert steps(record) == ([] if code is None else [placed])
    assert address in all_words(record)


def images_of(record: Json) -> list[Json]:
    """The images of messages for OpenAI's models."""
    blocks = (item for message in record["messages"] for item in message.get("content") or ())
    return [
        block["image_url"] for block in blocks if isinstance(block, dict) and "image_url" in block
    ]


@pytest.mark.parametrize("target", ["openai-compat", "openai-chat"])
def test_detail_of_a_page_fault_reaches_its_renderings(client: httpx.Client, target: str) -> None:
    put(client, modality="image", content="https://files.example/a.png")
    for session_id, asked in (("low", {}), ("high", {"detail": "high"})):
        body = {"target_level": 0, "session_id": session_id, "tool_call_id": "c", **asked}
        assert client.post("/api/pages/p/fault", json=body).status_code == 200
        path = f"/api/sessions/{session_id}/render"
        details = [
            [image["detail"] for image in images_of(rendering(client, path, target, **query))]
            for query in ({}, {"detail": "auto"})
        ]
        assert details == [[session_id], ["auto"]]
    record = rendering(client, PATH, target, level=0)
    assert [image["detail"] for image in images_of(record)] == ["low"]


FAULT: Json = {"target_level": 0, "session_id": "s", "tool_call_id": "c1"}
CALL: Json = {
    "id": "c1",
    "type": "function",
    "function": {"name": "page_fault", "arguments": '{"page_id":"p","target_level":0}'},
}


@pytest.mark.parametrize("call_id", ["c1", None])
def test_page_fault_of_a_session_is_rendered_with_its_call(
    client: httpx.Client, call_id: str | None
) -> None:
    put(client, content="Hello.")
    client.post("/api/pages/p/fault", json={**FAULT, "tool_call_id": call_id})
    record = rendering(client, "/api/sessions/s/render", "openai-chat")
    calling, answer = record["messages"]
    assert record["loss"] == []
    assert calling["tool_calls"] == [{**CALL, "id": call_id or "call"}]
    assert answer["tool_call_id"] == (call_id or "call")


@pytest.mark.parametrize("is_before", [True, False], ids=["call first", "call later"])
def test_page_fault_takes_the_call_that_a_message_makes(
    client: httpx.Client, is_before: bool
) -> None:
    put(client, content="Hello.")
    arguments = '{"page_id":"p","target_level":"FULL"}'
    call = {**CALL, "function": {"name": "page_fault", "arguments": arguments}}
    block = {"role": "assistant", "content": "Let me see.", "tool_calls": [call]}
    sent = [("/api/pages/p/fault", FAULT), ("/api/sessions/s/messages", block)]
    for path, body in reversed(sent) if is_before else sent:
        assert client.post(path, json=body).is_success
    record = rendering(client, "/api/sessions/s/render", "openai-chat")
    assert record["loss"] == []
    assert [message.get("tool_calls") for message in record["messages"]] == [[call], None]


def test_call_that_a_page_fault_was_rendered_with_stays_when_a_message_makes_it(
    client: httpx.Client,
) -> None:
    put(client, content="Hello.")
    client.post("/api/pages/p/fault", json=FAULT)
    path, body = "/api/sessions/s/render", {"target": "openai-chat", "frontier": "main"}
    first = client.post(path, json=body).json()
    message = {"role": "assistant", "content": "Let me see.", "tool_calls": [CALL]}
    client.post("/api/sessions/s/messages", json=message)
    second = client.post(path, json=body).json()
    assert second["messages"][:2] == first["messages"]
    assert second["stableThrough"] == 2


def test_type_of_a_page_reaches_the_rendering_of_its_fault(client: httpx.Client) -> None:
    url = "https://files.example/picture"
    put(client, modality="image", content=url, mime_type="image/webp")
    client.post("/api/pages/p/fault", json=FAULT)
    link = {"type": "resource_link", "uri": url, "name": "file.webp", "mimeType": "image/webp"}
    for path in (PATH, "/api/sessions/s/render"):
        *_, answer = rendering(client, path, "mcp", **({"level": 0} if path == PATH else {}))[
            "messages"
        ]
        assert answer["content"][1] == link
