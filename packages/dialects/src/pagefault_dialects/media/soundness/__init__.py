"""Checks of media for damage: cut, encrypted or otherwise invalid files, without decoding them.

Providers refuse a request with such a file, and every later request of the same conversation, which
has the file too. A file counts as damaged if decoders refuse it. Bytes behind the end, unknown
sizes in streams and unknown chunks are accepted.
"""

from pagefault_dialects.media.soundness.bounded_reader import BoundedReader
from pagefault_dialects.media.soundness.checks import check_soundness, check_source_soundness
from pagefault_dialects.media.soundness.pictures import without_damaged_chunks

__all__ = ["BoundedReader", "check_soundness", "check_source_soundness", "without_damaged_chunks"]
