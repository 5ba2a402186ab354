"""A simulated later version of the service, with an additional member in each object."""

import json
import re
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.kit.described_api import api_document

MEMBER = "addedLater"
_ADDED = {"since": "a later version"}


def later_version(app: ASGIApp) -> ASGIApp:
    """Return an application that adds an undocumented member to each object of JSON answers."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        start: list[Message] = []
        body = bytearray()

        async def send_with_members(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_json(message):
                start.append(message)
            elif start and message["type"] == "http.response.body":
                body.extend(message.get("body", b""))
                if not message.get("more_body"):
                    await _send_all(start[0], _add_members(scope, start[0]["status"], body), send)
            else:
                await send(message)

        await app(scope, receive, send_with_members)

    return answer


def _is_json(start: Message) -> bool:
    return dict(start["headers"]).get(b"content-type") == b"application/json"


async def _send_all(start: Message, body: bytes, send: Send) -> None:
    headers = [header for header in start["headers"] if header[0] != b"content-length"]
    await send({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
    await send({"type": "http.response.body", "body": body})


def _add_members(scope: Scope, status: int, body: bytes | bytearray) -> bytes:
    for path, methods in api_document()["paths"].items():
        if re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", path), scope["path"]):
            operation = methods.get(scope["method"].lower(), {"responses": {}})
            content = operation["responses"].get(str(status), {}).get("content", {})
            if body and "application/json" in content:
                value = json.loads(body)
                _add_member(value, content["application/json"]["schema"])
                return json.dumps(value).encode()
    return bytes(body)


def _add_member(value: Any, schema: dict[str, Any]) -> None:  # noqa: ANN401 - a JSON value
    """Add a member to each object with a documented schema, at any depth."""
    while "$ref" in schema:
        schema = api_document()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    if "discriminator" in schema and isinstance(value, dict):
        discriminator = schema["discriminator"]
        _add_member(value, {"$ref": discriminator["mapping"][value[discriminator["propertyName"]]]})
    elif "anyOf" in schema and value is not None:
        _add_member(value, schema["anyOf"][0])
    elif isinstance(value, list):
        for item in value:
            _add_member(item, schema.get("items", {}))
    elif isinstance(value, dict) and "properties" in schema:
        for name, member in schema["properties"].items():
            if name in value:
                _add_member(value[name], member)
        value[MEMBER] = _ADDED
