"""Soundness: whether the bytes of a medium are whole, as far as that shows without decoding them.

Providers refuse requests with cut or encrypted files, and so they refuse every later request of the
same conversation. A file counts as damaged if decoders refuse it. Bytes behind the end, unknown
sizes in streams and unknown chunks are accepted.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader
from pagefault_dialects.media.soundness.checks import check_soundness, check_source_soundness
from pagefault_dialects.media.soundness.pictures import without_damaged_chunks

__all__ = ["BoundedReader", "check_soundness", "check_source_soundness", "without_damaged_chunks"]
