"""Pages at a level, and their blocks and texts for models.

Reading never changes a page. Only reads by models are counted, in memory.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.concurrency.large_work import is_quick, run_in_loop_if
from app.services.inline_media.stored_media import StoredMedia
from app.services.media.media_checks import MediaChecks
from app.services.pages.accesses import AccessCounts
from app.services.pages.page_bodies import read_referred_text
from app.services.pages.restored_page_media import PageMediaReader
from app.services.pages.stored_pages import find_page, read_page
from app.stores.blobs.store import BlobStore
from app.stores.records.pages import PageLevelRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.token_cuts import head_and_tail_within
from pagefault_dialects.model.page import Body, Level, MediaForm, Page, Representation, StoredPage
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.pages.effective_level import effective_level
from pagefault_dialects.pages.one_line import quoted
from pagefault_dialects.pages.page_blocks import PageBlocks, page_blocks
from pagefault_dialects.pages.typed_content import page_json
from pagefault_dialects.texts.cuts import Excerpt, excerpt
from pagefault_dialects.texts.json_strings import MediaPlaces

# Tokens of an answer beside the text of the page.
_FRAME_TOKENS = 100


@dataclass(frozen=True, slots=True)
class BlocksOptions:
    """Options of blocks.

    `max_chars` and `offset` count characters of the level's text; media and URLs are never cut.
    With `max_tokens`, a longer text is cut to its beginning and end, with a line between them that
    names the call that reads on.
    """

    media: MediaForm = "inline"
    detail: ImageDetail = "low"
    max_chars: int | None = None
    offset: int = 0
    max_tokens: int | None = None

    def cut(self, page: Page, level: Level, text: str) -> Excerpt:
        """Return the part of a level's text that these options select."""
        if self.max_tokens is None:
            return excerpt(text, max_chars=self.max_chars, offset=self.offset)
        is_whole = effective_level(page, Level.FULL).level is effective_level(page, level).level
        notice = partial(_read_on_notice, page.page_id, self.max_tokens, is_whole)
        return head_and_tail_within(text, max(0, self.max_tokens - _FRAME_TOKENS), notice)


@dataclass(frozen=True, slots=True)
class PageView:
    """A page at a level, with the reader of its media.

    If the content refers to a text, `page` has the text. `is_quick` is true if the page is short
    enough for the event loop.
    """

    stored: StoredPage
    page: Page
    level: Level
    media: PageMediaReader
    is_quick: bool

    @property
    def representation(self) -> Representation | None:
        """Return the representation of the level."""
        return self.page.at(self.level)


@dataclass(frozen=True, slots=True)
class PageViews:
    """Reads memory pages at a level."""

    records: Records
    blobs: BlobStore
    accesses: AccessCounts
    checks: MediaChecks
    """Checks of images."""
    limits: Limits

    async def get(self, project_id: str, page_id: str) -> StoredPage:
        """Return the stored page with its counters.

        Raises:
            NotFoundError: The project has no such page.
        """
        stored = await self.records.read(
            project_id, lambda unit: find_page(unit, page_id, with_content=True)
        )
        return self.accesses.add_counts(project_id, stored)

    async def view(self, project_id: str, page_id: str, level: Level | None) -> PageView:
        """Return a page at a level, by default at its own `compression_level`.

        Raises:
            NotFoundError: The project has no such page.
            StoreUnavailableError: A store did not answer.
        """
        stored, page, is_short = await self.records.read(
            project_id, lambda unit: _load(unit, page_id)
        )
        media = self._media_of(project_id, stored)
        text = await read_referred_text(
            media.media,
            page.fields.modality,
            page.full,
            limit_bytes=self.limits.page_text_bytes,
        )
        if text is not None:
            kind: Literal["text", "json"] = "text" if page.fields.modality == "text" else "json"
            page = replace(page, full=Body(kind, text, page.full.media))
        return PageView(
            self.accesses.add_counts(project_id, stored),
            page,
            page.fields.compression_level if level is None else level,
            media,
            is_quick=is_short and text is None,
        )

    async def blocks_of(
        self, view: PageView, options: BlocksOptions, places: MediaPlaces | None = None
    ) -> PageBlocks:
        """Return the blocks of a page view; see `PageReading.blocks`.

        Args:
            view: The page.
            options: The options of the blocks.
            places: The places of stored images in the JSON; `None` for references.
        """
        view = await self.check_images(view)
        effective = await run_in_loop_if(view.is_quick, effective_level, view.page, view.level)
        is_repaired = effective.level in view.page.damage
        address = await view.media.address(
            view.page, effective.level, places=places, is_repaired=is_repaired
        )
        # Counting tokens may load the vocabulary, which is slow.
        is_quick = view.is_quick and options.max_tokens is None
        return await run_in_loop_if(
            is_quick,
            lambda: page_blocks(
                view.page,
                view.level,
                image_url=address,
                detail=options.detail,
                cut=partial(options.cut, view.page, view.level),
            ),
        )

    async def json_text_of(self, view: PageView, options: BlocksOptions) -> str:
        """Return the string of `PageReading.json_form` for a page view."""
        view = await self.check_images(view)
        return await run_in_loop_if(view.is_quick, page_view_json, view, options)

    async def check_images(self, view: PageView) -> PageView:
        """Check the images of a page; the returned view has their damage.

        Raises:
            NotFoundError: The image of the level was deleted.
            StoreUnavailableError: The store did not answer.
        """
        damage = await view.media.damage(view.page, view.level)
        return replace(view, page=replace(view.page, damage=damage))

    def media(self, project_id: str) -> StoredMedia:
        """Return the stored media of a project."""
        return StoredMedia(self.records, self.blobs, project_id)

    def _media_of(self, project_id: str, stored: StoredPage) -> PageMediaReader:
        return PageMediaReader(self.media(project_id), stored, self.checks, self.limits)

    def note(self, project_id: str, page_id: str) -> None:
        """Count a read of a page by a model: a fault, a rendering."""
        self.accesses.note(project_id, page_id, utc_now())


def _load(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page, bool]:
    """Return the stored page, the parsed page, and whether it is short.

    Raises:
        NotFoundError: The project has no such page.
    """
    stored = find_page(unit, page_id, with_content=True)
    levels = unit[PageLevelRecords].of(page_id)
    texts = (stored.descriptor, stored.body, stored.content or b"")
    is_short = is_quick(*texts, *(each.body for each in levels))
    return stored, read_page(stored, levels), is_short


def _read_on_notice(page_id: str, max_tokens: int, is_whole: bool, offset: int) -> str:
    """Return the call of `read_text` that reads on, as a notice for a model."""
    at = f", offset={offset}" if is_whole else ""
    verb = "reads on" if is_whole else "reads the whole page"
    return f"an answer has {max_tokens} tokens at most; read_text({quoted(page_id)}{at}) {verb}"


def page_view_json(view: PageView, options: BlocksOptions) -> str:
    """Return the JSON text of a page for a model: `{success, page_id, …}`."""
    return page_json(view.page, view.level, max_chars=options.max_chars, offset=options.offset)
