"""Names for downloaded files: `<page id>.<extension>`, safe on every file system.

Source: spec 000, "`/memory page <id> --download`".
"""

import mimetypes
from functools import cache

from app.media.types import canonical_mime_type
from app.rendering.names.file_names import safe_file_name

UNKNOWN = ".bin"

# Where the registry has several, the one that people use; and what it does not have.
_EXTENSIONS = {
    "image/jpeg": ".jpg",
    "image/png": ".png",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/avif": ".avif",
    "image/svg+xml": ".svg",
    "image/tiff": ".tiff",
    "image/bmp": ".bmp",
    "image/heic": ".heic",
    "audio/mpeg": ".mp3",
    "audio/wav": ".wav",
    "audio/x-wav": ".wav",
    "audio/ogg": ".ogg",
    "audio/flac": ".flac",
    "audio/mp4": ".m4a",
    "audio/x-m4a": ".m4a",
    "audio/aac": ".aac",
    "audio/webm": ".weba",
    "video/mp4": ".mp4",
    "video/webm": ".webm",
    "video/quicktime": ".mov",
    "video/ogg": ".ogv",
    "video/x-matroska": ".mkv",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "text/html": ".html",
    "text/csv": ".csv",
    "text/javascript": ".js",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "application/xml": ".xml",
    "application/yaml": ".yaml",
    "application/zip": ".zip",
    "application/gzip": ".gz",
}


def extension_for(mime_type: str | None) -> str | None:
    """The extension files of a type have, with its dot; `None` for a type that has none."""
    canonical = canonical_mime_type(mime_type) if mime_type else None
    if canonical is None:
        return None
    known = _EXTENSIONS.get(canonical) or _registry().guess_extension(canonical, strict=False)
    return None if known == UNKNOWN else known


def download_name(page_id: str, *mime_types: str | None, otherwise: str = UNKNOWN) -> str:
    """The name a page is downloaded under.

    Args:
        page_id: The page's id; a colon, which some file systems do not take, becomes `_`.
        mime_types: The types to go by, the first that has an extension decides.
        otherwise: The extension if none of them has one.
    """
    found = next(filter(None, map(extension_for, mime_types)), otherwise)
    return safe_file_name(page_id.replace(":", "_") + found) or f"page{found}"


@cache
def _registry() -> mimetypes.MimeTypes:
    # Without the machine's own files, so that every machine gives the same answer.
    return mimetypes.MimeTypes(filenames=())
