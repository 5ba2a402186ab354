"""Positions in lists of a history."""

from app.models.identity import ListName, decode_cursor
from pagefault_dialects.errors import Fault, InvalidPayloadError


def read_start(name: ListName, noun: str, cursor: str | None, after_seq: int | None) -> int:
    """Return the `seq` after which a list of a history begins.

    Args:
        name: The list of the cursor.
        noun: The subject of the error.
        cursor: The cursor of the previous list.
        after_seq: The `seq` before the first entry, instead of a cursor.

    Raises:
        InvalidPayloadError: `cursor` and `after_seq` are both set.
        InvalidCursorError: The cursor is of another list.
    """
    if cursor is None:
        return after_seq or 0
    if after_seq is not None:
        raise InvalidPayloadError(
            f"{noun} begins behind a cursor or behind a number: leave one out.",
            faults=[Fault("/query/after", "stands beside a cursor")],
        )
    return int(decode_cursor(name, cursor, (int,))[0])
