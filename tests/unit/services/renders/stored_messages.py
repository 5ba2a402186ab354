"""Messages as the service stores them, media moved out, and what is read of them."""

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from app.models.message import StoredHistoryMessage
from app.models.resource_descriptor import derive_resource_id
from app.services.calls.stored_message_turns import read_message_turns
from app.services.inline_media.media_mover import MediaMover
from app.services.media.media_keeper import MediaKeeper
from app.stores.blobs.filesystem import FilesystemBlobStore
from pagefault_dialects.json.values import json_text, parse_json
from pagefault_dialects.messages.message_media import find_media
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    InlineBytes,
    Item,
    Medium,
    Omission,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import Audience, ImageDetail
from pagefault_dialects.model.resource import MediaHints, Resource, resource_kind
from tests.kit.media import b64, noise_bytes, png, wav

PROJECT = "p"
NOW = datetime(2026, 11, 21, tzinfo=UTC)
ORIGIN = "/api/sessions/s/messages/5"
SEQ = 5

PNG, WAV = png(noise=True), wav(0.1)
PDF = b"%PDF-1.4\n" + noise_bytes(2_000) + b"\n%%EOF"
DOT = png(8, 6)
HINTS = {
    "image/png": MediaHints(64, 48),
    "audio/wav": MediaHints(duration_seconds=0.1),
    "application/pdf": MediaHints(),
}
PICTURE_URL = "https://files.example/a.png"


def uri(data: bytes, mime_type: str) -> str:
    """Bytes as a data URI."""
    return f"data:{mime_type};base64,{b64(data)}"


async def read_stored(
    message: Mapping[str, Any], directory: Path, audience: Audience = "assistant"
) -> list[ComposedTurn]:
    """The turns of a message that a client sent, its media moved into a store of files."""
    value = parse_json(json_text(message).encode(), max_depth=2_000, max_nodes=100_000)
    keeper = MediaKeeper(FilesystemBlobStore(directory), PROJECT, limit_bytes=2**20, now=NOW)
    moved = await MediaMover(keeper, max_media=50).move_all(value, find_media(value))
    resources = {resource.resource_id: resource for resource in moved.resources}
    return read(moved.value, resources=resources, audience=audience)


def read(
    message: Mapping[str, Any],
    *,
    resources: Mapping[str, Resource] | None = None,
    audience: Audience = "assistant",
    is_page_fault: bool = False,
) -> list[ComposedTurn]:
    """The turns of a message that is stored as it is."""
    entry = StoredHistoryMessage(
        SEQ, "m", NOW, None, "", json_text(message).encode(), is_page_fault=is_page_fault
    )
    return read_message_turns(entry, resources or {}, audience=audience, origin=ORIGIN)


def stored(
    pointer: str,
    data: bytes,
    mime_type: str,
    filename: str | None = None,
    *,
    detail: ImageDetail | None = None,
) -> Medium:
    """The medium that bytes are which were moved out of a message that calls them so."""
    digest = hashlib.sha256(data).hexdigest()
    return Medium(
        pointer=pointer,
        source=StoredBytes(derive_resource_id(PROJECT, digest, mime_type, None), digest),
        kind=resource_kind(mime_type),
        mime_type=mime_type,
        filename=filename,
        size_bytes=len(data),
        hints=HINTS[mime_type],
        detail=detail,
    )


def small(pointer: str, data: bytes = DOT, mime_type: str = "image/png") -> Medium:
    """A medium that stays in the message."""
    return Medium(pointer, InlineBytes(data), resource_kind(mime_type), mime_type, None, len(data))


def text(pointer: str, words: str) -> TextItem:
    """A text."""
    return TextItem(pointer, words)


def thought(pointer: str) -> Omission:
    """A thought of a model."""
    return Omission(
        pointer, "reasoning", "reasoning", "Only the model that thought it takes it back."
    )


def homeless(pointer: str, what: str) -> Omission:
    """A block that no other dialect can express."""
    return Omission(pointer, what, "no-place", f"Other dialects have no place for `{what}`.")


def said(role: TurnRole, *items: Item, calls: tuple[TurnCall, ...] = ()) -> ComposedTurn:
    """A text of a side."""
    return Turn(role, items, ORIGIN, SEQ, calls=calls)


def answered(call_id: str, *items: Item, name: str = "", is_error: bool = False) -> ComposedTurn:
    """An answer of a tool."""
    return Turn("tool", items, ORIGIN, SEQ, call_id=call_id, tool_name=name, is_error=is_error)
