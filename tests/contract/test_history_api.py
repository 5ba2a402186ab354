"""A session's history over HTTP, on both engines."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from app.config.settings import Settings
from tests.kit.media import b64, mp4, png
from tests.kit.servers import LiveService, serving

WRITERS = 50
ROUTE = "/api/sessions/s/messages"


def add(client: httpx.Client, name: str, result: object = "done") -> httpx.Response:
    body = {"toolName": "camera", "toolCallId": name, "sessionId": "s", "result": result}
    return client.post("/api/tool-results", json=body)


def pages(client: httpx.Client, limit: int) -> Iterator[httpx.Response]:
    path = f"{ROUTE}?limit={limit}"
    while path:
        page = client.get(path)
        yield page
        path = page.links.get("next", {}).get("url", "")


def sanitized(envelope: bytes) -> bytes:
    """The stored bytes inside a record or a message: its last member."""
    return envelope.partition(b',"sanitized":')[2][:-1]


def only_message(page: bytes) -> bytes:
    return page.removeprefix(b'{"items":[').removesuffix(b'],"nextCursor":null}')


@pytest.mark.slow
def test_concurrent_writers_take_every_number_once(client: httpx.Client) -> None:
    with ThreadPoolExecutor(WRITERS) as pool:
        answers = list(pool.map(lambda n: add(client, f"call-{n}"), range(WRITERS)))
    assert {answer.status_code for answer in answers} == {201}
    written = {answer.json()["seq"]: answer.json()["id"] for answer in answers}
    read = [entry for page in pages(client, 7) for entry in page.json()["items"]]
    assert [entry["seq"] for entry in read] == list(range(1, WRITERS + 1))
    assert {entry["seq"]: entry["id"] for entry in read} == written


def test_pages_are_linked_and_end(client: httpx.Client) -> None:
    for number in range(1, 6):
        add(client, f"call-{number}")
    answers = list(pages(client, 2))
    assert [[entry["seq"] for entry in page.json()["items"]] for page in answers] == [
        [1, 2],
        [3, 4],
        [5],
    ]
    cursors = [page.json()["nextCursor"] for page in answers]
    assert [page.headers.get("link") for page in answers] == [
        f'<{ROUTE}?limit=2&cursor={cursors[0]}>; rel="next"',
        f'<{ROUTE}?limit=2&cursor={cursors[1]}>; rel="next"',
        None,
    ]
    assert cursors[2] is None


def test_last_page_that_is_full_has_no_next(client: httpx.Client) -> None:
    add(client, "call-1")
    add(client, "call-2")
    assert [len(page.json()["items"]) for page in pages(client, 2)] == [2]


def test_message_carries_the_bytes_of_the_record(client: httpx.Client) -> None:
    created = add(client, "call-1", {"content": [{"type": "text", "text": 'x,"sanitized":{}'}]})
    record = created.json()
    page = client.get(ROUTE)
    assert sanitized(only_message(page.content)) == sanitized(created.content)
    assert page.json()["items"] == [
        {
            "seq": 1,
            "id": record["id"],
            "role": "tool",
            "toolCallId": "call-1",
            "name": "camera",
            "createdAt": record["createdAt"],
            "entry": "tool_result",
            "sanitized": record["sanitized"],
        }
    ]


def media_result() -> dict[str, object]:
    resources = [("image/png", png(noise=True)), ("video/mp4", mp4())]
    return {
        "content": [{"type": "text", "text": "Zażółć \u0000 \u202e"}]
        + [
            {"type": "resource", "resource": {"uri": f"m://{m}", "mimeType": m, "blob": b64(b)}}
            for m, b in resources
        ],
        "structuredContent": {"big": 2**70},
    }


def everything(client: httpx.Client, paths: list[str]) -> list[bytes]:
    return [client.get(path).raise_for_status().content for path in paths]


def test_all_reads_back_byte_for_byte_after_a_restart(settings: Settings) -> None:
    with serving(settings) as service:
        key = service.new_key("restarted")
        with service.client(key) as client:
            created = add(client, "call-1", media_result())
            uris = [entry["uri"] for entry in created.json()["sanitized"]["resources"]]
            assert len(uris) == 2
            paths = [ROUTE, created.headers["location"], "/api/tool-results", "/api/resources"]
            paths += [f"/api/resources/{uri}/content" for uri in uris]
            before = everything(client, paths)
    with serving(settings) as service, service.client(key) as client:
        after = everything(client, paths)
        again = add(client, "call-1", media_result())
        following = add(client, "call-2")
    assert created.status_code == 201
    assert after == before
    assert (again.status_code, again.content) == (200, created.content)
    assert following.json()["seq"] == 2
    assert sanitized(only_message(before[0])) == sanitized(created.content)


def test_session_nothing_was_written_to_does_not_exist(client: httpx.Client) -> None:
    answer = client.get("/api/sessions/unknown/messages")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


def test_session_of_another_project_does_not_exist(
    client: httpx.Client, service: LiveService
) -> None:
    add(client, "call-1")
    with service.client() as other:
        assert other.get(ROUTE).status_code == 404


@pytest.mark.parametrize("session", ["a" * 129, "-a", "%00", "a%0A", "a%20b", "%2e%2e", "é"])
def test_name_no_session_can_have_is_refused(client: httpx.Client, session: str) -> None:
    assert client.get(f"/api/sessions/{session}/messages").status_code in (404, 422)


@pytest.mark.parametrize(
    "cursor",
    ["x", "WyJ0b29sLXJlc3VsdHMiLCJhIl0", "WyJtZXNzYWdlcyIsLTFd", "WyJtZXNzYWdlcyIsdHJ1ZV0"],
)
def test_bad_cursor_is_refused(client: httpx.Client, cursor: str) -> None:
    add(client, "call-1")
    answer = client.get(ROUTE, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid-cursor")


def test_history_the_caller_has_is_not_sent_again(client: httpx.Client) -> None:
    add(client, "call-1")
    etag = client.get(ROUTE).headers["etag"]
    assert client.get(ROUTE, headers={"If-None-Match": etag}).status_code == 304
    add(client, "call-2")
    assert client.get(ROUTE, headers={"If-None-Match": etag}).status_code == 200


def test_calls_of_two_sessions_are_numbered_apart(client: httpx.Client) -> None:
    body = {"toolName": "t", "toolCallId": "c", "result": 1}
    numbers = [
        client.post("/api/tool-results", json={**body, "sessionId": name}).json()["seq"]
        for name in ("a", "b")
    ]
    assert numbers == [1, 1]
