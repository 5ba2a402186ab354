"""Positions in lists of a history."""

from app.models.identity import ListName, decode_cursor
from pagefault_dialects.errors import Fault, InvalidPayloadError


def read_start(name: ListName, noun: str, cursor: str | None, after_seq: int | None) -> int:
    """Return the `seq` behind which a list of a history begins; `noun` is what it is called."""
    if cursor is None:
        return after_seq or 0
    if after_seq is not None:
        raise InvalidPayloadError(
            f"{noun} begins behind a cursor or behind a number: leave one out.",
            faults=[Fault("/query/after", "stands beside a cursor")],
        )
    return int(decode_cursor(name, cursor, (int,))[0])
