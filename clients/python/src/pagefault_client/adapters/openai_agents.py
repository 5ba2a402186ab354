"""The OpenAI Agents SDK: `Agent(tools=[remember(tool, session), …])`.

It needs `pagefault-client[openai-agents]`.
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
    """Return a tool whose results are stored in a session, images of them included.

    If the function raises, its error is stored, and the model sees what the SDK makes of it.

    Args:
        tool: A tool, or a function as `function_tool` takes it.
        session: Where the results belong.
    """
    inner = tool if isinstance(tool, FunctionTool) else function_tool(tool)
    return dataclasses.replace(inner, on_invoke_tool=_remembering(inner, AsyncMemory(session)))


def _remembering(tool: FunctionTool, memory: AsyncMemory) -> Invoke:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
        errors: list[Exception] = []
        try:
            result = await _heard(tool.on_invoke_tool, errors)(context, arguments)
        except Exception as error:
            await memory.keep_error(tool.name, context.tool_call_id, error)
            raise
        if errors:
            # The SDK has made an answer for the model of it.
            await memory.keep_error(tool.name, context.tool_call_id, errors[-1])
            return result
        return await memory.store_and_show(
            tool.name,
            context.tool_call_id,
            result,
            lambda _, content: result if _has_file_ids(result) else _outputs_of(content),
            target="openai-responses",
            otherwise=result,
        )

    return invoke


def _has_file_ids(result: object) -> bool:
    """Return whether a result has files that the provider stores, and that only it can read."""
    listed = result if isinstance(result, list | tuple) else [result]
    return any(
        each.get("file_id") if isinstance(each, dict) else getattr(each, "file_id", None)
        for each in listed
    )


def _outputs_of(content: str | list[object]) -> str | list[ToolOutput]:
    """Return the output of a rendered call as the SDK has it."""
    return content if isinstance(content, str) else [output_of(block) for block in content]


def _heard(invoke: Invoke, errors: list[Exception]) -> Invoke:
    """Return what invokes a tool, and notes what the function raised.

    The SDK makes an answer of an error, within what `function_tool` returns. What is around that
    does not see the error, so this goes into a copy of it; where there is nothing of the kind, as
    in a tool made by hand, nothing is handled there either.
    """
    inner: Invoke | None = getattr(invoke, "_invoke_tool_impl", None)
    if inner is None:
        return invoke
    called = inner

    async def noted(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
        try:
            return await called(context, arguments)
        except Exception as error:
            errors.append(error)
            raise

    heard: Any = copy.copy(invoke)
    heard._invoke_tool_impl = noted
    return cast("Invoke", heard)


def output_of(block: object) -> ToolOutput:
    """Return a block of `function_call_output` as the SDK has it."""
    match block:
        case {"type": "input_text", "text": str(text)}:
            return ToolOutputText(text=text)
        case {"type": "input_image", "image_url": str(url), **rest}:
            return ToolOutputImage(image_url=url, detail=rest.get("detail"))
        case {"type": "input_file", **rest}:
            named = {name: rest.get(name) for name in ("file_data", "file_url", "filename")}
            return ToolOutputFileContent(**named)
    return ToolOutputText(text=str(block))
