"""Storage of tool results, and their renderings for a model."""

import functools
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pagefault_client._async.recorder import AsyncRecorder
from pagefault_client._async.sessions import AsyncSession
from pagefault_client.errors import ConflictError
from pagefault_client.models import RenderedToolResult
from pagefault_client.rendered_content import WrapTarget, check_target, extract_content
from pagefault_client.tool_calls import ToolCall

logger = logging.getLogger("pagefault_client")

UNAVAILABLE = "The memory is not available at the moment. Go on without it, or try again later."


class AsyncMemory:
    """The tool results of a session, as `wrap` and the adapters store and render them.

    Args:
        session: The session in which to store the results, or its recorder, which stores the calls.
        name: The name of the tool, if it is always the same.
        target: The format of the content that `remember` returns. Default: `mcp` for MCP results,
            else `text`.

    Raises:
        ValueError: The target is unknown, or splits a result over several messages.
    """

    def __init__(
        self,
        session: AsyncSession | AsyncRecorder,
        *,
        name: str | None = None,
        target: WrapTarget | None = None,
    ) -> None:
        self.session = session if isinstance(session, AsyncSession) else session.session
        self.target = check_target(target)
        self._name = name
        self._recorder = None if isinstance(session, AsyncSession) else session

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

    async def remember(
        self,
        name: str,
        call_id: str,
        result: Any,  # noqa: ANN401 - the tool's
        arguments: Any = None,  # noqa: ANN401 - JSON
    ) -> Any:  # noqa: ANN401
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
            ToolCall(name, call_id, arguments), result, convert, target=target, fallback=result
        )

    async def store_and_convert(
        self,
        call: ToolCall,
        result: Any,  # noqa: ANN401 - the tool's
        convert: Callable[[RenderedToolResult, Any], Any],
        *,
        target: WrapTarget,
        fallback: Any,  # noqa: ANN401
        success: bool = True,
    ) -> Any:  # noqa: ANN401
        """Store a result, render it, and convert the rendering to the value that a framework needs.

        Args:
            call: The call.
            result: The result of the tool.
            convert: Returns the value for the framework, given the record and the rendered content.
            target: The format of the rendered content.
            fallback: The value to return if storing, rendering or converting fails.
            success: False for an error of the tool.
        """
        record = await self.store(call, result, success=success, target=target)
        if record is None:
            return fallback
        try:
            return convert(record, extract_content(record["rendering"]))
        except Exception as error:  # noqa: BLE001 - a proxy may have answered with other JSON
            logger.warning(
                "the result of %s (%s) is not shown from its record: %r",
                *(call.name, call.call_id, error),
            )
            return fallback

    async def store_error(
        self,
        name: str,
        call_id: str,
        error: Exception,
        arguments: Any = None,  # noqa: ANN401 - JSON
    ) -> None:
        """Store the error of a tool."""
        call = ToolCall(name, call_id, arguments)
        await self.store(call, f"{type(error).__name__}: {error}", success=False)

    async def store(
        self,
        call: ToolCall,
        result: Any,  # noqa: ANN401 - the tool's
        *,
        success: bool = True,
        target: WrapTarget | None = None,
    ) -> RenderedToolResult | None:
        """Store a result, and return its record with the rendering; None if storing fails.

        The call is stored before its result if its arguments are known, unless a recorder stores
        it. If a framework has retried the tool, all attempts are stored, the last one as last.
        """
        send = functools.partial(
            self.session.tool_result,
            *(call.name, call.call_id, result),
            success=success,
            render=target,
            handles=True,
        )
        try:
            if self._recorder is None:
                return await send(call_message=call.message())
            return await _store_recorded(self._recorder, call, send)
        except Exception as error:  # noqa: BLE001 - a tool may return values that cannot be serialised
            logger.warning(
                "the result of %s (%s) is not stored: %s", call.name, call.call_id, error
            )
            return None

    async def list_tools(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Return the name, description and JSON schema of each memory tool."""
        tools: Any = (await self.session.tools.list("pydantic-ai"))["tools"]
        return [
            (tool["name"], tool["description"], tool["parameters_json_schema"]) for tool in tools
        ]

    async def call_tool(
        self, call: ToolCall, convert: Callable[[Any], Any], *, target: WrapTarget
    ) -> Any:  # noqa: ANN401 - the framework's
        """Run a call of a memory tool, and return its answer as a value for a framework."""
        try:
            rendering = await self.session.call_tool(
                *(target, call.call_id, call.name, call.arguments),
                call_follows=self._recorder is not None,
            )
            return convert(extract_content(rendering))
        except Exception as error:  # noqa: BLE001 - a proxy may have answered with other JSON
            logger.warning("the memory did not answer %s: %s", call, error)
            return UNAVAILABLE


async def _store_recorded(
    recorder: AsyncRecorder, call: ToolCall, send: Callable[..., Any]
) -> RenderedToolResult:
    """Store a result whose call is recorded later."""
    if call.call_id in recorder.unsaved_calls:
        # The framework repeats the call. The earlier attempt gets a message of its own.
        await recorder.session.append(call.message() or {})
        record: RenderedToolResult = await send(new_call=True)
        return record
    try:
        record = await send()
    except ConflictError as error:
        if error.code != "tool-call-answered":
            raise
        # The host numbers its calls anew in each run.
        record = await send(new_call=True)
    recorder.unsaved_calls.add(call.call_id)
    return record
