"""The stores, as processes that a host of MCP starts open them."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from app.config.settings import Settings
from app.wiring import Container, open_container


@asynccontextmanager
async def opened_beside_others(
    settings: Settings, project_id: str
) -> AsyncGenerator[Container, None]:
    """Open the stores for one of many processes that hosts start on one data directory.

    A server sweeps and scrubs; many of these would all do it.
    """
    sweep = settings.sweep.model_copy(update={"interval_seconds": 0.0})
    scrub = settings.scrub.model_copy(update={"period_seconds": 0.0})
    idle = settings.model_copy(update={"sweep": sweep, "scrub": scrub})
    async with open_container(idle) as container:
        await container.access.ensure_project(project_id)
        yield container
