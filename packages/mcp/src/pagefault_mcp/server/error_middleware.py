"""A middleware that converts problem documents at `/mcp` into errors of JSON-RPC.

Clients of MCP do not read problem documents, so their users would see only that there was an error.
The problem document becomes the `data` of a JSON-RPC error. Status and headers stay the same.
"""

import json

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.wire.problem import PROBLEM_MEDIA_TYPE
from pagefault_dialects.errors import InvalidJsonError
from pagefault_mcp.messages.sessionless_requests import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR

MCP_PATH = "/mcp"

_PROBLEM_HEADER = (b"content-type", PROBLEM_MEDIA_TYPE.encode())
_REPLACED_HEADERS = (b"content-length", b"content-type")


class McpErrorMiddleware:
    """A middleware that converts problem documents into errors of JSON-RPC.

    It also changes the path `/mcp/` to `/mcp`, since hosts add the slash to URLs, and few of them
    repeat a `POST` after a redirect. It is the outermost middleware, so all others see only `/mcp`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection."""
        if scope["type"] != "http" or scope["path"].removesuffix("/") != MCP_PATH:
            await self._app(scope, receive, send)
            return
        scope = {**scope, "path": MCP_PATH, "raw_path": MCP_PATH.encode()}
        # The first message of a response with a problem document, and the body so far.
        problem_start: Message | None = None
        problem = b""

        async def translate(message: Message) -> None:
            nonlocal problem_start, problem
            if message["type"] == "http.response.start" and _PROBLEM_HEADER in message["headers"]:
                problem_start = message
            elif problem_start is None:
                await send(message)
            else:
                problem += message.get("body", b"")
                if not message.get("more_body"):
                    await _convert_problem(problem_start, problem)(scope, receive, send)

        await self._app(scope, receive, translate)


def _convert_problem(start: Message, body: bytes) -> JSONResponse:
    """Return the response with a problem document as one with an error of JSON-RPC.

    The id of the error is null, since the request may not have been parsed.

    Args:
        start: The ASGI message with status and headers.
        body: The problem document.
    """
    status, problem = start["status"], json.loads(body)
    code = INVALID_REQUEST if status < 500 else INTERNAL_ERROR
    if problem["code"] == InvalidJsonError.code:
        code = PARSE_ERROR
    error = {"code": code, "message": problem["detail"], "data": problem}
    response = JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, status)
    other_headers = [header for header in start["headers"] if header[0] not in _REPLACED_HEADERS]
    response.raw_headers.extend(other_headers)
    return response
