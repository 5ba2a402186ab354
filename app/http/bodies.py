"""Request bodies as they arrive: counted, paced, and never longer than the limit."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from starlette.requests import Request

from app.errors import SlowBodyError, UnsupportedMediaError
from app.http.conditions import whole_number
from app.models.limits import Limits
from pagefault_dialects.errors import PayloadTooLargeError
from pagefault_dialects.json.values import JsonValue, parse_repaired_json

if TYPE_CHECKING:
    # It knows the records of keys, which a proxy does not load.
    from app.services.quotas.key_quotas import Allowance

# Removed blobs are remembered for longer, so no row is written without its blob.
_LONGEST_SECONDS = 24 * 3600.0
_SMALL_BODY_BYTES = 64 * 1024
_SMALL_BODY_DEPTH = 64


async def limited_body(
    request: Request, limits: Limits, *, in_pieces: bool = False
) -> AsyncIterator[bytes]:
    """Yield the body's chunks.

    Args:
        request: The request.
        limits: The limits of size and pace.
        in_pieces: Keep the bytes that have arrived if the request is refused.

    Raises:
        PayloadTooLargeError: It is, or is announced to be, longer than `limits.body_bytes`. This is
            raised before the first byte above the limit is yielded.
        SlowBodyError: It pauses too long, falls below the pace it must keep after its grace, or
            takes more than a day.
        UnsupportedMediaError: It is compressed.
        QuotaExceededError: The key has sent too many bytes in a day.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise UnsupportedMediaError(
            "Bodies are taken as they are: send it without a Content-Encoding."
        )
    announced = request.headers.get("content-length", "")
    size_bytes = whole_number(announced) if announced.isdigit() else None
    if size_bytes is not None and size_bytes > limits.body_bytes:
        raise _too_large(limits)
    received = 0
    started = time.monotonic()
    allowance: Allowance | None = request.scope["state"].get("allowance")
    chunks = request.stream()
    if allowance is not None:
        chunks = allowance.metered(chunks, announced=size_bytes, in_pieces=in_pieces)
    while True:
        chunk = await _next_chunk(chunks, limits.body_idle_seconds)
        if chunk is None:
            return
        received += len(chunk)
        if received > limits.body_bytes:
            raise _too_large(limits)
        elapsed = time.monotonic() - started - limits.body_grace_seconds
        if elapsed > _LONGEST_SECONDS:
            raise SlowBodyError
        if elapsed > 0 and received < elapsed * limits.body_bytes_per_second:
            raise SlowBodyError
        yield chunk
        if received == size_bytes and allowance is None:
            # The server's next message would only be the end of the body.
            await chunks.aclose()
            return


async def _next_chunk(chunks: AsyncIterator[bytes], idle_seconds: float) -> bytes | None:
    try:
        # A cancel scope of anyio's would take longer than most chunks do.
        async with asyncio.timeout(idle_seconds):
            return await anext(chunks, None)
    except TimeoutError as exc:
        raise SlowBodyError from exc


def _too_large(limits: Limits) -> PayloadTooLargeError:
    return PayloadTooLargeError(
        f"A request body may have {limits.body_bytes} bytes at most. Nothing was stored."
    )


def require_json(request: Request) -> None:
    """Refuse a body that is not declared as JSON.

    Pages of other sites can send other types without a preflight.

    Raises:
        UnsupportedMediaError: The Content-Type is not JSON.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaError("Send the body with `Content-Type: application/json`.")


async def read_small_json(request: Request, limits: Limits) -> JsonValue:
    """Return the value of a small JSON body; an empty body, or null, is an empty object.

    FastAPI's own parser reads bodies of any length, and accepts NaN.

    Raises:
        PayloadTooLargeError: It is longer than 64 KiB, or nested too deep.
        InvalidJsonError: It is not JSON.
    """
    small = limits.model_copy(update={"body_bytes": min(limits.body_bytes, _SMALL_BODY_BYTES)})
    body = b"".join([chunk async for chunk in limited_body(request, small)])
    if body:
        require_json(request)
    value = parse_repaired_json(
        body or b"{}", max_depth=_SMALL_BODY_DEPTH, max_nodes=limits.json_nodes
    )
    return {} if value is None else value
