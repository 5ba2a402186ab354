"""Downloads of pages: a level of a page as a file, whose name has the extension of its type.

If the content of a page is a URL, the file at the URL is fetched once, and stored. Later downloads
return the stored file. The page itself does not change.
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
from app.services.memory_budget.budget import MemoryBudget, MemoryReservation
from app.services.pages.page_bodies import fits_modality
from app.services.pages.page_views import PageView, PageViews
from app.services.pages.stored_pages import find_page, read_updated_at
from app.services.pages.versions import PAGE
from app.stores.blobs.store import BlobStore
from app.stores.records.pages import PageRecords
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from app.stores.records.unit_of_work import UnitOfWork
from pagefault_dialects.errors import Fault, InvalidPayloadError
from pagefault_dialects.json.values import json_text
from pagefault_dialects.media.code_languages import extension_of_language
from pagefault_dialects.media.data_uris import SplitDataUri, split_data_uri
from pagefault_dialects.media.file_names import download_name, safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.media import CHUNK_BYTES
from pagefault_dialects.model.page import Body, Level, Page, StoredPage
from pagefault_dialects.model.render_options import Rendering
from pagefault_dialects.model.resource import Resource, resource_kind
from pagefault_dialects.pages.languages import visible_language

# No memory is reserved for files up to this size.
_UNRESERVED_BYTES = 64 * 1024
# The copies in memory: the content as it was sent, its text, and the bytes of the text.
_COPIES = 3
_TEXT_EXTENSION = ".txt"
_JSON_EXTENSION = ".json"


@dataclass(frozen=True, slots=True)
class PageFile:
    """A level of a page as a file."""

    digest: str
    """The SHA-256 of the bytes as hex digits."""
    size_bytes: int
    mime_type: str
    filename: str
    modified_at: datetime
    """The time of the last change that may have changed the bytes."""
    open: Callable[[int, int], Awaitable[AsyncIterator[bytes]]]
    """Returns the bytes from the first offset up to the second one, which is excluded."""
    memory: MemoryReservation | None = None
    """The memory that is reserved for the file until it is sent."""

    def release(self) -> None:
        """Release the reserved memory, if any."""
        if self.memory is not None:
            self.memory.release()


@dataclass(frozen=True, slots=True)
class PageDownloads:
    """Opens pages as files."""

    records: Records
    blobs: BlobStore
    views: PageViews
    fetcher: Fetcher
    limits: Limits
    memory: MemoryBudget

    async def open_file(self, project_id: str, page_id: str, level: Level) -> PageFile:
        """Return a level of a page as a file. If the level is a URL, its file is fetched once.

        Raises:
            NotFoundError: The project has no such page, or the page has no such level.
            InvalidPayloadError: The data URI of the level is broken.
            FetchBlockedError, UpstreamError, UpstreamTimeoutError: The URL cannot be fetched.
            FetchesBusyError: The project has too many fetches at the same time.
            ConflictError: The page was changed while its file was fetched.
            OverloadedError: There is not enough memory for the file.
            StoreUnavailableError: A store did not respond.
        Source: spec 000, "`/memory page <id> --download`".
        """
        view = await self.views.view(project_id, page_id, level)
        if view.representation is None:
            raise NotFoundError(
                "content",
                detail="The page holds nothing at this level, so there is nothing to download.",
                code="no-content",
            )
        body = view.representation.body
        if body.kind == "url":
            resource = await self._fetch_once(project_id, view, body.value)
            return self._make_stored_file(project_id, view, resource)
        if body.kind == "blob":
            resource = await view.media.media.resource(str(body.value))
            return self._make_stored_file(project_id, view, resource)
        if body.kind == "data":
            return self._reserve_memory(_decode_file(view, body))
        if level is not Level.FULL or view.stored.content is None or body.media is not None:
            file = await anyio.to_thread.run_sync(_make_text_file, view, body, None)
            return self._reserve_memory(file)
        return await self._make_file_as_sent(project_id, view, body, view.stored.content)

    async def _make_file_as_sent(
        self, project_id: str, view: PageView, body: Body, stored: bytes
    ) -> PageFile:
        """Return the content as the client sent it, with media in place of references.

        References are useless outside of this service.
        """
        rendering = Rendering(await view.media.restore_content(stored))
        memory = None
        with ExitStack() as on_error:
            if rendering.size_bytes > _UNRESERVED_BYTES:
                memory = await self.memory.reserve(_COPIES * rendering.size_bytes)
                on_error.callback(memory.release)
            sent_body = RenderedBody(self.blobs, project_id, rendering)
            content = b"".join([chunk async for chunk in sent_body.chunks()])
            if body.kind == "text" or isinstance(body.value, str):
                body = replace(body, value=json.loads(content))
            file = await anyio.to_thread.run_sync(_make_text_file, view, body, content)
            if memory is not None:
                memory.resize(min(file.size_bytes, memory.size_bytes))
            on_error.pop_all()
        return replace(file, memory=memory)

    def _reserve_memory(self, file: PageFile) -> PageFile:
        """Return a file that is in memory, with a reservation of memory if it is large."""
        if file.size_bytes <= _UNRESERVED_BYTES:
            return file
        memory = MemoryReservation(self.memory, 0)
        memory.grow(min(file.size_bytes, self.memory.limit_bytes))
        return replace(file, memory=memory)

    def _make_stored_file(self, project_id: str, view: PageView, resource: Resource) -> PageFile:
        page_type = _find_page_type(view, resource.mime_type) if view.level is Level.FULL else None
        name = _make_code_file_name(view) or download_name(
            view.page.page_id, page_type, _find_uri_type(view), resource.mime_type
        )
        return PageFile(
            resource.digest,
            resource.size_bytes,
            resource.mime_type,
            name,
            max(resource.created_at, read_updated_at(view.stored)),
            lambda start, end: self.blobs.open(project_id, resource.digest, start=start, end=end),
        )

    async def _fetch_once(self, project_id: str, view: PageView, url: str) -> Resource:
        """Return the file at the URL of a level; fetch and store it if it is not stored yet.

        The file at the URL of the content is fetched once. That of another level is fetched again
        for each download.
        """
        is_content = url == view.page.full.value
        fetched_id = view.stored.fetched_resource_id
        if is_content and fetched_id is not None:
            return await view.media.media.resource(fetched_id)
        async with self.fetcher.fetch(project_id, url) as response:
            resource = await self._store_response(project_id, response, view.page)

        def link_resource(unit: UnitOfWork) -> None:
            current = find_page(unit, view.page.page_id, with_content=False)
            if not is_content:
                unit[ResourceRecords].ensure(resource)
                return
            if not unit[PageRecords].set_fetched(
                current.page_number, resource.resource_id, digest=view.stored.digest
            ):
                raise ConflictError(
                    "The page was changed while its file was fetched. Send the request again.",
                    code="page-changed",
                )
            unit[ResourceRecords].ensure_linked(
                [resource],
                owner_kind=PAGE,
                owner_id=view.page.page_id,
                session_id=view.page.fields.session_id,
            )

        await self.records.write(project_id, link_resource)
        return resource

    async def _store_response(
        self, project_id: str, response: FetchedResponse, page: Page
    ) -> Resource:
        head = bytearray()
        async with self.blobs.writer(project_id, limit_bytes=self.limits.medium_bytes) as writer:
            async for chunk in response.chunks:
                if len(head) < HEAD_BYTES:
                    head += chunk[: HEAD_BYTES - len(head)]
                await writer.write(chunk)
            filename = safe_file_name(response.filename)
            mime_type = detect_type(bytes(head), response.mime_type, filename)
            if not fits_modality(page.fields.modality, mime_type):
                raise UpstreamError(
                    f"The server of the URL returned {mime_type}, but the page has the modality "
                    f"{page.fields.modality}. Nothing was stored."
                )
            blob = await writer.commit()
        return await describe_stored(self.blobs, project_id, blob, mime_type, filename)


def _decode_file(view: PageView, body: Body) -> PageFile:
    """Return the file in a data URI that is stored in the page."""
    uri = split_data_uri(str(body.value))
    if uri is None or uri.data is None:
        raise InvalidPayloadError(
            "The page's content announces base64, but is invalid base64, so there is no file in "
            "it. PUT the page with the whole data: URI.",
            faults=[Fault("/content", "invalid base64")],
            code="invalid-base64",
        )
    mime_type = body.media.mime_type if body.media else uri.mime_type
    return _make_uri_file(view, uri, uri.data, mime_type)


def _make_uri_file(view: PageView, uri: SplitDataUri, data: bytes, mime_type: str) -> PageFile:
    page_type = _find_page_type(view, mime_type)
    name = download_name(view.page.page_id, page_type, uri.declared_type, mime_type)
    return _make_memory_file(data, mime_type, name, view.stored)


def _find_file_in_text(view: PageView, body: Body) -> PageFile | None:
    """Return the file in a text or JSON string that is a data URI; `None` for all other text.

    If its payload cannot be decoded, a text is not a data URI. A text that begins with `data:,` or
    `data:text/plain,` and has spaces is a sentence, since a URI would have `%20` for a space.
    """
    is_content = view.level is Level.FULL or body.value == view.page.full.value
    text = body.value
    uri = split_data_uri(text) if is_content and isinstance(text, str) else None
    if uri is None or uri.data is None:
        return None
    uri_type = uri.declared_type
    may_be_sentence = not uri.is_base64 and (uri_type is None or is_textual(uri_type))
    if may_be_sentence and any(map(str.isspace, uri.payload)):
        return None
    mime_type = detect_type(uri.data[:HEAD_BYTES], uri.mime_type, uri.filename)
    return _make_uri_file(view, uri, uri.data, mime_type)


def _make_text_file(view: PageView, body: Body, content: bytes | None) -> PageFile:
    """Return the file of a level that is text, data, or a data URI in a text.

    Args:
        view: The page at the level.
        body: The body of the level.
        content: The stored JSON of the content, if the level is the content.
    """
    if (file := _find_file_in_text(view, body)) is not None:
        return file
    page_type = view.page.fields.mime_type
    if body.kind == "json" and not isinstance(body.value, str):
        data = content if content is not None else json_text(body.value).encode()
        is_json = page_type is not None and ("json" in page_type or is_textual(page_type))
        name = download_name(
            view.page.page_id, page_type if is_json else None, otherwise=_JSON_EXTENSION
        )
        return _make_memory_file(data, "application/json", name, view.stored)
    is_data = body.kind == "json"
    text = _encode_string(str(body.value)) if is_data else str(body.value)
    is_content = view.level is Level.FULL and view.page.fields.modality in ("text", "structured")
    types = (page_type, _find_uri_type(view)) if is_content else ()
    text_type = next((item for item in types if item and is_textual(item)), None)
    extension = _JSON_EXTENSION if is_data else _TEXT_EXTENSION
    name = _make_code_file_name(view) or download_name(
        view.page.page_id, text_type, otherwise=extension
    )
    mime_type = text_type or ("application/json" if is_data else "text/plain")
    return _make_memory_file(text.encode(), mime_type, name, view.stored)


def _encode_string(text: str) -> str:
    """Return a string of a structured page as JSON text. A string of JSON text is not changed."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return json_text(text)
    return text


