"""Warnings about the JSON of requests: repeated keys, and halves of surrogate pairs."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.engines("embedded")

_HEAD = '{"toolName":"look","toolCallId":"c1","result":'


def warnings_of(client: httpx.Client, body: str) -> list[dict[str, str]]:
    stored = client.post(
        "/api/tool-results", content=body, headers={"Content-Type": "application/json"}
    )
    assert stored.status_code == 201, stored.text[:500]
    found: list[dict[str, str]] = stored.json()["sanitized"]["meta"].get("warnings", [])
    return found


@pytest.mark.parametrize(
    ("result", "pointer", "key"),
    [
        ('{"rows":1,"rows":2}', "", "rows"),
        ('{"a":[{"b":1,"c":2,"b":3}]}', "/a/0", "b"),
        ('{"content":[{"type":"text","text":"a","text":"b"}]}', "/content/0", "text"),
        ('{"a/b~":{"":1,"":2}}', "/a~1b~0", ""),
    ],
)
def test_a_repeated_key_of_a_result_is_a_warning(
    client: httpx.Client, result: str, pointer: str, key: str
) -> None:
    assert warnings_of(client, f"{_HEAD}{result}}}") == [
        {
            "code": "repeated-key",
            "pointer": pointer,
            "detail": f'The object has the key "{key}" more than once; the last is read.',
        }
    ]


@pytest.mark.slow
def test_a_repeated_key_of_a_large_result_is_a_warning(client: httpx.Client) -> None:
    rows = ",".join(f'{{"id":{number},"name":"row {number}"}}' for number in range(60_000))
    result = f'{{"rows":[{rows}],"note":1,"note":2}}'
    (warning,) = warnings_of(client, f"{_HEAD}{result}}}")
    assert (warning["code"], warning["pointer"]) == ("repeated-key", "")


def test_a_repeated_key_of_the_request_is_a_warning(client: httpx.Client) -> None:
    body = '{"toolName":"a","toolName":"look","toolCallId":"c1","result":1}'
    assert warnings_of(client, body) == [
        {
            "code": "repeated-key",
            "pointer": "",
            "detail": 'The request has the key "toolName" more than once; the last is read.',
        }
    ]


def test_many_repeated_keys_are_counted(client: httpx.Client) -> None:
    result = ",".join(['{"a":1,"a":2}'] * 1_000)
    found = warnings_of(client, f"{_HEAD}[{result}]}}")
    assert [item["code"] for item in found] == ["repeated-key"] * 20 + ["more-warnings"]


def test_keys_that_are_there_once_are_no_warning(client: httpx.Client) -> None:
    assert warnings_of(client, f'{_HEAD}{{"a":{{"a":1}},"b":[{{"a":1}},{{"a":1}}]}}}}') == []


def warning(pointer: str, key: str) -> dict[str, str]:
    where = "The object" if pointer else "The request"
    detail = f'{where} has the key "{key}" more than once; the last is read.'
    return {"code": "repeated-key", "pointer": pointer, "detail": detail}


def send(client: httpx.Client, method: str, path: str, body: str) -> dict[str, Any]:
    headers = {"Content-Type": "application/json"}
    answer = client.request(method, f"/api/sessions/s/{path}", content=body, headers=headers)
    assert answer.is_success, answer.text[:500]
    read: dict[str, Any] = answer.json()
    return read


@pytest.mark.parametrize(
    ("message", "pointer", "key"),
    [
        ('{"role":"user","content":"a","content":"b"}', "", "content"),
        ('{"role":"user","content":[{"type":"text","text":"a","text":"b"}]}', "/content/0", "text"),
        ('{"role":"user","content":"b","id":"m","x":{"y":1,"y":2}}', "/x", "y"),
    ],
)
def test_a_repeated_key_of_a_message_is_a_warning(
    client: httpx.Client, message: str, pointer: str, key: str
) -> None:
    appended = send(client, "POST", "messages", message)
    stored = client.get(f"/api/sessions/s/messages/{appended['seq']}").json()
    assert appended == {**stored, "warnings": [warning(pointer, key)]}
    turn = send(client, "POST", "turns", f'{{"entries":[{{"message":{message}}}]}}')
    assert turn["warnings"] == [warning(f"/entries/0/message{pointer}", key)]
    put = send(client, "PUT", "history?onDivergence=fork&as=f", f'{{"messages":[{message}]}}')
    assert put["warnings"] == [warning(f"/messages/0{pointer}", key)]


def test_a_message_that_is_sent_again_has_its_warnings_again(client: httpx.Client) -> None:
    body = '{"role":"tool","tool_call_id":"c","content":"a","content":"b"}'
    first, again = (send(client, "POST", "messages", body) for _ in range(2))
    assert first == again
    assert first["warnings"] == [warning("", "content")]


def test_keys_that_a_message_has_once_are_no_warning(client: httpx.Client) -> None:
    message = '{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'
    assert "warnings" not in send(client, "POST", "messages", message)
    assert "warnings" not in send(
        client, "POST", "turns", f'{{"entries":[{{"message":{message}}}]}}'
    )
    put = send(client, "PUT", "history?onDivergence=fork&as=f", f"[{message}]")
    assert "warnings" not in put


def test_a_key_with_half_a_surrogate_is_named(client: httpx.Client) -> None:
    halved = '{"a\\ud800":{"b":1,"b":2}}'
    assert warnings_of(client, f"{_HEAD}{halved}}}")[-1] == warning("/a\ufffd", "b")
    message = f'{{"role":"user","content":"c","x":{halved}}}'
    appended = send(client, "POST", "messages", message)
    assert appended["warnings"] == [warning("/x/a\ufffd", "b"), half("/x")]


def half(pointer: str) -> dict[str, str]:
    detail = (
        "The text holds half of a surrogate pair, which no UTF-8 text can; each stands as U+FFFD."
    )
    return {"code": "lone-surrogate", "pointer": pointer, "detail": detail}


@pytest.mark.parametrize(
    ("message", "pointer"),
    [
        ('{"role":"user","content":"text with \\ud83d half"}', "/content"),
        ('{"role":"user","content":[{"type":"text","text":"\\ude00"}]}', "/content/0/text"),
        ('{"role":"user","content":"a \\ud83d\\ude00","id":"m","x":{"y":["\\ud800z"]}}', "/x/y/0"),
        ('{"role":"user","content":"a","x":{"\\ud800":1}}', "/x"),
    ],
)
def test_a_message_that_is_stored_changed_says_where(
    client: httpx.Client, message: str, pointer: str
) -> None:
    appended = send(client, "POST", "messages", message)
    stored = client.get(f"/api/sessions/s/messages/{appended['seq']}").json()
    assert appended == {**stored, "warnings": [half(pointer)]}
    turn = send(client, "POST", "turns", f'{{"entries":[{{"message":{message}}}]}}')
    assert turn["warnings"] == [half(f"/entries/0/message{pointer}")]
    put = send(client, "PUT", "history?onDivergence=fork&as=f", f'{{"messages":[{message}]}}')
    assert put["warnings"] == [half(f"/messages/0{pointer}")]


@pytest.mark.parametrize(
    ("message", "place"),
    [
        ('{"role":"assistant","content":"a \\ud83d"}', "/callMessage/content"),
        (
            '{"type":"function_call","call_id":"c1","name":"look","arguments":"\\ude00"}',
            "/callMessage/arguments",
        ),
        ('{"role":"assistant","content":"a","x":{"\\ud800":1}}', "/callMessage/x"),
    ],
)
def test_half_a_surrogate_in_the_message_of_a_call_is_a_warning(
    client: httpx.Client, message: str, place: str
) -> None:
    body = f'{_HEAD}"\\ud83d\\ude00","sessionId":"s","callMessage":{message}}}'
    detail = f"{half('')['detail']} It is at {place} of the request."
    assert warnings_of(client, body) == [{**half(""), "detail": detail}]


def test_half_a_surrogate_in_the_name_of_a_tool_is_a_warning(client: httpx.Client) -> None:
    (found,) = warnings_of(client, '{"toolName":"a\\ud800","toolCallId":"c1","result":1}')
    assert found["detail"].endswith(" It is at /toolName of the request.")


def test_whole_surrogate_pairs_are_no_warning(client: httpx.Client) -> None:
    message = '{"role":"assistant","content":"a \\ud83d\\ude00"}'
    assert warnings_of(client, f'{_HEAD}1,"sessionId":"s","callMessage":{message}}}') == []
    assert "warnings" not in send(client, "POST", "messages", message)


def test_a_message_with_both_has_both_warnings(client: httpx.Client) -> None:
    message = '{"role":"user","content":"b \\ud800","x":[{"y":1,"y":2}]}'
    appended = send(client, "POST", "messages", message)
    assert appended["warnings"] == [warning("/x/0", "y"), half("/content")]


def test_many_halves_are_counted(client: httpx.Client) -> None:
    blocks = ",".join(['{"type":"text","text":"\\ud800"}'] * 30)
    appended = send(client, "POST", "messages", f'{{"role":"user","content":[{blocks}]}}')
    assert [item["code"] for item in appended["warnings"]] == ["lone-surrogate"] * 20 + [
        "more-warnings"
    ]
