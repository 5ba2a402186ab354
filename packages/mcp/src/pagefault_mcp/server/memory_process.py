"""Serve the memory over standard input and output, for `pagefault mcp`.

The SDK ignores a line that it cannot parse, so the host would wait for a response forever. Here,
`HostMessages` repairs such a line, or sends an error for it. Lone surrogates are replaced, as
everywhere in the service.
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

_NOT_A_MESSAGE = "This is no message of JSON-RPC: one object with jsonrpc, id, method and params."

Received: TypeAlias = SessionMessage | Exception
"""A line of the host as the SDK returns it: a message, or the error of an invalid line."""


@dataclass(frozen=True, slots=True, eq=False)
class HostMessages:
    """The stream of messages of a host that the SDK reads.

    Invalid lines are repaired. For lines that cannot be repaired, an error is sent to the host.
    """

    from_host: Any
    """The stream of the SDK with lines of the host, each as `Received`."""
    to_host: Any
    """The stream of the SDK with messages to the host."""
    limits: Limits
    """The limits of a message."""

    async def receive(self) -> Received:
        """Return the next valid message.

        An error of the SDK other than an invalid line is returned too; the SDK logs it.

        Raises:
            EndOfStream: The host has disconnected.
        """
        while True:
            item: Received = await self.from_host.receive()
            checked: Received | types.JSONRPCError | None = item
            if isinstance(item, ValidationError):
                checked = repair_message(item, self.limits)
            if isinstance(checked, SessionMessage):
                checked = _check_method(checked)
            if isinstance(checked, types.JSONRPCError):
                await self.to_host.send(SessionMessage(checked))
            elif checked is not None:
                return checked

    async def aclose(self) -> None:
        """Close the stream of messages."""
        await self.from_host.aclose()

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
    return _make_error(types.INVALID_REQUEST, text, message.id)


def repair_message(
    error: ValidationError, limits: Limits
) -> SessionMessage | types.JSONRPCError | None:
    """Return the repaired message of an invalid line, or the error to send to the host.

    Args:
        error: The error of the SDK, which has the line.
        limits: The limits of a message.

    Returns:
        `None` for an empty line, which gets no response.
    """
    details = error.errors(include_url=False)[0]
    if details["type"] != "json_invalid":
        return _make_error(types.INVALID_REQUEST, _NOT_A_MESSAGE, _find_request_id(error))
    line = str(details["input"])
    if not line.strip():
        return None
    try:
        value: JsonValue = parse_repaired_json(
            line.encode(), max_depth=limits.json_depth, max_nodes=limits.json_nodes
        )
    except PagefaultError as exc:
        return _make_error(types.PARSE_ERROR, exc.detail.replace("body", "message"), None)
    try:
        message = types.jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as exc:
        return _make_error(types.INVALID_REQUEST, _NOT_A_MESSAGE, _find_request_id(exc))
    return SessionMessage(message)


def _find_request_id(error: ValidationError) -> types.RequestId | None:
    """Return the id of an invalid message, if it has a valid one.

    The errors of missing members have the message as their input.
    """
    for details in error.errors(include_url=False):
        value = details["input"]
        is_message = details["type"] == "missing" and isinstance(value, dict)
        request_id = value.get("id") if is_message else None
        if isinstance(request_id, str | int) and not isinstance(request_id, bool):
            return request_id
    return None


def _make_error(code: int, text: str, request_id: types.RequestId | None) -> types.JSONRPCError:
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
    """Serve the memory to the host at standard input and output until it disconnects."""
    # Hosts start many of these processes with the same data directory, which only a service sweeps
    # and scrubs.
    sweep = settings.sweep.model_copy(update={"interval_seconds": 0.0})
    scrub = settings.scrub.model_copy(update={"period_seconds": 0.0})
    without_tasks = settings.model_copy(update={"sweep": sweep, "scrub": scrub})
    async with open_services(without_tasks) as services:
        await services[Access].ensure_project(caller.project_id)
        async with anyio.create_task_group() as group, stdio_server() as (from_host, to_host):
            subscriptions = HostSubscriptions(services, caller.caller, group)
            server = MemoryServer(services, lambda _: caller, subscriptions).make_sdk_server()
            notifications = NotificationOptions(resources_changed=True)
            messages = HostMessages(from_host, to_host, settings.limits)
            options = server.create_initialization_options(notifications)
            await server.run(messages, to_host, options)
            group.cancel_scope.cancel()
