"""LangChain and LangGraph: `create_agent(tools=[remember(tool, session), …])`.

The message has content for the model, and the stored record as its `artifact`
(`response_format="content_and_artifact"`). It needs `pagefault-client[langchain]`.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from pagefault_client import AsyncMemory, AsyncSession, Memory, Session
from pagefault_client.shown import content_of

_call_id: ContextVar[str | None] = ContextVar("_call_id", default=None)


class RememberedTool(BaseTool):
    """A tool whose results are stored in a session.

    With an `AsyncSession` it runs in `ainvoke` alone, with a `Session` in `invoke` as well.
    """

    response_format: Any = "content_and_artifact"
    inner: BaseTool
    memory: Any

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        """Run the tool, and note the id of the call, which `_run` does not get."""
        token = _call_id.set(kwargs.get("tool_call_id"))
        try:
            return super().run(tool_input, *args, **kwargs)
        finally:
            _call_id.reset(token)

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Run the tool; see `run`."""
        token = _call_id.set(kwargs.get("tool_call_id"))
        try:
            return await super().arun(tool_input, *args, **kwargs)
        finally:
            _call_id.reset(token)

    def _run(self, config: RunnableConfig, **arguments: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if not isinstance(self.memory, Memory):
            raise TypeError("a tool of an AsyncSession awaits: use `ainvoke`, or a Session")
        call_id = _call_id.get() or f"call_{uuid4().hex}"
        try:
            result = self.inner.invoke(arguments, config)
        except Exception as error:
            self.memory.keep_error(self.name, call_id, error)
            raise
        record = self.memory.stored(self.name, call_id, result, target="langchain")
        return _shown(record, result, call_id)

    async def _arun(self, config: RunnableConfig, **arguments: Any) -> tuple[Any, Any]:  # noqa: ANN401
        if not isinstance(self.memory, AsyncMemory):
            return self._run(config, **arguments)
        call_id = _call_id.get() or f"call_{uuid4().hex}"
        try:
            result = await self.inner.ainvoke(arguments, config)
        except Exception as error:
            await self.memory.keep_error(self.name, call_id, error)
            raise
        record = await self.memory.stored(self.name, call_id, result, target="langchain")
        return _shown(record, result, call_id)


def remember(tool: BaseTool | Callable[..., Any], session: AsyncSession | Session) -> BaseTool:
    """Return a tool whose results are stored in a session.

    Args:
        tool: A tool, or a function as `langchain_core.tools.tool` takes it.
        session: Where the results belong.
    """
    inner: BaseTool = tool if isinstance(tool, BaseTool) else as_tool(tool)
    memory = Memory(session) if isinstance(session, Session) else AsyncMemory(session)
    return RememberedTool(
        name=inner.name,
        description=inner.description,
        args_schema=inner.args_schema or inner.tool_call_schema,
        inner=inner,
        memory=memory,
    )


def _shown(record: Any, result: Any, call_id: str) -> tuple[Any, Any]:  # noqa: ANN401
    """Return the content for the model and the artifact; the result itself if none is stored."""
    if record is None:
        return result, None
    return content_of(record["rendering"]), record["sanitized"]
