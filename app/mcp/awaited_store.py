"""A store that is being opened while messages pass."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio

from app.mcp.reasons import reason_of
from app.mcp.service_store import ServiceStore


class AwaitedStore:
    """A store that is being opened, for all who wait until it is open, or cannot be opened.

    Args:
        opened: The store, open for as long as it is entered.
        warn: Says a sentence to the person who runs it.
    """

    def __init__(
        self, opened: AbstractAsyncContextManager[ServiceStore], warn: Callable[[str], None]
    ) -> None:
        self._opened = opened
        self._warn = warn
        self._store: ServiceStore | None = None
        self._is_settled = anyio.Event()

    async def hold(self, until: anyio.Event) -> None:
        """Hold the store open until an event."""
        try:
            async with self._opened as self._store:
                self._is_settled.set()
                await until.wait()
        except Exception as exc:
            if self._is_settled.is_set():
                raise
            self._warn(f"results are passed on and not stored: {reason_of(exc)}")
        finally:
            self._is_settled.set()

    async def get(self) -> ServiceStore | None:
        """Return the store; `None` if it cannot be opened."""
        await self._is_settled.wait()
        return self._store
