"""The HTTP client of the service that stores and renders the results of a proxy.

The proxy itself loads no stores. A result is streamed to the service in the pieces of its line.
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
from pagefault_mcp.messages.argument_handles import FileArgument, Form, Mention, find_mentions
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Line, LinePiece, Message, member
from pagefault_mcp.messages.request_tracker import PendingCall
from pagefault_mcp.service_client.service_exchange import (
    NO_JSON,
    AddedContent,
    NoAnswerError,
    ServiceRefusedError,
    build_own_call,
    is_changed,
    limited_message,
    may_be_limited,
    message_of,
    read_answer,
    refused_result,
    rendered_message,
    result_body,
    strict_json,
)
from pagefault_mcp.service_client.tool_files import LARGEST_TOOL_FILE_BYTES, ToolFiles

_JSON = {"Content-Type": "application/json"}
# Without compression, since a compressed piece may expand to any length.
_UNCOMPRESSED = {"Accept-Encoding": "identity"}
_LONGEST_DETAIL_CHARS = 1_000
_MAX_MENTIONS = 100
# Also for a model, which cannot create a key.
_NO_KEY = (
    "the service takes no requests without a valid API key. Whoever runs this has to give it one, "
    "in the environment variable PAGEFAULT_API_KEY."
)
_EARLIER = "The service may be of an earlier version than this proxy; then it has to be updated."
# Sent by a failed service or a reverse proxy: the request may have been executed.
_UNSURE = (
    httpx.codes.INTERNAL_SERVER_ERROR,
    httpx.codes.BAD_GATEWAY,
    httpx.codes.GATEWAY_TIMEOUT,
)
# The pause after a timeout, so that not every request waits for another one.
_AWAY_SECONDS = 5.0

# Errors of an established connection, whose service was killed or has ended.
_LOST = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
# The delays of retries. A service that is shutting down still accepts connections.
_AGAIN_SECONDS = (0.1, 1.0)

Content: TypeAlias = Callable[[], AsyncIterator[bytes]] | bytes
"""A body, or a function that returns it for each attempt."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A stored result whose rendering may differ from the answer."""

    tool_result_id: str
    """Its id."""
    is_changed: bool
    """The rendering differs even if no limit of the host applies."""


