"""Events over HTTP, on both engines: one for each write, in the bytes that every reader gets."""

import json
from typing import Any

import httpx
import pytest
from pydantic import TypeAdapter

from tests.contract.bundled_sessions import SESSION, export, make_small_session, take_in
from tests.contract.page_requests import data_uri, put, supply
from tests.contract.session_requests import ANSWER, JSON, MESSAGES, answer, append, ask, call_tool
from tests.kit.event_shapes import DATA_OF
from tests.kit.event_streams import Block, heard, listening, log_of, member
from tests.kit.media import png
from tests.kit.servers import LiveService

PICTURE = png(noise=True)
WITH_PICTURE = {
    "content": [
        {"type": "text", "text": "Seen\u2028at \U0001f600"},
        {
            "type": "image",
            "mimeType": "image/png",
            "data": data_uri(PICTURE, "").partition(",")[2],
        },
    ]
}
PAGE_MEMBERS = {"modality": "text", "pageType": "artifact"}


def only(blocks: list[Block]) -> Block:
    """The one event there is, of a shape that is documented."""
    (block,) = blocks
    return checked(block)


def checked(block: Block) -> Block:
    assert block.event is not None
    assert block.data is not None
    TypeAdapter[object](DATA_OF[block.event]).validate_json(block.data)  # type: ignore[index]
    return block


def fault(client: httpx.Client, **query: object) -> None:
    faulted = client.post("/api/pages/p/fault", json={"target_level": 0, **query})
    assert faulted.status_code == 200, faulted.text


def names(blocks: list[Block]) -> list[str | None]:
    return [block.event for block in blocks]


def history(client: httpx.Client) -> bytes:
    return client.get(MESSAGES).content


@pytest.mark.requirement("002-events-carry-the-record")
@pytest.mark.parametrize("session_id", ["s", None])
def test_tool_result_is_told_in_the_bytes_it_is_stored_in(
    client: httpx.Client, session_id: str | None
) -> None:
    record = call_tool(client, "c", WITH_PICTURE, session_id)
    block = only(log_of(client))
    assert (block.id, block.event, block.retry) == ("1", "llmservice:toolResult", None)
    assert list(block.told.items()) == [
        ("toolName", "camera"),
        ("callId", "c"),
        ("success", True),
        ("sanitized", record["sanitized"]),
        ("sessionId", session_id),
        ("seq", record["seq"]),
        ("id", record["id"]),
        ("createdAt", record["createdAt"]),
    ]
    stored = client.get(f"/api/tool-results/{record['id']}").content
    assert block.data is not None
    assert member(block.data, "sanitized") == member(stored, "sanitized")
    if session_id is not None:
        shown = member(history(client), "items", 0, "sanitized")
        assert member(block.data, "sanitized") == shown


@pytest.mark.parametrize(
    ("result", "more"), [({"isError": True, "content": []}, {}), ("no", {"success": False})]
)
def test_failed_tool_call_is_told_as_such(
    client: httpx.Client, result: object, more: dict[str, bool]
) -> None:
    body = {"toolName": "t", "toolCallId": "c", "result": result, **more}
    assert client.post("/api/tool-results", json=body).status_code == 201
    assert only(log_of(client)).told["success"] is False


ODD_MESSAGE = (
    '{\r\n"role" : "user",\n\t"content":"a\\r\\nb\\u0000\\ud83d\\ude00\u2028\u0085",\r'
    '"n":123456789012345678901234567890, "f": 1.10, "id: 9\\n\\ndata": "\\ndata: {}\\n\\n"}'
)


OWN = ("seq", "id", "created_at", "entry")


@pytest.mark.parametrize(
    "body",
    [
        ODD_MESSAGE,
        json.dumps({"role": "user", "content": [{"url": data_uri(PICTURE, "image/png")}]}),
    ],
    ids=["odd JSON", "media"],
)
def test_message_is_told_in_the_bytes_of_the_history(client: httpx.Client, body: str) -> None:
    created = client.post(MESSAGES, content=body.encode(), headers=JSON)
    assert created.status_code == 201, created.text
    block = only(log_of(client))
    item = member(history(client), "items", 0)
    entry = json.loads(item)
    place = {"sessionId": "s", "seq": 1, "id": entry["id"], "createdAt": entry["created_at"]}
    others = {name: entry[name] for name in entry if name not in OWN}
    # A message that is not flat stands in its entry as it stands in the event.
    is_flat = "dialect" not in entry
    told = {"role": "user", "message": others} if is_flat else others
    assert (block.event, block.told) == ("message:created", {**told, **place})
    assert block.data is not None
    message = member(block.data, "message")
    assert item.endswith(b"," + message[1:] if is_flat else b'"message":' + message + b"}")


