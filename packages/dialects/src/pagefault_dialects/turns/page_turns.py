"""Turns with a memory page at a level. Such a turn is the result of a page fault (spec 000)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pagefault_dialects.model.conversation import (
    Address,
    AlternativeText,
    ComposedTurn,
    Item,
    Medium,
    TextItem,
    Turn,
    TurnCall,
)
from pagefault_dialects.model.page import Level, Page
from pagefault_dialects.pages.page_blocks import (
    ATTACHED,
    ATTACHED_ADDRESS,
    PageBlocks,
    format_missing_image,
    page_blocks,
)
from pagefault_dialects.pages.page_text import read_image_text, read_level_text
from pagefault_dialects.targets.media_lines import format_placeholder

PAGE_FAULT_TOOL = "page_fault"
_POINTER = "/content"


@dataclass(frozen=True, slots=True)
class PageFaultCall:
    """The arguments of a call of the tool `page_fault`."""

    page_id: str
    target_level: int
    mime_type: str | None = None
    """The type of the page's image, if the message has only the address of the image."""

    def make_turn_call(self, call_id: str) -> TurnCall:
        """Return the call as an assistant would have made it."""
        arguments = {"page_id": self.page_id, "target_level": self.target_level}
        return TurnCall(call_id, PAGE_FAULT_TOOL, arguments)


def make_page_turn(
    page: Page, level: Level, *, medium: Medium | None, call_id: str, origin: str
) -> ComposedTurn:
    """Return the turn with a page at a level.

    Args:
        page: The page.
        level: The level.
        medium: The medium of the level, if it has one whose bytes or address are known.
        call_id: The id of the call whose result is the page.
        origin: The path of the page.

    Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
    """
    text = _first_text(page_blocks(page, level, image_url=None, with_recordings=True))
    items: tuple[Item, ...] = (TextItem(_POINTER, text),)
    if medium is not None and page.fields.modality == "image":
        # With any URL, the text of the blocks says that the image is attached.
        text_with_image = _first_text(page_blocks(page, level, image_url=""))
        # The image exists, so the text for targets without images does not say it is missing.
        text_without_image = text.replace(format_missing_image(page), format_placeholder(medium), 1)
        # The caption is in `text_without_image`. The empty one says only that there is a caption.
        words = AlternativeText("caption", "") if read_image_text(page, level) else None
        image = replace(
            medium,
            detail="low",
            words=words,
            before=text_with_image,
            instead=text_without_image,
        )
        items = (image,)
    elif medium is not None:
        # The words of the medium are in the text before it. The empty one says only that there are
        # words, and the placeholder replaces the medium.
        words = AlternativeText("transcript" if medium.kind in ("audio", "video") else "text", "")
        has_words = bool(read_level_text(page, level))
        medium = replace(
            medium, words=words if has_words else None, instead=format_placeholder(medium)
        )
        items = (*items, medium)
    return Turn(role="tool", items=items, origin=origin, call_id=call_id, tool_name=PAGE_FAULT_TOOL)


def join_page_image(items: Sequence[Item], call: PageFaultCall | None = None) -> Sequence[Item]:
    """Return the items of a page fault's message, with a text and an image joined into one item.

    If a target omits the image, the text does not mention an attached image either.

    Args:
        items: The items that were read from the message.
        call: The call, which has the type of an image at an address.
    """
    match items:
        case [TextItem() as text, Medium() as medium]:
            if call is not None and call.mime_type and isinstance(medium.source, Address):
                medium = replace(medium, mime_type=call.mime_type)
            line = format_placeholder(medium)
            instead = text.text.replace(ATTACHED_ADDRESS, line).replace(ATTACHED, line)
            return [replace(medium, before=text.text, instead=instead)]
        case _:
            return items


def _first_text(blocks: PageBlocks) -> str:
    """Return the text of the first block, which may be the only one."""
    content = blocks.content
    return content if isinstance(content, str) else str(content[0]["text"])
