"""File names that are safe to keep, to show, to download and to put into a header.

A name that comes with a file is untrusted. It is reduced to a base name that every file system
accepts and every reader sees as it is: no path, no control or invisible character, no device name.
The extension stays, since people and programs rely on it.
"""

import re
import unicodedata
from contextlib import suppress
from email.message import Message
from email.utils import collapse_rfc2231_value

from pagefault_dialects.media.code_languages import extension_of_language, language_of_type
from pagefault_dialects.media.types import EXTENSIONS, canonical_mime_type, registry

MAX_NAME_BYTES = 255
"""The longest name most file systems take, in bytes of UTF-8."""

_LONGEST_NORMALIZED_CHARS = 1_024

# In "sentence. And its continuation" there is no extension; known ones are far shorter.
_MAX_EXTENSION_BYTES = 32

# Windows opens the device whatever the extension, and reads superscript digits as digits.
_DEVICE = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3]) *(?:[.:]|\Z)",
    re.IGNORECASE,
)
UNKNOWN = ".bin"
# Extensions that the registry lacks, or has another type for.
_EXTENSIONS = {"application/xml": ".xml"} | {
    mime_type: EXTENSIONS[mime_type].split()[0]
    for mime_type in (
        *("audio/wav", "audio/ogg", "audio/flac", "audio/mp4", "audio/webm"),
        *("video/ogg", "video/x-matroska", "text/markdown", "text/javascript"),
        *("application/yaml", "application/gzip"),
    )
}
# Longer headers are no file names; parsing takes more than linear time.
_MAX_CHARS = 4_096


def safe_file_name(name: str | None) -> str | None:
    """Return the name in a form that is safe to store and send, or `None` if nothing is left.

    The result is a base name in NFC of at most 255 bytes of UTF-8, with only printable characters,
    its extension, no leading dots, and no trailing dots or spaces. A safe name is returned
    unchanged.

    Args:
        name: The declared name, perhaps with a path of slashes or backslashes.
    """
    if name is None:
        return None
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(_visible(character) for character in base)
    if len(visible) > _LONGEST_NORMALIZED_CHARS:
        # Normalization takes quadratic time for a run of combining marks.
        visible = _shortened(visible)
    trimmed = unicodedata.normalize("NFC", visible).lstrip(". ").rstrip(". ")
    if _DEVICE.match(trimmed):
        trimmed = f"_{trimmed}"
    return _shortened(trimmed) or None


def _visible(character: str) -> str:
    # `isprintable` is false for controls, bidi and zero-width format characters, surrogates,
    # private use and unassigned code points, and for all spaces except U+0020.
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
    # `ignore` drops a code point that the cut split.
    kept = stem.encode()[:room].decode(errors="ignore")
    return kept.rstrip(". ") + suffix


def extension_for(mime_type: str | None) -> str | None:
    """Return the usual extension of files of a type, with its dot; `None` if there is none."""
    canonical = canonical_mime_type(mime_type) if mime_type else None
    if canonical is None:
        return None
    known = _EXTENSIONS.get(canonical) or registry().guess_extension(canonical, strict=False)
    if known is None and (language := language_of_type(canonical)) is not None:
        return extension_of_language(language)
    return None if known == UNKNOWN else known


def download_name(page_id: str, *mime_types: str | None, otherwise: str = UNKNOWN) -> str:
    """Return the name under which a page is downloaded.

    Args:
        page_id: The page's id; a colon, which some file systems do not accept, becomes `_`.
        mime_types: The first type that has an extension decides.
        otherwise: The extension if no type has one.
    """
    found = next(filter(None, map(extension_for, mime_types)), otherwise)
    return safe_file_name(page_id.replace(":", "_") + found) or f"page{found}"


def disposition_filename(header: str) -> str | None:
    """Return the file name in a Content-Disposition, `filename*` (RFC 8187) before `filename`.

    Bytes beyond ASCII are read as UTF-8, which browsers and curl send. A part of a form is a file
    if it has a name, even an empty one.
    """
    header = header[:_MAX_CHARS]
    with suppress(UnicodeError):
        header = header.encode("latin-1").decode()
    message = Message()
    message["Content-Disposition"] = header.replace("\r", " ").replace("\n", " ")
    named: dict[bool, str] = {}
    for name, value in message.get_params(failobj=[], header="content-disposition"):
        if name.lower() == "filename":
            # The parser returns `filename*` as its three decoded pieces, `filename` as a text.
            named.setdefault(isinstance(value, tuple), collapse_rfc2231_value(value))
    return named.get(True, named.get(False))
