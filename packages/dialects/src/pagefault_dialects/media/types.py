"""Detect MIME types from the first bytes of files, and normalize declared types.

The bytes decide, since a declared type is a guess and sometimes an attack. If a signature stands
for several types (ZIP and DOCX, MP4 with and without pictures), a more specific declared type is
used. HTML, SVG and XML are never detected from bytes, so that no text becomes a file that a browser
would run.
"""

import mimetypes
import re
from functools import cache

from pagefault_dialects.media.raw_audio import (
    canonicalize_raw_type,
    detect_sample_type,
    is_raw_audio,
)

OCTET_STREAM = "application/octet-stream"

_MIME_TYPE = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]{0,126}/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\Z")

# Signatures that identify a type even if another one is declared.
_STRONG: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"\x00\x00\x00\x0cJXL \r\n\x87\n", "image/jxl"),
    (b"\x00\x00\x00\x0cjP  \r\n\x87\n", "image/jp2"),
    (b"8BPS\x00\x01", "image/vnd.adobe.photoshop"),
    (b"%PDF-", "application/pdf"),
    (b"fLaC", "audio/flac"),
    (b"MThd\x00\x00\x00\x06", "audio/midi"),
    (b"#!AMR", "audio/amr"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
    (b"FLV\x01", "video/x-flv"),
    (b"\x30\x26\xb2\x75\x8e\x66\xcf\x11", "video/x-ms-asf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"\xfd7zXZ\x00", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"SQLite format 3\x00", "application/vnd.sqlite3"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"\x00asm\x01\x00\x00\x00", "application/wasm"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"OTTO\x00", "font/otf"),
)

# Signatures of the same kind that are patterns, not fixed prefixes.
_STRONG_PATTERNS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\xff\xd8\xff[\xc0-\xfe]"), "image/jpeg"),
    (re.compile(rb"RIFF.{4}WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "image/webp"),
    (re.compile(rb"RIFF.{4}AVI ", re.DOTALL), "video/x-msvideo"),
    (re.compile(rb"RF64.{4}WAVE", re.DOTALL), "audio/wav"),
    (re.compile(rb"FORM.{4}AIF[FC]", re.DOTALL), "audio/aiff"),
    (re.compile(rb"ID3[\x02-\x04][\x00-\x0f]"), "audio/mpeg"),
    (re.compile(rb"OggS\x00.{22,280}?theora", re.DOTALL), "video/ogg"),
    (re.compile(rb"OggS\x00"), "audio/ogg"),
    (re.compile(rb"\x1a\x45\xdf\xa3.{0,60}?webm", re.DOTALL), "video/webm"),
    (re.compile(rb"\x1a\x45\xdf\xa3"), "video/x-matroska"),
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17\x72\x45\x38\x50\x90)"), "application/x-bzip2"),
    (re.compile(rb"\x1f\x8b\x08[\x00-\x1f]"), "application/gzip"),
    # ISO media files: a first box of plausible size, then the brand (ISO/IEC 14496-12, 4.3).
    (re.compile(rb"\x00\x00.{2}ftyp(?:avif|avis)", re.DOTALL), "image/avif"),
    (re.compile(rb"\x00\x00.{2}ftyp(?:heic|heix|heim|heis|hevc|hevx)", re.DOTALL), "image/heic"),
    (re.compile(rb"\x00\x00.{2}ftyp(?:mif1|msf1).{8,56}?avif", re.DOTALL), "image/avif"),
    (re.compile(rb"\x00\x00.{2}ftyp(?:mif1|msf1)", re.DOTALL), "image/heif"),
    (re.compile(rb"\x00\x00.{2}ftypM4[ABP] ", re.DOTALL), "audio/mp4"),
    (re.compile(rb"\x00\x00.{2}ftypqt  ", re.DOTALL), "video/quicktime"),
    (re.compile(rb"\x00\x00.{2}ftyp3g[a-z0-9]", re.DOTALL), "video/3gpp"),
    (re.compile(rb"\x00\x00.{2}ftyp", re.DOTALL), "video/mp4"),
    (re.compile(rb"\x00\x00.{2}(?:moov|mdat|wide)", re.DOTALL), "video/quicktime"),
)

# The first two bytes of the signatures above. Readers of base64 search for them, so that most texts
# need not be decoded.
STRONG_SIGNATURE_STARTS: frozenset[bytes] = frozenset(
    (
        *(signature[:2] for signature, _ in _STRONG),
        *(b"\xff\xd8", b"RI", b"RF", b"FO", b"ID", b"Og", b"\x1a\x45", b"BZ", b"\x1f\x8b", b"\0\0"),
    )
)

# Third byte of an MPEG layer III frame: a bit rate other than free or bad in the upper half, a
# sample rate other than reserved in the lower.
_MP3_RATES = b"".join(b"\\x%x0-\\x%xb" % (rate, rate) for rate in range(1, 15))

# Signatures that other files may begin with by chance: they do not override a declared type of
# another family, such as `video/` instead of `image/`.
_WEAK_PATTERNS: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (
        re.compile(rb"BM.{4}\x00{4}.{4}[\x0c\x28\x34\x38\x40\x6c\x7c]\x00{3}", re.DOTALL),
        "image/bmp",
    ),
    (re.compile(rb"\x00\x00\x01\x00[\x01-\x40]\x00.{3}\x00", re.DOTALL), "image/x-icon"),
    (re.compile(rb"\xff[\xf0\xf1\xf8\xf9][\x40-\xbf]"), "audio/aac"),
    (re.compile(rb"\xff[\xe2\xe3\xf2\xf3\xfa\xfb][%s]" % _MP3_RATES), "audio/mpeg"),
    (re.compile(rb"\x00\x01\x00\x00\x00[\x04-\x40]\x00", re.DOTALL), "font/ttf"),
    # AU files are also declared as `audio/basic`, which is the type of raw audio.
    (re.compile(rb"\.snd\x00\x00\x00"), "audio/x-au"),
)

