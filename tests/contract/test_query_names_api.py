"""Unknown query parameters are refused, with the most similar name."""

import re

import httpx
import pytest

from tests.kit.described_api import api_document
from tests.kit.servers import LiveService

pytestmark = pytest.mark.engines("embedded")

_METHODS = {"get", "head", "post", "put", "patch", "delete"}
OPERATIONS = sorted(
    (method.upper(), path)
    for path, item in api_document()["paths"].items()
    for method in item.keys() & _METHODS
    if path.startswith("/api/")
)
JUDGED = [operation for operation in OPERATIONS if not operation[1].startswith("/api/uploads")]


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["code"]


def test_every_route_of_the_api_refuses_what_it_does_not_take(client: httpx.Client) -> None:
    for method, template in JUDGED:
        path = re.sub(r"\{[^}]*\}", "x", template)
        answer = client.request(method, path, params={"no-such-name": "1"})
        assert answer.status_code == 422, (method, template)
        assert method == "HEAD" or answer.json()["code"] == "unknown-parameter", (method, template)
    assert client.get("/api/sessions").json()["items"] == []


def test_misspelt_filter_does_not_give_what_was_not_asked_for(client: httpx.Client) -> None:
    call = {"toolName": "t", "toolCallId": "c", "sessionId": "one", "result": "of one"}
    assert client.post("/api/tool-results", json=call).status_code == 201
    refused = client.get("/api/tool-results?session_id=two")
    assert code(refused) == (422, "unknown-parameter")
    (fault,) = refused.json()["errors"]
    assert fault["pointer"] == "/query/session_id"
    assert "did you mean `sessionId`?" in fault["detail"]
    assert client.get("/api/tool-results?sessionId=two").json()["items"] == []
    twice = client.get("/api/tool-results?sessionId=one&sessionId=two")
    assert code(twice) == (422, "unknown-parameter")


def test_who_may_not_ask_is_told_that_first(service: LiveService) -> None:
    with service.client("none") as anyone:
        assert code(anyone.get("/api/tool-results?session_id=a")) == (401, "unauthorized")
        assert code(anyone.get("/api/sessions?token=a.b")) == (401, "unauthorized")


@pytest.mark.parametrize(
    "path", ["/healthz?_=1", "/docs?a=1", "/openapi.json?v=2", "/?session=s", "/metrics?a=1"]
)
def test_what_is_not_of_the_api_takes_any_query(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code in (200, 503)


def test_uploads_and_preflights_take_any_query(client: httpx.Client) -> None:
    answer = client.request("OPTIONS", "/api/uploads?a=1", headers={"Tus-Resumable": "1.0.0"})
    assert answer.status_code == 204
    assert client.options("/api/tool-results?a=1").status_code == 405
