"""Integers in bodies of requests are numbers: `true`, texts and fractions are refused by name."""

from typing import Any

import httpx
import pytest

from tests.contract.page_requests import put
from tests.contract.session_requests import append, upload

pytestmark = pytest.mark.engines("embedded")

TARGET = {"target": "openai-chat"}
RENDER = "/api/sessions/s/render"
MEMBERS = ["maxTokens", "maxBytes", "maxImages", "maxText", "maxImagePixels", "memoryTokens"]
REQUESTS: list[tuple[str, dict[str, Any], str]] = [
    ("/api/sessions/s/fork", {"as": "f"}, "/upTo"),
    (RENDER, TARGET, "/since"),
    (RENDER, TARGET, "/evictBatch"),
    *((RENDER, TARGET, f"/{member}") for member in MEMBERS),
    # Of a name or an object, the schema library names in the pointer which of both it read.
    (RENDER, TARGET, "/frontier/toolMedia"),
    ("/api/render", {**TARGET, "sessionId": "s"}, "/since"),
    ("/api/sessions/s/turns", {"entries": [{"message": {"role": "user"}}]}, "/expectedSeq"),
    ("/api/sessions/s/turns", {"entries": [{"message": {"role": "user"}}]}, "/render/since"),
    ("/api/sessions/s/tool-calls", {**TARGET, "id": "c", "name": "list_media"}, "/maxTokens"),
    ("/api/pages/p/fault", {}, "/offset"),
    ("/api/pages/p/fault", {}, "/max_chars"),
    ("/api/pages/p/fault", {}, "/target_level"),
]


def with_member(body: dict[str, Any], pointer: str, value: object) -> dict[str, Any]:
    """Return a body with a value at a pointer of one or two names."""
    outer, _, inner = pointer[1:].partition("/")
    if inner:
        more = TARGET if outer == "render" else {}
        return {**body, outer: {**more, inner: value}}
    return {**body, outer: value}


@pytest.mark.parametrize(("path", "body", "pointer"), REQUESTS)
@pytest.mark.parametrize("value", [True, False, "600", 1.5])
def test_what_is_no_integer_is_refused_where_it_stands(
    client: httpx.Client, path: str, body: dict[str, Any], pointer: str, value: object
) -> None:
    append(client, content="Hi.")
    put(client, modality="text", content="A page.")
    answer = client.post(path, json=with_member(body, pointer, value))
    assert answer.status_code == 422, answer.text
    pointers = [error["pointer"].replace("/Frontier", "") for error in answer.json()["errors"]]
    assert pointer in pointers
    assert client.get("/api/sessions/f").status_code == 404


@pytest.mark.parametrize("value", [True, "600", 1.5])
def test_how_long_a_link_is_good_for_is_an_integer(client: httpx.Client, value: object) -> None:
    uri = upload(client, b"words", filename="a.txt")["uri"]
    answer = client.post(f"/api/resources/{uri}/signed-url", json={"expiresInSeconds": value})
    assert answer.status_code == 422, answer.text
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/expiresInSeconds"]


def test_integers_are_taken_in_bodies_and_in_addresses(client: httpx.Client) -> None:
    append(client, content="Hi.")
    body = TARGET | dict.fromkeys(MEMBERS, 600) | {"since": 1, "evictBatch": 0}
    assert client.post(RENDER, json=body).status_code == 200
    assert client.get(RENDER, params={**TARGET, "since": "1"}).status_code == 200
    fork = client.post("/api/sessions/s/fork", json={"upTo": 1, "as": "f"})
    assert fork.status_code == 201, fork.text
