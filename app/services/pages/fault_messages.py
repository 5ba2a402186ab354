"""The messages of page faults: history keeps references to images, a model gets the images."""

import json
from collections.abc import Mapping, Sequence

import anyio.to_thread

from app.models.json_value import JsonValue, json_text
from app.models.rendering import JsonPiece, MediaPiece
from app.models.resource import parse_resource_id
from app.rendering.media_places import MediaPlaces
from app.services.inline_media.restoring import StoredMedia, check_fits

_REFERENCE_MARK = "@blob:"


def image_ids(message: bytes) -> set[str]:
    """The ids of the resources that a message of a page fault shows."""
    return {
        resource_id
        for url in _references(json.loads(message))
        if (resource_id := parse_resource_id(url))
    }


async def with_images(
    media: StoredMedia, message: bytes, *, limit_bytes: int
) -> Sequence[JsonPiece]:
    """The message with a data URI in the place of every reference to an image.

    Raises:
        NotFoundError: One of the images is gone.
        PayloadTooLargeError: The images have more than `limit_bytes` in all.
        StoreUnavailableError: The store did not answer.
    """
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
            mark = places.mark(MediaPiece(resource.digest, resource.size_bytes))
            block["image_url"]["url"] = f"data:{resource.mime_type};base64,{mark}"
    text = await anyio.to_thread.run_sync(lambda: json_text(value).encode())
    return places.pieces(text)


def _references(message: Mapping[str, JsonValue]) -> list[str]:
    content = message["content"]
    if not isinstance(content, list):
        return []
    urls = [block["image_url"]["url"] for block in content if block["type"] == "image_url"]
    return [url for url in urls if url.startswith(_REFERENCE_MARK)]
