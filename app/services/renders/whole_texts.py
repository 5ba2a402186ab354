"""Reads the whole texts of previews, for renderings whose `maxText` is longer than a preview.

A record has only a *preview* of a long text: its beginning, its end, and the URI of the resource
with the whole text.
"""

from collections.abc import Mapping, Sequence

from app.stores.blobs.store import BlobMissingError, BlobStore, read_whole
from app.stores.records.records import Records
from app.stores.records.resources import ResourceRecords
from pagefault_dialects.model.conversation import ComposedTurn, TextItem
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.text_windows import PREVIEW_LIMIT_CHARS
from pagefault_dialects.texts.cuts import find_whole_text_uri, make_preview, measure_whole_text
from pagefault_dialects.turns.text_limits import find_limited_results

# The limit of all whole texts of one rendering together. Further texts stay previews.
_MAX_WHOLE_CHARS = 4_000_000


async def read_whole_texts(
    records: Records,
    blobs: BlobStore,
    project_id: str,
    session_id: str | None,
    turns: Sequence[ComposedTurn],
    max_chars: int,
) -> Mapping[str, str]:
    """Return the whole texts of the previews in tool results.

    A tool can return a text that looks like the preview of any resource. So a resource is only used
    if the preview of its text equals the text in the turn, and if it belongs to the session of the
    turns. If the turns have no session, the resource must have none either.

    Args:
        records: Finds resources.
        blobs: Reads texts.
        project_id: The project of the turns.
        session_id: The session of the turns, if they belong to one.
        turns: The turns.
        max_chars: The maximum length of a whole text. Longer texts stay previews.

    Returns:
        The whole texts by preview.

    Raises:
        StoreUnavailableError: A store did not answer.
    """
    if max_chars <= PREVIEW_LIMIT_CHARS:
        return {}
    resource_ids: dict[str, str] = {}
    free_chars = _MAX_WHOLE_CHARS
    items = (item for turn in find_limited_results(turns).values() for item in turn.items)
    for text in (item.text for item in items if isinstance(item, TextItem)):
        uri, length = find_whole_text_uri(text), measure_whole_text(text)
        if uri is not None and length <= min(max_chars, free_chars) and text not in resource_ids:
            # An empty id is that of no resource.
            resource_ids[text] = parse_resource_id(uri) or ""
            free_chars -= length
    if not resource_ids:
        return {}
    resources = await records.read(
        project_id,
        lambda unit: unit[ResourceRecords].find_in_session(set(resource_ids.values()), session_id),
    )
    whole_texts: dict[str, str] = {}
    for preview, resource_id in resource_ids.items():
        resource = resources.get(resource_id)
        # A character has at most four bytes in UTF-8, so a larger file cannot have this preview.
        if resource is None or resource.size_bytes > 4 * measure_whole_text(preview):
            continue
        try:
            data = await read_whole(blobs, project_id, resource.digest)
        except BlobMissingError:
            continue
        whole_text = data.decode("utf-8", "replace")
        if make_preview(whole_text, f"blob:{resource_id}") == preview:
            whole_texts[preview] = whole_text
    return whole_texts
