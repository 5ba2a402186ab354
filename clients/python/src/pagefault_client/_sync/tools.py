"""The tools of the memory."""

# Written by generate.py from `_async/`; change that.

from collections.abc import Iterable

from pagefault_client import models, operations
from pagefault_client._sync.transport import Transport
from pagefault_client.options import Target


class Tools:
    """What a model gets to use its memory."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def list(self, target: Target, *, only: Iterable[str] | None = None) -> models.ToolDefinitions:
        """Return the definitions in the dialect of a provider, as its request takes them."""
        picked = None if only is None else ",".join(only)
        return self._transport.send(operations.list_tools(target=target, only=picked))

    def instructions(self, *, style: models.InstructionStyle = "strict") -> str:
        """Return the rules that a model needs to use the memory well."""
        return self._transport.send(operations.get_tool_instructions(style=style))
