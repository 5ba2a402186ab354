"""A page at a level, as the answer to the call that faulted it in."""

from dataclasses import replace

import pytest

from packages.dialects.tests.pages.page_factory import FOX, IMAGE, RECORDING, make_page, text
from pagefault_dialects.model.conversation import (
    AlternativeText,
    ComposedTurn,
    Item,
    Medium,
    StoredBytes,
    TextItem,
    Turn,
)
from pagefault_dialects.model.page import Level, Page
from pagefault_dialects.model.resource import MediaHints, resource_kind
from pagefault_dialects.pages.page_blocks import page_blocks
from pagefault_dialects.turns.page_turns import join_page_image, make_page_turn

ORIGIN = "/api/pages/p"


def render_page(page: Page, level: Level, medium: Medium | None = None) -> ComposedTurn:
    return make_page_turn(page, level, medium=medium, call_id="c1", origin=ORIGIN)


def turn(*items: Item) -> ComposedTurn:
    return Turn("tool", items, ORIGIN, call_id="c1", tool_name="page_fault")


def medium(mime_type: str, filename: str) -> Medium:
    source = StoredBytes("ab" * 16, "cd" * 32)
    kind = resource_kind(mime_type)
    return Medium("/content", source, kind, mime_type, filename, 9_000, MediaHints(1_920, 1_080))


def words(page: Page, level: Level, image_url: str | None = None) -> str:
    """Return the text of a page: as `GET /content` returns it, or the text before its image."""
    content = page_blocks(page, level, image_url=image_url).content
    return content if isinstance(content, str) else str(content[0]["text"])


@pytest.mark.parametrize("level", Level)
def test_page_of_text_is_its_text(level: Level) -> None:
    page = make_page("p", text(FOX * 100), modality="text")
    assert render_page(page, level) == turn(TextItem("/content", words(page, level)))


def test_image_follows_its_text() -> None:
    page, picture = make_page("p", IMAGE, modality="image"), medium("image/png", "a.png")
    instead = words(page, Level.FULL).replace(
        "[no image available: image/png, 1920x1080]", "[Image: a.png (9.0 kB)]"
    )
    assert "[Image: a.png (9.0 kB)]" in instead
    assert render_page(page, Level.FULL, picture) == turn(
        replace(
            picture,
            detail="low",
            words=None,
            before=words(page, Level.FULL, ""),
            instead=instead,
        )
    )


def test_image_with_a_caption_is_reduced_to_it() -> None:
    page = make_page("p", IMAGE, modality="image", caption="A sunset.")
    (item,) = render_page(page, Level.FULL, medium("image/png", "a.png")).items
    assert isinstance(item, Medium)
    assert item.words == AlternativeText("caption", "")
    assert item.instead is not None
    assert "A sunset." in item.instead


def test_missing_image_has_a_line() -> None:
    page = make_page("p", IMAGE, modality="image")
    assert render_page(page, Level.FULL) == turn(TextItem("/content", words(page, Level.FULL)))


def test_recording_follows_its_transcript() -> None:
    page = make_page(
        "p", RECORDING, modality="audio", transcript="Hello there.", mime_type="audio/wav"
    )
    sound = medium("audio/wav", "a.wav")
    assert render_page(page, Level.FULL, sound) == turn(
        TextItem("/content", words(page, Level.FULL)),
        replace(sound, words=AlternativeText("transcript", ""), instead="[Audio: a.wav (9.0 kB)]"),
    )


def test_recording_without_words_is_one_line_at_last() -> None:
    page = make_page("p", RECORDING, modality="audio", mime_type="audio/wav")
    sound = medium("audio/wav", "a.wav")
    assert render_page(page, Level.FULL, sound) == turn(
        TextItem("/content", words(page, Level.FULL)),
        replace(sound, words=None, instead="[Audio: a.wav (9.0 kB)]"),
    )


def test_fault_in_a_history_has_only_visible_content() -> None:
    image = Medium("/content/1", StoredBytes("a" * 32, "b" * 64), "image", "image/png", None, 9_000)
    text_item = TextItem("/content/0", "Page p (image, FULL):\n  [image attached below]")
    assert join_page_image([text_item, image]) == [
        replace(
            image,
            before=text_item.text,
            instead="Page p (image, FULL):\n  [Image: image/png (9.0 kB)]",
        )
    ]
    assert join_page_image([text_item]) == [text_item]
