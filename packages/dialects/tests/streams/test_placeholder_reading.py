"""A body is read with placeholders until only media are left of them."""

import base64
import json

import pytest

from packages.dialects.tests.streams.memory_draft import MemoryDraft
from pagefault_dialects.errors import Fault, InvalidJsonError, InvalidPayloadError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.streams.json_digests import json_digest
from pagefault_dialects.streams.json_stream import JsonStream
from pagefault_dialects.streams.placeholder_reading import (
    compute_stream_digest,
    read_with_placeholders,
)
from pagefault_dialects.streams.placeholders import Placeholder, PlaceholderMarks

LONG_CHARS = 4_096
IMAGE = base64.b64encode(b"\xff" * 24_000)
OTHER = base64.b64encode(b"\xfe" * 24_000)


class ReadBody:
    """A body with its placeholders, and what was parsed and reserved for it."""

    def __init__(self, body: bytes) -> None:
        self.reserved: list[int] = []
        self.json = JsonStream(MemoryDraft, self.reserved.append, long_chars=LONG_CHARS)
        self.json.feed(body)
        self.json.finish()
        self.marks = PlaceholderMarks()
        self.placeholders: dict[int, Placeholder] = {}
        for number, string in enumerate(self.json.long_strings):
            placeholder = string.make_placeholder(self.marks.make_mark(number))
            assert placeholder is not None
            self.placeholders[number] = placeholder
        self.parsed: list[bytes] = []

    def parse(self, body: bytes) -> JsonValue:
        """Parse a body; a key is an error, and so is an invalid one."""
        self.parsed.append(body)
        try:
            value: JsonValue = json.loads(body)
        except (json.JSONDecodeError, UnicodeDecodeError) as exc:
            place = (
                f"line {exc.lineno} column {exc.colno}"
                if isinstance(exc, json.JSONDecodeError)
                else f"byte {exc.start}"
            )
            raise InvalidJsonError(f"The body is no JSON at {place}.") from exc
        if isinstance(value, dict) and "fault" in value:
            raise InvalidPayloadError(faults=[Fault(f"/{value['fault']}", "is refused")])
        return value

    def read(self, *media: int) -> tuple[JsonValue, dict[int, Placeholder]]:
        """Read the body; the long strings with these numbers are media."""
        return read_with_placeholders(
            self.json,
            self.placeholders,
            self.marks,
            read=self.parse,
            find_media=lambda value, left: (value, left.keys() - {*media}),
            reserve_text=self.reserved.append,
        )


def test_placeholder_of_a_medium_stays_and_other_strings_are_read_as_text() -> None:
    body = ReadBody(b'["%b", "%b"]' % (IMAGE, OTHER))
    first, second = body.placeholders[0], body.placeholders[1]
    assert body.read(1) == ([IMAGE.decode(), second.text], {1: second})
    assert body.parsed == [
        b'["%b", "%b"]' % (first.raw, second.raw),
        b'["%b", "%b"]' % (IMAGE, second.raw),
    ]
    assert body.reserved == [0, len(IMAGE)]


def test_body_whose_long_strings_are_media_is_read_once() -> None:
    body = ReadBody(b'["%b"]' % IMAGE)
    assert body.read(0) == ([body.placeholders[0].text], body.placeholders)
    assert body.reserved == [0]


def test_string_without_a_placeholder_is_read_as_text() -> None:
    body = ReadBody(b'["%b", "%b"]' % (IMAGE, OTHER))
    del body.placeholders[0]
    assert body.read(1)[0] == [IMAGE.decode(), body.placeholders[1].text]
    assert body.reserved == [len(IMAGE)]


def test_error_with_a_long_string_in_its_pointer_is_that_of_the_whole_body() -> None:
    body = ReadBody(b'{"fault": "%b", "a": "%b"}' % (IMAGE, OTHER))
    with pytest.raises(InvalidPayloadError) as caught:
        body.read(0, 1)
    assert caught.value.faults == (Fault(f"/{IMAGE.decode()}", "is refused"),)
    assert body.reserved == [0, len(IMAGE)]


@pytest.mark.parametrize(
    "form",
    [
        b'["%b", x, "%b"]',
        b'["%b", "%b", x]',
        b'[x, "%b", "%b"]',
        b'["%b",\n"%b", x]',
        b'["%b",\n"%b",\n x]',
        b'["%b", "\xff", "%b"]',
        b'["%b",\n"%b", "\xff"]',
    ],
)
@pytest.mark.parametrize("second", [OTHER, IMAGE])
def test_error_has_its_position_in_the_whole_body(form: bytes, second: bytes) -> None:
    whole = form % (IMAGE, second)
    body = ReadBody(whole)
    if second == IMAGE:
        again = body.json.long_strings[1].make_placeholder(body.marks.make_mark(1, first=0))
        assert again == body.placeholders[0]
        body.placeholders[1] = again
    with pytest.raises(InvalidJsonError) as expected:
        body.parse(whole)
    with pytest.raises(InvalidJsonError) as caught:
        body.read(0, 1)
    assert caught.value.detail == expected.value.detail


def test_other_error_of_json_stays_as_it_is() -> None:
    body = ReadBody(b'["%b"]' % IMAGE)
    error = InvalidJsonError("It is nested too deeply at column 3.")

    def refuse(_: bytes) -> JsonValue:
        raise error

    with pytest.raises(InvalidJsonError) as caught:
        read_with_placeholders(
            body.json,
            body.placeholders,
            body.marks,
            read=refuse,
            find_media=lambda value, _: (value, set()),
            reserve_text=body.reserved.append,
        )
    assert caught.value is error


def test_digest_with_placeholders_is_that_of_the_value() -> None:
    long = base64.b64encode(b"\xff" * 60_000)
    other = base64.b64encode(b"\xff" * 30_000 + b"\xfe" + b"\xff" * 29_999)
    whole = b'{"b": ["%b"], "a": "%b"}' % (long, other)
    body = ReadBody(whole)
    value, placeholders = body.read(0, 1)
    expected = json_digest(json.loads(whole), prefix=b"before")
    assert compute_stream_digest(body.json, value, placeholders, prefix=b"before") == expected


def test_digest_of_strings_with_one_placeholder_has_the_names_of_all() -> None:
    long = base64.b64encode(b"\xff" * 60_000)
    other = base64.b64encode(b"\xff" * 30_000 + b"\xfe" + b"\xff" * 29_999)
    digests = []
    for strings in ((long, other), (long, long), (other, long)):
        body = ReadBody(b'["%b", "%b"]' % strings)
        same = body.placeholders[0]
        value: JsonValue = [same.text, same.text]
        digests.append(compute_stream_digest(body.json, value, {0: same, 1: same}))
    assert len({*digests}) == 3
    assert digests[1] == json_digest([long.decode(), long.decode()])
