"""Requests about pages, and what is read out of their answers, for the tests of the pages routes.

Every request here has to succeed; a test of a refusal sends its own.
"""

import base64
from collections.abc import Mapping
from typing import Any

import httpx

ROUTE = "/api/pages"
JSON = {"Content-Type": "application/json"}


def data_uri(data: bytes, mime_type: str) -> str:
    """A data URI as everybody writes it."""
    return f"data:{mime_type};base64,{base64.b64encode(data).decode()}"


def put(client: httpx.Client, page_id: str = "p", **members: object) -> dict[str, Any]:
    """Create or replace a page; returns it."""
    stored = client.put(f"{ROUTE}/{page_id}", json=members)
    assert stored.is_success, stored.text[:500]
    page: dict[str, Any] = stored.json()
    return page


def read(client: httpx.Client, path: str, **query: str | int) -> dict[str, Any]:
    """The JSON at a path below the route."""
    answer = client.get(f"{ROUTE}/{path}", params=query)
    assert answer.status_code == 200, answer.text[:500]
    found: dict[str, Any] = answer.json()
    return found


def supply(
    client: httpx.Client, level: object, content: object, headers: Mapping[str, str] | None = None
) -> httpx.Response:
    """Supply a level of page `p`; the answer may be a refusal."""
    path = f"{ROUTE}/p/representations/{level}"
    return client.put(path, json={"content": content}, headers=headers)


def level_of(client: httpx.Client, level: int) -> tuple[str, object]:
    """Return the origin and the content of a level of page `p`."""
    found = read(client, f"p/representations/{level}")
    return found["origin"], found["content"]


def found_by(client: httpx.Client, q: str) -> list[str]:
    """The ids of the pages that a search finds."""
    return [hit["page_id"] for hit in read(client, "search", q=q)["items"]]


def download(
    client: httpx.Client, page_id: str = "p", *, level: str | None = None, **headers: str
) -> httpx.Response:
    """A page as a file; a header `If-Range` is given as `If_Range`."""
    query = {} if level is None else {"level": level}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.get(f"{ROUTE}/{page_id}/download", params=query, headers=names)


def file_name(found: httpx.Response) -> str:
    """The name that a download is to be saved under."""
    assert found.status_code == 200, found.text[:500]
    kind, _, name = found.headers["content-disposition"].partition('; filename="')
    assert kind == "attachment"
    return str(name).removesuffix('"')


def resources(client: httpx.Client) -> list[Any]:
    """The newest resources of the project."""
    items: list[Any] = client.get("/api/resources").json()["items"]
    return items


def stored_bytes(client: httpx.Client, reference: str) -> bytes:
    """Return the bytes behind a `@blob:` reference."""
    answer = client.get(f"/api/resources/{reference.removeprefix('@blob:')}/content")
    assert answer.status_code == 200, answer.text[:500]
    return answer.content


def outcome(answer: httpx.Response) -> tuple[int, str]:
    """The status and the code of a problem."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text[:500]
    return answer.status_code, answer.json()["code"]


def pointers(answer: httpx.Response) -> list[str]:
    """Return the pointers at which a body was refused."""
    assert answer.status_code == 422, answer.text[:500]
    return [fault["pointer"] for fault in answer.json()["errors"]]
