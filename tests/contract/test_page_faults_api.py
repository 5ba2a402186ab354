"""Page faults over HTTP: the message, the history, replays, counters, details."""

import base64
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from tests.kit.media import png
from tests.kit.servers import Backends, Engine, LiveService, serving

pytestmark = pytest.mark.engines("embedded")

ROUTE = "/api/pages"
LARGE_PNG = png(noise=True)
DATA_URI = "data:image/png;base64," + base64.b64encode(LARGE_PNG).decode()
NOTE = (
    "\n\n  Note: This is a compressed summary. "
    'Use page_fault("p", target_level=0) for full content.'
)
STORY = "It begins. " + "And so on " * 100
FAILURE = {"success": False, "page_id": "p", "error": "There is no page p in this project."}
CALL = {"target_level": 0, "session_id": "s", "tool_call_id": "call_1"}


def put(client: httpx.Client, **members: object) -> dict[str, Any]:
    stored = client.put(f"{ROUTE}/p", json=members)
    assert stored.is_success, stored.text
    page: dict[str, Any] = stored.json()
    return page


def fault(client: httpx.Client, **requested: object) -> httpx.Response:
    return client.post(f"{ROUTE}/p/fault", json=requested)


def history(client: httpx.Client, session_id: str = "s") -> list[dict[str, Any]]:
    answer = client.get(f"/api/sessions/{session_id}/messages")
    assert answer.status_code == 200, answer.text
    items: list[dict[str, Any]] = answer.json()["items"]
    return items


def counters(client: httpx.Client) -> tuple[int, bool]:
    """Return the number of reads of the page, and whether their time is known."""
    page = client.get(f"{ROUTE}/p").json()
    return page["access_count"], page["last_accessed"] is not None


def outcome(answer: httpx.Response) -> tuple[int, str]:
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()["code"]


def message(content: object, tool_call_id: str | None = None) -> dict[str, object]:
    return {"role": "tool", "tool_call_id": tool_call_id, "content": content}


@pytest.fixture(scope="module")
def reader(service: LiveService) -> Iterator[httpx.Client]:
    """A client whose page nobody changes."""
    with service.client() as client:
        put(client, content=STORY)
        yield client


@pytest.mark.parametrize("level", [0, "0", "FULL", "full"], ids=repr)
def test_fault_takes_levels_by_number_and_name(reader: httpx.Client, level: object) -> None:
    answer = fault(reader, target_level=level, tool_call_id="call_1")
    assert (answer.status_code, answer.json()) == (
        200,
        message(f"Page p (text, FULL):\n{STORY}", "call_1"),
    )


@pytest.mark.parametrize("body", [b"", b"{}", b"null"])
def test_fault_without_a_level_is_the_abstract(reader: httpx.Client, body: bytes) -> None:
    headers = {"Content-Type": "application/json"}
    answer = reader.post(f"{ROUTE}/p/fault", content=body, headers=headers)
    assert answer.json() == message(f"Page p (text, ABSTRACT):\nIt begins.{NOTE}")


@pytest.mark.parametrize(
    ("requested", "pointer"),
    [
        ({"target_level": 4}, "/target_level"),
        ({"target_level": -1}, "/target_level"),
        ({"target_level": 1.0}, "/target_level"),
        ({"target_level": True}, "/target_level"),
        ({"target_level": None}, "/target_level"),
        ({"target_level": "all"}, "/target_level"),
        ({"target_level": 10**30}, "/target_level"),
        ({"session_id": "a b"}, "/session_id"),
        ({"session_id": "../s"}, "/session_id"),
        ({"tool_call_id": ""}, "/tool_call_id"),
        ({"tool_call_id": 7}, "/tool_call_id"),
        ({"max_chars": 0}, "/max_chars"),
        ({"max_chars": "9"}, "/max_chars"),
        ({"offset": -1}, "/offset"),
        ({"detail": "full"}, "/detail"),
        ({"level": 0}, "/level"),
    ],
    ids=str,
)
def test_fault_that_asks_for_nonsense_is_refused(
    reader: httpx.Client, requested: dict[str, object], pointer: str
) -> None:
    answer = fault(reader, **requested)
    assert outcome(answer) == (422, "invalid-payload")
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    handed_on(answer, call_id=requested.get("tool_call_id"))


