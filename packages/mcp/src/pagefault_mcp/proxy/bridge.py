"""Connect a host over pipes to the memory of a running service, for `pagefault mcp --url`.

Messages are forwarded unchanged between standard input and output and `/mcp` of the service.
"""

from collections.abc import Callable

import anyio
import httpx

from pagefault_mcp.proxy.pipes import read_standard_input, write_standard_output
from pagefault_mcp.service_client.service_connection import (
    CONNECT_SECONDS,
    FIRST_REQUEST_SECONDS,
    Headers,
    build_headers,
    find_problem,
    is_local,
    parse_url_option,
)
from pagefault_mcp.upstreams.http_upstream import HttpUpstream

_PATH = "/mcp"
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_HEADERS = {"Accept": "application/json, text/event-stream"}


def run_bridge(
    url: str, session_id: str | None, headers: Headers, warn: Callable[[str], None]
) -> str | None:
    """Forward messages between the host and a service until the host disconnects.

    Args:
        url: The URL of the service, or of its `/mcp`.
        session_id: The session of calls. `None` for the session in the URL, or else the one that
            each call names.
        headers: Headers of every request, besides the one with the key in PAGEFAULT_API_KEY.
        warn: Logs problems after the first request.

    Returns:
        `None`, or the reason if the service cannot be reached or refuses the key.
    """
    endpoint = parse_url_option(url)
    if endpoint.path.rstrip("/") == "":
        endpoint = endpoint.copy_with(path=_PATH)
    if session_id is not None:
        endpoint = endpoint.copy_set_param("session", session_id)
    return anyio.run(_run_bridge, endpoint, build_headers(headers), warn)


async def _run_bridge(
    endpoint: httpx.URL, headers: httpx.Headers, warn: Callable[[str], None]
) -> str | None:
    """Send a first request, then forward messages; return the reason if that request fails."""
    timeout = httpx.Timeout(None, connect=CONNECT_SECONDS)
    async with httpx.AsyncClient(
        headers=headers, timeout=timeout, trust_env=not is_local(endpoint)
    ) as client:
        ping = client.build_request(
            "POST", endpoint, json=_PING, headers=_HEADERS, timeout=FIRST_REQUEST_SECONDS
        )
        if (problem := await find_problem(client, ping, has_header_option=True)) is not None:
            return problem
        service = HttpUpstream(client, str(endpoint), warn)
        async with anyio.create_task_group() as group:
            group.start_soon(_forward_to_host, service)
            async with service.lifespan():
                async for piece in read_standard_input():
                    await service.write(piece)
    return None


async def _forward_to_host(service: HttpUpstream) -> None:
    """Write the messages of the service to standard output."""
    async for piece in service.receive_pieces():
        await write_standard_output(piece)
