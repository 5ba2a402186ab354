"""LangChain and LangGraph: `create_agent(model, [remember(tool, session), …])`.

`PagefaultChatMessageHistory` is a history, and `memory_tools` are the tools of the memory.

The tool message has the rendered content for the model. Its `artifact` is the stored record; if the
tool returns an artifact of its own, the record is `response_metadata["pagefault"]` instead. The
module needs `pagefault-client[langchain]`.
"""

import copy
import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Unpack
from uuid import uuid4

import anyio.to_thread
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict
from langchain_core.messages.tool import ToolMessage, ToolOutputMixin
from langchain_core.tools import BaseTool, StructuredTool
from langchain_core.tools import tool as as_tool

from pagefault_client import AsyncMemory, AsyncSession, Memory, Session
from pagefault_client.adapters.record import AsyncRecorder, Recorder
from pagefault_client.models import RenderedToolResult
from pagefault_client.options import SessionRenderOptions
from pagefault_client.tool_calls import ToolCall

LOADED = "pagefault-"
"""The beginning of the ids of loaded messages."""


class PagefaultChatMessageHistory(Recorder, BaseChatMessageHistory):
    """A history whose `messages` are rendered within a budget, if `max_tokens` is given."""

    def __init__(self, session: Session, **options: Unpack[SessionRenderOptions]) -> None:
        super().__init__(session, **options)
        self._stored_ids: set[str] = set()

    # Agents accept lists of subclasses only.
    @property
    def messages(self) -> list[Any]:  # type: ignore[override]
        """Return the messages for the next request."""
        loaded = [{**data, "id": f"{LOADED}{uuid4().hex}"} for data in self.load("langchain")]
        return messages_from_dict([{"type": data["type"], "data": data} for data in loaded])

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Append messages. Those that were loaded or appended before are passed over by their ids.

        Results of `remember` and of memory tools are stored already.
        """
        new = [message for message in messages if not self._is_stored(message.id or "")]
        if new:
            self.save(messages_to_dict(new))
        self._stored_ids.update(message.id for message in new if message.id)

    def add_state(self, state: Any, runtime: Any) -> None:  # noqa: ANN401 - LangGraph's
        """Append the messages of a step: `middleware=[after_model(history.add_state)]`."""
        self.add_messages(state["messages"])

    def _is_stored(self, message_id: str) -> bool:
        return message_id.startswith(LOADED) or message_id in self._stored_ids


@dataclass(slots=True)
class _Outcome:
    """The outcome of a tool call, before LangChain converts it to a message.

    Attributes:
        call: The call, without the arguments that LangChain injects.
        is_result: The tool returned `value`.
        error: The exception of the tool, even if `handle_tool_error` converts it to a result.
    """

    call: ToolCall
    is_result: bool = False
    value: Any = None
    error: Exception | None = None


_outcome: ContextVar[_Outcome] = ContextVar("_outcome")


def memory_tools(session: Session | Recorder) -> list[BaseTool]:
    """Return the tools with which a model reads and writes its memory."""
    memory = Memory(session)

    def make(name: str, description: str, schema: dict[str, Any]) -> BaseTool:
        def call(**_: Any) -> Any:  # noqa: ANN401 - content of LangChain
            return memory.call_tool(_outcome.get().call, lambda it: it, target="langchain")

        tool = StructuredTool(name=name, description=description, args_schema=schema, func=call)
        return _replace_runs(tool, lambda _, output: output, is_blocking=True)

    return [make(*definition) for definition in memory.list_tools()]


def remember(
    tool: BaseTool | Callable[..., Any],
    session: AsyncSession | AsyncRecorder | Session | Recorder,
) -> BaseTool:
    """Return a tool whose calls and results are stored in a session.

    It runs as before, with the arguments that LangChain injects and its own handling of errors.

    Args:
        tool: A tool, or a function as `langchain_core.tools.tool` takes it.
        session: The session in which to store the results; the `PagefaultChatMessageHistory` of the
            agent, if it has one. With an `AsyncSession`, the tool supports `ainvoke` only.
    """
    inner: BaseTool = copy.copy(tool) if isinstance(tool, BaseTool) else as_tool(tool)
    memory: Any = (
        Memory(session) if isinstance(session, Session | Recorder) else AsyncMemory(session)
    )

    def store(outcome: _Outcome, output: Any) -> Any:  # noqa: ANN401 - LangChain's
        """Store an outcome, and return the output for the model (with AsyncMemory, awaitable)."""
        result, success = _result_of(inner, outcome, output)
        convert = functools.partial(_output_of, output, outcome)
        return memory.store_and_convert(
            outcome.call, result, convert, target="langchain", fallback=output, success=success
        )

    # `run` has already converted bytes to text and errors to results.
    _replace(inner, "_run", _record_outcome(inner._run))
    _replace(inner, "_arun", _arecord_outcome(inner._arun))
    return _replace_runs(inner, store, is_blocking=isinstance(memory, Memory))


def _replace(tool: BaseTool, name: str, method: Callable[..., Any]) -> None:
    # pydantic models only allow their fields to be set.
    object.__setattr__(tool, name, method)


def _replace_runs(
    tool: BaseTool, store: Callable[[_Outcome, Any], Any], *, is_blocking: bool
) -> BaseTool:
    """Replace the methods of a tool by methods that know the call and store its outcome."""
    run, arun = tool.run, tool.arun

    def run_and_store(tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        if not is_blocking:
            raise TypeError(
                "a tool with an AsyncSession is asynchronous: use `ainvoke`, or a Session"
            )
        with _start_call(tool, tool_input, kwargs) as outcome:
            try:
                output = run(tool_input, *args, **kwargs)
            except Exception as error:
                if _set_error(outcome, error):
                    store(outcome, None)
                raise
        return store(outcome, output)

    async def arun_and_store(tool_input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        async def astore(output: Any) -> Any:  # noqa: ANN401
            if is_blocking:
                return await anyio.to_thread.run_sync(store, outcome, output)
            return await store(outcome, output)

        with _start_call(tool, tool_input, kwargs) as outcome:
            try:
                output = await arun(tool_input, *args, **kwargs)
            except Exception as error:
                if _set_error(outcome, error):
                    await astore(None)
                raise
        return await astore(output)

    _replace(tool, "run", run_and_store)
    _replace(tool, "arun", arun_and_store)
    # Tools with a function that is not asynchronous run `invoke` in a thread instead.
    _replace(tool, "ainvoke", functools.partial(BaseTool.ainvoke, tool))
    return tool


def _set_error(outcome: _Outcome, error: Exception) -> bool:
    """Set the error of a call; return false if LangGraph pauses the graph (`interrupt()`)."""
    outcome.error = error
    return not any(kind.__name__ == "GraphBubbleUp" for kind in type(error).__mro__)


@contextmanager
def _start_call(tool: BaseTool, tool_input: Any, options: dict[str, Any]) -> Iterator[_Outcome]:  # noqa: ANN401
    """Yield the outcome of a call in the block, which is filled in by the tool."""
    arguments = tool_input
    if isinstance(tool_input, dict):
        schema = tool.tool_call_schema
        names = (
            schema.get("properties")
            if isinstance(schema, dict)
            else getattr(schema, "model_fields", None)
        )
        arguments = {
            name: value for name, value in tool_input.items() if names is None or name in names
        }
    call_id = options.get("tool_call_id") or f"call_{uuid4().hex}"
    outcome = _Outcome(ToolCall(tool.name, call_id, arguments))
    token = _outcome.set(outcome)
    try:
        yield outcome
    finally:
        _outcome.reset(token)


def _record_outcome(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def run_and_record(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        with _recorder() as record:
            return record(run(*args, **kwargs))

    return run_and_record


def _arecord_outcome(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    async def run_and_record(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - LangChain's
        with _recorder() as record:
            return record(await run(*args, **kwargs))

    return run_and_record


@contextmanager
def _recorder() -> Iterator[Callable[[Any], Any]]:
    """Yield a function that records and returns a result; record exceptions of the block."""
    outcome = _outcome.get(_Outcome(ToolCall("", "")))

    def record(value: Any) -> Any:  # noqa: ANN401 - LangChain's
        outcome.is_result, outcome.value = True, value
        return value

    try:
        yield record
    except Exception as error:
        outcome.error = error
        raise


def _result_of(inner: BaseTool, outcome: _Outcome, output: Any) -> tuple[Any, bool]:  # noqa: ANN401
    """Return the result to store for an outcome, and whether it is a success.

    Of a LangGraph command, the result is the message that it sends to the model.
    """
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}", False
    result = outcome.value if outcome.is_result else output
    if outcome.is_result and inner.response_format == "content_and_artifact":
        result = result[0]
    update = getattr(result, "update", None) if isinstance(result, ToolOutputMixin) else None
    if isinstance(update, dict):
        messages = [each for each in update.get("messages", ()) if isinstance(each, ToolMessage)]
        result = messages[0] if messages else result
    if isinstance(result, ToolMessage):
        return result.content, result.status != "error"
    return result, not (isinstance(output, ToolMessage) and output.status == "error")


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