# Canonical types, each with its other names.
_OTHER_NAMES = {
    "image/jpeg": "image/jpg image/pjpeg",
    "image/png": "image/x-png",
    "image/svg+xml": "image/svg",
    "image/bmp": "image/x-ms-bmp image/x-bmp",
    "image/x-icon": "image/vnd.microsoft.icon image/ico",
    "image/tiff": "image/tif image/x-tiff",
    "audio/wav": "audio/x-wav audio/wave audio/x-pn-wav audio/vnd.wave",
    "audio/mpeg": "audio/mp3 audio/x-mp3 audio/x-mpeg audio/mpeg3",
    "audio/mp4": "audio/m4a audio/x-m4a",
    "audio/flac": "audio/x-flac",
    "audio/aac": "audio/x-aac",
    "audio/aiff": "audio/x-aiff",
    "audio/midi": "audio/mid audio/x-midi",
    "video/x-msvideo": "video/avi video/msvideo",
    "video/quicktime": "video/mov",
    "video/x-matroska": "video/mkv video/matroska",
    "application/pdf": "application/x-pdf",
    "application/zip": "application/x-zip application/x-zip-compressed",
    "application/gzip": "application/x-gzip",
    "application/x-bzip2": "application/x-bzip",
    "application/vnd.rar": "application/x-rar-compressed",
    "application/vnd.sqlite3": "application/x-sqlite3",
    "application/zstd": "application/x-zstd",
    "text/javascript": "application/x-javascript application/javascript",
    "application/json": "application/x-json text/json",
    "application/xml": "text/xml",
    "text/markdown": "text/x-markdown",
    "text/csv": "application/csv application/x-csv text/x-csv text/comma-separated-values",
    "application/yaml": "application/x-yaml text/yaml text/x-yaml",
    OCTET_STREAM: "binary/octet-stream application/binary application/x-binary application/unknown",
}
_ALIASES = {alias: name for name, aliases in _OTHER_NAMES.items() for alias in aliases.split()}

