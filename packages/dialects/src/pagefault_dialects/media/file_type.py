"""The stored type of a file, detected from its bytes, its declared type and its name.

A declared image is stored as one without being decoded, so unknown formats are kept as well. The
signatures of programs and web pages only disprove a declared type. They are not types of their own,
since sniffing must not promote anything to HTML.
"""

import re

import puremagic

from pagefault_dialects.media.types import OCTET_STREAM, detect_mime_type, mime_type_for_filename

HEAD_BYTES = 4_096
"""The number of first bytes that determine a file's type."""

_PROGRAM = re.compile(
    rb"\x7fELF"
    rb"|MZ[\s\S]{56,62}[\s\S]{0,4096}?PE\x00\x00"  # Windows: the header leads to PE
    rb"|MZ\x90\x00\x03\x00\x00\x00"
    rb"|\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe|\xca\xfe\xba\xbe"  # macOS, Java
    rb"|\x00asm\x01\x00\x00\x00|dex\n03"
    rb"|#![ \t]*/"
)
_WEB_PAGE = re.compile(
    rb"(?:\xef\xbb\xbf)?[\t\n\x0c\r ]{0,1024}"
    rb"<(?:!doctype[\t\n\x0c\r ]{1,64}html|html|head|body|script|iframe|meta|title)"
    rb"[\t\n\x0c\r />]",
    re.IGNORECASE,
)
_MEDIA = ("image/", "audio/", "video/")
_LEAST_CONFIDENCE = 0.8
# One container for documents, sheets and slides, of which the signature table knows one.
_ANY_OLD_OFFICE_FILE = bytes.fromhex("d0cf11e0a1b11ae1")
_NEVER_BY_SNIFFING = ("text/", "image/svg", "message/", "multipart/")


def detect_type(head: bytes, declared: str | None, filename: str | None) -> str:
    """Return the type of bytes by our table and the declared type, `filetype`, then the name.

    Neither a declared type nor a name turns a program or a web page into an image, a sound or a
    video.
    """
    mime_type = detect_mime_type(head, declared)
    if contradicts(head, mime_type):
        mime_type = OCTET_STREAM
    if mime_type != OCTET_STREAM:
        return mime_type
    by_name = mime_type_for_filename(filename) if filename else None
    if by_name is not None and contradicts(head, by_name):
        by_name = None
    return second_opinion(head) or by_name or OCTET_STREAM


def second_opinion(head: bytes) -> str | None:
    """Return the type of a long, unmistakable signature at the beginning, if there is one.

    It is used if our own table has no match. It never returns text, HTML, SVG or XML, which
    sniffing must not promote.
    """
    try:
        matches = puremagic.magic_string(head)
    except (ValueError, LookupError):
        return None
    sure: set[str] = {
        match.mime_type.lower() for match in matches if match.confidence >= _LEAST_CONFIDENCE
    }
    sure.discard("")
    if len(sure) != 1 or head.startswith(_ANY_OLD_OFFICE_FILE):
        return None
    (mime_type,) = sure
    if mime_type.startswith(_NEVER_BY_SNIFFING) or "xml" in mime_type or "html" in mime_type:
        return None
    return mime_type


def contradicts(head: bytes, mime_type: str) -> bool:
    """Return whether these first bytes disprove that a file is of a media type."""
    if not mime_type.startswith(_MEDIA):
        return False
    return bool(_PROGRAM.match(head) or _WEB_PAGE.match(head))
