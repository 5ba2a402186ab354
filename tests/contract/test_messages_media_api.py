"""Media in messages over HTTP: moved, kept, protected, and given back exactly."""

import base64
import json
import re
from collections.abc import Iterator
from typing import Any

import httpx
import hypothesis
import pytest
from hypothesis import strategies as st

from app.models.limits import Limits
from pagefault_dialects.json.values import JsonValue, json_text
from tests.contract.page_requests import data_uri, outcome, put, resources, stored_bytes
from tests.contract.session_requests import (
    JSON,
    MESSAGES,
    SESSION,
    append,
    call_tool,
    entries,
    upload,
)
from tests.kit.media import b64, flac, jpeg, mp3, pdf, png, tone, wav
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ROUTE = MESSAGES
LARGE = png(noise=True)
B64 = base64.b64encode(LARGE).decode()
URI = data_uri(LARGE, "image/png")
NAMED_URI = URI.replace(";base64", ";name=report.png;base64")
LARGE_JPEG = jpeg(noise=True)
JPEG_URI = data_uri(LARGE_JPEG, "image/jpeg")
DOCUMENT = pdf() * 2
SMALL_URI = data_uri(png(), "image/png")
PROSE = "Words that are about data and go on and on. " * 60
SMALL_BYTES = 4_000
MAX_MEDIA = 3
LARGEST_MEDIUM_BYTES = 100_000


def send(client: httpx.Client, message: object) -> httpx.Response:
    return client.post(ROUTE, content=json_text(message).encode(), headers=JSON)


def own_members(entry: bytes) -> str:
    """The text of an entry but for its number, id, time and kind, which the service has given.

    Of a message that is not flat, that of the message.
    """
    head, _, rest = entry.decode().partition('Z","entry":"')
    kind, _, tail = rest.partition('",')
    assert head.startswith('{"seq":')
    assert kind in ("message", "page_fault")
    around = re.match(r'"dialect":"[a-z-]+","role":"[a-z]+","message":', tail)
    return "{" + tail if around is None else tail[around.end() : -1]


def assert_comes_back(client: httpx.Client, message: object) -> dict[str, Any]:
    """Send it; as it was sent it is read back everywhere. Returns the message that is stored."""
    created = send(client, message)
    assert created.status_code == 201, created.text[:500]
    path = created.headers["location"]
    assert client.get(path).content == created.content
    inline = client.get(path, params={"media": "inline"})
    assert own_members(inline.content) == json_text(message)
    seq = created.json()["seq"]
    page = client.get(ROUTE, params={"media": "inline", "limit": 200})
    assert inline.content in page.content
    assert page.json()["items"][-1]["seq"] == seq
    record: dict[str, Any] = created.json()
    return record["message"] if "dialect" in record else record


def at(value: JsonValue, *path: str | int) -> JsonValue:
    for key in path:
        value = value[key]
    return value


