"""The visible text of a page at each level, if levels are missing or have fewer words."""

from typing import Any

import pytest
from hypothesis import given

from packages.dialects.tests.pages.page_factory import (
    FOX,
    IMAGE,
    RECORDING,
    SMALL_IMAGE,
    make_page,
    pages,
    text,
)
from pagefault_dialects.model.page import AudioContent, Body, Level, Page, PageContent, VideoContent
from pagefault_dialects.pages.page_blocks import page_blocks
from pagefault_dialects.pages.page_text import read_image_text, read_level_text
from pagefault_dialects.pages.typed_content import build_typed_content

# The FULL, REDUCED and ABSTRACT texts of an image without an attached medium.
CAPTIONS: dict[str, tuple[Page, list[str | None]]] = {
    "words and a longer caption": (
        make_page("i", text("a caption"), modality="image", caption="a far longer caption"),
        ["a caption", "a caption", "a caption"],
    ),
    "a long caption, and no smaller form": (
        make_page("i", IMAGE, modality="image", caption=FOX * 30),
        [FOX * 30, (FOX * 17).strip(), (FOX * 17).strip()],
    ),
    "nothing known": (make_page("i", Body("none"), modality="image"), [None, None, None]),
    "only its type known": (make_page("i", IMAGE, modality="image"), [None, None, None]),
    "a summary and no content": (
        make_page(
            "i", Body("none"), modality="image", caption="x", supplied={Level.ABSTRACT: text("y z")}
        ),
        ["y z", "y z", "y z"],
    ),
    "a longer summary than the caption": (
        make_page(
            "i",
            IMAGE,
            reduced=SMALL_IMAGE,
            modality="image",
            caption="x",
            supplied={Level.ABSTRACT: text("y z")},
        ),
        ["y z", "y z", "y z"],
    ),
    "a smaller form in words": (
        make_page(
            "i", IMAGE, modality="image", caption="x", supplied={Level.REDUCED: text("red sun")}
        ),
        ["red sun", "red sun", "x"],
    ),
}


@pytest.mark.parametrize(("page", "expected"), CAPTIONS.values(), ids=CAPTIONS)
def test_image_without_attachment_has_the_existing_texts(
    page: Page, expected: list[str | None]
) -> None:
    assert [read_image_text(page, level) for level in list(Level)[:3]] == expected


STANDUP: dict[str, Any] = {"modality": "audio", "transcript": "We ship today, all of it."}
WORDS: dict[str, tuple[Page, list[str | None]]] = {
    "content beside a transcript": (
        make_page("a", text("Recorded on\na phone, in the rain."), **STANDUP),
        [
            "We ship today, all of it.\nContent: Recorded on\na phone, in the rain.",
            "We ship today, all of it.",
            "We ship today, all of it.",
        ],
    ),
    "content that is the transcript": (
        make_page("a", text("We ship today, all of it.\n"), **STANDUP),
        ["We ship today, all of it."] * 3,
    ),
    "content beside scenes and a transcript": (
        make_page(
            "v",
            text("A screen recording, without a cut"),
            modality="video",
            transcript="Look.",
            scenes=["A beach"],
        ),
        [
            "  - A beach\nLook.\nContent: A screen recording, without a cut",
            "  - A beach\nLook.",
            "  - A beach",
        ],
    ),
    "a transcript supplied as a level": (
        make_page("a", RECORDING, modality="audio", supplied={Level.REDUCED: text("Hello.")}),
        ["Hello.", "Hello.", "Hello."],
    ),
    "a longer transcript supplied as a level": (
        make_page(
            "a",
            RECORDING,
            modality="audio",
            transcript="Hm.",
            supplied={Level.REDUCED: text("Hm, hello.")},
        ),
        ["Hm.\nSupplied: Hm, hello.", "Hm, hello.", "Hm, hello."],
    ),
    "a summary supplied as a level": (
        make_page("a", RECORDING, modality="audio", supplied={Level.ABSTRACT: text("A greeting")}),
        ["A greeting", "A greeting", "A greeting"],
    ),
    "scenes, and a transcript supplied as a level": (
        make_page(
            "v",
            RECORDING,
            modality="video",
            scenes=["A beach"],
            supplied={Level.REDUCED: text("Look at the beach.")},
        ),
        ["  - A beach\nLook at the beach.", "Look at the beach.", "  - A beach"],
    ),
    "a summary of a text that is not there": (
        make_page("t", Body("none"), supplied={Level.ABSTRACT: text("A note")}),
        [None, "A note", "A note"],
    ),
    "an outline of data that is not there": (
        make_page(
            "s", Body("none"), modality="structured", supplied={Level.ABSTRACT: Body("json", [1])}
        ),
        [None, "[1]", "[1]"],
    ),
}


@pytest.mark.parametrize(("page", "expected"), WORDS.values(), ids=WORDS)
def test_fuller_level_never_has_less_text(page: Page, expected: list[str | None]) -> None:
    assert [read_level_text(page, level) for level in list(Level)[:3]] == expected


def test_summary_in_place_of_a_transcript_is_labelled() -> None:
    page = make_page(
        "a", RECORDING, modality="audio", supplied={Level.ABSTRACT: text("A greeting")}
    )
    rendered = page_blocks(page, Level.FULL, image_url=None).content
    assert str(rendered).startswith(
        "Page a (audio, FULL):\n  [audio, audio/wav, summary below]\nA greeting\n  Resource: @blob:"
    )


def test_missing_reduced_image_has_the_text_of_the_abstract_level() -> None:
    page = make_page("i", IMAGE, modality="image", caption="Sunset")
    rendered = page_blocks(page, Level.REDUCED, image_url=None).content
    assert str(rendered).startswith(
        "Page i (image, REDUCED — caption only):\n"
        '  [no image available: image/png, 1920x1080]\n  "Sunset"\n'
    )


TYPED: dict[str, tuple[Page, Level, PageContent]] = {
    "the transcript stands alone": (
        WORDS["content beside a transcript"][0],
        Level.FULL,
        AudioContent(
            type="audio",
            transcript="We ship today, all of it.",
            timestamps=None,
            duration_seconds=None,
        ),
    ),
    "scenes are of the level that has them": (
        WORDS["scenes, and a transcript supplied as a level"][0],
        Level.REDUCED,
        VideoContent(
            type="video",
            scenes=None,
            transcript="Look at the beach.",
            duration_seconds=None,
            url=RECORDING.value,
        ),
    ),
}


@pytest.mark.parametrize(("page", "level", "content"), TYPED.values(), ids=TYPED)
def test_typed_content_is_the_body_of_the_level(
    page: Page, level: Level, content: PageContent
) -> None:
    assert build_typed_content(page, level, base64=None) == content


@pytest.mark.slow
@given(page=pages())
def test_no_level_has_more_text_than_the_one_below_it(page: Page) -> None:
    # Missing text is missing at FULL too, although a level above was supplied, and the spelling
    # of data is not content.
    modality = page.fields.modality
    first = Level.REDUCED if modality == "text" and page.full.kind != "text" else Level.FULL
    levels = [] if modality == "structured" else [at for at in list(Level)[:3] if at >= first]
    lengths = [page_blocks(page, level, image_url=None).total_chars for level in levels]
    assert lengths == sorted(lengths, reverse=True)
