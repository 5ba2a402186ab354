"""Ids of tool calls, and the keys that identify the results of calls in a session.

Call ids may repeat, because some hosts number their calls from 1 in each turn. They may be long,
because some contain encrypted reasoning. So each result has a key. For the first result of a call
with a short id, the key is the id itself. Otherwise it is made of the SHA-256 of the id and the
number of the result.
"""

import hashlib
import re
from typing import Annotated

from pydantic import Field

LONGEST_CALL_ID = 16 * 1024
"""Maximum length in characters."""
CallId = Annotated[str, Field(min_length=1, max_length=LONGEST_CALL_ID)]

# An index of PostgreSQL has a maximal size of its keys. A key with so many characters of four
# bytes and the id of a session is below it.
_LONGEST_KEY = 512
_KEY = re.compile(r"sha-256:[0-9a-f]{64}#[0-9]+")


def call_key(call_id: str, number: int) -> str:
    """Return the key of the result of a call in a session.

    Args:
        call_id: The id of the call.
        number: The number of the result among the results of calls with this id, from 1.
    """
    is_plain = len(call_id) <= _LONGEST_KEY and _KEY.fullmatch(call_id) is None
    if number == 1 and is_plain:
        return call_id
    digest = hashlib.sha256(call_id.encode("utf-8", "surrogatepass")).hexdigest()
    return f"sha-256:{digest}#{number}"


def number_of_key(key: str) -> int:
    """Return the number in a key that is not the call id itself."""
    return int(key.rpartition("#")[2])