@pytest.mark.parametrize(
    ("block", "path", "data", "mime_type"),
    [
        (
            {"type": "image_url", "image_url": {"url": URI, "detail": "low"}},
            ("image_url", "url"),
            LARGE,
            "image/png",
        ),
        ({"type": "input_image", "image_url": URI}, ("image_url",), LARGE, "image/png"),
        (
            {"type": "input_audio", "input_audio": {"data": b64(wav()), "format": "wav"}},
            ("input_audio", "data"),
            wav(),
            "audio/wav",
        ),
        (
            {"type": "input_audio", "input_audio": {"data": b64(mp3()), "format": "mp3"}},
            ("input_audio", "data"),
            mp3(),
            "audio/mpeg",
        ),
        (
            {
                "type": "file",
                "file": {
                    "filename": "a.pdf",
                    "file_data": f"data:application/pdf;base64,{b64(DOCUMENT)}",
                },
            },
            ("file", "file_data"),
            DOCUMENT,
            "application/pdf",
        ),
        (
            {"type": "input_file", "filename": "a.pdf", "file_data": b64(DOCUMENT)},
            ("file_data",),
            DOCUMENT,
            "application/pdf",
        ),
        (
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/jpeg", "data": b64(LARGE_JPEG)},
            },
            ("source", "data"),
            LARGE_JPEG,
            "image/jpeg",
        ),
        (
            {
                "type": "document",
                "source": {
                    "type": "base64",
                    "media_type": "application/pdf",
                    "data": b64(DOCUMENT),
                },
                "cache_control": {"type": "ephemeral"},
            },
            ("source", "data"),
            DOCUMENT,
            "application/pdf",
        ),
        (
            {"inlineData": {"mimeType": "image/png", "data": B64}},
            ("inlineData", "data"),
            LARGE,
            "image/png",
        ),
        (
            {"inline_data": {"mime_type": "audio/flac", "data": b64(flac())}},
            ("inline_data", "data"),
            flac(),
            "audio/flac",
        ),
        (
            {"image": {"format": "png", "source": {"bytes": B64}}},
            ("image", "source", "bytes"),
            LARGE,
            "image/png",
        ),
        (
            {"document": {"format": "pdf", "name": "a", "source": {"bytes": b64(DOCUMENT)}}},
            ("document", "source", "bytes"),
            DOCUMENT,
            "application/pdf",
        ),
        (
            {"type": "tool_result", "content": [{"type": "image", "source": {"data": B64}}]},
            ("content", 0, "source", "data"),
            LARGE,
            "image/png",
        ),
        (
            {"type": "image", "data": B64, "mimeType": "image/png"},
            ("data",),
            LARGE,
            "image/png",
        ),
    ],
    ids=lambda value: "/".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_medium_in_a_block_is_moved_and_comes_back(
    client: httpx.Client,
    block: dict[str, Any],
    path: tuple[str | int, ...],
    data: bytes,
    mime_type: str,
) -> None:
    message = {"role": "user", "content": [{"type": "text", "text": "Look:"}, block], "x": 1.5}
    shown = assert_comes_back(client, message)
    reference = at(shown["content"][1], *path)
    assert stored_bytes(client, reference) == data
    ((uri, size, stored_type),) = {
        (f"@{found['uri']}", found["size"], found["mimeType"]) for found in resources(client)
    }
    assert (uri, size, stored_type) == (reference, len(data), mime_type)
    assert shown["content"] == [
        {"type": "text", "text": "Look:"},
        with_member(block, path, reference),
    ]


def with_member(value: JsonValue, path: tuple[str | int, ...], member: object) -> JsonValue:
    """A copy of a value with another member at a place."""
    if not path:
        return member
    copy = value.copy()
    copy[path[0]] = with_member(value[path[0]], path[1:], member)
    return copy


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        URI,
        URI.replace("data:image/png;base64", "DATA:IMAGE/PNG;BASE64"),
        URI.replace("image/png", 'image/png;name="a, b.png";a=b'),
        URI.replace("image/png", "image/jpeg"),
        f"data:;base64,{B64}",
        f"data: image/png ; base64,{B64}",
        "data:image/png;base64," + base64.urlsafe_b64encode(LARGE).decode(),
        "data:image/png;base64," + b64(LARGE + b"12").rstrip("="),
        "data:image/png;base64," + base64.encodebytes(LARGE).decode(),
        "data:image/png;base64," + base64.encodebytes(LARGE).decode().replace("\n", "\r\n  "),
        "data:image/png;base64," + B64.replace("+", "%2B").replace("/", "%2f").replace("=", "%3D"),
        "data:image/png;base64," + b64(LARGE + b"1")[:-3] + "R==",
        URI + "\n",
        " \t" + URI,
        B64,
        base64.encodebytes(LARGE).decode(),
        base64.urlsafe_b64encode(LARGE).decode().rstrip("="),
        f"Look at {URI}.",
        f"See {URI} and ({URI}) and {JPEG_URI}",
        f"{URI} and {JPEG_URI}",
        f"![a]({URI})\n\n<img src='{URI}'>",
        f"Zażółć \0 {URI} \u202e",
        json.dumps({"image": URI, "n": 1.10}),
    ],
    ids=lambda text: text[:40],
)
def test_medium_is_moved_however_it_is_written_and_comes_back(
    client: httpx.Client, text: str
) -> None:
    for content in (text, [{"type": "text", "text": text}], [{"url": {"url": text}}]):
        shown = assert_comes_back(client, {"role": "user", "content": content})
        assert (B64[:60] in json_text(shown), "@blob:" in json_text(shown)) == (False, True)
        assert all(len(string) < 400 for string in strings(shown))
    kept = {stored_bytes(client, f"@{resource['uri']}") for resource in resources(client)}
    assert [name for name in kept if name.startswith(LARGE[:9_000])] != []


def strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for member in value.values():
                yield from strings(member)
        case list():
            for member in value:
                yield from strings(member)


@pytest.mark.parametrize("size", [1_023, 1_024])
def test_medium_is_moved_from_1024_decoded_bytes_on(client: httpx.Client, size: int) -> None:
    data = LARGE[:size]
    content = [{"image_url": data_uri(data, "image/png")}]
    shown = assert_comes_back(client, {"role": "user", "content": content})
    assert (shown["content"] == content) == (size == 1_023)
    assert [resource["size"] for resource in resources(client)] == ([size] if size == 1_024 else [])


@pytest.mark.parametrize(
    "content",
    [
        [{"data": PROSE, "mimeType": "text/plain"}],
        [{"type": "text", "text": "ACGTTGCA" * 400}],
        [{"type": "text", "text": "0123456789abcdef" * 200}],
        [{"type": "text", "text": "Donaudampfschifffahrtsgesellschaft" * 60}],
        [{"data": "0123456789abcdef" * 200}],
        [{"data": {"rows": [1, 2], "mimeType": "image/png"}}],
        [{"type": "image_url", "image_url": {"url": "https://example.com/" + "a" * 3_000}}],
        [{"image_url": SMALL_URI}],
        [{"url": "data:text/plain;charset=utf-8," + "%41b\u00e9" * 500}],
        [{"url": "data:image/png;base64," + "A" * 2_001 + "!"}],
        [{"text": "Data: in 2024, we measured 50%20 things. " * 40}],
        "[binary]",
    ],
    ids=lambda content: str(content)[:40],
)
def test_what_only_looks_like_a_medium_stays(client: httpx.Client, content: object) -> None:
    shown = assert_comes_back(client, {"role": "user", "content": content})
    assert (shown["content"], resources(client)) == (content, [])


@pytest.mark.parametrize(
    "member",
    [
        {"tool_calls": [{"function": {"arguments": json.dumps({"image": URI})}}]},
        # A file in the arguments of a tool, as SEP-2631 sends it.
        {"tool_calls": [{"function": {"arguments": json.dumps({"document": NAMED_URI})}}]},
        {"~": {"a/b": [URI, {"": URI}]}},
        {"metadata": {"0": {"thumbnail": B64}}},
        {"name": URI},
    ],
    ids=lambda member: next(iter(member)),
)
def test_medium_beside_the_content_is_moved_and_comes_back(
    client: httpx.Client, member: dict[str, object]
) -> None:
    shown = assert_comes_back(client, {"role": "assistant", "content": None, **member})
    assert B64[:60] not in json_text(shown)


def test_sound_of_a_realtime_item_is_moved_with_its_format(client: httpx.Client) -> None:
    content = [{"type": "output_audio", "audio": b64(tone()), "transcript": "Hello."}]
    item = {"type": "message", "role": "assistant", "content": content}
    assert_comes_back(client, item)
    assert [each["mimeType"] for each in resources(client)] == ["audio/pcm;rate=24000"]


def test_medium_deep_inside_is_moved_and_comes_back(client: httpx.Client) -> None:
    deep: Any = [{"url": URI}]
    for _ in range(480):
        deep = {"x": [deep]}
    text = json_text({"role": "user", "content": None, "x": deep})
    created = client.post(ROUTE, content=text.encode(), headers=JSON)
    assert (created.status_code, B64[:60] in created.text) == (201, False)
    inline = client.get(f"{ROUTE}/1", params={"media": "inline"})
    assert own_members(inline.content) == text


