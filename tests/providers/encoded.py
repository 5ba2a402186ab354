"""Texts in messages in the place of bytes: base64, or a reference."""

import re

import pybase64

from pagefault_dialects.media.types import canonical_mime_type, detect_mime_type

_REFERENCE = re.compile(r"@blob:[0-9a-f]{32}")


def is_reference(text: str) -> bool:
    """Return whether a text is a reference to a resource, in the place of bytes."""
    return _REFERENCE.fullmatch(text) is not None


def check_encoded(text: str, mime_type: str) -> int:
    """Raise unless a text is base64 of what its type says, or a reference; how long it is."""
    assert canonical_mime_type(mime_type) == mime_type, f"a type spelled {mime_type!r}"
    if is_reference(text):
        return 0
    content = pybase64.b64decode(text, validate=True)
    assert content, "a medium without bytes"
    shown = detect_mime_type(content[:512], mime_type)
    assert shown == mime_type, f"bytes of {shown} as {mime_type}"
    return len(text)
