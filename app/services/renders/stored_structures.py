"""Structured content that was too long for its record, read back from where it is kept.

`mcp` shows it whole, and for other targets it is compared with what the parts say.
"""

from collections.abc import Iterable, Mapping

import anyio.to_thread

from app.errors import InvalidJsonError, PayloadTooLargeError
from app.models.json_value import JsonValue, parse_json
from app.rendering.turns.tool_results import KeptApart, kept_apart
from app.stores.blobs import BlobMissingError, BlobStore, read_whole

# Of one rendering, the bytes of them all. What is above them is not shown, and told of in the loss.
_MOST_BYTES = 4 * 1024 * 1024
# Parsed, a value takes up to 500 bytes.
_MOST_VALUES = 200_000
_DEEPEST = 4_000


async def read_apart(
    blobs: BlobStore, project_id: str, records: Iterable[bytes]
) -> Mapping[str, JsonValue]:
    """The structured contents of stored records that are resources of their own, by their digests.

    Those that come first, 4 MiB together; and none that is gone or larger than is parsed.

    Raises:
        StoreUnavailableError: The store did not answer.
    """
    values: dict[str, JsonValue] = {}
    left = _MOST_BYTES
    for kept in await anyio.to_thread.run_sync(_all_kept_apart, records):
        if kept.digest in values or kept.size_bytes > left:
            continue
        left -= kept.size_bytes
        try:
            text = await read_whole(blobs, project_id, kept.digest)
            values[kept.digest] = await anyio.to_thread.run_sync(_parsed, text)
        except (BlobMissingError, InvalidJsonError, PayloadTooLargeError):
            continue
    return values


def _all_kept_apart(records: Iterable[bytes]) -> list[KeptApart]:
    return [kept for kept in map(kept_apart, records) if kept is not None]


def _parsed(text: bytes) -> JsonValue:
    return parse_json(text, max_depth=_DEEPEST, max_nodes=_MOST_VALUES, spelled=True)