def _make_memory_file(data: bytes, mime_type: str, filename: str, stored: StoredPage) -> PageFile:
    async def open_range(start: int, end: int) -> AsyncIterator[bytes]:
        async def chunks() -> AsyncIterator[bytes]:
            for offset in range(start, end, CHUNK_BYTES):
                yield data[offset : min(offset + CHUNK_BYTES, end)]

        return chunks()

    return PageFile(
        hashlib.sha256(data).hexdigest(),
        len(data),
        mime_type,
        filename,
        read_updated_at(stored),
        open_range,
    )


def _make_code_file_name(view: PageView) -> str | None:
    """Return the file name of a text page, if its programming language is known."""
    language = visible_language(view.page, view.level)
    if language is None:
        return None
    return download_name(view.page.page_id, otherwise=extension_of_language(language))


def _find_page_type(view: PageView, mime_type: str) -> str | None:
    """Return the MIME type in the fields of the page, if it can be the type of the medium.

    In a text or structured page, it may be the type of the text instead.
    """
    page_type = view.page.fields.mime_type
    if page_type is None or view.page.fields.modality not in ("text", "structured"):
        return page_type
    return page_type if resource_kind(page_type) == resource_kind(mime_type) else None


def _find_uri_type(view: PageView) -> str | None:
    """Return the MIME type in the data URI of the content, as the client sent it."""
    return view.media.declared_type if view.level is Level.FULL else None
