"""The start of a list of a history, from the parameters `cursor` and `after` of its route."""

from app.models.identity import ListName, decode_cursor
from pagefault_dialects.errors import Fault, InvalidPayloadError


def find_list_start(name: ListName, noun: str, cursor: str | None, after_seq: int | None) -> int:
    """Return the `seq` after which a list of a history begins.

    Args:
        name: The name of the list, which its cursors contain.
        noun: The subject of the error text, such as `A page of a history`.
        cursor: The cursor that the previous list has returned.
        after_seq: The `seq` before the first entry, instead of a cursor.

    Raises:
        InvalidPayloadError: `cursor` and `after_seq` are both set.
        InvalidCursorError: The cursor belongs to another list.
    """
    if cursor is None:
        return after_seq or 0
    if after_seq is not None:
        raise InvalidPayloadError(
            f"{noun} begins behind a cursor or behind a number: leave one out.",
            faults=[Fault("/query/after", "stands beside a cursor")],
        )
    return int(decode_cursor(name, cursor, (int,))[0])
