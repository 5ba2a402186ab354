"""`/api/pages` over HTTP, on both engines: written, conditioned, patched, deleted."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from tests.kit.media import png
from tests.kit.servers import LiveService

ROUTE = "/api/pages"
JSON = {"Content-Type": "application/json"}
NOBODY = '"sha256-' + "0" * 64 + '"'
EMPTY_LIST: dict[str, object] = {"items": [], "nextCursor": None}
FIELDS: dict[str, Any] = {
    "session_id": None,
    "modality": "text",
    "page_type": "artifact",
    "mime_type": None,
    "caption": None,
    "transcript": None,
    "dimensions": None,
    "duration_seconds": None,
    "schema_name": None,
    "scenes": None,
    "hint": None,
    "importance": 0.5,
    "pinned": False,
    "provenance": [],
    "metadata": {},
    "compression_level": 0,
    "timestamps": None,
    "embedding": None,
}
EVERY_FIELD: dict[str, Any] = {
    "session_id": "s:1",
    "modality": "video",
    "page_type": "transcript",
    "mime_type": "video/mp4",
    "caption": "Caf\u00e9",
    "transcript": "Hello.\nBye.",
    "dimensions": [1920, 1080],
    "duration_seconds": 0.0,
    "schema_name": "clip/v1",
    "scenes": ["A door", {"summary": "A dog", "start": 0, "end": 1.5}],
    "hint": "the dog",
    "importance": 1.0,
    "pinned": True,
    "provenance": ["page:a", "page.b"],
    "metadata": {"n": 123456789012345678901234567890, "deep": {"a": [None, True, 0.1]}},
    "compression_level": 2,
    "timestamps": [0, {"start": 0.5, "text": "Hello."}, [1, 2.5]],
    "embedding": [1, -0.5, 1e-07],
}


def put(client: httpx.Client, page_id: str, **members: object) -> httpx.Response:
    return client.put(f"{ROUTE}/{page_id}", json=members)


def ids(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [page["page_id"] for page in answer.json()["items"]]


def pointers(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 422, answer.text
    return [fault["pointer"] for fault in answer.json()["errors"]]


def outcome(answer: httpx.Response) -> tuple[int, str]:
    """The status, and the code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def version(client: httpx.Client, page_id: str) -> tuple[int, object]:
    page = client.get(f"{ROUTE}/{page_id}").json()
    return page["version"], page["content"]


def test_put_creates_the_page_it_answers_with(client: httpx.Client) -> None:
    created = put(client, "p.1", content="Hello.")
    page = created.json()
    assert page == {
        "page_id": "p.1",
        **FIELDS,
        "levels": [0, 1, 2, 3],
        "media": None,
        "size_bytes": 6,
        "size_tokens": 2,
        "created_at": page["created_at"],
        "updated_at": page["created_at"],
        "version": 1,
        "content": "Hello.",
        "last_accessed": None,
        "access_count": 0,
    }
    assert (created.status_code, created.headers["location"]) == (201, f"{ROUTE}/p.1")
    read = client.get(f"{ROUTE}/p.1")
    assert (read.content, read.headers["etag"]) == (created.content, created.headers["etag"])


def test_every_field_comes_back_as_it_was_sent(client: httpx.Client) -> None:
    assert put(client, "v", content="https://example.com/v.mp4", **EVERY_FIELD).status_code == 201
    page = client.get(f"{ROUTE}/v").json()
    assert {name: page[name] for name in FIELDS} == EVERY_FIELD


@pytest.mark.parametrize(
    "content",
    [None, True, 0, -1.5, 10**40, "text", "", [], {}, [{"b": 1, "a": [None, "\u00e9\U0001f600"]}]],
    ids=repr,
)
def test_structured_content_is_any_json_value(shared_client: httpx.Client, content: object) -> None:
    assert put(shared_client, "p", modality="structured", content=content).is_success
    assert shared_client.get(f"{ROUTE}/p").json()["content"] == content


