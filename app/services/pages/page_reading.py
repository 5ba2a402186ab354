"""Writes the bodies of responses with a page: its content, blocks for a model, the detail view.

Reading never changes a page. These reads are not counted as reads by a model.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import anyio.to_thread

from app.errors import NotFoundError
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.json_with_media import RenderedBody
from app.services.pages.page_views import BlocksOptions, PageView, PageViews, page_view_json
from app.services.pages.stored_pages import read_descriptor, read_updated_at
from app.wire.pages import encode_blocks, encode_content, encode_level, encode_page_pieces
from pagefault_dialects.model.page import Level, MediaForm
from pagefault_dialects.model.render_options import Rendering, rendering_of
from pagefault_dialects.pages.detail import write_page_detail
from pagefault_dialects.pages.page_blocks import PageBlocks
from pagefault_dialects.pages.typed_content import build_typed_content
from pagefault_dialects.texts.json_strings import MediaMarks


@dataclass(frozen=True, slots=True)
class PageReading(PageViews):
    """Writes the bodies of responses with memory pages."""

    async def get_as_sent(self, project_id: str, page_id: str) -> RenderedBody:
        """Return the page with its content as the client sent it, data URIs byte for byte.

        The digest of the body is the digest of the stored page.

        Raises:
            NotFoundError: The project has no such page.
            PayloadTooLargeError: The media are too large for a response.
            StoreUnavailableError: The store did not respond.
        """
        stored = await self.get(project_id, page_id)
        media = self._make_media_reader(project_id, stored)
        content = await media.restore_content(stored.content or b"null")
        pieces = encode_page_pieces(stored, content)
        rendering = Rendering(pieces, stored.digest)
        return await RenderedBody(self.blobs, project_id, rendering).check()

    async def content(
        self, project_id: str, page_id: str, level: Level | None, media: MediaForm
    ) -> RenderedBody:
        """Return the content of a page at a level, as a `PageContent`.

        Raises:
            NotFoundError: The project has no such page.
            PayloadTooLargeError: The medium is too large for a response.
        Source: spec 000, "Current State".
        """
        view = await self.view(project_id, page_id, level)
        body = view.representation.body if view.representation else None
        has_image = body is not None and body.is_media and view.page.fields.modality == "image"
        marks, base64 = MediaMarks(), None
        if body is not None and has_image and (media == "inline" or body.kind != "blob"):
            base64 = await view.media.write_base64(marks, body)
        return await self._render(
            view,
            marks,
            lambda: encode_content(build_typed_content(view.page, view.level, base64=base64)),
        )

    async def blocks(
        self, project_id: str, page_id: str, level: Level | None, options: BlocksOptions
    ) -> RenderedBody:
        """Return a page as the content of a tool message: `{content, truncated, …}`.

        Raises:
            NotFoundError: The project has no such page.
            PayloadTooLargeError: The medium is too large for a response.
        Source: spec 000, "Multi-block Tool Results" and "Compression level annotation".
        """
        view = await self.view(project_id, page_id, level)
        marks = MediaMarks()
        blocks = await self.make_blocks(view, options, marks if options.media == "inline" else None)
        return await self._render(
            view,
            marks,
            lambda: encode_blocks(blocks, content=blocks.content, requested_level=view.level),
        )

    async def json_form(
        self, project_id: str, page_id: str, level: Level | None, options: BlocksOptions
    ) -> RenderedBody:
        """Return the same as `blocks` with one JSON string as `content`: `{success, page_id, …}`.

        Raises:
            NotFoundError: The project has no such page.
        """
        view = await self.check_images(await self.view(project_id, page_id, level))
        blocks = await self.make_blocks(view, replace(options, media="reference"))
        return await self._render(
            view, MediaMarks(), lambda: _encode_json_form(view, options, blocks)
        )

    async def detail(self, project_id: str, page_id: str) -> str:
        """Return the fields of a page as a text for a terminal.

        Raises:
            NotFoundError: The project has no such page.
        Source: spec 000, "Enhanced modality display".
        """
        view = await self.view(project_id, page_id, None)
        stored = view.stored
        return await anyio.to_thread.run_sync(
            lambda: write_page_detail(
                view.page,
                version=stored.version,
                created_at=stored.created_at,
                updated_at=read_updated_at(stored),
                last_accessed=stored.last_accessed,
                access_count=stored.access_count,
                size_bytes=read_descriptor(stored)["size_bytes"],
            )
        )

    async def representation(self, project_id: str, page_id: str, level: Level) -> bytes:
        """Return the JSON of one stored level.

        Raises:
            NotFoundError: The project has no such page, or the page has no such level.
        """
        view = await self.view(project_id, page_id, level)
        if view.representation is None:
            raise NotFoundError(
                "level",
                detail="The page does not have this level: it was not supplied, and there is "
                "nothing to derive it from. `levels` of the page names those it has.",
                code="level-missing",
            )
        return await run_in_loop_if(view.is_quick, encode_level, page_id, view.representation)

    async def _render(
        self, view: PageView, marks: MediaMarks, render: Callable[[], bytes]
    ) -> RenderedBody:
        """Return the JSON of `render` as a body, with media in place of their marks."""
        rendering = await run_in_loop_if(view.is_quick, lambda: rendering_of(marks.split(render())))
        return await RenderedBody(self.blobs, view.media.media.project_id, rendering).check()


def _encode_json_form(view: PageView, options: BlocksOptions, blocks: PageBlocks) -> bytes:
    """Return the JSON of blocks, with a JSON text of the page as their content."""
    text = page_view_json(view, options)
    if options.max_chars is not None or options.offset:
        # Scenes are longer in JSON than as text, so the JSON may end earlier than the blocks.
        page = json.loads(text)
        blocks = replace(blocks, truncated=page["truncated"], next_offset=page.get("next_offset"))
    return encode_blocks(blocks, content=text, requested_level=view.level)
