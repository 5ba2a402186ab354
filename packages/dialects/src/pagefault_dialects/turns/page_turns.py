"""A page at a level as the answer to the call that faults it in (spec 000)."""

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
    image_missing,
    page_blocks,
)
from pagefault_dialects.pages.words import image_text, visible_text
from pagefault_dialects.targets.media_lines import placeholder

PAGE_FAULT_TOOL = "page_fault"
_POINTER = "/content"


@dataclass(frozen=True, slots=True)
class PageFaultCall:
    """The page and level that a page fault asked for.

    `mime_type` is the type of the page's image, where the message has only its address.
    """

    page_id: str
    target_level: int
    mime_type: str | None = None

    def turn_call(self, call_id: str) -> TurnCall:
        """Return the call as an assistant makes it."""
        arguments = {"page_id": self.page_id, "target_level": self.target_level}
        return TurnCall(call_id, PAGE_FAULT_TOOL, arguments)


def page_turn(
    page: Page, level: Level, *, medium: Medium | None, call_id: str, origin: str
) -> ComposedTurn:
    """Return a page, for a model.

    Args:
        page: The page.
        level: The level that is shown.
        medium: The medium that the level is, if it is one and the bytes or address are there.
        call_id: The call that the page answers.
        origin: The path of the page.

    Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
    """
    text = _text(page_blocks(page, level, image_url=None, with_recordings=True))
    items: tuple[Item, ...] = (TextItem(_POINTER, text),)
    if medium is not None and page.fields.modality == "image":
        attached = _text(page_blocks(page, level, image_url=""))
        words = AlternativeText("caption", "") if image_text(page, level) else None
        # The image is there: only this target does not see it.
        instead = text.replace(image_missing(page), placeholder(medium), 1)
        shown = replace(medium, detail="low", words=words, before=attached, instead=instead)
        items = (shown,)
    elif medium is not None:
        has_words = bool(visible_text(page, level))
        words = AlternativeText("transcript" if medium.kind in ("audio", "video") else "text", "")
        # The words stand before it in any case, so that nothing but the line takes its place.
        medium = replace(medium, words=words if has_words else None, instead=placeholder(medium))
        items = (*items, medium)
    return Turn(role="tool", items=items, origin=origin, call_id=call_id, tool_name=PAGE_FAULT_TOOL)


def faulted(items: Sequence[Item], call: PageFaultCall | None = None) -> Sequence[Item]:
    """Return the items of the message that a page fault left in a history.

    Where its image is not shown, its text does not say that it is. An image at an address has the
    type that its page gave it.
    """
    match items:
        case [TextItem() as text, Medium() as medium]:
            if call is not None and call.mime_type and isinstance(medium.source, Address):
                medium = replace(medium, mime_type=call.mime_type)
            line = placeholder(medium)
            instead = text.text.replace(ATTACHED_ADDRESS, line).replace(ATTACHED, line)
            return [replace(medium, before=text.text, instead=instead)]
        case _:
            return items


def _text(blocks: PageBlocks) -> str:
    content = blocks.content
    return content if isinstance(content, str) else str(content[0]["text"])
