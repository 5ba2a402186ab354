"""Stores what tools return, and says what a model should see of it."""

import functools
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pagefault_client._async.sessions import AsyncSession
from pagefault_client.models import RenderedToolResult
from pagefault_client.shown import WrapTarget, checked_target, content_of

logger = logging.getLogger("pagefault_client")


class AsyncMemory:
    """Stores results of tools in a session: `wrap` and the adapters are made of it.

    Args:
        session: Where the results belong.
        name: The name of the tool, if it is always the same.
        target: Whose content `keep` returns; by default that of MCP for results of MCP, else text.

    Raises:
        ValueError: There is no such target, or it has results in more than one message.
    """

    def __init__(
        self,
        session: AsyncSession,
        *,
        name: str | None = None,
        target: WrapTarget | None = None,
    ) -> None:
        self.session = session
        self.target = checked_target(target)
        self._name = name

    def call_of(
        self, tool: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[str, str]:
        """Return the name of a call of a tool, and a new id for it."""
        while isinstance(tool, functools.partial):
            args, kwargs = (*tool.args, *args), {**tool.keywords, **kwargs}
            tool = tool.func
        own = str(getattr(tool, "__name__", type(tool).__name__))
        # Of an MCP client: its first argument is the tool.
        called = (args[0] if args else kwargs.get("name")) if own == "call_tool" else None
        return self._name or (str(called) if called else own), f"call_{uuid.uuid4().hex}"

    async def keep(self, name: str, call_id: str, result: Any) -> Any:  # noqa: ANN401 - the tool's
        """Store a result, and return what the model should see; the result itself if that fails.

        What an MCP server asks for before it goes on (`InputRequiredResult`) is no result: it is
        returned as the object that it is, and not stored.
        """
        if getattr(result, "result_type", None) == "input_required":
            return result
        is_mcp = hasattr(result, "model_validate") and hasattr(result, "content")
        target = self.target or ("mcp" if is_mcp else "text")

        def show(_: RenderedToolResult, content: Any) -> Any:  # noqa: ANN401 - the target's
            return type(result).model_validate(content) if is_mcp and target == "mcp" else content

        return await self.store_and_show(
            name, call_id, result, show, target=target, otherwise=result
        )

    async def store_and_show(
        self,
        name: str,
        call_id: str,
        result: Any,  # noqa: ANN401 - the tool's
        show: Callable[[RenderedToolResult, Any], Any],
        *,
        target: WrapTarget,
        otherwise: Any,  # noqa: ANN401
        success: bool = True,
    ) -> Any:  # noqa: ANN401
        """Store a result, and return what a framework should hand to the model.

        Args:
            name: The tool.
            call_id: The id of the call.
            result: What is stored.
            show: Makes the value for the framework from the record and from the content for the
                model.
            target: Whose content it gets.
            otherwise: What is returned if the result could not be stored, or if the answer cannot
                be shown.
            success: False for an error of the tool.
        """
        record = await self.stored(name, call_id, result, success=success, target=target)
        if record is None:
            return otherwise
        try:
            return show(record, content_of(record["rendering"]))
        except Exception as error:  # noqa: BLE001 - a proxy may have answered with other JSON
            logger.warning(
                "the result of %s (%s) is not shown from its record: %r", name, call_id, error
            )
            return otherwise

    async def keep_error(self, name: str, call_id: str, error: Exception) -> None:
        """Store the error of a tool."""
        await self.stored(name, call_id, f"{type(error).__name__}: {error}", success=False)

    async def stored(
        self,
        name: str,
        call_id: str,
        result: Any,  # noqa: ANN401 - the tool's
        *,
        success: bool = True,
        target: WrapTarget | None = None,
    ) -> RenderedToolResult | None:
        """Return the record of a result with its rendering, or None if it could not be stored."""
        try:
            return await self.session.tool_result(
                name, call_id, result, success=success, render=target, handles=True
            )
        except Exception as error:  # noqa: BLE001 - a tool may return what nothing can write down
            logger.warning("the result of %s (%s) is not stored: %s", name, call_id, error)
            return None
