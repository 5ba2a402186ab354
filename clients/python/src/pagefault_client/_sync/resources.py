"""Resources, and aliases for them."""

# Written by generate.py from `_async/`; change that.

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pagefault_client import blocking, operations
from pagefault_client._sync.content_files import OpenedContent, opened
from pagefault_client._sync.lists import Items
from pagefault_client._sync.reading import MOST_AHEAD_BYTES, Content, written
from pagefault_client._sync.transport import Transport
from pagefault_client._sync.uploads import Upload
from pagefault_client.models import (
    AliasRecord,
    ResourceRecord,
    SignedUrl,
    TextPiece,
)
from pagefault_client.sources import OnProgress, Source


def bare(uri: str) -> str:
    """Return a reference (`@blob:…`), URI (`blob:…`) or id as the id alone."""
    return uri.removeprefix("@").removeprefix("blob:")


class Resources:
    """Stored files. `uri` is a reference, a URI or an id: `@blob:9a0e…`, `blob:9a0e…`, `9a0e…`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def upload(
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
        """Store a file, and return the resource. The same file again is the same resource.

        Up to 8 MiB go in one request. More goes in pieces of 8 MiB, of which what was stored is not
        sent again after a cut.

        Args:
            source: Bytes, a path, a binary file, or an iterable of bytes.
            filename: Its name; that of the file by default.
            mime_type: Its type; by default what the name suggests. The bytes have the last word.
            alias: A further id for it, such as another system's.
            length: How many bytes an iterable has. Without it, they are copied to a file first.
            on_progress: Called after each piece with an `UploadProgress`.
            upload_id: An upload that an earlier process began; `source` begins at its first byte.

        Raises:
            DigestMismatchError: Something has changed the bytes on the way.
        """
        upload = Upload(
            self._transport,
            filename=filename,
            mime_type=mime_type,
            alias=alias,
            on_progress=on_progress,
        )
        return upload.run(source, length=length, upload_id=upload_id)

    def get(self, uri: str) -> ResourceRecord:
        """Return what a resource is: its type, name, size, digest."""
        return self._transport.send(operations.get_resource(bare(uri)))

    def list(self, *, limit: int | None = None) -> Items[ResourceRecord]:
        """Return all resources, newest first; `limit` is how many one request asks for."""
        return Items(
            self._transport,
            lambda cursor: operations.list_resources(limit=limit, cursor=cursor),
        )

    def delete(self, uri: str) -> None:
        """Delete a resource that nothing refers to.

        Raises:
            ConflictError: Something does, and `errors` says what.
        """
        self._transport.send(operations.delete_resource(bare(uri)))

    def signed_url(
        self,
        uri: str,
        *,
        expires_in_seconds: int = 300,
        disposition: Literal["inline", "attachment"] = "inline",
        filename: str | None = None,
    ) -> SignedUrl:
        """Return a link that opens one resource without a key, in `<img>` or as a download."""
        return self._transport.send(
            operations.create_signed_url(
                bare(uri),
                {
                    "expiresInSeconds": expires_in_seconds,
                    "disposition": disposition,
                    "filename": filename,
                },
            )
        )

    def text(
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
        return self._transport.send(
            operations.get_resource_text(
                bare(uri),
                lines=lines,
                grep=grep,
                ignore_case=ignore_case,
                context=context,
                pointer=pointer,
            )
        )

    def open(self, uri: str, *, read_ahead: int = MOST_AHEAD_BYTES) -> OpenedContent:
        """Return the content as a seekable file, of which only what is read is fetched.

        Args:
            uri: The resource.
            read_ahead: How many bytes at most to fetch beyond those that are read in order.
        """
        return opened(self._reader(uri, read_ahead))

    def _reader(self, uri: str, read_ahead: int = MOST_AHEAD_BYTES) -> Content:
        return Content(self._transport, self.get(uri), read_ahead=read_ahead)

    def content(self, uri: str) -> Iterator[bytes]:
        """Yield the bytes in pieces as they come. A cut is mended, the digest compared.

        Raises:
            DigestMismatchError: After the last piece: they are not the bytes that were stored.
        """
        reader = self._reader(uri)
        for piece in reader.stream():
            yield piece

    def bytes(self, uri: str) -> bytes:
        """Return all bytes, compared with the digest."""
        return b"".join([piece for piece in self.content(uri)])

    def save(self, uri: str, path: str | os.PathLike[str]) -> Path:
        """Write the content to a file, and return its path; there is no file unless all came.

        A folder gets a file of the name under which the resource was stored.
        """
        reader = self._reader(uri)
        target = Path(path)
        if blocking.in_thread(target.is_dir):
            name = reader.descriptor.get("filename") or bare(reader.descriptor["uri"])
            target = target / Path(name).name
        return written(reader.stream(), target)


class Aliases:
    """Further ids of resources, such as those of another system."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def put(
        self,
        alias: str,
        uri: str,
        *,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> AliasRecord:
        """Let an alias name a resource; `if_match="*"` moves it from another one.

        Raises:
            ConflictError: It names another one.
        """
        body = {"uri": f"blob:{bare(uri)}"}
        return self._transport.send(
            operations.put_alias(
                alias,
                {"uri": body["uri"]},
                if_match=if_match,
                if_none_match=if_none_match,
            )
        )

    def get(self, alias: str) -> AliasRecord:
        """Return what an alias names."""
        return self._transport.send(operations.get_alias(alias))

    def list(self, uri: str | None = None, *, limit: int | None = None) -> Items[AliasRecord]:
        """Return all aliases, or those of one resource, newest first."""
        named = f"blob:{bare(uri)}" if uri else None
        return Items(
            self._transport,
            lambda cursor: operations.list_aliases(uri=named, limit=limit, cursor=cursor),
        )

    def delete(self, alias: str, *, if_match: str | None = None) -> None:
        """Delete an alias; its resource stays."""
        self._transport.send(operations.delete_alias(alias, if_match=if_match))
