"""Lists, item by item."""

# Written by generate.py from `_async/`; change that.

from collections.abc import Callable, Iterator
from typing import Generic, TypedDict, TypeVar

from pagefault_client._sync.transport import Transport
from pagefault_client.calls import Call

Item = TypeVar("Item")


class Listed(TypedDict, Generic[Item]):
    """One answer of a list."""

    items: list[Item]
    nextCursor: str | None


class Items(Generic[Item]):
    """A list of the service, which is asked for as far as it is iterated.

    It can be iterated several times, each time from the beginning.
    """

    def __init__(
        self, transport: Transport, call: Callable[[str | None], Call[Listed[Item]]]
    ) -> None:
        self._transport = transport
        self._call = call

    def __iter__(self) -> Iterator[Item]:
        """Yield the items in the order of the service."""
        for listed in self.lists():
            for item in listed["items"]:
                yield item

    def lists(self, cursor: str | None = None) -> Iterator[Listed[Item]]:
        """Yield the answers, from a cursor (the `nextCursor` of an earlier answer) on."""
        while True:
            listed = self._transport.send(self._call(cursor))
            yield listed
            cursor = listed["nextCursor"]
            if cursor is None:
                return

    def all(self) -> list[Item]:
        """Return all items."""
        return [item for item in self]

    def first(self) -> Item | None:
        """Return the first item, or None if there is none."""
        for item in self:
            return item
        return None
