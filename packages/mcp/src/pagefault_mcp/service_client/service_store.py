"""The proxy's HTTP client for the service, which stores and renders results of tools.

A result is sent to the service as the bytes of its JSON-RPC line, in pieces, so that a long result
is never in memory as a whole.
"""

import base64
import json
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import httpx

from pagefault_dialects.json.values import JsonValue, json_bytes, json_text
from pagefault_dialects.model.render_options import McpRevision, RenderOptions, find_changed_options
from pagefault_mcp.errors import describe_transport_error, replace_unprintable
from pagefault_mcp.messages.argument_handles import (
    FileArgument,
    FileForm,
    HandleArgument,
    find_handles,
)
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Line, LinePiece, Message, get_member
from pagefault_mcp.messages.request_tracker import PendingCall
from pagefault_mcp.service_client.service_exchange import (
    NOT_JSON_OBJECTS,
    AddedContent,
    ServiceRefusedError,
    ServiceRequestError,
    build_call_message,
    build_memory_call,
    build_refusal_body,
    encode_result_body,
    find_limited_message,
    find_rendered_message,
    is_changed,
    may_be_limited,
    parse_strict_json,
    read_response,
)
from pagefault_mcp.service_client.tool_files import LARGEST_TOOL_FILE_BYTES, ToolFiles

_JSON = {"Content-Type": "application/json"}
# Responses are not compressed, since a compressed piece may expand to any length.
_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_LONGEST_DETAIL_CHARS = 1_000
_MAX_HANDLES = 100
# A model may read this text too. It cannot create a key, so the text asks the operator to do so.
_NO_KEY = (
    "the service takes no requests without a valid API key. Whoever runs this has to give it one, "
    "in the environment variable PAGEFAULT_API_KEY."
)
_UPDATE_HINT = (
    "The service may be of an earlier version than this proxy; then it has to be updated."
)
# Statuses of a failing service or a reverse proxy, after which the request may have been executed.
_UNCERTAIN_STATUSES = (
    httpx.codes.INTERNAL_SERVER_ERROR,
    httpx.codes.BAD_GATEWAY,
    httpx.codes.GATEWAY_TIMEOUT,
)
# After a timeout, requests fail immediately for this time. Otherwise each of them would wait for a
# timeout.
_UNAVAILABLE_SECONDS = 5.0

# Errors of an established connection, after which the request is sent again.
_CONNECTION_ERRORS = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
# The delays of retries. A service that is shutting down still accepts connections.
_RETRY_DELAYS_SECONDS = (0.1, 1.0)

RequestBody: TypeAlias = Callable[[], AsyncIterator[bytes]] | bytes
"""A body, or a function that returns the pieces of a body. It is called again for each retry."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A stored result whose rendering for the host may differ from the result of the server."""

    tool_result_id: str
    is_changed: bool
    """True if the rendering differs in any case; false if only limits of the host may change it."""


