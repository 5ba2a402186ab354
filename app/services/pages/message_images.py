"""The images in the messages of page faults.

The history stores references to the images. Data URIs replace them in messages to a model.
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
from pagefault_dialects.pages.page_blocks import format_damaged_image
from pagefault_dialects.texts.json_strings import MediaMarks

_REFERENCE_MARK = "@blob:"
# The beginning of a reference in the JSON of a message, which does not escape these characters.
_REFERENCE = b'"@blob:'


def find_image_ids(message: bytes) -> set[str]:
    """Return the resource ids of the images in a message of a page fault."""
    if _REFERENCE not in message:
        return set()
    images = _find_stored_images(json.loads(message))
    return set(filter(None, (parse_resource_id(image["url"]) for _, image in images)))


async def insert_images(
    media: StoredMedia, message: bytes, *, limit_bytes: int, checks: MediaChecks | None = None
) -> Sequence[JsonPiece]:
    """Replace every reference to an image in a message by a data URI.

    Args:
        media: The store of the images.
        message: The message.
        limit_bytes: The limit for all images together.
        checks: Checks the images, if the message goes to a model. A text replaces a damaged image.

    Raises:
        NotFoundError: An image was deleted.
        PayloadTooLargeError: The images are larger than `limit_bytes`.
        StoreUnavailableError: The store did not respond.
    """
    if _REFERENCE not in message:
        return [message]
    value = json.loads(message)
    images = _find_stored_images(value)
    if not images:
        return [message]
    marks = MediaMarks()
    for block, image in images:
        resource = await media.resource(image["url"])
        check_fits(resource, limit_bytes)
        limit_bytes -= resource.size_bytes
        damage = await checks.check_resource(media.project_id, resource) if checks else None
        if damage is None:
            mark = marks.add(MediaPiece(resource.digest, resource.size_bytes))
            image["url"] = f"data:{resource.mime_type};base64,{mark}"
        elif damage.is_repairable:
            data = await media.read(resource.resource_id, limit_bytes=resource.size_bytes)
            image["url"] = await anyio.to_thread.run_sync(repair_image, data)
        else:
            block.clear()
            block.update(type="text", text=format_damaged_image(damage.detail))
    text = await anyio.to_thread.run_sync(lambda: json_text(value).encode())
    return marks.split(text)


def _find_stored_images(message: Mapping[str, JsonValue]) -> list[tuple[JsonValue, JsonValue]]:
    """Return the blocks of stored images in a message, each with its `image_url`."""
    content = message["content"]
    blocks = content if isinstance(content, list) else []
    images = [(block, block["image_url"]) for block in blocks if block["type"] == "image_url"]
    return [image for image in images if image[1]["url"].startswith(_REFERENCE_MARK)]


def repair_image(data: bytes) -> str:
    """Return a PNG without its damaged chunks, as a data URI."""
    return f"data:image/png;base64,{pybase64.b64encode(without_damaged_chunks(data)).decode()}"
