"""Soundness: whether the bytes of a medium are whole, as far as that shows without decoding them.

A file that was cut, or that is encrypted, is refused by every provider, and by most of them in
every later turn as well. Only what decoders refuse is called damaged: bytes behind the end, sizes
that a stream left open and chunks nobody knows are none of it.
"""

from app.media.soundness.judging import damage_of, judge
from app.media.soundness.looking import Looking
from app.media.soundness.pictures import without_damaged_chunks

__all__ = ["Looking", "damage_of", "judge", "without_damaged_chunks"]
