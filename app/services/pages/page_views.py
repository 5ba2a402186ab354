"""Reads pages at a level with their media, and makes blocks and texts from them for models.

Reading never changes a page. `PageViews.record_access` counts a read by a model, in memory.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import anyio.to_thread
import pybase64

from app.errors import NotFoundError, StoreUnavailableError
from app.models.identity import utc_now
from app.models.limits import Limits
from app.services.concurrency.large_work import is_quick, run_in_loop_if
from app.services.inline_media.stored_media import StoredMedia, check_fits
from app.services.media.media_checks import MediaChecks
from app.services.pages.accesses import AccessCounts
from app.services.pages.message_images import repair_image
from app.services.pages.page_bodies import read_referenced_text
from app.services.pages.stored_pages import find_page, read_page
from app.stores.blobs.store import BlobStore
from app.stores.records.pages import PageLevelRecords
from app.stores.records.records import Records
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.context.token_cuts import head_and_tail_within
from pagefault_dialects.media.data_uris import split_data_uri
from pagefault_dialects.media.embedded_data_uris import InlineForm, load_forms
from pagefault_dialects.media.types import OCTET_STREAM
from pagefault_dialects.model.page import Body, Level, MediaForm, Page, Representation, StoredPage
from pagefault_dialects.model.render_options import ImageDetail, JsonPiece, MediaPiece
from pagefault_dialects.model.resource import Damage, parse_resource_id
from pagefault_dialects.pages.effective_level import find_attached_image, find_effective_level
from pagefault_dialects.pages.line_formats import quote
from pagefault_dialects.pages.page_blocks import PageBlocks, page_blocks
from pagefault_dialects.pages.typed_content import write_page_json
from pagefault_dialects.texts.cuts import Excerpt, take_excerpt
from pagefault_dialects.texts.json_strings import MediaMarks

_ROOT_POINTER = ""
_NO_BASE64 = Damage("damaged-media", "What its data: URI announces as base64 is none.")


@dataclass(frozen=True)
class PageMediaReader:
    """Reads the media of one page."""

    media: StoredMedia
    """The media of the project."""
    stored: StoredPage
    """The page, with the original form of its data URIs."""
    checks: MediaChecks
    limits: Limits

    @cached_property
    def _forms(self) -> dict[str, InlineForm]:
        return load_forms(self.stored.inline_form)

    @property
    def declared_type(self) -> str | None:
        """The MIME type in the data URI of the content, as the client sent it."""
        form = self._forms.get(_ROOT_POINTER)
        uri = split_data_uri(form.head) if form else None
        return uri.declared_type if uri else None

    async def find_damage(self, page: Page, level: Level) -> dict[Level, Damage]:
        """Check the images of a page, and return their damage by level. URLs are not checked.

        Args:
            page: The page.
            level: The requested level. An error about the image of another level is ignored.

        Raises:
            NotFoundError: The image of the level was deleted.
            StoreUnavailableError: The store did not respond.
        """
        damages: dict[Level, Damage] = {}
        for image_level in (Level.FULL, Level.REDUCED):
            try:
                damage = await self._check_level(page, image_level)
            except (NotFoundError, StoreUnavailableError):
                if image_level is level:
                    raise
                continue
            if damage is not None:
                damages[image_level] = damage
        return damages

    async def _check_level(self, page: Page, level: Level) -> Damage | None:
        """Return the damage of the image of a level, if the level has a damaged image."""
        body = find_attached_image(page, level)
        if body is None:
            return None
        if body.media is None:
            return _NO_BASE64 if body.kind == "data" else None
        if body.kind == "blob":
            resource = await self.media.resource(str(body.value))
            return await self.checks.check_resource(self.media.project_id, resource)
        return await self.checks.check_bytes(_decode_data(body), body.media.mime_type)

    async def make_image_url(
        self,
        page: Page,
        level: Level,
        *,
        marks: MediaMarks | None,
        is_repaired: bool = False,
    ) -> str | None:
        """Return the URL of the image of a level, for a model or a browser.

        Args:
            page: The page.
            level: The level.
            marks: Gets a mark for each stored image, which the image replaces when the response is
                sent. `None` to return references instead.
            is_repaired: True to omit the damaged chunks of a PNG.

        Returns:
            An `http(s)` URL, a `data:` URI, or, without `marks`, the `@blob:` reference of a
            stored image; `None` if the level has no image.

        Raises:
            PayloadTooLargeError: The image is too large for a response.
        """
        body = find_attached_image(page, level)
        if body is None:
            return None
        if body.media is None or (body.kind == "blob" and marks is None):
            return str(body.value)
        if is_repaired:
            data = _decode_data(body)
            if body.kind == "blob":
                limit_bytes = self.limits.image_bytes
                data = await self.media.read(str(body.value), limit_bytes=limit_bytes)
            return await anyio.to_thread.run_sync(repair_image, data)
        return await self._make_data_uri(marks or MediaMarks(), body)

    async def write_base64(self, marks: MediaMarks, body: Body) -> str | None:
        """Return the base64 of a medium, or a mark in its place; `None` without a medium.

        A stored medium gets a mark in `marks`, and is read while the response is sent.

        Raises:
            NotFoundError: The medium was deleted.
            PayloadTooLargeError: The medium is too large for a response.
        """
        if body.media is None:
            return None
        if body.kind == "data":
            return await anyio.to_thread.run_sync(
                lambda: pybase64.b64encode(_decode_data(body)).decode()
            )
        resource = await self.media.resource(str(body.value))
        check_fits(resource, self.limits.image_bytes)
        return marks.add(MediaPiece(resource.digest, resource.size_bytes))

    async def restore_content(self, content: bytes) -> Sequence[JsonPiece]:
        """Return the content as the client sent it, with data URIs in place of references.

        Raises:
            NotFoundError: A medium was deleted.
            PayloadTooLargeError: The media are too large for a response.
            StoreUnavailableError: The store did not respond.
        """
        return await self.media.restore(content, self._forms, limit_bytes=self.limits.inline_bytes)

    async def _make_data_uri(self, marks: MediaMarks, body: Body) -> str:
        """Return a medium as a data URI, with the head that the client sent if it is plain."""
        if body.kind == "data":
            uri = split_data_uri(str(body.value))
            if uri is not None and uri.is_plain:
                return uri.text
        form = self._forms.get(_ROOT_POINTER)
        mime_type = body.media.mime_type if body.media else OCTET_STREAM
        head = f"data:{mime_type};base64,"
        is_content = form is not None and form.resource_id == parse_resource_id(str(body.value))
        if form is not None and is_content and form.is_plain:
            head = form.head
        return f"{head}{await self.write_base64(marks, body)}"


def _decode_data(body: Body) -> bytes:
    uri = split_data_uri(str(body.value)) if body.kind == "data" else None
    return uri.data or b"" if uri else b""


# Tokens of a tool message besides the text of the page.
_FRAME_TOKENS = 100


@dataclass(frozen=True, slots=True)
class BlocksOptions:
    """Options of blocks. Texts are cut; media and URLs are never cut."""

    media: MediaForm = "inline"
    detail: ImageDetail = "low"
    max_chars: int | None = None
    """The maximum number of characters of the text."""
    offset: int = 0
    """The number of characters of the text to skip."""
    max_tokens: int | None = None
    """The maximum number of tokens of the tool message.

    A longer text is cut to its beginning and end. A line between them names the call that reads the
    rest.
    """

    def cut(self, page: Page, level: Level, text: str) -> Excerpt:
        """Return the part of the text of a level that these options select."""
        if self.max_tokens is None:
            return take_excerpt(text, max_chars=self.max_chars, offset=self.offset)
        # Only the text of FULL can be read on from an offset.
        is_full = (
            find_effective_level(page, Level.FULL).level is find_effective_level(page, level).level
        )
        notice = partial(_make_cut_notice, page.page_id, self.max_tokens, is_full)
        return head_and_tail_within(text, max(0, self.max_tokens - _FRAME_TOKENS), notice)


@dataclass(frozen=True, slots=True)
class PageView:
    """A page at a level."""

    stored: StoredPage
    page: Page
    """The parsed page. If the content refers to a text file, the page has the text instead."""
    level: Level
    media: PageMediaReader
    is_quick: bool
    """True if the page is short enough for the event loop."""

    @property
    def representation(self) -> Representation | None:
        """The representation of the level, if the page has it."""
        return self.page.at(self.level)


@dataclass(frozen=True, slots=True)
class PageViews:
    """Reads memory pages at a level."""

    records: Records
    blobs: BlobStore
    accesses: AccessCounts
    checks: MediaChecks
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
        """Return a page at a level, by default at its `compression_level`.

        Raises:
            NotFoundError: The project has no such page.
            StoreUnavailableError: A store did not respond.
        """
        stored, page, is_short = await self.records.read(
            project_id, lambda unit: _load(unit, page_id)
        )
        media = self._make_media_reader(project_id, stored)
        text = await read_referenced_text(
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

    async def make_blocks(
        self, view: PageView, options: BlocksOptions, marks: MediaMarks | None = None
    ) -> PageBlocks:
        """Return the blocks of a page view; see `PageReading.blocks`.

        Args:
            view: The page.
            options: The options of the blocks.
            marks: See `PageMediaReader.make_image_url`.
        """
        view = await self.check_images(view)
        effective = await run_in_loop_if(view.is_quick, find_effective_level, view.page, view.level)
        is_repaired = effective.level in view.page.damage
        image_url = await view.media.make_image_url(
            view.page, effective.level, marks=marks, is_repaired=is_repaired
        )
        # To count tokens, the vocabulary may have to be loaded, which is slow.
        is_quick = view.is_quick and options.max_tokens is None
        return await run_in_loop_if(
            is_quick,
            lambda: page_blocks(
                view.page,
                view.level,
                image_url=image_url,
                detail=options.detail,
                cut=partial(options.cut, view.page, view.level),
            ),
        )

    async def write_json_text(self, view: PageView, options: BlocksOptions) -> str:
        """Return a page view as a JSON text for a model; see `PageReading.json_form`."""
        view = await self.check_images(view)
        return await run_in_loop_if(view.is_quick, page_view_json, view, options)

    async def check_images(self, view: PageView) -> PageView:
        """Check the images of a page, and return a view with their damage.

        Raises:
            NotFoundError: The image of the level was deleted.
            StoreUnavailableError: The store did not respond.
        """
        damage = await view.media.find_damage(view.page, view.level)
        return replace(view, page=replace(view.page, damage=damage))

    def media(self, project_id: str) -> StoredMedia:
        """Return the stored media of a project."""
        return StoredMedia(self.records, self.blobs, project_id)

    def _make_media_reader(self, project_id: str, stored: StoredPage) -> PageMediaReader:
        return PageMediaReader(self.media(project_id), stored, self.checks, self.limits)

    def record_access(self, project_id: str, page_id: str) -> None:
        """Count a read of a page by a model, which is a page fault or a rendering."""
        self.accesses.record(project_id, page_id, utc_now())


def _load(unit: UnitOfWork, page_id: str) -> tuple[StoredPage, Page, bool]:
    """Return the stored page, the parsed page, and True if the page is short.

    Raises:
        NotFoundError: The project has no such page.
    """
    stored = find_page(unit, page_id, with_content=True)
    levels = unit[PageLevelRecords].find(page_id)
    texts = (stored.descriptor, stored.body, stored.content or b"")
    is_short = is_quick(*texts, *(level.body for level in levels))
    return stored, read_page(stored, levels), is_short


def _make_cut_notice(page_id: str, max_tokens: int, is_full: bool, offset: int) -> str:
    """Return a line for a model, with the call of `read_text` that reads the rest of a text."""
    offset_text = f", offset={offset}" if is_full else ""
    verb = "reads on" if is_full else "reads the whole page"
    call = f"read_text({quote(page_id)}{offset_text})"
    return f"an answer has {max_tokens} tokens at most; {call} {verb}"


def page_view_json(view: PageView, options: BlocksOptions) -> str:
    """Return the JSON text of a page for a model: `{success, page_id, …}`."""
    return write_page_json(
        view.page, view.level, max_chars=options.max_chars, offset=options.offset
    )