def test_page_that_was_read_can_be_written_back(client: httpx.Client) -> None:
    put(client, "p", content="one", hint="h", level="ABSTRACT")
    read = client.get(f"{ROUTE}/p")
    again = client.put(f"{ROUTE}/p", content=read.content, headers=JSON)
    assert (again.status_code, again.content) == (200, read.content)


def test_put_replaces_all_that_was_there(client: httpx.Client) -> None:
    first = put(client, "p", content="one", hint="h", session_id="s").json()
    replaced = put(client, "p", content="two")
    page = replaced.json()
    assert replaced.status_code == 200
    assert page == {
        **first,
        **FIELDS,
        "content": "two",
        "version": 2,
        "updated_at": page["updated_at"],
    }
    assert client.get(f"{ROUTE}/p").content == replaced.content


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
def test_if_match_of_another_version_changes_nothing(client: httpx.Client, method: str) -> None:
    put(client, "p", content="one")
    body = b'{"hint":"other"}'
    headers = {**JSON, "If-Match": NOBODY}
    refused = client.request(method, f"{ROUTE}/p", content=body, headers=headers)
    assert outcome(refused) == (412, "precondition-failed")
    assert version(client, "p") == (1, "one")


@pytest.mark.parametrize(
    ("method", "status"), [("PUT", 200), ("PATCH", 200), ("DELETE", 204)], ids=str
)
def test_if_match_of_the_stored_version_holds(
    client: httpx.Client, method: str, status: int
) -> None:
    etag = put(client, "p", content="one").headers["etag"]
    headers = {**JSON, "If-Match": f"{NOBODY}, {etag}"}
    answer = client.request(method, f"{ROUTE}/p", content=b'{"hint":"x"}', headers=headers)
    assert answer.status_code == status


def test_reading_a_page_leaves_its_etag_valid(client: httpx.Client) -> None:
    etag = put(client, "p", content="one").headers["etag"]
    client.get(f"{ROUTE}/p/blocks")
    headers = {"If-Match": etag}
    assert client.put(f"{ROUTE}/p", json={"content": "two"}, headers=headers).status_code == 200


def test_create_only_finds_a_page_there(client: httpx.Client) -> None:
    answers = [
        client.put(f"{ROUTE}/p", json={"content": text}, headers={"If-None-Match": "*"})
        for text in ("one", "two")
    ]
    assert [answer.status_code for answer in answers] == [201, 412]
    assert version(client, "p") == (1, "one")


def test_if_match_creates_no_page(client: httpx.Client) -> None:
    refused = client.put(f"{ROUTE}/p", json={"content": "x"}, headers={"If-Match": "*"})
    assert outcome(refused) == (412, "precondition-failed")
    assert client.get(f"{ROUTE}/p").status_code == 404


def test_known_page_is_not_sent_again(client: httpx.Client) -> None:
    etag = put(client, "p", content="one").headers["etag"]
    known = client.get(f"{ROUTE}/p", headers={"If-None-Match": etag})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", etag)
    assert known.headers["cache-control"] == "no-cache"


def test_head_answers_as_get_without_the_body(client: httpx.Client) -> None:
    put(client, "p", content="one")
    head, get = client.head(f"{ROUTE}/p"), client.get(f"{ROUTE}/p")
    names = ("etag", "content-type", "content-length", "cache-control", "vary")
    assert (head.status_code, head.content) == (200, b"")
    assert [head.headers[name] for name in names] == [get.headers[name] for name in names]


def test_post_names_the_page(client: httpx.Client) -> None:
    created = client.post(ROUTE, json={"content": "one"})
    page_id = created.json()["page_id"]
    assert (created.status_code, created.headers["location"]) == (201, f"{ROUTE}/{page_id}")
    assert client.get(created.headers["location"]).content == created.content


