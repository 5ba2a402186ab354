"""The memory as an MCP server: handlers for its tools, its resources, and subscriptions to them.

Memory pages and stored files are both *resources* of MCP, with URIs such as `pagefault://pages/ID`
and `pagefault://resources/ID`. The same handlers serve `/mcp` (`mcp_endpoint`) and hosts over pipes
(`memory_process`). A caller has access to its own project only. Tools run as over the HTTP API, in
the session that the URL or the call names.

Source: design document `agents.md`, "MCP server".
"""

import base64
import json
from collections.abc import Callable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

import mcp_types as types
from mcp import MCPError
from mcp.server import Server
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from app.errors import InvalidCursorError, MalformedRequestError, NotFoundError
from app.models.identity import new_id
from app.models.limits import Limits
from app.services.agents.tool_calls import ToolCalls, read_tool_call
from app.services.concurrency.large_work import LargeWork
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.page_lists import PageLists
from app.services.pages.stored_pages import read_descriptor, read_fields
from app.services.renders.queries import RenderQuery
from app.services.renders.renders import Renders
from app.services.resources.resources import Resources
from app.services.resources.texts import ResourceTexts, TextQuery
from app.stores.blobs.store import BlobStore, read_whole
from app.version import VERSION
from app.wire.agents import ToolCallRequest
from app.wire.resource_texts import encode_text_piece
from app.wiring.services import Services
from pagefault_dialects.errors import (
    InvalidJsonError,
    InvalidPayloadError,
    PagefaultError,
    PayloadTooLargeError,
)
from pagefault_dialects.json.values import JsonValue, json_bytes
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.page import PageFilters, StoredPage, parse_level
from pagefault_dialects.model.render_options import McpRevision, RenderOptions, base64_length
from pagefault_dialects.model.resource import Resource
from pagefault_dialects.pages.instructions import instructions
from pagefault_dialects.targets.tool_definitions import write_tools
from pagefault_dialects.text_windows import LineRange, decode_text, parse_line_range
from pagefault_dialects.tools.tool_catalogue import list_definitions
from pagefault_mcp.messages.message_limits import LONGEST_CURSOR_CHARS, check_uri
from pagefault_mcp.messages.request_tracker import find_nearest_revision
from pagefault_mcp.server.memory_caller import ForeignSessionError, McpCaller
from pagefault_mcp.server.page_changes import (
    PAGE_URI_PREFIX,
    URI_SCHEME,
    Context,
    HostSubscriptions,
    format_page_uri,
    send_notifications,
)

_FILE_URI_PREFIX = f"{URI_SCHEME}resources/"
_LIST_SIZE = 50
_MAX_READ_BYTES = 8 * 1024 * 1024
_MAX_LINES_BYTES = 1024 * 1024
# While the SDK serialises a response, it needs three times the length of the response. (Measured.)
_RESPONSE_COPIES = 3
# Contents of resources cannot be links, so pages are rendered for a revision without links.
_REVISION_WITHOUT_LINKS: McpRevision = "2025-03-26"


