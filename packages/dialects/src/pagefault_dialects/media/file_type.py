"""Choose the MIME type under which a file is stored, from its bytes, declared type and name.

Files are not decoded, so a declared image of an unknown format is stored as an image. Signatures of
programs and web pages only disprove a declared media type. The types of such files are not detected
from these signatures, since no file may become HTML by its bytes.
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
_MIN_CONFIDENCE = 0.8
# DOC, XLS and PPT files have the same signature; puremagic returns the type of one of them.
_OLE_SIGNATURE = bytes.fromhex("d0cf11e0a1b11ae1")
_UNSNIFFED_TYPES = ("text/", "image/svg", "message/", "multipart/")


def detect_type(head: bytes, declared: str | None, filename: str | None) -> str:
    """Return the MIME type of a file; `application/octet-stream` if it is unknown.

    The type is that of `types.detect_mime_type`, which uses signatures and the declared type. If it
    is unknown, puremagic is used, and then the extension of the name. A program or a web page is
    never stored as an image, audio or video, whatever type is declared.

    Args:
        head: The first `HEAD_BYTES` bytes of the file.
        declared: The declared type, if there is one.
        filename: The name of the file, if it has one.
    """
    mime_type = detect_mime_type(head, declared)
    if contradicts_media_type(head, mime_type):
        mime_type = OCTET_STREAM
    if mime_type != OCTET_STREAM:
        return mime_type
    by_name = mime_type_for_filename(filename) if filename else None
    if by_name is not None and contradicts_media_type(head, by_name):
        by_name = None
    return detect_with_puremagic(head) or by_name or OCTET_STREAM


def detect_with_puremagic(head: bytes) -> str | None:
    """Return the type that puremagic detects with high confidence; `None` if there is none.

    Text, HTML, SVG and XML are never returned, since no file may become one of these by its bytes.
    """
    try:
        matches = puremagic.magic_string(head)
    except (ValueError, LookupError):
        return None
    candidates: set[str] = {
        match.mime_type.lower() for match in matches if match.confidence >= _MIN_CONFIDENCE
    }
    candidates.discard("")
    if len(candidates) != 1 or head.startswith(_OLE_SIGNATURE):
        return None
    (mime_type,) = candidates
    if mime_type.startswith(_UNSNIFFED_TYPES) or "xml" in mime_type or "html" in mime_type:
        return None
    return mime_type


def contradicts_media_type(head: bytes, mime_type: str) -> bool:
    """Return whether a media type is wrong, since a file begins like a program or a web page."""
    if not mime_type.startswith(_MEDIA):
        return False
    return bool(_PROGRAM.match(head) or _WEB_PAGE.match(head))
