"""Media that a result has twice become one, with the better name and type."""

from typing import Any

import pytest

from app.services.normalization import normalize_tool_result
from app.services.persistence.duplicate_media import may_have_duplicates, merge_duplicates
from packages.dialects.tests.results.samples import NOISE, PNG, PNG64
from tests.kit.media import b64

NOISE64 = b64(NOISE)


def kept(content: list[dict[str, Any]], structured: object) -> list[tuple[object, ...]]:
    """Each medium of a result: its bytes, type, name, and whether it must be stored."""
    result = normalize_tool_result({"content": content, "structuredContent": structured})
    return [
        (
            b"".join(medium.source.chunks()),
            medium.source.declared_mime_type,
            medium.filename,
            medium.must_be_stored,
        )
        for medium in merge_duplicates(result).media
    ]


def blob(data: str, uri: str, mime_type: str | None) -> dict[str, Any]:
    """An embedded resource."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "blob": data}}


def image(data: str, **beside: str) -> dict[str, Any]:
    """A block of an image."""
    return {"type": "image", "data": data, "mimeType": "image/png", **beside}


@pytest.mark.parametrize(
    ("content", "structured", "expected"),
    [
        ([image(PNG64)], {"a": PNG64}, (PNG, "image/png", None, True)),
        (
            [image(PNG64)],
            {"data": PNG64, "filename": "a.png"},
            (PNG, "image/png", "a.png", True),
        ),
        (
            [blob(NOISE64, "file:///a.bin", "application/octet-stream")],
            {"data": NOISE64, "mimeType": "application/x-a", "filename": "b.bin"},
            (NOISE, "application/x-a", "a.bin", True),
        ),
        (
            [blob(NOISE64, "file:///a.bin", None)],
            {"result": NOISE64.replace("+", "-").replace("/", "_").rstrip("=")},
            (NOISE, None, "a.bin", True),
        ),
    ],
)
def test_a_blob_mirrored_in_structured_content_is_one_medium(
    content: list[dict[str, Any]], structured: object, expected: tuple[object, ...]
) -> None:
    assert kept(content, structured) == [expected, expected]


def test_blocks_under_two_names_stay_two_and_their_mirrors_are_theirs() -> None:
    content = [image(PNG64, name="a.png"), image(PNG64, name="b.png")]
    structured = [{"filename": "b.png", "data": PNG64}, PNG64]
    first, second = ((PNG, "image/png", name, True) for name in ("a.png", "b.png"))
    assert kept(content, structured) == [first, second, second, first]


def test_two_blocks_of_one_medium_are_left_as_they_are() -> None:
    assert kept([image(PNG64), image(PNG64)], None) == [(PNG, "image/png", None, False)] * 2


def test_files_of_a_structure_keep_their_names_and_what_has_none_takes_the_first() -> None:
    structured = [PNG64, {"filename": "a.png", "data": PNG64}, {"filename": "b.png", "data": PNG64}]
    names = [name for _, _, name, _ in kept([], structured)]
    # Structured content alone is shown as text too, with its media.
    assert set(names) == {"a.png", "b.png"}


def test_mirrored_medium_has_one_handle() -> None:
    result = normalize_tool_result({"content": [image(PNG64)], "structuredContent": {"a": PNG64}})
    first, second = merge_duplicates(result).media
    assert first.source is second.source


@pytest.mark.parametrize(
    ("media", "may"),
    [([], False), ([PNG], False), ([PNG, PNG + b"x"], False), ([PNG, NOISE, PNG], True)],
)
def test_media_of_one_size_that_begin_alike_may_be_one(media: list[bytes], may: bool) -> None:
    content = [image(b64(medium)) for medium in media]
    assert may_have_duplicates(normalize_tool_result({"content": content})) is may
