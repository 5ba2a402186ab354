"""The whole texts of previews, for renderings with a `maxText` above the length of a preview.

A record has a *preview* of a long text: its beginning, its end, and the URI of the resource that
has the whole text.
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

# The limit of all whole texts of one rendering. Further texts stay previews.
_MAX_WHOLE_CHARS = 4_000_000


async def read_whole_texts(
    records: Records,
    blobs: BlobStore,
    project_id: str,
    session_id: str | None,
    turns: Sequence[ComposedTurn],
    max_chars: int,
) -> Mapping[str, str]:
    """Return the whole texts of previews in answers, up to `max_chars` characters, by preview.

    A tool can return a text that looks like a preview of any resource. So a resource is used only
    if its preview equals the text, and if it belongs to the session of the turns. If the turns have
    no session, the resource must have none either.

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
            # No resource has an empty id.
            resource_ids[text] = parse_resource_id(uri) or ""
            free_chars -= length
    if not resource_ids:
        return {}
    found = await records.read(
        project_id,
        lambda unit: unit[ResourceRecords].find_in_session(set(resource_ids.values()), session_id),
    )
    texts: dict[str, str] = {}
    for text, resource_id in resource_ids.items():
        resource = found.get(resource_id)
        # A character has at most four bytes, so a longer file cannot have this preview.
        if resource is None or resource.size_bytes > 4 * measure_whole_text(text):
            continue
        try:
            data = await read_whole(blobs, project_id, resource.digest)
        except BlobMissingError:
            continue
        whole = data.decode("utf-8", "replace")
        if make_preview(whole, f"blob:{resource_id}") == text:
            texts[text] = whole
    return texts
