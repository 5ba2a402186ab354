from datetime import UTC, datetime

import pytest
from hypothesis import given

from packages.dialects.tests.pages.page_factory import (
    BASE64,
    FOX,
    IMAGE,
    INLINE_IMAGE,
    RECORDING,
    REFERENCE,
    URL,
    make_page,
    pages,
    text,
)
from pagefault_dialects.model.page import Body, Page
from pagefault_dialects.pages.detail import write_page_detail

CREATED = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def detail(page: Page) -> str:
    return write_page_detail(
        page,
        version=2,
        created_at=CREATED,
        last_accessed=CREATED,
        access_count=1,
        size_bytes=None,
    )


def test_image_is_rendered_field_by_field() -> None:
    page = make_page(
        "img_001",
        Body("url", URL),
        modality="image",
        mime_type="image/png",
        dimensions=[1920, 1080],
        caption="Sunset landscape with tree",
        compression_level="ABSTRACT",
    )
    assert detail(page) == (
        "Page ID:     img_001\n"
        "Modality:    image\n"
        "MIME Type:   image/png\n"
        "Dimensions:  1920x1080\n"
        "Compression: ABSTRACT\n"
        "Content:     [caption] Sunset landscape with tree\n"
        "URL:         https://example.com/sunset.png\n"
        "Page Type:   artifact\n"
        "Importance:  0.5\n"
        "Levels:      FULL, REDUCED, ABSTRACT, REFERENCE\n"
        "Tokens:      ~2765\n"
        "Created:     2026-01-02T03:04:05.000000Z\n"
        "Accessed:    2026-01-02T03:04:05.000000Z (1 time)\n"
        "Version:     2\n"
    )


def test_every_known_field_has_a_line() -> None:
    page = make_page(
        "v",
        Body("blob", REFERENCE, RECORDING.media),
        modality="video",
        duration_seconds=342.0,
        schema_name="film",
        scenes=["A beach", "A dog"],
        session_id="demo",
        hint="holiday\nfilm",
        pinned=True,
        importance=1,
        provenance=["a", "b"],
        mime_type="video/mp4",
    )
    detail_text = write_page_detail(
        page,
        version=1,
        created_at=CREATED,
        updated_at=CREATED,
        last_accessed=None,
        access_count=0,
        size_bytes=44,
    )
    assert detail_text == (
        "Page ID:     v\n"
        "Modality:    video\n"
        "MIME Type:   video/mp4\n"
        "Duration:    5:42 (342.0 s)\n"
        "Schema:      film\n"
        "Scenes:      2\n"
        "Compression: FULL\n"
        "Content:     [scenes] A beach A dog\n"
        f"Resource:    {REFERENCE}\n"
        "Page Type:   artifact\n"
        "Session:     demo\n"
        "Hint:        holiday\\nfilm\n"
        "Importance:  1\n"
        "Pinned:      yes\n"
        "Provenance:  a, b\n"
        "Levels:      FULL, REDUCED, ABSTRACT, REFERENCE\n"
        "Size:        44 bytes\n"
        "Tokens:      ~10\n"
        "Created:     2026-01-02T03:04:05.000000Z\n"
        "Updated:     2026-01-02T03:04:05.000000Z\n"
        "Version:     1\n"
    )


CONTENTS = {
    "caption as content": (
        make_page("i", text("Sunset landscape"), modality="image"),
        "[caption] Sunset landscape",
    ),
    "no caption": (
        make_page("i", Body("url", URL), modality="image"),
        "[no caption] image/png, sunset.png",
    ),
    "nothing known": (make_page("i", Body("none"), modality="image"), "[no caption]"),
    "transcript": (
        make_page("a", RECORDING, modality="audio", transcript="So\nit is."),
        "[transcript] So\\nit is.",
    ),
    "no transcript": (make_page("a", RECORDING, modality="audio"), "[no transcript]"),
    "text": (make_page("t", text("Hi")), "Hi"),
    "long text": (make_page("t", text(FOX * 50)), (FOX * 5)[:200] + "..."),
    "empty text": (make_page("t", text("")), "[empty text]"),
    "no text": (make_page("t", Body("none")), "[no content]"),
    "letters": (make_page("t", text("a" * 90)), "a" * 90),
    "digest": (make_page("t", text("0fA9" * 32)), "0fA9" * 32),
    "number": (make_page("s", Body("json", 10**90), modality="structured"), str(10**90)),
    "text with base64": (make_page("t", text(f"see {BASE64} there")), "see […] there"),
    "data": (make_page("s", Body("json", '{"a": 1}'), modality="structured"), '{"a":1}'),
    "outline": (
        make_page("s", Body("json", {"a": [1] * 50}), modality="structured", compression_level=2),
        '{"a":"array of 50 integers"}',
    ),
    "bidi": (make_page("t", text("a\u202eb")), "a\\u202eb"),
}


@pytest.mark.parametrize(("page", "preview"), CONTENTS.values(), ids=CONTENTS)
def test_content_is_previewed_on_one_line(page: Page, preview: str) -> None:
    assert f"\nContent:     {preview}\n" in detail(page)


@pytest.mark.parametrize(
    ("page", "line"),
    [
        (
            make_page("i", INLINE_IMAGE, modality="image"),
            "URL:         [data URI, image/png, 70 bytes]",
        ),
        (make_page("i", IMAGE, modality="image"), f"Resource:    {REFERENCE}"),
    ],
)
def test_medium_is_named_and_not_attached(page: Page, line: str) -> None:
    assert f"\n{line}\n" in detail(page)


@pytest.mark.slow
@given(page=pages())
def test_every_page_is_rendered_as_labelled_lines(page: Page) -> None:
    lines = detail(page).splitlines()
    assert [line for line in lines if line[:13].strip()[-1:] != ":"] == []
    assert BASE64[:40] not in detail(page)
