"""File names that are safe to keep, to show, and to put into a header.

A name that comes with a file is a claim of whoever sent it. What is kept of it is a base name that
every file system takes and every reader sees as it is: no path, no control or invisible character,
no device name. The extension survives, since people and programs go by it.
"""

import re
import unicodedata

MAX_NAME_BYTES = 255
"""The longest name most file systems take, in bytes of UTF-8."""

_LONGEST_NORMALIZED_CHARS = 1_024

# A "sentence. And its continuation" has no extension; the longest ones in use are far shorter.
_MAX_EXTENSION_BYTES = 32

# Windows opens the device whatever extension follows, and takes superscript digits for digits.
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:[.:]|\Z)",
    re.IGNORECASE,
)


def safe_file_name(name: str | None) -> str | None:
    """The name as it may be stored and sent, or `None` if nothing of it is left.

    The result is a base name in NFC of at most 255 bytes of UTF-8, every character printable, with
    its extension, without dots in front and without dots or spaces at the end. A safe name comes
    back unchanged.

    Args:
        name: The name as it was claimed, possibly with a path in front, in either direction of
            slashes.
    """
    if name is None:
        return None
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(_visible(character) for character in base)
    if len(visible) > _LONGEST_NORMALIZED_CHARS:
        # Normalizing takes time in the square of a run of combining marks.
        visible = _shortened(visible)
    trimmed = unicodedata.normalize("NFC", visible).lstrip(". ").rstrip(". ")
    if _DEVICE.match(trimmed):
        trimmed = f"_{trimmed}"
    return _shortened(trimmed) or None


def _visible(character: str) -> str:
    # `isprintable` is false for controls, bidi and zero-width format characters, surrogates,
    # private use and unassigned code points, and for every space but the plain one.
    if character.isprintable():
        return character
    return " " if unicodedata.category(character) == "Zs" else ""


def _shortened(name: str) -> str:
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > _MAX_EXTENSION_BYTES:
        stem, dot, extension = name, "", ""
    suffix = f"{dot}{extension}"
    room = MAX_NAME_BYTES - len(suffix.encode())
    # Dropping an incomplete sequence at the cut is what keeps code points whole.
    kept = stem.encode()[:room].decode(errors="ignore")
    return kept.rstrip(". ") + suffix
