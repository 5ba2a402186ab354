"""Structured contents of tool results that are too long for the records, so they are resources.

Renderings for the target `mcp` include them. Renderings for other targets compare them with the
parts of the result, to leave out what the parts repeat.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import anyio.to_thread

from app.stores.blobs.store import BlobMissingError, BlobStore, read_whole
from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_json
from pagefault_dialects.turns.record_turns import find_structured_resource

MAX_STRUCTURED_BYTES = 4 * 1024 * 1024
"""The limit of structured contents in one rendering. Those above it are listed in `loss`."""
# A parsed value takes up to 500 bytes of memory.
_MAX_VALUES = 200_000
_MAX_DEPTH = 4_000


def stored_content_sizes(records: Iterable[bytes]) -> dict[str, int]:
    """Return the sizes of structured contents that are stored as resources, by digest."""
    stored = filter(None, map(find_structured_resource, records))
    return {content.digest: content.size_bytes for content in stored}


async def read_structured_contents(
    blobs: BlobStore, project_id: str, records: Iterable[bytes]
) -> Mapping[str, JsonValue]:
    """Return the structured contents of records that are stored as resources, by digest.

    Contents are read in order up to 4 MiB. Missing ones, and those that exceed the limits of the
    parser, are left out.

    Raises:
        StoreUnavailableError: The store did not answer.
    """
    values: dict[str, JsonValue] = {}
    free_bytes = MAX_STRUCTURED_BYTES
    parse = partial(parse_json, max_depth=_MAX_DEPTH, max_nodes=_MAX_VALUES, keeps_spelling=True)
    for stored in await anyio.to_thread.run_sync(
        lambda: list(map(find_structured_resource, records))
    ):
        if stored is None or stored.digest in values or stored.size_bytes > free_bytes:
            continue
        free_bytes -= stored.size_bytes
        try:
            text = await read_whole(blobs, project_id, stored.digest)
            values[stored.digest] = await anyio.to_thread.run_sync(parse, text)
        except (BlobMissingError, InvalidJsonError, PayloadTooLargeError):
            continue
    return values
