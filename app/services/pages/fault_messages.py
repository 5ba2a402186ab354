"""The messages of page faults: history keeps references to images, a model gets the images."""

import json
from collections.abc import Mapping

import anyio.to_thread
import pybase64

from app.models.json_value import JsonValue, json_text
from app.models.resource import parse_resource_id
from app.services.inline_media.restoring import StoredMedia

_REFERENCE_MARK = "@blob:"


def image_ids(message: bytes) -> set[str]:
    """The ids of the resources that a message of a page fault shows."""
    return {
        resource_id
        for url in _references(json.loads(message))
        if (resource_id := parse_resource_id(url))
    }


async def with_images(media: StoredMedia, message: bytes, *, limit_bytes: int) -> bytes:
    """The message with a data URI in the place of every reference to an image.

    Raises:
        PayloadTooLargeError: The images have more than `limit_bytes` in all.
        StoreUnavailableError: The store did not answer.
    """
    value = json.loads(message)
    references = _references(value)
    if not references:
        return message
    for block in value["content"]:
        if block["type"] == "image_url" and block["image_url"]["url"] in references:
            reference = block["image_url"]["url"]
            resource = await media.resource(reference)
            data = await media.read(reference, limit_bytes=limit_bytes)
            limit_bytes -= len(data)
            encoded = await anyio.to_thread.run_sync(pybase64.b64encode, data)
            block["image_url"]["url"] = f"data:{resource.mime_type};base64,{encoded.decode()}"
    return await anyio.to_thread.run_sync(lambda: json_text(value).encode())


def _references(message: Mapping[str, JsonValue]) -> list[str]:
    content = message["content"]
    if not isinstance(content, list):
        return []
    urls = [block["image_url"]["url"] for block in content if block["type"] == "image_url"]
    return [url for url in urls if url.startswith(_REFERENCE_MARK)]
