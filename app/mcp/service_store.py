"""Results of the proxy in a service that runs: what is kept and shown, it is asked for over HTTP.

The proxy itself then loads no stores. A result goes to the service in the pieces it came in.
"""

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import anyio.to_thread
import httpx

from app.mcp.calls import ToolCall
from app.mcp.handles import Mention, Place, mentions_in
from app.mcp.lines import Message
from app.mcp.members import Span
from app.mcp.store import (
    HandedFiles,
    asked_of_us,
    first_message,
    head_of_result,
    is_changed,
    message_of,
)
from app.models.json_value import JsonValue, json_text
from app.models.rendering import NO_LIMITS, McpRevision, RenderOptions

_JSON = {"Content-Type": "application/json"}
_MOST_SAID_CHARS = 1_000

Content: TypeAlias = AsyncIterator[bytes] | bytes


class NoAnswerError(Exception):
    """The service cannot be reached, or refuses what it is asked; the words say which, and why."""


@dataclass(frozen=True, slots=True, eq=False)
class ServiceStore:
    """Stores calls and results in a service, and has it render them; see `ResultStore`."""

    client: httpx.AsyncClient
    """Asks the service; carries its address and the key."""
    session_id: str
    """The session that all calls of the proxy are part of."""
    options: RenderOptions
    """What the host takes."""
    files: HandedFiles | None = None
    """Where tools are given files by their paths, if they are."""

    async def run(self, call: ToolCall, revision: McpRevision) -> dict[str, JsonValue]:
        """Run a call of one of our tools; return its result."""
        asked = _written(asked_of_us(call, revision))
        return first_message(await self._post(f"{self._session}/tool-calls", asked))

    async def resolve(self, arguments: JsonValue, places: Sequence[Place]) -> JsonValue | None:
        """Return arguments with files in the places of handles; `None` if there are none."""
        copy: JsonValue = json.loads(json_text(arguments))
        given = [await self._give(each) for each in list(mentions_in(copy, places))]
        return copy if any(given) else None

    async def _give(self, mention: Mention) -> bool:
        """Put a file in the place of its handle; return whether it is one of the session."""
        as_path = mention.form == "path"
        asked: dict[str, JsonValue] = {
            "sessionId": self.session_id,
            "as": "base64" if as_path else mention.form,
            "arguments": f"@blob:{mention.resource_id}",
        }
        answer = json.loads(await self._post("/api/resolve", _written(asked)))
        if not answer["resolved"]:
            return False
        content: str = answer["arguments"]
        mention.replace(await self._file(mention.resource_id, content) if as_path else content)
        return True

    async def _file(self, resource_id: str, content: str) -> str:
        assert self.files is not None  # noqa: S101 - else no place takes a path
        about = json.loads(await self._ask("GET", f"/api/resources/blob:{resource_id}"))
        named = (resource_id, about.get("filename"), about.get("mimeType"))
        data = base64.b64decode(content)
        return await anyio.to_thread.run_sync(self.files.write, *named, data)

    async def note_call(self, call: ToolCall) -> None:
        """Append a call to the session's history, as the message of an assistant."""
        await self._post(f"{self._session}/messages", _written(message_of(call)))

    async def keep(
        self, call: ToolCall, line: Message, answer: Span, *, success: bool
    ) -> str | None:
        """Store what a call was answered with; return its id if it is more than a short text."""

        async def body() -> AsyncIterator[bytes]:
            yield head_of_result(call, self.session_id, success=success)
            for piece in line.pieces(answer):
                yield piece
            yield b"}"

        stored = json.loads(await self._post("/api/tool-results", body()))
        tool_result_id: str = stored["id"]
        changed = is_changed(stored["sanitized"], self.options, NO_LIMITS)
        return tool_result_id if changed else None

    async def rendering(self, tool_result_id: str, revision: McpRevision) -> dict[str, JsonValue]:
        """Return a result that has been kept, as a host is to get it."""
        options = self.options
        asked = {
            "target": "mcp",
            "protocolVersion": revision,
            "handles": options.handles,
            "maxBytes": options.max_bytes,
            "maxImages": options.max_images,
            "maxTokens": options.max_tokens,
        }
        given = {name: value for name, value in asked.items() if value is not None}
        path = f"/api/tool-results/{tool_result_id}/render"
        return first_message(await self._ask("GET", path, params=given))

    @property
    def _session(self) -> str:
        return f"/api/sessions/{self.session_id}"

    async def _post(self, path: str, content: Content) -> bytes:
        return await self._ask("POST", path, content=content)

    async def _ask(
        self,
        method: str,
        path: str,
        *,
        content: Content | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return what the service answers.

        Raises:
            NoAnswerError: It refuses, or cannot be reached.
        """
        headers = None if content is None else _JSON
        try:
            answer = await self.client.request(
                method, path, content=content, params=params, headers=headers
            )
        except httpx.HTTPError as exc:
            # Where it is, without what may be secret in an address.
            place = self.client.base_url.copy_with(userinfo=b"")
            why = str(exc) or type(exc).__name__
            raise NoAnswerError(f"{place} cannot be reached: {why}") from exc
        if not answer.is_success:
            raise NoAnswerError(detail_of(answer) or f"the service answered {answer.status_code}")
        return answer.content


def detail_of(answer: httpx.Response) -> str | None:
    """Return what a problem says of itself; `None` if it is none."""
    try:
        return str(answer.json()["detail"])[:_MOST_SAID_CHARS]
    except (ValueError, KeyError, TypeError):
        return None


def _written(value: JsonValue) -> bytes:
    return json_text(value).encode("utf-8", "backslashreplace")
