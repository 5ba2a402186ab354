"""Lists, item by item."""

from collections.abc import AsyncIterator, Callable
from typing import Generic, TypedDict, TypeVar

from pagefault_client._async.transport import AsyncTransport
from pagefault_client.calls import Call

Item = TypeVar("Item")


class Listed(TypedDict, Generic[Item]):
    """One answer of a list."""

    items: list[Item]
    nextCursor: str | None


class AsyncItems(Generic[Item]):
    """A list of the service, which is asked for as far as it is iterated.

    It can be iterated several times, each time from the beginning.
    """

    def __init__(
        self, transport: AsyncTransport, call: Callable[[str | None], Call[Listed[Item]]]
    ) -> None:
        self._transport = transport
        self._call = call

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Yield the items in the order of the service."""
        async for listed in self.lists():
            for item in listed["items"]:
                yield item

    async def lists(self, cursor: str | None = None) -> AsyncIterator[Listed[Item]]:
        """Yield the answers, from a cursor (the `nextCursor` of an earlier answer) on."""
        while True:
            listed = await self._transport.send(self._call(cursor))
            yield listed
            cursor = listed["nextCursor"]
            if cursor is None:
                return

    async def all(self) -> list[Item]:
        """Return all items."""
        return [item async for item in self]

    async def first(self) -> Item | None:
        """Return the first item, or None if there is none."""
        async for item in self:
            return item
        return None
