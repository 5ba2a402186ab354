"""Request bodies as they arrive: counted, paced, and never longer than the limit."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError

from app.errors import (
    InvalidPayloadError,
    PayloadTooLargeError,
    SlowBodyError,
    UnsupportedMediaError,
)
from app.http.conditions import whole_number
from app.models.json_value import JsonValue, parse_repaired_json
from app.models.limits import Limits
from app.models.validation_errors import faults_of
from app.services.quotas.key_quotas import Allowance

# What a sweep has removed is remembered for longer, so a row is never written without its blob.
_LONGEST_SECONDS = 24 * 3600.0
_SMALL_BODY_BYTES = 64 * 1024
_SMALL_BODY_DEPTH = 64

_Model = TypeVar("_Model", bound=BaseModel)


async def limited_body(
    request: Request, limits: Limits, *, in_pieces: bool = False
) -> AsyncIterator[bytes]:
    """Yield the body's chunks.

    Args:
        request: Whose body it is.
        limits: How long it may be, and how slow.
        in_pieces: Whether what has come is kept although the request is refused.

    Raises:
        PayloadTooLargeError: It is, or is announced to be, longer than `limits.body_bytes`; known
            before the byte too many is handed on.
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
    if announced.isdigit() and whole_number(announced) > limits.body_bytes:
        raise _too_large(limits)
    received = 0
    started = time.monotonic()
    chunks = _metered(request, in_pieces=in_pieces)
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


def _metered(request: Request, *, in_pieces: bool) -> AsyncIterator[bytes]:
    """Return the body, counted for the key if there are quotas."""
    allowance: Allowance | None = request.scope["state"].get("allowance")
    if allowance is None:
        return request.stream()
    announced = request.headers.get("content-length", "")
    return allowance.metered(
        request.stream(),
        announced=int(announced) if announced.isdigit() else None,
        in_pieces=in_pieces,
    )


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

    Asking for the type keeps other sites' pages from posting without a preflight.

    Raises:
        UnsupportedMediaError: The Content-Type is not JSON.
    """
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json" and not content_type.endswith("+json"):
        raise UnsupportedMediaError("Send the body with `Content-Type: application/json`.")


async def read_model(request: Request, limits: Limits, model: type[_Model]) -> _Model:
    """Read a small JSON body as a model; see `read_small_json`.

    Raises:
        PayloadTooLargeError: It is longer than 64 KiB, or nested too deep.
        InvalidJsonError, InvalidPayloadError: It is not the model.
    """
    value = await read_small_json(request, limits)
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        raise InvalidPayloadError(
            "The body is not what the route takes; `errors` says where.",
            faults=faults_of(exc),
        ) from exc


async def read_small_json(request: Request, limits: Limits) -> JsonValue:
    """Return the value of a small JSON body; an empty body, or null, is an empty object.

    The framework's own way would read a body of any length, and takes NaN for a number.

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
