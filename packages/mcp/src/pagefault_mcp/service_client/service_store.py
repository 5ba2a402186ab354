"""Where the proxy keeps the results that pass it: in a service, which it asks over HTTP.

The proxy itself loads no stores. A result goes to the service in the pieces it came in.
"""

import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, TypeAlias

import anyio
import anyio.to_thread
import httpx

from pagefault_dialects.json.values import JsonValue, json_bytes, json_text
from pagefault_dialects.model.render_options import McpRevision, RenderOptions
from pagefault_mcp.errors import unreachable_because
from pagefault_mcp.messages.argument_handles import FileArgument, Form, Mention, mentions_in
from pagefault_mcp.messages.json_spans import Span
from pagefault_mcp.messages.lines import Line, LinePiece, Message
from pagefault_mcp.messages.message_values import member
from pagefault_mcp.messages.passing_requests import PendingCall
from pagefault_mcp.service_client.service_exchange import (
    NO_JSON,
    NoAnswerError,
    ServiceRefusedError,
    build_own_call,
    is_changed,
    limited_message,
    may_be_limited,
    message_of,
    read_answer,
    refusal_of,
    rendered_message,
    result_body,
    strict_json,
)
from pagefault_mcp.service_client.tool_files import LARGEST_TOOL_FILE_BYTES, ToolFiles

_JSON = {"Content-Type": "application/json"}
# A piece of what is packed may be of any length when it is unpacked.
_AS_IT_IS = {"Accept-Encoding": "identity"}
_MOST_SAID_CHARS = 1_000
_MOST_MENTIONS = 100
# Read by a model too, which can make no key.
_NO_KEY = (
    "the service takes no requests without a valid API key. Whoever runs this has to give it one, "
    "in the environment variable PAGEFAULT_API_KEY."
)
_EARLIER = "The service may be of an earlier version than this proxy; then it has to be updated."
# Said by a service that failed, or by what stands before one: it may have done what it was asked.
_UNSURE = (
    httpx.codes.INTERNAL_SERVER_ERROR,
    httpx.codes.BAD_GATEWAY,
    httpx.codes.GATEWAY_TIMEOUT,
)
# How long nothing is asked of a service that let a request wait: each would wait for it anew.
_AWAY_SECONDS = 5.0

# How a connection breaks that has been made: its service was killed, or has ended meanwhile.
_LOST = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
# After how long it is asked again. One that takes its time to end still takes connections.
_AGAIN_SECONDS = (0.1, 1.0)

Content: TypeAlias = Callable[[], AsyncIterator[bytes]] | bytes
"""A body, or what makes one, as often as it is sent."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A result that was stored, and that a host may get in another form."""

    tool_result_id: str
    """Its id."""
    is_changed: bool
    """Whether it gets another form, even if it is not more than the host takes."""


