"""LangChain and LangGraph: `create_agent(tools=[remember(tool, session), …])`.

The message is the one of the tool, with content for the model. Its `artifact` is the stored record;
a tool that has an artifact itself keeps it, and the record is `response_metadata["pagefault"]`. It
needs `pagefault-client[langchain]`.
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
    """What a call of a tool came to, before LangChain made a message of it.

    Attributes:
        is_result: Whether `value` is what the tool returned; else it came to nothing.
        error: What the tool raised, also if `handle_tool_error` makes an answer of it.
    """

    call_id: str
    is_result: bool = False
    value: Any = None
    error: Exception | None = None


_outcome: ContextVar[_Outcome | None] = ContextVar("_outcome", default=None)


class RememberedTool(BaseTool):
    """A tool whose results are stored in a session.

    The inner tool runs as it would alone: with what LangChain injects into its arguments, and with
    its own handling of errors. With an `AsyncSession` it runs in `ainvoke` alone, with a `Session`
    in `invoke` as well.
    """

    inner: BaseTool
    memory: Any

    def run(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        """Run the tool, store what it returns, and return what the model should see of it.

        Raises:
            TypeError: The session is an `AsyncSession`.
        """
        if not isinstance(self.memory, Memory):
            raise TypeError("a tool of an AsyncSession awaits: use `ainvoke`, or a Session")
        with _listening(kwargs.get("tool_call_id")) as outcome:
            try:
                output = self.inner.run(tool_input, *args, **kwargs)
            except Exception as error:
                if not _is_pause(error):
                    self.memory.keep_error(self.name, outcome.call_id, error)
                raise
        return self._store_and_show(outcome, output)

    async def arun(self, tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        """Run the tool; see `run`."""
        with _listening(kwargs.get("tool_call_id")) as outcome:
            try:
                output = await self.inner.arun(tool_input, *args, **kwargs)
            except Exception as error:
                if not _is_pause(error):
                    await self._awaited(self.memory.keep_error, self.name, outcome.call_id, error)
                raise
        return await self._awaited(self._store_and_show, outcome, output)

    def _run(self, **arguments: Any) -> Any:  # noqa: ANN401 - LangChain's
        return self.run(arguments)

    async def _arun(self, **arguments: Any) -> Any:  # noqa: ANN401 - LangChain's
        return await self.arun(arguments)

    def _store_and_show(self, outcome: _Outcome, output: Any) -> Any:  # noqa: ANN401 - LangChain's
        """Store an outcome; returns the output for the model, awaited with an `AsyncMemory`."""
        result, success = _result_of(self.inner, outcome, output)
        return self.memory.store_and_show(
            self.name,
            outcome.call_id,
            result,
            functools.partial(_output_of, output, outcome),
            target="langchain",
            success=success,
            otherwise=output,
        )

    async def _awaited(self, function: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
        if isinstance(self.memory, Memory):
            return await anyio.to_thread.run_sync(function, *arguments)
        return await function(*arguments)


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
        response_format=inner.response_format,
        return_direct=inner.return_direct,
        inner=_heard(inner),
        memory=memory,
    )


def _is_pause(error: Exception) -> bool:
    """Return whether LangGraph stops here to go on later, as by `interrupt()`."""
    return any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


@contextmanager
def _listening(call_id: str | None) -> Iterator[_Outcome]:
    """Yield what will hold the outcome of the tool that is called within."""
    outcome = _Outcome(call_id or f"call_{uuid4().hex}")
    token = _outcome.set(outcome)
    try:
        yield outcome
    finally:
        _outcome.reset(token)


def _heard(inner: BaseTool) -> BaseTool:
    """Return a copy of a tool that notes what it returns or raises.

    What `run` returns is too late for that: it has made text of bytes, and an answer of an error.
    """
    heard = copy.copy(inner)
    run: Callable[..., Any] = inner._run
    arun: Callable[..., Awaitable[Any]] = inner._arun

    @functools.wraps(run)
    def noted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        with _noting() as note:
            return note(run(*args, **kwargs))

    @functools.wraps(arun)
    async def anoted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        with _noting() as note:
            return note(await arun(*args, **kwargs))

    # Fields of a model can be set; these are no fields.
    object.__setattr__(heard, "_run", noted)
    object.__setattr__(heard, "_arun", anoted)
    return heard


@contextmanager
def _noting() -> Iterator[Callable[[Any], Any]]:
    """Yield what notes a result and returns it; what is raised within is noted as well."""
    outcome = _outcome.get() or _Outcome("")

    def note(value: Any) -> Any:  # noqa: ANN401 - LangChain's
        outcome.is_result, outcome.value = True, value
        return value

    try:
        yield note
    except Exception as error:
        outcome.error = error
        raise


def _result_of(inner: BaseTool, outcome: _Outcome, output: Any) -> tuple[Any, bool]:  # noqa: ANN401
    """Return what to store of an outcome, and whether it is a success."""
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}", False
    result = outcome.value if outcome.is_result else output
    if outcome.is_result and inner.response_format == "content_and_artifact":
        result = result[0]
    is_error = isinstance(output, ToolMessage) and output.status == "error"
    return result.content if isinstance(result, ToolMessage) else result, not is_error


def _output_of(output: Any, outcome: _Outcome, record: RenderedToolResult, content: Any) -> Any:  # noqa: ANN401
    """Return the output of a tool with the content for the model in it."""
    if not outcome.is_result:
        return output
    if not isinstance(output, ToolMessage):
        # A command of LangGraph, or messages of the tool's own, are more than content.
        listed = output if isinstance(output, list) else [output]
        is_content = not any(isinstance(each, ToolOutputMixin) for each in listed)
        return content if is_content else output
    stored = record["sanitized"]
    if output.artifact is None:
        return output.model_copy(update={"content": content, "artifact": stored})
    beside = {**output.response_metadata, "pagefault": stored}
    return output.model_copy(update={"content": content, "response_metadata": beside})
