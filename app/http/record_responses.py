"""Answers that carry stored records: one, one just written, a page of a list, or a rendering.

Of a rendering, media are read from the store while it is sent.

`Location` and `Link` are relative: no host is taken from a request.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from app.errors import PreconditionFailedError
from app.http.conditions import evaluate_conditions, joined_fields, prefers, strong_etag
from app.http.content_headers import REVALIDATE
from app.http.content_response import not_modified, raw_headers
from app.http.problem_types import problem_responses
from app.http.response_memory import FREE_BYTES, answers_of, body_message, sending, start_message
from app.services.inline_media.json_with_media import RenderedBody
from app.wire.lists import list_page
from pagefault_dialects.errors import PagefaultError

STREAM_BYTES = 1536 * 1024
"""What one answer with media holds while it is sent: a piece of a file, and what is made of it."""


def read_responses(*error_classes: type[PagefaultError]) -> dict[int | str, dict[str, Any]]:
    """Return what a route that reads records may answer besides 200: 304, 412, and these errors."""
    return {
        304: {"description": "The caller's copy is the stored one."},
        **problem_responses(PreconditionFailedError, *error_classes),
    }


def answer_record(
    request: Request,
    body: bytes,
    *,
    etag: str | None = None,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    """Return the answer that carries a stored JSON record, byte for byte: `status`, or 304.

    Conditions are judged for GET and HEAD only: those of a write had to be judged before it was
    done.

    Args:
        request: The request, of any method.
        body: The record as it is stored.
        etag: Its entity-tag, with the quotes; without one, a strong tag is made of the body.
        status: The status when the record is sent.
        headers: Further headers, such as `Location`.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    all_headers = {
        **(headers or {}),
        "Content-Type": "application/json",
        "ETag": etag or strong_etag(hashlib.sha256(body).hexdigest()),
        "Cache-Control": REVALIDATE,
    }
    if unchanged := unchanged_response(request, all_headers):
        return unchanged
    all_headers["Content-Length"] = str(len(body))
    return _Record(b"" if request.method == "HEAD" else body, status, all_headers)


