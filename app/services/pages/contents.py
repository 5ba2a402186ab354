"""Settles what a page's content is: words, data, an address, or a medium that goes to the store.

There is no binary in a page. A `data:` URI from 1,024 bytes on, and every recording, is moved to
the blob store; the page keeps the reference, and how the URI was written.
"""

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import datetime

import anyio.to_thread

from app.errors import (
    Fault,
    InvalidJsonError,
    InvalidPayloadError,
    NotFoundError,
    PayloadTooLargeError,
)
from app.models.json_value import JsonValue, json_text, parse_json
from app.models.limits import Limits
from app.models.media import InMemoryMedia
from app.models.media_types import is_textual
from app.models.page import Body, Modality, PageMedia
from app.models.resource import Resource, parse_resource_id
from app.rendering.file_names import safe_file_name
from app.services.normalization.data_uris import DataUriSpan
from app.services.pages.data_uris import (
    DataUriText,
    InlineForm,
    bare_base64,
    inline_form,
    is_to_be_moved,
    media_in_text,
    movable_media,
    put_member,
    split_data_uri,
)
from app.services.pages.fitting import check_family, is_url, misfit
from app.services.persistence.keeping import (
    HEAD_BYTES,
    MediaKeeper,
    settle_type,
)
from app.services.persistence.probing import probe_media
from app.stores.blobs import BlobStore
from app.stores.records import Records

_REFERENCE_MARK = "@blob:"
_LONGEST_BROKEN_CHARS = 2_000
_LONGEST_URL_CHARS = 65_536


@dataclass(frozen=True, slots=True)
class SettledContent:
    """A page's content, ready to be stored.

    `value` is what the page shows as its content. `forms` says, by JSON pointer into `value`, how
    moved data URIs were written. `resources` are all that the page now refers to, and `data` the
    bytes of the one medium that the content is, where they have come with it.
    """

    body: Body
    value: JsonValue
    forms: dict[str, InlineForm] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()
    data: bytes | None = field(default=None, repr=False)


