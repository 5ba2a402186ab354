"""Link files: files with an address, for aliases of files on other servers.

A link file is a normal resource of type `text/uri-list` (RFC 2483), and is deleted, exported and
bound like any other. The service does not connect to the address. Targets that load media from
addresses get it, and others get a line.
"""

import re
from collections.abc import Mapping

from app.stores.blobs.store import BlobStore, read_whole
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import LINK_TYPE, Resource

MAX_LINK_BYTES = 2_050
_MAX_CHARS = 2_048
_MAX_AT_ONCE = 200
# Like a link in a message: visible ASCII, with a host and without credentials.
_LINK = re.compile(r"https://[^\s/?#@\\]+(?:[/?#][!-~]*)?", re.ASCII | re.IGNORECASE)


def is_link(text: str) -> bool:
    """Return whether a text is the address of a file on another server."""
    return len(text) <= _MAX_CHARS and _LINK.fullmatch(text) is not None and text.isascii()


def link_file(url: str) -> InMemoryMedia:
    """Return the link file of an address."""
    return InMemoryMedia(f"{url}\r\n".encode("ascii"), LINK_TYPE)


async def read_links(
    blobs: BlobStore, project_id: str, resources: Mapping[str, Resource]
) -> Mapping[str, str]:
    """Return the addresses in link files, by resource id.

    Raises:
        StoreUnavailableError: The store did not answer, or has lost the bytes.
    """
    links: dict[str, str] = {}
    for resource_id, resource in resources.items():
        if resource.mime_type != LINK_TYPE or resource.size_bytes > MAX_LINK_BYTES:
            continue
        if len(links) >= _MAX_AT_ONCE:
            break
        data = await read_whole(blobs, project_id, resource.digest)
        url = data.decode("ascii", "replace").strip()
        if is_link(url):
            links[resource_id] = url
    return links
