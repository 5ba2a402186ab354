"""About how many tokens a conversation costs a model."""

from collections.abc import Iterable

from app.models.conversation import Attachment, ComposedTurn, DataItem, SettledTurn, TextItem
from app.models.json_value import json_text
from app.rendering.pages.sizes import image_tokens, text_tokens
from app.rendering.targets.leaves import text_of

_AUDIO_TOKENS_PER_SECOND = 32
_VIDEO_TOKENS_PER_SECOND = 263
_BYTES_PER_DOCUMENT_TOKEN = 30
_TOKENS_PER_TURN = 4
# What is sent beside the messages, around a turn, and around a medium and its line.
_REQUEST_BYTES = 256 * 1024
_TURN_BYTES = 256
_ITEM_BYTES = 512
# Where a recording does not say how long it is.
_UNKNOWN_SECONDS = 60.0


def estimate_turns(turns: Iterable[SettledTurn], system: str = "") -> int:
    """Return an estimate: a quarter of the characters of texts, and what media are known to cost.

    An image costs a token for 750 pixels and 258 at least, a second of sound 32, of video 263, a
    document one token for 30 bytes.
    """
    return text_tokens(system) + sum(_turn(turn) for turn in turns)


def request_text_bytes(turns: Iterable[ComposedTurn]) -> int:
    """Return about how much of a request is not media: the texts, and what stands around them."""
    total = _REQUEST_BYTES
    for turn in turns:
        total += _TURN_BYTES
        for item in turn.items:
            if isinstance(item, TextItem):
                total += len(item.text.encode("utf-8", "replace"))
            elif isinstance(item, DataItem):
                total += len(json_text(item.value).encode("utf-8", "replace"))
            else:
                total += _ITEM_BYTES
    return total


def _turn(turn: SettledTurn) -> int:
    total = _TOKENS_PER_TURN
    for item in turn.items:
        if isinstance(item, Attachment):
            total += _attachment(item)
        else:
            total += text_tokens(text_of(item) or "")
    for call in turn.calls:
        total += text_tokens(call.name) + text_tokens(json_text(call.arguments))
    return total


def _attachment(attachment: Attachment) -> int:
    hints = attachment.hints
    if attachment.kind == "image":
        return image_tokens(hints.width, hints.height)
    if attachment.kind in ("audio", "video"):
        is_video = attachment.kind == "video"
        rate = _VIDEO_TOKENS_PER_SECOND if is_video else _AUDIO_TOKENS_PER_SECOND
        seconds = hints.duration_seconds
        return round((_UNKNOWN_SECONDS if seconds is None else seconds) * rate)
    return -(-attachment.size_bytes // _BYTES_PER_DOCUMENT_TOKEN)
