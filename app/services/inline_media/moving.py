"""Moves media out of values into the store, and notes how they were written."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio.to_thread

from app.errors import PayloadTooLargeError
from app.models.json_value import JsonValue
from app.models.media import InMemoryMedia
from app.models.resource import Resource
from app.rendering.file_names import safe_file_name
from app.services.inline_media.data_uris import (
    DataUriText,
    InlineForm,
    Movable,
    inline_form,
    put_member,
)
from app.services.normalization.data_uris import DataUriSpan
from app.services.persistence.keeping import HEAD_BYTES, MediaKeeper, settle_type


@dataclass(frozen=True, slots=True)
class MovedValue:
    """A value with references in the place of its media.

    `forms` says, by JSON pointer into `value`, how they were written; `resources` are all that the
    value and the forms refer to.
    """

    value: JsonValue
    forms: dict[str, InlineForm] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()


class MediaMover:
    """Moves the media of one request.

    Args:
        keeper: Stores them.
        most_media: How many one value may hold.
    """

    def __init__(self, keeper: MediaKeeper, *, most_media: int) -> None:
        self._keeper = keeper
        self._most_media = most_media

    async def move_all(self, value: JsonValue, movable: Sequence[Movable]) -> MovedValue:
        """The value, which is nobody else's, with references in the place of what is movable.

        Raises:
            PayloadTooLargeError: There are too many media, or one is too large.
            StoreUnavailableError: The blob store did not take one.
        """
        self._check_count(sum(max(1, len(each.spans)) for each in movable))
        forms: dict[str, InlineForm] = {}
        resources: list[Resource] = []
        for each in movable:
            if each.uri is not None:
                moved = await self.move(each.uri, each.pointer)
            else:
                moved = await self.lift(each.text, each.spans, each.pointer)
            forms |= moved.forms
            resources += moved.resources
            value = put_member(value, each.pointer, moved.value)
        return MovedValue(value, forms, tuple(resources))

    async def move(self, uri: DataUriText, pointer: str) -> MovedValue:
        """A reference in the place of a text that is one data URI, at a pointer.

        The first of the resources is the medium.
        """
        data = uri.data or b""
        filename = safe_file_name(uri.filename)
        mime_type = settle_type(data[:HEAD_BYTES], uri.mime_type, filename)
        source = InMemoryMedia(data, uri.mime_type)
        resource = await self._keeper.store(source, mime_type, filename)
        form = await anyio.to_thread.run_sync(inline_form, uri, resource.resource_id)
        if form is not None:
            return MovedValue(resource.reference, {pointer: form}, (resource,))
        form, kept = await self.keep_text(uri.text, [resource])
        form = form.model_copy(update={"head": uri.head})
        return MovedValue(resource.reference, {pointer: form}, (resource, kept))

    async def lift(self, text: str, spans: Sequence[DataUriSpan], pointer: str) -> MovedValue:
        """A text, at a pointer, with references in the place of the data URIs among its words."""
        self._check_count(len(spans))
        pieces: list[str] = []
        moved: list[Resource] = []
        position = 0
        for span in spans:
            medium = InMemoryMedia(span.data, span.mime_type)
            mime_type = settle_type(span.data[:HEAD_BYTES], span.mime_type, span.filename)
            resource = await self._keeper.store(medium, mime_type, safe_file_name(span.filename))
            pieces += [text[position : span.start], resource.reference]
            moved.append(resource)
            position = span.end
        form, kept = await self.keep_text(text, moved)
        shown = "".join([*pieces, text[position:]])
        return MovedValue(shown, {pointer: form}, (*moved, kept))

    async def keep_text(self, text: str, moved: Sequence[Resource]) -> tuple[InlineForm, Resource]:
        """Keep a text as it was sent, which is shown with references to what it held."""
        kept = await self._keeper.store(InMemoryMedia(text.encode()), "text/plain", None)
        first, *further = (resource.resource_id for resource in moved)
        form = InlineForm(
            resource_id=first,
            head="",
            text_resource_id=kept.resource_id,
            further_resource_ids=tuple(further),
        )
        return form, kept

    def _check_count(self, media: int) -> None:
        if media > self._most_media:
            raise PayloadTooLargeError(
                f"There may be {self._most_media} media in one request. Nothing was stored."
            )
