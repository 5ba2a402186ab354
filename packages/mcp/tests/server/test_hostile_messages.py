"""Expensive messages of clients of MCP are refused early, or answered quickly."""

import json

import httpx
import pytest

from tests.kit.hostile_messages import HEADERS, MESSAGES, REQUESTS, call, message
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

MAX_ANSWER_BYTES = 4_096
LONGEST_TEXT = 4 * 1024 * 1024 - 1_000


@pytest.mark.promise(
    "security.md#memory-and-processor",
    "Messages of MCP are checked before the SDK reads them, and never repeated in errors",
    kept_by="packages/mcp/src/pagefault_mcp/messages/message_limits.py",
    tried="9 messages of up to 3.9 MB: each answer has less than 4 KiB",
)
@pytest.mark.parametrize("kind", MESSAGES)
def test_message_that_is_too_much_is_refused_in_a_few_words(
    client: httpx.Client, kind: str
) -> None:
    body, status, code = MESSAGES[kind]
    refused = client.post("/mcp", content=body, headers=HEADERS)
    error = refused.json()["error"]
    assert (refused.status_code, error["data"]["code"]) == (status, code)
    assert error["code"] == (-32700 if code == "invalid-json" else -32600)
    assert len(refused.content) < MAX_ANSWER_BYTES


@pytest.mark.parametrize("kind", REQUESTS)
def test_request_with_something_long_is_answered_in_a_few_words(
    client: httpx.Client, kind: str
) -> None:
    answered = client.post("/mcp?session=s", content=REQUESTS[kind], headers=HEADERS)
    assert answered.status_code < 500
    assert len(answered.content) < MAX_ANSWER_BYTES


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["x" * LONGEST_TEXT, "\N{CJK UNIFIED IDEOGRAPH-4E00}" * (LONGEST_TEXT // 6)],
    ids=["of a byte", "of escapes"],
)
def test_one_string_may_have_nearly_all_of_the_four_mebibytes(
    client: httpx.Client, text: str
) -> None:
    called = message("tools/call", name="save_page", arguments={"content": text})
    saved = client.post("/mcp?session=s", content=called, headers=HEADERS).json()["result"]
    answer = saved["content"][0]["text"]
    assert (saved["isError"], answer.partition(" page ")[0]) == (False, "Saved as")
    page_id = answer.split()[3].removesuffix(".")
    assert client.get(f"/api/pages/{page_id}").json()["content"] == text


def test_call_may_have_thousands_of_values(client: httpx.Client) -> None:
    content = json.dumps(list(range(9_000)))
    called = call(json.dumps({"content": content, "caption": "numbers"}).encode())
    wide = call(b'{"content":[%s]}' % b",".join([b"1"] * 19_000))
    answers = [
        client.post("/mcp?session=s", content=item, headers=HEADERS).json()["result"]
        for item in (called, wide)
    ]
    assert [answer["isError"] for answer in answers] == [False, True]
    assert "content has to be a text" in answers[1]["content"][0]["text"]


def test_long_uris_and_cursors_are_errors_of_the_protocol(service: LiveService) -> None:
    with service.client() as client:
        for kind in ("signs of a URI", "a query of a URI", "a cursor"):
            answered = client.post("/mcp", content=REQUESTS[kind], headers=HEADERS).json()
            assert answered["error"]["code"] == -32602