@dataclass(slots=True, eq=False)
class ServiceStore:
    """Stores calls and results in a session of a service, and has it render them for a host.

    Its methods raise `NoAnswerError` where the service refuses, or cannot be reached.
    """

    client: httpx.AsyncClient
    """Asks the service; carries its address and the key."""
    session_id: str
    """The session that all calls of the proxy are part of."""
    options: RenderOptions
    """What the host takes."""
    files: ToolFiles | None
    """Where tools are given files by their paths, if they are."""
    place: str
    """What the service is called where it cannot be reached."""
    _away: tuple[float, str] = (0.0, "")

    async def run(self, call: PendingCall, revision: McpRevision) -> LinePiece:
        """Run a call of one of our tools; return its result. Whoever takes it closes its line."""
        asked = json_bytes(build_own_call(call, revision, self.options))
        path = f"/api/sessions/{self.session_id}/tool-calls"
        async with self._answer("POST", path, content=asked) as answer:
            return await read_answer(answer.aiter_bytes(), rendered_message)

    async def resolve(
        self, arguments: JsonValue, places: Sequence[FileArgument], server: object
    ) -> JsonValue | None:
        """Return arguments with files in the places of handles; `None` if there are none to put in.

        Handles of other sessions stay where they are.

        Args:
            arguments: Those of a call.
            places: Where its tool takes files.
            server: Stands for the server whose tool it is, as in `ToolFiles`.

        Raises:
            NoAnswerError: What the service answers is none.
            OSError: A file cannot be written.
        """
        copy: JsonValue = json.loads(json_text(arguments))
        mentions = list(islice(mentions_in(copy, places), _MOST_MENTIONS))
        given: dict[tuple[str, Form], str | None] = {}
        for each in mentions:
            key = (each.resource_id, each.form)
            if key not in given:
                given[key] = await self._write_tool_file(each, server)
            if (text := given[key]) is not None:
                each.holder[each.key] = text
        return copy if any(text is not None for text in given.values()) else None

    async def _write_tool_file(self, mention: Mention, server: object) -> str | None:
        """Return what stands for a handle: a file of the session that is not too large."""
        as_path = mention.form == "path"
        asked: dict[str, JsonValue] = {
            "sessionId": self.session_id,
            "as": "base64" if as_path else mention.form,
            "arguments": f"@blob:{mention.resource_id}",
        }
        try:
            about = await self._ask("GET", f"/api/resources/blob:{mention.resource_id}")
            if about.get("size", 0) > LARGEST_TOOL_FILE_BYTES:
                return None
            answer = await self._ask("POST", "/api/resolve", content=json_bytes(asked))
        except ServiceRefusedError:
            return None
        content = answer.get("arguments")
        if not answer.get("resolved") or not isinstance(content, str):
            return None
        if not as_path or self.files is None:
            return content
        named = (mention.resource_id, about.get("filename"), about.get("mimeType"))
        data = base64.b64decode(content)
        return await anyio.to_thread.run_sync(self.files.write, server, *named, data)

    async def note_call(self, call: PendingCall) -> None:
        """Append a call to the session's history, as the message of an assistant."""
        message = json_bytes(message_of(call))
        path = f"/api/sessions/{self.session_id}/messages"
        await self._ask("POST", path, content=message, key=call.call_id)

    async def keep(
        self, call: PendingCall, line: Message, answer: Span, *, success: bool, has_call: bool
    ) -> Kept | None:
        """Store what a call was answered with; return it unless a host gets it as it came.

        Args:
            call: The call.
            line: The message that answers it.
            answer: Where on the line the result, or the error, is.
            success: False for an error.
            has_call: Whether the call is noted with it, in one request.
        """
        told = (call, self.session_id, line, answer)
        body = partial(result_body, *told, success=success, has_call=has_call)
        async with self._answer("POST", "/api/tool-results", content=body) as stored:
            return await read_answer(stored.aiter_bytes(), self._read_kept)

    async def keep_refusal(self, call: PendingCall, text: str) -> None:
        """Store a call that was not passed on, and the words that it was answered with."""
        result = json_bytes(refusal_of(call, self.session_id, text))
        await self._ask("POST", "/api/tool-results", content=result)

    def _read_kept(self, stored: Line) -> Kept | None:
        """Return what was stored, if a host may get something else than the answer."""
        with stored:
            tool_result_id = json.loads(stored.read(stored.members["id"]))
            if not isinstance(tool_result_id, str):
                raise TypeError
            record = LinePiece(stored, stored.members["sanitized"])
            kept = Kept(tool_result_id, is_changed(record, self.options))
            return kept if kept.is_changed or may_be_limited(record, self.options) else None

    async def rendering(self, kept: Kept, revision: McpRevision) -> LinePiece | None:
        """Return a result that has been kept, as a host is to get it; `None` for as it came."""
        options = self.options
        asked = {
            "target": "mcp",
            "countTokens": False,
            "protocolVersion": revision,
            "audience": options.audience,
            "handles": options.handles,
            "maxBytes": options.max_bytes,
            "maxImages": options.max_images,
            "maxTokens": options.max_tokens,
            "maxText": options.max_text,
            "maxImagePixels": options.max_image_pixels,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        path = f"/api/tool-results/{kept.tool_result_id}/render"
        look = rendered_message if kept.is_changed else limited_message
        async with self._answer("GET", path, params=given) as answer:
            return await read_answer(answer.aiter_bytes(), look)

    async def _ask(
        self, method: str, path: str, *, content: Content | None = None, key: str | None = None
    ) -> dict[str, Any]:
        """Return the object that the service answers; see `_answer` for what it raises."""
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
        """Ask the service, for as long as its answer is read.

        Whatever is asked may be asked again, and is done once: each call has an id of its own.

        Args:
            method: The method.
            path: The path, from the service's address on.
            content: The body, if it has one.
            params: The query.
            key: What the request is known by, if nothing else in it says that.

        Raises:
            NoAnswerError: It refuses, answers something else, or cannot be reached.
        """
        until, why = self._away
        if time.monotonic() < until:
            raise NoAnswerError(why)
        headers = _AS_IT_IS if content is None else {**_AS_IT_IS, **_JSON}
        if key is not None:
            headers = {**headers, "Idempotency-Key": key}

        async def send_once() -> httpx.Response:
            body = content() if callable(content) else content
            asked = self.client.build_request(
                method, path, content=body, params=params, headers=headers
            )
            return await self.client.send(asked, stream=True)

        try:
            async with aclosing(await _send_with_retry(send_once)) as answer:
                if not answer.is_success:
                    await answer.aread()
                    is_sure = answer.status_code not in _UNSURE
                    raise (ServiceRefusedError if is_sure else NoAnswerError)(_refusal(answer))
                yield answer
        except (httpx.HTTPError, httpx.InvalidURL) as exc:
            why = f"{self.place} cannot be reached: {unreachable_because(exc)}"
            if isinstance(exc, httpx.TimeoutException):
                self._away = (time.monotonic() + _AWAY_SECONDS, why)
            raise NoAnswerError(why) from exc


async def _send_with_retry(send: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """Send a request, and again where its connection breaks."""
    for seconds in _AGAIN_SECONDS:
        with suppress(*_LOST):
            return await send()
        await anyio.sleep(seconds)
    return await send()


def _refusal(answer: httpx.Response) -> str:
    """Return why a service refuses, for people and for models."""
    if answer.status_code == httpx.codes.UNAUTHORIZED:
        return _NO_KEY
    said = detail_of(answer) or f"the service answered {answer.status_code}"
    is_odd = answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY
    return f"{said.rstrip('.')}. {_EARLIER}" if is_odd else said


def object_of(answer: httpx.Response) -> dict[str, Any]:
    """Return the JSON object that an answer is.

    Raises:
        NoAnswerError: It is something else.
    """
    try:
        value = strict_json(answer.content)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise NoAnswerError(NO_JSON)
    return value


def detail_of(answer: httpx.Response) -> str | None:
    """Return what a problem says of itself, in a line; `None` if it is none."""
    try:
        said = answer.json()
        # At `/mcp` it is in an error of JSON-RPC.
        detail = str((member(said, "error", "data") or said)["detail"])[:_MOST_SAID_CHARS]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return "".join(each if each.isprintable() else " " for each in detail)
