"""Whole texts that stand in records as previews, read for callers that take longer ones."""

from collections.abc import Mapping, Sequence

from app.stores.blobs.store import BlobMissingError, BlobStore, read_whole
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from pagefault_dialects.model.conversation import ComposedTurn, TextItem
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS
from pagefault_dialects.texts.cuts import preview, whole_length, whole_text_uri
from pagefault_dialects.turns.text_limits import limited_answers

# Of one rendering, the texts that are read whole; the others stay previews.
_MOST_WHOLE_CHARS = 4_000_000


async def read_whole_texts(
    records: Records,
    blobs: BlobStore,
    project_id: str,
    session_id: str | None,
    turns: Sequence[ComposedTurn],
    most_chars: int,
) -> Mapping[str, str]:
    """Return the texts of answers that are no longer than is asked for, by their previews.

    A text that a tool wrote in the form of a preview is none: the whole has to begin and end as it
    does, and to be part of the session, or of no session like the answer.

    Raises:
        StoreUnavailableError: A store did not answer.
    """
    if most_chars <= PREVIEW_LIMIT_CHARS:
        return {}
    wanted: dict[str, str] = {}
    left = _MOST_WHOLE_CHARS
    items = (item for turn in limited_answers(turns).values() for item in turn.items)
    for text in (item.text for item in items if isinstance(item, TextItem)):
        uri, length = whole_text_uri(text), whole_length(text)
        if uri is not None and length <= min(most_chars, left) and text not in wanted:
            wanted[text] = parse_resource_id(uri) or ""
            left -= length
    if not wanted:
        return {}
    found = await records.read(
        project_id,
        lambda unit: unit[ResourceRecords].find_in_session(set(wanted.values()), session_id),
    )
    texts: dict[str, str] = {}
    for text, resource_id in wanted.items():
        resource = found.get(resource_id)
        # A character has four bytes at most; a longer file is not what the preview says.
        if resource is None or resource.size_bytes > 4 * whole_length(text):
            continue
        try:
            data = await read_whole(blobs, project_id, resource.digest)
        except BlobMissingError:
            continue
        whole = data.decode("utf-8", "replace")
        if preview(whole, f"blob:{resource_id}") == text:
            texts[text] = whole
    return texts
