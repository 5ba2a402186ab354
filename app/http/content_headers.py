"""Headers of stored content: its type, name and digest, and headers that restrict browsers.

MIME types and file names come from tools and clients. Here they are checked before they become
headers. The headers are always ASCII without control characters.
"""

import base64
import re
import unicodedata
from typing import Literal, cast
from urllib.parse import quote

import http_sf

from app.errors import MalformedRequestError
from app.models.app_policy import AppPolicy
from app.services.access.published_content import ResourcePolicy
from pagefault_dialects.media.file_names import safe_file_name

Disposition = Literal["inline", "attachment"]

INLINE_MIME_TYPES = frozenset(
    {
        "image/apng",
        "image/avif",
        "image/bmp",
        "image/gif",
        "image/heic",
        "image/heif",
        "image/jpeg",
        "image/png",
        "image/tiff",
        "image/webp",
        "image/x-icon",
        "image/vnd.microsoft.icon",
        "text/plain",
    }
)
"""Types that a browser shows without running scripts, in addition to all audio and video."""

HTML = "text/html"
_FALLBACK_TYPE = "application/octet-stream"
_MAX_TYPE_LENGTH = 255
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_MEDIA_TYPE = re.compile(
    rf"(?P<essence>{_NAME}/{_NAME})"
    rf'(?P<parameters>(?:[ \t]*;[ \t]*{_NAME}=(?:{_NAME}|"[ !#-\[\]-~]*"))*)'
)
_CHARSET = re.compile(r";[ \t]*charset=", re.IGNORECASE)

# The characters of `attr-char` (RFC 8187 §3.2.1) that `quote` would escape by default.
_ATTR_CHARS = "!#$&+-.^_`|~"
# Valid headers are short, and parsing a long one would block the event loop.
_MAX_DICTIONARY_LENGTH = 4_096


def may_be_inline(mime_type: str) -> bool:
    """Return whether a browser may show content of this type instead of saving it."""
    match = _MEDIA_TYPE.fullmatch(mime_type)
    if match is None:
        return False
    essence = match["essence"].lower()
    family, _, subtype = essence.partition("/")
    # A browser opens any type that ends in +xml as a document, which may contain scripts.
    is_document = subtype.endswith(("xml", "html"))
    return essence in INLINE_MIME_TYPES or (family in ("audio", "video") and not is_document)


def format_content_type(mime_type: str) -> str:
    """Return the `Content-Type` for a stored MIME type; for an invalid one, the type of any bytes.

    `text/plain` without a charset gets `charset=utf-8`. The other types only become lower case.
    """
    match = _MEDIA_TYPE.fullmatch(mime_type) if len(mime_type) <= _MAX_TYPE_LENGTH else None
    if match is None:
        return _FALLBACK_TYPE
    essence, parameters = match["essence"].lower(), match["parameters"]
    if essence == "text/plain" and not _CHARSET.search(parameters):
        parameters += "; charset=utf-8"
    return essence + parameters


def format_content_disposition(disposition: Disposition, filename: str | None) -> str:
    """Return the `Content-Disposition` for a file of this name, always ASCII.

    `filename` has an ASCII form of the name. If that differs from the name, or clients would
    unescape it in different ways, the exact name follows as `filename*`.

    Source: RFC 6266 §4 and appendix D, RFC 8187.
    """
    name = safe_file_name(filename)
    if name is None:
        return disposition
    fallback = _make_ascii_name(name)
    header = f'{disposition}; filename="{fallback}"'
    if fallback != name or "%" in name:
        header += f"; filename*=UTF-8''{quote(name, safe=_ATTR_CHARS)}"
    return header


def _make_ascii_name(name: str) -> str:
    decomposed = unicodedata.normalize("NFKD", name)
    letters = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    ascii_only = "".join(letter if " " <= letter <= "~" else "_" for letter in letters)
    # The decomposition may contain a slash, and clients unescape quotes in different ways.
    return re.sub(r'["/\\]', "_", ascii_only)


