"""Interactions that mean harm, or too much."""

import json

import httpx
import pytest

from app.models.limits import Limits
from tests.contract.page_requests import outcome
from tests.contract.session_requests import ANSWER, INTERACTIONS, JSON, answer, ask, rich, upload
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

ROUTE = INTERACTIONS
SMALL_BYTES = 4_000


SMALL_LIMITS = Limits(message_bytes=SMALL_BYTES, media_per_result=3, json_nodes=200)
"""A service with limits that are quickly reached."""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "invalid-json")),
        (b"{", (400, "invalid-json")),
        (b"\xff", (400, "invalid-json")),
        (b'{"input":NaN}', (400, "invalid-json")),
        (b'{"input":{"x":1e999}}', (400, "invalid-json")),
        (b"[]", (422, "invalid-payload")),
        (b"null", (422, "invalid-payload")),
        (b"{}", (422, "invalid-payload")),
        (b'{"input":null}', (422, "invalid-payload")),
        (b'{"input":"x","id":"y"}', (422, "invalid-payload")),
        (b'{"input":"x","input_kind":["text"]}', (422, "invalid-payload")),
        (b'{"input":"x","input_kind":{"a":1}}', (422, "invalid-payload")),
        (b'{"input":"x","asserted_kind":"text"}', (422, "invalid-payload")),
        (b'{"input":"x","timestamp":1%s}' % (b"0" * 4_000), (422, "invalid-payload")),
        (b'{"input":"x","timestamp":1%s}' % (b"0" * 400), (422, "invalid-payload")),
        (b'{"input":"x","timestamp":-1%s}' % (b"0" * 5_000), (422, "invalid-payload")),
        (b'{"input":"x","timestamp":"\\ud800"}', (422, "invalid-payload")),
        (b'{"input":%s1%s}' % (b"[" * 900, b"]" * 900), (422, "invalid-payload")),
        (b'{"input":{"x":%s1%s}}' % (b"[" * 2_000, b"]" * 2_000), (413, "json-too-deep")),
        (b'{"input":{"x":[%s0]}}' % (b"0," * 250_000), (413, "json-too-large")),
    ],
    ids=lambda value: str(value)[:40],
)
def test_hostile_body_is_refused_and_makes_no_session(
    client: httpx.Client, body: bytes, expected: tuple[int, str]
) -> None:
    assert outcome(client.post(ROUTE, content=body, headers=JSON)) == expected
    assert client.get("/api/sessions/s").status_code == 404


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        (b'{"input":"a\\ud800b"}', "a\ufffdb"),
        (b'{"input":{"a\\ud800":"\\udc00"}}', {"a\ufffd": "\ufffd"}),
        (b'{"input":{"n":1%s}}' % (b"0" * 4_500), None),
        (b'{"input":"\\u0000"}', "\0"),
        (b'{"input":{"a":1,"a":2}}', {"a": 2}),
    ],
    ids=lambda value: str(value)[:40],
)
def test_odd_input_is_kept_as_well_as_it_can_be(
    client: httpx.Client, body: bytes, shown: object
) -> None:
    created = client.post(ROUTE, content=body, headers=JSON)
    assert created.status_code == 201, created.text[:500]
    if shown is None:
        assert b"1" + b"0" * 4_500 in created.content
    else:
        assert created.json()["interaction"]["input"] == shown
    assert client.get(created.headers["location"]).content == created.content


@pytest.mark.engines("embedded", "server")
def test_interaction_above_a_limit_leaves_nothing(small_service: LiveService) -> None:
    with small_service.client() as client:
        uris = [upload(client, bytes([number]))["uri"] for number in range(4)]
        long = "x" * SMALL_BYTES
        refused = [
            client.post(ROUTE, json={"input": long}),
            client.post(ROUTE, json={"input": rich(*uris)}),
            client.post(ROUTE, json={"input": {"x": [1] * 200}}),
        ]
        assert [outcome(item)[0] for item in refused] == [413] * 3
        assert client.get("/api/sessions/s").status_code == 404
        record = ask(client, rich(*uris[:3]))
        assert outcome(answer(client, record["id"], {**ANSWER, "content": long}))[0] == 413
        assert answer(client, record["id"]).status_code == 200


def test_body_that_is_not_said_to_be_json_is_refused(client: httpx.Client) -> None:
    body = json.dumps({"input": "x"}).encode()
    refused = client.post(ROUTE, content=body, headers={"Content-Type": "text/plain"})
    assert outcome(refused)[0] == 415
    record = ask(client)
    output = json.dumps(ANSWER).encode()
    path = f"{ROUTE}/{record['id']}/output"
    assert outcome(client.put(path, content=output, headers={"Content-Type": "text/plain"})) == (
        415,
        "unsupported-media-type",
    )


@pytest.mark.parametrize("session", ["a" * 129, "-a", "%00", "a%0A", "a%20b", "é"])
def test_name_no_session_can_have_is_refused(client: httpx.Client, session: str) -> None:
    path = f"/api/sessions/{session}/interactions"
    assert client.post(path, json={"input": "x"}).status_code in (404, 422)
    assert client.get(path).status_code in (404, 422)
