"""Pages of histories that were read before, and are still what they were.

A history grows at its end and goes as a whole, so a page that others follow never changes, and the
last one only when the session is written to. Which session of its name there is, and how far it has
come, is asked each time: another process may have written to it, deleted it, or made a new one.
"""

from collections import OrderedDict
from dataclasses import dataclass

from app.services.memory_budget.responses import ResponseMemory
from app.stores.records.history import HistoryHead

_MOST_BYTES = 16 * 1024 * 1024
_LARGEST_PAGE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class CachedList:
    """A page of a list as JSON, its SHA-256, and the cursor of the next page if there is one."""

    body: bytes
    digest: str
    next_cursor: str | None
    held: ResponseMemory | None = None
    """What was taken for it, if it is long; to be released when it is sent."""


@dataclass(frozen=True, slots=True)
class ListPosition:
    """Which stretch of which history a page is."""

    project_id: str
    session_id: str
    after_seq: int
    limit: int


class HistoryCache:
    """The pages that were read last, up to 16 MiB of them."""

    def __init__(self) -> None:
        self._pages: OrderedDict[ListPosition, tuple[HistoryHead, CachedList]] = OrderedDict()
        self._size_bytes = 0

    def find(self, place: ListPosition, history_head: HistoryHead) -> CachedList | None:
        """The page, if it is known and would be read the same again.

        Args:
            place: Where it stands.
            history_head: How far its history has come by now.
        """
        before, page = self._pages.get(place, (None, None))
        if before is None or page is None or before.incarnation != history_head.incarnation:
            return None
        if page.next_cursor is None and before.last_seq != history_head.last_seq:
            return None
        self._pages.move_to_end(place)
        return page

    def keep(self, place: ListPosition, history_head: HistoryHead, page: CachedList) -> None:
        """Keep a page that was read after its history was found to stand so."""
        self._drop(place)
        if history_head.incarnation is None or len(page.body) > _LARGEST_PAGE_BYTES:
            return
        self._pages[place] = (history_head, page)
        self._size_bytes += len(page.body)
        while self._size_bytes > _MOST_BYTES:
            self._drop(next(iter(self._pages)))

    def _drop(self, place: ListPosition) -> None:
        if place in self._pages:
            self._size_bytes -= len(self._pages.pop(place)[1].body)
