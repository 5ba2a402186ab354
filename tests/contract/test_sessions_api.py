"""Sessions over HTTP, on both engines: made, listed, and counted exactly."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract.bundled_sessions import export, take_in
from tests.contract.page_requests import data_uri, outcome, put
from tests.contract.session_requests import answer, append, ask, call_tool, rich, upload
from tests.kit.media import jpeg, pdf, png
from tests.kit.servers import LiveService

ROUTE = "/api/sessions"
PICTURE = png(noise=True)
PHOTO = jpeg(noise=True)
VOLATILE = ("date", "x-request-id")
NOTHING = {
    "toolResults": 0,
    "pageFaults": 0,
    "messages": 0,
    "interactions": 0,
    "answers": 0,
    "pages": 0,
    "resources": 0,
    "images": 0,
    "failures": 0,
}


def base64_size(*media: bytes) -> int:
    """The characters that media take as base64."""
    return sum(-(-len(medium) // 3) * 4 for medium in media)


def session(client: httpx.Client, session_id: str = "s") -> dict[str, Any]:
    found = client.get(f"{ROUTE}/{session_id}")
    assert found.status_code == 200, found.text[:500]
    record: dict[str, Any] = found.json()
    return record


def less_times(record: dict[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in record if key not in ("createdAt", "updatedAt")}


def fault(client: httpx.Client, page_id: str = "p", session_id: str = "s") -> None:
    requested = {"session_id": session_id, "target_level": 0}
    assert client.post(f"/api/pages/{page_id}/fault", json=requested).status_code == 200


def test_session_is_created_once(client: httpx.Client) -> None:
    created, again = (client.put(f"{ROUTE}/s") for _ in range(2))
    assert (created.status_code, again.status_code) == (201, 200)
    assert created.headers["location"] == again.headers["location"] == f"{ROUTE}/s"
    assert again.content == created.content == client.get(f"{ROUTE}/s").content
    record = created.json()
    assert record == {
        "id": "s",
        "createdAt": record["createdAt"],
        "updatedAt": record["createdAt"],
        "lastSeq": 0,
        "title": None,
        "counts": NOTHING,
        "bytesReferenced": 0,
        "bytesSaved": 0,
        "tokensEst": 0,
    }
    assert client.get(f"{ROUTE}/s/messages").json() == {"items": [], "nextCursor": None}


def test_session_created_at_once_is_created_once(client: httpx.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.put(f"{ROUTE}/s"), range(8)))
    assert sorted(item.status_code for item in answers) == [200] * 7 + [201]
    assert len({message.content for message in answers}) == 1


def test_put_leaves_a_session_that_was_written_to_as_it_is(client: httpx.Client) -> None:
    append(client, content="x")
    before = client.get(f"{ROUTE}/s").content
    again = client.put(f"{ROUTE}/s")
    assert (again.status_code, again.content) == (200, before)


@pytest.mark.parametrize(
    "first",
    [
        append,
        ask,
        lambda client: call_tool(client, "c"),
        lambda client: put(client, content="x", session_id="s"),
    ],
    ids=["message", "interaction", "tool result", "page"],
)
def test_first_write_creates_the_session(
    client: httpx.Client, first: Callable[[httpx.Client], object]
) -> None:
    first(client)
    assert client.get(f"{ROUTE}/s").status_code == 200
    assert client.put(f"{ROUTE}/s").status_code == 200


def test_head_is_get_without_the_body(client: httpx.Client) -> None:
    append(client, content="x")
    read, head = client.get(f"{ROUTE}/s"), client.head(f"{ROUTE}/s")
    assert (head.status_code, head.content) == (200, b"")
    assert [header for header in head.headers.items() if header[0] not in VOLATILE] == [
        header for header in read.headers.items() if header[0] not in VOLATILE
    ]
    known = client.get(f"{ROUTE}/s", headers={"If-None-Match": read.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
    append(client, content="y")
    changed = client.get(f"{ROUTE}/s", headers={"If-None-Match": read.headers["etag"]})
    assert changed.status_code == 200


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE"])
def test_session_that_is_not_there_is_not_found(
    client: httpx.Client, service: LiveService, method: str
) -> None:
    with service.client() as other:
        append(other, content="x")
        before = session(other)
        assert client.request(method, f"{ROUTE}/s").status_code == 404
        assert session(other) == before


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("name", ["a" * 129, "-a", "%00", "a%0A", "a%20b", "é", "%2e%2e", "_"])
def test_name_no_session_can_have_is_refused(client: httpx.Client, method: str, name: str) -> None:
    assert client.request(method, f"{ROUTE}/{name}").status_code in (404, 405, 422)
    assert client.get(ROUTE).json()["items"] == []


@pytest.mark.parametrize("name", ["a" * 128, "0", "A.b_c:d-e", "manifest", "messages"])
def test_name_any_session_can_have_is_taken(client: httpx.Client, name: str) -> None:
    assert client.put(f"{ROUTE}/{name}").json()["id"] == name
    assert append(client, session_id=name, content="x").status_code == 201
    assert client.delete(f"{ROUTE}/{name}").status_code == 200


def test_sessions_are_listed_last_written_first(client: httpx.Client) -> None:
    for name in ("a", "b", "c", "d", "e"):
        client.put(f"{ROUTE}/{name}")
    append(client, session_id="b", content="x")
    asked = ask(client, session_id="a")
    call_tool(client, "c", session_id="d")
    path = f"{ROUTE}/a/interactions/{asked['id']}/output"
    client.put(path, json={"role": "assistant", "content": "x"})
    expected = [session(client, name) for name in ("a", "d", "b", "e", "c")]
    for limit in (1, 2, 3, 5, 200):
        pages = list(pages_of(client, limit))
        assert [item for page in pages for item in page] == expected
        assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)


def pages_of(client: httpx.Client, limit: int) -> list[list[dict[str, Any]]]:
    pages, path = [], f"{ROUTE}?limit={limit}"
    while path:
        page = client.get(path)
        assert page.status_code == 200, page.text[:500]
        pages.append(page.json()["items"])
        cursor = page.json()["nextCursor"]
        link = f'<{ROUTE}?limit={limit}&cursor={cursor}>; rel="next"' if cursor else None
        assert page.headers.get("link") == link
        path = page.links.get("next", {}).get("url", "")
    return pages


def test_list_holds_nothing_of_another_project(client: httpx.Client, service: LiveService) -> None:
    with service.client() as other:
        other.put(f"{ROUTE}/a")
        other.put(f"{ROUTE}/b")
        cursor = other.get(f"{ROUTE}?limit=1").json()["nextCursor"]
    empty: dict[str, object] = {"items": [], "nextCursor": None}
    assert client.get(ROUTE).json() == empty
    assert client.get(ROUTE, params={"cursor": cursor}).json() == empty


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("cursor=x", (400, "invalid-cursor")),
        ("cursor=WyJyZXNvdXJjZXMiLDEsImEiXQ", (400, "invalid-cursor")),
        (
            "cursor=WyJzZXNzaW9ucyIsOTIyMzM3MjAzNjg1NDc3NTgwNywiYSIsImZlNDRhOGNjY2Q4OWVkYWUiXQ",
            (400, "invalid-cursor"),
        ),
        ("cursor=WyJzZXNzaW9ucyIsMV0", (400, "invalid-cursor")),
        ("limit=0", (422, "invalid-payload")),
        ("limit=201", (422, "invalid-payload")),
    ],
)
def test_list_that_is_asked_for_wrongly_is_refused(
    client: httpx.Client, query: str, expected: tuple[int, str]
) -> None:
    client.put(f"{ROUTE}/s")
    assert outcome(client.get(f"{ROUTE}?{query}")) == expected


def test_every_kind_of_entry_is_counted(client: httpx.Client) -> None:
    put(client, content="Hello.", session_id="s")
    put(client, "q", content="Hello.", session_id="t")
    for number in range(3):
        call_tool(client, f"c{number}")
    fault(client)
    fault(client, "q")
    for _ in range(4):
        append(client, content="x")
    asked = [ask(client) for _ in range(5)]
    answer(client, asked[0]["id"])
    answer(client, asked[0]["id"])
    ask(client, output={"role": "assistant", "content": "x"})
    call_tool(client, "outside", session_id=None)
    record = session(client)
    assert record["counts"] == {
        "toolResults": 3,
        "pageFaults": 2,
        "messages": 4,
        "interactions": 6,
        "answers": 1,
        "pages": 1,
        "resources": 0,
        "images": 0,
        "failures": 0,
    }
    # The page has taken a number too, which no entry has.
    assert record["lastSeq"] == 17
    assert session(client, "t")["counts"] == {**NOTHING, "pages": 1}
    assert client.get(ROUTE).json()["items"] == [record, session(client, "t")]


def test_session_is_called_by_the_first_line_of_its_user(client: httpx.Client) -> None:
    append(client, role="system", content="Be kind.")
    assert session(client)["title"] is None
    asked = [{"type": "text", "text": "\n  Why does\tthe shop   fail?\nSay."}]
    append(client, role="user", content=asked)
    append(client, role="user", content="And now?")
    ask(client, "Say it again.", session_id="t")
    append(client, session_id="u", role="user", content="word " * 60)
    titles = {item["id"]: item["title"] for item in client.get(ROUTE).json()["items"]}
    assert titles == {
        "s": "Why does the shop fail?",
        "t": "Say it again.",
        "u": ("word " * 24)[:119] + "…",
    }


def test_results_that_failed_are_counted(client: httpx.Client) -> None:
    for number, success in enumerate([True, False, False]):
        body = {"toolName": "t", "toolCallId": f"c{number}", "sessionId": "s", "result": "x"}
        stored = client.post("/api/tool-results", json={**body, "success": success})
        assert stored.status_code == 201
    assert session(client)["counts"] == {**NOTHING, "toolResults": 3, "failures": 2}


def failed_result(call_id: str = "u", words: int = 1) -> dict[str, Any]:
    """A failed result of Anthropic, with a text of this many words."""
    content = "No. " * words
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, "is_error": True}


def failures(client: httpx.Client) -> dict[str, int]:
    """The failures of all sessions in the list."""
    items = client.get(ROUTE).json()["items"]
    return {item["id"]: item["counts"]["failures"] for item in items}


def test_failed_results_in_messages_of_any_dialect_are_counted(client: httpx.Client) -> None:
    sound = {"type": "tool_result", "tool_use_id": "v", "content": "Yes."}
    append(client, "anthropic", content=[failed_result("u"), sound, failed_result("w")])
    append(client, "anthropic", content=[failed_result("x")])
    error = {"toolResult": {"toolUseId": "b", "content": [{"text": "No."}], "status": "error"}}
    append(client, "bedrock", content=[error])
    append(client, "langchain", role="tool", tool_call_id="c", content="No.", status="error")
    append(client, "sound", content=[sound])
    assert failures(client) == {"anthropic": 3, "bedrock": 1, "langchain": 1, "sound": 0}


@pytest.mark.slow
def test_failed_result_of_any_size_is_counted_once_by_every_route(client: httpx.Client) -> None:
    """A message of 800 kB, and one with 1,100 results."""
    long = {"role": "user", "content": [failed_result(words=200_000)]}
    calls = [f"u{number}" for number in range(1_100)]
    uses = [{"type": "tool_use", "id": call, "name": "look", "input": {}} for call in calls]
    many = [
        {"role": "user", "content": "Look."},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": [failed_result(call, words=100) for call in calls]},
    ]
    assert append(client, "message", **long).status_code == 201
    assert client.post(f"{ROUTE}/turn/turns", json={"entries": [{"message": long}]}).is_success
    for _ in range(2):
        assert client.put(f"{ROUTE}/history/history", json=many).is_success
    assert client.post(f"{ROUTE}/history/fork", json={"upTo": 3, "as": "fork"}).is_success
    bundles = {name: export(client, name) for name in ("message", "history")}
    counted = {"message": 1, "turn": 1, "history": 1_100, "fork": 1_100}
    assert failures(client) == counted
    for name, bundle in bundles.items():
        assert client.delete(f"{ROUTE}/{name}").status_code == 200
        assert failures(client) == {key: counted[key] for key in counted if key != name}
        assert take_in(client, bundle).is_success
        assert failures(client) == counted


def test_refused_writes_are_not_counted(client: httpx.Client) -> None:
    append(client, role="tool", tool_call_id="c", content="x")
    before = session(client)
    append(client, role="tool", tool_call_id="c", content="x")
    append(client, role="tool", tool_call_id="c", content="y")
    append(client, role="nobody")
    client.post(f"{ROUTE}/s/interactions", json={"input": rich("0" * 32)})
    assert less_times(session(client)) == less_times(before)


def test_bytes_are_counted_as_they_are_kept(client: httpx.Client) -> None:
    """Three files under four resources in six records: what is referenced, and what is saved."""
    picture = upload(client, PICTURE)["uri"]
    renamed = upload(client, PICTURE, filename="again.png")["uri"]
    document = upload(client, pdf())["uri"]
    upload(client, b"used by nobody")
    append(client, content=[{"url": data_uri(PICTURE, "image/png")}])
    append(client, content=[{"url": f"@{picture}"}, {"url": f"@{picture}"}, {"url": f"@{renamed}"}])
    ask(client, rich(document, renamed))
    ask(client, {"file": document})
    put(client, modality="image", content=data_uri(PHOTO, "image/jpeg"), session_id="s")
    fault(client)
    record = session(client)
    assert record["counts"] == {
        **NOTHING,
        "pageFaults": 1,
        "messages": 2,
        "interactions": 2,
        "pages": 1,
        "resources": 4,
        "images": 3,
    }
    assert record["bytesReferenced"] == len(PICTURE) + len(pdf()) + len(PHOTO)
    in_each_record = [
        (PICTURE,),
        (PICTURE, PICTURE),
        (pdf(), PICTURE),
        (pdf(),),
        (PHOTO,),
        (PHOTO,),
    ]
    inline = sum(base64_size(*media) for media in in_each_record)
    assert record["bytesSaved"] == inline - record["bytesReferenced"]


def test_one_use_of_one_file_saves_what_base64_adds(client: httpx.Client) -> None:
    call_tool(
        client,
        "c",
        {"content": [{"type": "resource", "resource": {"uri": "m://a", "text": "x" * 9_000}}]},
    )
    record = session(client)
    assert (record["counts"]["resources"], record["bytesReferenced"]) == (1, 9_000)
    assert record["bytesSaved"] == 12_000 - 9_000


def test_use_of_one_session_is_not_that_of_another(client: httpx.Client) -> None:
    uri = upload(client, PICTURE)["uri"]
    for name, times in (("s", 1), ("t", 3)):
        for _ in range(times):
            ask(client, rich(uri), session_id=name)
    client.put(f"{ROUTE}/u")
    sizes = [(item["bytesReferenced"], item["bytesSaved"]) for item in listed_by_name(client)]
    size, inline = len(PICTURE), base64_size(PICTURE)
    assert sizes == [(size, inline - size), (size, 3 * inline - size), (0, 0)]


def listed_by_name(client: httpx.Client) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = client.get(ROUTE).json()["items"]
    return sorted(items, key=lambda item: str(item["id"]))


def test_page_that_moves_to_another_session_is_counted_there(client: httpx.Client) -> None:
    put(client, modality="image", content=data_uri(PICTURE, "image/png"), session_id="s")
    before = session(client)
    client.patch("/api/pages/p", json={"session_id": "t"})
    after = {name: less_times(session(client, name)) for name in ("s", "t")}
    assert after["t"] == {**less_times(before), "id": "t"}
    assert after["s"]["counts"] == NOTHING
    assert (after["s"]["bytesReferenced"], after["s"]["bytesSaved"]) == (0, 0)


def mark(client: httpx.Client, session_id: str, **marks: object) -> dict[str, Any]:
    marked = client.patch(f"{ROUTE}/{session_id}", json=marks)
    assert marked.status_code == 200, marked.text
    record: dict[str, Any] = marked.json()
    return record


def test_marks_of_a_session_are_changed_by_a_merge_patch(client: httpx.Client) -> None:
    append(client, role="user", content="Hello.")
    before = session(client)
    marked = mark(client, "s", pinned=True, tags=["nightly", "a/b", "nightly"], note="Why\0 402?")
    assert marked == {
        **before,
        "pinned": True,
        "tags": ["nightly", "a/b"],
        "note": "Why\0 402?",
    }
    assert session(client) == marked
    assert mark(client, "s", tags=["other"]) == {**marked, "tags": ["other"]}
    # A write keeps them.
    append(client, content="Hello again.")
    assert session(client)["tags"] == ["other"]
    assert mark(client, "s", pinned=None, tags=None, note=None) == {
        **session(client),
        "title": "Hello.",
    }
    assert session(client).keys() == before.keys()


def test_marks_are_written_only_over_the_version_that_was_read(client: httpx.Client) -> None:
    append(client, role="user", content="Hello.")
    tag = client.get(f"{ROUTE}/s").headers["etag"]
    first, second = (
        client.patch(f"{ROUTE}/s", json={"pinned": pinned}, headers={"If-Match": tag})
        for pinned in (True, False)
    )
    assert (first.status_code, second.status_code) == (200, 412)
    assert session(client)["pinned"] is True


@pytest.mark.parametrize(
    "marks",
    [
        {"pinned": "yes"},
        {"tags": ["A"]},
        {"tags": ['a"']},
        {"tags": ["a,b"]},
        {"tags": ["a" * 65]},
        {"tags": [f"t{number}" for number in range(21)]},
        {"note": "x" * 4_001},
        {"title": "Mine"},
    ],
)
def test_marks_that_are_none_are_refused(client: httpx.Client, marks: dict[str, object]) -> None:
    append(client, role="user", content="Hello.")
    assert client.patch(f"{ROUTE}/s", json=marks).status_code == 422
    assert client.patch(f"{ROUTE}/unknown", json={"pinned": True}).status_code == 404
    assert "tags" not in session(client)


def test_session_has_its_last_image_and_an_estimate_of_its_tokens(client: httpx.Client) -> None:
    put(client, modality="image", content=data_uri(PICTURE, "image/png"), session_id="s")
    # A page is no entry of the history.
    assert "lastImage" not in session(client)
    assert session(client)["tokensEst"] == 0
    uris = []
    for number, name in enumerate(("one", "two", "one")):
        picture = {"data": data_uri(PICTURE, "image/png"), "filename": f"{name}.png"}
        stored = client.post(
            "/api/tool-results",
            json={
                "sessionId": "s",
                "toolName": "camera",
                "toolCallId": f"c{number}",
                "result": {**picture, "mimeType": "image/png"},
            },
        ).json()["sanitized"]
        uris.append(stored["resources"][0]["uri"])
        # The image that was shown last, not the one that was stored last.
        assert session(client)["lastImage"] == uris[-1]
    assert uris[0] == uris[2] != uris[1]
    # Of each image at least 258 tokens, and some for the texts of the records.
    assert 3 * 258 < session(client)["tokensEst"] < 3 * 258 + 1_000


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"null", (422, "invalid-payload")),
        (b"[]", (422, "invalid-payload")),
        (b"", (400, "invalid-json")),
    ],
)
def test_patch_of_marks_has_to_be_an_object(
    client: httpx.Client, body: bytes, expected: tuple[int, str]
) -> None:
    append(client, role="user", content="Hello.")
    headers = {"Content-Type": "application/merge-patch+json"}
    refused = client.patch(f"{ROUTE}/s", content=body, headers=headers)
    assert outcome(refused) == expected


@pytest.mark.parametrize("other", [{"tag": "b"}, {"tag": "a", "pinned": "true"}, {"q": "s"}, {}])
def test_cursor_of_a_list_of_sessions_is_refused_with_other_filters(
    client: httpx.Client, other: dict[str, str]
) -> None:
    for name in ("one", "two"):
        append(client, name, content="Hello.")
        mark(client, name, tags=["a", "b"])
    query = {"tag": "a", "limit": "1"}
    cursor = client.get(ROUTE, params=query).json()["nextCursor"]
    following = client.get(ROUTE, params={**query, "cursor": cursor}).json()
    assert [item["id"] for item in following["items"]] == ["one"]
    refused = client.get(ROUTE, params={**other, "cursor": cursor})
    assert outcome(refused) == (400, "invalid-cursor")


def test_sessions_are_listed_by_their_marks(client: httpx.Client) -> None:
    for name in ("one", "two", "three"):
        append(client, name, content="Hello.")
    mark(client, "one", pinned=True, tags=["run_1", "x"])
    mark(client, "two", tags=["run-1", "xy"])

    def found(**query: str) -> list[str]:
        listed = client.get(ROUTE, params=query)
        assert listed.status_code == 200, listed.text
        return [item["id"] for item in listed.json()["items"]]

    # Marks do not move a session to the front.
    assert found() == ["three", "two", "one"]
    assert found(pinned="true") == ["one"]
    assert found(pinned="false") == ["three", "two"]
    assert found(tag="run_1") == ["one"]
    assert found(tag="x") == ["one"]
    assert found(tag="xy", q="TW") == ["two"]
    assert found(tag="none") == []
    assert client.get(ROUTE, params={"tag": "%"}).status_code == 422