class PageContents:
    """Settles contents for one request of one project; its blobs are stored, its rows are not."""

    def __init__(
        self,
        records: Records,
        blobs: BlobStore,
        *,
        project_id: str,
        limits: Limits,
        now: datetime,
    ) -> None:
        self._records = records
        self._blobs = blobs
        self._project_id = project_id
        self._limits = limits
        self.keeper = MediaKeeper(blobs, project_id, limit_bytes=limits.medium_bytes, now=now)

    async def settle(self, modality: Modality, content: JsonValue) -> SettledContent:
        """What a content is, its media stored.

        Raises:
            InvalidPayloadError: It does not fit the modality; the fault says what does.
            PayloadTooLargeError: The text or a medium is larger than the limits.
            StoreUnavailableError: The blob store did not take it.
        """
        if content is None:
            return SettledContent(Body("none"), None)
        if modality == "structured":
            return await self._data(content)
        if not isinstance(content, str):
            raise misfit(modality)
        if modality == "text":
            return await self._text(content)
        return await self._medium(modality, content)

    async def _medium(self, modality: Modality, content: str) -> SettledContent:
        """An image, a recording, a video: the medium, its address, or words about it."""
        uri = await anyio.to_thread.run_sync(_as_data_uri, content)
        if uri is not None:
            return await self._data_uri(modality, uri)
        if content.startswith(_REFERENCE_MARK):
            return await self._reference(modality, content)
        if not is_url(content):
            return await self._words(content)
        if len(content) > _LONGEST_URL_CHARS:
            raise PayloadTooLargeError(f"A URL may have {_LONGEST_URL_CHARS} characters.")
        return SettledContent(Body("url", content), content)

    async def resource(self, reference: str) -> Resource:
        """The resource that a page refers to.

        Raises:
            NotFoundError: The project has none.
        """
        resource_id = parse_resource_id(reference)
        resource = await self._find(resource_id) if resource_id else None
        if resource is None:
            raise NotFoundError("resource")
        return resource

    async def read(self, reference: str, *, limit_bytes: int) -> bytes:
        """The bytes of a resource that a page refers to.

        Raises:
            NotFoundError: The project has no such resource.
            PayloadTooLargeError: It has more than `limit_bytes`.
            StoreUnavailableError: The store did not answer.
        """
        resource = await self.resource(reference)
        if resource.size_bytes > limit_bytes:
            raise PayloadTooLargeError(
                f"A medium of this page has more than the {limit_bytes} bytes that stand in one "
                "answer. Ask with `media=reference`, or for a higher level, and read the bytes "
                "from `/api/resources/{uri}/content`.",
                code="medium-too-large",
            )
        opened = await self._blobs.open(self._project_id, resource.digest)
        async with aclosing(opened) as reader:
            return b"".join([piece async for piece in reader])

    async def referred_text(
        self, modality: Modality, body: Body, data: bytes | None = None
    ) -> str | None:
        """The text that the content of a text or structured page refers to, if it does.

        Args:
            modality: The page's.
            body: The page's content.
            data: The bytes it refers to, where they are at hand.

        Raises:
            StoreUnavailableError: The store did not answer.
        """
        media = body.media
        if modality not in ("text", "structured") or body.kind != "blob" or media is None:
            return None
        if not is_textual(media.mime_type):
            return None
        if data is None:
            data = await self.read(str(body.value), limit_bytes=self._limits.page_text_bytes)
        return data.decode("utf-8", "replace")

    async def _data_uri(self, modality: Modality, uri: DataUriText) -> SettledContent:
        if uri.data is None and len(uri.text) > _LONGEST_BROKEN_CHARS:
            raise InvalidPayloadError(
                "The content announces base64, but is none.",
                faults=[Fault("/content", "invalid base64 behind the comma of the data: URI")],
                code="invalid-base64",
            )
        if uri.data is None:
            return SettledContent(Body("data", uri.text), uri.text)
        mime_type = settle_type(uri.data[:HEAD_BYTES], uri.mime_type, uri.filename)
        check_family(modality, mime_type)
        if is_to_be_moved(uri) or not uri.head:
            return await self._moved(uri)
        media = await anyio.to_thread.run_sync(_inline_media, uri, mime_type)
        return SettledContent(Body("data", uri.text, media), uri.text, data=uri.data)

    async def _moved(self, uri: DataUriText) -> SettledContent:
        resource, forms, resources = await self._move(uri, "")
        body = Body("blob", resource.reference, page_media(resource))
        return SettledContent(body, resource.reference, forms, resources, uri.data)

    async def _text(self, content: str) -> SettledContent:
        """A text: a reference to one, a data URI of one, or the text with its media moved out."""
        if content.startswith(_REFERENCE_MARK):
            settled = await self._text_reference("text", content)
            if settled is not None:
                return settled
        uri = await anyio.to_thread.run_sync(split_data_uri, content)
        if uri is not None and uri.is_base64 and is_to_be_moved(uri):
            return await self._moved(uri)
        return await self._words(content)

    async def _words(self, content: str) -> SettledContent:
        """Words, with the media that stand among them moved out."""
        spans = await anyio.to_thread.run_sync(media_in_text, content)
        if not spans:
            self._check_length(content)
            return SettledContent(Body("text", content), content)
        shown, form, resources = await self._lifted(content, spans)
        self._check_length(shown)
        return SettledContent(Body("text", shown), shown, {"": form}, resources)

    async def _lifted(
        self, text: str, spans: Sequence[DataUriSpan]
    ) -> tuple[str, InlineForm, tuple[Resource, ...]]:
        """The text with references in the place of its media, and what it takes to undo that."""
        self._check_count(len(spans))
        pieces: list[str] = []
        moved: list[Resource] = []
        position = 0
        for span in spans:
            medium = InMemoryMedia(span.data, span.mime_type)
            mime_type = settle_type(span.data[:HEAD_BYTES], span.mime_type, span.filename)
            resource = await self.keeper.store(medium, mime_type, safe_file_name(span.filename))
            pieces += [text[position : span.start], resource.reference]
            moved.append(resource)
            position = span.end
        form, kept = await self._as_sent(text, moved)
        return "".join([*pieces, text[position:]]), form, (*moved, kept)

    async def _as_sent(self, text: str, moved: Sequence[Resource]) -> tuple[InlineForm, Resource]:
        """Keep a text as it was sent, that the page shows with references to what it held."""
        kept = await self.keeper.store(InMemoryMedia(text.encode()), "text/plain", None)
        first, *further = (resource.resource_id for resource in moved)
        form = InlineForm(
            resource_id=first,
            head="",
            text_resource_id=kept.resource_id,
            further_resource_ids=tuple(further),
        )
        return form, kept

    async def _move(
        self, uri: DataUriText, pointer: str
    ) -> tuple[Resource, dict[str, InlineForm], tuple[Resource, ...]]:
        """Store the medium of a data URI, and whatever else it takes to write the URI again."""
        data = uri.data or b""
        source = InMemoryMedia(data, uri.mime_type)
        filename = safe_file_name(uri.filename)
        mime_type = settle_type(data[:HEAD_BYTES], uri.mime_type, filename)
        resource = await self.keeper.store(source, mime_type, filename)
        form = await anyio.to_thread.run_sync(inline_form, uri, resource.resource_id)
        if form is not None:
            return resource, {pointer: form}, (resource,)
        form, kept = await self._as_sent(uri.text, [resource])
        return (
            resource,
            {pointer: form.model_copy(update={"head": uri.head})},
            (resource, kept),
        )

    async def _reference(self, modality: Modality, content: str) -> SettledContent:
        """The medium that a client refers to."""
        resource_id = parse_resource_id(content)
        resource = await self._find(resource_id) if resource_id else None
        if resource is None:
            raise InvalidPayloadError(
                "The content refers to a resource that is not there.",
                faults=[Fault("/content", "is the reference of no resource of this project")],
            )
        check_family(modality, resource.mime_type)
        body = Body("blob", resource.reference, page_media(resource))
        return SettledContent(body, resource.reference, resources=(resource,))

    async def _text_reference(self, modality: Modality, content: str) -> SettledContent | None:
        """The text that a client refers to; `None` where the reference is but text itself."""
        resource_id = parse_resource_id(content)
        resource = await self._find(resource_id) if resource_id else None
        if resource is None or not is_textual(resource.mime_type):
            return None
        if resource.size_bytes > self._limits.page_text_bytes:
            raise self._too_long()
        body = Body("blob", resource.reference, page_media(resource))
        return SettledContent(body, resource.reference, resources=(resource,))

    async def _data(self, content: JsonValue) -> SettledContent:
        """A structured content: any JSON value, its data URIs moved wherever they stand.

        A string with JSON in it is understood as that JSON; where a medium is moved out of it, the
        string is kept as it was sent, beside the JSON text that takes its place.
        """
        if isinstance(content, str) and content.startswith(_REFERENCE_MARK):
            settled = await self._text_reference("structured", content)
            if settled is not None:
                return settled
        value, is_embedded = await anyio.to_thread.run_sync(self._understood, content)
        movable = await anyio.to_thread.run_sync(movable_media, value)
        self._check_count(len(movable))
        if len(movable) == 1 and not movable[0].pointer and movable[0].uri:
            return await self._moved(movable[0].uri)
        forms: dict[str, InlineForm] = {}
        resources: list[Resource] = []
        for each in movable:
            if each.uri is not None:
                resource, form, kept = await self._move(each.uri, each.pointer)
                shown_as, forms = resource.reference, forms | form
            else:
                shown_as, lifted, kept = await self._lifted(each.text, each.spans)
                forms[each.pointer] = lifted
            resources += kept
            value = put_member(value, each.pointer, shown_as)
        shown = content if not movable else value
        if movable and is_embedded:
            form_of_text, kept_text = await self._as_sent(content, resources)
            forms = {"": form_of_text}
            resources.append(kept_text)
            shown = json_text(value)
        self._check_length(await anyio.to_thread.run_sync(json_text, shown))
        return SettledContent(Body("json", shown), shown, forms, tuple(resources))

    def _understood(self, content: JsonValue) -> tuple[JsonValue, bool]:
        """The value of a structured content, and whether it is the JSON in a string."""
        if not isinstance(content, str):
            return content, False
        try:
            value = parse_json(
                content.encode(),
                max_depth=self._limits.json_depth,
                max_nodes=self._limits.json_nodes,
            )
        except (InvalidJsonError, PayloadTooLargeError):
            return content, False
        return value, True

    async def _find(self, resource_id: str) -> Resource | None:
        async with self._records.read(self._project_id) as unit:
            return await unit.resources.find(resource_id)

    def _check_length(self, text: str) -> None:
        if len(text) > self._limits.page_text_bytes or (
            len(text.encode()) > self._limits.page_text_bytes
        ):
            raise self._too_long()

    def _check_count(self, media: int) -> None:
        if media > self._limits.media_per_result:
            raise PayloadTooLargeError(
                f"A page may hold {self._limits.media_per_result} media. Nothing was stored."
            )

    def _too_long(self) -> PayloadTooLargeError:
        return PayloadTooLargeError(
            f"The text of a page may have {self._limits.page_text_bytes} bytes. Store it as a "
            "resource, and let the page hold an excerpt and refer to it. Nothing was stored."
        )


def page_media(resource: Resource) -> PageMedia:
    """What a page says of a medium it refers to."""
    return PageMedia(
        uri=resource.reference,
        mime_type=resource.mime_type,
        size_bytes=resource.size_bytes,
        filename=resource.filename,
        width=resource.hints.width,
        height=resource.hints.height,
        duration_seconds=resource.hints.duration_seconds,
    )


def _inline_media(uri: DataUriText, mime_type: str) -> PageMedia:
    data = uri.data or b""
    hints = probe_media(data, InMemoryMedia(data), mime_type)
    return PageMedia(
        uri=None,
        mime_type=mime_type,
        size_bytes=len(data),
        filename=safe_file_name(uri.filename),
        width=hints.width,
        height=hints.height,
        duration_seconds=hints.duration_seconds,
    )


def _as_data_uri(content: str) -> DataUriText | None:
    return split_data_uri(content) or bare_base64(content)