@pytest.mark.parametrize("output", [None, ANSWER], ids=["asked", "answered at once"])
def test_interaction_is_told_as_it_was_asked(
    client: httpx.Client, output: dict[str, str] | None
) -> None:
    record = ask(client, {"b": [1, 1.50], "a": None}, output=output)
    block = only(log_of(client))
    item = member(history(client), "items", 0)
    assert (block.event, block.told) == (
        "interaction:created",
        {
            "inputKind": "dict",
            "interaction": record["interaction"],
            "sessionId": "s",
            "seq": 1,
            "id": record["id"],
            "createdAt": json.loads(item)["created_at"],
        },
    )
    assert block.data is not None
    assert member(block.data, "interaction") == member(item, "interaction")
    stored = client.get(f"/api/sessions/s/interactions/{record['id']}").content
    assert member(block.data, "interaction") == member(stored, "interaction")


def test_answer_is_told_and_leaves_the_question_as_it_was_told(client: httpx.Client) -> None:
    record = ask(client)
    before = log_of(client)
    assert answer(client, record["id"]).status_code == 200
    asked, answered = (value for value in log_of(client) if "interaction" in str(value.event))
    assert asked == before[0]
    item = member(history(client), "items", 1)
    assert (checked(answered).event, answered.told) == (
        "interaction:answered",
        {
            "inputKind": "text",
            "output": ANSWER,
            "sessionId": "s",
            "seq": 2,
            "id": record["id"],
            "createdAt": json.loads(item)["created_at"],
        },
    )
    assert answered.data is not None
    assert member(answered.data, "output") == member(item, "output")


def page_event(number: int, event: str, seq: int | None, version: int) -> tuple[object, ...]:
    return (str(number), event, {**PAGE_MEMBERS, "version": version, "seq": seq, "id": "p"})


def of_page(block: Block) -> tuple[object, ...]:
    """Return a page's event without its time and its session."""
    told = checked(block).told
    told.pop("createdAt")
    return (block.id, block.event, {name: told[name] for name in told if name != "sessionId"})


@pytest.mark.parametrize("session_id", ["s", None])
def test_every_change_of_a_page_is_told(client: httpx.Client, session_id: str | None) -> None:
    put(client, content="The first words.", session_id=session_id)
    put(client, content="Some other words.", session_id=session_id)
    assert client.patch("/api/pages/p", json={"hint": "x"}).status_code == 200
    assert supply(client, 2, "Words.").status_code == 201
    assert client.delete("/api/pages/p/representations/2").status_code == 204
    version = client.get("/api/pages/p").json()["version"]
    assert client.delete("/api/pages/p").status_code == 204
    blocks = log_of(client)
    seqs: list[int | None] = [None] * 6 if session_id is None else [1, 2, 3, 4, 5, 6]
    changes = ["page:created", *["page:updated"] * 4, "page:deleted"]
    assert [of_page(block) for block in blocks] == [
        page_event(number, event, seqs[number - 1], min(number, version))
        for number, event in enumerate(changes, 1)
    ]
    assert {block.told["sessionId"] for block in blocks} == {session_id}


def test_pages_that_are_written_at_once_are_told_one_by_one(client: httpx.Client) -> None:
    pages = [
        {"page_id": "a", "content": "x", "session_id": "s"},
        {"page_id": "b", "content": "x"},
        {"page_id": "c", "content": "x", "session_id": "t"},
        {"page_id": "d", "content": "x", "session_id": "s"},
    ]
    written = client.post("/api/pages/bulk", json={"pages": pages})
    assert written.status_code == 201, written.text
    told = [
        (block.id, block.event, block.told["id"], block.told["sessionId"], block.told["seq"])
        for block in log_of(client)
    ]
    assert told == [
        ("1", "page:created", "a", "s", 1),
        ("2", "page:created", "b", None, None),
        ("3", "page:created", "c", "t", 1),
        ("4", "page:created", "d", "s", 2),
    ]
    assert [client.get(f"/api/sessions/{letter}").json()["lastSeq"] for letter in "st"] == [2, 1]


