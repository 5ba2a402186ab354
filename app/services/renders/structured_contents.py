"""Reads the structured contents of tool results for renderings, if they are stored as resources.

A structured content (the member `structuredContent` of an MCP result) that is too long for a record
is stored as a resource. Renderings for the target `mcp` include it. Renderings for other targets
compare it with the parts of the result, so that a model does not get the same content twice.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import anyio.to_thread

from app.stores.blobs.store import BlobMissingError, BlobStore, read_whole
from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_json
from pagefault_dialects.turns.record_turns import find_structured_resource

MAX_STRUCTURED_BYTES = 4 * 1024 * 1024
"""The limit of the structured contents of one rendering. Contents above it are listed in `loss`."""
# The limit of values in one content, since a parsed value takes up to 500 bytes of memory.
_MAX_VALUES = 200_000
_MAX_DEPTH = 4_000


def stored_content_sizes(records: Iterable[bytes]) -> dict[str, int]:
    """Return the size in bytes of each structured content that is a resource, by its digest.

    Args:
        records: The records of tool results, as JSON.
    """
    resources = filter(None, map(find_structured_resource, records))
    return {resource.digest: resource.size_bytes for resource in resources}


async def read_structured_contents(
    blobs: BlobStore, project_id: str, records: Iterable[bytes]
) -> Mapping[str, JsonValue]:
    """Return the structured contents that are stored as resources, parsed, by their digests.

    Contents are read in the order of the records, up to `MAX_STRUCTURED_BYTES`. A content is left
    out if its bytes are missing, or if it exceeds the limits of the parser.

    Args:
        blobs: Reads the contents.
        project_id: The project of the records.
        records: The records of tool results, as JSON.

    Raises:
        StoreUnavailableError: The store did not answer.
    """
    values: dict[str, JsonValue] = {}
    free_bytes = MAX_STRUCTURED_BYTES
    parse = partial(parse_json, max_depth=_MAX_DEPTH, max_nodes=_MAX_VALUES, keeps_spelling=True)
    for resource in await anyio.to_thread.run_sync(
        lambda: list(map(find_structured_resource, records))
    ):
        if resource is None or resource.digest in values or resource.size_bytes > free_bytes:
            continue
        free_bytes -= resource.size_bytes
        try:
            text = await read_whole(blobs, project_id, resource.digest)
            values[resource.digest] = await anyio.to_thread.run_sync(parse, text)
        except (BlobMissingError, InvalidJsonError, PayloadTooLargeError):
            continue
    return values
