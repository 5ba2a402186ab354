"""Structured contents that were too long for their records, read back from where they are kept.

`mcp` shows them whole, and for other targets they are compared with what the parts say.
"""

from collections.abc import Iterable, Mapping
from functools import partial

import anyio.to_thread

from app.stores.blobs.store import BlobMissingError, BlobStore, read_whole
from pagefault_dialects.errors import InvalidJsonError, PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_json
from pagefault_dialects.turns.record_turns import kept_apart

MOST_APART_BYTES = 4 * 1024 * 1024
"""Of one rendering, the structured contents; what is above is not shown, as the loss says."""
# Parsed, a value takes up to 500 bytes.
_MOST_VALUES = 200_000
_DEEPEST = 4_000


def kept_sizes(records: Iterable[bytes]) -> dict[str, int]:
    """Return the sizes of structured contents that are resources of their own, by their digests."""
    found = (kept for record in records if (kept := kept_apart(record)) is not None)
    return {each.digest: each.size_bytes for each in found}


async def read_apart(
    blobs: BlobStore, project_id: str, records: Iterable[bytes]
) -> Mapping[str, JsonValue]:
    """Return structured contents of records that are resources of their own, by their digests.

    Those that come first, 4 MiB together; and none that is gone or larger than is parsed.

    Raises:
        StoreUnavailableError: The store did not answer.
    """
    values: dict[str, JsonValue] = {}
    left = MOST_APART_BYTES
    parse = partial(parse_json, max_depth=_DEEPEST, max_nodes=_MOST_VALUES, spelled=True)
    for kept in await anyio.to_thread.run_sync(lambda: list(map(kept_apart, records))):
        if kept is None or kept.digest in values or kept.size_bytes > left:
            continue
        left -= kept.size_bytes
        try:
            text = await read_whole(blobs, project_id, kept.digest)
            values[kept.digest] = await anyio.to_thread.run_sync(parse, text)
        except (BlobMissingError, InvalidJsonError, PayloadTooLargeError):
            continue
    return values
