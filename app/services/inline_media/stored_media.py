"""Media in values: found, moved into the store with a note of how they were written, and read back.

In messages, dialects put a medium into a data URI, or its base64 alone into a block that says what
it is: `{media_type, data}`, `{mimeType, data}`, `{audio: {data, format}}`, `{format, source:
{bytes}}`. Base64 that nothing declares is known by the signature of a file, also among other words.

Stored media are read into memory, or in their places in values as they were sent. A value as it was
sent is put together in pieces: its text, and between it the media, which are read when they are
sent and not before.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

import anyio.to_thread

from app.models.identity import utc_now
from app.models.resource import derive_resource_id
from app.services.persistence.media_checks import probe_stored_media
from app.services.persistence.media_keeper import INLINE_LIMIT_BYTES, MediaKeeper
from app.services.requests.data_uris import (
    SOUND,
    InlineForm,
    Movable,
    ValuePath,
    held_strings,
    inline_form,
    movable_media,
    pointer_to,
    put_member,
    strings_in,
)
from app.services.requests.streamed_requests import StreamedMedia
from app.services.requests.validation import require_found
from app.stores.blobs.draft_media import DraftMedia
from app.stores.blobs.store import BlobStore, StoredBlob, read_whole
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, json_text, parse_stored_json
from pagefault_dialects.media import block_table
from pagefault_dialects.media.base64_runs import decode_undeclared, find_runs, has_long_run
from pagefault_dialects.media.base64_text import CERTAIN_BASE64_CHARS, decode_base64
from pagefault_dialects.media.block_table import (
    AUDIO_FORMATS,
    BASE64_NAMES,
    MEDIA_ONLY_NAMES,
    MEDIUM_NAMES,
)
from pagefault_dialects.media.data_uris import DataUriSpan, DataUriText
from pagefault_dialects.media.file_names import safe_file_name
from pagefault_dialects.media.settling import HEAD_BYTES, settle_type
from pagefault_dialects.media.types import canonical_mime_type, is_textual, sniff
from pagefault_dialects.model.media import InMemoryMedia, MediaSource
from pagefault_dialects.model.rendering import JsonPiece, MediaPiece, TextPiece
from pagefault_dialects.model.resource import Resource, parse_resource_id, resource_kind
from pagefault_dialects.texts.json_strings import MediaPlaces, TextWriter

_LONGEST_REFERENCE_CHARS = 40


def media_in_message(value: JsonValue) -> list[Movable]:
    """Return the strings in a message that hold media from 1,024 bytes on, or recordings."""
    found = {each.pointer: each for each in movable_media(value)}
    for place, text, holder in held_strings(value):
        if len(text) < CERTAIN_BASE64_CHARS or text.lstrip()[:5].lower() == "data:":
            continue
        uri = _in_block(holder, place, text)
        spans = () if uri else _among_words(text)
        if uri is None and not spans:
            continue
        # Only for what is found: under a long key, the pointers are longer than the message.
        pointer = pointer_to(place)
        if pointer not in found:
            found[pointer] = Movable(pointer, text, uri, spans)
    return list(found.values())


def references_in(value: JsonValue) -> set[str]:
    """Return the ids of the resources that strings in a value are the references or URIs of."""
    return {
        resource_id
        for _, text in strings_in(value)
        if len(text) <= _LONGEST_REFERENCE_CHARS and text.startswith(("@blob:", "blob:"))
        if (resource_id := parse_resource_id(text)) is not None
    }


def _in_block(holder: JsonValue, place: ValuePath | None, text: str) -> DataUriText | None:
    """Return the medium whose base64 a text is, by what stands around it or by its first bytes."""
    if " " in text[:80].strip():
        # Words, which is what most texts are.
        return None
    declared = _declared_type(holder, place)
    data = decode_undeclared(text) if declared is None else decode_base64(text)
    shown = None if data is None else sniff(data[:512])
    is_sound = shown is not None and resource_kind(shown) in SOUND
    if data is None or not (len(data) >= INLINE_LIMIT_BYTES or is_sound):
        return None
    if declared and is_textual(declared) and not _is_text(data):
        # Letters of which somebody said that they are text, as they are.
        return None
    return DataUriText("", text, declared or shown or "", data, None, is_base64=True)


def _among_words(text: str) -> tuple[DataUriSpan, ...]:
    """Return base64 of files in a text, a JSON text for instance, that is too long to be read."""
    if not has_long_run(text):
        return ()
    return tuple(
        DataUriSpan(run.start, run.end, None, run.data, None)
        for run in find_runs(text, 0, len(text))
        if len(run.data) >= INLINE_LIMIT_BYTES
    )


def _declared_type(holder: JsonValue, place: ValuePath | None) -> str | None:
    """Return what a block says that its base64 is, if only that it is some, or `None`."""
    if not isinstance(holder, dict) or place is None:
        return None
    around = place.parent.key if place.parent else None
    is_of_shape = (around, place.key) in block_table.KNOWN.base64_ends
    if not is_of_shape and place.key not in BASE64_NAMES:
        return None
    for name in block_table.KNOWN.declaring:
        if isinstance(claim := holder.get(name), str):
            return canonical_mime_type(claim)
    if isinstance(audio := holder.get("format"), str) and audio in AUDIO_FORMATS:
        return AUDIO_FORMATS[audio]
    is_medium = is_of_shape or around in MEDIUM_NAMES or place.key in MEDIA_ONLY_NAMES
    return "" if is_medium else None


def _is_text(data: bytes) -> bool:
    try:
        return data.decode().isprintable() or not set(data) & _CONTROLS
    except UnicodeDecodeError:
        return False


_CONTROLS = frozenset(range(32)) - frozenset(b"\t\n\r\f")


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """The stored media of one project, as bytes."""

    records: Records
    blobs: BlobStore
    project_id: str

    async def find(self, reference: str) -> Resource | None:
        """Return the resource with this reference, URI or id, if the project has it."""
        resource_id = parse_resource_id(reference)
        if resource_id is None:
            return None
        return await self.records.read(
            self.project_id, lambda unit: unit[ResourceRecords].find(resource_id)
        )

    async def resource(self, reference: str) -> Resource:
        """Return the resource with this reference, URI or id.

        Raises:
            NotFoundError: The project has none.
        """
        return require_found(await self.find(reference), "resource")

    async def read(self, reference: str, *, limit_bytes: int) -> bytes:
        """Return all bytes of a resource.

        Raises:
            NotFoundError: The project has no such resource.
            PayloadTooLargeError: It has more than `limit_bytes`.
            StoreUnavailableError: The store did not answer.
        """
        resource = await self.resource(reference)
        check_fits(resource, limit_bytes)
        return await read_whole(self.blobs, self.project_id, resource.digest)

    async def as_sent(
        self, text: bytes, forms: Mapping[str, InlineForm], *, limit_bytes: int
    ) -> Sequence[JsonPiece]:
        """Return the JSON text of a value with every medium as it was written, byte for byte.

        Args:
            text: The value as it is shown.
            forms: How its media were written, by JSON pointer.
            limit_bytes: How many bytes of media stand in it in all.

        Raises:
            NotFoundError: One of the media is gone.
            PayloadTooLargeError: They are too large to stand in an answer.
            StoreUnavailableError: The store did not answer.
        """
        if not forms:
            return [text]
        places = MediaPlaces()
        written: dict[str, str] = {}
        sources = {at: each.text_resource_id or each.resource_id for at, each in forms.items()}
        resources = await self.records.read(
            self.project_id, lambda unit: unit[ResourceRecords].find_all(set(sources.values()))
        )
        for pointer, form in forms.items():
            resource = require_found(resources.get(sources[pointer]), "resource")
            check_fits(resource, limit_bytes)
            limit_bytes -= resource.size_bytes
            written[pointer] = await self._written(places, form, resource)

        def put_back() -> Sequence[JsonPiece]:
            value: JsonValue = parse_stored_json(text)
            for pointer, member in written.items():
                value = put_member(value, pointer, member)
            return places.pieces(json_text(value).encode())

        return await anyio.to_thread.run_sync(put_back)

    async def _written(self, places: MediaPlaces, form: InlineForm, resource: Resource) -> str:
        """Return what stands for a data URI: its head and the mark of its medium or text."""
        if form.text_resource_id is not None:
            # A text that was kept as it was, read once to learn how long it is escaped.
            writer = TextWriter("utf-8")
            sent_bytes = 0
            opened = await self.blobs.open(self.project_id, resource.digest)
            async with aclosing(opened) as reader:
                async for chunk in reader:
                    sent_bytes += await anyio.to_thread.run_sync(length_of, writer, chunk)
            sent_bytes += len(writer.finish())
            size_bytes = resource.size_bytes
            return places.mark(TextPiece(resource.digest, size_bytes, sent_bytes, is_verbatim=True))
        medium = MediaPiece(
            resource.digest,
            resource.size_bytes,
            is_urlsafe=form.alphabet == "urlsafe",
            is_padded=form.padded,
        )
        return form.head + places.mark(medium)


async def describe_stored(
    blobs: BlobStore, project_id: str, blob: StoredBlob, mime_type: str, filename: str | None
) -> Resource:
    """Describe a stored blob of a settled type under a safe name; its resource has no row yet."""
    return Resource(
        resource_id=derive_resource_id(project_id, blob.digest, mime_type, filename),
        digest=blob.digest,
        mime_type=mime_type,
        filename=filename,
        size_bytes=blob.size_bytes,
        kind=resource_kind(mime_type),
        hints=await probe_stored_media(blobs, project_id, blob, mime_type),
        created_at=utc_now(),
    )


def check_fits(resource: Resource, limit_bytes: int) -> None:
    """Raise PayloadTooLargeError for a medium that is too large to stand in an answer."""
    if resource.size_bytes > limit_bytes:
        raise PayloadTooLargeError(
            f"A medium has more than the {limit_bytes} bytes that stand in one answer. Ask "
            "with `media=reference`, or for a higher level of a page, and read the bytes from "
            "`/api/resources/{uri}/content`.",
            code="medium-too-large",
        )


def length_of(writer: TextWriter, chunk: bytes) -> int:
    """Return how many bytes become of a chunk of a text."""
    return sum(map(len, writer.feed(chunk)))


@dataclass(frozen=True, slots=True)
class MovedValue:
    """A value with references in the place of its media.

    `forms` says, by JSON pointer into `value`, how they were written; `resources` are all that the
    value and the forms refer to.
    """

    value: JsonValue
    forms: dict[str, InlineForm] = field(default_factory=dict)
    resources: tuple[Resource, ...] = ()


@dataclass(frozen=True, slots=True)
class MediaMover:
    """Moves the media of one request."""

    keeper: MediaKeeper
    """Stores them."""
    most_media: int
    """How many one value may hold."""
    streamed: StreamedMedia = field(default_factory=dict)
    """The media that are in drafts already."""

    async def move_all(self, value: JsonValue, movable: Sequence[Movable]) -> MovedValue:
        """Return a value, which is nobody else's, with references in the place of what is movable.

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
        """Return a reference in the place of a text that is one data URI, at a pointer.

        The first of the resources is the medium.
        """
        filename = safe_file_name(uri.filename)
        source = self.source(uri)
        mime_type = settle_type(source.head(HEAD_BYTES), uri.mime_type, filename)
        resource = await self.keeper.store(source, mime_type, filename)
        form = await anyio.to_thread.run_sync(self._form, uri, resource.resource_id)
        if form is not None:
            return MovedValue(resource.reference, {pointer: form}, (resource,))
        form, kept = await self.keep_text(uri.text, [resource])
        form = form.model_copy(update={"head": uri.head})
        return MovedValue(resource.reference, {pointer: form}, (resource, kept))

    def source(self, uri: DataUriText) -> MediaSource:
        """Return the medium of a data URI: in a draft, if it was streamed there, or in memory."""
        data = uri.data or b""
        if self.streamed and (string := self.streamed.get(data)) is not None:
            return DraftMedia(string.draft, uri.mime_type)
        return InMemoryMedia(data, uri.mime_type)

    def _form(self, uri: DataUriText, resource_id: str) -> InlineForm | None:
        string = self.streamed.get(uri.data or b"") if self.streamed else None
        if string is None or string.plain_spelling is None:
            return inline_form(uri, resource_id)
        is_url_safe, is_padded = string.plain_spelling
        return InlineForm(
            resource_id=resource_id,
            head=uri.head,
            alphabet="urlsafe" if is_url_safe else "standard",
            padded=is_padded,
        )

    async def lift(self, text: str, spans: Sequence[DataUriSpan], pointer: str) -> MovedValue:
        """Return a text, at a pointer, with references in the place of data URIs in its words."""
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
        form, kept = await self.keep_text(text, moved)
        shown = "".join([*pieces, text[position:]])
        return MovedValue(shown, {pointer: form}, (*moved, kept))

    async def keep_text(self, text: str, moved: Sequence[Resource]) -> tuple[InlineForm, Resource]:
        """Keep a text as it was sent, which is shown with references to what it held."""
        kept = await self.keeper.store(InMemoryMedia(text.encode()), "text/plain", None)
        first, *further = (resource.resource_id for resource in moved)
        form = InlineForm(
            resource_id=first,
            head="",
            text_resource_id=kept.resource_id,
            further_resource_ids=tuple(further),
        )
        return form, kept

    def _check_count(self, media: int) -> None:
        if media > self.most_media:
            raise PayloadTooLargeError(
                f"There may be {self.most_media} media in one request. Nothing was stored."
            )
