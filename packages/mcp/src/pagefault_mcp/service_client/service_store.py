"""The proxy's HTTP client for the service, which stores and renders results of tools.

A result is streamed to the service as the bytes of its JSON-RPC line, so that long results are not
read into memory.
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
from pagefault_dialects.model.render_options import McpRevision, RenderOptions, changed_options
from pagefault_mcp.errors import one_line, unreachable_reason
from pagefault_mcp.messages.argument_handles import FileArgument, Form, HandleArgument, find_handles
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Line, LinePiece, Message, member
from pagefault_mcp.messages.request_tracker import PendingCall
from pagefault_mcp.service_client.service_exchange import (
    NO_JSON,
    AddedContent,
    ServiceRefusedError,
    ServiceRequestError,
    build_memory_call,
    call_message,
    find_limited_message,
    find_rendered_message,
    is_changed,
    may_be_limited,
    read_response,
    refusal_body,
    result_body,
    strict_json,
)
from pagefault_mcp.service_client.tool_files import LARGEST_TOOL_FILE_BYTES, ToolFiles

_JSON = {"Content-Type": "application/json"}
# Without compression, since a compressed piece may expand to any length.
_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_LONGEST_DETAIL_CHARS = 1_000
_MAX_HANDLES = 100
# Models may read this text too. They cannot create a key, so it names the operator.
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
# After a timeout, requests fail at once for this time, instead of waiting for a timeout each.
_UNAVAILABLE_SECONDS = 5.0

# Errors of an established connection, after which the request is sent again.
_CONNECTION_ERRORS = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
# The delays of retries. A service that is shutting down still accepts connections.
_RETRY_DELAYS_SECONDS = (0.1, 1.0)

Content: TypeAlias = Callable[[], AsyncIterator[bytes]] | bytes
"""A body, or a function that returns the pieces of the body, which is called for each attempt."""


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
    """The HTTP client, with the address of the service and the key."""
    session_id: str
    """The session of all calls of the proxy."""
    options: RenderOptions
    """The limits of the host."""
    files: ToolFiles | None
    """The folder of files for tools that take paths; `None` to write no files."""
    service_name: str
    """The name of the service in errors."""
    # The time of `time.monotonic` until which requests fail at once, and the reason.
    _unavailable: tuple[float, str] = (0.0, "")

    async def run_memory_tool(self, call: PendingCall, revision: McpRevision) -> LinePiece:
        """Run a call of a tool of the memory; return the result, whose line the caller closes."""
        body = json_bytes(build_memory_call(call, revision, self.options))
        path = f"/api/sessions/{self.session_id}/tool-calls"
        async with self._request("POST", path, content=body) as response:
            return await read_response(response.aiter_bytes(), find_rendered_message)

    async def resolve(
        self, arguments: JsonValue, file_arguments: Sequence[FileArgument], server: object
    ) -> JsonValue | None:
        """Return arguments with files in place of handles; `None` if no handle can be resolved.

        Handles of other sessions are not replaced.

        Args:
            arguments: The arguments of a call.
            file_arguments: The arguments of its tool that are files.
            server: The key of the tool's server, as in `ToolFiles`.

        Raises:
            ServiceRequestError: The service fails, cannot be reached, or its response is not JSON.
            ValueError: The service has sent invalid base64.
            OSError: A file cannot be written.
        """
        copy: JsonValue = json.loads(json_text(arguments))
        handles = list(islice(find_handles(copy, file_arguments), _MAX_HANDLES))
        values: dict[tuple[str, Form], str | None] = {}
        for handle in handles:
            key = (handle.resource_id, handle.form)
            if key not in values:
                values[key] = await self._resolve_handle(handle, server)
            if (text := values[key]) is not None:
                handle.container[handle.key] = text
        return copy if any(text is not None for text in values.values()) else None

    async def _resolve_handle(self, handle: HandleArgument, server: object) -> str | None:
        """Return the text that replaces a handle; `None` to leave the handle.

        If the argument takes a path, write the file and return its path. Handles of files that are
        too large or of another session are left.
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
        # Without a folder, arguments that take paths are not among those with files.
        if not as_path or self.files is None:
            return content
        description = (handle.resource_id, resource.get("filename"), resource.get("mimeType"))
        data = base64.b64decode(content)
        return await anyio.to_thread.run_sync(self.files.write, server, *description, data)

    async def record_call(self, call: PendingCall) -> None:
        """Append a call to the history of the session, as a message of the assistant."""
        message = json_bytes(call_message(call))
        path = f"/api/sessions/{self.session_id}/messages"
        await self._request_object("POST", path, content=message, key=call.call_id)

    async def store_result(
        self,
        call: PendingCall,
        line: Message,
        result: Span,
        *,
        success: bool,
        stores_call: bool,
        files: Sequence[AddedContent] = (),
    ) -> StoredResult | None:
        """Store the response to a call; return it if its rendering for the host may differ.

        Args:
            call: The call.
            line: The message that answers it.
            result: The span of the result or the error in the message.
            success: Whether the message has a result, and not an error.
            stores_call: Whether to store the call in the same request.
            files: Content to store with the result.
        """
        body = partial(
            result_body,
            call,
            self.session_id,
            line,
            result,
            success=success,
            stores_call=stores_call,
            files=files,
        )
        async with self._request("POST", "/api/tool-results", content=body) as response:
            return await read_response(response.aiter_bytes(), self._read_stored)

    async def store_refusal(self, call: PendingCall, text: str) -> None:
        """Store a call that the proxy has refused, with its error."""
        result = json_bytes(refusal_body(call, self.session_id, text))
        await self._request_object("POST", "/api/tool-results", content=result)

    def _read_stored(self, response: Line) -> StoredResult | None:
        """Return the stored result if its rendering for the host may differ, else `None`."""
        with response:
            tool_result_id = json.loads(response.read(response.members["id"]))
            if not isinstance(tool_result_id, str):
                raise TypeError
            record = LinePiece(response, response.members["sanitized"])
            result = StoredResult(tool_result_id, is_changed(record, self.options))
            return result if result.is_changed or may_be_limited(record, self.options) else None

    async def render(self, stored_result: StoredResult, revision: McpRevision) -> LinePiece | None:
        """Return the rendering of a stored result for the host.

        Return `None` if it does not differ from the result of the server.
        """
        options = replace(self.options, protocol_version=revision, count_tokens=False)
        params = {"target": "mcp"} | {
            re.sub("_(.)", lambda letter: letter[1].upper(), name): value
            for name, value in changed_options(options).items()
        }
        path = f"/api/tool-results/{stored_result.tool_result_id}/render"
        scan = find_rendered_message if stored_result.is_changed else find_limited_message
        async with self._request("GET", path, params=params) as response:
            return await read_response(response.aiter_bytes(), scan)

    async def _request_object(
        self, method: str, path: str, *, content: Content | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """Send a request; return the JSON object in the response. Raises as `_request`."""
        async with self._request(method, path, content=content, key=key) as response:
            await response.aread()
            return parse_object(response)

    @asynccontextmanager
    async def _request(
        self,
        method: str,
        path: str,
        *,
        content: Content | None = None,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield its successful response.

        The request may be sent again: it only reads, or has an idempotency key or the unique id of
        a call.

        Args:
            method: The method.
            path: The path, relative to the service's address.
            content: The body, if it has one.
            params: The query.
            key: The idempotency key, for a request without an id.

        Raises:
            ServiceRequestError: The service refuses the request, fails, or cannot be reached.
        """
        unavailable_until, reason = self._unavailable
        if time.monotonic() < unavailable_until:
            raise ServiceRequestError(reason)
        headers = _UNCOMPRESSED if content is None else {**_UNCOMPRESSED, **_JSON}
        if key is not None:
            headers = {**headers, "Idempotency-Key": key}

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
                    is_refused = response.status_code not in _UNCERTAIN_STATUSES
                    raise (ServiceRefusedError if is_refused else ServiceRequestError)(
                        _failure_reason(response)
                    )
                yield response
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            reason = f"{self.service_name} cannot be reached: {unreachable_reason(exc)}"
            if isinstance(exc, httpx.TimeoutException):
                self._unavailable = (time.monotonic() + _UNAVAILABLE_SECONDS, reason)
            raise ServiceRequestError(reason) from exc


async def _send_with_retry(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Send a request; retry twice if its connection breaks."""
    for seconds in _RETRY_DELAYS_SECONDS:
        with suppress(*_CONNECTION_ERRORS):
            return await send()
        await anyio.sleep(seconds)
    return await send()


def _failure_reason(response: httpx.Response) -> str:
    """Return why the service refused a request or failed, for users and models."""
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
        value = strict_json(response.content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ServiceRequestError(NO_JSON)
    return value


def parse_detail(response: httpx.Response) -> str | None:
    """Return the detail of a problem document on one line; `None` for other responses."""
    try:
        problem = response.json()
        # At `/mcp` the problem is in an error of JSON-RPC.
        detail = str((member(problem, "error", "data") or problem)["detail"])[
            :_LONGEST_DETAIL_CHARS
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return one_line(detail)
