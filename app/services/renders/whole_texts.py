"""Read the whole texts that stand in records as previews, for hosts that show longer ones."""

from collections.abc import Mapping, Sequence

from app.models.conversation import ComposedTurn, TextItem
from app.models.resource import parse_resource_id
from app.rendering.texts.cuts import PREVIEW_LIMIT_CHARS, preview, whole_length, whole_text_uri
from app.stores.blobs import BlobMissingError, BlobStore, read_whole
from app.stores.records import Records

# Of one rendering; the others stay previews.
_MOST_CHARS = 4_000_000


async def read_whole_texts(
    records: Records,
    blobs: BlobStore,
    project_id: str,
    session_id: str,
    turns: Sequence[ComposedTurn],
    most_chars: int,
) -> Mapping[str, str]:
    """Return the texts that are no longer than a host shows, by their previews.

    A text that a tool wrote in the form of a preview is none: the whole has to begin and end as it
    does, and to be part of the session.

    Raises:
        StoreUnavailableError: A store did not answer.
    """
    if most_chars <= PREVIEW_LIMIT_CHARS:
        return {}
    wanted: dict[str, str] = {}
    left = _MOST_CHARS
    for text in (item.text for turn in turns for item in turn.items if isinstance(item, TextItem)):
        uri, length = whole_text_uri(text), whole_length(text)
        if uri is not None and length <= min(most_chars, left) and text not in wanted:
            wanted[text] = parse_resource_id(uri) or ""
            left -= length
    if not wanted:
        return {}
    found = await records.read(
        project_id, lambda unit: unit.resources.find_in_session(set(wanted.values()), session_id)
    )
    texts: dict[str, str] = {}
    for text, resource_id in wanted.items():
        resource = found.get(resource_id)
        # A character has four bytes at most; a longer file is not what the preview says.
        if resource is None or resource.size_bytes > 4 * whole_length(text):
            continue
        try:
            whole = (await read_whole(blobs, project_id, resource.digest)).decode(
                "utf-8", "replace"
            )
        except BlobMissingError:
            continue
        if preview(whole, f"blob:{resource_id}") == text:
            texts[text] = whole
    return texts