def test_post_takes_an_id_that_is_free(client: httpx.Client) -> None:
    created, taken = (client.post(ROUTE, json={"page_id": "p", "content": c}) for c in "12")
    assert (created.status_code, created.json()["page_id"]) == (201, "p")
    assert outcome(taken) == (409, "page-exists")
    assert version(client, "p") == (1, "1")


def test_idempotency_key_gives_the_same_page(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    first, second = (client.post(ROUTE, json={"content": "one"}, headers=headers) for _ in range(2))
    other = client.post(ROUTE, json={"content": "two"}, headers=headers)
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.content == first.content
    assert outcome(other) == (422, "idempotency-key-reused")
    assert len(ids(client.get(ROUTE))) == 1


def test_refused_page_frees_its_idempotency_key(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    refused = client.post(ROUTE, json={"content": 1}, headers=headers)
    created = client.post(ROUTE, json={"content": "1"}, headers=headers)
    assert (refused.status_code, created.status_code) == (422, 201)


def test_patch_is_a_merge_patch(client: httpx.Client) -> None:
    before = put(
        client, "p", content="one", hint="h", metadata={"a": {"b": 1, "c": 2}, "d": 3}
    ).json()
    headers = {"Content-Type": "application/merge-patch+json"}
    patch = {"hint": None, "pinned": True, "level": 3, "metadata": {"a": {"b": None}, "e": [None]}}
    patched = client.patch(f"{ROUTE}/p", content=json.dumps(patch), headers=headers)
    page = patched.json()
    assert patched.status_code == 200
    assert page == {
        **before,
        "hint": None,
        "pinned": True,
        "compression_level": 3,
        "metadata": {"a": {"c": 2}, "d": 3, "e": [None]},
        "version": 2,
        "updated_at": page["updated_at"],
    }
    assert client.get(f"{ROUTE}/p").content == patched.content


def test_patch_that_changes_nothing_makes_no_version(client: httpx.Client) -> None:
    created = put(client, "p", content="one", hint="h")
    patched = client.patch(f"{ROUTE}/p", json={"hint": "h", "caption": None})
    assert (patched.status_code, patched.content) == (200, created.content)


@pytest.mark.parametrize(
    ("patch", "pointer"),
    [
        ({"content": "two"}, "/content"),
        ({"modality": "image"}, "/modality"),
        ({"page_id": "q"}, "/page_id"),
        ({"version": 7}, "/version"),
        ({"created_at": None}, "/created_at"),
        ({"access_count": 0}, "/access_count"),
        ({"importance": 2}, "/importance"),
        ({"nothing": 1}, "/nothing"),
        ({"pinned": "yes"}, "/pinned"),
    ],
    ids=str,
)
def test_patch_of_what_cannot_be_patched_is_refused(
    shared_client: httpx.Client, patch: dict[str, object], pointer: str
) -> None:
    put(shared_client, "patched", content="one")
    assert pointers(shared_client.patch(f"{ROUTE}/patched", json=patch)) == [pointer]
    assert version(shared_client, "patched") == (1, "one")


def test_deleted_page_is_gone_and_its_id_is_free(client: httpx.Client) -> None:
    put(client, "p", content="one", hint="h")
    deleted = client.delete(f"{ROUTE}/p")
    assert (deleted.status_code, deleted.content) == (204, b"")
    assert outcome(client.get(f"{ROUTE}/p")) == (404, "not-found")
    assert client.get(f"{ROUTE}/search?q=one").json() == EMPTY_LIST
    again = put(client, "p", content="two")
    assert (again.status_code, again.json()["version"]) == (201, 1)


@pytest.mark.slow
def test_medium_of_a_page_is_kept_as_long_as_the_page(client: httpx.Client) -> None:
    uri = client.post("/api/resources", content=png()).json()["uri"]
    put(client, "p", modality="image", content=f"@{uri}")
    path = f"/api/resources/{uri.removeprefix('blob:')}"
    assert client.delete(path).status_code == 409
    client.delete(f"{ROUTE}/p")
    assert client.delete(path).status_code == 204


@pytest.mark.slow
def test_bulk_creates_all_in_the_order_given(client: httpx.Client) -> None:
    drafts = [{"page_id": f"p{number}", "content": str(number)} for number in range(1_000)]
    created = client.post(f"{ROUTE}/bulk", json={"pages": drafts})
    assert created.status_code == 201
    items = created.json()["items"]
    assert [page["page_id"] for page in items] == [draft["page_id"] for draft in drafts]
    newest = client.get(ROUTE, params={"limit": 200})
    assert newest.json()["items"] == items[:-201:-1]
    assert "content" not in items[0]


@pytest.mark.parametrize(
    ("pages", "pointer"),
    [
        ([{"content": "1"}, {"content": 1}], "/pages/1/content"),
        ([{"content": "1"}, {"importance": -1}], "/pages/1/importance"),
        ([{"page_id": "a"}, {"page_id": "a"}], "/pages/1/page_id"),
        ([{"page_id": "a"}, {"page_id": "search"}], "/pages/1/page_id"),
        ([{"page_id": "a"}, 7], "/pages/1"),
    ],
    ids=str,
)
def test_bulk_with_one_bad_page_creates_none(
    client: httpx.Client, pages: Sequence[object], pointer: str
) -> None:
    assert pointers(client.post(f"{ROUTE}/bulk", json={"pages": pages})) == [pointer]
    assert client.get(ROUTE).json() == EMPTY_LIST


def test_bulk_with_a_taken_id_creates_none(client: httpx.Client) -> None:
    put(client, "b", content="one")
    pages = [{"page_id": page_id, "content": "two"} for page_id in "abc"]
    answer = client.post(f"{ROUTE}/bulk", json={"pages": pages})
    assert outcome(answer) == (409, "page-exists")
    assert [fault["pointer"] for fault in answer.json()["errors"]] == ["/pages/1/page_id"]
    assert (ids(client.get(ROUTE)), version(client, "b")) == (["b"], (1, "one"))


@pytest.mark.parametrize("count", [0, 1_001])
def test_bulk_takes_one_to_a_thousand_pages(client: httpx.Client, count: int) -> None:
    refused = client.post(f"{ROUTE}/bulk", json={"pages": [{}] * count})
    assert outcome(refused) == (422, "invalid-payload")
    assert client.get(ROUTE).json() == EMPTY_LIST


def test_same_id_in_two_projects_is_two_pages(client: httpx.Client, service: LiveService) -> None:
    with service.client() as other:
        answers = [put(item, "p", content="one") for item in (client, other)]
        assert [answer.status_code for answer in answers] == [201, 201]
        put(other, "p", content="two")
        assert (version(client, "p"), version(other, "p")) == ((1, "one"), (2, "two"))


def test_key_of_a_page_that_is_gone_makes_no_other_page(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k"}
    created = client.post(ROUTE, json={"content": "one"}, headers=headers)
    client.delete(created.headers["location"])
    again = client.post(ROUTE, json={"content": "one"}, headers=headers)
    assert outcome(again) == (404, "not-found")
    assert client.get(ROUTE).json() == EMPTY_LIST
    documented = client.get("/openapi.json").json()["paths"][ROUTE]["post"]["responses"]
    assert "404" in documented


def test_moved_image_that_was_read_can_be_written_back(client: httpx.Client) -> None:
    sent = "data:image/png;base64," + base64.b64encode(png(noise=True)).decode()
    put(client, "p", modality="image", content=sent)
    client.put(f"{ROUTE}/p/representations/2", json={"content": "Mine."})
    read = client.get(f"{ROUTE}/p")
    again = client.put(f"{ROUTE}/p", content=read.content, headers=JSON)
    assert (again.status_code, again.content) == (200, read.content)
    assert client.get(f"{ROUTE}/p?media=inline").json()["content"] == sent
    level = client.get(f"{ROUTE}/p/representations/2").json()
    assert (level["origin"], level["content"]) == ("supplied", "Mine.")
