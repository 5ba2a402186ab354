"""Read request bodies with limits on their size and speed."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.requests import Request

from app.errors import SlowBodyError, UnsupportedMediaError
from app.http.conditions import parse_byte_count
from app.models.limits import Limits
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json

if TYPE_CHECKING:
    # Imported only for types, because the proxy must not load the records of keys.
    from app.services.quotas.key_quotas import Allowance

# The maximum time for a body. If a sweep removes a blob of a running request, a row in
# `app.stores.records.swept_blobs` records it. These rows are kept for longer than this time, so the
# request finds the row when it commits.
_MAX_SECONDS = 24 * 3600.0
_SMALL_BODY_BYTES = 64 * 1024
_SMALL_BODY_DEPTH = 64


async def stream_body(
    request: Request, limits: Limits, *, keeps_received: bool = False
) -> AsyncIterator[bytes]:
    """Yield the chunks of the body of a request.

    Args:
        request: The request.
        limits: The limits of size and speed.
        keeps_received: True if received bytes stay stored, so they count against the quota of the
            key even if the request is refused.

    Raises:
        PayloadTooLargeError: The body, or its Content-Length, exceeds `limits.body_bytes`. No byte
            above the limit is yielded.
        SlowBodyError: The next chunk takes too long, the average speed after the grace period is
            too low, or the body takes more than a day.
        UnsupportedMediaError: The body is compressed.
        QuotaExceededError: The key has sent too many bytes in a day.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaError(
            "Compressed bodies are not accepted: send the body without a Content-Encoding."
        )
    header = request.headers.get("content-length", "")
    content_length = parse_byte_count(header) if header.isdigit() else None
    if content_length is not None and content_length > limits.body_bytes:
        raise _build_too_large_error(limits)
    received_bytes = 0
    started = time.monotonic()
    allowance: Allowance | None = request.scope["state"].get("allowance")
    chunks = request.stream()
    if allowance is not None:
        chunks = allowance.meter_body(
            chunks, content_length=content_length, keeps_received=keeps_received
        )
    while True:
        chunk = await _next_chunk(chunks, limits.body_idle_seconds)
        if chunk is None:
            return
        received_bytes += len(chunk)
        if received_bytes > limits.body_bytes:
            raise _build_too_large_error(limits)
        elapsed = time.monotonic() - started - limits.body_grace_seconds
        if elapsed > _MAX_SECONDS:
            raise SlowBodyError
        if elapsed > 0 and received_bytes < elapsed * limits.body_bytes_per_second:
            raise SlowBodyError
        yield chunk
        if received_bytes == content_length and allowance is None:
            # The body is complete, so the empty message after it does not have to be read.
            await chunks.aclose()
            return


async def _next_chunk(chunks: AsyncIterator[bytes], idle_seconds: float) -> bytes | None:
    try:
        # `anyio.fail_after` would take longer than reading most chunks.
        async with asyncio.timeout(idle_seconds):
            return await anext(chunks, None)
    except TimeoutError as exc:
        raise SlowBodyError from exc


def _build_too_large_error(limits: Limits) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"A request body may have {limits.body_bytes} bytes at most. Nothing was stored."
    )


def require_json(request: Request) -> None:
    """Check that a body is declared as JSON.

    For other types, browsers send requests of any page without a CORS preflight.

    Raises:
        UnsupportedMediaError: The Content-Type is not JSON.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaError("Send the body with `Content-Type: application/json`.")


async def read_small_json(
    request: Request, limits: Limits, *, is_optional: bool = True
) -> JsonValue:
    """Return the value of a small JSON body.

    FastAPI's parser is not used, because it reads bodies of any length, and accepts NaN.

    Args:
        request: The request.
        limits: The limits of size and speed.
        is_optional: True to return an empty object for an empty body and for `null`.

    Raises:
        PayloadTooLargeError: The body is longer than 64 KiB, or nested too deep.
        InvalidJsonError: The body is not JSON.
    """
    small_limits = limits.model_copy(
        update={"body_bytes": min(limits.body_bytes, _SMALL_BODY_BYTES)}
    )
    body = b"".join([chunk async for chunk in stream_body(request, small_limits)])
    if body or not is_optional:
        require_json(request)
    if not body and is_optional:
        return {}
    value = parse_repaired_json(body, max_depth=_SMALL_BODY_DEPTH, max_nodes=limits.json_nodes)
    return {} if value is None and is_optional else value
