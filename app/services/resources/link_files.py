"""Link files: small files with the URL of a file on another server, so that it can have an alias.

A link file is a normal resource of type `text/uri-list` (RFC 2483). The service does not connect to
the URL. Renderings contain the URL if the target loads media from URLs, otherwise a line of text.
"""

import re
from collections.abc import Mapping

from app.stores.blobs.store import BlobStore, read_whole
from pagefault_dialects.model.media import InMemoryMedia
from pagefault_dialects.model.resource import LINK_TYPE, Resource

MAX_LINK_BYTES = 2_050
_MAX_CHARS = 2_048
_MAX_AT_ONCE = 200
# An `https` URL of visible ASCII characters, with a host and without credentials.
_LINK = re.compile(r"https://[^\s/?#@\\]+(?:[/?#][!-~]*)?", re.ASCII | re.IGNORECASE)


def is_link(text: str) -> bool:
    """Return True if a text is a URL that a link file can have."""
    return len(text) <= _MAX_CHARS and _LINK.fullmatch(text) is not None and text.isascii()


def make_link_file(url: str) -> InMemoryMedia:
    """Return a link file with a URL."""
    return InMemoryMedia(f"{url}\r\n".encode("ascii"), LINK_TYPE)


async def read_links(
    blobs: BlobStore, project_id: str, resources: Mapping[str, Resource]
) -> Mapping[str, str]:
    """Return the URLs in those resources that are link files, by resource id; at most 200.

    Raises:
        StoreUnavailableError: The store did not respond, or has lost the bytes.
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
