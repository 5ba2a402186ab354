"""Ids of tool calls: how long one may be, and what the answer to one is known by in its session.

Some hosts number their calls anew in each turn, and some write what a model thought into an id. So
an answer is known by a key: the id itself, or, of a long id and of every further call with the same
one, the SHA-256 of the id and the number of the answer among those that have it.
"""

import hashlib
import re
from typing import Annotated

from pydantic import Field

LONGEST_CALL_ID = 16 * 1024
"""In characters."""
CallId = Annotated[str, Field(min_length=1, max_length=LONGEST_CALL_ID)]

# With a session's id, and in four bytes a character, below what an index of PostgreSQL takes.
_LONGEST_KEY = 512
_KEY = re.compile(r"sha-256:[0-9a-f]{64}#[0-9]+")


def call_key(call_id: str, number: int) -> str:
    """Return what an answer is known by among those of a session.

    Args:
        call_id: The id of its call.
        number: Which answer of that id it is, from 1.
    """
    is_plain = len(call_id) <= _LONGEST_KEY and _KEY.fullmatch(call_id) is None
    if number == 1 and is_plain:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"sha-256:{digest}#{number}"


def number_of_key(key: str) -> int:
    """Return the number in a key that is not the id itself."""
    return int(key.rpartition("#")[2])
