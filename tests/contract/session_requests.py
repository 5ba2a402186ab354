"""Requests about sessions, and what is read out of their answers, for the tests of their routes.

Every request here has to succeed, but for `answer` and `append`; a test of a refusal sends its own.
"""

from typing import Any

import httpx

from pagefault_dialects.json.values import JsonValue

SESSION = "/api/sessions/s"
MESSAGES = f"{SESSION}/messages"
INTERACTIONS = f"{SESSION}/interactions"
JSON = {"Content-Type": "application/json"}
AT_TEN = "2023-10-27T10:00:00Z"
ANSWER = {"role": "assistant", "content": "Ten.", "timestamp": "2023-10-27T10:00:05Z"}


def upload(client: httpx.Client, content: bytes, **query: str) -> dict[str, Any]:
    """An uploaded file; returns its descriptor."""
    stored = client.post("/api/resources", content=content, params=query)
    assert stored.is_success, stored.text[:500]
    descriptor: dict[str, Any] = stored.json()
    descriptor.pop("createdAt")
    return descriptor


def rich(*ids: str) -> dict[str, Any]:
    """A rich input of one part with these files."""
    return {"parts": [{"text": "Look.", "attachments": [{"id": identifier} for identifier in ids]}]}


def ask(
    client: httpx.Client,
    given: object = "What is the time?",
    *,
    session_id: str = "s",
    **more: object,
) -> JsonValue:
    """Create an interaction; returns its record."""
    body = {"input": given, "timestamp": AT_TEN, **more}
    created = client.post(f"/api/sessions/{session_id}/interactions", json=body)
    assert created.status_code == 201, created.text[:500]
    return created.json()


def answer(client: httpx.Client, interaction_id: str, body: object = ANSWER) -> httpx.Response:
    """Answer an interaction; it may be refused."""
    return client.put(f"{INTERACTIONS}/{interaction_id}/output", json=body)


def append(client: httpx.Client, session_id: str = "s", **message: object) -> httpx.Response:
    """Append a message of the user, unless it says otherwise; it may be refused."""
    body = {"role": "user", **message}
    return client.post(f"/api/sessions/{session_id}/messages", json=body)


def call_tool(
    client: httpx.Client, call_id: str, result: object = "done", session_id: str | None = "s"
) -> JsonValue:
    """Store a tool result; returns its record."""
    body = {"toolName": "camera", "toolCallId": call_id, "result": result}
    if session_id is not None:
        body["sessionId"] = session_id
    stored = client.post("/api/tool-results", json=body)
    assert stored.status_code == 201, stored.text[:500]
    return stored.json()


def listed(client: httpx.Client, path: str) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    items: list[dict[str, Any]] = []
    while path:
        page = client.get(path)
        assert page.status_code == 200, page.text[:500]
        items += page.json()["items"]
        path = page.links.get("next", {}).get("url", "")
    return items


def entries(client: httpx.Client, session_id: str = "s") -> list[dict[str, Any]]:
    """The whole history of a session."""
    return listed(client, f"/api/sessions/{session_id}/messages?limit=200")


def comparable(answered: httpx.Response) -> tuple[int, bytes]:
    """All that an answer says but for what names the request."""
    request_id = answered.headers["x-request-id"].encode()
    return answered.status_code, answered.content.replace(request_id, b"")
