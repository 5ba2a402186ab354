"""Images of messages of page faults.

The history keeps references to them; a model gets the images.
"""

import json
from collections.abc import Mapping, Sequence

import anyio.to_thread
import pybase64

from app.services.inline_media.stored_media import StoredMedia, check_fits
from app.services.media.media_checks import MediaChecks
from pagefault_dialects.json.values import JsonValue, json_text
from pagefault_dialects.media.soundness import without_damaged_chunks
from pagefault_dialects.model.render_options import JsonPiece, MediaPiece
from pagefault_dialects.model.resource import parse_resource_id
from pagefault_dialects.pages.page_blocks import image_damaged
from pagefault_dialects.texts.json_strings import MediaPlaces

_REFERENCE_MARK = "@blob:"
# As it begins in a message, whose strings are written without escapes where they need none.
_REFERENCE = b'"@blob:'


def image_ids(message: bytes) -> set[str]:
    """Return the ids of the resources that a message of a page fault shows."""
    if _REFERENCE not in message:
        return set()
    images = _stored_images(json.loads(message))
    return set(filter(None, (parse_resource_id(image["url"]) for _, image in images)))


async def with_images(
    media: StoredMedia, message: bytes, *, limit_bytes: int, checks: MediaChecks | None = None
) -> Sequence[JsonPiece]:
    """Return the message with a data URI in the place of every reference to an image.

    Args:
        media: Where the images are.
        message: The message; it may be older than the check of its image.
        limit_bytes: How many bytes of images stand in it in all.
        checks: Says whether they are sound: of one that is not there is a text that says so.
            `None` for a message that is read and not handed to a model.

    Raises:
        NotFoundError: One of the images is gone.
        PayloadTooLargeError: The images have more than `limit_bytes` in all.
        StoreUnavailableError: The store did not answer.
    """
    if _REFERENCE not in message:
        return [message]
    value = json.loads(message)
    images = _stored_images(value)
    if not images:
        return [message]
    places = MediaPlaces()
    for block, image in images:
        resource = await media.resource(image["url"])
        check_fits(resource, limit_bytes)
        limit_bytes -= resource.size_bytes
        damage = await checks.of_resource(media.project_id, resource) if checks else None
        if damage is None:
            mark = places.mark(MediaPiece(resource.digest, resource.size_bytes))
            image["url"] = f"data:{resource.mime_type};base64,{mark}"
        elif damage.is_repairable:
            data = await media.read(resource.resource_id, limit_bytes=resource.size_bytes)
            image["url"] = await anyio.to_thread.run_sync(repaired_uri, data)
        else:
            block.clear()
            block.update(type="text", text=image_damaged(damage.detail))
    text = await anyio.to_thread.run_sync(lambda: json_text(value).encode())
    return places.pieces(text)


def _stored_images(message: Mapping[str, JsonValue]) -> list[tuple[JsonValue, JsonValue]]:
    """Return the blocks of a message that show stored images, each with its `image_url`."""
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    images = [(each, each["image_url"]) for each in blocks if each["type"] == "image_url"]
    return [each for each in images if each[1]["url"].startswith(_REFERENCE_MARK)]


def repaired_uri(data: bytes) -> str:
    """Return a PNG without what is damaged beside its picture, as a data URI."""
    return f"data:image/png;base64,{pybase64.b64encode(without_damaged_chunks(data)).decode()}"
