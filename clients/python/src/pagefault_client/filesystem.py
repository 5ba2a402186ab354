"""Resources as files of `fsspec`: `pandas.read_csv("pagefault://9a0e…")`.

A path is an id, a reference (`@blob:…`), a URI (`blob:…`) or an alias. There are no folders: the
root lists all resources. The file system is read-only, because files are immutable; create files
with `Pagefault.resources.upload`. The module needs `pagefault-client[fsspec]`.
"""

import os
import re
from pathlib import Path
from typing import Any, ClassVar

from fsspec.spec import AbstractBufferedFile, AbstractFileSystem

from pagefault_client._sync.client import Pagefault
from pagefault_client._sync.content import Content
from pagefault_client.errors import DigestMismatchError, NotFoundError
from pagefault_client.models import ResourceRecord

_ID = re.compile(r"@?(blob:)?[0-9a-f]{32}")


class PagefaultFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """The resources of a project, read-only.

    Args:
        base_url: The URL of the service; see `Pagefault`.
        key: An API key of the project.
    """

    protocol: ClassVar[str] = "pagefault"
    root_marker = ""

    def __init__(
        self,
        base_url: str | None = None,
        key: str | None = None,
        **storage_options: Any,  # noqa: ANN401 - fsspec's
    ) -> None:
        super().__init__(**storage_options)
        self.client = Pagefault(base_url, key)

    def info(self, path: str, **kwargs: object) -> dict[str, Any]:
        """Return the properties of a file: `name` is its path, `filename` its original name."""
        stripped = self._strip_protocol(path)
        if not stripped:
            return {"name": "", "size": 0, "type": "directory"}
        return _file_info(self._find_resource(stripped))

    def ls(self, path: str, detail: bool = True, **kwargs: object) -> list[Any]:
        """List all resources, newest first; given the path of a resource, list only that one."""
        stripped = self._strip_protocol(path)
        resources = (
            [self._find_resource(stripped)] if stripped else self.client.resources.list(limit=200)
        )
        entries = [_file_info(resource) for resource in resources]
        return entries if detail else [entry["name"] for entry in entries]

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **kwargs: object
    ) -> bytes:
        """Return the bytes of a file or of a range. For a whole file, the digest is checked.

        Raises:
            DigestMismatchError: The digest of the bytes is wrong.
        """
        content = self._content(path)
        first, last, _ = slice(start, end).indices(content.size)
        return content.read_at(first, last)

    def get_file(
        self,
        rpath: str,
        lpath: Any,  # noqa: ANN401 - fsspec's: a path, or a file
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> None:
        """Copy a file to a local path. If its digest is wrong, the copy is deleted.

        Raises:
            DigestMismatchError: The digest of the bytes is wrong.
        """
        try:
            super().get_file(rpath, lpath, *args, **kwargs)
        except DigestMismatchError:
            if isinstance(lpath, str | os.PathLike):
                Path(lpath).unlink(missing_ok=True)
            raise

    def created(self, path: str) -> str:
        """Return the time at which a file was stored."""
        return str(self.info(path)["created"])

    def ukey(self, path: str) -> str:
        """Return the digest, which identifies the content of a file."""
        return str(self.info(path)["digest"])

    def _open(
        self,
        path: str,
        mode: str = "rb",
        block_size: int | None = None,
        autocommit: bool = True,
        cache_options: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ANN401 - fsspec's
    ) -> "PagefaultFile":
        if mode != "rb":
            raise NotImplementedError("files are immutable: create a file with an upload")
        return PagefaultFile(
            self,
            path,
            mode,
            block_size or "default",
            cache_options=cache_options,
            content=self._content(path),
            **kwargs,
        )

    def _content(self, path: str) -> Content:
        descriptor = self._find_resource(self._strip_protocol(path))
        return Content(self.client._transport, descriptor)

    def _find_resource(self, path: str) -> ResourceRecord:
        if "/" in path:
            # Ids and aliases have no slash, and there are no folders.
            raise FileNotFoundError(path)
        try:
            uri = path if _ID.fullmatch(path) else self.client.aliases.get(path)["uri"]
            return self.client.resources.get(uri)
        except NotFoundError as error:
            raise FileNotFoundError(path) from error


class PagefaultFile(AbstractBufferedFile):  # type: ignore[misc]
    """A resource as a file of fsspec, which reads ahead according to its `cache_type`.

    After a sequential read from the beginning to the end, the digest is checked.
    """

    def __init__(self, *args: Any, content: Content, **kwargs: Any) -> None:  # noqa: ANN401
        self._content = content
        super().__init__(*args, size=content.size, **kwargs)

    def _fetch_range(self, start: int, end: int) -> bytes:
        return self._content.read_at(start, end)


def _file_info(resource: ResourceRecord) -> dict[str, Any]:
    """Return the properties of a resource under the names of fsspec."""
    return {
        "name": resource["uri"].removeprefix("blob:"),
        "size": resource["size"],
        "type": "file",
        "filename": resource.get("filename"),
        "mimetype": resource["mimeType"],
        "digest": resource["digest"],
        "created": resource["createdAt"],
    }