def handed_on(answer: httpx.Response, *, call_id: object) -> str:
    """Check the tool message of a refusal; returns what it says is wrong."""
    problem = answer.json()
    record = json.loads(problem["content"])
    error: str = record["error"]
    assert record == {"success": False, "page_id": problem["page_id"], "error": error}
    known = call_id if isinstance(call_id, str) and call_id else None
    assert [problem[name] for name in ("role", "tool_call_id", "success", "error")] == [
        "tool",
        known,
        False,
        error,
    ]
    return error


@pytest.mark.parametrize("level", ['"FULL"', 7, None, "", [0]], ids=repr)
def test_level_that_is_none_is_told_to_the_model(reader: httpx.Client, level: object) -> None:
    answer = fault(reader, target_level=level, tool_call_id="call_1")
    assert handed_on(answer, call_id="call_1") == (
        "The page was not faulted in. target_level: must be one of 0 (FULL), 1 (REDUCED), "
        "2 (ABSTRACT), 3 (REFERENCE). For the full content, send "
        'page_fault("p", target_level=0).'
    )


@pytest.mark.parametrize(
    "page_id",
    ["[ref: p]", '"p"', "'p'", " p ", "p\n", "[ref: tool:page_fault(p)]", "page p", "a/p", "p,"],
    ids=repr,
)
def test_page_that_a_bad_id_names_is_told_to_the_model(reader: httpx.Client, page_id: str) -> None:
    route = f"{ROUTE}/{quote(page_id, safe='')}/fault"
    answer = reader.post(route, json={"tool_call_id": "call_1", "target_level": 1})
    assert outcome(answer) == (422, "invalid-payload")
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/path/page_id"]
    assert handed_on(answer, call_id="call_1") == (
        f"{json.dumps(page_id)} is no page id. Page p is there: send "
        'page_fault("p", target_level=1).'
    )


@pytest.mark.parametrize("page_id", ["", "[ref: nothing]", "ü", "x" * 3_000, "../.."], ids=len)
def test_id_that_names_no_page_is_explained_to_the_model(
    reader: httpx.Client, page_id: str
) -> None:
    route = f"{ROUTE}/{quote(page_id, safe='').replace('.', '%2E')}/fault"
    answer = reader.post(route, json={"session_id": "odd"})
    assert outcome(answer) == (422, "invalid-payload")
    error = handed_on(answer, call_id=None)
    assert "An id has 1 to 128 letters, digits and . _ : -" in error
    assert len(error) < 400
    assert reader.get("/api/sessions/odd/messages").status_code == 404


def test_missing_page_whose_id_holds_another_names_that(reader: httpx.Client) -> None:
    answer = reader.post(f"{ROUTE}/ref:p./fault", json={})
    assert outcome(answer) == (404, "not-found")
    assert handed_on(answer, call_id=None) == (
        'There is no page ref:p. in this project. Page p is there: send page_fault("p", '
        "target_level=2)."
    )


@pytest.mark.parametrize("level", [None, 0, 1, 2, 3])
def test_fault_of_a_complete_page_is_full_and_has_no_note(
    client: httpx.Client, level: int | None
) -> None:
    put(client, content="Hello.")
    requested = {} if level is None else {"target_level": level}
    assert fault(client, **requested).json()["content"] == "Page p (text, FULL):\nHello."


