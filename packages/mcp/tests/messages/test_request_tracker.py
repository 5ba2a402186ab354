"""The proxy recognises calls and their answers among valid and invalid messages."""

import json
from collections.abc import Callable
from typing import TypeVar

import pytest

from pagefault_mcp.messages.argument_handles import FileArgument
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Line
from pagefault_mcp.messages.request_tracker import (
    CallOutcome,
    CallResponse,
    Deferral,
    RequestTracker,
)

Taken = TypeVar("Taken")
DEEP = b'{"items":' * 10_000 + b"{}" + b"}" * 10_000
BASE64 = b'{"properties":{"a":{"type":"string","contentEncoding":"base64"}}}'
ASKED = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
ODD_LISTS = {
    "numbers": (b'{"tools":[1,null,"a",[2],{"name":3},{"name":"t"}]}', {"t"}),
    "a number": (b'{"tools":1}', set()),
    "nothing": (b"7", set()),
    "10,000 levels": (
        b'{"tools":[{"name":"deep","inputSchema":%s},{"name":"t","inputSchema":%s}]}'
        % (DEEP, BASE64),
        {"deep", "t"},
    ),
}
ODD_CALLS = {
    "numbers that are none": (b'{"a":[1e999,NaN]}', None),
    "a number of 5,000 digits": (b'{"a":%s}' % (b"9" * 5_000), None),
    "10,000 levels": (DEEP, None),
    "no object": (b"[1]", [1]),
    "an empty list": (b"[]", []),
    "nothing": (b"null", {}),
    "half a character": (rb'{"a":"\ud800"}', {"a": "\ud800"}),
}


def with_line(take: Callable[[Line], Taken], text: bytes) -> Taken:
    """Call a function with the line of a message."""
    with Line() as line:
        line.add(text + b"\n")
        return take(line)


def passing() -> RequestTracker:
    """Nothing has been said yet, and nothing is warned of."""
    return RequestTracker({"save_page": "save_page"}, takes_paths=False, warn=pytest.fail)


@pytest.mark.parametrize("kind", ODD_LISTS)
def test_tools_are_known_beside_odd_ones_in_a_list_of(kind: str) -> None:
    result, names = ODD_LISTS[kind]
    requests = passing()
    with_line(requests.track, ASKED)
    answer = b'{"jsonrpc":"2.0","id":1,"result":%s}' % result
    assert with_line(requests.match_response, answer) == "tools/list"
    assert (requests.tool_names, requests.is_listed) == (names, True)


def test_places_of_a_tool_are_known_behind_a_schema_that_is_too_deep_to_read() -> None:
    requests = passing()
    with_line(requests.track, ASKED)
    with_line(requests.match_response, b'{"id":1,"result":%s}' % ODD_LISTS["10,000 levels"][0])
    assert requests.file_arguments == {"t": [FileArgument(("a",), "base64")]}


@pytest.mark.parametrize("kind", ODD_CALLS)
def test_call_is_noted_whatever_it_was_made_with(kind: str) -> None:
    written, arguments = ODD_CALLS[kind]
    text = b'{"id":"a","method":"tools/call","params":{"name":"t","arguments":%s,"_meta":[1]}}'
    call = with_line(passing().track, text % written)
    assert call is not None
    assert (call.arguments, call.request_id, call.protocol_meta) == (arguments, b'"a"', {})
    if arguments is None:
        assert call.arguments_json == written.decode()
    else:
        assert json.loads(call.arguments_json) == arguments


@pytest.mark.parametrize("revision", [b"[1]", b'{"a":1}', b"5", b"null"])
def test_revision_that_is_no_text_is_the_oldest(revision: bytes) -> None:
    requests = passing()
    with_line(requests.track, b'{"id":1,"method":"initialize","params":{"protocolVersion":[]}}')
    answer = b'{"id":1,"result":{"protocolVersion":%s,"serverInfo":{"name":["a"]}}}'
    assert with_line(requests.match_response, answer % revision) is None
    assert (requests.revision, requests.server) == ("2024-11-05", None)


def test_list_is_asked_for_once_and_where_it_matters_only() -> None:
    text = (
        b'{"id":1,"method":"tools/call","params":{"name":"%s","arguments":{"a":"%s"},"_meta":%s}}'
    )
    about = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    meta = json.dumps({**about, "progressToken": 1}).encode()
    requests = passing()
    calls = [
        with_line(requests.track, text % item)
        for item in (
            (b"t", b"", meta),
            (b"t", b"@blob:", meta),
            (b"save_page", b"", meta),
            # The server has not agreed on a revision.
            (b"save_page", b"", b"{}"),
        )
    ]
    assert [call and requests.needs_list(call, is_remote=False) for call in calls] == [
        False,
        True,
        True,
        False,
    ]
    # Headers to a server at an address may repeat arguments, which the list says.
    assert [call and requests.needs_list(call, is_remote=True) for call in calls] == [
        *(True, True, True, False)
    ]
    assert calls[2] is not None
    page = requests.request_list(calls[2], "next")
    request = json.loads(page.line)
    assert request == {
        "jsonrpc": "2.0",
        "id": request["id"],
        "method": "tools/list",
        "params": {"_meta": about, "cursor": "next"},
    }
    assert [call and requests.needs_list(call, is_remote=False) for call in calls] == [False] * 4
    error = json.dumps({"id": request["id"], "error": {"code": -32601, "message": "no"}}).encode()
    assert with_line(requests.match_response, error) is page
    assert (page.response_received.is_set(), page.cursor, requests.is_listed) == (True, None, False)
    changed = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
    assert with_line(requests.match_response, changed) is None
    assert [call and requests.needs_list(call, is_remote=False) for call in calls] == [
        False,
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("method", ["server/discover", "tools/list"])
def test_server_of_a_revision_without_a_handshake_says_its_name_in_meta(method: str) -> None:
    requests = passing()
    with_line(requests.track, b'{"id":1,"method":"%s"}' % method.encode())
    result = {"_meta": {"io.modelcontextprotocol/serverInfo": {"name": "files", "version": "1"}}}
    with_line(requests.match_response, json.dumps({"id": 1, "result": result}).encode())
    assert requests.server == "files"


def test_result_of_a_task_is_known_though_asking_for_it_was_cancelled() -> None:
    requests = passing()
    call = with_line(requests.track, b'{"id":1,"method":"tools/call","params":{"name":"t"}}')
    assert call is not None
    requests.defer(call, Deferral("long"))
    with_line(requests.track, b'{"id":2,"method":"tasks/result","params":{"taskId":"long"}}')
    cancelled = b'{"method":"notifications/cancelled","params":{"requestId":2}}'
    assert with_line(requests.track, cancelled) is None
    answer = CallResponse(call, CallOutcome(Span(17, 19), is_success=True))
    assert with_line(requests.match_response, b'{"id":2,"result":{}}') == answer
    assert with_line(requests.match_response, b'{"id":1,"result":{}}') is None


def test_of_cancelled_calls_only_the_last_ones_are_held() -> None:
    requests = passing()
    for number in range(60):
        request = b'{"method":"tools/call","id":%d,"params":{"name":"a"}}' % number
        call = with_line(requests.track, request)
        assert call is not None
        requests.start_call(call)
        cancelled = b'{"method":"notifications/cancelled","params":{"requestId":%d}}'
        with_line(requests.track, cancelled % number)
    answered = [with_line(requests.match_response, b'{"id":%d,"result":{}}' % n) for n in range(60)]
    assert [call is not None for call in answered] == [False] * 10 + [True] * 50
