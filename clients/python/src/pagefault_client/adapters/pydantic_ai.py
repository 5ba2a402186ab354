"""Pydantic AI: `Agent(toolsets=[RememberingToolset(toolset, session), …])`.

Any toolset can be wrapped, including functions and MCP servers. The module needs
`pagefault-client[pydantic-ai]`.
"""

import base64
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic_ai import (
    ApprovalRequired,
    BinaryContent,
    CallDeferred,
    FileUrl,
    RunContext,
    ToolReturn,
    UploadedFile,
)
from pydantic_ai.toolsets import ToolsetTool, WrapperToolset

from pagefault_client import AsyncMemory, AsyncSession
from pagefault_client.models import RenderedToolResult, SanitizedToolResult


@dataclass
class RememberingToolset(WrapperToolset[Any]):
    """A toolset whose results are stored in a session.

    The `metadata` of a result is its record. If a tool returns a `ToolReturn` with a mapping as
    `metadata`, the record is added to it as the member `pagefault`. Metadata of other types are
    kept; the record can then be found by the id of the call.
    """

    session: AsyncSession

    async def call_tool(
        self,
        name: str,
        tool_args: dict[str, Any],
        ctx: RunContext[Any],
        tool: ToolsetTool[Any],
    ) -> Any:  # noqa: ANN401 - Pydantic AI's
        """Run a tool, store its result, and return the rendered result."""
        memory = AsyncMemory(self.session)
        call_id = ctx.tool_call_id or f"call_{uuid.uuid4().hex}"
        try:
            result = await super().call_tool(name, tool_args, ctx, tool)
        except (ApprovalRequired, CallDeferred):
            # The call continues later, under the same id.
            raise
        except Exception as error:
            await memory.store_error(name, call_id, error)
            raise

        def convert(record: RenderedToolResult, content: dict[str, Any]) -> ToolReturn:
            value = result.return_value if isinstance(result, ToolReturn) else result
            if not has_links(value):
                value = [value_of(block) for block in content["content"]]
            return ToolReturn(
                return_value=value,
                content=result.content if isinstance(result, ToolReturn) else None,
                metadata=_metadata(result, record["sanitized"]),
            )

        return await memory.store_and_convert(
            name, call_id, raw_of(result), convert, target="mcp", fallback=result
        )


def _metadata(result: object, record: SanitizedToolResult) -> object:
    metadata = result.metadata if isinstance(result, ToolReturn) else None
    if metadata is None:
        return record
    return {**metadata, "pagefault": record} if isinstance(metadata, Mapping) else metadata


def has_links(value: object) -> bool:
    """Return whether a value has media by URL, which are not stored."""
    if isinstance(value, dict):
        return any(map(has_links, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_links, value))
    return isinstance(value, FileUrl | UploadedFile)


def raw_of(result: object) -> object:
    """Convert the media of Pydantic AI in a result to data URIs with their types."""
    if isinstance(result, FileUrl):
        return result.url
    if isinstance(result, ToolReturn):
        return raw_of(result.return_value)
    if isinstance(result, BinaryContent):
        return result.data_uri
    if isinstance(result, list | tuple):
        return [raw_of(item) for item in result]
    if isinstance(result, dict):
        return {name: raw_of(value) for name, value in result.items()}
    return result


def value_of(block: dict[str, Any]) -> str | BinaryContent:
    """Convert an MCP block to the type of Pydantic AI."""
    if block["type"] in {"image", "audio"}:
        data = base64.b64decode(block["data"])
        return BinaryContent(data=data, media_type=block["mimeType"])
    if block["type"] == "resource_link":
        return f"[{block.get('name') or 'file'}: {block['uri']}]"
    return str(block.get("text") or block.get("resource", {}).get("text") or "")
