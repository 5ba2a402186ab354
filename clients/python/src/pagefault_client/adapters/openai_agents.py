"""The OpenAI Agents SDK: `Agent(tools=[remember(tool, session), …])`.

The module needs `pagefault-client[openai-agents]`.
"""

import copy
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from agents import (
    FunctionTool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    function_tool,
)
from agents.tool_context import ToolContext

from pagefault_client import AsyncMemory, AsyncSession

ToolOutput: TypeAlias = ToolOutputText | ToolOutputImage | ToolOutputFileContent
Invoke: TypeAlias = Callable[[ToolContext[Any], str], Awaitable[Any]]


def remember(tool: FunctionTool | Callable[..., Any], session: AsyncSession) -> FunctionTool:
    """Return a tool whose results, including images, are stored in a session.

    If the function raises an exception, the exception is stored, and the SDK handles it as before.

    Args:
        tool: A tool, or a function as `function_tool` takes it.
        session: The session in which to store the results.
    """
    inner = tool if isinstance(tool, FunctionTool) else function_tool(tool)
    return dataclasses.replace(inner, on_invoke_tool=_store_results(inner, AsyncMemory(session)))


def _store_results(tool: FunctionTool, memory: AsyncMemory) -> Invoke:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
        errors: list[Exception] = []
        try:
            result = await _record_errors(tool.on_invoke_tool, errors)(context, arguments)
        except Exception as error:
            await memory.store_error(tool.name, context.tool_call_id, error)
            raise
        if errors:
            # The SDK has converted the exception to a result for the model.
            await memory.store_error(tool.name, context.tool_call_id, errors[-1])
            return result
        return await memory.store_and_convert(
            tool.name,
            context.tool_call_id,
            result,
            lambda _, content: result if _has_file_ids(result) else _outputs_of(content),
            target="openai-responses",
            fallback=result,
        )

    return invoke


def _has_file_ids(result: object) -> bool:
    """Return whether a result has files that are stored by the provider."""
    listed = result if isinstance(result, list | tuple) else [result]
    return any(
        item.get("file_id") if isinstance(item, dict) else getattr(item, "file_id", None)
        for item in listed
    )


def _outputs_of(content: str | list[object]) -> str | list[ToolOutput]:
    """Convert the content of a rendered result to the types of the SDK."""
    return content if isinstance(content, str) else [output_of(block) for block in content]


def _record_errors(invoke: Invoke, errors: list[Exception]) -> Invoke:
    """Return a copy of a tool's `on_invoke_tool` that records the exceptions of its function.

    The object from `function_tool` converts exceptions to results itself, so a wrapper around it
    cannot see them; the function inside it is wrapped instead. Tools that were written by hand
    have no such function and do not convert exceptions.
    """
    inner: Invoke | None = getattr(invoke, "_invoke_tool_impl", None)
    if inner is None:
        return invoke
    function = inner

    async def invoke_and_record(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
        try:
            return await function(context, arguments)
        except Exception as error:
            errors.append(error)
            raise

    recording: Any = copy.copy(invoke)
    recording._invoke_tool_impl = invoke_and_record
    return cast("Invoke", recording)


def output_of(block: object) -> ToolOutput:
    """Convert a block of `function_call_output` to the type of the SDK."""
    match block:
        case {"type": "input_text", "text": str(text)}:
            return ToolOutputText(text=text)
        case {"type": "input_image", "image_url": str(url), **rest}:
            return ToolOutputImage(image_url=url, detail=rest.get("detail"))
        case {"type": "input_file", **rest}:
            fields = {name: rest.get(name) for name in ("file_data", "file_url", "filename")}
            return ToolOutputFileContent(**fields)
    return ToolOutputText(text=str(block))
