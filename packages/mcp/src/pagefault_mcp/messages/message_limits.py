"""Limits on one message of JSON-RPC, which are checked before any other code reads the message.

The SDK parses a message in the event loop, and the proxy searches its members in Python. Both take
longer with more values, but hardly longer with longer strings. So the number of values is limited,
and the size of a message without its longest string.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

from pagefault_dialects.errors import (
    Fault,
    InvalidJsonError,
    InvalidPayloadError,
    PayloadTooLargeError,
)
from pagefault_dialects.json.large_json import find_longest_string
from pagefault_dialects.json.values import check_shape

MAX_VALUES = 20_000
"""The maximum number of values in one message."""
LONGEST_URI_CHARS = 2_048
"""The maximum length of a URI. A page id of 128 characters has up to 384 if percent-encoded."""
LONGEST_CURSOR_CHARS = 1_024
"""The maximum length of the cursor of a list."""
LONGEST_METHOD_CHARS = 128
"""The maximum length of the method of a message."""
LONGEST_ID_CHARS = 1_024
"""The maximum length of the id of a request over HTTP, and of its progress token."""

# The maximum size of a message without its longest string.
_MAX_OTHER_BYTES = 1024 * 1024
_MAX_DIGITS = 4_000


def parse_message(body: bytes, *, max_depth: int) -> Any:  # noqa: ANN401 - any JSON
    """Parse the body of a request. Its numbers may be infinite or NaN.

    Raises:
        InvalidJsonError: The body is not JSON in UTF-8.
        PayloadTooLargeError: The JSON is nested too deep, or has more than `MAX_VALUES` values.
    """
    try:
        text = body.decode()
        check_shape(text, max_depth, MAX_VALUES)
        return json.loads(text, parse_int=_parse_integer)
    except (ValueError, RecursionError) as exc:
        raise InvalidJsonError("The body is no JSON in UTF-8.") from exc


def check_message(message: Mapping[str, Any], body: bytes) -> None:
    """Check the sizes of a message that was posted to the memory.

    Args:
        message: The parsed message.
        body: The bytes of the message, as they were sent.

    Raises:
        InvalidPayloadError: The method or the id is too long; the response would repeat it.
        PayloadTooLargeError: Without its longest string, the message has more than 1 MiB.
    """
    for name, max_chars in (("method", LONGEST_METHOD_CHARS), ("id", LONGEST_ID_CHARS)):
        value = message.get(name)
        if isinstance(value, str) and len(value) > max_chars:
            raise InvalidPayloadError(
                f"The {name} of a message has {max_chars} characters at most.",
                faults=[Fault(f"/{name}", f"has {len(value)} characters")],
            )
    if len(body) > _MAX_OTHER_BYTES:
        other_bytes = len(body) - len(find_longest_string(body.decode()).encode())
        if other_bytes > _MAX_OTHER_BYTES:
            raise PayloadTooLargeError(
                f"A message has {_MAX_OTHER_BYTES} bytes at most beside its longest "
                "string. Store large data with `POST /api/resources`, and refer to it.",
                code="json-too-large",
            )


def check_uri(uri: str) -> None:
    """Check that a URI is not longer than any URI of the memory.

    Raises:
        InvalidPayloadError: The URI is too long.
    """
    if len(uri) > LONGEST_URI_CHARS:
        raise InvalidPayloadError(
            f"A URI of this server has {LONGEST_URI_CHARS} characters at most."
        )


def _parse_integer(digits: str) -> float:
    """Return an integer; infinity if it has more digits than the interpreter converts."""
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf
