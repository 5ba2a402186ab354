"""Results of the proxy in stores that it has opened itself."""

import base64
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace

import anyio.to_thread

from app.mcp.calls import ToolCall
from app.mcp.handles import Form, Place, mentions_in
from app.mcp.lines import Excerpt, Message, look_into, read_text
from app.mcp.members import Span
from app.mcp.store import (
    MOST_HANDED_BYTES,
    HandedFiles,
    asked_of_us,
    is_changed,
    message_of,
    read_answer,
    rendered_message,
    result_body,
)
from app.models.json_value import JsonValue, json_text
from app.models.rendering import McpRevision, RenderOptions
from app.models.resource import Resource
from app.services.agents.memory_tools import body_of
from app.services.inline_media.json_with_media import RenderedBody
from app.services.renders.queries import RenderQuery
from app.stores.blobs import read_whole
from app.wiring.memory_services import MemoryServices


@dataclass(frozen=True, slots=True, eq=False)
class OpenedStore:
    """Stores calls and results through services of this process; see `ResultStore`."""

    services: MemoryServices
    """The stores and services."""
    project_id: str
    """Whose session it is."""
    session_id: str
    """The session that all calls of the proxy are part of."""
    options: RenderOptions
    """What the host takes."""
    files: HandedFiles | None = None
    """Where tools are given files by their paths, if they are."""

    async def run(self, call: ToolCall, revision: McpRevision) -> Excerpt:
        """Run a call of one of our tools; return its result."""
        body = body_of(asked_of_us(call, revision, self.options))
        rendered = await self.services.tool_calls.run(
            self.project_id, self.session_id, body, is_counted=False
        )
        return await _message(rendered)

    async def resolve(self, arguments: JsonValue, places: Sequence[Place]) -> JsonValue | None:
        """Return arguments with files in the places of handles; `None` if there are none."""
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
            if resource is not None and resource.size_bytes <= MOST_HANDED_BYTES:
                mention.holder[mention.key] = await self._handed(resource, mention.form)
        return copy if found else None

    async def _handed(self, resource: Resource, form: Form) -> str:
        data = await read_whole(self.services.blobs, self.project_id, resource.digest)
        if form == "path" and self.files is not None:
            named = (resource.resource_id, resource.filename, resource.mime_type)
            return await anyio.to_thread.run_sync(self.files.write, *named, data)
        text = base64.b64encode(data).decode()
        return text if form == "base64" else f"data:{resource.mime_type};base64,{text}"

    async def note_call(self, call: ToolCall) -> None:
        """Append a call to the session's history, as the message of an assistant."""
        prepared = await self.services.session_messages.prepare(
            self.project_id, self.session_id, body_of(message_of(call))
        )
        # It is on disk with the result, which comes behind it.
        await self.services.records.write(
            self.project_id, prepared.append, is_alone=prepared.is_long, is_durable=False
        )

    async def keep(
        self, call: ToolCall, line: Message, answer: Span, *, success: bool
    ) -> str | None:
        """Store what a call was answered with; return its id if it is more than a short text."""
        body = result_body(call, self.session_id, line, answer, success=success)
        ingested = await self.services.tool_results.ingest(
            self.project_id, body, idempotency_key=None
        )
        with await read_text(_pieces(ingested.result.sanitized)) as text:
            changed = await look_into(
                text, lambda it: is_changed(Excerpt(it, it.whole), self.options)
            )
        return ingested.result.tool_result_id if changed else None

    async def rendering(self, tool_result_id: str, revision: McpRevision) -> Excerpt | None:
        """Return a result that has been kept, as a host is to get it; `None` if it is gone."""
        stored = await self.services.records.read(
            self.project_id, lambda unit: unit.tool_results.find(tool_result_id)
        )
        if stored is None or stored.seq is None:
            return None
        options = replace(self.options, protocol_version=revision)
        query = RenderQuery("mcp", options, is_counted=False)
        body = await self.services.renders.answer(
            self.project_id, self.session_id, stored.seq, query
        )
        return await _message(body)


async def _pieces(text: bytes) -> AsyncIterator[bytes]:
    yield text


async def _message(rendered: RenderedBody) -> Excerpt:
    async with aclosing(rendered.chunks()) as chunks:
        return await read_answer(chunks, rendered_message)
