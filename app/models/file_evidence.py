"""Files that are certainly no media, whatever they are announced as: programs and web pages.

What is announced as an image is kept as one without being decoded, so that formats nobody here
knows are kept as well. These beginnings tell that an announcement is wrong. They are not told as
types of their own: sniffing must not promote anything to HTML.
"""

import re

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


def contradicts(head: bytes, mime_type: str) -> bool:
    """Return whether a file that begins so is certainly no medium, though the type says it is."""
    if not mime_type.startswith(_MEDIA):
        return False
    return bool(_PROGRAM.match(head) or _WEB_PAGE.match(head))
