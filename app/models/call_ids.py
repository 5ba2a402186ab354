"""Ids of tool calls and the keys of their answers in a session.

Call ids may repeat, because some hosts number their calls from 1 in each turn, and may be long,
because some contain encrypted reasoning. So each answer has a key. It is the call id itself; for a
long id, and for further answers to the same id, it is the SHA-256 of the id and the number of the
answer.
"""

import hashlib
import re
from typing import Annotated

from pydantic import Field

LONGEST_CALL_ID = 16 * 1024
"""Maximum length in characters."""
CallId = Annotated[str, Field(min_length=1, max_length=LONGEST_CALL_ID)]

# With the id of a session, at four bytes a character, this is below the limit of a PostgreSQL
# index.
_LONGEST_KEY = 512
_KEY = re.compile(r"sha-256:[0-9a-f]{64}#[0-9]+")


def call_key(call_id: str, number: int) -> str:
    """Return the key of an answer in its session.

    Args:
        call_id: The id of its call.
        number: The number of the answer among the answers to that id, from 1.
    """
    is_plain = len(call_id) <= _LONGEST_KEY and _KEY.fullmatch(call_id) is None
    if number == 1 and is_plain:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"sha-256:{digest}#{number}"


def number_of_key(key: str) -> int:
    """Return the number in a key that is not the id itself."""
    return int(key.rpartition("#")[2])
