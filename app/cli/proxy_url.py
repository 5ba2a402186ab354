"""`pagefault proxy --url`: results are kept by a service that runs."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx

from app.cli.proxy import Host
from app.cli.running_service import CONNECT_SECONDS, problem_of, service_address
from app.cli.terminal import complain
from app.mcp.service_store import ServiceStore

# A result of hundreds of megabytes is synced before it is answered.
_ANSWER_SECONDS = 60.0
_LIST = "/api/sessions"


@asynccontextmanager
async def asked_service(
    url: httpx.URL, headers: httpx.Headers, session_id: str, host: Host
) -> AsyncGenerator[ServiceStore, None]:
    """Ask a service for whatever is kept and shown, for the length of the block.

    One that does not answer yet is asked again with every result.
    """
    async with httpx.AsyncClient(
        base_url=url,
        headers=headers,
        timeout=httpx.Timeout(_ANSWER_SECONDS, connect=CONNECT_SECONDS),
        # Certificates take longer to load than all else, and are for one of the two.
        verify=url.scheme == "https",
    ) as client:
        first = client.build_request("GET", _LIST, params={"limit": 1})
        if (problem := await problem_of(client, first, takes_headers=False)) is not None:
            complain(f"{problem} Results are passed on and not stored until it takes them.")
        yield ServiceStore(client, session_id, host.options, host.files)


def base_address(url: str) -> httpx.URL:
    """Return where the paths of a service begin; refuse an address that is none."""
    address = service_address(url).copy_with(query=None, fragment=None)
    return address.copy_with(path=address.path.rstrip("/").removesuffix("/mcp"))
