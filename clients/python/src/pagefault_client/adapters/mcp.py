"""The MCP Python SDK: `call_tool = remember(client.call_tool, session)`.

`pf.wrap(client.call_tool, session=…)` stores results. This does so too, and before a call it puts
files in the place of the handles (`@blob:…`) that a model has written into its arguments. It needs
`pagefault-client[mcp]`.
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
    apart_from: Iterable[str] = (),
) -> Callable[..., Awaitable[CallToolResult]]:
    """Return the `call_tool` of a client or session, with a memory.

    An error that it raises is stored, and raised. What the server asks for before it goes on
    (`InputRequiredResult`) is returned as it is, and not stored.

    Args:
        call_tool: `client.call_tool` or `session.call_tool`.
        memory: The client of Pagefault.
        session: Where the results belong, and whose handles are understood.
        resolve: What takes the place of a handle; None leaves it as it is.
        apart_from: Tools that understand handles themselves, such as those of the memory.
    """
    kept = AsyncMemory(memory.session(session), target="mcp")
    excepted = set(apart_from)

    async def remembered(
        name: str,
        arguments: dict[str, Any] | None = None,
        *args: Any,  # noqa: ANN401 - what else the SDK takes
        **kwargs: Any,  # noqa: ANN401
    ) -> Any:  # noqa: ANN401 - the SDK has several results
        call_id = f"call_{uuid.uuid4().hex}"
        if resolve and arguments and name not in excepted and "@blob:" in str(arguments):
            arguments = await _resolved(memory, session, arguments, resolve)
        try:
            result = await call_tool(name, arguments, *args, **kwargs)
        except Exception as error:
            await kept.keep_error(name, call_id, error)
            raise
        return await kept.keep(name, call_id, result)

    return remembered


async def _resolved(
    memory: AsyncPagefault,
    session: str,
    arguments: dict[str, Any],
    form: ReferenceForm,
) -> dict[str, Any]:
    """Return arguments with files in them, or as they are if that fails."""
    try:
        answer = await memory.resolve(session, arguments, form)
        resolved: dict[str, Any] = answer["arguments"]
    except Exception as error:  # noqa: BLE001 - a proxy may have answered with other JSON
        logger.warning("handles in arguments are not resolved: %s", error)
        return arguments
    return resolved
