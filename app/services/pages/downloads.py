"""Pages as files: what a level holds, under a name with the right extension.

The content of a page that is an address is fetched once, stored, and served from there afterwards;
the page itself stays as it is.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import datetime

import anyio.to_thread

from app.errors import ConflictError, NotFoundError, UpstreamError
from app.models.limits import Limits
from app.services.fetching import FetchedResponse, Fetcher
from app.services.inline_media.json_with_media import RenderedBody
from app.services.media.media_keeper import describe_stored
from app.services.memory_budget.budget import HeldMemory, MemoryBudget
from app.services.pages.page_bodies import fits
from app.services.pages.page_views import PageView, PageViews
from app.services.pages.stored_pages import find_page, updated_at
from app.services.pages.versions import PAGE
from app.stores.blobs.store import BlobStore
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.code_languages import extension_of_language
from pagefault_dialects.media.data_uris import DataUriText, split_data_uri
from pagefault_dialects.media.file_names import download_name, safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.page import Body, Level, Page, StoredPage
from pagefault_dialects.model.render_options import Rendering
from pagefault_dialects.model.resource import Resource, resource_kind
from pagefault_dialects.pages.languages import visible_language

# What a connection takes at once.
_FREE_BYTES = 64 * 1024
# The content as it was sent, the text in it, and the bytes of that.
_COPIES = 3
_TEXT_EXTENSION = ".txt"
_JSON_EXTENSION = ".json"


@dataclass(frozen=True, slots=True)
class PageFile:
    """A level of a page as a file; `open` gives the bytes from one offset up to another.

    `modified_at` is when these bytes may have taken the place of others. `held` is what was
    taken of the budget of memory for it; it is to be released when the file is sent.
    """

    digest: str
    size_bytes: int
    mime_type: str
    filename: str
    modified_at: datetime
    open: Callable[[int, int], Awaitable[AsyncIterator[bytes]]]
    held: HeldMemory | None = None

    def release(self) -> None:
        """Give back the memory that it takes, if it takes any."""
        if self.held is not None:
            self.held.release()


@dataclass(frozen=True, slots=True)
class PageDownloads:
    """Gives pages out as files."""

    records: Records
    blobs: BlobStore
    reading: PageViews
    fetcher: Fetcher
    limits: Limits
    memory: MemoryBudget

    async def file(self, project_id: str, page_id: str, level: Level) -> PageFile:
        """Return a level of a page as a file; an address is fetched first, unless it was before.

        Raises:
            NotFoundError: The project has no such page, or the page nothing at this level.
            InvalidPayloadError: Its data URI is broken.
            FetchBlockedError, UpstreamError, UpstreamTimeoutError: Its address; nothing was kept.
            FetchesBusyError: The project fetches as many files as it may.
            ConflictError: The page was changed meanwhile.
            OverloadedError: There is no memory for it.
            StoreUnavailableError: A store did not answer.
        Source: spec 000, "`/memory page <id> --download`".
        """
        view = await self.reading.view(project_id, page_id, level)
        if view.shown is None:
            raise NotFoundError(
                "content",
                detail="The page holds nothing at this level, so there is nothing to download.",
                code="no-content",
            )
        body = view.shown.body
        if body.kind == "url":
            return self._stored(project_id, view, await self._fetched(project_id, view, body.value))
        if body.kind == "blob":
            resource = await view.media.media.resource(str(body.value))
            return self._stored(project_id, view, resource)
        if body.kind == "data":
            return self._counted(_decoded(view, body))
        if level is not Level.FULL or view.stored.content is None or body.media is not None:
            return self._counted(await anyio.to_thread.run_sync(_written, view, body, None))
        return await self._as_sent(project_id, view, body, view.stored.content)

    async def _as_sent(
        self, project_id: str, view: PageView, body: Body, stored: bytes
    ) -> PageFile:
        """Put the media back into the content: elsewhere a reference leads nowhere."""
        rendering = Rendering(await view.media.content_as_sent(stored))
        held = None
        with ExitStack() as unless_sent:
            if rendering.size_bytes > _FREE_BYTES:
                held = await self.memory.hold(_COPIES * rendering.size_bytes)
                unless_sent.callback(held.release)
            as_sent = RenderedBody(self.blobs, project_id, rendering)
            content = b"".join([chunk async for chunk in as_sent.chunks()])
            if body.kind == "text" or isinstance(body.value, str):
                body = replace(body, value=json.loads(content))
            file = await anyio.to_thread.run_sync(_written, view, body, content)
            if held is not None:
                held.resize(min(file.size_bytes, held.size_bytes))
            unless_sent.pop_all()
        return replace(file, held=held)

    def _counted(self, file: PageFile) -> PageFile:
        """Count a file that is in memory already, if it is long."""
        if file.size_bytes <= _FREE_BYTES:
            return file
        held = HeldMemory(self.memory, 0)
        held.grow(min(file.size_bytes, self.memory.limit_bytes))
        return replace(file, held=held)

    def _stored(self, project_id: str, view: PageView, resource: Resource) -> PageFile:
        claimed = _claimed_type(view, resource.mime_type) if view.level is Level.FULL else None
        declared = _declared_type(view)
        types = (claimed, declared, resource.mime_type)
        name = _named_by_language(view) or download_name(view.page.page_id, *types)
        return PageFile(
            resource.digest,
            resource.size_bytes,
            resource.mime_type,
            name,
            max(resource.created_at, updated_at(view.stored)),
            lambda start, end: self.blobs.open(project_id, resource.digest, start=start, end=end),
        )

    async def _fetched(self, project_id: str, view: PageView, url: str) -> Resource:
        """Return the file behind an address of a page; that of its content is fetched once."""
        is_content = url == view.page.full.value
        known = view.stored.fetched_resource_id
        if is_content and known is not None:
            return await view.media.media.resource(known)
        async with self.fetcher.fetch(project_id, url) as response:
            resource = await self._keep(project_id, response, view.page)

        def keep(unit: UnitOfWork) -> None:
            current = find_page(unit, view.page.page_id, with_content=False)
            if not is_content:
                unit[ResourceRecords].ensure(resource)
                return
            if not unit[PageRecords].set_fetched(
                current.page_number, resource.resource_id, digest=view.stored.digest
            ):
                raise ConflictError(
                    "The page was changed while its file was fetched. Ask again.",
                    code="page-changed",
                )
            unit[ResourceRecords].ensure_linked(
                [resource],
                owner_kind=PAGE,
                owner_id=view.page.page_id,
                session_id=view.page.fields.session_id,
            )

        await self.records.write(project_id, keep)
        return resource

    async def _keep(self, project_id: str, response: FetchedResponse, page: Page) -> Resource:
        head = bytearray()
        async with self.blobs.writer(project_id, limit_bytes=self.limits.medium_bytes) as writer:
            async for chunk in response.chunks:
                if len(head) < HEAD_BYTES:
                    head += chunk[: HEAD_BYTES - len(head)]
                await writer.write(chunk)
            filename = safe_file_name(response.filename)
            mime_type = detect_type(bytes(head), response.mime_type, filename)
            if not fits(page.fields.modality, mime_type):
                raise UpstreamError(
                    f"The server the URL leads to answered with {mime_type}, which is not what a "
                    f"page of modality {page.fields.modality} holds. Nothing was kept."
                )
            blob = await writer.commit()
        return await describe_stored(self.blobs, project_id, blob, mime_type, filename)


def _decoded(view: PageView, body: Body) -> PageFile:
    """Return the file in a small data URI."""
    uri = split_data_uri(str(body.value))
    if uri is None or uri.data is None:
        raise InvalidPayloadError(
            "The page's content announces base64, but is invalid base64, so there is no file in "
            "it. PUT the page with the whole data: URI.",
            faults=[Fault("/content", "invalid base64")],
            code="invalid-base64",
        )
    mime_type = body.media.mime_type if body.media else uri.mime_type
    return _of_uri(view, uri, uri.data, mime_type)


def _of_uri(view: PageView, uri: DataUriText, data: bytes, mime_type: str) -> PageFile:
    claimed = _claimed_type(view, mime_type)
    name = download_name(view.page.page_id, claimed, uri.declared_type, mime_type)
    return _in_memory(data, mime_type, name, view.stored)


def _written_uri(view: PageView, body: Body) -> PageFile | None:
    """Return the file in the data URI that a text or the string of data is, if it is one.

    What cannot be decoded is text. So is a sentence that begins with `data:,` or with
    `data:text/plain,`: in a URI of a text, blanks are written as `%20`.
    """
    is_content = view.level is Level.FULL or body.value == view.page.full.value
    text = body.value
    uri = split_data_uri(text) if is_content and isinstance(text, str) else None
    if uri is None or uri.data is None:
        return None
    declared = uri.declared_type
    may_be_words = not uri.is_base64 and (declared is None or is_textual(declared))
    if may_be_words and any(map(str.isspace, uri.payload)):
        return None
    mime_type = detect_type(uri.data[:HEAD_BYTES], uri.mime_type, uri.filename)
    return _of_uri(view, uri, uri.data, mime_type)


def _written(view: PageView, body: Body, content: bytes | None) -> PageFile:
    """Write text as it is, data as JSON, a data URI as its file; own data as it is stored."""
    if (file := _written_uri(view, body)) is not None:
        return file
    claimed = view.page.fields.mime_type
    if body.kind == "json" and not isinstance(body.value, str):
        data = content if content is not None else json_text(body.value).encode()
        is_json = claimed is not None and ("json" in claimed or is_textual(claimed))
        name = download_name(
            view.page.page_id, claimed if is_json else None, otherwise=_JSON_EXTENSION
        )
        return _in_memory(data, "application/json", name, view.stored)
    is_data = body.kind == "json"
    text = _json_of(str(body.value)) if is_data else str(body.value)
    is_own = view.level is Level.FULL and view.page.fields.modality in ("text", "structured")
    types = (claimed, _declared_type(view)) if is_own else ()
    usable = next((known for known in types if known and is_textual(known)), None)
    extension = _JSON_EXTENSION if is_data else _TEXT_EXTENSION
    name = _named_by_language(view) or download_name(view.page.page_id, usable, otherwise=extension)
    mime_type = usable or ("application/json" if is_data else "text/plain")
    return _in_memory(text.encode(), mime_type, name, view.stored)


def _json_of(text: str) -> str:
    """Write a structured string as a JSON text: itself, if it is one."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json_text(text)
    return text


