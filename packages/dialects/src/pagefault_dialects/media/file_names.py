"""Make file names safe to store, to show, to download and to send in a header.

The name that is sent with a file is untrusted. It is reduced to a base name that every file system
accepts, without a path, control characters, invisible characters and names of devices. The
extension is kept, since people and programs rely on it.
"""

import re
import unicodedata
from contextlib import suppress
from email.message import Message
from email.utils import collapse_rfc2231_value

from pagefault_dialects.media.code_languages import extension_of_language, language_of_type
from pagefault_dialects.media.types import EXTENSIONS, canonical_mime_type, extension_registry

MAX_NAME_BYTES = 255
"""The longest name that most file systems accept, in bytes of UTF-8."""

_LONGEST_NORMALIZED_CHARS = 1_024

# A longer text behind the last dot is not an extension, as in "First sentence. And a second one".
_MAX_EXTENSION_BYTES = 32

# Windows opens a device for these names with any extension, and reads superscript digits as digits.
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
# The rest of a longer header is not parsed, since parsing takes more than linear time.
_MAX_HEADER_CHARS = 4_096


def safe_file_name(name: str | None) -> str | None:
    """Return the name in a form that is safe to store and send, or `None` if nothing is left.

    The result is a base name in NFC of at most 255 bytes of UTF-8. It has only printable
    characters, no leading dots, and no trailing dots or spaces. A safe name is returned unchanged.

    Args:
        name: The declared name, perhaps with a path of slashes or backslashes.
    """
    if name is None:
        return None
    base = re.split(r"[/\\]", name)[-1]
    visible = "".join(_to_visible(character) for character in base)
    if len(visible) > _LONGEST_NORMALIZED_CHARS:
        # Normalization takes quadratic time for a run of combining marks.
        visible = _shorten(visible)
    trimmed = unicodedata.normalize("NFC", visible).lstrip(". ").rstrip(". ")
    if _DEVICE.match(trimmed):
        trimmed = f"_{trimmed}"
    return _shorten(trimmed) or None


def _to_visible(character: str) -> str:
    """Return a printable character; a space or nothing for other characters."""
    # `isprintable` is false for controls, bidi and zero-width format characters, surrogates,
    # private use and unassigned code points, and for all spaces except U+0020.
    if character.isprintable():
        return character
    return " " if unicodedata.category(character) == "Zs" else ""


def _shorten(name: str) -> str:
    """Return a name of at most `MAX_NAME_BYTES`, with its extension."""
    if len(name.encode()) <= MAX_NAME_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    if not stem or len(extension.encode()) > _MAX_EXTENSION_BYTES:
        stem, dot, extension = name, "", ""
    suffix = f"{dot}{extension}"
    max_stem_bytes = MAX_NAME_BYTES - len(suffix.encode())
    # `ignore` drops a code point that is cut.
    short_stem = stem.encode()[:max_stem_bytes].decode(errors="ignore")
    return short_stem.rstrip(". ") + suffix


def extension_for(mime_type: str | None) -> str | None:
    """Return the usual extension of files of a type, with its dot; `None` if there is none."""
    canonical = canonical_mime_type(mime_type) if mime_type else None
    if canonical is None:
        return None
    extension = _EXTENSIONS.get(canonical)
    extension = extension or extension_registry().guess_extension(canonical, strict=False)
    if extension is None and (language := language_of_type(canonical)) is not None:
        return extension_of_language(language)
    return None if extension == UNKNOWN else extension


def download_name(page_id: str, *mime_types: str | None, otherwise: str = UNKNOWN) -> str:
    """Return the file name with which a page is downloaded.

    Args:
        page_id: The id of the page. A colon becomes `_`, since some file systems do not accept it.
        mime_types: The types of the page. The first type with an extension is used.
        otherwise: The extension if no type has one.
    """
    extension = next(filter(None, map(extension_for, mime_types)), otherwise)
    return safe_file_name(page_id.replace(":", "_") + extension) or f"page{extension}"


def disposition_filename(header: str) -> str | None:
    """Return the file name in a Content-Disposition header; `None` if it has none.

    `filename*` (RFC 8187) is preferred to `filename`. Bytes outside of ASCII are decoded as UTF-8,
    which browsers and curl send. The name may be empty: such a part of a form is a file as well.
    """
    header = header[:_MAX_HEADER_CHARS]
    with suppress(UnicodeError):
        header = header.encode("latin-1").decode()
    message = Message()
    message["Content-Disposition"] = header.replace("\r", " ").replace("\n", " ")
    # The name in `filename*` by True, and that in `filename` by False.
    names: dict[bool, str] = {}
    for name, value in message.get_params(failobj=[], header="content-disposition"):
        if name.lower() == "filename":
            # The parser returns `filename*` as a tuple of charset, language and text.
            names.setdefault(isinstance(value, tuple), collapse_rfc2231_value(value))
    return names.get(True, names.get(False))
