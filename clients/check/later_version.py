"""The service as a later version may be: every object of a documented shape has a member more."""

import json
import re
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.kit.described_api import api_document

MEMBER = "addedLater"
_ADDED = {"since": "a later version"}


def later_version(app: ASGIApp) -> ASGIApp:
    """Return the application, whose JSON answers have members that no client knows yet."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        start: list[Message] = []
        body = bytearray()

        async def send_more(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_json(message):
                start.append(message)
            elif start and message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await _send_all(start[0], _with_more(scope, start[0]["status"], body), send)
            else:
                await send(message)

        await app(scope, receive, send_more)

    return answer


def _is_json(start: Message) -> bool:
    return dict(start["headers"]).get(b"content-type") == b"application/json"


async def _send_all(start: Message, body: bytes, send: Send) -> None:
    headers = [each for each in start["headers"] if each[0] != b"content-length"]
    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


def _with_more(scope: Scope, status: int, body: bytes | bytearray) -> bytes:
    for path, methods in api_document()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), scope["path"]):
            operation = methods.get(scope["method"].lower(), {"responses": {}})
            content = operation["responses"].get(str(status), {}).get("content", {})
            if body and "application/json" in content:
                value = json.loads(body)
                _add(value, content["application/json"]["schema"])
                return json.dumps(value).encode()
    return bytes(body)


def _add(value: Any, schema: dict[str, Any]) -> None:  # noqa: ANN401 - a JSON value
    """Add a member to each object whose shape is documented, at any depth."""
    while "$ref" in schema:
        schema = api_document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "discriminator" in schema and isinstance(value, dict):
        told = schema["discriminator"]
        _add(value, {"$ref": told["mapping"][value[told["propertyName"]]]})
    elif "anyOf" in schema and value is not None:
        _add(value, schema["anyOf"][0])
    elif isinstance(value, list):
        for each in value:
            _add(each, schema.get("items", {}))
    elif isinstance(value, dict) and "properties" in schema:
        for name, member in schema["properties"].items():
            if name in value:
                _add(value[name], member)
        value[MEMBER] = _ADDED
