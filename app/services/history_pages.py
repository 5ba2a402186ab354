"""Pages of histories that were read before, and are still what they were.

A history grows at its end and goes as a whole, so a page that others follow never changes, and the
last one only when the session is written to. Which session of its name there is, and how far it has
come, is asked each time: another process may have written to it, deleted it, or made a new one.
"""

from collections import OrderedDict
from dataclasses import dataclass

from app.services.answer_room import AnswerMemory
from app.stores.records.history import Standing

_MOST_BYTES = 16 * 1024 * 1024
_LARGEST_PAGE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page of a list as JSON, its SHA-256, and the cursor of the next page if there is one."""

    body: bytes
    digest: str
    next_cursor: str | None
    held: AnswerMemory | None = None
    """What was taken for it, if it is long; to be released when it is sent."""


@dataclass(frozen=True, slots=True)
class Place:
    """Which stretch of which history a page is."""

    project_id: str
    session_id: str
    after_seq: int
    limit: int


class KnownPages:
    """The pages that were read last, up to 16 MiB of them."""

    def __init__(self) -> None:
        self._pages: OrderedDict[Place, tuple[Standing, ListedPage]] = OrderedDict()
        self._size_bytes = 0

    def find(self, place: Place, standing: Standing) -> ListedPage | None:
        """The page, if it is known and would be read the same again.

        Args:
            place: Where it stands.
            standing: How far its history has come by now.
        """
        before, page = self._pages.get(place, (None, None))
        if before is None or page is None or before.incarnation != standing.incarnation:
            return None
        if page.next_cursor is None and before.last_seq != standing.last_seq:
            return None
        self._pages.move_to_end(place)
        return page

    def keep(self, place: Place, standing: Standing, page: ListedPage) -> None:
        """Keep a page that was read after its history was found to stand so."""
        self._drop(place)
        if standing.incarnation is None or len(page.body) > _LARGEST_PAGE_BYTES:
            return
        self._pages[place] = (standing, page)
        self._size_bytes += len(page.body)
        while self._size_bytes > _MOST_BYTES:
            self._drop(next(iter(self._pages)))

    def _drop(self, place: Place) -> None:
        if place in self._pages:
            self._size_bytes -= len(self._pages.pop(place)[1].body)
