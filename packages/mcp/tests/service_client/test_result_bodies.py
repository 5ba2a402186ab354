"""A stored result has all members of the server's answer, and the name of the server."""

import json

import pytest

from pagefault_mcp.messages.lines import Line
from pagefault_mcp.messages.request_tracker import PendingCall
from pagefault_mcp.service_client.service_exchange import result_body

pytestmark = pytest.mark.anyio

SERVER = {"pagefault/server": "files"}
RESULTS: list[tuple[object, object]] = [
    ({"content": []}, {"_meta": SERVER, "content": []}),
    ({"content": [], "_meta": {}}, {"content": [], "_meta": SERVER}),
    ({"_meta": {"a": [1]}, "content": []}, {"_meta": {**SERVER, "a": [1]}, "content": []}),
    ({"content": [], "_meta": None}, {"content": [], "_meta": None}),
    ({"content": [], "_meta": [1]}, {"content": [], "_meta": [1]}),
    ({"content": [], "meta": {"a": 1}}, {"content": [], "meta": {"a": 1}}),
    ({"a": 1}, {"a": 1}),
    ({}, {}),
    ([1], [1]),
    (None, None),
]


async def stored(result: object, server: str | None) -> object:
    """The result in the body of the request that stores it."""
    call = PendingCall("c", "t", {}, "{}", b"1", 1, {}, server=server)
    with Line() as line:
        line.add(json.dumps({"id": 1, "result": result}).encode())
        answer = line.members["result"]
        body = b"".join(
            [piece async for piece in result_body(call, "s", line, answer, success=True)]
        )
    value = json.loads(body)
    head = {"toolName": "t", "toolCallId": "c", "sessionId": "s", "success": True}
    assert {**value, "result": None} == {**head, "result": None}
    got: object = value["result"]
    return got


@pytest.mark.parametrize(("result", "expected"), RESULTS)
async def test_result_is_stored_with_its_server_where_it_has_room(
    result: object, expected: object
) -> None:
    assert await stored(result, "files") == expected
    assert await stored(result, None) == result
