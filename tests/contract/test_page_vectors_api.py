"""Fields of pages of other runtimes: vectors, timestamps, metadata, whole dumps of a page."""

import json
import struct
from typing import Any

import httpx
import pytest

from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import JSON, ROUTE, found_by, pointers, put, read
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

SPELLED = b'"timestamps":[0,{"start":0.50,"end":1e-7},[1.0,2]],"embedding":[1,-0.50,0.1000000001]'
STORED = b'"timestamps":[0,{"start":0.50,"end":1e-7},[1.0,2]],"embedding":[1.0,-0.5,0.1]'
AUDIO: dict[str, Any] = {"modality": "audio", "content": "https://example.com/a.mp3"}
VIDEO: dict[str, Any] = {"modality": "video", "transcript": "video text"}
DATA: dict[str, Any] = {"modality": "structured", "content": {"a": 1}}
SCENES = [{"start": 5, "summary": "A zeppelin."}, "A dog."]
# `MemoryPage(…).model_dump(mode="json")` of chuk-ai-session-manager 0.11.2.
DUMP: dict[str, Any] = {
    "page_id": "claim_a1b2c3d4",
    "session_id": "sess-1",
    "modality": "video",
    "page_type": "transcript",
    "provenance": ["msg_1"],
    "represents": "msg_2",
    "representation_level": 1,
    "storage_tier": "L1",
    "artifact_id": None,
    "content": None,
    "compression_level": 0,
    "representations": {"1": "artifact_1"},
    "size_bytes": 0,
    "size_tokens": None,
    "created_at": "2026-11-23T04:49:33.717022Z",
    "last_accessed": "2026-11-23T04:49:33.717034Z",
    "access_count": 3,
    "importance": 0.5,
    "dirty": True,
    "pinned": False,
    "parent_page_id": "msg_1",
    "mime_type": None,
    "duration_seconds": 120.0,
    "dimensions": [1280, 720],
    "transcript": "video text",
    "caption": None,
    "metadata": {"scenes": ["s1", "s2"]},
}


def body(members: dict[str, Any]) -> bytes:
    """A page with vector and timestamps as they are spelled here."""
    return json.dumps(members)[:-1].encode() + b"," + SPELLED + b"}"


@pytest.mark.engines("embedded", "server")
@pytest.mark.parametrize("how", ["put", "bulk", "patch"])
def test_vector_is_stored_in_floats_of_32_bits_and_moments_as_they_were_spelled(
    client: httpx.Client, how: str
) -> None:
    if how == "put":
        answer = client.put(f"{ROUTE}/p", content=body(AUDIO), headers=JSON)
    elif how == "bulk":
        pages = b'{"pages":[{"content":"x"},%s]}' % body({**AUDIO, "page_id": "p"})
        answer = client.post(f"{ROUTE}/bulk", content=pages, headers=JSON)
    else:
        put(client, **AUDIO)
        answer = client.patch(f"{ROUTE}/p", content=b"{%s}" % SPELLED, headers=JSON)
    assert answer.is_success, answer.text
    patched = client.patch(f"{ROUTE}/p", json={"hint": "h"})
    stored = client.get(f"{ROUTE}/p")
    assert [STORED in message.content for message in (patched, stored)] == [True, True]
    assert (STORED in answer.content) == (how != "bulk")
    again = client.put(f"{ROUTE}/p", content=stored.content, headers=JSON)
    assert (again.status_code, again.content) == (200, stored.content)


def test_lists_leave_vectors_and_moments_out(client: httpx.Client) -> None:
    hostile = {"scenes": ['","version":1,"timestamps":[1],"embedding":[1]}'], "hint": "h"}
    client.put(f"{ROUTE}/p", content=body({**VIDEO, **hostile}), headers=JSON)
    put(client, "q", modality="text", content="h", hint="h")
    listed = client.get(ROUTE).json()["items"]
    found = client.get(f"{ROUTE}/search", params={"q": "h"}).json()["items"]
    for page in (*listed, *found):
        whole = client.get(f"{ROUTE}/{page['page_id']}").json()
        assert page.keys() | {"timestamps", "embedding", "content"} == whole.keys() | (
            page.keys() & {"snippet"}
        )
        assert {name: whole[name] for name in page.keys() & whole.keys()} == {
            name: page[name] for name in page.keys() & whole.keys()
        }
    assert len(listed) == 2


def test_vector_of_the_most_numbers_comes_back_whole(client: httpx.Client) -> None:
    vector = [number / 4_097 - 0.5 for number in range(4_096)]
    put(client, "i", modality="image", caption="A cat", embedding=vector)
    read_back = read(client, "i/content")["embedding"]
    assert read_back == read(client, "i")["embedding"]
    assert struct.pack("<4096f", *read_back) == struct.pack("<4096f", *vector)


def test_other_spelling_of_a_coordinate_is_no_change(client: httpx.Client) -> None:
    put(client, content="x", embedding=[1.5], timestamps=[1.5])
    same = client.patch(f"{ROUTE}/p", content=b'{"embedding":[1.50000000001]}', headers=JSON)
    assert same.json()["version"] == 1
    other = client.patch(f"{ROUTE}/p", content=b'{"timestamps":[1.50]}', headers=JSON)
    assert (other.json()["version"], b'"timestamps":[1.50]' in other.content) == (2, True)


