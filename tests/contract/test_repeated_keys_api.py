"""A key that a JSON object has more than once is a warning that names it."""

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
    assert [each["code"] for each in found] == ["repeated-key"] * 20 + ["more-warnings"]


def test_keys_that_are_there_once_are_no_warning(client: httpx.Client) -> None:
    assert warnings_of(client, f'{_HEAD}{{"a":{{"a":1}},"b":[{{"a":1}},{{"a":1}}]}}}}') == []