# By detected type: declared types that are more specific and therefore preferred.
_REFINEMENTS: dict[str, re.Pattern[str]] = {
    "application/zip": re.compile(
        r"application/(?:vnd\.|epub\+zip|java-archive|x-java|x-xpinstall|x-ipynb|.*\+zip)|model/"
    ),
    "application/gzip": re.compile(r"application/(?:x-tgz|x-gtar|x-tar|x-compressed|.*\+gzip)"),
    "application/x-ole-storage": re.compile(
        r"application/(?:msword|vnd\.(?:ms-|visio)|x-msi)|message/"
    ),
    "application/vnd.sqlite3": re.compile(r"application/.*\+sqlite3"),
    "application/pdf": re.compile(r"application/(?:illustrator|vnd\.adobe\.illustrator)"),
    "image/heic": re.compile(r"image/hei[cf]"),
    "image/heif": re.compile(r"image/(?:heic|avif)"),
    "image/tiff": re.compile(r"image/(?:x-|dng|tiff-fx)"),
    "image/png": re.compile(r"image/(?:apng|vnd\.mozilla\.apng)"),
    "audio/ogg": re.compile(r"(?:audio|video|application)/ogg|audio/(?:opus|vorbis|speex|x-opus)"),
    "video/ogg": re.compile(r"(?:video|application)/ogg"),
    "audio/wav": re.compile(r"audio/(?:x-bwf|vnd\.dolby)"),
    "audio/aac": re.compile(r"audio/aacp"),
    "video/mp4": re.compile(r"audio/mp4|video/(?:x-m4v|3gpp|iso\.segment)|application/mp4"),
    "video/3gpp": re.compile(r"(?:audio|video)/3gpp2?"),
    "video/webm": re.compile(r"audio/webm"),
    "video/x-matroska": re.compile(r"audio/x-matroska|video/matroska-3d"),
    "video/x-ms-asf": re.compile(r"(?:audio|video)/x-ms-wm[av]"),
}

_TEXTUAL = re.compile(
    r"text/.*|(?:application|model|message)/(?:"
    r"json|.*\+json|x-ndjson|json-lines|jsonl|xml|.*\+xml|yaml|.*\+yaml|toml|ecmascript|typescript|"
    r"graphql|sql|x-sh|x-httpd-php|x-www-form-urlencoded|x-tex|rtf|rfc822|xml-dtd)\Z"
)

# Types whose extension is their subtype; `EXTENSIONS` adds the other types.
_SUBTYPES_AS_EXTENSIONS = {
    "audio": "aac aiff amr flac opus wav",
    "font": "woff woff2",
    "image": "avif bmp heic heif jp2 jxl webp",
    "video": "mp4 webm",
}
EXTENSIONS = {
    f"{family}/{name}": f".{name}"
    for family, names in _SUBTYPES_AS_EXTENSIONS.items()
    for name in names.split()
} | {
    "application/gzip": ".gz",
    "application/vnd.sqlite3": ".sqlite",
    "application/x-bzip2": ".bz2",
    "application/x-xz": ".xz",
    "application/x-7z-compressed": ".7z",
    "application/yaml": ".yaml .yml",
    "application/zstd": ".zst",
    "application/x-ndjson": ".ndjson",
    "application/vnd.rar": ".rar",
    "audio/midi": ".mid",
    "audio/mp4": ".m4a",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg .oga",
    "audio/webm": ".weba",
    "image/jpeg": ".jpg .jpeg",
    "image/tiff": ".tiff .tif",
    "image/x-icon": ".ico",
    "text/javascript": ".js",
    "text/markdown": ".md",
    "text/plain": ".txt .log",
    "video/3gpp": ".3gp",
    "video/mpeg": ".mpg",
    "video/ogg": ".ogv",
    "video/x-flv": ".flv",
    "video/x-matroska": ".mkv",
    "video/x-msvideo": ".avi",
    "video/x-ms-wmv": ".wmv",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": ".docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/epub+zip": ".epub",
    "video/quicktime": ".mov",
    "video/x-m4v": ".m4v",
}
"""File extensions by type, the usual one first."""
_TYPES_OF_EXTENSIONS = {
    suffix: mime_type for mime_type, suffixes in EXTENSIONS.items() for suffix in suffixes.split()
}


def sniff(head: bytes) -> str | None:
    """Return the MIME type that the first bytes of a file show; `None` if they show none.

    64 bytes are enough for most types, and 300 for Ogg video. The result is never HTML, SVG or XML.
    """
    return _strong_type(head) or _first_match(_WEAK_PATTERNS, head)


