"""Answers that are streams of server-sent events.

FastAPI's own, but for what lies between the stream and the connection: it puts two queues and
several tasks there for every listener, which cost several times what the events do.
"""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from time import monotonic

import anyio
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse
from starlette.types import Message, Receive, Scope, Send

from app.services.concurrency.background import run_beside

_BEAT_SECONDS = 15.0


class EventStreamResponse(EventSourceResponse):
    """Server-sent events, and a comment whenever nothing was sent for 15 seconds.

    Args:
        batches: The body in batches of one or more whole events, each in pieces; closed in the end.
    """

    def __init__(self, batches: AsyncGenerator[Iterable[bytes], None]) -> None:
        # The base class wants an iterator; `stream_response` reads the batches instead. The second
        # header tells proxies not to hold events back.
        super().__init__((), headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._batches = batches
        self._is_sending = False
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until they end, or whoever listens has gone."""
        self._sent_at = monotonic()
        with anyio.CancelScope() as streaming:
            async with run_beside(self._watch(receive, send, streaming)):
                await self.stream_response(send)

    async def stream_response(self, send: Send) -> None:
        """Send events until they end."""
        await send(
            {"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers}
        )
        async with aclosing(self._batches) as batches:
            async for batch in batches:
                self._is_sending = True
                for piece in batch:
                    await send(_body(piece, more=True))
                self._is_sending = False
                self._sent_at = monotonic()
        await send(_body(b"", more=False))

    async def _watch(self, receive: Receive, send: Send, streaming: anyio.CancelScope) -> None:
        """Send a sign of life where nothing else is sent, and end the stream of who has gone."""
        while True:
            idle_seconds = monotonic() - self._sent_at
            if idle_seconds >= _BEAT_SECONDS:
                # In the middle of an event it would be a part of it.
                if not self._is_sending:
                    await send(_body(KEEPALIVE_COMMENT, more=True))
                self._sent_at = monotonic()
                continue
            with anyio.move_on_after(_BEAT_SECONDS - idle_seconds):
                message = await receive()
                if message["type"] == "http.disconnect":
                    streaming.cancel()
                    return


def _body(piece: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": piece, "more_body": more}