@pytest.mark.parametrize("is_query", [True, False], ids=["query", "body"])
def test_fault_as_one_json_string_says_what_is_shown(client: httpx.Client, is_query: bool) -> None:
    put(client, modality="structured", content={"a": 1}, schema_name="rows")
    query, body = ({"form": "json"}, {}) if is_query else ({}, {"form": "json"})
    answer = client.post(f"{ROUTE}/p/fault", params=query, json={**CALL, "target_level": 2, **body})
    assert answer.status_code == 200, answer.text
    assert json.loads(answer.json()["content"]) == {
        "success": True,
        "page_id": "p",
        "content": {"a": 1},
        "modality": "structured",
        "compression": "FULL",
        "requested_level": "ABSTRACT",
        "source_tier": "stored",
        "was_compressed": False,
        "truncated": False,
        "schema_name": "rows",
    }
    assert [entry["content"] for entry in history(client)] == [answer.json()["content"]]


def test_forms_that_contradict_each_other_are_refused(reader: httpx.Client) -> None:
    answer = reader.post(f"{ROUTE}/p/fault?form=json", json={"form": "blocks"})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/form"]


def test_code_is_fenced_and_its_language_told(client: httpx.Client) -> None:
    put(client, content="print('```')", mime_type="text/x-python")
    assert fault(client).json()["content"] == (
        "Page p (text, FULL):\n````python\nprint('```')\n````"
    )
    record = json.loads(fault(client, form="json").json()["content"])
    assert (record["language"], record["content"]) == ("python", "print('```')")


def test_lone_surrogate_in_a_call_is_replaced(client: httpx.Client) -> None:
    put(client, content="Hello.")
    body = rb'{"tool_call_id":"a\ud800b","session_id":"s"}'
    headers = {"Content-Type": "application/json"}
    answers = [client.post(f"{ROUTE}/p/fault", content=body, headers=headers) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert [answer.json()["tool_call_id"] for answer in answers] == ["a\ufffdb"] * 2
    assert [entry["tool_call_id"] for entry in history(client)] == ["a\ufffdb"]


@pytest.mark.engines("embedded", "server")
def test_fault_never_changes_the_stored_page(client: httpx.Client) -> None:
    put(client, content="Hello. " * 200, session_id="s")
    before = client.get(f"{ROUTE}/p")
    for level in range(4):
        fault(client, target_level=level, session_id="s", max_chars=3)
    after = client.get(f"{ROUTE}/p")
    assert after.headers["etag"] == before.headers["etag"]
    assert after.json()["content"] == before.json()["content"]


def test_missing_page_is_a_problem_that_can_be_handed_on(client: httpx.Client) -> None:
    answer = fault(client, **CALL)
    problem = answer.json()
    assert outcome(answer) == (404, "not-found")
    assert json.loads(problem.pop("content")) == FAILURE
    block = {**FAILURE, "role": "tool", "tool_call_id": "call_1"}
    assert {name: problem[name] for name in block} == block
    assert client.get("/api/sessions/s/messages").status_code == 404


@pytest.mark.engines("embedded", "server")
def test_message_of_a_fault_is_appended_to_its_session(client: httpx.Client) -> None:
    put(client, content="Hello.")
    answer = fault(client, **CALL)
    (entry,) = history(client)
    assert entry == {
        "seq": 1,
        "id": entry["id"],
        "created_at": entry["created_at"],
        "entry": "page_fault",
        **answer.json(),
    }


def test_history_keeps_the_reference_of_an_image_and_no_base64(client: httpx.Client) -> None:
    reference = put(client, modality="image", content=DATA_URI)["content"]
    answer = fault(client, **CALL)
    assert answer.json()["content"][1]["image_url"]["url"] == DATA_URI
    entry = client.get("/api/sessions/s/messages").json()["items"][0]
    assert entry["content"] == [
        {"type": "text", "text": "Page p (image, FULL):\n  [image attached below]"},
        {"type": "image_url", "image_url": {"url": reference, "detail": "low"}},
    ]


@pytest.mark.engines("embedded", "server")
def test_history_holds_what_was_shown_when_the_page_is_gone(client: httpx.Client) -> None:
    reference = put(client, modality="image", content=DATA_URI)["content"]
    answer = fault(client, **CALL)
    client.delete(f"{ROUTE}/p")
    assert fault(client, **CALL).content == answer.content
    resource = f"/api/resources/{reference.removeprefix('@blob:')}"
    assert client.get(f"{resource}/content").content == LARGE_PNG
    assert client.delete(resource).status_code == 409


@pytest.mark.engines("embedded", "server")
def test_same_call_again_gives_the_same_message_and_appends_nothing(client: httpx.Client) -> None:
    put(client, content="Hello.")
    first = fault(client, **CALL)
    put(client, content="Something else.")
    again = fault(client, **CALL)
    assert (again.status_code, again.content) == (200, first.content)
    assert len(history(client)) == 1
    assert counters(client) == (1, True)


@pytest.mark.engines("embedded", "server")
def test_same_call_at_once_is_one_message(client: httpx.Client) -> None:
    put(client, content="Hello.")
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fault(client, **CALL), range(8)))
    assert [answer.status_code for answer in answers] == [200] * 8
    assert len({answer.content for answer in answers}) == 1
    assert ([entry["seq"] for entry in history(client)], counters(client)) == ([1], (1, True))


