"""Iteration over the lists of the service."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypedDict, TypeVar

import httpx

from pagefault_client._async.transport import AsyncTransport
from pagefault_client.calls import Call, json_of
from pagefault_client.models import ManifestPage

Item = TypeVar("Item")


class ListAnswer(TypedDict, Generic[Item]):
    """One answer with a part of a list."""

    items: list[Item]
    nextCursor: str | None


def manifest_of(response: httpx.Response) -> Any:  # noqa: ANN401 - JSON
    """Return an answer of the manifest with the items of a list, its pages."""
    answer = json_of(response)
    return {**answer, "items": answer["pages"]}


class AsyncItems(Generic[Item]):
    """A list of the service, requested in parts as it is iterated.

    Each iteration starts at the beginning.
    """

    def __init__(
        self, transport: AsyncTransport, call: Callable[[str | None], Call[ListAnswer[Item]]]
    ) -> None:
        self._transport = transport
        self._call = call

    async def __aiter__(self) -> AsyncIterator[Item]:
        """Yield the items in the order of the service."""
        async for answer in self.lists():
            for item in answer["items"]:
                yield item

    async def lists(self, cursor: str | None = None) -> AsyncIterator[ListAnswer[Item]]:
        """Yield the answers, starting at a cursor (the `nextCursor` of an earlier answer)."""
        while True:
            answer = await self._transport.send(self._call(cursor))
            yield answer
            cursor = answer["nextCursor"]
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


class AsyncManifest(AsyncItems[ManifestPage]):
    """The memory pages of a session, and their text for a model."""

    async def text(self) -> str:
        """Return the first pages as a text for a model, and the number of pages after them."""
        answer: Any = await self._transport.send(self._call(None))
        text: str = answer["text"]
        return text
