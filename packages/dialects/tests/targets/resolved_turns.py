"""Resolved turns for tests, and messages with the bytes of their media in place."""

from decimal import Decimal

import pybase64

from pagefault_dialects.json.values import JsonValue
from pagefault_dialects.model.conversation import (
    DataItem,
    InlineBytes,
    MediaItem,
    Medium,
    ResolvedItem,
    ResolvedTurn,
    StoredBytes,
    TextItem,
    Turn,
    TurnCall,
    TurnRole,
)
from pagefault_dialects.model.render_options import ImageDetail
from pagefault_dialects.model.resource import MediaHints, resource_kind
from pagefault_dialects.targets.base64_leaves import Base64Leaf, JsonLeaf, Node
from pagefault_dialects.targets.media_lines import format_size
from pagefault_dialects.targets.table import TARGETS
from tests.kit import media

PNG, JPEG = media.png(8, 6), media.jpeg(8, 6)
WAV, MP3, PDF = media.wav(0.01), media.mp3(0.1), media.pdf()
URL = "https://pagefault.example/api/resources/0c/content?expires=1&signature=x%2By"
REFERENCE = "@blob:" + "ab" * 16

LARGE_NUMBERS = {"n": 2**70, "d": Decimal("123456789012345678901234567890"), "s": "a\u2028b"}
LARGE_NUMBERS_TEXT = (
    '{"n":1180591620717411303424,"d":123456789012345678901234567890,"s":"a\u2028b"}'
)
DEEP_LEVELS = 1_000
DEEP_TEXT = "[" * DEEP_LEVELS + "]" * DEEP_LEVELS


def deep() -> JsonValue:
    """Return arrays that are nested a thousand levels deep."""
    value: list[JsonValue] = []
    for _ in range(DEEP_LEVELS - 1):
        value = [value]
    return value


def text_item(text: str) -> TextItem:
    """Return a text."""
    return TextItem("/content", text)


def data(value: JsonValue) -> DataItem:
    """Return a JSON value."""
    return DataItem("/structuredContent", value)


def media_item(
    content: bytes,
    mime_type: str,
    filename: str | None = None,
    *,
    address: str | None = None,
    is_reference: bool = False,
) -> MediaItem:
    """Return a medium, or its address."""
    source = StoredBytes("ab" * 16, "cd" * 32) if address else InlineBytes(content)
    kind = resource_kind(mime_type)
    medium = Medium("/content/0", source, kind, mime_type, filename, len(content))
    return MediaItem(
        medium, source, kind, mime_type, len(content), MediaHints(), address, is_reference
    )


def turn(role: TurnRole, *items: ResolvedItem, calls: tuple[TurnCall, ...] = ()) -> ResolvedTurn:
    """Return a turn of the user, the assistant or the system."""
    return Turn(role, items, calls=calls)


def answer(
    *items: ResolvedItem, call_id: str = "call_1", name: str = "shoot", is_error: bool = False
) -> ResolvedTurn:
    """Return the answer of a tool."""
    return Turn("tool", items, call_id=call_id, tool_name=name, is_error=is_error)


def calling(*call_ids: str, text: str = "") -> ResolvedTurn:
    """Return a turn of the assistant that calls the tool `shoot`."""
    calls = tuple(TurnCall(call_id, "shoot", {"at": call_id}) for call_id in call_ids)
    return turn("assistant", *([text_item(text)] if text else []), calls=calls)


def write_messages(
    target: str, *turns: ResolvedTurn, detail: ImageDetail = "auto"
) -> list[JsonValue]:
    """Return the messages of turns, with the bytes of their media."""
    profile = TARGETS[target]
    return [plain(message) for message in profile.write(turns, profile, detail)]


def plain(node: Node) -> JsonValue:
    """Return a message with its media in place."""
    if isinstance(node, dict):
        return {key: plain(member) for key, member in node.items()}
    if isinstance(node, list):
        return [plain(member) for member in node]
    if isinstance(node, Base64Leaf):
        assert isinstance(node.attachment.source, InlineBytes)
        return node.head + base64(node.attachment.source.data)
    return node.value if isinstance(node, JsonLeaf) else node


def base64(content: bytes) -> str:
    """Return bytes as base64."""
    return pybase64.b64encode(content).decode("ascii")


def data_uri(content: bytes, mime_type: str) -> str:
    """Return bytes as a `data:` URI."""
    return f"data:{mime_type};base64,{base64(content)}"


def size(content: bytes) -> str:
    """Return the size of bytes in words."""
    return format_size(len(content))
