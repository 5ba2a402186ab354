"""Reads stored media, and restores JSON values whose media were moved into the blob store.

A restored value is equal to the value that the client sent, byte for byte in its media. It is a
sequence of pieces: JSON text, and references to media, which are read while the response is sent.
"""

from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

import anyio.to_thread

from app.services.requests.validation import require_found
from app.stores.blobs.store import BlobStore, read_whole
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, json_text, parse_stored_json
from pagefault_dialects.media.embedded_data_uris import InlineForm, put_member
from pagefault_dialects.model.render_options import JsonPiece, MediaPiece, StoredTextPiece
from pagefault_dialects.model.resource import Resource, parse_resource_id
from pagefault_dialects.texts.json_strings import MediaMarks, TextWriter


@dataclass(frozen=True, slots=True)
class StoredMedia:
    """Finds and reads the stored media of one project."""

    records: Records
    blobs: BlobStore
    project_id: str

    async def find(self, reference: str) -> Resource | None:
        """Return a resource by its reference, URI or id; `None` if the project does not have it."""
        resource_id = parse_resource_id(reference)
        if resource_id is None:
            return None
        return await self.records.read(
            self.project_id, lambda unit: unit[ResourceRecords].find(resource_id)
        )

    async def resource(self, reference: str) -> Resource:
        """Return a resource by its reference, URI or id.

        Raises:
            NotFoundError: The project has no such resource.
        """
        return require_found(await self.find(reference), "resource")

    async def read(self, reference: str, *, limit_bytes: int) -> bytes:
        """Return all bytes of a resource.

        Raises:
            NotFoundError: The project has no such resource.
            PayloadTooLargeError: The resource is larger than `limit_bytes`.
            StoreUnavailableError: The store did not answer.
        """
        resource = await self.resource(reference)
        check_fits(resource, limit_bytes)
        return await read_whole(self.blobs, self.project_id, resource.digest)

    async def restore(
        self, text: bytes, forms: Mapping[str, InlineForm], *, limit_bytes: int
    ) -> Sequence[JsonPiece]:
        """Return the pieces of a stored value, with its media in place of the references.

        Args:
            text: The stored value as JSON, with references.
            forms: The original forms of its changed strings, by JSON pointer; see `MediaMover`.
            limit_bytes: The maximum size of all media together.

        Raises:
            NotFoundError: A medium was deleted.
            PayloadTooLargeError: The media are too large for a response.
            StoreUnavailableError: The store did not answer.
        """
        if not forms:
            return [text]
        marks = MediaMarks()
        originals: dict[str, str] = {}
        sources = {
            pointer: form.text_resource_id or form.resource_id for pointer, form in forms.items()
        }
        resources = await self.records.read(
            self.project_id, lambda unit: unit[ResourceRecords].find_all(set(sources.values()))
        )
        for pointer, form in forms.items():
            resource = require_found(resources.get(sources[pointer]), "resource")
            check_fits(resource, limit_bytes)
            limit_bytes -= resource.size_bytes
            originals[pointer] = await self._build_uri(marks, form, resource)

        def insert_originals() -> Sequence[JsonPiece]:
            value: JsonValue = parse_stored_json(text)
            for pointer, member in originals.items():
                value = put_member(value, pointer, member)
            return marks.split(json_text(value).encode())

        return await anyio.to_thread.run_sync(insert_originals)

    async def _build_uri(self, marks: MediaMarks, form: InlineForm, resource: Resource) -> str:
        """Return a changed string as it was sent, with a mark in place of the stored bytes.

        The mark stands for the data of a data URI, or for a whole text. `MediaMarks.split` replaces
        it later.
        """
        if form.text_resource_id is not None:
            # The text is read to count its bytes with JSON escapes, for the `Content-Length`.
            writer = TextWriter("utf-8")
            escaped_bytes = 0
            blob = await self.blobs.open(self.project_id, resource.digest)
            async with aclosing(blob) as reader:
                async for chunk in reader:
                    escaped_bytes += await anyio.to_thread.run_sync(measure_escaped, writer, chunk)
            escaped_bytes += len(writer.finish())
            return marks.add(
                StoredTextPiece(
                    resource.digest, resource.size_bytes, escaped_bytes, is_verbatim=True
                )
            )
        medium = MediaPiece(
            resource.digest,
            resource.size_bytes,
            is_urlsafe=form.alphabet == "urlsafe",
            is_padded=form.padded,
        )
        return form.head + marks.add(medium)


def check_fits(resource: Resource, limit_bytes: int) -> None:
    """Raise an error if a medium is too large for a response.

    Raises:
        PayloadTooLargeError: The medium is larger than `limit_bytes`.
    """
    if resource.size_bytes > limit_bytes:
        raise PayloadTooLargeError(
            f"A medium has more than the {limit_bytes} bytes that stand in one answer. Ask "
            "with `media=reference`, or for a higher level of a page, and read the bytes from "
            "`/api/resources/{uri}/content`.",
            code="medium-too-large",
        )


def measure_escaped(writer: TextWriter, chunk: bytes) -> int:
    """Return the length of a chunk of a text with JSON escapes."""
    return sum(map(len, writer.feed(chunk)))
