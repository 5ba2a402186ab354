"""Tool results with a video of any size in them, made while they are sent."""

import base64
import hashlib
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random

_RAW_BYTES = 3 << 18
PIECE_BYTES = 1 << 20
"""The length of the base64 of a piece; a result has many of them, and a few words."""

_RAW = Random(1).randbytes(_RAW_BYTES)  # noqa: S311 - the same in every run
_PIECE = base64.b64encode(_RAW)
_BRAND = struct.pack(">I4s4sI8s", 24, b"ftyp", b"isom", 512, b"isomiso2")


@dataclass(frozen=True)
class VideoResult:
    """An MCP result of a tool, one video in it; used up and made again as often as one likes.

    Args:
        number: Which one: videos of two numbers differ from their first piece on.
        pieces: Its length in base64, in `PIECE_BYTES`.
    """

    number: int
    pieces: int

    @property
    def length(self) -> int:
        """All bytes of its JSON."""
        return len(self._head) + self.pieces * PIECE_BYTES + len(self._tail)

    @property
    def digest(self) -> str:
        """SHA-256 of the video, as descriptors have it."""
        digest = hashlib.sha256(self._first)
        for _ in range(self.pieces - 1):
            digest.update(_RAW)
        return f"sha-256:{digest.hexdigest()}"

    def body(self) -> Iterator[bytes]:
        """Its JSON."""
        yield self._head
        yield base64.b64encode(self._first)
        for _ in range(self.pieces - 1):
            yield _PIECE
        yield self._tail

    @cached_property
    def _first(self) -> bytes:
        # The type is read at the beginning: a brand, and a box for the rest.
        size = self.pieces * _RAW_BYTES - len(_BRAND)
        opening = _BRAND + struct.pack(">I4sQ", 1, b"mdat", size)
        noise = Random(self.number).randbytes(_RAW_BYTES - len(opening))  # noqa: S311 - no secret
        return opening + noise

    @property
    def _head(self) -> bytes:
        return (
            b'{"toolName":"record","toolCallId":"call_%d","sessionId":"s","result":{"content":['
            b'{"type":"video","mimeType":"video/mp4","data":"' % self.number
        )

    @property
    def _tail(self) -> bytes:
        return b'"}]}}'
