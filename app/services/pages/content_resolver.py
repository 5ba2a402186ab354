"""Resolves the content of a page: text, JSON, a URL, or a medium that is moved to the blob store.

A page has no binary content. Every recording, and every `data:` URI with at least 1,024 bytes, is
moved to the blob store. The page keeps a reference, and the original form of the URI.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import anyio.to_thread

from app.models.limits import Limits
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.media_mover import MediaMover
from app.services.inline_media.stored_media import StoredMedia
from app.services.media.media_checks import probe_media
from app.services.pages.page_bodies import (
    fits_modality,
    is_url,
    make_blob_body,
    text_too_long_error,
)
from pagefault_dialects.errors import (
    Fault,
    InvalidJsonError,
    InvalidPayloadError,
    PayloadTooLargeError,
)
from pagefault_dialects.json.values import JsonValue, json_text, parse_json
from pagefault_dialects.media.data_uris import (
    SplitDataUri,
    find_data_uris,
    recognize_base64,
    split_data_uri,
)
from pagefault_dialects.media.embedded_data_uris import (
    INLINE_LIMIT_BYTES,
    InlineForm,
    find_media_in_text,
    find_movable_media,
    find_strings,
    must_be_moved,
    pointer_of_path,
)
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.page import Body, Modality, PageFields, PageMedia
from pagefault_dialects.model.resource import Resource

_REFERENCE_MARK = "@blob:"
# The maximum length of a data URI with invalid base64, which is stored as it was sent.
_MAX_BROKEN_CHARS = 2_000
_MAX_URL_CHARS = 65_536
_ACCEPTED_CONTENT: dict[Modality, str] = {
    "text": "text as a string",
    "structured": "any JSON value",
    "image": "an http(s) URL, a data: URI, a @blob: reference of an image, or its caption as text",
    "audio": "an http(s) URL, a data: URI, a @blob: reference of a recording, or its transcript",
    "video": "an http(s) URL, a data: URI, a @blob: reference of a video, or its transcript",
}


@dataclass(frozen=True, slots=True)
class ResolvedContent:
    """The content of a page, ready to be stored."""

    body: Body
    forms: dict[str, InlineForm] = field(default_factory=dict)
    """The original forms of moved data URIs, by JSON pointer into the value of the body."""
    resources: tuple[Resource, ...] = ()
    """All resources that the content refers to."""
    source: MediaSource | None = field(default=None, repr=False)
    """The bytes of the content, if it is one medium of the request."""


@dataclass(frozen=True, slots=True)
class ContentResolver:
    """Resolves the contents of one request. It stores blobs, but writes no rows."""

    media: StoredMedia
    """The media of the project."""
    mover: MediaMover
    """Moves media of the request to the store."""
    limits: Limits
    """Limits of texts and media."""
    is_quick: bool
    """True if the request is short enough for the event loop."""

    async def resolve(self, modality: Modality, content: JsonValue) -> ResolvedContent:
        """Return the resolved content, with its media stored.

        Raises:
            InvalidPayloadError: The content does not fit the modality.
            PayloadTooLargeError: The text or a medium is above its limit.
            StoreUnavailableError: The blob store did not respond.
        """
        if content is None:
            return ResolvedContent(Body("none"))
        if modality in ("text", "structured") and (
            referenced := await self._resolve_text_reference(content)
        ):
            return referenced
        if modality == "structured":
            return await self._resolve_json(content)
        if not isinstance(content, str):
            raise misfit_error(modality)
        if modality == "text":
            return await self._resolve_text(content)
        return await self._resolve_medium(modality, content)

    async def _resolve_medium(self, modality: Modality, content: str) -> ResolvedContent:
        """Resolve an image, audio or video: the medium, its URL, or a text about it."""
        uri = await run_in_loop_if(
            self.is_quick, lambda: split_data_uri(content) or recognize_base64(content)
        )
        if uri is not None:
            return await self._resolve_data_uri(modality, uri)
        if content.startswith(_REFERENCE_MARK):
            return await self._resolve_reference(modality, content)
        if not is_url(content):
            return await self._resolve_text_with_media(content)
        if len(content) > _MAX_URL_CHARS:
            raise PayloadTooLargeError(f"A URL may have {_MAX_URL_CHARS} characters.")
        return ResolvedContent(Body("url", content))

    async def _resolve_data_uri(self, modality: Modality, uri: SplitDataUri) -> ResolvedContent:
        if uri.data is None and len(uri.text) > _MAX_BROKEN_CHARS:
            raise InvalidPayloadError(
                "The content announces base64, but is none.",
                faults=[Fault("/content", "invalid base64 behind the comma of the data: URI")],
                code="invalid-base64",
            )
        if uri.data is None:
            return ResolvedContent(Body("data", uri.text))
        head = self.mover.source(uri).head(HEAD_BYTES)
        mime_type = detect_type(head, uri.mime_type, uri.filename)
        if not fits_modality(modality, mime_type):
            raise misfit_error(modality)
        if must_be_moved(uri) or not uri.head:
            return await self._move(uri)
        source = InMemoryMedia(uri.data)
        hints = await anyio.to_thread.run_sync(probe_media, uri.data, source, mime_type)
        media = PageMedia(
            uri=None,
            mime_type=mime_type,
            size_bytes=source.size_bytes,
            filename=safe_file_name(uri.filename),
            **asdict(hints),
        )
        return ResolvedContent(Body("data", uri.text, media), source=source)

    async def _move(self, uri: SplitDataUri) -> ResolvedContent:
        """Resolve a data URI that is the whole content, and move its medium to the blob store."""
        moved = await self.mover.move(uri, "")
        body = make_blob_body(moved.resources[0])
        return ResolvedContent(body, moved.forms, moved.resources, self.mover.source(uri))

    async def _resolve_text(self, content: str) -> ResolvedContent:
        """Resolve a text: the data URI of a text file, or a text that may contain media."""
        uri = await run_in_loop_if(self.is_quick, split_data_uri, content)
        if uri is not None and uri.is_base64 and must_be_moved(uri):
            return await self._move(uri)
        return await self._resolve_text_with_media(content)

    async def _resolve_text_with_media(self, content: str) -> ResolvedContent:
        """Resolve a text, and move the media in it to the blob store."""
        spans = await run_in_loop_if(self.is_quick, find_media_in_text, content)
        if not spans:
            self._check_length(content)
            return ResolvedContent(Body("text", content))
        moved = await self.mover.move_from_text(content, spans, "")
        self._check_length(moved.value)
        return ResolvedContent(Body("text", moved.value), moved.forms, moved.resources)

    async def _resolve_reference(self, modality: Modality, content: str) -> ResolvedContent:
        resource = await self.media.find(content)
        if resource is None:
            raise InvalidPayloadError(
                "The content refers to a resource that is not there.",
                faults=[Fault("/content", "is the reference of no resource of this project")],
            )
        if not fits_modality(modality, resource.mime_type):
            raise misfit_error(modality)
        return ResolvedContent(make_blob_body(resource), resources=(resource,))

    async def _resolve_text_reference(self, content: JsonValue) -> ResolvedContent | None:
        """Resolve the reference to a text file; returns `None` for all other content."""
        if not isinstance(content, str) or not content.startswith(_REFERENCE_MARK):
            return None
        resource = await self.media.find(content)
        if resource is None or not is_textual(resource.mime_type):
            return None
        if resource.size_bytes > self.limits.page_text_bytes:
            raise text_too_long_error(self.limits.page_text_bytes)
        return ResolvedContent(make_blob_body(resource), resources=(resource,))

    async def _resolve_json(self, content: JsonValue) -> ResolvedContent:
        """Resolve a JSON value, and move all data URIs in it.

        If the content is a string of JSON text, it is parsed. If a medium is moved out of this
        text, the original string is stored as well.
        """
        value, is_embedded = await run_in_loop_if(self.is_quick, self._parse_embedded, content)
        movable = await run_in_loop_if(self.is_quick, find_movable_media, value)
        # The whole content is one data URI.
        if len(movable) == 1 and not movable[0].pointer and movable[0].uri:
            return await self._move(movable[0].uri)
        moved = await self.mover.move_all(value, movable)
        stored, forms, resources = moved.value, moved.forms, moved.resources
        if not movable:
            stored = content
        elif is_embedded:
            form_of_text, original = await self.mover.store_original(content, resources)
            forms = {"": form_of_text}
            resources = (*resources, original)
            stored = json_text(stored)
        self._check_length(await run_in_loop_if(self.is_quick, json_text, stored))
        return ResolvedContent(Body("json", stored), forms, resources)

    def _parse_embedded(self, content: JsonValue) -> tuple[JsonValue, bool]:
        """Return the value of a structured content, and True if it was a string of JSON text."""
        if not isinstance(content, str):
            return content, False
        try:
            value = parse_json(
                content.encode(),
                max_depth=self.limits.json_depth,
                max_nodes=self.limits.json_nodes,
            )
        except (InvalidJsonError, PayloadTooLargeError):
            return content, False
        return value, True

    def _check_length(self, text: str) -> None:
        # A text with too many characters need not be encoded.
        if len(text) > self.limits.page_text_bytes or (
            len(text.encode()) > self.limits.page_text_bytes
        ):
            raise text_too_long_error(self.limits.page_text_bytes)


def misfit_error(modality: Modality) -> InvalidPayloadError:
    """Return the error for a content that does not fit a modality."""
    return InvalidPayloadError(
        f"The content does not fit a page of modality {modality}.",
        faults=[Fault("/content", f"must be {_ACCEPTED_CONTENT[modality]}, or null")],
    )


def check_field_texts(fields: PageFields) -> None:
    """Check that the texts about a page have no data URIs, which a model would get as text.

    Raises:
        InvalidPayloadError: A hint, caption, transcript, scene or timestamp has a data URI of a
            medium.
    """
    faults = [
        Fault(pointer, "holds a data: URI; put the medium into a page or a resource of its own")
        for pointer, words in _find_field_texts(fields)
        if any(len(span.data) >= INLINE_LIMIT_BYTES for span in find_data_uris(words))
    ]
    if faults:
        raise InvalidPayloadError("There are media among the words.", faults=faults)


def _find_field_texts(fields: PageFields) -> Iterator[tuple[str, str]]:
    """Yield the texts about a page, each with its JSON pointer."""
    for name in ("hint", "caption", "transcript"):
        if words := getattr(fields, name):
            yield f"/{name}", words
    for name in ("scenes", "timestamps"):
        for path, words, _ in find_strings(list(getattr(fields, name) or ())):
            yield f"/{name}{pointer_of_path(path)}", words