def test_page_that_moves_takes_the_number_of_its_new_session(client: httpx.Client) -> None:
    put(client, content="x", session_id="s")
    assert client.patch("/api/pages/p", json={"session_id": "t"}).status_code == 200
    assert client.delete("/api/pages/p").status_code == 204
    told = [(block.told["sessionId"], block.told["seq"]) for block in log_of(client)]
    assert told == [("s", 1), ("t", 1), ("t", 2)]


def test_fault_in_a_session_names_its_message(client: httpx.Client) -> None:
    put(client, content="x")
    fault(client, session_id="s", tool_call_id="c")
    block = checked(log_of(client, after=1)[0])
    (entry,) = json.loads(history(client))["items"]
    assert (block.event, block.told) == (
        "page:faulted",
        {
            "level": "FULL",
            "callId": "c",
            "messageId": entry["id"],
            "sessionId": "s",
            "seq": 1,
            "id": "p",
            "createdAt": entry["created_at"],
        },
    )


def test_fault_outside_any_session_has_no_message(client: httpx.Client) -> None:
    put(client, content="x", session_id="s")
    fault(client, target_level=1)
    block = checked(log_of(client, after=1)[0])
    assert block.told == {
        "level": "REDUCED",
        "callId": None,
        "messageId": None,
        "sessionId": None,
        "seq": None,
        "id": "p",
        "createdAt": block.told["createdAt"],
    }


def test_deleted_session_takes_what_its_events_said_with_it(client: httpx.Client) -> None:
    call_tool(client, "c", "secret")
    append(client, "t", content="stays")
    put(client, content="x", session_id="s")
    deleted = client.delete("/api/sessions/s").json()["deleted"]
    kept, deletion = log_of(client)
    assert (kept.id, kept.event, kept.told["sessionId"]) == ("2", "message:created", "t")
    assert (deletion.id, checked(deletion).event, deletion.told) == (
        "4",
        "session:deleted",
        {
            "deleted": deleted,
            "sessionId": "s",
            "seq": 3,
            "id": "s",
            "createdAt": deletion.told["createdAt"],
        },
    )


def test_imported_session_is_told_as_a_whole(client: httpx.Client, service: LiveService) -> None:
    with service.client() as source:
        make_small_session(source)
        bundle = export(source)
    created = take_in(client, bundle)
    record = created.json()
    block = only(log_of(client))
    kinds = ("toolResults", "pageFaults", "messages", "interactions", "answers")
    assert (block.event, block.told) == (
        "session:imported",
        {
            "imported": {kind: record["counts"][kind] for kind in kinds},
            "sessionId": SESSION,
            "seq": record["lastSeq"],
            "id": SESSION,
            "createdAt": block.told["createdAt"],
        },
    )
    assert take_in(client, bundle).status_code in (200, 409)
    assert names(log_of(client, after=2)) == []


def everything(client: httpx.Client) -> list[str]:
    """One write of each kind; returns the names of their events."""
    call_tool(client, "c", WITH_PICTURE)
    append(client, content="x")
    answer(client, ask(client)["id"])
    put(client, content="x", session_id="s")
    put(client, content="y", session_id="s")
    fault(client, session_id="s")
    fault(client)
    client.delete("/api/pages/p")
    return [
        "llmservice:toolResult",
        "message:created",
        "interaction:created",
        "interaction:answered",
        "page:created",
        "page:updated",
        "page:faulted",
        "page:faulted",
        "page:deleted",
    ]


