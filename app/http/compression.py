"""Compress long lists, outlines and histories with gzip, if the client accepts it.

A list of 8 KiB or more is sent with gzip, a weak ETag and `Vary: Accept-Encoding`. All other
responses are sent as they are:

- stored bytes, because ranges and digests refer to the bytes that are sent;
- records, because their `ETag` is used for writes, and that of a compressed response is weak;
- signed links and tickets, because the compressed length would disclose parts of them (BREACH).
"""

import gzip
from collections.abc import Mapping

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from app.http.conditions import choose_encoding, encode_headers, join_repeated_headers

COMPRESSED_FROM_BYTES = 8 * 1024
"""Shorter responses fit into a few packets; compressing them would take most of their time."""
_LEVEL = 1
"""The compression level. Level 6 would take four times as long, and make responses only a seventh
shorter."""
_GZIP = "gzip"


def accepts_gzip(request: Request) -> bool:
    """Return whether `Accept-Encoding` prefers gzip to the bytes as they are."""
    return choose_encoding(join_repeated_headers(request.headers), [_GZIP]) is not None


def make_weak_etag(etag: str) -> str:
    """Return the weak form of an entity-tag, for the same content in another coding."""
    return etag if etag.startswith("W/") else f"W/{etag}"


class CompressedResponse(Response):
    """A response whose body is compressed when it is sent, in a thread.

    Args:
        body: The body, uncompressed.
        headers: All headers except for the length and the coding.
    """

    def __init__(self, body: bytes, headers: Mapping[str, str]) -> None:
        self.status_code = 200
        self.background = None
        self.body = body
        self.raw_headers = encode_headers({**headers, "Content-Encoding": _GZIP})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Compress the body and send it."""
        # zlib releases the interpreter lock, so the event loop continues meanwhile.
        self.body = await anyio.to_thread.run_sync(gzip.compress, self.body, _LEVEL)
        self.raw_headers += encode_headers({"Content-Length": str(len(self.body))})
        await super().__call__(scope, receive, send)
