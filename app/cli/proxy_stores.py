"""Where `pagefault proxy` keeps results: in the service that all proxies of a user share."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio
import httpx

from app.cli.complaints import complain
from app.cli.proxy import Host
from app.cli.proxy_url import service_client
from app.cli.shared_folder import SharedSetup
from app.cli.shared_service import SharedService
from app.mcp.reasons import reason_of
from app.mcp.service_store import ServiceStore

# A name that is answered wherever the service listens.
_URL = httpx.URL("http://localhost")


@asynccontextmanager
async def shared_store(
    setup: SharedSetup, session_id: str, host: Host
) -> AsyncGenerator[ServiceStore, None]:
    """Open a client of the service that proxies of a setup share, for the length of the block.

    The service is started beside, if need be; every result is tried anew.
    """
    async with (
        service_client(_URL, transport=SharedService(setup)) as client,
        anyio.create_task_group() as group,
    ):
        # Nothing waits for it: the host is answered meanwhile.
        group.start_soon(_start, client)
        yield ServiceStore(client, session_id, host.options, host.files)
        group.cancel_scope.cancel()


async def _start(client: httpx.AsyncClient) -> None:
    try:
        await client.get("/healthz")
    except Exception as exc:  # noqa: BLE001 - whatever fails here, messages pass
        complain(f"results are passed on and not stored: {reason_of(exc)}")
