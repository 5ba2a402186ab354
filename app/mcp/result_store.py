"""Where the proxy keeps the results that pass it, and what it shows a model instead of them."""

import base64
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import anyio.to_thread

from app.mcp.calls import ToolCall
from app.mcp.handles import Form, Place, mentions_in
from app.mcp.lines import Message
from app.mcp.members import Span
from app.models.json_value import JsonValue, json_text
from app.models.rendering import NO_LIMITS, HostLimits, McpRevision, RenderOptions
from app.models.resource import Resource
from app.models.tool_result import StoredToolResult
from app.rendering.names.file_names import extension_for, safe_file_name
from app.rendering.texts.cuts import PREVIEW_LIMIT_CHARS
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.stores.blobs import read_whole
from app.wiring.memory_services import MemoryServices

_MOST_HANDED_BYTES = 64 * 1024 * 1024


class HandedFiles:
    """A folder with the files that tools are given; to be removed when the server has ended.

    Args:
        folder: Where they are written. It is made, and stays if it was there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: set[Path] = set()
        self._is_made = False

    def write(self, resource: Resource, data: bytes) -> str:
        """Write a file under a safe name of its own; return its absolute path."""
        if not self._folder.exists():
            self._folder.mkdir(parents=True)
            self._is_made = True
        name = safe_file_name(resource.filename) or f"file{extension_for(resource.mime_type) or ''}"
        path = (self._folder / f"{resource.resource_id[:8]}-{name}").resolve()
        # What somebody else has put there under this name is not followed.
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
        with os.fdopen(opened, "wb") as file:
            file.write(data)
        self._written.add(path)
        return str(path)

    def clean_up(self) -> None:
        """Remove what was written, and the folder if it was made for that."""
        for path in self._written:
            path.unlink(missing_ok=True)
        if self._is_made:
            with suppress(OSError):
                self._folder.rmdir()


@dataclass(frozen=True, slots=True, eq=False)
class ResultStore:
    """Stores calls and their results in a session, and renders them for hosts."""

    services: MemoryServices
    """The stores and services."""
    project_id: str
    """Whose session it is."""
    session_id: str
    """The session that all calls of the proxy are part of."""
    options: RenderOptions
    """What the host takes."""
    limits: HostLimits = NO_LIMITS
    """How large it takes images and texts."""
    files: HandedFiles | None = None
    """Where tools are given files by their paths, if they are."""

    async def run(self, call: ToolCall, revision: McpRevision) -> dict[str, JsonValue]:
        """Run a call of one of our tools; return its result.

        Raises:
            ServiceError: It cannot be run.
        """
        asked: dict[str, JsonValue] = {
            "target": "mcp",
            "id": call.call_id,
            "name": call.own_name,
            "arguments": call.arguments,
            "protocolVersion": revision,
        }

        async def body() -> AsyncIterator[bytes]:
            yield json_text(asked).encode("utf-8", "backslashreplace")

        # What reads a long text in pieces would otherwise give previews of them.
        limits = replace(self.limits, most_text_chars=None)
        rendered = await self.services.tool_calls.run(
            self.project_id, self.session_id, body(), limits=limits, is_counted=False
        )
        return await _message(rendered)

    async def resolve(self, arguments: JsonValue, places: Sequence[Place]) -> JsonValue | None:
        """Return arguments with files in the places of handles; `None` if there are none to put in.

        Handles of other sessions stay where they are.

        Raises:
            ServiceError: A file cannot be read.
            OSError: A file cannot be written.
        """
        copy: JsonValue = json.loads(json_text(arguments))
        mentions = list(mentions_in(copy, places))
        wanted = {each.resource_id for each in mentions}
        if not wanted:
            return None
        found = await self.services.records.read(
            self.project_id, lambda unit: unit.resources.find_in_session(wanted, self.session_id)
        )
        for mention in mentions:
            resource = found.get(mention.resource_id)
            if resource is not None and resource.size_bytes <= _MOST_HANDED_BYTES:
                mention.replace(await self._handed(resource, mention.form))
        return copy if found else None

    async def _handed(self, resource: Resource, form: Form) -> str:
        data = await read_whole(self.services.blobs, self.project_id, resource.digest)
        if form == "path" and self.files is not None:
            return await anyio.to_thread.run_sync(self.files.write, resource, data)
        text = base64.b64encode(data).decode()
        return text if form == "base64" else f"data:{resource.mime_type};base64,{text}"

    async def note_call(self, call: ToolCall) -> None:
        """Append a call to the session's history, as the message of an assistant.

        Raises:
            ServiceError: It cannot be stored.
        """
        function = {"name": call.name, "arguments": json_text(call.arguments)}
        message = {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call.call_id, "type": "function", "function": function}],
        }

        async def body() -> AsyncIterator[bytes]:
            yield json_text(message).encode("utf-8", "backslashreplace")

        prepared = await self.services.session_messages.prepare(
            self.project_id, self.session_id, body()
        )
        # It is on disk with the result, which comes behind it.
        await self.services.records.write(
            self.project_id, prepared.append, is_alone=prepared.is_long, is_durable=False
        )

    async def keep(self, call: ToolCall, line: Message, answer: Span, *, success: bool) -> bool:
        """Store what a call was answered with; return whether it is more than a short text.

        Args:
            call: The call.
            line: The message that answers it.
            answer: Where on the line the result, or the error, is.
            success: False for an error.

        Raises:
            ServiceError: It cannot be stored, or refuses to be read; nothing of it is stored.
        """
        head = {
            "toolName": call.name,
            "toolCallId": call.call_id,
            "sessionId": self.session_id,
            "success": success,
        }

        async def body() -> AsyncIterator[bytes]:
            yield json_text(head)[:-1].encode("utf-8", "backslashreplace") + b',"result":'
            for piece in line.pieces(answer):
                yield piece
            yield b"}"

        ingested = await self.services.tool_results.ingest(
            self.project_id, body(), idempotency_key=None
        )
        return self._is_changed(ingested.result)

    def _is_changed(self, result: StoredToolResult) -> bool:
        record = json.loads(result.sanitized)
        if self.options.max_tokens is not None or record["resources"]:
            return True
        options, limits = self.options, self.limits
        of_images = (options.max_images, options.max_bytes, limits.most_side)
        # Images of a few bytes are part of the record, and may be many, or have many pixels.
        has_limited_images = any(limit is not None for limit in of_images)
        return any(
            (has_limited_images and part["type"] == "image")
            or len(part.get("text", "")) > (limits.most_text_chars or PREVIEW_LIMIT_CHARS)
            for part in record["parts"]
        )

    async def rendering(self, call: ToolCall, revision: McpRevision) -> dict[str, JsonValue]:
        """Return the result of a call that has been kept, as a host is to get it.

        Raises:
            ServiceError: It cannot be rendered.
        """
        stored = await self.services.records.read(
            self.project_id,
            lambda unit: unit.tool_results.find_call(self.session_id, call.call_id),
        )
        if stored is None or stored.result.seq is None:
            return {}
        options = replace(self.options, protocol_version=revision)
        query = RenderQuery("mcp", options, self.limits, is_counted=False)
        body = await self.services.renders.answer(
            self.project_id, self.session_id, stored.result.seq, query
        )
        return await _message(body)


async def _message(rendered: RenderedBody) -> dict[str, JsonValue]:
    async with aclosing(rendered.chunks()) as chunks:
        text = b"".join([chunk async for chunk in chunks])
    result: dict[str, JsonValue] = json.loads(text)["messages"][0]
    return result
