"""The JSON of what is read from pages: typed content, blocks, levels, manifests.

JSON values inside are written as they are rather than walked by a serializer: integers keep their
digits, and nesting its depth.
"""

from app.models.json_value import JsonValue, json_text
from app.models.page import Level, Representation
from app.models.page_content import PageContent
from app.rendering.pages import PageBlocks, body_size_bytes, estimate_tokens


def content_record(content: PageContent) -> bytes:
    """Typed content, every field there."""
    members = {name: _plain(getattr(content, name)) for name in type(content).model_fields}
    return json_text(members).encode()


def blocks_record(blocks: PageBlocks, *, content: JsonValue, requested_level: Level) -> bytes:
    """`{content, level, requested_level, truncated, total_chars, next_offset}`."""
    return json_text(
        {
            "content": content,
            "level": int(blocks.level),
            "requested_level": int(requested_level),
            "truncated": blocks.truncated,
            "total_chars": blocks.total_chars,
            "next_offset": blocks.next_offset,
        }
    ).encode()


def level_record(page_id: str, representation: Representation) -> bytes:
    """One level of a page."""
    body = representation.body
    return json_text(
        {
            "page_id": page_id,
            "level": int(representation.level),
            "name": representation.level.name,
            "origin": representation.origin,
            "content": body.value,
            "media": body.media.model_dump() if body.media else None,
            "size_bytes": body_size_bytes(body),
            "size_tokens": estimate_tokens(body),
        }
    ).encode()


def _plain(value: object) -> JsonValue:
    return list(value) if isinstance(value, tuple) else value
