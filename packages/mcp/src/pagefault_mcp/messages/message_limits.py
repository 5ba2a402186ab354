"""Limits on one message of JSON-RPC, checked before any other code reads the message.

The SDK parses a message in the event loop, and the proxy scans for members in Python. The time of
both grows with the number of values, and little with the length of strings.
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
"""Values in one message."""
LONGEST_URI_CHARS = 2_048
"""The URI of a memory page: an id of 128 characters, percent-encoded, has 384."""
LONGEST_CURSOR_CHARS = 1_024
"""The cursor of a list."""
LONGEST_METHOD_CHARS = 128
"""The method of a message."""
LONGEST_ID_CHARS = 1_024
"""The id of a request over HTTP, and the token of its progress."""

_MAX_BYTES_BESIDE_A_STRING = 1024 * 1024
_MAX_DIGITS = 4_000


def parse_message(body: bytes, *, max_depth: int) -> Any:  # noqa: ANN401 - any JSON
    """Return the value of a message; its numbers may be infinite or NaN.

    Raises:
        InvalidJsonError: It is not JSON in UTF-8.
        PayloadTooLargeError: It is nested too deep, or has more than `MAX_VALUES` values.
    """
    try:
        text = body.decode()
        check_shape(text, max_depth, MAX_VALUES)
        return json.loads(text, parse_int=_integer)
    except (ValueError, RecursionError) as exc:
        raise InvalidJsonError("The body is no JSON in UTF-8.") from exc


def check_message(message: Mapping[str, Any], body: bytes) -> None:
    """Raise if a message is larger than clients of the memory have reason to send.

    Args:
        message: The parsed message.
        body: Its bytes, as they were sent.

    Raises:
        InvalidPayloadError: Its method or its id is too long; the response would repeat it.
        PayloadTooLargeError: It has more than 1 MiB beside its longest string.
    """
    for name, max_chars in (("method", LONGEST_METHOD_CHARS), ("id", LONGEST_ID_CHARS)):
        value = message.get(name)
        if isinstance(value, str) and len(value) > max_chars:
            raise InvalidPayloadError(
                f"The {name} of a message has {max_chars} characters at most.",
                faults=[Fault(f"/{name}", f"has {len(value)} characters")],
            )
    if len(body) > _MAX_BYTES_BESIDE_A_STRING:
        beside_bytes = len(body) - len(find_longest_string(body.decode()).encode())
        if beside_bytes > _MAX_BYTES_BESIDE_A_STRING:
            raise PayloadTooLargeError(
                f"A message has {_MAX_BYTES_BESIDE_A_STRING} bytes at most beside its longest "
                "string. Store large data with `POST /api/resources`, and refer to it.",
                code="json-too-large",
            )


def check_uri(uri: str) -> None:
    """Raise if a URI is longer than any URI of the memory.

    Raises:
        InvalidPayloadError: The URI is too long.
    """
    if len(uri) > LONGEST_URI_CHARS:
        raise InvalidPayloadError(
            f"A URI of this server has {LONGEST_URI_CHARS} characters at most."
        )


def _integer(digits: str) -> float:
    """Return an integer, or infinity for more digits than the interpreter converts."""
    return int(digits) if len(digits) <= _MAX_DIGITS else math.inf
