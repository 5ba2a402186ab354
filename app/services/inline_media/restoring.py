"""Reads stored media back into memory, and values as they were sent."""

import anyio.to_thread

from app.errors import NotFoundError, PayloadTooLargeError
from app.models.json_value import JsonValue, json_text, parse_stored_json
from app.models.resource import Resource, parse_resource_id
from app.services.inline_media.data_uris import InlineForm, put_member, write_data_uri
from app.stores.blobs import BlobStore, read_whole
from app.stores.records import Records


class StoredMedia:
    """The stored media of one project, as bytes."""

    def __init__(self, records: Records, blobs: BlobStore, project_id: str) -> None:
        self._records = records
        self._blobs = blobs
        self._project_id = project_id

    async def find(self, reference: str) -> Resource | None:
        """The resource with this reference, URI or id, if the project has it."""
        resource_id = parse_resource_id(reference)
        if resource_id is None:
            return None
        async with self._records.read(self._project_id) as unit:
            return await unit.resources.find(resource_id)

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
        if resource.size_bytes > limit_bytes:
            raise PayloadTooLargeError(
                f"A medium has more than the {limit_bytes} bytes that stand in one answer. Ask "
                "with `media=reference`, or for a higher level of a page, and read the bytes from "
                "`/api/resources/{uri}/content`.",
                code="medium-too-large",
            )
        return await read_whole(self._blobs, self._project_id, resource.digest)

    async def as_sent(
        self, text: bytes, forms: dict[str, InlineForm], *, limit_bytes: int
    ) -> bytes:
        """The JSON text of a value with every medium as it was written, byte for byte.

        Args:
            text: The value as it is shown.
            forms: How its media were written, by JSON pointer.
            limit_bytes: How many bytes of media are read into memory in all.

        Raises:
            PayloadTooLargeError: They are too large to stand in an answer.
        """
        if not forms:
            return text
        value: JsonValue = await anyio.to_thread.run_sync(parse_stored_json, text)
        for pointer, form in forms.items():
            source = form.text_resource_id or form.resource_id
            data = await self.read(source, limit_bytes=limit_bytes)
            limit_bytes -= len(data)
            written = await anyio.to_thread.run_sync(_as_sent, form, data)
            value = put_member(value, pointer, written)
        return await anyio.to_thread.run_sync(lambda: json_text(value).encode())


def _as_sent(form: InlineForm, data: bytes) -> str:
    return data.decode() if form.text_resource_id else write_data_uri(form, data)
