"""The lists that searches answer with: where they go on, and by which weights they were ranked."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from app.errors import InvalidCursorError
from app.models.identity import ListName, decode_cursor, encode_cursor
from app.models.json_value import json_text
from app.stores.records.finding import Match


@dataclass(frozen=True, slots=True, init=False)
class SearchList:
    """A list of what a search has found."""

    name: ListName
    """Which list it is."""
    asked: str
    """Stands for what was asked, so that a cursor of another search is refused."""

    def __init__(self, name: ListName, *asked: str | None) -> None:
        described = json_text(list(asked)).encode("utf-8", "replace")
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "asked", hashlib.sha256(described).hexdigest()[:16])

    def position(self, cursor: str | None) -> tuple[Match | None, Sequence[int]]:
        """Return the match that a cursor stands for, and the weights it was ranked by.

        Raises:
            InvalidCursorError: The cursor is not this list's.
        """
        if cursor is None:
            return None, ()
        shape = (str, str, int, int, int)
        asked, weights, rank, place, number = decode_cursor(self.name, cursor, shape)
        try:
            read = [int(digit, 16) for digit in str(weights)]
        except ValueError as exc:
            raise InvalidCursorError from exc
        if asked != self.asked:
            raise InvalidCursorError
        return Match(int(rank), int(place), int(number)), read

    def cursor(self, last: Match, weights: Sequence[int]) -> str:
        """Return the cursor for what follows a match."""
        return encode_cursor(self.name, self.asked, "".join(f"{each:x}" for each in weights), *last)
