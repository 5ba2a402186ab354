"""Serve the memory over pipes, for `pagefault mcp`.

The SDK drops a line that it cannot parse, so the host would wait for its response. Such lines are
answered here with an error. Lone surrogates are replaced as in the rest of the service.
"""

from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

import anyio
import mcp_types as types
from mcp.server import NotificationOptions
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from app.config.settings import Settings
from app.features import open_services
from app.models.limits import Limits
from app.services.access.callers import Access, Caller
from pagefault_dialects.errors import PagefaultError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json
from pagefault_mcp.messages.message_limits import LONGEST_METHOD_CHARS
from pagefault_mcp.server.memory_caller import DEFAULT_SESSION, McpCaller
from pagefault_mcp.server.memory_server import MemoryServer
from pagefault_mcp.server.page_changes import HostSubscriptions

_NO_MESSAGE = "This is no message of JSON-RPC: one object with jsonrpc, id, method and params."

Received: TypeAlias = SessionMessage | Exception
"""What the SDK returns for a line: a message, or an error for an invalid one."""


@dataclass(frozen=True, slots=True, eq=False)
class HostMessages:
    """A stream of the valid messages of a host, which answers invalid ones with an error."""

    received: Any
    """The stream of the SDK, of `Received`."""
    sent: Any
    """The stream of messages to the host."""
    limits: Limits
    """The limits of a message."""

    async def receive(self) -> Received:
        """Return the next valid message, or an error of the SDK other than an invalid line.

        Raises:
            EndOfStream: The host has disconnected.
        """
        while True:
            item: Received = await self.received.receive()
            checked: Received | types.JSONRPCError | None = item
            if isinstance(item, ValidationError):
                checked = repair_message(item, self.limits)
            if isinstance(checked, SessionMessage):
                checked = _check_method(checked)
            if isinstance(checked, types.JSONRPCError):
                await self.sent.send(SessionMessage(checked))
            elif checked is not None:
                return checked

    async def aclose(self) -> None:
        """Close the stream of messages."""
        await self.received.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def _check_method(item: SessionMessage) -> SessionMessage | types.JSONRPCError:
    """Return a message, or an error if it is a request whose method is too long.

    The SDK's own error would repeat the whole method.
    """
    message = item.message
    if not isinstance(message, types.JSONRPCRequest) or len(message.method) <= LONGEST_METHOD_CHARS:
        return item
    text = f"The method of a message has {LONGEST_METHOD_CHARS} characters at most."
    return _error_message(types.INVALID_REQUEST, text, message.id)


def repair_message(
    error: ValidationError, limits: Limits
) -> SessionMessage | types.JSONRPCError | None:
    """Return the repaired message of a line, or the error to send to the host.

    Args:
        error: The error of the SDK.
        limits: The limits of the message.

    Returns:
        `None` for an empty line, which has no response.
    """
    fault = error.errors(include_url=False)[0]
    if fault["type"] != "json_invalid":
        return _error_message(types.INVALID_REQUEST, _NO_MESSAGE, _id_in(error))
    line = str(fault["input"])
    if not line.strip():
        return None
    try:
        value: JsonValue = parse_repaired_json(
            line.encode(), max_depth=limits.json_depth, max_nodes=limits.json_nodes
        )
    except PagefaultError as exc:
        return _error_message(types.PARSE_ERROR, exc.detail.replace("body", "message"), None)
    try:
        message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as exc:
        return _error_message(types.INVALID_REQUEST, _NO_MESSAGE, _id_in(exc))
    return SessionMessage(message)


def _id_in(error: ValidationError) -> types.RequestId | None:
    """Return the id of an invalid message, from the errors of its missing members."""
    for fault in error.errors(include_url=False):
        value = fault["input"]
        request_id = (
            value.get("id") if fault["type"] == "missing" and isinstance(value, dict) else None
        )
        if isinstance(request_id, str | int) and not isinstance(request_id, bool):
            return request_id
    return None


def _error_message(code: int, text: str, request_id: types.RequestId | None) -> types.JSONRPCError:
    error_data = types.ErrorData(code=code, message=text)
    return types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error_data)


def run_mcp(settings: Settings, project_id: str, session_id: str | None) -> None:
    """Serve the memory over this process's standard input and output until the host disconnects.

    Args:
        settings: The settings of the stores.
        project_id: The project.
        session_id: The session of all calls; `None` if each call names one.
    """
    caller = McpCaller(
        Caller(project_id, is_operator=True),
        session_id or DEFAULT_SESSION,
        scope="project" if session_id is None else "session",
    )
    anyio.run(_serve, settings, caller)


async def _serve(settings: Settings, caller: McpCaller) -> None:
    # Hosts start many of these processes on one data directory, so none sweeps or scrubs it.
    sweep = settings.sweep.model_copy(update={"interval_seconds": 0.0})
    scrub = settings.scrub.model_copy(update={"period_seconds": 0.0})
    without_tasks = settings.model_copy(update={"sweep": sweep, "scrub": scrub})
    async with open_services(without_tasks) as services:
        await services[Access].ensure_project(caller.project_id)
        async with anyio.create_task_group() as group, stdio_server() as (received, sent):
            subscriptions = HostSubscriptions(services, caller.caller, group)
            server = MemoryServer(services, lambda _: caller, subscriptions).make_sdk_server()
            notifications = NotificationOptions(resources_changed=True)
            messages = HostMessages(received, sent, settings.limits)
            await server.run(messages, sent, server.create_initialization_options(notifications))
            group.cancel_scope.cancel()