def test_what_is_sent_again_is_told_once(client: httpx.Client) -> None:
    asked = ask(client)
    writes: list[tuple[str, str, dict[str, Any]]] = [
        ("POST", "/api/tool-results", {"toolName": "t", "toolCallId": "c", "result": 1}),
        ("POST", MESSAGES, {"role": "user", "content": "x"}),
        ("POST", MESSAGES, {"role": "tool", "tool_call_id": "m", "content": "x"}),
        ("POST", "/api/sessions/s/interactions", {"input": "x"}),
        ("PUT", f"/api/sessions/s/interactions/{asked['id']}/output", ANSWER),
        ("POST", "/api/pages", {"content": "x"}),
        ("PUT", "/api/pages/p", {"content": "x"}),
        ("PATCH", "/api/pages/p", {"hint": "x"}),
        ("PUT", "/api/pages/p/representations/2", {"content": "y"}),
        ("POST", "/api/pages/p/fault", {"target_level": 0, "session_id": "s", "tool_call_id": "f"}),
    ]
    for number, (method, path, body) in enumerate(writes):
        key = {"Idempotency-Key": f"k{number}"}
        answers = [client.request(method, path, json=body, headers=key) for _ in range(2)]
        assert all(item.is_success for item in answers), (path, [part.text for part in answers])
    assert names(log_of(client)) == [
        "interaction:created",
        "llmservice:toolResult",
        "message:created",
        "message:created",
        "interaction:created",
        "interaction:answered",
        "page:created",
        "page:created",
        "page:updated",
        "page:updated",
        "page:faulted",
    ]


def test_refused_write_is_not_told(client: httpx.Client) -> None:
    record = call_tool(client, "c")
    asked = ask(client)
    answer(client, asked["id"])
    put(client, content="x", session_id="s")
    before = client.get("/api/sessions/s").json()["lastSeq"]
    other = {"role": "assistant", "content": "Eleven."}
    call = {"toolName": "t", "sessionId": "s"}
    refused = [
        client.post("/api/tool-results", json={**call, "toolCallId": "c", "result": "else"}),
        client.post("/api/tool-results", json={**call, "toolCallId": "d"}),
        append(client, role="nobody"),
        client.post("/api/sessions/s/interactions", json={"input": 1}),
        answer(client, asked["id"], other),
        client.put("/api/pages/p", json={"content": "x"}, headers={"If-None-Match": "*"}),
        client.put("/api/pages/p", json={"content": 1}),
        client.patch("/api/pages/p", json={"hint": "y"}, headers={"If-Match": '"x"'}),
        client.post("/api/pages/bulk", json={"pages": [{"content": "x"}, {"page_id": "p"}]}),
        client.delete("/api/pages/p", headers={"If-Match": '"x"'}),
        client.delete("/api/pages/absent"),
        client.post("/api/pages/absent/fault", json={"target_level": 0}),
        client.delete("/api/sessions/absent"),
    ]
    assert [str(item.request.url) for item in refused if item.is_success] == []
    assert len(log_of(client)) == 4
    assert client.get("/api/sessions/s").json()["lastSeq"] == before == record["seq"] + 3


def test_change_that_changes_nothing_is_not_told(client: httpx.Client) -> None:
    put(client, content="x", hint="y", session_id="s")
    client.put("/api/sessions/s")
    client.patch("/api/pages/p", json={"hint": "y"})
    client.patch("/api/pages/p", json={})
    put(client, content="x", hint="y", session_id="s")
    assert names(log_of(client)) == ["page:created"]
    assert client.get("/api/sessions/s").json()["lastSeq"] == 1


@pytest.mark.requirement("002-subscribers-get-the-record-only")
def test_replay_is_what_listeners_saw_byte_for_byte(client: httpx.Client) -> None:
    with listening(client) as of_project, listening(client, "/api/sessions/s/events") as of_session:
        expected = everything(client)
        live = of_project.some(9)
        live_of_session = of_session.some(8)
    assert names(live) == expected
    assert [checked(block).id for block in live] == [str(number) for number in range(1, 10)]
    assert heard(client, count=9) == live
    assert heard(client, "/api/sessions/s/events", count=8) == live_of_session
    assert live_of_session == [
        Block(str(block.told["seq"]), block.event, block.data)
        for block in live
        if block.told["sessionId"] == "s"
    ]
    assert [block.id for block in live_of_session] == [str(number) for number in range(1, 9)]
