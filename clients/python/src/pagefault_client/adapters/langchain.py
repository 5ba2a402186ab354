"""LangChain and LangGraph: `create_agent(tools=[remember(tool, session), …])`.

The tool message has the rendered content for the model. Its `artifact` is the stored record; if the
tool returns an artifact of its own, the record is `response_metadata["pagefault"]` instead. The
module needs `pagefault-client[langchain]`.
"""

import copy
import functools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio.to_thread
from langchain_core.messages.tool import ToolMessage, ToolOutputMixin
from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from pagefault_client import AsyncMemory, AsyncSession, Memory, Session
from pagefault_client.models import RenderedToolResult


@dataclass(slots=True)
class _Outcome:
    """The outcome of a tool call, before LangChain converts it to a message.

    Attributes:
        is_result: The tool returned `value`.
        error: The exception of the tool, even if `handle_tool_error` converts it to a result.
    """

    call_id: str
    is_result: bool = False
    value: Any = None
    error: Exception | None = None


_outcome: ContextVar[_Outcome | None] = ContextVar("_outcome", default=None)


class RememberedTool(BaseTool):
    """A tool whose results are stored in a session.

    The inner tool runs unchanged, with the arguments that LangChain injects and its own handling of
    errors. An `AsyncSession` supports `ainvoke` only, a `Session` supports `invoke` as well.
    """

    inner: BaseTool
    memory: Any

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        """Run the tool, store its result, and return the rendered result.

        Raises:
            TypeError: The session is an `AsyncSession`.
        """
        if not isinstance(self.memory, Memory):
            raise TypeError(
                "a tool with an AsyncSession is asynchronous: use `ainvoke`, or a Session"
            )
        with _expect_outcome(kwargs.get("tool_call_id")) as outcome:
            try:
                output = self.inner.run(tool_input, *args, **kwargs)
            except Exception as error:
                if not _is_pause(error):
                    self.memory.store_error(self.name, outcome.call_id, error)
                raise
        return self._store_and_convert(outcome, output)

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Run the tool; see `run`."""
        with _expect_outcome(kwargs.get("tool_call_id")) as outcome:
            try:
                output = await self.inner.arun(tool_input, *args, **kwargs)
            except Exception as error:
                if not _is_pause(error):
                    await self._await(self.memory.store_error, self.name, outcome.call_id, error)
                raise
        return await self._await(self._store_and_convert, outcome, output)

    def _run(self, **arguments: Any) -> Any:  # noqa: ANN401 - LangChain's
        return self.run(arguments)

    async def _arun(self, **arguments: Any) -> Any:  # noqa: ANN401 - LangChain's
        return await self.arun(arguments)

    def _store_and_convert(self, outcome: _Outcome, output: Any) -> Any:  # noqa: ANN401 - LangChain's
        """Store an outcome, and return the output for the model (with AsyncMemory, awaitable)."""
        result, success = _result_of(self.inner, outcome, output)
        return self.memory.store_and_convert(
            self.name,
            outcome.call_id,
            result,
            functools.partial(_output_of, output, outcome),
            target="langchain",
            success=success,
            fallback=output,
        )

    async def _await(self, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
        if isinstance(self.memory, Memory):
            return await anyio.to_thread.run_sync(function, *arguments)
        return await function(*arguments)


def remember(tool: BaseTool | Callable[..., Any], session: AsyncSession | Session) -> BaseTool:
    """Return a tool whose results are stored in a session.

    Args:
        tool: A tool, or a function as `langchain_core.tools.tool` takes it.
        session: The session in which to store the results.
    """
    inner: BaseTool = tool if isinstance(tool, BaseTool) else as_tool(tool)
    memory = Memory(session) if isinstance(session, Session) else AsyncMemory(session)
    return RememberedTool(
        name=inner.name,
        description=inner.description,
        args_schema=inner.args_schema or inner.tool_call_schema,
        response_format=inner.response_format,
        return_direct=inner.return_direct,
        inner=_copy_with_recording(inner),
        memory=memory,
    )


def _is_pause(error: Exception) -> bool:
    """Return whether LangGraph pauses the graph, as with `interrupt()`."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


@contextmanager
def _expect_outcome(call_id: str | None) -> Iterator[_Outcome]:
    """Yield the outcome of the tool call in the block, which is filled in by the tool."""
    outcome = _Outcome(call_id or f"call_{uuid4().hex}")
    token = _outcome.set(outcome)
    try:
        yield outcome
    finally:
        _outcome.reset(token)


def _copy_with_recording(inner: BaseTool) -> BaseTool:
    """Return a copy of a tool that records its results and exceptions.

    They cannot be recorded in `run`, which has already converted bytes to text and errors to
    results.
    """
    recording = copy.copy(inner)
    run: Callable[..., Any] = inner._run
    arun: Callable[..., Awaitable[Any]] = inner._arun

    @functools.wraps(run)
    def run_and_record(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        with _record_outcome() as record:
            return record(run(*args, **kwargs))

    @functools.wraps(arun)
    async def arun_and_record(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        with _record_outcome() as record:
            return record(await arun(*args, **kwargs))

    # pydantic models only allow their fields to be set.
    object.__setattr__(recording, "_run", run_and_record)
    object.__setattr__(recording, "_arun", arun_and_record)
    return recording


@contextmanager
def _record_outcome() -> Iterator[Callable[[Any], Any]]:
    """Yield a function that records and returns a result; record exceptions of the block."""
    outcome = _outcome.get() or _Outcome("")

    def record(value: Any) -> Any:  # noqa: ANN401 - LangChain's
        outcome.is_result, outcome.value = True, value
        return value

    try:
        yield record
    except Exception as error:
        outcome.error = error
        raise


def _result_of(inner: BaseTool, outcome: _Outcome, output: Any) -> tuple[Any, bool]:  # noqa: ANN401
    """Return the result to store for an outcome, and whether it is a success."""
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}", False
    result = outcome.value if outcome.is_result else output
    if outcome.is_result and inner.response_format == "content_and_artifact":
        result = result[0]
    is_error = isinstance(output, ToolMessage) and output.status == "error"
    return result.content if isinstance(result, ToolMessage) else result, not is_error


def _output_of(output: Any, outcome: _Outcome, record: RenderedToolResult, content: Any) -> Any:  # noqa: ANN401
    """Return the output of a tool with the rendered content for the model."""
    if not outcome.is_result:
        return output
    if not isinstance(output, ToolMessage):
        # A LangGraph command or a list of messages is returned unchanged.
        listed = output if isinstance(output, list) else [output]
        is_content = not any(isinstance(item, ToolOutputMixin) for item in listed)
        return content if is_content else output
    stored = record["sanitized"]
    if output.artifact is None:
        return output.model_copy(update={"content": content, "artifact": stored})
    metadata = {**output.response_metadata, "pagefault": stored}
    return output.model_copy(update={"content": content, "response_metadata": metadata})
