"""The characters of stored text: UTF-8, or what a byte order mark at its beginning says.

Bytes that are no character become U+FFFD; the mark itself is no part of the text.
"""

import codecs

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
UTF_8 = "utf-8-sig"


def text_encoding(head: bytes) -> str:
    """The encoding of a text by its first four bytes, under a name that `codecs` knows."""
    return next((name for mark, name in _MARKS if head.startswith(mark)), UTF_8)


def text_decoder(encoding: str) -> codecs.IncrementalDecoder:
    """What makes characters of the bytes of a text, piece by piece."""
    return codecs.getincrementaldecoder(encoding)("replace")


def decode_text(data: bytes) -> str:
    """The characters of a whole text."""
    return data.decode(text_encoding(data[:4]), "replace")
