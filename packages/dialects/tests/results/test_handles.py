"""Handles of media that a streaming parser extracted, in place of their strings."""

import pytest

from packages.dialects.tests.results.samples import (
    PNG,
    Medium,
    Result,
    comparable,
    extracted,
    json_part,
    medium,
    text,
)
from pagefault_dialects.json.values import MediaSlot
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.results import normalize

HANDLE = InMemoryMedia(PNG)
TYPED = InMemoryMedia(PNG, "image/webp")


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (HANDLE, Medium(PNG)),
        ([HANDLE], Medium(PNG)),
        ({"content": HANDLE}, Medium(PNG)),
        ({"toolResult": HANDLE}, Medium(PNG)),
        ({"type": "text", "text": TYPED}, Medium(PNG, "image/webp")),
        (
            {"type": "image", "data": HANDLE, "mimeType": "image/png"},
            Medium(PNG, "image/png", "image"),
        ),
        (
            {"type": "image", "data": TYPED, "mimeType": "image/png"},
            Medium(PNG, "image/webp", "image"),
        ),
        ({"image_url": {"url": TYPED}}, Medium(PNG, "image/webp", "image")),
        (
            {"data": HANDLE, "mimeType": "text/plain", "filename": "a"},
            Medium(PNG, "text/plain", None, "a"),
        ),
        (
            {"type": "resource", "resource": {"mimeType": "text/html", "blob": HANDLE}},
            Medium(PNG, "text/html"),
        ),
        ({"type": "resource", "resource": {"text": HANDLE}}, Medium(PNG)),
    ],
)
def test_handle_is_the_medium_under_its_own_type_or_else_the_blocks(
    value: object, found: Medium
) -> None:
    assert comparable(normalize(value)) == Result((medium(),), (found,))


def test_handle_with_its_type_is_returned_unchanged() -> None:
    result = normalize({"type": "image", "data": TYPED, "mimeType": "image/png"})
    assert result.media[0].source is TYPED


def test_handle_under_a_blocks_type_still_gives_its_bytes() -> None:
    block = {"type": "image", "data": HANDLE, "mimeType": "image/png"}
    source = normalize(block).media[0].source
    assert (source.size_bytes, source.head(4)) == (len(PNG), PNG[:4])
    assert b"".join(source.chunks()) == b"".join(source.chunks()) == PNG


def test_handle_in_a_record_leaves_a_slot() -> None:
    value = {"id": 1, "a": [HANDLE], "mimeType": "image/png", "data": HANDLE}
    assert comparable(normalize(value)) == Result(
        (
            json_part('{"id":1,"a":["', 0, '"],"mimeType":"image/png","data":"', 1, '"}'),
            extracted(0),
            extracted(1),
        ),
        (Medium(PNG, must_be_stored=True), Medium(PNG, "image/png", must_be_stored=True)),
    )


def test_handle_beside_the_content_leaves_a_slot() -> None:
    value = {"content": ["x"], "structuredContent": HANDLE}
    assert comparable(normalize(value)) == Result(
        (text("x"), extracted()),
        (Medium(PNG, must_be_stored=True),),
        structured_content=(MediaSlot(0),),
    )