def unchanged_response(request: Request, headers: Mapping[str, str]) -> Response | None:
    """Return the 304 to a GET or HEAD of a record that the caller has already, if that is so.

    Args:
        request: The request; of other methods, conditions are not judged.
        headers: What the record would be sent with, an `ETag` among it.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    has_condition = any(name[:3] == b"if-" for name, _ in request.scope["headers"])
    if not has_condition or request.method not in ("GET", "HEAD"):
        return None
    is_known = evaluate_conditions(
        joined_fields(request.headers),
        method=request.method,
        etag=headers["ETag"],
        last_modified=None,
    )
    return not_modified(headers) if is_known else None


def answer_unchanged(request: Request, *, etag: str) -> Response | None:
    """Return the 304 to a caller that has the record already, to be given before it is read."""
    headers = {"ETag": etag, "Cache-Control": REVALIDATE, "Vary": "Accept"}
    return unchanged_response(request, headers)


def answer_text(request: Request, text: str, *, etag: str | None = None) -> Response:
    """Return a record for people, as plain text, to those whose Accept asks for it."""
    response = answer_record(request, text.encode(), etag=etag)
    response.headers["Content-Type"] = "text/plain; charset=utf-8"
    response.headers["Vary"] = "Accept"
    return response


def wants_text(request: Request) -> bool:
    """Tell whether `text/plain` is wanted rather than JSON (RFC 9110 §12.5.1)."""
    return prefers(request.headers, "text/plain", "application/json")


def answer_written(
    request: Request, body: bytes, *, path: str, is_new: bool, etag: str | None = None
) -> Response:
    """Return a record that was just written: 201, or 200 if it was there, and where it is."""
    status = 201 if is_new else 200
    return answer_record(request, body, etag=etag, status=status, headers={"Location": path})


def answer_page(request: Request, items: Iterable[bytes], next_cursor: str | None) -> Response:
    """Return a page of a list, with a link to the next one (RFC 8288) if there is one."""
    return answer_listed(request, list_page(items, next_cursor), next_cursor)


def answer_listed(
    request: Request, body: bytes, next_cursor: str | None, *, etag: str | None = None
) -> Response:
    """Return the same of a page that is JSON already."""
    return answer_record(request, body, etag=etag, headers=next_link(request, next_cursor))


def next_link(request: Request, next_cursor: str | None) -> dict[str, str]:
    """Return the header that leads to the next page of a list, if there is one."""
    if next_cursor is None:
        return {}
    # The cursor stands for the place that `after` has named.
    asked = {name: value for name, value in request.query_params.items() if name != "after"}
    parameters = urlencode({**asked, "cursor": next_cursor})
    return {"Link": f'<{request.url.path}?{parameters}>; rel="next"'}


class _Record(Response):
    """A record, ready to go: Starlette would look for what is among its headers already."""

    def __init__(self, body: bytes, status: int, headers: Mapping[str, str]) -> None:
        self.status_code = status
        self.background = None
        self.body = body
        self.raw_headers = raw_headers(headers)


def rendered_response(
    request: Request, body: RenderedBody, headers: Mapping[str, str] | None = None
) -> Response:
    """Return the answer to a request for a rendering: 200 with a strong ETag, or 304.

    One without a digest has no ETag, and is not to be kept.

    Args:
        request: A `GET` or `HEAD`, whose conditions are judged, or a `POST`.
        body: The rendering.
        headers: Further headers.

    Raises:
        PreconditionFailedError: If-Match does not hold.
    """
    rendering = body.rendering
    if rendering.digest is None:
        return sent_json(request, body, {**(headers or {}), "Cache-Control": "no-store"})
    all_headers = {
        **(headers or {}),
        "ETag": strong_etag(rendering.digest),
        "Cache-Control": REVALIDATE,
    }
    unchanged = unchanged_response(request, all_headers)
    return unchanged or sent_json(request, body, all_headers)


def sent_json(
    request: Request, body: RenderedBody, headers: Mapping[str, str], *, status: int = 200
) -> Response:
    """Return the answer with these headers, whatever the request's conditions."""
    pieces = body.rendering.pieces
    length = str(body.rendering.size_bytes)
    if request.method == "HEAD":
        all_headers = {**headers, "Content-Length": length}
        return Response(headers=all_headers, media_type="application/json")
    body.give()
    if len(pieces) == 1 and isinstance(pieces[0], bytes):
        return Response(
            pieces[0], status_code=status, headers=headers, media_type="application/json"
        )
    return _RenderedStream(body, {**headers, "Content-Length": length}, status)


class _RenderedStream(StreamingResponse):
    """Sends a rendering as it is read; holds its text and one chunk at a time."""

    def __init__(self, body: RenderedBody, headers: Mapping[str, str], status: int) -> None:
        # The base class wants an iterator; `stream_response` reads the body instead.
        super().__init__((), status_code=status, headers=headers, media_type="application/json")
        self._body = body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the answer, its memory counted.

        Raises:
            OverloadedError: There is no room for it; nothing was sent.
        """
        text_bytes = sum(
            len(piece) for piece in self._body.rendering.pieces if isinstance(piece, bytes)
        )
        if self._body.held is not None:
            # Whoever has taken it has also given away what else was held, and releases it.
            self._body.held.resize(text_bytes + STREAM_BYTES)
            await super().__call__(scope, receive, send)
            return
        room = answers_of(scope)
        if text_bytes <= FREE_BYTES:
            held = await room.hold(STREAM_BYTES)
        else:
            # Who holds a long text already does not wait for more.
            held = room.take(text_bytes + STREAM_BYTES)
        try:
            with sending(scope, held, send) as send_counted:
                await super().__call__(scope, receive, send_counted)
        finally:
            held.release()

    async def stream_response(self, send: Send) -> None:
        """Send the headers once the first medium is open, then everything."""
        async with aclosing(self._body.chunks()) as chunks:
            # The text before the first medium, and the beginning of that: a store that does not
            # answer becomes a problem, and not a torn body.
            begun = [await anext(chunks), await anext(chunks, b"")]
            await send(start_message(self))
            for chunk in begun:
                await send(body_message(chunk))
            # They would be held for as long as the reader takes.
            del begun
            async for chunk in chunks:
                await send(body_message(chunk))
        await send(body_message(b"", more=False))