BINARY = {"data": B64, "media_type": "image/png", "kind": "binary", "identifier": "19d87f"}
RESULTS_WITH_DATA = {
    "gemini": {
        "role": "user",
        "parts": [{"functionResponse": {"id": "c1", "name": "shot", "response": {"png": B64}}}],
    },
    "pydantic-ai": {
        "parts": [
            {
                "tool_name": "shot",
                "content": {"png": BINARY},
                "tool_call_id": "c1",
                "timestamp": "2026-11-29T14:49:19Z",
                "outcome": "success",
                "part_kind": "tool-return",
            }
        ],
        "kind": "request",
    },
    "vercel": {
        "id": "a1",
        "role": "assistant",
        "parts": [
            {
                "type": "tool-shot",
                "toolCallId": "c1",
                "state": "output-available",
                "input": {},
                "output": {"png": B64, "thumbnail": B64},
            }
        ],
    },
}


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("dialect", RESULTS_WITH_DATA)
def test_medium_in_the_data_of_a_result_is_shown_behind_the_data(
    client: httpx.Client, dialect: str
) -> None:
    assert_comes_back(client, RESULTS_WITH_DATA[dialect])
    (resource,) = resources(client)
    shown = client.get(f"{SESSION}/render", params={"target": "anthropic"}).json()
    *_, answer = shown["messages"]
    data = {
        "gemini": {"png": f"@{resource['uri']}"},
        "pydantic-ai": {"png": {**BINARY, "data": f"@{resource['uri']}"}},
        "vercel": dict.fromkeys(("png", "thumbnail"), f"@{resource['uri']}"),
    }
    image = {"type": "base64", "media_type": "image/png", "data": B64}
    assert answer["content"][0]["content"] == [
        {"type": "text", "text": json_text(data[dialect])},
        {"type": "image", "source": image},
    ]


def test_data_of_a_function_is_shown_beside_the_media_in_its_parts(client: httpx.Client) -> None:
    response = {"output": "Done.", "size": {"width": 9}}
    parts = [{"inlineData": {"mimeType": "image/png", "data": B64}}]
    function = {"id": "c1", "name": "shot", "response": response, "parts": parts}
    send(client, {"role": "user", "parts": [{"functionResponse": function}]})
    shown = client.get(f"{SESSION}/render", params={"target": "anthropic"}).json()
    *_, answer = shown["messages"]
    assert answer["content"][0]["content"] == [
        {"type": "text", "text": json_text(response)},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": B64}},
    ]
    assert [entry["code"] for entry in shown["loss"]] == ["no-beginning", "no-call"]


@pytest.mark.engines("embedded", "server")
def test_same_medium_twice_is_stored_once(client: httpx.Client) -> None:
    content = [{"url": URI}, {"url": URI}, {"source": {"media_type": "image/png", "data": B64}}]
    shown = assert_comes_back(client, {"role": "user", "content": content})
    first = shown["content"][0]["url"]
    assert shown["content"][1:] == [
        {"url": first},
        {"source": {"media_type": "image/png", "data": first}},
    ]
    assert len(resources(client)) == 1


