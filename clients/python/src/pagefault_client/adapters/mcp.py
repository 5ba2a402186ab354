"""The MCP Python SDK: `call_tool = remember(client.call_tool, session)`.

Like `pf.wrap(client.call_tool, session=…)`, it stores results. In addition, it replaces the handles
(`@blob:…`) in the arguments of a call with their files. The module needs `pagefault-client[mcp]`.
"""

import logging
import uuid
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from mcp.types import CallToolResult

from pagefault_client import AsyncMemory, AsyncPagefault
from pagefault_client.models import ReferenceForm

logger = logging.getLogger("pagefault_client")


def remember(
    call_tool: Callable[..., Awaitable[Any]],
    memory: AsyncPagefault,
    session: str,
    *,
    resolve: ReferenceForm | None = "data-uri",
    exclude: Iterable[str] = (),
) -> Callable[..., Awaitable[CallToolResult]]:
    """Wrap the `call_tool` of an MCP client or session: store its calls and results.

    Exceptions are stored and raised. An `InputRequiredResult`, with which the server requests
    input before it continues, is returned unchanged and not stored.

    Args:
        call_tool: `client.call_tool` or `session.call_tool`.
        memory: The Pagefault client.
        session: The session in which to store the results, and whose handles are resolved.
        resolve: The form that replaces a handle; None keeps handles.
        exclude: The names of tools that take handles, such as the memory tools.
    """
    results = AsyncMemory(memory.session(session), target="mcp")
    excluded = set(exclude)

    async def call_and_store(
        name: str,
        arguments: dict[str, Any] | None = None,
        *args: Any,  # noqa: ANN401 - further parameters of the SDK
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - the SDK has several results
        call_id, sent = f"call_{uuid.uuid4().hex}", arguments or {}
        if resolve and arguments and name not in excluded and "@blob:" in str(arguments):
            arguments = await _resolved(memory, session, arguments, resolve)
        try:
            result = await call_tool(name, arguments, *args, **kwargs)
        except Exception as error:
            await results.store_error(name, call_id, error, sent)
            raise
        return await results.remember(name, call_id, result, sent)

    return call_and_store


async def _resolved(
    memory: AsyncPagefault,
    session: str,
    arguments: dict[str, Any],
    form: ReferenceForm,
) -> dict[str, Any]:
    """Replace the handles in arguments; if that fails, return the arguments unchanged."""
    try:
        answer = await memory.resolve(session, arguments, form)
        resolved: dict[str, Any] = answer["arguments"]
    except Exception as error:  # noqa: BLE001 - a proxy may have answered with other JSON
        logger.warning("handles in arguments are not resolved: %s", error)
        return arguments
    return resolved