def build_safe_headers(resource_policy: ResourcePolicy = "same-origin") -> dict[str, str]:
    """Return headers that keep browsers from running stored content, whatever its type is.

    Args:
        resource_policy: The value of `Cross-Origin-Resource-Policy`.
    """
    return {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "sandbox; default-src 'none'",
        "Cross-Origin-Resource-Policy": resource_policy,
        "Referrer-Policy": "no-referrer",
    }


def build_app_headers(policy: AppPolicy, viewer_origin: str) -> dict[str, str]:
    """Return the headers of a page of an MCP App, which runs its scripts in an opaque origin.

    Args:
        policy: The origins that the page may reach.
        viewer_origin: The only origin that may embed the page.
    """
    resource_domains = " ".join(policy.resource_domains)
    directives = {
        "sandbox": "allow-scripts",
        "default-src": "'none'",
        "script-src": f"'unsafe-inline' {resource_domains}",
        "style-src": f"'unsafe-inline' {resource_domains}",
        "img-src": f"data: blob: {resource_domains}",
        "media-src": f"data: blob: {resource_domains}",
        "font-src": f"data: {resource_domains}",
        "connect-src": " ".join(policy.connect_domains) or "'none'",
        "frame-src": " ".join(policy.frame_domains) or "'none'",
        "base-uri": " ".join(policy.base_uri_domains) or "'none'",
        "form-action": "'none'",
        "frame-ancestors": viewer_origin,
    }
    security_policy = "; ".join(f"{name} {value.strip()}" for name, value in directives.items())
    return {
        **build_safe_headers(),
        "Content-Type": f"{HTML}; charset=utf-8",
        "Cache-Control": "no-store",
        "Content-Security-Policy": security_policy,
    }


def format_repr_digest(digest: str) -> str:
    """Return the `Repr-Digest` value of a SHA-256 of 64 hex digits (RFC 9530 §3)."""
    return f"sha-256=:{base64.b64encode(bytes.fromhex(digest)).decode()}:"


def parse_repr_digest(header: str) -> str | None:
    """Return the SHA-256 in a `Repr-Digest` header as 64 hex digits; `None` if it has none.

    Digests of other algorithms are ignored.

    Raises:
        MalformedRequestError: The header is not a dictionary, or sha-256 is not 32 bytes of base64.
    Source: RFC 9530 §3, RFC 9651 §3.2.
    """
    members = _parse_dictionary(header)
    if members is None:
        raise MalformedRequestError(
            "The digest header is not a dictionary such as `sha-256=:<base64>:`.",
            code="malformed-digest",
        )
    if "sha-256" not in members:
        return None
    digest = members["sha-256"]
    if not isinstance(digest, bytes) or len(digest) != 32:
        raise MalformedRequestError(
            "The announced sha-256 digest is not 32 bytes as `:<base64>:`.",
            code="malformed-digest",
        )
    return digest.hex()


def wants_repr_digest(header: str | None) -> bool:
    """Return whether to send `Repr-Digest`: true unless `Want-Repr-Digest` excludes sha-256.

    An invalid `Want-Repr-Digest` is ignored.

    Source: RFC 9530 §4, RFC 9651 §4.2.
    """
    members = _parse_dictionary(header) if header is not None else None
    if members is None:
        return True
    # Only integers are weights. A member without a value is `True`, which is not a weight.
    weight = members.get("sha-256", 0)
    return type(weight) is not int or weight != 0


def _parse_dictionary(header: str) -> dict[str, object] | None:
    """Return the values of a dictionary of structured fields by key; `None` if it is invalid.

    Values may be inner lists. Parameters of values are omitted.

    Source: RFC 9651 §4.2.2.
    """
    if len(header) > _MAX_DICTIONARY_LENGTH:
        return None
    try:
        members = cast(
            "dict[str, tuple[object, object]]",
            http_sf.parse(header.encode("latin-1", "replace"), tltype="dictionary"),
        )
    except http_sf.StructuredFieldError:
        return None
    return {key: value for key, (value, _) in members.items()}
