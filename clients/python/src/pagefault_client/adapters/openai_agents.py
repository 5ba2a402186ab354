"""The OpenAI Agents SDK: `Agent(tools=[remember(tool, session), …])`.

It needs `pagefault-client[openai-agents]`.
"""

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

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


def remember(tool: FunctionTool | Callable[..., Any], session: AsyncSession) -> FunctionTool:
    """Return a tool whose results are stored in a session, images of them included.

    Args:
        tool: A tool, or a function as `function_tool` takes it.
        session: Where the results belong.
    """
    inner = tool if isinstance(tool, FunctionTool) else function_tool(tool)
    memory = AsyncMemory(session, target="openai-responses")
    return dataclasses.replace(inner, on_invoke_tool=_remembering(inner, memory))


def _remembering(
    tool: FunctionTool, memory: AsyncMemory
) -> Callable[[ToolContext[Any], str], Awaitable[Any]]:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
        try:
            result = await tool.on_invoke_tool(context, arguments)
        except Exception as error:
            await memory.keep_error(tool.name, context.tool_call_id, error)
            raise
        shown = await memory.keep(tool.name, context.tool_call_id, result)
        return [output_of(block) for block in shown] if isinstance(shown, list) else shown

    return invoke


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
