"""Storage of tool results, and their renderings for a model."""

import functools
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pagefault_client._async.sessions import AsyncSession
from pagefault_client.models import RenderedToolResult
from pagefault_client.rendered_content import WrapTarget, check_target, extract_content

logger = logging.getLogger("pagefault_client")


class AsyncMemory:
    """The tool results of a session, as `wrap` and the adapters store and render them.

    Args:
        session: The session in which to store the results.
        name: The name of the tool, if it is always the same.
        target: The format of the content that `remember` returns. Default: `mcp` for MCP results,
            else `text`.

    Raises:
        ValueError: The target is unknown, or splits a result over several messages.
    """

    def __init__(
        self,
        session: AsyncSession,
        *,
        name: str | None = None,
        target: WrapTarget | None = None,
    ) -> None:
        self.session = session
        self.target = check_target(target)
        self._name = name

    def identify_call(
        self, tool: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> tuple[str, str]:
        """Return the name of the called tool, and a new id for the call."""
        while isinstance(tool, functools.partial):
            args, kwargs = (*tool.args, *args), {**tool.keywords, **kwargs}
            tool = tool.func
        function_name = str(getattr(tool, "__name__", type(tool).__name__))
        mcp_name = None
        if function_name == "call_tool":
            # The first argument of an MCP client's `call_tool` is the name of the tool.
            mcp_name = args[0] if args else kwargs.get("name")
        return self._name or str(mcp_name or function_name), f"call_{uuid.uuid4().hex}"

    async def remember(self, name: str, call_id: str, result: Any) -> Any:  # noqa: ANN401 - the tool's
        """Store a result, and return its rendering for the model; if that fails, the result itself.

        An `InputRequiredResult`, with which an MCP server requests input before it continues, is
        returned unchanged and not stored.
        """
        if getattr(result, "result_type", None) == "input_required":
            return result
        is_mcp = hasattr(result, "model_validate") and hasattr(result, "content")
        target = self.target or ("mcp" if is_mcp else "text")

        def convert(_: RenderedToolResult, content: Any) -> Any:  # noqa: ANN401 - the target's
            return type(result).model_validate(content) if is_mcp and target == "mcp" else content

        return await self.store_and_convert(
            name, call_id, result, convert, target=target, fallback=result
        )

    async def store_and_convert(
        self,
        name: str,
        call_id: str,
        result: Any,  # noqa: ANN401 - the tool's
        convert: Callable[[RenderedToolResult, Any], Any],
        *,
        target: WrapTarget,
        fallback: Any,  # noqa: ANN401
        success: bool = True,
    ) -> Any:  # noqa: ANN401
        """Store a result, render it, and convert the rendering to the value that a framework needs.

        Args:
            name: The name of the tool.
            call_id: The id of the call.
            result: The result of the tool.
            convert: Returns the value for the framework, given the record and the rendered content.
            target: The format of the rendered content.
            fallback: The value to return if storing, rendering or converting fails.
            success: False for an error of the tool.
        """
        record = await self.store(name, call_id, result, success=success, target=target)
        if record is None:
            return fallback
        try:
            return convert(record, extract_content(record["rendering"]))
        except Exception as error:  # noqa: BLE001 - a proxy may have answered with other JSON
            logger.warning(
                "the result of %s (%s) is not shown from its record: %r", name, call_id, error
            )
            return fallback

    async def store_error(self, name: str, call_id: str, error: Exception) -> None:
        """Store the error of a tool."""
        await self.store(name, call_id, f"{type(error).__name__}: {error}", success=False)

    async def store(
        self,
        name: str,
        call_id: str,
        result: Any,  # noqa: ANN401 - the tool's
        *,
        success: bool = True,
        target: WrapTarget | None = None,
    ) -> RenderedToolResult | None:
        """Store a result, and return its record with the rendering; None if storing fails."""
        try:
            return await self.session.tool_result(
                name, call_id, result, success=success, render=target, handles=True
            )
        except Exception as error:  # noqa: BLE001 - a tool may return values that cannot be serialised
            logger.warning("the result of %s (%s) is not stored: %s", name, call_id, error)
            return None
