"""The messages of page faults: history keeps references to images, a model gets the images."""

import json
from collections.abc import Mapping, Sequence

import anyio.to_thread

from app.models.json_value import JsonValue, json_text
from app.models.rendering import JsonPiece, MediaPiece
from app.models.resource import parse_resource_id
from app.rendering.pages.blocks import image_damaged
from app.rendering.texts.json_strings import MediaPlaces
from app.services.inline_media.restoring import StoredMedia, check_fits
from app.services.pages.media import damage_of_stored, repaired_uri
from app.services.persistence.media_checks import MediaChecks

_REFERENCE_MARK = "@blob:"
# As it begins in a message, whose strings are written without escapes where they need none.
_REFERENCE = b'"@blob:'


def image_ids(message: bytes) -> set[str]:
    """The ids of the resources that a message of a page fault shows."""
    if _REFERENCE not in message:
        return set()
    return {
        resource_id
        for url in _references(json.loads(message))
        if (resource_id := parse_resource_id(url))
    }


async def with_images(
    media: StoredMedia, message: bytes, *, limit_bytes: int, checks: MediaChecks | None = None
) -> Sequence[JsonPiece]:
    """The message with a data URI in the place of every reference to an image.

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
    references = _references(value)
    if not references:
        return [message]
    places = MediaPlaces()
    for block in value["content"]:
        if block["type"] == "image_url" and block["image_url"]["url"] in references:
            resource = await media.resource(block["image_url"]["url"])
            check_fits(resource, limit_bytes)
            limit_bytes -= resource.size_bytes
            damage = await damage_of_stored(checks, media, resource) if checks else None
            if damage is None:
                mark = places.mark(MediaPiece(resource.digest, resource.size_bytes))
                block["image_url"]["url"] = f"data:{resource.mime_type};base64,{mark}"
            elif damage.is_repairable:
                data = await media.read(resource.resource_id, limit_bytes=resource.size_bytes)
                uri = await anyio.to_thread.run_sync(repaired_uri, data)
                block["image_url"]["url"] = uri
            else:
                block.clear()
                block.update(type="text", text=image_damaged(damage.detail))
    text = await anyio.to_thread.run_sync(lambda: json_text(value).encode())
    return places.pieces(text)


def _references(message: Mapping[str, JsonValue]) -> list[str]:
    content = message["content"]
    if not isinstance(content, list):
        return []
    urls = [block["image_url"]["url"] for block in content if block["type"] == "image_url"]
    return [url for url in urls if url.startswith(_REFERENCE_MARK)]
