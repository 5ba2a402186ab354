"""Methods that every shape has from its base: encoding, splicing, description."""

from datetime import UTC, datetime
from typing import Annotated, Any

import msgspec
import pytest
from msgspec import Raw
from pydantic import Field, TypeAdapter

from app.models.resource_descriptor import ResourceDescriptor
from app.wire.shape import (
    GAP,
    DocumentedAs,
    Shape,
    Timestamp,
    define_struct,
    encode_raw,
    make_timestamp,
)
from pagefault_dialects.json.values import json_text, parse_embedded_json
from pagefault_dialects.model.timestamps import rfc3339

# No JSON of ours would be spelled like this: whoever parsed it would not get it back.
ODD = b'{"b" :1.10,"a":[123456789012345678901234567890 , "\\u00e9\xc3\xa9\xe2\x80\xa8"] }'


class Inner(Shape, rename=None, kw_only=True):
    """Says at what time."""

    told_at: Timestamp


class Outer(Shape, kw_only=True):
    """Says everything."""

    a_name: Annotated[str, Field(description="Any.")]
    stored: Annotated[Raw, DocumentedAs(dict[str, Any])]
    nothing: int | None
    left_out: int | None = None
    inner: Inner | None = None


def test_stored_bytes_are_spliced_and_defaults_are_left_out() -> None:
    outer = Outer(a_name='"\x00\x7f\u2028é', stored=Raw(ODD), nothing=None)
    name = json_text(outer.a_name).encode()
    assert outer.encode() == b'{"aName":%s,"stored":%s,"nothing":null}' % (name, ODD)


def test_members_of_a_stored_object_follow_as_they_are() -> None:
    told = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    head = b'{"told_at":"2026-01-02T03:04:05.000006Z",'
    assert Inner(told_at=make_timestamp(told)).with_members_of(ODD) == head + ODD[1:]


def test_every_character_is_escaped_as_the_standard_library_does() -> None:
    text = "".join(map(chr, [*range(0xD800), *range(0xE000, 0x11000)]))
    encoded = Outer(a_name=text, stored=Raw(b"1"), nothing=None).encode()
    assert encoded == b'{"aName":%s,"stored":1,"nothing":null}' % json_text(text).encode()


def test_a_gap_is_left_where_somebody_else_writes() -> None:
    outer = Outer(a_name="\0", stored=GAP, nothing=None, left_out=1)
    halves = (b'{"aName":"\\u0000","stored":', b',"nothing":null,"leftOut":1}')
    assert outer.split_at_gap() == halves


def test_model_that_is_checked_when_it_comes_in_goes_out_by_the_same_names() -> None:
    encoded = define_struct(ResourceDescriptor)(
        uri="blob:", kind="text", mime_type="text/plain", size=1, digest="d", media_kind=None
    )
    assert msgspec.json.encode(encoded) == (
        b'{"uri":"blob:","kind":"text","mimeType":"text/plain","size":1,"digest":"d"}'
    )


@pytest.mark.parametrize("text", ["1e-05", "1e+16", "1.10", "12345678901234567890123", '{"a":[]}'])
def test_json_value_is_written_as_it_is_everywhere(text: str) -> None:
    value = parse_embedded_json(text, max_depth=9, max_nodes=9)
    assert bytes(encode_raw(value)) == text.encode()


@pytest.mark.parametrize(
    ("at", "told"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 600, tzinfo=UTC), "2026-01-02T03:04:05.000600Z"),
        (datetime.fromisoformat("2026-01-02T03:04:05.6+02:00"), "2026-01-02T01:04:05.600000Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00.000000Z"),
        (datetime(1, 1, 1, microsecond=999_999, tzinfo=UTC), "0001-01-01T00:00:00.999999Z"),
    ],
)
def test_moment_is_told_in_utc_to_the_microsecond(at: datetime, told: str) -> None:
    assert rfc3339(at) == told
    assert Inner(told_at=make_timestamp(at)).encode() == f'{{"told_at":"{told}"}}'.encode()


def test_description_is_that_of_the_json() -> None:
    assert TypeAdapter(Outer).json_schema() == {
        "$defs": {
            "Inner": {
                "additionalProperties": False,
                "description": "Says at what time.",
                "properties": {
                    "told_at": {"format": "date-time", "title": "Told At", "type": "string"}
                },
                "required": ["told_at"],
                "title": "Inner",
                "type": "object",
            }
        },
        "additionalProperties": False,
        "description": "Says everything.",
        "properties": {
            "aName": {"description": "Any.", "title": "Aname", "type": "string"},
            "stored": {"additionalProperties": True, "title": "Stored", "type": "object"},
            "nothing": {"anyOf": [{"type": "integer"}, {"type": "null"}], "title": "Nothing"},
            "leftOut": {
                "anyOf": [{"type": "integer"}, {"type": "null"}],
                "default": None,
                "title": "Leftout",
            },
            "inner": {"anyOf": [{"$ref": "#/$defs/Inner"}, {"type": "null"}], "default": None},
        },
        "required": ["aName", "stored", "nothing"],
        "title": "Outer",
        "type": "object",
    }
