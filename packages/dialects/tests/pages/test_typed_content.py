import pytest
from hypothesis import given
from hypothesis import strategies as st

from packages.dialects.tests.pages.page_factory import (
    BASE64,
    FOX,
    IMAGE,
    INLINE_IMAGE,
    RECORDING,
    REFERENCE,
    SMALL_IMAGE,
    SMALL_REFERENCE,
    URL,
    make_page,
    pages,
    text,
)
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.page import (
    AudioContent,
    Body,
    ImageContent,
    Level,
    Page,
    PageContent,
    StructuredContent,
    TextContent,
    VideoContent,
)
from pagefault_dialects.pages.typed_content import build_typed_content


def image(
    caption: str | None = None, url: str | None = None, base64: str | None = None
) -> ImageContent:
    return ImageContent(type="image", caption=caption, url=url, base64=base64, embedding=None)


def audio(transcript: str | None, seconds: float | None) -> AudioContent:
    return AudioContent(
        type="audio", transcript=transcript, timestamps=None, duration_seconds=seconds
    )


def data(value: JsonValue, schema_name: str | None = None) -> StructuredContent:
    return StructuredContent(type="structured", data=value, schema_name=schema_name)


PICTURE = make_page("i", IMAGE, reduced=SMALL_IMAGE, modality="image", caption="Sunset")
SPEECH = make_page("a", RECORDING, modality="audio", transcript=FOX * 20, duration_seconds=0.0)
FILM = make_page(
    "v",
    Body("url", "https://cdn/x.mp4"),
    modality="video",
    transcript="Look. " * 200,
    scenes=["A beach"],
    duration_seconds=2.5,
)

CASES: dict[str, tuple[Page, int, str | None, PageContent]] = {
    "text": (make_page("t", text("Hi")), 0, None, TextContent(type="text", text="Hi")),
    "no text": (make_page("t", Body("none")), 0, None, TextContent(type="text", text="")),
    "stored image": (PICTURE, 0, None, image("Sunset", REFERENCE)),
    "stored image as base64": (PICTURE, 0, BASE64, image("Sunset", None, BASE64)),
    "reduced image": (PICTURE, 1, None, image("Sunset", SMALL_REFERENCE)),
    "abstract of an image": (PICTURE, 2, BASE64, image("Sunset")),
    "reference of an image": (PICTURE, 3, None, TextContent(type="text", text="Sunset")),
    "address of an image": (
        make_page("i", Body("url", URL), modality="image"),
        0,
        None,
        image(None, URL),
    ),
    "inline image": (
        make_page("i", INLINE_IMAGE, modality="image"),
        0,
        BASE64,
        image(None, None, BASE64),
    ),
    "image of which there are only words": (
        make_page("i", text("Sunset"), modality="image"),
        1,
        BASE64,
        image("Sunset"),
    ),
    "audio": (SPEECH, 0, None, audio(FOX * 20, 0.0)),
    "abstract of audio": (SPEECH, 2, None, audio((FOX * 17).strip(), 0.0)),
    "audio without words": (
        make_page("a", RECORDING, modality="audio"),
        1,
        None,
        audio(None, None),
    ),
    "audio whose content is its transcript": (
        make_page("a", text("silence"), modality="audio", duration_seconds=0.0),
        0,
        None,
        audio("silence", 0.0),
    ),
    "video": (
        FILM,
        1,
        None,
        VideoContent(
            type="video",
            scenes=("A beach",),
            transcript="Look. " * 200,
            duration_seconds=2.5,
            url="https://cdn/x.mp4",
        ),
    ),
    "abstract of a video": (
        FILM,
        2,
        None,
        VideoContent(
            type="video",
            scenes=None,
            transcript="  - A beach",
            duration_seconds=2.5,
            url=None,
        ),
    ),
    "video whose content is its description": (
        make_page("vid_004", text("A man walks a dog."), modality="video"),
        0,
        None,
        VideoContent(
            type="video",
            scenes=None,
            transcript="A man walks a dog.",
            duration_seconds=None,
            url=None,
        ),
    ),
    "data as a JSON string": (
        make_page("s", Body("json", '{"temperature": 22}'), modality="structured", schema_name="w"),
        0,
        None,
        data({"temperature": 22}, "w"),
    ),
    "a list is data": (
        make_page("s", Body("json", [1, "2"]), modality="structured"),
        0,
        None,
        data([1, "2"]),
    ),
    "a number is data": (
        make_page("s", Body("json", 5), modality="structured"),
        0,
        None,
        data(5),
    ),
    "no JSON is a string": (
        make_page("s", Body("json", "NaN"), modality="structured"),
        0,
        None,
        data("NaN"),
    ),
    "JSON with half a pair": (
        make_page("s", Body("json", '["\\ud800", "\\ud83d\\ude00"]'), modality="structured"),
        0,
        None,
        data(["\ufffd", "😀"]),
    ),
    "a derived string is not parsed again": (
        make_page("s", Body("json", '"5"'), modality="structured"),
        1,
        None,
        data("5"),
    ),
    "no data": (make_page("s", Body("none"), modality="structured"), 0, None, data(None)),
}


@pytest.mark.parametrize(("page", "level", "base64", "content"), CASES.values(), ids=CASES)
def test_content_is_of_the_pages_modality(
    page: Page, level: int, base64: str | None, content: PageContent
) -> None:
    assert build_typed_content(page, Level(level), base64=base64) == content


@pytest.mark.parametrize(
    ("embedding", "expected"),
    [
        ([0.5, 1], (0.5, 1.0)),
        ([], ()),
        (["0.5"], None),
        ([True], None),
        ([10**400], None),
        ([float("inf")], None),
        ({"a": 1}, None),
        (None, None),
    ],
)
def test_embedding_is_a_list_of_finite_numbers(
    embedding: JsonValue, expected: tuple[float, ...] | None
) -> None:
    page = make_page("i", IMAGE, modality="image", metadata={"embedding": embedding})
    content = build_typed_content(page, Level.FULL, base64=None)
    assert isinstance(content, ImageContent)
    assert content.embedding == expected


def test_timestamps_are_returned_with_audio() -> None:
    page = make_page("a", RECORDING, modality="audio", metadata={"timestamps": [{"t": 0.0}, 1]})
    content = build_typed_content(page, Level.FULL, base64=None)
    assert isinstance(content, AudioContent)
    assert content.timestamps == ({"t": 0.0}, 1)


@pytest.mark.slow
@given(page=pages(), level=st.sampled_from(Level))
def test_media_are_returned_only_at_full_and_reduced(page: Page, level: Level) -> None:
    content = build_typed_content(page, level, base64=BASE64)
    has_medium = isinstance(content, ImageContent | VideoContent) and content.url is not None
    has_bytes = isinstance(content, ImageContent) and content.base64 is not None
    assert not (has_medium or has_bytes) or level <= Level.REDUCED


@pytest.mark.slow
@given(page=pages())
def test_reference_is_always_text(page: Page) -> None:
    assert isinstance(build_typed_content(page, Level.REFERENCE, base64=None), TextContent)
