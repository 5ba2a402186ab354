import pytest
from hypothesis import given

from packages.dialects.tests.pages.page_factory import (
    IMAGE,
    INLINE_IMAGE,
    RECORDING,
    SMALL_IMAGE,
    URL,
    make_page,
    pages,
    text,
)
from pagefault_dialects.model.page import Body, Level, Page, PageMedia
from pagefault_dialects.pages.sizes import (
    body_size_bytes,
    estimate_image_tokens,
    estimate_page_tokens,
    estimate_tokens,
    is_longer,
)

STORED_TEXT = Body(
    "blob",
    "@blob:" + "0" * 32,
    PageMedia(
        uri="@blob:" + "0" * 32,
        mime_type="text/plain",
        size_bytes=1_001,
        filename=None,
        width=None,
        height=None,
        duration_seconds=None,
    ),
)

BODIES = {
    "nothing": (Body("none"), 0, 0),
    "empty text": (text(""), 0, 0),
    "text": (text("Grüße"), 7, 2),
    "data": (Body("json", {"a": [1, 2]}), 11, 3),
    "address of an image": (Body("url", URL), None, 258),
    "address of a recording": (Body("url", "https://cdn/x.mp3"), None, 5),
    "address of who knows what": (Body("url", "https://cdn/x"), None, 258),
    "large image": (IMAGE, 9_000, 2_765),
    "small image": (SMALL_IMAGE, 70, 258),
    "inline image": (INLINE_IMAGE, 70, 258),
    "recording": (RECORDING, 70, 10),
    "stored text": (STORED_TEXT, 1_001, 251),
}


@pytest.mark.parametrize(("body", "size_bytes", "tokens"), BODIES.values(), ids=BODIES)
def test_body_has_a_size_and_costs_tokens(body: Body, size_bytes: int | None, tokens: int) -> None:
    assert (body_size_bytes(body), estimate_tokens(body)) == (size_bytes, tokens)


def test_fields_describe_the_target_of_an_address() -> None:
    page = make_page("i", Body("url", URL), modality="image", dimensions=[1920, 1080])
    assert estimate_tokens(page.full, page.fields) == 2_765


@pytest.mark.parametrize("body", [RECORDING, Body("url", "https://cdn/x.mp4")])
def test_recording_without_words_costs_its_reference(body: Body) -> None:
    page = make_page("v", body, modality="video")
    assert estimate_page_tokens(page)[Level.FULL] >= estimate_tokens(body, page.fields) > 0


def test_recording_costs_its_words() -> None:
    page = make_page("a", RECORDING, modality="audio", transcript="x" * 4_000)
    assert estimate_page_tokens(page) == {
        Level.FULL: 1_000,
        Level.REDUCED: 1_000,
        Level.ABSTRACT: 200,
        Level.REFERENCE: 8,
    }


@pytest.mark.slow
@given(page=pages())
def test_higher_level_never_costs_more(page: Page) -> None:
    costs = list(estimate_page_tokens(page).values())
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize(
    ("width", "height", "tokens"),
    [
        *((None, None, 258), (1_000_000, None, 258), (None, 1_000_000, 258), (1, 1, 258)),
        *((750, 258, 258), (750, 259, 259), (1_500, 1_000, 2_000), (1_000, 751, 1_002)),
    ],
)
def test_image_costs_a_token_for_750_pixels(
    width: int | None, height: int | None, tokens: int
) -> None:
    assert estimate_image_tokens(width, height) == tokens


@pytest.mark.parametrize(
    ("body", "below", "expected"),
    [
        (text("ab"), text("a"), True),
        (text("a"), text("b"), False),
        (text("a"), Body("json", [1]), False),
        (SMALL_IMAGE, text("a" * 1_000), True),
        (text("a" * 1_000), SMALL_IMAGE, False),
        (IMAGE, SMALL_IMAGE, True),
        (SMALL_IMAGE, IMAGE, False),
        (IMAGE, IMAGE, False),
        (IMAGE, Body("url", URL), False),
        (Body("url", URL), SMALL_IMAGE, False),
    ],
)
def test_body_is_longer_than_the_one_below_it(body: Body, below: Body, expected: bool) -> None:
    assert is_longer(body, below) is expected


@pytest.mark.parametrize(
    ("page", "tokens"),
    [
        (
            make_page("p", SMALL_IMAGE, modality="image", caption="word " * 400),
            {Level.FULL: 258, Level.REDUCED: 258, Level.ABSTRACT: 200, Level.REFERENCE: 10},
        ),
        (
            make_page("p", text("One sentence. " * 100)),
            {Level.FULL: 350, Level.REDUCED: 350, Level.ABSTRACT: 200, Level.REFERENCE: 5},
        ),
        (make_page("p", Body("none")), {Level.REFERENCE: 5}),
    ],
)
def test_existing_levels_of_a_page_cost_tokens(page: Page, tokens: dict[Level, int]) -> None:
    found = estimate_page_tokens(page)
    assert (found, list(found)) == (tokens, sorted(tokens))