LEAVES = st.one_of(
    st.none(),
    st.integers(),
    st.text(max_size=20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.builds(
        lambda head, data, end: f"{head},{base64.b64encode(data).decode()}{end}",
        st.sampled_from(
            ["data:image/png;base64", "Data:;Base64", "data:a/b;c=d;base64", "x data:a"]
        ),
        st.binary(min_size=1_000, max_size=1_100),
        st.sampled_from(["", " ", "=", "\n", " and more"]),
    ),
    st.builds(
        lambda data, urlsafe, cut: (
            (base64.urlsafe_b64encode if urlsafe else base64.b64encode)(LARGE[:1_500] + data)
            .decode()
            .rstrip("=" if cut else "")
        ),
        st.binary(max_size=4),
        st.booleans(),
        st.booleans(),
    ),
    st.just("@blob:" + "0" * 32),
)
KEYS = st.sampled_from(
    ["data", "mimeType", "media_type", "bytes", "file_data", "format", "url", "a/b", "~", "", "0"]
) | st.text(max_size=5)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
DECLARED = st.builds(
    lambda key, kind, named, payload: {kind: named, key: payload},
    st.sampled_from(["data", "bytes", "blob", "base64"]),
    st.sampled_from(["mimeType", "media_type", "format"]),
    st.sampled_from(["image/png", "wav", "audio/x-wav", "text/plain", "nonsense", ""]),
    st.binary(min_size=900, max_size=1_200).map(b64),
)


@pytest.mark.slow
@pytest.mark.engines("embedded", "server")
@hypothesis.settings(max_examples=30)
@hypothesis.given(
    content=st.one_of(
        st.none(),
        st.text(max_size=30),
        st.lists(st.dictionaries(KEYS, VALUES, max_size=3) | DECLARED, max_size=4),
    ),
    more=st.dictionaries(KEYS.map(lambda key: f"x{key}"), VALUES, max_size=2),
)
def test_any_message_comes_back_as_it_was_sent(
    shared_client: httpx.Client, content: object, more: dict[str, object]
) -> None:
    message = {"role": "user", "content": content, **more}
    created = send(shared_client, message)
    assert created.status_code == 201, created.text[:500]
    path = created.headers["location"]
    assert shared_client.get(path).content == created.content
    inline = shared_client.get(path, params={"media": "inline"})
    assert own_members(inline.content) == json_text(message)


@pytest.mark.engines("embedded", "server")
def test_references_a_client_writes_are_kept_as_long_as_the_message(client: httpx.Client) -> None:
    uris = [upload(client, bytes([number]))["uri"] for number in range(4)]
    content = [{"image_url": {"url": f"@{uris[0]}"}}, {"source": uris[1]}, {"text": uris[2][5:]}]
    shown = assert_comes_back(client, {"role": "user", "content": content})
    assert shown["content"] == content
    answers = [client.delete(f"/api/resources/{uri}") for uri in uris]
    assert [answer.status_code for answer in answers] == [409, 409, 204, 204]
    assert f"message {shown['id']}" in answers[0].json()["detail"]


@pytest.mark.engines("embedded", "server")
def test_reference_to_what_is_not_there_is_text(client: httpx.Client, service: LiveService) -> None:
    with service.client() as other:
        foreign = upload(other, LARGE)["uri"]
        content = [{"url": f"@{foreign}"}, {"url": f"@blob:{'0' * 32}"}]
        shown = assert_comes_back(client, {"role": "user", "content": content})
        assert (shown["content"], resources(client)) == (content, [])
        assert other.delete(f"/api/resources/{foreign}").status_code == 204


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(
    ("picture", "words", "errors"),
    [
        (png(noise=True), "one", None),
        (
            png(noise=True),
            "two",
            [{"pointer": "/content/1/text", "detail": "is not what it is in the stored message"}],
        ),
        (
            png(width=65, noise=True),
            "one",
            [
                {
                    "pointer": "/content/0/image_url/url",
                    "detail": "may be another medium than the stored one",
                }
            ],
        ),
    ],
)
def test_other_answer_to_a_call_is_told_from_the_stored_one_beside_its_media(
    client: httpx.Client, picture: bytes, words: str, errors: list[dict[str, str]] | None
) -> None:
    def answer(picture: bytes, words: str) -> httpx.Response:
        image = {"type": "image_url", "image_url": {"url": data_uri(picture, "image/png")}}
        content = [image, {"type": "text", "text": words}]
        return send(client, {"role": "tool", "tool_call_id": "call_1", "content": content})

    assert answer(png(noise=True), "one").status_code == 201
    again = answer(picture, words)
    assert (again.status_code, again.json().get("errors")) == (409 if errors else 200, errors)


def test_moved_medium_cannot_be_deleted(client: httpx.Client) -> None:
    record = append(client, content=f"See {URI} here.").json()
    refused = [client.delete(f"/api/resources/{resource['uri']}") for resource in resources(client)]
    assert {outcome(item) for item in refused} == {(409, "resource-in-use")}
    assert all(f"message {record['id']}" in item.json()["detail"] for item in refused)


def test_page_fault_is_read_back_with_its_image(client: httpx.Client) -> None:
    put(client, modality="image", content=URI)
    body = {"session_id": "s", "tool_call_id": "c", "target_level": 0}
    content = client.post("/api/pages/p/fault", json=body).content
    inline = client.get(f"{ROUTE}/1", params={"media": "inline"}).content
    assert own_members(inline) == content.decode()
    page = client.get(ROUTE, params={"media": "inline"})
    assert page.content == b'{"items":[' + inline + b'],"nextCursor":null}'
    assert URI not in client.get(ROUTE).text


def test_tool_results_and_interactions_are_the_same_with_media_inline(
    client: httpx.Client,
) -> None:
    block = {"type": "image", "data": B64, "mimeType": "image/png"}
    call_tool(client, "c", {"content": [block]})
    client.post("/api/sessions/s/interactions", json={"input": {"image": "@blob:" + "0" * 32}})
    assert client.get(ROUTE, params={"media": "inline"}).content == client.get(ROUTE).content


@pytest.mark.engines("embedded", "server")
def test_pages_with_media_inline_hold_every_entry_once(client: httpx.Client) -> None:
    sent = [[{"n": number, "url": URI}] for number in range(5)]
    for content in sent:
        append(client, content=content)
    items: list[dict[str, Any]] = []
    path = f"{ROUTE}?media=inline&limit=2"
    while path:
        page = client.get(path)
        items += page.json()["items"]
        path = page.links.get("next", {}).get("url", "")
    assert [item["content"] for item in items] == sent
    assert [entry["seq"] for entry in entries(client)] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("media", ["all", "", "INLINE"])
def test_media_are_asked_for_in_two_ways_only(client: httpx.Client, media: str) -> None:
    append(client, content="x")
    for path in (ROUTE, f"{ROUTE}/1"):
        assert outcome(client.get(path, params={"media": media})) == (422, "invalid-payload")


SMALL_LIMITS = Limits(
    message_bytes=SMALL_BYTES,
    media_per_result=MAX_MEDIA,
    medium_bytes=LARGEST_MEDIUM_BYTES,
    body_bytes=1_000_000,
    json_nodes=500,
)
"""A service with limits that are quickly reached."""


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("x" * (SMALL_BYTES - 100), 201),
        ("x" * SMALL_BYTES, 413),
        ([{"url": data_uri(bytes([number]) * 2_000, "a/b")} for number in range(MAX_MEDIA)], 201),
        ([{"url": data_uri(bytes([number]) * 2_000, "a/b")} for number in range(4)], 413),
        ("See" + f" and {JPEG_URI}" * MAX_MEDIA, 201),
        ("See" + f" and {JPEG_URI}" * (MAX_MEDIA + 1), 413),
        ([{"url": data_uri(bytes(LARGEST_MEDIUM_BYTES), "a/b")}], 201),
        ([{"url": data_uri(bytes(LARGEST_MEDIUM_BYTES + 1), "a/b")}], 413),
        ([{"x": [1] * 500}], 413),
        ("x" * 1_000_001, 413),
    ],
    ids=lambda value: str(value)[:30],
)
def test_message_above_a_limit_leaves_nothing(
    small_service: LiveService, content: object, status: int
) -> None:
    with small_service.client() as client:
        assert append(client, content=content).status_code == status
        assert client.get("/api/sessions/s").status_code == (200 if status == 201 else 404)
        assert client.get(f"{ROUTE}/1").status_code == (200 if status == 201 else 404)
        if status == 413:
            assert resources(client) == []
