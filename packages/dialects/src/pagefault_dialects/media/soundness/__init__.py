"""Soundness: whether the bytes of a medium are whole, as far as that shows without decoding them.

A file that was cut, or that is encrypted, is refused by every provider, and by most of them in
every later turn as well. Only what decoders refuse is called damaged: bytes behind the end, sizes
that a stream left open and chunks nobody knows are none of it.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader
from pagefault_dialects.media.soundness.checks import check, damage_of
from pagefault_dialects.media.soundness.pictures import without_damaged_chunks

__all__ = ["BoundedReader", "check", "damage_of", "without_damaged_chunks"]
