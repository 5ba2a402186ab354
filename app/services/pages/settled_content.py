"""Settles what a page's content is: words, data, an address, or a medium that goes to the store.

There is no binary in a page. A `data:` URI from 1,024 bytes on, and every recording, is moved to
the blob store; the page keeps the reference, and how the URI was written. The rules at the end say
which contents a modality takes, and that words are words.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

import anyio.to_thread

from app.models.limits import Limits
from app.services.concurrency.large_work import run_in_loop_if
from app.services.inline_media.media_mover import MediaMover
from app.services.inline_media.stored_media import StoredMedia
from app.services.media.media_checks import probe_media
from app.services.pages.page_bodies import blob_body, fits, is_url, too_long_text
from pagefault_dialects.errors import (
    Fault,
    InvalidJsonError,
    InvalidPayloadError,
    PayloadTooLargeError,
)
from pagefault_dialects.json.values import JsonValue, json_text, parse_json
from pagefault_dialects.media.data_uris import (
    DataUriText,
    bare_base64,
    find_data_uris,
    split_data_uri,
)
from pagefault_dialects.media.embedded_data_uris import (
    INLINE_LIMIT_BYTES,
    InlineForm,
    is_to_be_moved,
    media_in_text,
    movable_media,
    pointer_to,
    strings_in,
)
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.media.types import is_textual
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.page import Body, Modality, PageFields, PageMedia
from pagefault_dialects.model.resource import Resource

_REFERENCE_MARK = "@blob:"
_LONGEST_BROKEN_CHARS = 2_000
_LONGEST_URL_CHARS = 65_536
_TAKES: dict[Modality, str] = {
    "text": "text as a string",
    "structured": "any JSON value",
    "image": "an http(s) URL, a data: URI, a @blob: reference of an image, or its caption as text",
    "audio": "an http(s) URL, a data: URI, a @blob: reference of a recording, or its transcript",
    "video": "an http(s) URL, a data: URI, a @blob: reference of a video, or its transcript",
}


@dataclass(frozen=True, slots=True)
class SettledContent:
    """A page's content, ready to be stored.

    `forms` says, by JSON pointer into the body's value, how moved data URIs were written.
    `resources` are all that the page now refers to, and `source` is the one medium that the content
    is, where it has come with it.
    """

    body: Body
    forms: dict[str, InlineForm] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()
    source: MediaSource | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class PageContents:
    """Settles contents for one request of one project; its blobs are stored, its rows are not."""

    media: StoredMedia
    """Where resources are looked up."""
    mover: MediaMover
    """Moves the media of the request."""
    limits: Limits
    """For texts and media."""
    is_quick: bool
    """Whether the event loop can work on its text."""

    async def settle(self, modality: Modality, content: JsonValue) -> SettledContent:
        """Store the media of a content and return what it is.

        Raises:
            InvalidPayloadError: It does not fit the modality; the fault says what does.
            PayloadTooLargeError: The text or a medium is larger than the limits.
            StoreUnavailableError: The blob store did not take it.
        """
        if content is None:
            return SettledContent(Body("none"))
        if modality in ("text", "structured") and (text := await self._text_reference(content)):
            return text
        if modality == "structured":
            return await self._data(content)
        if not isinstance(content, str):
            raise misfit(modality)
        if modality == "text":
            return await self._text(content)
        return await self._medium(modality, content)

    async def _medium(self, modality: Modality, content: str) -> SettledContent:
        """Settle an image, a recording, a video: the medium, its address, or words about it."""
        uri = await run_in_loop_if(self.is_quick, _as_data_uri, content)
        if uri is not None:
            return await self._data_uri(modality, uri)
        if content.startswith(_REFERENCE_MARK):
            return await self._reference(modality, content)
        if not is_url(content):
            return await self._words(content)
        if len(content) > _LONGEST_URL_CHARS:
            raise PayloadTooLargeError(f"A URL may have {_LONGEST_URL_CHARS} characters.")
        return SettledContent(Body("url", content))

    async def _data_uri(self, modality: Modality, uri: DataUriText) -> SettledContent:
        if uri.data is None and len(uri.text) > _LONGEST_BROKEN_CHARS:
            raise InvalidPayloadError(
                "The content announces base64, but is none.",
                faults=[Fault("/content", "invalid base64 behind the comma of the data: URI")],
                code="invalid-base64",
            )
        if uri.data is None:
            return SettledContent(Body("data", uri.text))
        head = self.mover.source(uri).head(HEAD_BYTES)
        mime_type = detect_type(head, uri.mime_type, uri.filename)
        if not fits(modality, mime_type):
            raise misfit(modality)
        if is_to_be_moved(uri) or not uri.head:
            return await self._moved(uri)
        source = InMemoryMedia(uri.data)
        hints = await anyio.to_thread.run_sync(probe_media, uri.data, source, mime_type)
        media = PageMedia(
            uri=None,
            mime_type=mime_type,
            size_bytes=source.size_bytes,
            filename=safe_file_name(uri.filename),
            **asdict(hints),
        )
        return SettledContent(Body("data", uri.text, media), source=source)

    async def _moved(self, uri: DataUriText) -> SettledContent:
        moved = await self.mover.move(uri, "")
        body = blob_body(moved.resources[0])
        return SettledContent(body, moved.forms, moved.resources, self.mover.source(uri))

    async def _text(self, content: str) -> SettledContent:
        """Settle a text: a data URI of one, or a text with media in it."""
        uri = await run_in_loop_if(self.is_quick, split_data_uri, content)
        if uri is not None and uri.is_base64 and is_to_be_moved(uri):
            return await self._moved(uri)
        return await self._words(content)

    async def _words(self, content: str) -> SettledContent:
        """Move the media out that stand among words."""
        spans = await run_in_loop_if(self.is_quick, media_in_text, content)
        if not spans:
            self._check_length(content)
            return SettledContent(Body("text", content))
        moved = await self.mover.lift(content, spans, "")
        self._check_length(moved.value)
        return SettledContent(Body("text", moved.value), moved.forms, moved.resources)

    async def _reference(self, modality: Modality, content: str) -> SettledContent:
        """Settle the reference to a medium."""
        resource = await self.media.find(content)
        if resource is None:
            raise InvalidPayloadError(
                "The content refers to a resource that is not there.",
                faults=[Fault("/content", "is the reference of no resource of this project")],
            )
        if not fits(modality, resource.mime_type):
            raise misfit(modality)
        return SettledContent(blob_body(resource), resources=(resource,))

    async def _text_reference(self, content: JsonValue) -> SettledContent | None:
        """Settle the reference to a text; returns `None` where it is but text itself, or data."""
        if not isinstance(content, str) or not content.startswith(_REFERENCE_MARK):
            return None
        resource = await self.media.find(content)
        if resource is None or not is_textual(resource.mime_type):
            return None
        if resource.size_bytes > self.limits.page_text_bytes:
            raise too_long_text(self.limits.page_text_bytes)
        return SettledContent(blob_body(resource), resources=(resource,))

    async def _data(self, content: JsonValue) -> SettledContent:
        """Settle any JSON value, its data URIs moved wherever they stand.

        A string with JSON in it is understood as that JSON; where a medium is moved out of it, the
        string is kept as it was sent, beside the JSON text that takes its place.
        """
        value, is_embedded = await run_in_loop_if(self.is_quick, self._understood, content)
        movable = await run_in_loop_if(self.is_quick, movable_media, value)
        if len(movable) == 1 and not movable[0].pointer and movable[0].uri:
            return await self._moved(movable[0].uri)
        moved = await self.mover.move_all(value, movable)
        shown, forms, resources = moved.value, moved.forms, moved.resources
        if not movable:
            shown = content
        elif is_embedded:
            form_of_text, kept_text = await self.mover.keep_text(content, resources)
            forms = {"": form_of_text}
            resources = (*resources, kept_text)
            shown = json_text(shown)
        self._check_length(await run_in_loop_if(self.is_quick, json_text, shown))
        return SettledContent(Body("json", shown), forms, resources)

    def _understood(self, content: JsonValue) -> tuple[JsonValue, bool]:
        """Return the value of a structured content, and whether it is the JSON in a string."""
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
        if len(text) > self.limits.page_text_bytes or (
            len(text.encode()) > self.limits.page_text_bytes
        ):
            raise too_long_text(self.limits.page_text_bytes)


def _as_data_uri(content: str) -> DataUriText | None:
    return split_data_uri(content) or bare_base64(content)


def misfit(modality: Modality) -> InvalidPayloadError:
    """Return the error for a content that is nothing a page of this modality holds."""
    return InvalidPayloadError(
        f"The content does not fit a page of modality {modality}.",
        faults=[Fault("/content", f"must be {_TAKES[modality]}, or null")],
    )


def check_words(fields: PageFields) -> None:
    """Refuse media among the words about a page: they would be read out to a model.

    Raises:
        InvalidPayloadError: A hint, caption, transcript, scene or timestamp holds a data URI of a
            medium.
    """
    faults = [
        Fault(pointer, "holds a data: URI; put the medium into a page or a resource of its own")
        for pointer, words in _words(fields)
        if any(len(span.data) >= INLINE_LIMIT_BYTES for span in find_data_uris(words))
    ]
    if faults:
        raise InvalidPayloadError("There are media among the words.", faults=faults)


def _words(fields: PageFields) -> Iterator[tuple[str, str]]:
    for name in ("hint", "caption", "transcript"):
        if words := getattr(fields, name):
            yield f"/{name}", words
    for name in ("scenes", "timestamps"):
        for place, words in strings_in(list(getattr(fields, name) or ())):
            yield f"/{name}{pointer_to(place)}", words
