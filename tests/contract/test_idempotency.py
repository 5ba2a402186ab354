"""`Idempotency-Key` over HTTP, on both engines: a retry outside any session is safe."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
import anyio.to_thread
import httpx
import pytest

from app.errors import ConflictError
from app.models.identity import new_id, utc_now
from app.services.requests.idempotency import Idempotency, IdempotentCall
from app.services.requests.request_identity import RequestIdentity
from app.services.requests.session_keys import CALL_ROUTE, key_in_session
from app.services.tool_results.tool_results import IDEMPOTENT_ROUTE
from app.stores.records.idempotency import IdempotencyRecords
from app.stores.records.records import Records
from app.stores.records.sessions import SessionRecords
from app.stores.records.unit_of_work import UnitOfWork
from app.wiring.stores import open_database
from pagefault_dialects.streams.json_digests import json_digest
from tests.kit.servers import LiveService

ROUTE = "/api/tool-results"
JSON = {"Content-Type": "application/json"}


def call(result: object = "done", **members: object) -> dict[str, object]:
    return {"toolName": "camera", "toolCallId": "call-1", "result": result, **members}


def test_idempotency_key_replays_the_answer(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k-1"}
    first, second = (client.post(ROUTE, json=call(), headers=headers) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 200)
    assert second.content == first.content


def test_key_of_a_call_its_session_has_answered_is_answered(client: httpx.Client) -> None:
    body = call(sessionId="s")
    answers = [
        client.post(ROUTE, json=body, headers={"Idempotency-Key": key})
        for key in ("first", "second", "second")
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 200]
    assert len({answer.content for answer in answers}) == 1


def test_idempotency_key_with_another_body_is_refused(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k-1"}
    client.post(ROUTE, json=call("one"), headers=headers)
    other = client.post(ROUTE, json=call("two"), headers=headers)
    assert (other.status_code, other.json()["code"]) == (422, "idempotency-key-reused")
    assert len(client.get(ROUTE).json()["items"]) == 1


def test_same_json_in_another_spelling_is_the_same_request(client: httpx.Client) -> None:
    result = {"text": "\N{SNOWMAN} a/b", "size": 1.0, "of": 9007199254740993}
    as_sent = json.dumps(call(result), ensure_ascii=False).encode()
    spelled = (
        b'{"toolCallId" : "c\\u0061ll-1",\n "result":{"of":9007199254740993,"size":1e0,'
        b'"text":"\\u2603 a\\/b"},"toolName":"camera"}\n'
    )
    for members, headers in ((b"", {"Idempotency-Key": "k"}), (b'"sessionId":"s",', {})):
        bodies = [b"{" + members + body[1:] for body in (as_sent, spelled, as_sent + b" ")]
        answers = [client.post(ROUTE, content=body, headers={**JSON, **headers}) for body in bodies]
        assert [answer.status_code for answer in answers] == [201, 200, 200]
        assert len({answer.content for answer in answers}) == 1
        other = client.post(
            ROUTE, content=bodies[0].replace(b"0993", b"0992"), headers={**JSON, **headers}
        )
        assert other.status_code == (422 if headers else 409)


def test_conflict_of_calls_says_what_is_compared_and_where_tools_differ(
    client: httpx.Client,
) -> None:
    client.post(ROUTE, json=call(sessionId="s"))
    same_tool = client.post(ROUTE, json=call("other", sessionId="s")).json()
    assert "key order, white space and escapes make no difference" in same_tool["detail"]
    assert "errors" not in same_tool
    other_tool = client.post(ROUTE, json={**call(sessionId="s"), "toolName": "eye"}).json()
    assert [fault["pointer"] for fault in other_tool["errors"]] == ["/toolName"]
    assert "`toolName` differs" in other_tool["detail"]


def test_idempotency_key_of_another_project_is_another_key(
    client: httpx.Client, service: LiveService
) -> None:
    headers = {"Idempotency-Key": "shared"}
    with service.client() as other:
        answers = [
            client.post(ROUTE, json=call("one"), headers=headers),
            other.post(ROUTE, json=call("two"), headers=headers),
        ]
    assert [answer.status_code for answer in answers] == [201, 201]


@asynccontextmanager
async def opened_records(service: LiveService) -> AsyncIterator[Records]:
    records = Records(open_database(service.settings))
    try:
        yield records
    finally:
        await records.close()


def leave_claim(service: LiveService, left: IdempotentCall, age: timedelta) -> None:
    """Leave a claim as a request does that is in flight, or whose process was killed."""

    async def claim() -> None:
        digest = left.identity.digest
        async with opened_records(service) as records:
            await records.write(
                left.project_id,
                lambda unit: unit[IdempotencyRecords].claim(
                    left.route, left.key, digest, utc_now() - age, claim_id=left.claim_id
                ),
            )

    anyio.run(claim)


@pytest.mark.parametrize(
    ("age", "status"), [(timedelta(0), 409), (timedelta(minutes=16), 201)], ids=["live", "dead"]
)
def test_key_in_flight_is_refused_until_its_request_is_surely_dead(
    service: LiveService, age: timedelta, status: int
) -> None:
    project, body = f"in-flight-{status}", json.dumps(call()).encode()
    with service.client(service.new_key(project)) as client:
        identity = RequestIdentity(hashlib.sha256(body).hexdigest())
        leave_claim(service, IdempotentCall(project, IDEMPOTENT_ROUTE, "k", identity), age)
        answer = client.post(ROUTE, content=body, headers={**JSON, "Idempotency-Key": "k"})
    assert (answer.status_code, answer.json().get("code")) == (
        status,
        "request-in-flight" if status == 409 else None,
    )


def test_tool_call_that_is_being_run_is_told_so_without_a_word_of_keys(
    service: LiveService,
) -> None:
    identity = RequestIdentity(json_digest(["list_media", {}]))
    left = IdempotentCall("call-in-flight", CALL_ROUTE, key_in_session("s", "c"), identity)
    with service.client(service.new_key(left.project_id)) as client:
        leave_claim(service, left, timedelta(0))
        sent = {"target": "mcp", "id": "c", "name": "list_media", "arguments": "{}"}
        problem = client.post("/api/sessions/s/tool-calls", json=sent).json()
    assert problem.pop("requestId")
    assert problem == {
        "type": "/docs/errors#conflict",
        "title": "The request contradicts what is stored",
        "status": 409,
        "detail": "The same call is still being run. Send it again in a moment for its answer.",
        "instance": "/api/sessions/s/tool-calls",
        "code": "request-in-flight",
    }


async def answer_slowly(
    service: LiveService, call: IdempotentCall, meanwhile: Callable[[], object]
) -> None:
    """Do as a request that has held its key for 16 minutes when it comes to its commit."""
    async with opened_records(service) as records:
        idempotency = Idempotency(records)

        def write(unit: UnitOfWork) -> None:
            unit[SessionRecords].ensure("of-the-slow-one", utc_now())
            idempotency.record_answer(unit, call, new_id())

        async with idempotency.claim(call, utc_now() - timedelta(minutes=16)):
            await anyio.to_thread.run_sync(meanwhile)
            await records.write(call.project_id, write)


@pytest.mark.promise(
    "durability.md#requests-break-off",
    "A request whose `Idempotency-Key` was taken over because it was slow stores nothing",
    kept_by="app/services/requests/idempotency.py",
    tried="16 minutes by the time of its claim, both engines",
)
def test_slow_request_whose_key_was_taken_over_stores_nothing(service: LiveService) -> None:
    body = json.dumps(call()).encode()
    identity = RequestIdentity(hashlib.sha256(body).hexdigest())
    slow = IdempotentCall("taken-over", IDEMPOTENT_ROUTE, "k", identity)
    with service.client(service.new_key(slow.project_id)) as client:
        answers: list[httpx.Response] = []

        def send() -> None:
            headers = {**JSON, "Idempotency-Key": slow.key}
            answers.append(client.post(ROUTE, content=body, headers=headers))

        with pytest.raises(ConflictError) as refused:
            anyio.run(answer_slowly, service, slow, send)
        assert refused.value.problem_code == "request-superseded"
        assert client.get("/api/sessions").json()["items"] == []
        # Nor has the slow one freed the key when it failed.
        send()
        assert [answer.status_code for answer in answers] == [201, 200]
        assert answers[0].content == answers[1].content


def test_failed_request_frees_its_idempotency_key(client: httpx.Client) -> None:
    headers = {"Idempotency-Key": "k-1"}
    client.post(ROUTE, json=call("one", sessionId="s"))
    refused = client.post(ROUTE, json=call("two", sessionId="s"), headers=headers)
    again = client.post(ROUTE, json=call("three", sessionId="t"), headers=headers)
    assert (refused.status_code, again.status_code) == (409, 201)
