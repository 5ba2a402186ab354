"""What a server's answer says about the file it brings: claims, each bounded and none trusted."""

from urllib.parse import unquote

import httpx

from app.errors import FetchBlockedError, UpstreamError
from app.media.types import canonical_mime_type
from app.rendering.names.file_names import disposition_filename, safe_file_name


def check_encoding(headers: httpx.Headers) -> None:
    """Refuse an answer that is compressed although nobody asked for it.

    A few hundred compressed bytes can stand for gigabytes, so nothing is ever decompressed.

    Raises:
        UpstreamError: There is a content coding other than identity.
    """
    codings = headers.get("content-encoding", "").split(",")
    if any(coding.strip().lower() not in ("", "identity") for coding in codings):
        raise UpstreamError("The server the URL leads to sent a compressed answer.")


def announced_size(headers: httpx.Headers, limit_bytes: int) -> int | None:
    """The announced size, `None` if it shows at the end only.

    Raises:
        FetchBlockedError: It is larger than the limit.
    """
    if "transfer-encoding" in headers:
        return None
    # The protocol's parser has made sure that there is one, of digits, and not many of them.
    announced = headers.get("content-length")
    if announced is None:
        return None
    size_bytes = int(announced)
    if size_bytes > limit_bytes:
        raise too_large(limit_bytes)
    return size_bytes


def too_large(limit_bytes: int) -> FetchBlockedError:
    """The error for a file beyond the limit."""
    return FetchBlockedError(
        f"The file is larger than the {limit_bytes} bytes that are fetched. Nothing was kept.",
        code="fetch-too-large",
    )


def declared_mime_type(headers: httpx.Headers) -> str | None:
    """The declared type, canonical and without parameters, if it is one."""
    return canonical_mime_type(headers.get("content-type", ""))


def claimed_filename(headers: httpx.Headers, url: httpx.URL) -> str | None:
    """A safe file name: from Content-Disposition, else the end of the URL's path.

    Source: RFC 6266, section 4.3: `filename*` before `filename`.
    """
    named = disposition_filename(headers.get("content-disposition", ""))
    last_segment = url.raw_path.partition(b"?")[0].rpartition(b"/")[2]
    return safe_file_name(named) or safe_file_name(unquote(last_segment.decode("ascii")))
