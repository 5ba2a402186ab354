"""`pagefault mcp --url`: a running memory, for a host that starts its servers itself.

What the host says goes to the service's `/mcp` as it is, and what that answers comes back.
"""

from collections.abc import Callable

import anyio
import httpx

from pagefault_mcp.proxy.pipes import standard_input, write_out
from pagefault_mcp.service_client.running_service import (
    CONNECT_SECONDS,
    FIRST_SECONDS,
    Headers,
    is_near,
    problem_of,
    service_address,
    with_key,
)
from pagefault_mcp.upstreams.http_upstream import HttpUpstream

_PATH = "/mcp"
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_ACCEPTED = {"Accept": "application/json, text/event-stream"}


def run_bridge(
    url: str, session_id: str | None, headers: Headers, warn: Callable[[str], None]
) -> str | None:
    """Serve the memory of a running service over standard input and output until the host leaves.

    Returns the reason if the service cannot be reached, or refuses the key.

    Args:
        url: Where the service is, or its `/mcp`.
        session_id: Where calls are kept; `None` for what the URL says, or each call.
        headers: What every request carries, beside the key of the environment.
        warn: Prints what goes wrong later.
    """
    return anyio.run(_run_bridge, _endpoint(url, session_id), with_key(headers), warn)


def _endpoint(url: str, session_id: str | None) -> httpx.URL:
    endpoint = service_address(url)
    if endpoint.path.rstrip("/") == "":
        endpoint = endpoint.copy_with(path=_PATH)
    return endpoint if session_id is None else endpoint.copy_set_param("session", session_id)


async def _run_bridge(
    endpoint: httpx.URL, headers: httpx.Headers, warn: Callable[[str], None]
) -> str | None:
    """Pass on what both sides say; return why that cannot begin, if it cannot."""
    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    near = is_near(endpoint)
    async with httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=not near) as client:
        ping = client.build_request(
            "POST", endpoint, json=_PING, headers=_ACCEPTED, timeout=FIRST_SECONDS
        )
        if (problem := await problem_of(client, ping, takes_headers=True)) is not None:
            return problem
        service = HttpUpstream(client, str(endpoint), warn)
        async with anyio.create_task_group() as group:
            group.start_soon(_pass_on, service)
            async with service.running():
                async for piece in standard_input():
                    await service.write(piece)
    return None


async def _pass_on(service: HttpUpstream) -> None:
    async for piece in service.received():
        await write_out(piece)