@pytest.mark.parametrize(
    "change", [{"target_level": 1}, {"max_chars": 3}, {"offset": 1}, {"detail": "high"}], ids=str
)
def test_call_answered_with_something_else_is_a_conflict(
    client: httpx.Client, change: dict[str, object]
) -> None:
    put(client, content="Hello.")
    fault(client, **CALL)
    assert outcome(fault(client, **CALL | change)) == (409, "tool-call-answered")
    assert len(history(client)) == 1


def test_call_that_a_tool_result_answered_is_a_conflict(client: httpx.Client) -> None:
    put(client, content="Hello.")
    body = {"toolName": "t", "toolCallId": "call_1", "sessionId": "s", "result": "done"}
    client.post("/api/tool-results", json=body)
    assert outcome(fault(client, **CALL)) == (409, "tool-call-answered")
    assert [entry["seq"] for entry in history(client)] == [1]


def test_tool_result_of_a_call_that_a_fault_answered_is_a_conflict(client: httpx.Client) -> None:
    put(client, content="Hello.")
    fault(client, **CALL)
    body = {"toolName": "t", "toolCallId": "call_1", "sessionId": "s", "result": "done"}
    assert outcome(client.post("/api/tool-results", json=body))[0] == 409
    assert [entry["seq"] for entry in history(client)] == [1]


def test_history_mixes_kinds_in_the_order_of_their_numbers(client: httpx.Client) -> None:
    put(client, content="Hello.")
    fault(client, session_id="s")
    body = {"toolName": "t", "toolCallId": "call_1", "sessionId": "s", "result": "done"}
    client.post("/api/tool-results", json=body)
    fault(client, session_id="s")
    entries = history(client)
    assert [(entry["seq"], "sanitized" in entry) for entry in entries] == [
        (1, False),
        (2, True),
        (3, False),
    ]
    first = client.get("/api/sessions/s/messages", params={"limit": 2}).json()
    rest = client.get("/api/sessions/s/messages", params={"cursor": first["nextCursor"]}).json()
    assert first["items"] + rest["items"] == entries


def test_reading_a_page_counts_nothing(client: httpx.Client) -> None:
    put(client, content="Hello.")
    for what in ("content", "blocks", "blocks?form=json", "download", "representations/0"):
        assert client.get(f"{ROUTE}/p/{what}").status_code == 200
    client.get(f"{ROUTE}/p", headers={"Accept": "text/plain"})
    client.get(f"{ROUTE}/search", params={"q": "hello"})
    assert counters(client) == (0, False)


def test_what_a_model_got_counts(client: httpx.Client) -> None:
    put(client, content="Hello.")
    fault(client)
    assert client.get(f"{ROUTE}/p/render").status_code == 200
    assert counters(client) == (2, True)