@dataclass(slots=True, eq=False)
class ServiceStore:
    """A client that stores calls and results in a session, and renders results for a host.

    The methods raise `ServiceRequestError` if the service refuses a request or cannot be reached.
    """

    client: httpx.AsyncClient
    """The HTTP client, with the base URL of the service and the API key."""
    session_id: str
    """The session that keeps the calls of the proxy."""
    render_options: RenderOptions
    """The limits of the host."""
    files: ToolFiles | None
    """The folder for copies of stored files, for tools that take paths; `None` for no copies."""
    service_name: str
    """The name of the service in errors."""
    _unavailable_until: float = 0.0
    """Until this time of `time.monotonic`, requests fail immediately."""
    _unavailable_reason: str = ""

    async def run_memory_tool(self, call: PendingCall, revision: McpRevision) -> LinePiece:
        """Run a call of one of the memory's tools.

        Returns:
            The result in the given revision of MCP, on a line that the caller closes.
        """
        body = json_bytes(build_memory_call(call, revision, self.render_options))
        path = f"/api/sessions/{self.session_id}/tool-calls"
        async with self._request("POST", path, content=body) as response:
            return await read_response(response.aiter_bytes(), find_rendered_message)

    async def resolve_handles(
        self, arguments: JsonValue, file_arguments: Sequence[FileArgument], server: object
    ) -> JsonValue | None:
        """Return a copy of a call's arguments in which handles are replaced by files.

        Handles of other sessions are not replaced. If no handle is replaced, return `None`.

        Args:
            arguments: The arguments of a call.
            file_arguments: The arguments that the tool expects to be files.
            server: Identifies the tool's server, as in `ToolFiles`.

        Raises:
            ServiceRequestError: The service fails, cannot be reached, or its response is not JSON.
            ValueError: The service has sent invalid base64.
            OSError: A file cannot be written.
        """
        resolved: JsonValue = json.loads(json_text(arguments))
        handles = list(islice(find_handles(resolved, file_arguments), _MAX_HANDLES))
        values: dict[tuple[str, FileForm], str | None] = {}
        for handle in handles:
            key = (handle.resource_id, handle.form)
            if key not in values:
                values[key] = await self._resolve_handle(handle, server)
            if (text := values[key]) is not None:
                handle.container[handle.key] = text
        return resolved if any(text is not None for text in values.values()) else None

    async def _resolve_handle(self, handle: HandleArgument, server: object) -> str | None:
        """Return the text that replaces a handle; `None` if the handle is not replaced.

        The text is base64 or a data URI, or the path of a copy if the argument takes a path. A
        handle is not replaced if its file is too large or belongs to another session.
        """
        as_path = handle.form == "path"
        body: dict[str, JsonValue] = {
            "sessionId": self.session_id,
            "as": "base64" if as_path else handle.form,
            "arguments": f"@blob:{handle.resource_id}",
        }
        try:
            resource = await self._request_object(
                "GET", f"/api/resources/blob:{handle.resource_id}"
            )
            if resource.get("size", 0) > LARGEST_TOOL_FILE_BYTES:
                return None
            resolved = await self._request_object("POST", "/api/resolve", content=json_bytes(body))
        except ServiceRefusedError:
            return None
        content = resolved.get("arguments")
        if not resolved.get("resolved") or not isinstance(content, str):
            return None
        # Without a folder for copies, no argument has the form `path`, so that case cannot occur.
        if not as_path or self.files is None:
            return content
        description = (handle.resource_id, resource.get("filename"), resource.get("mimeType"))
        data = base64.b64decode(content)
        return await anyio.to_thread.run_sync(self.files.write, server, *description, data)

    async def record_call(self, call: PendingCall) -> None:
        """Append a call to the history of the session, as a message of the assistant."""
        message = json_bytes(build_call_message(call))
        path = f"/api/sessions/{self.session_id}/messages"
        await self._request_object("POST", path, content=message, idempotency_key=call.call_id)

    async def store_result(
        self,
        call: PendingCall,
        message: Message,
        result: Span,
        *,
        success: bool,
        stores_call: bool,
        files: Sequence[AddedContent] = (),
    ) -> StoredResult | None:
        """Store the response to a call; return it if its rendering for the host may differ.

        Args:
            call: The call.
            message: The response to the call, a message of JSON-RPC.
            result: The span of `result` or `error` in the message.
            success: True if the message has a `result`, and not an `error`.
            stores_call: Store the call in the same request.
            files: Content to append to the result.
        """
        body = partial(
            encode_result_body,
            call,
            self.session_id,
            message,
            result,
            success=success,
            stores_call=stores_call,
            files=files,
        )
        async with self._request("POST", "/api/tool-results", content=body) as response:
            return await read_response(response.aiter_bytes(), self._read_stored_result)

    async def store_refusal(self, call: PendingCall, text: str) -> None:
        """Store a call that the proxy has refused, with the text of its error."""
        body = json_bytes(build_refusal_body(call, self.session_id, text))
        await self._request_object("POST", "/api/tool-results", content=body)

    def _read_stored_result(self, response: Line) -> StoredResult | None:
        """Return the stored result if its rendering for the host may differ, else `None`."""
        with response:
            tool_result_id = json.loads(response.read(response.members["id"]))
            if not isinstance(tool_result_id, str):
                raise TypeError
            record = LinePiece(response, response.members["sanitized"])
            result = StoredResult(tool_result_id, is_changed(record, self.render_options))
            return (
                result if result.is_changed or may_be_limited(record, self.render_options) else None
            )

    async def render(self, stored_result: StoredResult, revision: McpRevision) -> LinePiece | None:
        """Return the rendering of a stored result for the host, on a line that the caller closes.

        Return `None` if the rendering does not differ from the result of the server.

        Args:
            stored_result: The result, as `store_result` returned it.
            revision: The revision of MCP of the rendering.
        """
        options = replace(self.render_options, protocol_version=revision, count_tokens=False)
        params = {"target": "mcp"} | {
            # The query has the names in camel case.
            re.sub("_(.)", lambda match: match[1].upper(), name): value
            for name, value in find_changed_options(options).items()
        }
        path = f"/api/tool-results/{stored_result.tool_result_id}/render"
        scan = find_rendered_message if stored_result.is_changed else find_limited_message
        async with self._request("GET", path, params=params) as response:
            return await read_response(response.aiter_bytes(), scan)

    async def _request_object(
        self,
        method: str,
        path: str,
        *,
        content: RequestBody | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Send a request as `_request`; return the JSON object of the response."""
        async with self._request(
            method, path, content=content, idempotency_key=idempotency_key
        ) as response:
            await response.aread()
            return parse_object(response)

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        *,
        content: RequestBody | None = None,
        params: Mapping[str, Any] | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield its successful response.

        If the connection breaks, the request is sent again. That has no second effect, since each
        request only reads, or has an idempotency key or the unique id of a call.

        Args:
            method: The method.
            path: The path, relative to the base URL of the service.
            content: The JSON body, if the request has one.
            params: The query.
            idempotency_key: The key for a request without the id of a call.

        Raises:
            ServiceRequestError: The service refuses the request, fails, or cannot be reached.
        """
        if time.monotonic() < self._unavailable_until:
            raise ServiceRequestError(self._unavailable_reason)
        headers = _UNCOMPRESSED if content is None else {**_UNCOMPRESSED, **_JSON}
        if idempotency_key is not None:
            headers = {**headers, "Idempotency-Key": idempotency_key}

        async def send_once() -> httpx.Response:
            body = content() if callable(content) else content
            request = self.client.build_request(
                method, path, content=body, params=params, headers=headers
            )
            return await self.client.send(request, stream=True)

        try:
            async with aclosing(await _send_with_retry(send_once)) as response:
                if not response.is_success:
                    await response.aread()
                    reason = _describe_failure(response)
                    if response.status_code in _UNCERTAIN_STATUSES:
                        raise ServiceRequestError(reason)
                    raise ServiceRefusedError(reason)
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            reason = f"{self.service_name} cannot be reached: {describe_transport_error(exc)}"
            if isinstance(exc, httpx.TimeoutException):
                self._unavailable_until = time.monotonic() + _UNAVAILABLE_SECONDS
                self._unavailable_reason = reason
            raise ServiceRequestError(reason) from exc


async def _send_with_retry(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Send a request; retry twice if its connection breaks."""
    for seconds in _RETRY_DELAYS_SECONDS:
        with suppress(*_CONNECTION_ERRORS):
            return await send()
        await anyio.sleep(seconds)
    return await send()


def _describe_failure(response: httpx.Response) -> str:
    """Return why the service refused a request or failed; users and models read the text."""
    if response.status_code == httpx.codes.UNAUTHORIZED:
        return _NO_KEY
    text = parse_detail(response) or f"the service answered {response.status_code}"
    is_unknown_form = response.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    return f"{text.rstrip('.')}. {_UPDATE_HINT}" if is_unknown_form else text


def parse_object(response: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of a response.

    Raises:
        ServiceRequestError: The response is not a JSON object.
    """
    try:
        value = parse_strict_json(response.content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ServiceRequestError(NOT_JSON_OBJECTS)
    return value


def parse_detail(response: httpx.Response) -> str | None:
    """Return the detail of a problem document on one line; `None` for other responses."""
    try:
        problem = response.json()
        # At `/mcp`, the problem document is the `data` of a JSON-RPC error.
        problem = get_member(problem, "error", "data") or problem
        detail = str(problem["detail"])[:_LONGEST_DETAIL_CHARS]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return replace_unprintable(detail)
