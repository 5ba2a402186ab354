"""The memory tools."""

from collections.abc import Iterable

from pagefault_client import models, operations
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.options import Target


class AsyncTools:
    """The definitions and instructions with which a model uses its memory."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(
        self, target: Target, *, only: Iterable[str] | None = None
    ) -> models.ToolDefinitions:
        """Return the tool definitions in the format of a provider's request."""
        names = None if only is None else ",".join(only)
        return await self._transport.send(operations.list_tools(target=target, only=names))

    async def instructions(self, *, style: models.InstructionStyle = "strict") -> str:
        """Return the instructions for a model with memory tools."""
        return await self._transport.send(operations.get_tool_instructions(style=style))
