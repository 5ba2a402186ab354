"""Reading and digests of JSON texts with placeholders for their long strings."""

import re
from collections.abc import Callable, Mapping
from json import JSONDecodeError
from typing import TypeVar

from pagefault_dialects.errors import InvalidJsonError, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.streams.json_digests import json_digest
from pagefault_dialects.streams.json_stream import JsonStream
from pagefault_dialects.streams.long_strings import DraftT, LongString
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks, numbers_in

_Read = TypeVar("_Read")
_Result = TypeVar("_Result")
_PLACE = re.compile(r"\b((?:column|byte) )(\d+)")


def read_with_placeholders(
    json: JsonStream[DraftT],
    placeholders: dict[int, Placeholder],
    marks: PlaceholderMarks,
    *,
    read: Callable[[bytes], _Read],
    find_media: Callable[[_Read, dict[int, Placeholder]], tuple[_Result, set[int]]],
    hold_text: Callable[[int], None],
) -> tuple[_Result, dict[int, Placeholder]]:
    """Read a body with placeholders for its long strings, until each of these is a medium.

    Readers need no knowledge of placeholders, which are short strings to them. If a placeholder
    becomes a medium and nothing else, its draft is the medium. Otherwise the string is needed as
    text, and the body is read again with it. Errors are the same as for the whole body.

    Args:
        json: The body.
        placeholders: The placeholders by the numbers of long strings. Other strings are read whole.
        marks: The marks of the placeholders.
        read: Parses and checks a body.
        find_media: Returns the result of a body, and the numbers of placeholders that are no media
            in it. Those strings are read whole the next time.
        hold_text: Reserves memory for the bytes of strings that are read whole.

    Returns:
        The result of the body, and the placeholders that are left in it.

    Raises:
        InvalidJsonError, InvalidPayloadError, PayloadTooLargeError: As `read` and `hold_text`.
    """
    strings = json.long_strings
    as_text = set(range(len(strings))) - placeholders.keys()
    while True:
        hold_text(sum(strings[number].raw_bytes for number in as_text))
        try:
            raw_strings = (
                placeholders[number].raw if number in placeholders else string.raw()
                for number, string in enumerate(strings)
            )
            value = read(json.body(raw_strings))
        except InvalidJsonError as exc:
            raise _as_of_whole_body(exc, strings, placeholders) from exc
        except InvalidPayloadError as exc:
            # The key in the pointer of a fault may be a long string.
            as_text = numbers_in(exc.faults, marks) & placeholders.keys()
            if not as_text:
                raise
        else:
            result, as_text = find_media(value, placeholders)
            if not as_text:
                return result, placeholders
        placeholders = {
            number: placeholder
            for number, placeholder in placeholders.items()
            if number not in as_text
        }


def stream_digest(
    json: JsonStream[DraftT],
    value: JsonValue,
    placeholders: Mapping[int, Placeholder],
    *,
    prefix: bytes = b"",
) -> str:
    """Return the digest of the JSON value of a text; see `json_digest`. Blocks.

    Args:
        json: The text.
        value: Its value, with placeholders.
        placeholders: The placeholders by the numbers of long strings.
        prefix: Bytes that are hashed before the value.
    """
    strings = json.long_strings
    named: dict[str, dict[str, None]] = {}
    for number, placeholder in placeholders.items():
        # Strings with the same mark may differ in a character that the placeholder lacks.
        named.setdefault(placeholder.text, {})[strings[number].name()] = None
    names = {text: "".join(item) for text, item in named.items()}
    body_bytes = None if strings else json.kept_bytes
    return json_digest(value, prefix=prefix, body_bytes=body_bytes, names=names)


def _as_of_whole_body(
    error: InvalidJsonError, strings: list[LongString[DraftT]], placeholders: dict[int, Placeholder]
) -> InvalidJsonError:
    """Return the error with its place in the whole body."""
    cause = error.__cause__
    if isinstance(cause, JSONDecodeError):
        body = cause.doc[: cause.pos].encode()
    elif isinstance(cause, UnicodeDecodeError):
        body = cause.object[: cause.start]
    else:
        return error
    # Long strings have no line breaks, so lines are the same, and only columns differ.
    start = body.rfind(b"\n") + 1 if isinstance(cause, JSONDecodeError) else 0
    missing = 0
    ends: dict[bytes, int] = {}
    for number, placeholder in placeholders.items():
        # Equal strings have equal placeholders, so each search starts behind the last match.
        at = body.find(placeholder.raw, ends.get(placeholder.raw, 0))
        if at >= 0:
            ends[placeholder.raw] = at + len(placeholder.raw)
        if at >= start:
            missing += strings[number].raw_bytes - len(placeholder.raw)
    return InvalidJsonError(
        _PLACE.sub(lambda found: f"{found[1]}{int(found[2]) + missing}", error.detail)
    )
