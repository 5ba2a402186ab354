"""Reads a JSON text with placeholders for its long strings, and what it is known by."""

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
_Settled = TypeVar("_Settled")
_PLACE = re.compile(r"\b((?:column|byte) )(\d+)")


def read_with_placeholders(
    json: JsonStream[DraftT],
    placeholders: dict[int, Placeholder],
    marks: PlaceholderMarks,
    *,
    read: Callable[[bytes], _Read],
    settle: Callable[[_Read, dict[int, Placeholder]], tuple[_Settled, set[int]]],
    hold_text: Callable[[int], None],
) -> tuple[_Settled, dict[int, Placeholder]]:
    """Read a body with short texts for its long strings, until each of these is a medium.

    Whoever reads knows nothing of this: in what is read every long string is a short text. Where
    that came out as a medium, and as nothing else, the medium is the draft. Where it came out as
    anything else, the string is needed as the text it is, and all is read again with it. A refusal
    says what it would say of the body that came.

    Args:
        json: The body.
        placeholders: What stands in for which of its long strings; the others are read as they are.
        marks: What the placeholders have in them.
        read: Parses and checks a body.
        settle: Returns what came of a body, and the numbers of the placeholders that are no media
            there; those strings are read as they are the next time.
        hold_text: Is told how long the strings are that are read as they are, before they are in
            memory.

    Returns:
        What came of the body in the end, and the placeholders that are still in it.

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
            # A fault points at its key, which may be a long string as well.
            as_text = numbers_in(exc.faults, marks) & placeholders.keys()
            if not as_text:
                raise
        else:
            settled, as_text = settle(value, placeholders)
            if not as_text:
                return settled, placeholders
        placeholders = {
            number: each for number, each in placeholders.items() if number not in as_text
        }


def stream_digest(
    json: JsonStream[DraftT],
    value: JsonValue,
    placeholders: Mapping[int, Placeholder],
    *,
    prefix: bytes = b"",
) -> str:
    """Return the digest of the JSON value that a text stands for; see `json_digest`. Blocks.

    Args:
        json: The text.
        value: What it was parsed to.
        placeholders: What stands in that value for which of the long strings.
        prefix: What the digest covers before it.
    """
    strings = json.long_strings
    named: dict[str, dict[str, None]] = {}
    for number, each in placeholders.items():
        # Those that share a mark may differ in a character that is not in the short text.
        named.setdefault(each.text, {})[strings[number].name()] = None
    names = {text: "".join(each) for text, each in named.items()}
    body_bytes = None if strings else json.kept_bytes
    return json_digest(value, prefix=prefix, body_bytes=body_bytes, names=names)


def _as_of_whole_body(
    error: InvalidJsonError, strings: list[LongString[DraftT]], placeholders: dict[int, Placeholder]
) -> InvalidJsonError:
    """Return the error with the place it names as it is in the body that came."""
    cause = error.__cause__
    if isinstance(cause, JSONDecodeError):
        body = cause.doc[: cause.pos].encode()
    elif isinstance(cause, UnicodeDecodeError):
        body = cause.object[: cause.start]
    else:
        return error
    # No long string has a line break, so that what is missing is missing in its line.
    start = body.rfind(b"\n") + 1 if isinstance(cause, JSONDecodeError) else 0
    missing = 0
    ends: dict[bytes, int] = {}
    for number, placeholder in placeholders.items():
        # Equal strings have one placeholder, and the next of them is looked for behind the last.
        at = body.find(placeholder.raw, ends.get(placeholder.raw, 0))
        if at >= 0:
            ends[placeholder.raw] = at + len(placeholder.raw)
        if at >= start:
            missing += strings[number].raw_bytes - len(placeholder.raw)
    return InvalidJsonError(
        _PLACE.sub(lambda found: f"{found[1]}{int(found[2]) + missing}", error.detail)
    )
