"""Where `pagefault proxy` keeps results: in stores that it opens itself."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from app.cli.proxy import Host
from app.config.settings import Settings
from app.mcp.opened_store import OpenedStore
from app.wiring.memory_services import open_memory


@asynccontextmanager
async def opened_stores(
    settings: Settings, project_id: str, session_id: str, host: Host
) -> AsyncGenerator[OpenedStore, None]:
    """Open the stores that settings lead to, for the length of the block."""
    async with open_memory(settings) as services:
        await services.access.ensure_project(project_id)
        yield OpenedStore(services, project_id, session_id, host.options, host.files)
