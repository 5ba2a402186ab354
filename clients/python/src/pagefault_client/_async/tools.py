"""The tools of the memory."""

from collections.abc import Iterable

from pagefault_client import models, operations
from pagefault_client._async.transport import AsyncTransport
from pagefault_client.options import Target


class AsyncTools:
    """What a model gets to use its memory."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def list(
        self, target: Target, *, only: Iterable[str] | None = None
    ) -> models.ToolDefinitions:
        """Return the definitions in the dialect of a provider, as its request takes them."""
        picked = None if only is None else ",".join(only)
        return await self._transport.send(operations.list_tools(target=target, only=picked))

    async def instructions(self, *, style: models.InstructionStyle = "strict") -> str:
        """Return the rules that a model needs to use the memory well."""
        return await self._transport.send(operations.get_tool_instructions(style=style))
