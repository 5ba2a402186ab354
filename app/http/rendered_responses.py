"""Responses with renderings, whose media are read from the store while they are sent."""

from collections.abc import Mapping
from contextlib import aclosing

from fastapi import Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.http.conditions import REVALIDATE, build_unchanged_response, make_strong_etag
from app.http.response_memory import (
    FREE_BYTES,
    build_body_message,
    build_start_message,
    find_response_budget,
    watch_reader,
)
from app.services.inline_media.json_with_media import RenderedBody

STREAM_BYTES = 1536 * 1024
"""The memory for sending one response with media: a piece of a file, and its encoded form."""


def build_rendered_response(
    request: Request, body: RenderedBody, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the response to a request for a rendering: 200 with a strong ETag, or 304.

    A rendering without a digest has no ETag, and must not be cached.

    Args:
        request: A `GET` or `HEAD`, whose conditions are evaluated, or a `POST`.
        body: The rendering.
        headers: Further headers.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    rendering = body.rendering
    if rendering.digest is None:
        return build_json_response(request, body, {**(headers or {}), "Cache-Control": "no-store"})
    all_headers = {
        **(headers or {}),
        "ETag": make_strong_etag(rendering.digest),
        "Cache-Control": REVALIDATE,
    }
    unchanged = build_unchanged_response(request, all_headers)
    return unchanged or build_json_response(request, body, all_headers)


def build_json_response(
    request: Request, body: RenderedBody, headers: Mapping[str, str], *, status: int = 200
) -> Response:
    """Return the response with a rendering, without evaluating conditions of the request."""
    pieces = body.rendering.pieces
    length = str(body.rendering.size_bytes)
    if request.method == "HEAD":
        all_headers = {**headers, "Content-Length": length}
        return Response(headers=all_headers, media_type="application/json")
    body.record_delivery()
    if len(pieces) == 1 and isinstance(pieces[0], bytes):
        return Response(
            pieces[0], status_code=status, headers=headers, media_type="application/json"
        )
    return _RenderedStream(body, {**headers, "Content-Length": length}, status)


class _RenderedStream(StreamingResponse):
    """A response that sends a rendering while its media are read, one chunk at a time."""

    def __init__(self, body: RenderedBody, headers: Mapping[str, str], status: int) -> None:
        # The base class needs an iterator, but `stream_response` reads the body.
        super().__init__((), status_code=status, headers=headers, media_type="application/json")
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Reserve memory and send the response.

        Raises:
            OverloadedError: No memory could be reserved; nothing was sent.
        """
        text_bytes = sum(
            len(piece) for piece in self._body.rendering.pieces if isinstance(piece, bytes)
        )
        if self._body.memory is not None:
            # The memory that was reserved to build the body is reduced to what sending it needs.
            # `build_response_with_memory` releases it.
            self._body.memory.resize(text_bytes + STREAM_BYTES)
            await super().__call__(scope, receive, send)
            return
        budget = find_response_budget(scope)
        if text_bytes <= FREE_BYTES:
            reserved = await budget.reserve(STREAM_BYTES)
        else:
            # This raises instead of waiting. If requests waited with long texts in memory, they
            # could wait for each other forever.
            reserved = budget.take(text_bytes + STREAM_BYTES)
        try:
            with watch_reader(scope, reserved, send) as send_counted:
                await super().__call__(scope, receive, send_counted)
        finally:
            reserved.release()

    async def stream_response(self, send: Send) -> None:
        """Open the first medium, and then send the headers and the body."""
        async with aclosing(self._body.chunks()) as chunks:
            # The first chunk is the text before the first medium, the second is the beginning of
            # the medium. If the store fails here, the response is a problem document, not a
            # truncated body.
            first_chunks = [await anext(chunks, b"") for _ in range(2)]
            await send(build_start_message(self))
            for chunk in first_chunks:
                await send(build_body_message(chunk))
            # Otherwise, the first chunks would stay in memory until everything is sent.
            del first_chunks
            async for chunk in chunks:
                await send(build_body_message(chunk))
        await send(build_body_message(b"", more=False))
