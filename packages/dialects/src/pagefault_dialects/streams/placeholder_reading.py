"""Parses JSON bodies with placeholders for their long strings, and computes their digests.

Routes that read a body while it arrives call these functions once it has arrived completely.
"""

import re
from collections.abc import Callable, Mapping
from json import JSONDecodeError
from typing import TypeVar

from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.streams.json_digests import json_digest
from pagefault_dialects.streams.json_stream import JsonStream
from pagefault_dialects.streams.long_strings import DraftT, LongString
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks, find_numbers

_Read = TypeVar("_Read")
_Result = TypeVar("_Result")
_POSITION = re.compile(r"\b((?:column|byte) )(\d+)")


def read_with_placeholders(
    json: JsonStream[DraftT],
    placeholders: dict[int, Placeholder],
    marks: PlaceholderMarks,
    *,
    read: Callable[[bytes], _Read],
    find_media: Callable[[_Read, dict[int, Placeholder]], tuple[_Result, set[int]]],
    reserve_text: Callable[[int], None],
) -> tuple[_Result, dict[int, Placeholder]]:
    """Read a body in which placeholders replace long strings.

    `read` does not know of placeholders: they are short strings of base64. If a placeholder becomes
    a medium in its result, the draft of the string is that medium. Otherwise the string is needed
    as text, and the body is read again with the string itself, until all placeholders left are
    media. Errors are the same as for the body without placeholders.

    Args:
        json: The body.
        placeholders: The placeholders by the indexes of long strings. Other strings are read as
            text.
        marks: The marks of the placeholders.
        read: Parses and checks a body.
        find_media: Returns the result of a body, and the indexes of the placeholders that did not
            become media. Those strings are read as text the next time.
        reserve_text: Reserves memory for a number of bytes of strings that are read as text.

    Returns:
        The result of the body, and the placeholders that are media in it.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `reserve_text`.
    """
    strings = json.long_strings
    text_numbers = set(range(len(strings))) - placeholders.keys()
    while True:
        reserve_text(sum(strings[number].raw_bytes for number in text_numbers))
        try:
            raw_strings = (
                placeholders[number].raw if number in placeholders else string.read_raw()
                for number, string in enumerate(strings)
            )
            value = read(json.join_body(raw_strings))
        except InvalidJsonError as exc:
            raise _locate_in_whole_body(exc, strings, placeholders) from exc
        except InvalidPayloadError as exc:
            # The key in the pointer of a fault may be a long string.
            text_numbers = find_numbers(exc.faults, marks) & placeholders.keys()
            if not text_numbers:
                raise
        else:
            result, text_numbers = find_media(value, placeholders)
            if not text_numbers:
                return result, placeholders
        placeholders = {
            number: placeholder
            for number, placeholder in placeholders.items()
            if number not in text_numbers
        }


def compute_stream_digest(
    json: JsonStream[DraftT],
    value: JsonValue,
    placeholders: Mapping[int, Placeholder],
    *,
    prefix: bytes = b"",
) -> str:
    """Return the digest of the JSON value of a body, as `json_digest` does. Blocks.

    Args:
        json: The body.
        value: Its value, with placeholders.
        placeholders: The placeholders by the indexes of long strings.
        prefix: Bytes that are hashed before the value.
    """
    strings = json.long_strings
    # A dictionary without values is an ordered set.
    names_by_text: dict[str, dict[str, None]] = {}
    for number, placeholder in placeholders.items():
        # Strings with the same placeholder may differ in characters that it does not copy.
        names_by_text.setdefault(placeholder.text, {})[strings[number].compute_name()] = None
    names = {text: "".join(ordered) for text, ordered in names_by_text.items()}
    body_bytes = None if strings else json.kept_bytes
    return json_digest(value, prefix=prefix, body_bytes=body_bytes, names=names)


def _locate_in_whole_body(
    error: InvalidJsonError, strings: list[LongString[DraftT]], placeholders: dict[int, Placeholder]
) -> InvalidJsonError:
    """Return the error of a body with placeholders, with its position in the original body."""
    cause = error.__cause__
    if isinstance(cause, JSONDecodeError):
        body = cause.doc[: cause.pos].encode()
    elif isinstance(cause, UnicodeDecodeError):
        body = cause.object[: cause.start]
    else:
        return error
    # Long strings have no line breaks, so the number of the line is right, and only the column is
    # not.
    start = body.rfind(b"\n") + 1 if isinstance(cause, JSONDecodeError) else 0
    missing_bytes = 0
    ends: dict[bytes, int] = {}
    for number, placeholder in placeholders.items():
        # Equal strings have equal placeholders, so each search starts after the last match.
        position = body.find(placeholder.raw, ends.get(placeholder.raw, 0))
        if position >= 0:
            ends[placeholder.raw] = position + len(placeholder.raw)
        if position >= start:
            missing_bytes += strings[number].raw_bytes - len(placeholder.raw)
    return InvalidJsonError(
        _POSITION.sub(lambda found: f"{found[1]}{int(found[2]) + missing_bytes}", error.detail)
    )
