"""Resources, and their aliases."""

import hashlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from pagefault_client import aio, operations
from pagefault_client._async.content import MAX_AHEAD_BYTES, AsyncContent, write_file
from pagefault_client._async.content_files import OpenedContent, open_content
from pagefault_client._async.lists import AsyncItems
from pagefault_client._async.transport import AsyncTransport
from pagefault_client._async.uploads import AsyncUpload
from pagefault_client.models import (
    AliasRecord,
    ResourceRecord,
    SignedUrl,
    TextPiece,
)
from pagefault_client.sources import OnProgress, Source


def resource_id(uri: str) -> str:
    """Return the id in a reference (`@blob:…`), a URI (`blob:…`) or an id."""
    return uri.removeprefix("@").removeprefix("blob:")


class AsyncResources:
    """Stored files. `uri` is a reference, a URI or an id: `@blob:9a0e…`, `blob:9a0e…`, `9a0e…`."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def upload(
        self,
        source: Source,
        *,
        filename: str | None = None,
        mime_type: str | None = None,
        alias: str | None = None,
        length: int | None = None,
        on_progress: OnProgress | None = None,
        upload_id: str | None = None,
    ) -> ResourceRecord:
        """Upload a file, and return the resource. Identical files are one resource.

        From 20,000 bytes on, the digest is sent first, and bytes that the project has are not sent.
        Files of up to 8 MiB are sent in one request. Larger files are sent in pieces of 8 MiB, and
        the upload resumes at the last stored byte after a lost connection.

        Args:
            source: Bytes, a path, a binary file, or an iterable of bytes.
            filename: The name of the file. Default: the name of the source.
            mime_type: The type of the file. Default: guessed from the name. The service detects
                types from the bytes, and its result takes precedence.
            alias: An alternative id, such as the id in another system.
            length: The number of bytes of an iterable. Without it, they are buffered in a file.
            on_progress: Called with an `UploadProgress` after each piece.
            upload_id: An upload of an earlier process to resume; `source` is the whole file.

        Raises:
            DigestMismatchError: The bytes were changed in transit.
        """
        upload = AsyncUpload(
            self._transport,
            filename=filename,
            mime_type=mime_type,
            alias=alias,
            on_progress=on_progress,
        )
        return await upload.run(source, length=length, upload_id=upload_id)

    def address(self, data: bytes | bytearray | memoryview) -> str:
        """Return the URL of bytes, which is a 404 until they are uploaded."""
        digest = hashlib.sha256(data).hexdigest()
        return f"{self._transport.options.base_url}/api/blobs/sha256-{digest}"

    async def get(self, uri: str) -> ResourceRecord:
        """Return the type, name, size and digest of a resource."""
        return await self._transport.send(operations.get_resource(resource_id(uri)))

    def list(self, *, limit: int | None = None) -> AsyncItems[ResourceRecord]:
        """Return all resources, newest first; `limit` is the number per request."""
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_resources(limit=limit, cursor=cursor),
        )

    async def delete(self, uri: str) -> None:
        """Delete a resource without references.

        Raises:
            ConflictError: The resource is referenced; `errors` lists the references.
        """
        await self._transport.send(operations.delete_resource(resource_id(uri)))

    async def signed_url(
        self,
        uri: str,
        *,
        expires_in_seconds: int = 300,
        disposition: Literal["inline", "attachment"] = "inline",
        filename: str | None = None,
    ) -> SignedUrl:
        """Create a URL that opens one resource without a key, in `<img>` or as a download."""
        return await self._transport.send(
            operations.create_signed_url(
                resource_id(uri),
                {
                    "expiresInSeconds": expires_in_seconds,
                    "disposition": disposition,
                    "filename": filename,
                },
            )
        )

    async def text(
        self,
        uri: str,
        *,
        lines: str | None = None,
        grep: str | None = None,
        ignore_case: bool | None = None,
        context: int | None = None,
        pointer: str | None = None,
    ) -> TextPiece:
        """Return a part of a text: lines (`10-50`), lines that contain a word, or a JSON value."""
        return await self._transport.send(
            operations.get_resource_text(
                resource_id(uri),
                lines=lines,
                grep=grep,
                ignore_case=ignore_case,
                context=context,
                pointer=pointer,
            )
        )

    async def open(self, uri: str, *, read_ahead: int = MAX_AHEAD_BYTES) -> OpenedContent:
        """Open the content as a seekable file. Only the parts that are read are requested.

        Args:
            uri: The resource.
            read_ahead: The maximum number of bytes to read ahead in sequential reads.
        """
        return open_content(await self._reader(uri, read_ahead))

    async def _reader(self, uri: str, read_ahead: int = MAX_AHEAD_BYTES) -> AsyncContent:
        return AsyncContent(self._transport, await self.get(uri), read_ahead=read_ahead)

    async def content(self, uri: str) -> AsyncIterator[bytes]:
        """Yield the bytes in pieces. Lost connections are resumed, and the digest is checked.

        Raises:
            DigestMismatchError: After the last piece: the digest of the bytes is wrong.
        """
        reader = await self._reader(uri)
        async for piece in reader.stream():
            yield piece

    async def bytes(self, uri: str) -> bytes:
        """Return all bytes, after a check of their digest."""
        return b"".join([piece async for piece in self.content(uri)])

    async def save(self, uri: str, path: str | os.PathLike[str]) -> Path:
        """Write the content to a file, and return its path. If that fails, no file is left behind.

        In a folder, the file has the filename of the resource.
        """
        reader = await self._reader(uri)
        target = Path(path)
        if await aio.run_in_thread(target.is_dir):
            name = reader.descriptor.get("filename") or resource_id(reader.descriptor["uri"])
            target = target / Path(name).name
        return await write_file(reader.stream(), target)


class AsyncAliases:
    """Alternative ids of resources, such as the ids in another system."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def put(
        self,
        alias: str,
        uri: str,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> AliasRecord:
        """Create an alias of a resource; with `if_match="*"`, replace its resource.

        Raises:
            ConflictError: The alias has another resource.
        """
        return await self._transport.send(
            operations.put_alias(
                alias,
                {"uri": f"blob:{resource_id(uri)}"},
                if_match=if_match,
                if_none_match=if_none_match,
            )
        )

    async def get(self, alias: str) -> AliasRecord:
        """Return an alias with its resource."""
        return await self._transport.send(operations.get_alias(alias))

    def list(self, uri: str | None = None, *, limit: int | None = None) -> AsyncItems[AliasRecord]:
        """Return all aliases, or those of one resource, newest first."""
        target = f"blob:{resource_id(uri)}" if uri else None
        return AsyncItems(
            self._transport,
            lambda cursor: operations.list_aliases(uri=target, limit=limit, cursor=cursor),
        )

    async def delete(self, alias: str, *, if_match: str | None = None) -> None:
        """Delete an alias, but not its resource."""
        await self._transport.send(operations.delete_alias(alias, if_match=if_match))
