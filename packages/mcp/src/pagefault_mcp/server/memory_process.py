"""Serve the memory over pipes, for `pagefault mcp`."""

import anyio
from mcp.server import NotificationOptions
from mcp.server.stdio import stdio_server

from app.config.settings import Settings
from app.features import open_services
from app.services.access.callers import Access, Caller
from pagefault_mcp.server.host_messages import Messages
from pagefault_mcp.server.memory_caller import DEFAULT_SESSION, McpCaller
from pagefault_mcp.server.memory_server import MemoryServer
from pagefault_mcp.server.page_changes import HostSubscriptions


def run_mcp(settings: Settings, project_id: str, session_id: str | None) -> None:
    """Serve the memory over this process's standard input and output until the host disconnects.

    Args:
        settings: The settings of the stores.
        project_id: The project.
        session_id: The session of all calls; `None` if each call names its own.
    """
    caller = McpCaller(
        Caller(project_id, is_operator=True),
        session_id or DEFAULT_SESSION,
        scope="project" if session_id is None else "session",
    )
    anyio.run(_serve, settings, caller)


async def _serve(settings: Settings, caller: McpCaller) -> None:
    # No sweeps and scrubs, since hosts start many of these processes on one data directory.
    sweep = settings.sweep.model_copy(update={"interval_seconds": 0.0})
    scrub = settings.scrub.model_copy(update={"period_seconds": 0.0})
    idle = settings.model_copy(update={"sweep": sweep, "scrub": scrub})
    async with open_services(idle) as services:
        await services[Access].ensure_project(caller.project_id)
        async with anyio.create_task_group() as group, stdio_server() as (received, sent):
            subscriptions = HostSubscriptions(services, caller.caller, group)
            server = MemoryServer(services, lambda _: caller, subscriptions).server()
            notifications = NotificationOptions(resources_changed=True)
            messages = Messages(received, sent, settings.limits)
            await server.run(messages, sent, server.create_initialization_options(notifications))
            group.cancel_scope.cancel()
