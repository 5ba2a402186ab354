"""A stored result has all members of the server's answer, and the name of the server."""

import io
import json
from collections.abc import Sequence

import pytest

from pagefault_mcp.messages.lines import Line
from pagefault_mcp.messages.request_tracker import PendingCall
from pagefault_mcp.service_client.collected_files import CollectedFile
from pagefault_mcp.service_client.service_exchange import encode_result_body, has_content_list

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


async def stored(
    result: object, server: str | None, files: Sequence[CollectedFile] = (), indent: int = 0
) -> object:
    """The result in the body of the request that stores it."""
    call = PendingCall("c", "t", {}, "{}", b"1", 1, {}, server=server)
    with Line() as line:
        line.add(json.dumps({"id": 1, "result": result}, indent=indent or None).encode())
        answer = line.members["result"]
        body = b"".join(
            [
                piece
                async for piece in encode_result_body(
                    call, "s", line, answer, success=True, files=files
                )
            ]
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


WITH_CONTENT: list[list[object]] = [[], [{"type": "text", "text": "]"}], [[]], ["["]]


@pytest.mark.parametrize("content", WITH_CONTENT)
@pytest.mark.parametrize("indent", [0, 2])
@pytest.mark.parametrize("server", ["files", None])
async def test_files_are_the_last_blocks_of_the_content(
    content: list[object], indent: int, server: str | None
) -> None:
    files = [CollectedFile(name, io.BytesIO(b"a" * 200_000), 200_000) for name in ("a.md", "b")]
    result = {"structuredContent": [1], "content": content, "isError": False}
    body = await stored(result, server, files, indent)
    blocks: list[object] = [json.loads(b"".join(file.encode_block())) for file in files]
    meta = {} if server is None else {"_meta": SERVER}
    assert body == {**result, "content": [*content, *blocks], **meta}


@pytest.mark.parametrize("result", [{}, {"content": "text"}, {"content": {"a": []}}, [], None])
async def test_result_without_a_list_of_content_takes_no_files(result: object) -> None:
    with Line() as line:
        line.add(json.dumps({"id": 1, "result": result}).encode())
        assert not has_content_list(line, line.members["result"])
