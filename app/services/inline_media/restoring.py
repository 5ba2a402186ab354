"""Reads stored media back: into memory, or in their places in values as they were sent.

A value as it was sent is put together in pieces: its text, and between it the media, which are
read when they are sent and not before.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing

import anyio.to_thread

from app.errors import NotFoundError, PayloadTooLargeError
from app.models.json_value import JsonValue, json_text, parse_stored_json
from app.models.rendering import JsonPiece, MediaPiece, TextPiece
from app.models.resource import Resource, parse_resource_id
from app.rendering.texts.json_strings import MediaPlaces, TextWriter
from app.services.requests.data_uris import InlineForm, put_member
from app.stores.blobs import BlobStore, read_whole
from app.stores.records import Records


class StoredMedia:
    """The stored media of one project, as bytes."""

    def __init__(self, records: Records, blobs: BlobStore, project_id: str) -> None:
        self._records = records
        self._blobs = blobs
        self._project_id = project_id

    @property
    def project_id(self) -> str:
        """Whose media they are."""
        return self._project_id

    async def find(self, reference: str) -> Resource | None:
        """The resource with this reference, URI or id, if the project has it."""
        resource_id = parse_resource_id(reference)
        if resource_id is None:
            return None
        return await self._records.read(
            self._project_id, lambda unit: unit.resources.find(resource_id)
        )

    async def resource(self, reference: str) -> Resource:
        """The resource with this reference, URI or id.

        Raises:
            NotFoundError: The project has none.
        """
        resource = await self.find(reference)
        if resource is None:
            raise NotFoundError("resource")
        return resource

    async def read(self, reference: str, *, limit_bytes: int) -> bytes:
        """All bytes of a resource.

        Raises:
            NotFoundError: The project has no such resource.
            PayloadTooLargeError: It has more than `limit_bytes`.
            StoreUnavailableError: The store did not answer.
        """
        resource = await self.resource(reference)
        check_fits(resource, limit_bytes)
        return await read_whole(self._blobs, self._project_id, resource.digest)

    async def as_sent(
        self, text: bytes, forms: Mapping[str, InlineForm], *, limit_bytes: int
    ) -> Sequence[JsonPiece]:
        """The JSON text of a value with every medium as it was written, byte for byte.

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
        resources = await self._resources(forms)
        for pointer, form in forms.items():
            resource = resources.get(_source(form))
            if resource is None:
                raise NotFoundError("resource")
            check_fits(resource, limit_bytes)
            limit_bytes -= resource.size_bytes
            written[pointer] = await self._written(places, form, resource)

        def put_back() -> Sequence[JsonPiece]:
            value: JsonValue = parse_stored_json(text)
            for pointer, member in written.items():
                value = put_member(value, pointer, member)
            return places.pieces(json_text(value).encode())

        return await anyio.to_thread.run_sync(put_back)

    async def _resources(self, forms: Mapping[str, InlineForm]) -> Mapping[str, Resource]:
        return await self._records.read(
            self._project_id,
            lambda unit: unit.resources.find_all({_source(form) for form in forms.values()}),
        )

    async def _written(self, places: MediaPlaces, form: InlineForm, resource: Resource) -> str:
        """What stands for a data URI: its beginning and the mark of its medium, or of its text."""
        if form.text_resource_id is not None:
            return places.mark(await self._text(resource))
        medium = MediaPiece(
            resource.digest,
            resource.size_bytes,
            is_urlsafe=form.alphabet == "urlsafe",
            is_padded=form.padded,
        )
        return form.head + places.mark(medium)

    async def _text(self, resource: Resource) -> TextPiece:
        """A text that was kept as it was; it is read once to learn how long it is escaped."""
        writer = TextWriter("utf-8")
        sent_bytes = 0
        opened = await self._blobs.open(self._project_id, resource.digest)
        async with aclosing(opened) as reader:
            async for chunk in reader:
                sent_bytes += await anyio.to_thread.run_sync(_length, writer, chunk)
        sent_bytes += len(writer.finish())
        return TextPiece(resource.digest, resource.size_bytes, sent_bytes, is_verbatim=True)


def check_fits(resource: Resource, limit_bytes: int) -> None:
    """Raise PayloadTooLargeError for a medium that is too large to stand in an answer."""
    if resource.size_bytes > limit_bytes:
        raise PayloadTooLargeError(
            f"A medium has more than the {limit_bytes} bytes that stand in one answer. Ask "
            "with `media=reference`, or for a higher level of a page, and read the bytes from "
            "`/api/resources/{uri}/content`.",
            code="medium-too-large",
        )


def _source(form: InlineForm) -> str:
    return form.text_resource_id or form.resource_id


def _length(writer: TextWriter, chunk: bytes) -> int:
    return sum(map(len, writer.feed(chunk)))
