"""The OpenAI Agents SDK: `Agent(tools=[remember(tool, session), …])`.

`PagefaultSession` is a session of the SDK, and `memory_tools` are the tools of the memory. The
module needs `pagefault-client[openai-agents]`.
"""

import copy
import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, Unpack, cast

from agents import (
    Agent,
    FunctionTool,
    ModelResponse,
    RunContextWrapper,
    RunHooks,
    Tool,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
    TResponseInputItem,
    function_tool,
)
from agents.memory.session import SessionABC
from agents.tool_context import ToolContext

from pagefault_client import AsyncMemory, AsyncSession
from pagefault_client.adapters.record import AsyncRecorder
from pagefault_client.options import SessionRenderOptions
from pagefault_client.tool_calls import ToolCall

ToolOutput: TypeAlias = ToolOutputText | ToolOutputImage | ToolOutputFileContent
Invoke: TypeAlias = Callable[[ToolContext[Any], str], Awaitable[Any]]


class PagefaultSession(AsyncRecorder, SessionABC, RunHooks[Any]):
    """A session of the SDK: `Runner.run(agent, "…", session=session, hooks=session)`.

    Without `hooks=session`, the SDK saves calls after their tools have run.

    Args:
        session: The session with the history.
        options: Options of its renderings; with `max_tokens`, a long history is shortened.
    """

    def __init__(self, session: AsyncSession, **options: Unpack[SessionRenderOptions]) -> None:
        super().__init__(session, **options)
        self.session_id = session.id

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items of the history, or the newest ones."""
        items = cast("list[TResponseInputItem]", await self.load("openai-responses"))
        return items if limit is None else items[max(0, len(items) - limit) :]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items; results of `remember` and of memory tools are stored already."""
        if items:
            await self.save(items)

    async def on_llm_end(
        self, context: RunContextWrapper[Any], agent: Agent[Any], response: ModelResponse
    ) -> None:
        """Append the calls of a model before they are run, with what it said before them."""
        if any("call_id" in item for item in response.to_input_items()):
            await self.save(response.to_input_items())

    async def pop_item(self) -> TResponseInputItem | None:
        """Refuse to remove an item.

        Raises:
            NotImplementedError: Always: entries of a history never change.
        """
        raise NotImplementedError("entries of a history never change: continue with `session.fork`")

    async def clear_session(self) -> None:
        """Delete the session with its history and its pages."""
        await self.clear()


async def memory_tools(session: AsyncSession | AsyncRecorder) -> list[Tool]:
    """Return the tools with which a model reads and writes its memory."""
    memory = AsyncMemory(session)

    def make(name: str, description: str, schema: dict[str, Any]) -> FunctionTool:
        async def invoke(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
            call = ToolCall(name, context.tool_call_id, arguments)
            return await memory.call_tool(call, _outputs_of, target="openai-responses")

        return FunctionTool(name, description, schema, invoke)

    return [make(*definition) for definition in await memory.list_tools()]


def remember(
    tool: FunctionTool | Callable[..., Any], session: AsyncSession | AsyncRecorder
) -> FunctionTool:
    """Return a tool whose calls and results, including images, are stored in a session.

    If the function raises an exception, the exception is stored, and the SDK handles it as before.

    Args:
        tool: A tool, or a function as `function_tool` takes it.
        session: The session in which to store the results; the `PagefaultSession` of the run, if
            it has one.
    """
    inner = tool if isinstance(tool, FunctionTool) else function_tool(tool)
    return dataclasses.replace(inner, on_invoke_tool=_store_results(inner, AsyncMemory(session)))


def _store_results(tool: FunctionTool, memory: AsyncMemory) -> Invoke:
    async def invoke(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the SDK's
        call, errors = ToolCall(tool.name, context.tool_call_id, arguments), list[Exception]()
        try:
            result = await _record_errors(tool.on_invoke_tool, errors)(context, arguments)
        except Exception as error:
            await memory.store_error(call.name, call.call_id, error, arguments)
            raise
        if errors:
            # The SDK has converted the exception to a result for the model.
            await memory.store_error(call.name, call.call_id, errors[-1], arguments)
            return result
        return await memory.store_and_convert(
            call,
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


def _outputs_of(content: str | list[object]) -> str | list[ToolOutput]:
    """Convert the content of a rendered result to the types of the SDK."""
    return content if isinstance(content, str) else [output_of(block) for block in content]


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
