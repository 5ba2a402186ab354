"""Soundness: whether the bytes of a medium are whole, as far as that shows without decoding them.

Providers refuse cut and encrypted files, and most of them do so in every later turn as well. Only
files that decoders refuse are damaged: bytes behind the end, open sizes of a stream and unknown
chunks are accepted.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader
from pagefault_dialects.media.soundness.checks import check, damage_of
from pagefault_dialects.media.soundness.pictures import without_damaged_chunks

__all__ = ["BoundedReader", "check", "damage_of", "without_damaged_chunks"]