def is_strong_signature(head: bytes) -> bool:
    """Return whether the first bytes identify a type even if another one is declared."""
    return _strong_type(head) is not None


def canonical_mime_type(text: str) -> str | None:
    """Return the canonical name of a MIME type, in lower case; `None` for other texts.

    Parameters are removed, except those of raw audio: `audio/pcm;rate=24000`.
    """
    mime_type = text.partition(";")[0].strip().lower()
    if not _MIME_TYPE.match(mime_type):
        return None
    return canonicalize_raw_type(text) or _ALIASES.get(mime_type, mime_type)


def detect_mime_type(head: bytes, declared: str | None) -> str:
    """Return the type to store a file under: the detected one, else the declared one.

    Args:
        head: The first bytes of the file, preferably 512.
        declared: The declared type, in any spelling, if there is one.

    Returns:
        A canonical MIME type; `application/octet-stream` if neither is known.
    """
    declared_type = canonical_mime_type(declared) if declared else None
    detected = sniff(head)
    if declared and declared_type and is_raw_audio(declared_type) and not is_strong_signature(head):
        # Samples may begin with any weak signature, except that of an AU file.
        if detected == "audio/x-au":
            return detected
        sample_type = detect_sample_type(head, declared) if ";" in declared else None
        return sample_type or declared_type
    if detected is None:
        return declared_type or OCTET_STREAM
    if declared_type is None or declared_type in (detected, OCTET_STREAM):
        return detected
    return declared_type if _is_declared_preferred(declared_type, detected, head) else detected


def mime_type_for_filename(name: str) -> str | None:
    """Return the MIME type of a file name's extension; `None` if it has none or is unknown."""
    _, dot, extension = name.rpartition(".")
    suffix = f".{extension.lower()}"
    if not dot or len(suffix) > 16:
        return None
    mime_type = _TYPES_OF_EXTENSIONS.get(suffix) or extension_registry().types_map[True].get(suffix)
    return canonical_mime_type(mime_type) if mime_type else None


def is_textual(mime_type: str) -> bool:
    """Return whether files of this type are text to read; SVG counts as an image."""
    canonical = canonical_mime_type(mime_type)
    return canonical is not None and _TEXTUAL.match(canonical) is not None


def _strong_type(head: bytes) -> str | None:
    for signature, mime_type in _STRONG:
        if head.startswith(signature):
            return mime_type
    return _first_match(_STRONG_PATTERNS, head)


def _first_match(patterns: tuple[tuple[re.Pattern[bytes], str], ...], head: bytes) -> str | None:
    return next((mime_type for pattern, mime_type in patterns if pattern.match(head)), None)


def _is_declared_preferred(declared_type: str, detected: str, head: bytes) -> bool:
    """Return whether a declared type is used although the bytes show another one."""
    refinement = _REFINEMENTS.get(detected)
    if refinement and refinement.match(declared_type):
        return True
    if is_textual(declared_type) and _is_printable(head):
        # A text about file formats may begin with "GIF89a".
        return True
    return (
        not is_strong_signature(head)
        and declared_type.partition("/")[0] != detected.partition("/")[0]
    )


def _is_printable(head: bytes) -> bool:
    # `ignore` drops a last character that is cut, at most 3 bytes. If more bytes are dropped, the
    # head is not UTF-8.
    text = head.decode(errors="ignore")
    is_utf8 = len(text.encode()) >= len(head) - 3
    return is_utf8 and not re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text)


@cache
def extension_registry() -> mimetypes.MimeTypes:
    """Return Python's built-in table of extensions.

    The tables of the operating system are left out, so that the result is the same on every
    machine.
    """
    return mimetypes.MimeTypes(filenames=())


def is_media_range(text: str) -> bool:
    """Return whether a text is a MIME type, `family/*` or `*/*`, in lower case, without parameters.

    Source: RFC 9110 §12.5.1.
    """
    family, _, subtype = text.partition("/")
    if subtype != "*":
        return _MIME_TYPE.match(text) is not None
    return family == "*" or _MIME_TYPE.match(f"{family}/x") is not None
