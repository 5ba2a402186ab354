"""Pages read at a level: typed content, blocks for a model, the detail view, single levels.

Reading never changes a page, and is not counted: what a model gets is, in memory.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import anyio.to_thread
from typing_extensions import TypeAliasType

from app.errors import NotFoundError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.concurrency.large_work import is_quick, run_in_loop_if
from app.services.inline_media.json_with_media import RenderedBody
from app.services.inline_media.stored_media import StoredMedia
from app.services.media.media_checks import MediaChecks
from app.services.pages.accesses import AccessCounts
from app.services.pages.bodies import read_referred_text
from app.services.pages.media import PageMediaReader
from app.services.pages.versions import find_page, read_descriptor, read_page, updated_at
from app.stores.blobs.store import BlobStore
from app.stores.records.pages import PageLevelRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from app.wire.pages import blocks_record, content_record, level_record, page_record_pieces
from pagefault_dialects.model.page import Body, Level, Page, Representation, StoredPage
from pagefault_dialects.model.rendering import ImageDetail, Rendering, rendering_of
from pagefault_dialects.pages.detail import page_detail
from pagefault_dialects.pages.effective_level import shown_level
from pagefault_dialects.pages.page_blocks import PageBlocks, page_blocks
from pagefault_dialects.pages.typed_content import page_json, typed_content
from pagefault_dialects.texts.json_strings import MediaPlaces

MediaForm = TypeAliasType("MediaForm", Literal["inline", "reference"])


@dataclass(frozen=True, slots=True)
class BlocksOptions:
    """How blocks are wanted.

    `max_chars` and `offset` count characters of the level's text; media and addresses are never
    cut.
    """

    media: MediaForm = "inline"
    detail: ImageDetail = "low"
    max_chars: int | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class PageView:
    """A page at the level that is shown, and what reads its media.

    Where the content refers to a text, `page` has the text. `is_quick` is whether the event loop
    can work on what it holds.
    """

    stored: StoredPage
    page: Page
    level: Level
    media: PageMediaReader
    is_quick: bool

    @property
    def shown(self) -> Representation | None:
        """Return what the level holds."""
        return self.page.at(self.level)


@dataclass(frozen=True, slots=True)
class PageReading:
    """Gives memory pages out."""

    records: Records
    blobs: BlobStore
    accesses: AccessCounts
    checks: MediaChecks
    """Says whether their images are sound."""
    limits: Limits

    async def get(self, project_id: str, page_id: str) -> StoredPage:
        """Return the page as it is stored, with its counters.

        Raises:
            NotFoundError: The project has none.
        """
        stored = await self.records.read(
            project_id, lambda unit: find_page(unit, page_id, with_content=True)
        )
        return self.accesses.counted(project_id, stored)

    async def get_as_sent(self, project_id: str, page_id: str) -> RenderedBody:
        """Return the page with its content as the client sent it, data URIs byte for byte.

        Its digest is that of the page as it is stored.

        Raises:
            NotFoundError: The project has none.
            PayloadTooLargeError: Its media are too large to stand in an answer.
            StoreUnavailableError: The store did not answer.
        """
        stored = await self.get(project_id, page_id)
        media = self._media_of(project_id, stored)
        content = await media.content_as_sent(stored.content or b"null")
        pieces = page_record_pieces(stored, content)
        rendering = Rendering(pieces, stored.digest)
        return await RenderedBody(self.blobs, project_id, rendering).check()

    async def view(self, project_id: str, page_id: str, level: Level | None) -> PageView:
        """Return a page at a level, by default at the one the page names itself.

        Raises:
            NotFoundError: The project has none.
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
        shown = page.fields.compression_level if level is None else level
        return PageView(
            self.accesses.counted(project_id, stored),
            page,
            shown,
            media,
            is_quick=is_short and text is None,
        )

    async def content(
        self, project_id: str, page_id: str, level: Level | None, media: MediaForm
    ) -> RenderedBody:
        """Return what a page holds at a level, by modality: a `PageContent`.

        Raises:
            NotFoundError: The project has no such page.
            PayloadTooLargeError: The medium is too large to stand in the answer.
        Source: spec 000, "Current State".
        """
        view = await self.view(project_id, page_id, level)
        body = view.shown.body if view.shown else None
        has_image = body is not None and body.is_media and view.page.fields.modality == "image"
        places, base64 = MediaPlaces(), None
        if body is not None and has_image and (media == "inline" or body.kind != "blob"):
            base64 = await view.media.base64(places, body)
        return await self._rendered(
            view,
            places,
            lambda: content_record(typed_content(view.page, view.level, base64=base64)),
        )

    async def blocks(
        self, project_id: str, page_id: str, level: Level | None, options: BlocksOptions
    ) -> RenderedBody:
        """Return a page as the content of a tool message: `{content, truncated, …}`.

        Raises:
            NotFoundError: The project has no such page.
            PayloadTooLargeError: The medium is too large to stand in the answer.
        Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
        """
        view = await self.view(project_id, page_id, level)
        places = MediaPlaces()
        inline = places if options.media == "inline" else None
        blocks = await self.blocks_of(view, options, inline)
        return await self._rendered(
            view,
            places,
            lambda: blocks_record(blocks, content=blocks.content, requested_level=view.level),
        )

    async def blocks_of(
        self, view: PageView, options: BlocksOptions, places: MediaPlaces | None = None
    ) -> PageBlocks:
        """Return the blocks of a page that is read already; see `blocks`.

        Args:
            view: The page.
            options: How the blocks are wanted.
            places: Where the bytes of a stored image are to stand; `None` for its reference.
        """
        view = await self.looked_at(view)
        shown = await run_in_loop_if(view.is_quick, shown_level, view.page, view.level)
        is_repaired = shown.level in view.page.damage
        address = await view.media.address(
            view.page, shown.level, places=places, is_repaired=is_repaired
        )
        return await run_in_loop_if(
            view.is_quick,
            lambda: page_blocks(
                view.page,
                view.level,
                image_url=address,
                detail=options.detail,
                max_chars=options.max_chars,
                offset=options.offset,
            ),
        )

    async def json_form(
        self, project_id: str, page_id: str, level: Level | None, options: BlocksOptions
    ) -> RenderedBody:
        """Do as `blocks`, with a `content` that is one JSON string: `{success, page_id, …}`.

        Raises:
            NotFoundError: The project has no such page.
        """
        view = await self.looked_at(await self.view(project_id, page_id, level))
        blocks = await self.blocks_of(view, replace(options, media="reference"))
        return await self._rendered(
            view, MediaPlaces(), lambda: _json_blocks(view, options, blocks)
        )

    async def json_text_of(self, view: PageView, options: BlocksOptions) -> str:
        """Return the string of `json_form` for a page that is read already."""
        view = await self.looked_at(view)
        return await run_in_loop_if(view.is_quick, _json_text, view, options)

    async def looked_at(self, view: PageView) -> PageView:
        """Return the view of a page with what is wrong with its images.

        Raises:
            NotFoundError: The image of the level is gone.
            StoreUnavailableError: The store did not answer.
        """
        damage = await view.media.damage(view.page, view.level)
        return replace(view, page=replace(view.page, damage=damage))

    async def detail(self, project_id: str, page_id: str) -> str:
        """Return a page for a terminal, field by field.

        Raises:
            NotFoundError: The project has no such page.
        Source: spec 000, "Enhanced modality display".
        """
        view = await self.view(project_id, page_id, None)
        stored = view.stored
        return await anyio.to_thread.run_sync(
            lambda: page_detail(
                view.page,
                version=stored.version,
                created_at=stored.created_at,
                updated_at=updated_at(stored),
                last_accessed=stored.last_accessed,
                access_count=stored.access_count,
                size_bytes=read_descriptor(stored)["size_bytes"],
            )
        )

    async def representation(self, project_id: str, page_id: str, level: Level) -> bytes:
        """Return one level as it is stored, as JSON.

        Raises:
            NotFoundError: The project has no such page, or the page has no such level.
        """
        view = await self.view(project_id, page_id, level)
        if view.shown is None:
            raise NotFoundError(
                "level",
                detail="The page does not have this level: it was not supplied, and there is "
                "nothing to derive it from. `levels` of the page names those it has.",
                code="level-missing",
            )
        return await run_in_loop_if(view.is_quick, level_record, page_id, view.shown)

    def media(self, project_id: str) -> StoredMedia:
        """Return what reads the media of a project."""
        return StoredMedia(self.records, self.blobs, project_id)

    def _media_of(self, project_id: str, stored: StoredPage) -> PageMediaReader:
        return PageMediaReader(self.media(project_id), stored, self.checks, self.limits)

    async def _rendered(
        self, view: PageView, places: MediaPlaces, render: Callable[[], bytes]
    ) -> RenderedBody:
        """Return what is rendered of a page, with its media in their places."""
        rendering = await run_in_loop_if(
            view.is_quick, lambda: rendering_of(places.pieces(render()))
        )
        return await RenderedBody(self.blobs, view.media.media.project_id, rendering).check()

    def note(self, project_id: str, page_id: str) -> None:
        """Count that a model got a page: a fault, a rendering."""
        self.accesses.note(project_id, page_id, utc_now())


def _load(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page, bool]:
    """Return the page as it is stored and as it is read, and whether it is quick to work on.

    Raises:
        NotFoundError: The project has none.
    """
    stored = find_page(unit, page_id, with_content=True)
    levels = unit[PageLevelRecords].of(page_id)
    texts = (stored.descriptor, stored.body, stored.content or b"")
    is_short = is_quick(*texts, *(each.body for each in levels))
    return stored, read_page(stored, levels), is_short


def _json_text(view: PageView, options: BlocksOptions) -> str:
    return page_json(view.page, view.level, max_chars=options.max_chars, offset=options.offset)


def _json_blocks(view: PageView, options: BlocksOptions, blocks: PageBlocks) -> bytes:
    text = _json_text(view, options)
    if options.max_chars is not None or options.offset:
        # Scenes count in JSON by what they are there, so it may end earlier than the blocks do.
        cut = json.loads(text)
        blocks = replace(blocks, truncated=cut["truncated"], next_offset=cut.get("next_offset"))
    return blocks_record(blocks, content=text, requested_level=view.level)
