"""Moves the data URIs in JSON values into the blob store, and puts references in their place.

For each changed string, its *original form* is returned too: everything that is needed to restore
the string exactly as it was sent (`stored_media.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio.to_thread

from app.services.media.media_keeper import MediaKeeper
from app.stores.blobs.draft_media import DraftMedia, StreamedMedia
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.media.data_uris import DataUriSpan, SplitDataUri
from pagefault_dialects.media.embedded_data_uris import (
    InlineForm,
    MovableString,
    build_inline_form,
    put_member,
)
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.file_type import HEAD_BYTES, detect_type
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.resource import Resource


@dataclass(frozen=True, slots=True)
class MovedValue:
    """A JSON value whose media were moved into the blob store."""

    value: JsonValue
    """The value with references in place of the media."""
    forms: dict[str, InlineForm] = field(default_factory=dict)
    """The original forms of the changed strings, by JSON pointer into `value`."""
    resources: tuple[Resource, ...] = ()
    """The resources to which `value` and `forms` refer."""


@dataclass(frozen=True, slots=True)
class MediaMover:
    """Moves the media of one request."""

    keeper: MediaKeeper
    """Stores the media."""
    max_media: int
    """The maximum number of media in one value."""
    streamed: StreamedMedia = field(default_factory=dict)
    """The media of the request that are in temporary files, by their placeholders."""

    async def move_all(self, value: JsonValue, strings: Sequence[MovableString]) -> MovedValue:
        """Store the media in strings of a value, and replace them by references.

        Args:
            value: The value, which is changed.
            strings: The strings of the value that have media, with their JSON pointers.

        Raises:
            PayloadTooLargeError: There are too many media, or a medium is too large.
            StoreUnavailableError: The blob store could not store a medium.
        """
        self._check_count(sum(max(1, len(string.spans)) for string in strings))
        forms: dict[str, InlineForm] = {}
        resources: list[Resource] = []
        for string in strings:
            if string.uri is not None:
                moved = await self.move(string.uri, string.pointer)
            else:
                moved = await self.move_from_text(string.text, string.spans, string.pointer)
            forms |= moved.forms
            resources += moved.resources
            value = put_member(value, string.pointer, moved.value)
        return MovedValue(value, forms, tuple(resources))

    async def move(self, uri: SplitDataUri, pointer: str) -> MovedValue:
        """Store the medium of a string that is one data URI, and return a reference to it.

        Args:
            uri: The data URI.
            pointer: The JSON pointer to the string.

        Returns:
            The reference. The first of its resources is the medium. If the string cannot be
            restored from the bytes of the medium, the second resource has the whole string.
        """
        filename = safe_file_name(uri.filename)
        source = self.source(uri)
        mime_type = detect_type(source.head(HEAD_BYTES), uri.mime_type, filename)
        resource = await self.keeper.store(source, mime_type, filename)
        form = await anyio.to_thread.run_sync(self._build_form, uri, resource.resource_id)
        if form is not None:
            return MovedValue(resource.reference, {pointer: form}, (resource,))
        form, original = await self.store_original(uri.text, [resource])
        form = form.model_copy(update={"head": uri.head})
        return MovedValue(resource.reference, {pointer: form}, (resource, original))

    def source(self, uri: SplitDataUri) -> MediaSource:
        """Return the bytes of a data URI, from a temporary file if they were written into one."""
        data = uri.data or b""
        if self.streamed and (string := self.streamed.get(data)) is not None:
            return DraftMedia(string.draft, uri.mime_type)
        return InMemoryMedia(data, uri.mime_type)

    def _build_form(self, uri: SplitDataUri, resource_id: str) -> InlineForm | None:
        """Return the form from which a data URI can be restored.

        Returns:
            `None` if the text of the data URI has to be stored, because its base64 is unusual.
        """
        string = self.streamed.get(uri.data or b"") if self.streamed else None
        if string is None or string.plain_spelling is None:
            return build_inline_form(uri, resource_id)
        is_url_safe, is_padded = string.plain_spelling
        return InlineForm(
            resource_id=resource_id,
            head=uri.head,
            alphabet="urlsafe" if is_url_safe else "standard",
            padded=is_padded,
        )

    async def move_from_text(
        self, text: str, spans: Sequence[DataUriSpan], pointer: str
    ) -> MovedValue:
        """Store the media of data URIs that are parts of a text, and put references in their place.

        Args:
            text: The text.
            spans: The positions of the data URIs in the text, in order, and their contents.
            pointer: The JSON pointer to the text.
        """
        self._check_count(len(spans))
        pieces: list[str] = []
        media: list[Resource] = []
        end = 0
        for span in spans:
            medium = InMemoryMedia(span.data, span.mime_type)
            mime_type = detect_type(span.data[:HEAD_BYTES], span.mime_type, span.filename)
            resource = await self.keeper.store(medium, mime_type, safe_file_name(span.filename))
            pieces += [text[end : span.start], resource.reference]
            media.append(resource)
            end = span.end
        form, original = await self.store_original(text, media)
        value = "".join([*pieces, text[end:]])
        return MovedValue(value, {pointer: form}, (*media, original))

    async def store_original(
        self, text: str, media: Sequence[Resource]
    ) -> tuple[InlineForm, Resource]:
        """Store the original text of a string whose media were replaced by references.

        Args:
            text: The original text.
            media: The media that were moved out of the text, at least one.

        Returns:
            The form of the string, and the resource with the text.
        """
        original = await self.keeper.store(InMemoryMedia(text.encode()), "text/plain", None)
        first, *others = (resource.resource_id for resource in media)
        form = InlineForm(
            resource_id=first,
            head="",
            text_resource_id=original.resource_id,
            further_resource_ids=tuple(others),
        )
        return form, original

    def _check_count(self, count: int) -> None:
        if count > self.max_media:
            raise PayloadTooLargeError(
                f"There may be {self.max_media} media in one request. Nothing was stored."
            )