def _in_memory(data: bytes, mime_type: str, filename: str, stored: StoredPage) -> PageFile:
    async def chunks(start: int, end: int) -> AsyncIterator[bytes]:
        async def whole() -> AsyncIterator[bytes]:
            for position in range(start, end, CHUNK_BYTES):
                yield data[position : min(position + CHUNK_BYTES, end)]

        return whole()

    return PageFile(
        hashlib.sha256(data).hexdigest(),
        len(data),
        mime_type,
        filename,
        updated_at(stored),
        chunks,
    )


def _named_by_language(view: PageView) -> str | None:
    """Return the file name of a text page whose programming language is known."""
    language = visible_language(view.page, view.level)
    if language is None:
        return None
    return download_name(view.page.page_id, otherwise=extension_of_language(language))


def _claimed_type(view: PageView, mime_type: str) -> str | None:
    """Return what the page says of its medium; of a text or of data, it may speak of the text."""
    claimed = view.page.fields.mime_type
    if claimed is None or view.page.fields.modality not in ("text", "structured"):
        return claimed
    return claimed if resource_kind(claimed) == resource_kind(mime_type) else None


def _declared_type(view: PageView) -> str | None:
    """Return what the data URI said that the page's medium was moved out of."""
    return view.media.declared_type if view.level is Level.FULL else None