@dataclass(frozen=True, slots=True, eq=False)
class MemoryServer:
    """The handlers of all requests of MCP clients."""

    services: Services
    """The stores and services."""
    caller_of: Callable[[Context], McpCaller]
    """Returns the caller of a request, from its context."""
    subscriptions: HostSubscriptions | None = None
    """The subscriptions of a host over pipes; `None` over HTTP, where each request stands alone."""

    def make_sdk_server(self) -> Server[Any]:
        """Return a server of the SDK that calls these handlers."""
        subscriptions = self.subscriptions
        return Server(
            "pagefault",
            version=VERSION,
            title="Pagefault",
            instructions=instructions("strict"),
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_and_watch if subscriptions else self._list_resources,
            on_list_resource_templates=_list_templates,
            on_read_resource=self._read_resource,
            on_subscriptions_listen=self._listen,
            on_subscribe_resource=subscriptions.subscribe if subscriptions else None,
            on_unsubscribe_resource=subscriptions.unsubscribe if subscriptions else None,
        )

    async def _list_tools(
        self, context: Context, _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        """List the memory's tools.

        If the caller may use all sessions of its project, each tool has a parameter `session`.
        """
        tools = write_tools("mcp", list_definitions())
        caller = self.caller_of(context)
        if caller.scope == "project":
            tools = [_add_session_parameter(tool, caller.session_id) for tool in tools]
        return types.ListToolsResult(tools=[types.Tool.model_validate(tool) for tool in tools])

    async def _call_tool(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """Run a call of a tool, in the session that the call names or else in the caller's own."""
        caller = self.caller_of(context)
        arguments: dict[str, Any] = dict(params.arguments or {})
        try:
            session_id = caller.take_session(arguments)
        except ForeignSessionError as exc:
            return _refuse_call(str(exc))
        request_body: dict[str, JsonValue] = {
            "target": "mcp",
            "id": new_id(),
            # The service requires 1 to 512 characters. Any unknown name is an error for the model.
            "name": params.name[:512] or "none",
            "arguments": arguments,
            "scope": caller.scope,
            "protocolVersion": find_nearest_revision(context.protocol_version),
            "maxBytes": _MAX_READ_BYTES,
            "countTokens": False,
        }
        services = self.services
        with _translate_errors():
            request = await services[LargeWork].run(
                caller.body_bytes, _parse_tool_call, request_body, services[Limits]
            )
            if request is None:
                return _refuse_call(
                    "a number in its arguments is too large for JSON, such as 1e999"
                )
            rendered = await services[ToolCalls].run_request(caller.project_id, session_id, request)
            message = (await _read_rendering(rendered, caller))["messages"][0]
        return types.CallToolResult.model_validate(message)

    async def _list_resources(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the pages, newest first, then the files.

        A cursor of this list is `pages:` or `resources:`, then a cursor of the list of pages or of
        files, which is empty at its start.
        """
        project_id = self.caller_of(context).project_id
        list_cursor = (params.cursor if params else None) or "pages:"
        services = self.services
        with _translate_errors():
            if len(list_cursor) > LONGEST_CURSOR_CHARS:
                raise InvalidCursorError
            kind, _, cursor = list_cursor.partition(":")
            if kind == "pages":
                pages, next_cursor = await services[PageLists].list(
                    project_id, PageFilters(), cursor=cursor or None, limit=_LIST_SIZE
                )
                return types.ListResourcesResult(
                    resources=[_describe_page(page) for page in pages],
                    next_cursor=f"pages:{next_cursor}" if next_cursor else "resources:",
                )
            if kind != "resources":
                raise InvalidCursorError
            resources, next_cursor = await services[Resources].list(
                project_id, cursor=cursor or None, limit=_LIST_SIZE
            )
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    uri=_FILE_URI_PREFIX + resource.resource_id,
                    name=resource.filename or resource.resource_id,
                    mime_type=resource.mime_type,
                    size=resource.size_bytes,
                )
                for resource in resources
            ],
            next_cursor=f"resources:{next_cursor}" if next_cursor else None,
        )

    async def _read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a page or a file by its URI."""
        caller = self.caller_of(context)
        with _translate_errors():
            check_uri(params.uri)
            address, _, query_string = params.uri.partition("?")
            query = {name: values[0] for name, values in parse_qs(query_string).items()}
            if address.startswith(PAGE_URI_PREFIX):
                page_id = unquote(address.removeprefix(PAGE_URI_PREFIX))
                contents = await self._read_page(caller, params.uri, page_id, query)
            elif address.startswith(_FILE_URI_PREFIX):
                resource_id = address.removeprefix(_FILE_URI_PREFIX)
                contents = [await self._read_file(caller, params.uri, resource_id, query)]
            else:
                raise NotFoundError("resource")
        return types.ReadResourceResult(contents=contents)

    async def _read_page(
        self, caller: McpCaller, uri: str, page_id: str, query: dict[str, str]
    ) -> list[types.TextResourceContents | types.BlobResourceContents]:
        """Return the text and the images of a page, at the level in `query` or else at level 0."""
        level = parse_level(query.get("level", "0"))
        if level is None:
            raise InvalidPayloadError("The level is one of 0 to 3.")
        options = RenderOptions(
            count_tokens=False, protocol_version=_REVISION_WITHOUT_LINKS, max_bytes=_MAX_READ_BYTES
        )
        render_query = RenderQuery("mcp", options)
        rendered = await self.services[Renders].render_page(
            caller.project_id, page_id, level, render_query, tool_call_id=None
        )
        text, *blocks = (await _read_rendering(rendered, caller))["messages"][0]["content"]
        images = [block for block in blocks if block["type"] == "image"]
        return [_convert_block(uri, block) for block in (text, *images)]

    async def _read_file(
        self, caller: McpCaller, uri: str, resource_id: str, query: dict[str, str]
    ) -> types.TextResourceContents | types.BlobResourceContents:
        """Return a text as text, any other file as base64.

        If the query has `lines`, such as `lines=10-40`, only these lines of a text are returned.
        """
        project_id = caller.project_id
        resource = await self.services[Resources].get(project_id, resource_id)
        mime_type = resource.mime_type
        if is_textual(mime_type) and "lines" in query:
            lines = await self._read_lines(project_id, resource, query["lines"])
            return types.TextResourceContents(uri=uri, mime_type=mime_type, text=lines)
        if resource.size_bytes > _MAX_READ_BYTES:
            raise PayloadTooLargeError(
                f"The resource has {resource.size_bytes} bytes, and {_MAX_READ_BYTES} are sent at "
                "once. Read a text by `?lines=1-1000`, anything else over HTTP."
            )
        await caller.reserve_memory(_RESPONSE_COPIES * base64_length(resource.size_bytes))
        data = await read_whole(self.services[BlobStore], project_id, resource.digest)
        if is_textual(mime_type):
            text = decode_text(data)
            return types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)
        blob = base64.b64encode(data).decode()
        return types.BlobResourceContents(uri=uri, mime_type=mime_type, blob=blob)

    async def _read_lines(self, project_id: str, resource: Resource, range_text: str) -> str:
        """Return the lines of a text in a range such as `10-40`.

        `ResourceTexts` returns up to 64 KiB at once, so the range is read in several pieces.
        """
        lines = parse_line_range(range_text)
        if lines is None:
            raise InvalidPayloadError("The lines are a range such as 10-40 or 100-.")
        remaining_lines = lines
        pieces: list[str] = []
        size_bytes = 0
        while True:
            query = await self.services[ResourceTexts].find(
                project_id, resource.resource_id, TextQuery(lines=remaining_lines)
            )
            piece = await query.read()
            record = json.loads(
                encode_text_piece(piece.resource, piece.total_lines, piece.found, piece.charset)
            )
            size_bytes += len(record["text"].encode())
            if size_bytes > _MAX_LINES_BYTES:
                raise PayloadTooLargeError(
                    f"These lines have more than {_MAX_LINES_BYTES} bytes, which are the most "
                    f"that are sent at once. Ask for those before line {record['from']} first."
                )
            pieces.append(record["text"])
            if record["nextLine"] is None:
                return "\n".join(pieces)
            remaining_lines = LineRange(record["nextLine"], lines.last)

    async def _listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Send notifications of the changes that a client subscribes to, until it disconnects."""
        caller = self.caller_of(context).caller
        if context.request is not None:
            # This response is an endless stream, so it does not count as a concurrent request.
            context.request.state.slot.release()
        with _translate_errors():
            for uri in params.notifications.resource_subscriptions or ():
                check_uri(uri)
            return await send_notifications(self.services, caller, context, params.notifications)

    async def _list_and_watch(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """List the resources; from then on, notify a host over pipes of changes of the list."""
        assert self.subscriptions is not None  # noqa: S101 - registered only with subscriptions
        if context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS:
            with _translate_errors():
                await self.subscriptions.watch(context)
        return await self._list_resources(context, params)


# Errors in the parameters of a request; all others are internal errors.
_CLIENT_ERRORS = (
    NotFoundError,
    MalformedRequestError,
    InvalidJsonError,
    InvalidPayloadError,
    PayloadTooLargeError,
)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Translate an error of the service that the block raises into an error of MCP."""
    try:
        yield
    except _CLIENT_ERRORS as exc:
        raise MCPError(types.INVALID_PARAMS, exc.detail) from exc
    except PagefaultError as exc:
        raise MCPError(types.INTERNAL_ERROR, exc.detail) from exc


def _refuse_call(reason: str) -> types.CallToolResult:
    """Return the tool result for a call that was not run, and is not in the session's history."""
    content = types.TextContent(type="text", text=f"The call was not run: {reason}.")
    return types.CallToolResult(content=[content], is_error=True)


def _parse_tool_call(request_body: JsonValue, limits: Limits) -> ToolCallRequest | None:
    """Return the call of a model; `None` if its arguments have an infinite number or NaN.

    A long call takes long to parse, so `LargeWork` runs this in a thread.

    Raises:
        InvalidPayloadError, PayloadTooLargeError: The call cannot be run.
    """
    try:
        body = json_bytes(request_body)
    except ValueError:
        return None
    return read_tool_call(body, limits=limits)


async def _list_templates(
    _context: Context, _params: types.PaginatedRequestParams | None
) -> types.ListResourceTemplatesResult:
    templates = [
        types.ResourceTemplate(
            name="page",
            uri_template=PAGE_URI_PREFIX + "{page_id}{?level}",
            description="A memory page; level 0 is the whole page, 3 a reference to it.",
        ),
        types.ResourceTemplate(
            name="resource",
            uri_template=_FILE_URI_PREFIX + "{resource_id}{?lines}",
            description="A stored file; of a text, lines such as 10-40.",
        ),
    ]
    return types.ListResourceTemplatesResult(resource_templates=templates)


def _add_session_parameter(tool: JsonValue, default: str) -> JsonValue:
    """Return a tool's definition with one more parameter, `session`.

    Args:
        tool: The definition.
        default: The session of calls whose `session` is null.
    """
    assert isinstance(tool, dict)  # noqa: S101 - `write_tools` returns objects
    schema: Any = tool["inputSchema"]
    text = f'A name for your conversation, the same in all calls, such as trip-2; null: "{default}"'
    session = {"type": ["string", "null"], "description": text}
    properties = {**schema["properties"], "session": session}
    return {
        **tool,
        "inputSchema": {**schema, "properties": properties, "required": [*properties]},
    }


def _describe_page(page: StoredPage) -> types.Resource:
    """Return a page's entry in the list of resources."""
    descriptor: dict[str, Any] = read_descriptor(page)
    fields = read_fields(descriptor)
    return types.Resource(
        uri=format_page_uri(page.page_id),
        name=page.page_id,
        title=(fields.caption or fields.hint or "")[:200] or None,
        description=f"A memory page: {fields.modality}, {fields.page_type}.",
        mime_type="text/plain" if fields.modality == "text" else fields.mime_type,
    )


def _convert_block(
    uri: str, block: dict[str, Any]
) -> types.TextResourceContents | types.BlobResourceContents:
    """Return a block of a rendered page, a text or an image, as contents of a resource."""
    if block["type"] == "text":
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=block["text"])
    return types.BlobResourceContents(uri=uri, mime_type=block["mimeType"], blob=block["data"])


async def _read_rendering(rendered: RenderedBody, caller: McpCaller) -> Any:  # noqa: ANN401 - any JSON
    """Return the parsed JSON of a rendering, after reserving memory to serialise it again."""
    await caller.reserve_memory(_RESPONSE_COPIES * rendered.rendering.size_bytes)
    rendered.record_delivery()
    async with aclosing(rendered.chunks()) as chunks:
        return json.loads(b"".join([chunk async for chunk in chunks]))
