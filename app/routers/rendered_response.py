"""Answers of JSON text with media in it, which are read from the store while it is sent."""

from collections.abc import Mapping
from contextlib import aclosing

from starlette.responses import Response, StreamingResponse
from starlette.types import Send

from app.routers.conditions import strong_etag
from app.routers.content_headers import REVALIDATE
from app.routers.content_response import unchanged_response
from app.services.renders.sending import RenderedBody


def rendered_response(
    request_headers: Mapping[str, str], method: str, body: RenderedBody
) -> Response:
    """The answer to a request for a rendering: 200 with a strong ETag, or 304.

    One without a digest has no ETag, and is not to be kept.

    Args:
        request_headers: Case-insensitive; repeated fields are joined here.
        method: `GET`, whose conditions are judged, or `POST`.
        body: The rendering.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    rendering = body.rendering
    if rendering.digest is None:
        return _sent(body, {"Cache-Control": "no-store"})
    headers = {"ETag": strong_etag(rendering.digest), "Cache-Control": REVALIDATE}
    return unchanged_response(request_headers, method, headers) or _sent(body, headers)


def _sent(body: RenderedBody, headers: Mapping[str, str]) -> Response:
    pieces = body.rendering.pieces
    if len(pieces) == 1 and isinstance(pieces[0], bytes):
        return Response(pieces[0], headers=headers, media_type="application/json")
    length = str(body.rendering.size_bytes)
    return _RenderedStream(body, {**headers, "Content-Length": length})


class _RenderedStream(StreamingResponse):
    """Sends a rendering as it is read; holds one chunk at a time."""

    def __init__(self, body: RenderedBody, headers: Mapping[str, str]) -> None:
        # The base class wants an iterator; `stream_response` reads the body instead.
        super().__init__((), headers=headers, media_type="application/json")
        self._body = body

    async def stream_response(self, send: Send) -> None:
        """Send the headers once the first medium is open, then everything."""
        async with aclosing(self._body.chunks()) as chunks:
            # The text before the first medium, and the beginning of that: a store that does not
            # answer becomes a problem, and not a torn body.
            begun = [await anext(chunks), await anext(chunks, b"")]
            await send(
                {
                    "type": "http.response.start",
                    "status": self.status_code,
                    "headers": self.raw_headers,
                }
            )
            for chunk in begun:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            # They would be held for as long as the reader takes.
            del begun
            async for chunk in chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