def test_vector_is_handed_out_with_an_image_and_timestamps_with_a_recording(
    client: httpx.Client,
) -> None:
    put(client, "a", **AUDIO, timestamps=[{"start": 0.5, "text": "So"}, 2, [3, 4.5]])
    put(client, "i", modality="image", caption="A cat", embedding=[0.25, -1])
    assert read(client, "a/content")["timestamps"] == [{"start": 0.5, "text": "So"}, 2, [3, 4.5]]
    assert read(client, "i/content")["embedding"] == [0.25, -1]
    record = json.loads(read(client, "a/blocks", form="json")["content"])
    assert record["content"]["timestamps"] == [{"start": 0.5, "text": "So"}, 2, [3, 4.5]]


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"embedding": [0.5, "x", None]}, "/embedding/1"),
        ({"embedding": [True]}, "/embedding/0"),
        ({"embedding": [10**400]}, "/embedding/0"),
        ({"embedding": [0.5] * 4_097}, "/embedding"),
        ({"embedding": [0, 3.5e38]}, "/embedding/1"),
        ({"embedding": {"0": 1}}, "/embedding"),
        ({"timestamps": ["0:05"]}, "/timestamps/0"),
        ({"timestamps": [[0, 1, 2]]}, "/timestamps/0"),
        ({"timestamps": [0] * 100_001}, "/timestamps"),
        ({"timestamps": [{"a": "data:image/png;base64," + "A" * 2_000}]}, "/timestamps/0/a"),
        ({"represents": "no id"}, "/represents"),
        ({"provenance": ["a"] * 1_000, "represents": "b"}, "/provenance"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_vector_is_refused_where_it_stands(
    shared_client: httpx.Client, members: dict[str, Any], pointer: str
) -> None:
    stored = shared_client.put(f"{ROUTE}/refused", json={"content": "x", **members})
    assert pointers(stored) == [pointer]
    assert shared_client.get(f"{ROUTE}/refused").status_code == 404


def test_dump_of_another_runtimes_page_is_taken_as_it_is(client: httpx.Client) -> None:
    answer = client.post(ROUTE, json=DUMP)
    assert answer.status_code == 201, answer.text
    page = answer.json()
    ignored = {
        *("represents", "parent_page_id", "representation_level", "representations"),
        *("storage_tier", "artifact_id", "dirty"),
        *("size_bytes", "size_tokens", "created_at", "last_accessed", "access_count"),
    }
    kept = {name: value for name, value in DUMP.items() if name not in ignored}
    assert {name: page[name] for name in kept} == {**kept, "provenance": ["msg_1", "msg_2"]}
    assert page["access_count"] == 0
    again = client.put(f"{ROUTE}/{DUMP['page_id']}", json=DUMP)
    assert (again.status_code, again.content) == (200, answer.content)


def test_scenes_and_schema_in_metadata_are_read_where_the_fields_are_empty(
    client: httpx.Client,
) -> None:
    put(client, "v", **VIDEO, metadata={"scenes": SCENES})
    put(client, "d", **DATA, schema_name="", metadata={"schema_name": "weather_v1"})
    assert read(client, "v/content")["scenes"] == SCENES
    assert "  - 0:05 A zeppelin.\n  - A dog." in read(client, "v/blocks", level=0)["content"]
    assert read(client, "v/representations/2")["content"] == "  - 0:05 A zeppelin.\n  - A dog."
    assert found_by(client, "zeppelin") == ["v"]
    assert read(client, "d/content")["schema_name"] == "weather_v1"
    assert "  Schema: weather_v1\n" in read(client, "d/blocks")["content"]
    texts = [
        client.get(f"{ROUTE}/{page}", headers={"Accept": "text/plain"}).text for page in ("v", "d")
    ]
    assert ("Scenes:      2\n" in texts[0], "Schema:      weather_v1\n" in texts[1]) == (True, True)


def test_scenes_of_the_page_itself_go_before_those_in_metadata(client: httpx.Client) -> None:
    put(client, "v", **VIDEO, scenes=["own"], metadata={"scenes": SCENES})
    assert read(client, "v/content")["scenes"] == ["own"]
    client.patch(f"{ROUTE}/v", json={"scenes": None})
    assert (read(client, "v/content")["scenes"], found_by(client, "zeppelin")) == (SCENES, ["v"])


@pytest.mark.parametrize("scenes", ["s1", [1], {"0": "s1"}, [None]], ids=repr)
def test_metadata_that_is_no_scenes_is_none(shared_client: httpx.Client, scenes: object) -> None:
    put(shared_client, **VIDEO, metadata={"scenes": scenes})
    assert read(shared_client, "p/content")["scenes"] is None


def test_picture_of_a_scene_in_metadata_stays_there(client: httpx.Client) -> None:
    scene = {"summary": "A dog.", "thumbnail": "data:image/png;base64," + "A" * 2_000}
    stored = put(client, **VIDEO, metadata={"scenes": [scene]})
    assert stored["metadata"]["scenes"] == [scene]
    assert read(client, "p/content")["scenes"] == [{"summary": "A dog."}]


@pytest.mark.engines("embedded", "server")
def test_vectors_move_with_their_session(service: LiveService) -> None:
    with service.client() as source, service.client() as target:
        written = body({**AUDIO, "session_id": "s", "metadata": {"scenes": SCENES}})
        source.put(f"{ROUTE}/p", content=written, headers=JSON)
        put(source, "v", **VIDEO, session_id="s", metadata={"scenes": SCENES})
        moved = take_in(target, export(source, "s"))
        assert moved.status_code == 201, moved.text
        for page_id in ("p", "v"):
            assert target.get(f"{ROUTE}/{page_id}").content == (
                source.get(f"{ROUTE}/{page_id}").content
            )