def test_faults_count_and_lists_show_it(client: httpx.Client) -> None:
    put(client, content="Hello.")
    fault(client)
    fault(client, session_id="s")
    page = client.get(f"{ROUTE}/p").json()
    for name in ("content", "timestamps", "embedding"):
        del page[name]
    assert page["access_count"] == 2
    assert client.get(ROUTE).json()["items"] == [page]


def test_new_page_under_a_used_id_was_never_read(client: httpx.Client) -> None:
    put(client, content="Hello.")
    fault(client)
    client.delete(f"{ROUTE}/p")
    put(client, content="Hello.")
    assert counters(client) == (0, False)


def test_reads_are_written_down_when_the_service_stops(
    backends: Backends, engine: Engine, tmp_path: Path
) -> None:
    settings = backends.settings(engine, tmp_path)
    with serving(settings) as service:
        key = service.new_key()
        with service.client(key) as client:
            put(client, content="Hello.")
            for _ in range(5):
                fault(client)
            before = client.get(f"{ROUTE}/p").content
    with serving(settings) as service, service.client(key) as client:
        assert client.get(f"{ROUTE}/p").content == before
        assert counters(client) == (5, True)


@pytest.mark.parametrize(
    ("accept", "is_text"),
    [
        ("text/plain", True),
        ("text/*", True),
        ("text/plain;q=0.9, application/json;q=0.1", True),
        ("application/json, text/plain;q=0.5", False),
        ("*/*", False),
        ("text/plain;q=nonsense", False),
        ("text/html", False),
    ],
)
def test_detail_view_is_for_those_who_prefer_plain_text(
    reader: httpx.Client, accept: str, is_text: bool
) -> None:
    answer = reader.get(f"{ROUTE}/p", headers={"Accept": accept})
    content_type = "text/plain; charset=utf-8" if is_text else "application/json"
    assert (answer.headers["content-type"], answer.headers["vary"]) == (content_type, "Accept")


def test_detail_view_has_a_line_for_every_field(client: httpx.Client) -> None:
    page = put(
        client,
        modality="image",
        content=DATA_URI,
        caption="A line\nbreak",
        mime_type="image/png",
        session_id="s",
        pinned=True,
        provenance=["a", "b"],
        level="ABSTRACT",
    )
    fault(client)
    accessed = client.get(f"{ROUTE}/p").json()["last_accessed"]
    text = client.get(f"{ROUTE}/p", headers={"Accept": "text/plain"}).text
    assert text == (
        "Page ID:     p\n"
        "Modality:    image\n"
        "MIME Type:   image/png\n"
        "Dimensions:  64x48\n"
        "Compression: ABSTRACT\n"
        "Content:     [caption] A line\\nbreak\n"
        f"Resource:    {page['content']}\n"
        "Page Type:   artifact\n"
        "Session:     s\n"
        "Importance:  0.5\n"
        "Pinned:      yes\n"
        "Provenance:  a, b\n"
        "Levels:      FULL, REDUCED, ABSTRACT, REFERENCE\n"
        f"Size:        {len(LARGE_PNG)} bytes\n"
        "Tokens:      ~258\n"
        f"Created:     {page['created_at']}\n"
        f"Updated:     {page['updated_at']}\n"
        f"Accessed:    {accessed} (1 time)\n"
        "Version:     1\n"
    )


def test_detail_view_of_a_small_image_has_no_base64(client: httpx.Client) -> None:
    small = "data:image/png;base64," + base64.b64encode(png()).decode()
    put(client, modality="image", content=small, hint=small, transcript=small)
    text = client.get(f"{ROUTE}/p", headers={"Accept": "text/plain"}).text
    assert base64.b64encode(png()).decode()[:24] not in text
    assert f"URL:         [data URI, image/png, {len(png())} bytes]\n" in text