@dataclass(slots=True, eq=False)
class ServiceStore:
    """A client that stores calls and results in a session, and renders results for a host.

    Its methods raise `NoAnswerError` if the service refuses a request, or cannot be reached.
    """

    client: httpx.AsyncClient
    """The HTTP client, with the address of the service and the key."""
    session_id: str
    """The session of all calls of the proxy."""
    options: RenderOptions
    """The limits of the host."""
    files: ToolFiles | None
    """The folder of files for tools that take paths, if there is one."""
    place: str
    """The name of the service in errors."""
    _away: tuple[float, str] = (0.0, "")

    async def run(self, call: PendingCall, revision: McpRevision) -> LinePiece:
        """Run a call of one of our tools; return its result, whose line the caller closes."""
        body = json_bytes(build_own_call(call, revision, self.options))
        path = f"/api/sessions/{self.session_id}/tool-calls"
        async with self._answer("POST", path, content=body) as answer:
            return await read_answer(answer.aiter_bytes(), rendered_message)

    async def resolve(
        self, arguments: JsonValue, places: Sequence[FileArgument], server: object
    ) -> JsonValue | None:
        """Return arguments with files in place of handles; `None` if no handle can be resolved.

        Handles of other sessions are kept.

        Args:
            arguments: The arguments of a call.
            places: The arguments of its tool that are files.
            server: The key of the tool's server, as in `ToolFiles`.

        Raises:
            NoAnswerError: The service does not answer with JSON.
            OSError: A file cannot be written.
        """
        copy: JsonValue = json.loads(json_text(arguments))
        mentions = list(islice(find_mentions(copy, places), _MAX_MENTIONS))
        values: dict[tuple[str, Form], str | None] = {}
        for mention in mentions:
            key = (mention.resource_id, mention.form)
            if key not in values:
                values[key] = await self._write_tool_file(mention, server)
            if (text := values[key]) is not None:
                mention.holder[mention.key] = text
        return copy if any(text is not None for text in values.values()) else None

    async def _write_tool_file(self, mention: Mention, server: object) -> str | None:
        """Return the value for a handle; `None` if its file is too large or of another session."""
        as_path = mention.form == "path"
        body: dict[str, JsonValue] = {
            "sessionId": self.session_id,
            "as": "base64" if as_path else mention.form,
            "arguments": f"@blob:{mention.resource_id}",
        }
        try:
            about = await self._ask("GET", f"/api/resources/blob:{mention.resource_id}")
            if about.get("size", 0) > LARGEST_TOOL_FILE_BYTES:
                return None
            answer = await self._ask("POST", "/api/resolve", content=json_bytes(body))
        except ServiceRefusedError:
            return None
        content = answer.get("arguments")
        if not answer.get("resolved") or not isinstance(content, str):
            return None
        if not as_path or self.files is None:
            return content
        description = (mention.resource_id, about.get("filename"), about.get("mimeType"))
        data = base64.b64decode(content)
        return await anyio.to_thread.run_sync(self.files.write, server, *description, data)

    async def note_call(self, call: PendingCall) -> None:
        """Append a call to the session's history, as the message of an assistant."""
        message = json_bytes(message_of(call))
        path = f"/api/sessions/{self.session_id}/messages"
        await self._ask("POST", path, content=message, key=call.call_id)

    async def keep(
        self,
        call: PendingCall,
        line: Message,
        answer: Span,
        *,
        success: bool,
        has_call: bool,
        files: Sequence[AddedContent] = (),
    ) -> StoredResult | None:
        """Store the answer to a call; return it if the host may get another form of it.

        Args:
            call: The call.
            line: The message that answers it.
            answer: The span of the result or the error.
            success: False for an error.
            has_call: The call is stored with it, in one request.
            files: The files that are stored with it.
        """
        exchange = (call, self.session_id, line, answer)
        body = partial(result_body, *exchange, success=success, has_call=has_call, files=files)
        async with self._answer("POST", "/api/tool-results", content=body) as stored:
            return await read_answer(stored.aiter_bytes(), self._read_kept)

    async def keep_refusal(self, call: PendingCall, text: str) -> None:
        """Store a refused call with the error that answered it."""
        result = json_bytes(refused_result(call, self.session_id, text))
        await self._ask("POST", "/api/tool-results", content=result)

    def _read_kept(self, stored: Line) -> StoredResult | None:
        """Return the stored result, if the host may get another form of it."""
        with stored:
            tool_result_id = json.loads(stored.read(stored.members["id"]))
            if not isinstance(tool_result_id, str):
                raise TypeError
            record = LinePiece(stored, stored.members["sanitized"])
            kept = StoredResult(tool_result_id, is_changed(record, self.options))
            return kept if kept.is_changed or may_be_limited(record, self.options) else None

    async def rendering(self, kept: StoredResult, revision: McpRevision) -> LinePiece | None:
        """Return the rendering of a stored result for the host; `None` if the answer stays."""
        options = replace(self.options, protocol_version=revision, count_tokens=False)
        params = {"target": "mcp"} | {
            re.sub("_(.)", lambda letter: letter[1].upper(), name): value
            for name, value in changed_options(options).items()
        }
        path = f"/api/tool-results/{kept.tool_result_id}/render"
        look = rendered_message if kept.is_changed else limited_message
        async with self._answer("GET", path, params=params) as answer:
            return await read_answer(answer.aiter_bytes(), look)

    async def _ask(
        self, method: str, path: str, *, content: Content | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """Send a request; return the JSON object of the answer. See `_answer` for its errors."""
        async with self._answer(method, path, content=content, key=key) as answer:
            await answer.aread()
            return object_of(answer)

    @asynccontextmanager
    async def _answer(
        self,
        method: str,
        path: str,
        *,
        content: Content | None = None,
        params: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request, and yield the answer.

        Requests are idempotent, so they may be repeated: each call has a unique id.

        Args:
            method: The method.
            path: The path, relative to the service's address.
            content: The body, if it has one.
            params: The query.
            key: The idempotency key, for a request without an id.

        Raises:
            NoAnswerError: The service refuses, gives another answer, or cannot be reached.
        """
        until, reason = self._away
        if time.monotonic() < until:
            raise NoAnswerError(reason)
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
            async with aclosing(await _send_with_retry(send_once)) as answer:
                if not answer.is_success:
                    await answer.aread()
                    is_refused = answer.status_code not in _UNSURE
                    raise (ServiceRefusedError if is_refused else NoAnswerError)(_refusal(answer))
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            reason = f"{self.place} cannot be reached: {unreachable_reason(exc)}"
            if isinstance(exc, httpx.TimeoutException):
                self._away = (time.monotonic() + _AWAY_SECONDS, reason)
            raise NoAnswerError(reason) from exc


async def _send_with_retry(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Send a request, and retry if its connection breaks."""
    for seconds in _AGAIN_SECONDS:
        with suppress(*_LOST):
            return await send()
        await anyio.sleep(seconds)
    return await send()


def _refusal(answer: httpx.Response) -> str:
    """Return the reason of a refusal, for users and models."""
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        return _NO_KEY
    text = detail_of(answer) or f"the service answered {answer.status_code}"
    is_odd = answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    return f"{text.rstrip('.')}. {_EARLIER}" if is_odd else text


def object_of(answer: httpx.Response) -> dict[str, Any]:
    """Return the JSON object of an answer.

    Raises:
        NoAnswerError: The answer is no JSON object.
    """
    try:
        value = strict_json(answer.content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NoAnswerError(NO_JSON)
    return value


def detail_of(answer: httpx.Response) -> str | None:
    """Return the detail of a problem, on one line; `None` if the answer is no problem."""
    try:
        problem = answer.json()
        # At `/mcp` the problem is in an error of JSON-RPC.
        detail = str((member(problem, "error", "data") or problem)["detail"])[
            :_LONGEST_DETAIL_CHARS
        ]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return one_line(detail)
