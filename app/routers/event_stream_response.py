"""Answers that are streams of server-sent events.

FastAPI's own, but for what lies between the stream and the connection: it puts two queues and two
tasks there for every listener, which cost several times what the events do.
"""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

import anyio
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse
from starlette.types import Message, Send

_BEAT_SECONDS = 15.0


class EventStreamResponse(EventSourceResponse):
    """Server-sent events, and a comment whenever nothing was sent for 15 seconds.

    Args:
        pieces: The body, in pieces of one or more whole events.
    """

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        # The second header tells proxies not to hold events back.
        super().__init__(pieces, headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"})
        self._sent_at = 0.0

    async def stream_response(self, send: Send) -> None:
        """Send events until they end."""

        async def send_on(message: Message) -> None:
            await send(message)
            self._sent_at = monotonic()

        self._sent_at = monotonic()
        # Not a task group: it would hand on whatever the stream raises as a group of errors.
        beating = asyncio.create_task(self._beat(send_on))
        try:
            await super().stream_response(send_on)
        finally:
            beating.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([beating])

    async def _beat(self, send: Send) -> None:
        while True:
            idle_seconds = monotonic() - self._sent_at
            if idle_seconds >= _BEAT_SECONDS:
                beat = {"type": "http.response.body", "body": KEEPALIVE_COMMENT, "more_body": True}
                await send(beat)
                continue
            await anyio.sleep(_BEAT_SECONDS - idle_seconds)
