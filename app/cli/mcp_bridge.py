"""`pagefault mcp --url`: a running memory, for a host that starts its servers itself.

What the host says goes to the service's `/mcp` as it is, and what that answers comes back.
"""

from collections.abc import Sequence
from typing import TypeAlias

import anyio
import httpx
import typer

from app.cli.pipes import standard_input, write_out
from app.cli.terminal import CANNOT, complain
from app.mcp.http_upstream import HttpUpstream
from app.models.identity import CLIENT_ID

Headers: TypeAlias = Sequence[tuple[str, str]]

_PATH = "/mcp"
_CONNECT_SECONDS = 10.0
_FIRST_SECONDS = 30.0
_PING = {"jsonrpc": "2.0", "id": 0, "method": "ping"}
_ACCEPTED = {"Accept": "application/json, text/event-stream"}


def run_bridge(url: str, session_id: str | None, headers: Headers, key: str | None) -> None:
    """Serve the memory of a running service over standard input and output until the host leaves.

    Args:
        url: Where the service is, or its `/mcp`.
        session_id: Where calls are kept; `None` for what the URL says, or each call.
        headers: What every request carries.
        key: An API key, for who gives no `Authorization` among the headers.

    Raises:
        SystemExit: The service cannot be reached, or refuses the key.
    """
    if session_id is not None and not CLIENT_ID.match(session_id):
        raise typer.BadParameter("is not the id of a session", param_hint="--session")
    sent = httpx.Headers(list(headers))
    if key:
        sent.setdefault("Authorization", f"Bearer {key}")
    problem = anyio.run(_bridged, _endpoint(url, session_id), sent)
    if problem is not None:
        complain(problem)
        raise SystemExit(CANNOT)


def _endpoint(url: str, session_id: str | None) -> httpx.URL:
    try:
        endpoint = httpx.URL(url)
    except httpx.InvalidURL:
        endpoint = httpx.URL()
    if endpoint.scheme not in ("http", "https") or not endpoint.host:
        raise typer.BadParameter("has to be as in http://127.0.0.1:8000", param_hint="--url")
    if endpoint.path.rstrip("/") == "":
        endpoint = endpoint.copy_with(path=_PATH)
    return endpoint if session_id is None else endpoint.copy_set_param("session", session_id)


async def _bridged(endpoint: httpx.URL, headers: httpx.Headers) -> str | None:
    """Pass on what both sides say; return why that cannot begin, if it cannot."""
    timeout = httpx.Timeout(None, connect=_CONNECT_SECONDS)
    async with httpx.AsyncClient(headers=headers, timeout=timeout) as client:
        if (problem := await _problem(client, endpoint)) is not None:
            return problem
        service = HttpUpstream(client, str(endpoint), complain)
        async with anyio.create_task_group() as group:
            group.start_soon(_pass_on, service)
            async with service.running():
                async for piece in standard_input():
                    await service.write(piece)
    return None


async def _pass_on(service: HttpUpstream) -> None:
    is_new_line = True
    async for piece in service.received():
        # What is answered by nothing but a status is no message.
        if not is_new_line or piece != b"\n":
            await write_out(piece)
        is_new_line = piece.endswith(b"\n")


async def _problem(client: httpx.AsyncClient, endpoint: httpx.URL) -> str | None:
    """Return why a service cannot be used; `None` if it answers as it should."""
    # Where it is, without what may be secret in an address.
    place = endpoint.copy_with(userinfo=b"", query=None)
    try:
        answer = await client.post(endpoint, json=_PING, headers=_ACCEPTED, timeout=_FIRST_SECONDS)
    except httpx.HTTPError as exc:
        return f"{place} cannot be reached: {str(exc) or type(exc).__name__}"
    if answer.status_code in (401, 403):
        has_key = "authorization" in client.headers
        return (
            f"{place} {'refuses the key' if has_key else 'asks for a key'}. Set PAGEFAULT_API_KEY, "
            "or give --header 'Authorization: Bearer pf_…'; `pagefault keys create` makes one."
        )
    if not answer.is_success:
        return f"{place} answered {answer.status_code}{_detail(answer)}. Is it a Pagefault?"
    return None


def _detail(answer: httpx.Response) -> str:
    try:
        return f": {answer.json()['detail']}".rstrip(".")
    except (ValueError, KeyError, TypeError):
        return ""
